"""Labelled pairs as the way to a skip sees them: similarity, the guard's word, the NLI model's scores."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from factsieve.cli.measure.pairs import Label, Pair
from factsieve.core import memo
from factsieve.core.alike import aligned, counted, same_words
from factsieve.core.calibration import Trial
from factsieve.engine.overlay import cosine

if TYPE_CHECKING:
    from factsieve.assembly.wiring import Models

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
        clear = [
            similarity >= floor and _is_clear(models, pair, max_unknown_share)
            for pair, similarity in zip(part, similarities, strict=True)
        ]
        scores = await _scores(models, [pair for pair, is_clear in zip(part, clear, strict=True) if is_clear])
        for pair, similarity, is_clear in zip(part, similarities, clear, strict=True):
            contradiction, entailment = scores.get((pair.data, pair.pair_id), (None, None))
            trials.append(
                Trial(
                    group=group_of(pair),
                    duplicate=pair.label is Label.DUPLICATE,
                    similarity=similarity,
                    clear=is_clear,
                    contradiction=contradiction,
                    entailment=entailment,
                )
            )
        advance(len(part))
    return trials


async def _scores(models: "Models", pairs: Sequence[Pair]) -> dict[tuple[str, str], tuple[float, float | None]]:
    """Return the NLI model's greater contradiction and smaller entailment score, as a skip's confirmation takes them."""
    nli = models.judges.nli
    if nli is None:
        return {}
    found: dict[tuple[str, str], tuple[float, float | None]] = {}
    asked: dict[tuple[str, str], tuple[str, str]] = {}
    for pair in pairs:
        text = aligned(pair.b, COMES_AT, pair.a, STORED_AT)
        if same_words(text, pair.a):
            found[pair.data, pair.pair_id] = (0.0, None)
        else:
            asked[pair.data, pair.pair_id] = (pair.a, text)
    for (key, texts), score in zip(asked.items(), await nli.score_pairs(list(asked.values())), strict=True):
        both = None if score.entailed is None or score.entails is None else min(score.entailed, score.entails)
        found[key] = (counted(score.stronger, *texts), both)
    return found


def group_of(pair: Pair) -> str:
    """Return what a pair's false skips are counted under: its file, its label and its category."""
    parts = [pair.data, pair.label.value, *([pair.category] if pair.category != pair.label.value else [])]
    return " / ".join(parts)


def _is_clear(models: "Models", pair: Pair, max_unknown_share: float) -> bool:
    if not memo.compare(pair.b, COMES_AT, pair.a, STORED_AT).clear:
        return False
    coverage = models.embedder.coverage(pair.b)
    return not coverage.truncated and coverage.unknown_share <= max_unknown_share
