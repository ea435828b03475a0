"""Labelled pairs as the way to a skip sees them: similarity, the guard's word, the NLI model's scores."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from factsieve.adapters import rules_judge
from factsieve.cli.measure.pairs import Label, Pair
from factsieve.core import memo
from factsieve.core.calibration import Trial
from factsieve.core.facts import Kind
from factsieve.core.judging import Choice, Question
from factsieve.core.replace import Relation
from factsieve.engine.overlay import cosine

if TYPE_CHECKING:
    from factsieve.worker.wiring import Models

STORED_AT: Final = datetime(2025, 5, 6, 10, tzinfo=UTC)
COMES_AT: Final = STORED_AT + timedelta(days=1)
"""The incoming statement is made a day after the stored one: late enough to be no echo, and a relative day means another day."""
_AT_ONCE: Final = 256


async def make_trials(
    models: "Models", pairs: Sequence[Pair], *, max_unknown_share: float, floor: float, advance: Callable[[int], None]
) -> list[Trial]:
    """Return a trial per pair. Below `floor` no threshold of interest lies: guard and NLI model are not asked there."""
    trials: list[Trial] = []
    for start in range(0, len(pairs), _AT_ONCE):
        part = pairs[start : start + _AT_ONCE]
        vectors = await models.embedder.embed([text for pair in part for text in (pair.a, pair.b)])
        similarities = [cosine(vectors[2 * index], vectors[2 * index + 1]) for index in range(len(part))]
        near = [pair for pair, similarity in zip(part, similarities, strict=True) if similarity >= floor]
        scores = {}
        if models.judges.nli is not None:
            found = await models.judges.nli.score_pairs([(pair.a, pair.b) for pair in near])
            scores = {id(pair): score for pair, score in zip(near, found, strict=True)}
        for pair, similarity in zip(part, similarities, strict=True):
            score = scores.get(id(pair))
            contradiction = entailment = None
            if score is not None:
                contradiction = score.stronger
                if score.entailed is not None and score.entails is not None:
                    entailment = min(score.entailed, score.entails)
            trials.append(
                Trial(
                    group=group_of(pair),
                    duplicate=pair.label is Label.DUPLICATE,
                    similarity=similarity,
                    clear=similarity >= floor and _is_clear(models, pair, max_unknown_share),
                    confirmed=score is None or _says_the_same(pair, similarity),
                    contradiction=contradiction,
                    entailment=entailment,
                )
            )
        advance(len(part))
    return trials


def group_of(pair: Pair) -> str:
    """Return what a pair's false skips are counted under: its file, its label and its category."""
    parts = [pair.data, pair.label.value, *([pair.category] if pair.category != pair.label.value else [])]
    return " / ".join(parts)


def _is_clear(models: "Models", pair: Pair, max_unknown_share: float) -> bool:
    if not memo.compare(pair.b, COMES_AT, pair.a, STORED_AT).clear:
        return False
    coverage = models.embedder.coverage(pair.b)
    return not coverage.truncated and coverage.unknown_share <= max_unknown_share


def _says_the_same(pair: Pair, similarity: float) -> bool:
    """Return whether the rules, asked to confirm a skip, would: what they say without the NLI model's own veto."""
    question = Question(
        text=pair.b,
        occurred_at=COMES_AT,
        neighbours=(Choice(pair.a, similarity, STORED_AT),),
        allowed=frozenset({Kind.SKIP, Kind.ADD}),
        confirm=True,
    )
    return rules_judge.read(question, 0).relation in (Relation.SAME, Relation.COVERED)
