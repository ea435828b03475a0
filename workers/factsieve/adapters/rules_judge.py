"""The offline judge: answers from the form of the statements alone, and, where one is given, an NLI model's scores.

Deterministic and without IO of its own. It retires only when it is sure; in doubt it adds and asks for a person's look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from factsieve.core import memo
from factsieve.core.errors import FactsieveError
from factsieve.core.facts import Kind
from factsieve.core.judging import Question, Verdict
from factsieve.core.replace import SURE, NliScores, Reading, Relation, far_apart, has_change_words, relate

REVIEW: Final = "conflict"
SURE_TO_REVISE: Final = 0.6
SURE_TO_SKIP: Final = 0.75
SURE_TO_STAND: Final = 0.8
"""How sure it is that a fact which says the same words, or more, is not put out of force."""
DOUBT: Final = 0.3
"""The confidence of an `add` beside a fact that may contradict it."""


NEAR: Final = 0.1
"""Neighbours that lie further behind the best one than this are not what the candidate might repeat."""


class PairScorer(Protocol):
    """An NLI model as this judge uses it."""

    async def score_pairs(self, pairs: Sequence[tuple[str, str]]) -> Sequence[NliScores]:
        """Return for each (stored text, candidate text), in order, the scores of both directions; may raise Transient."""
        ...


class RulesJudge:
    """A judge of rules (`ports.Judge`).

    With `scorer` the NLI model's opinion counts as one more clue. It answers every question: `failure` is never set.
    """

    def __init__(self, scorer: PairScorer | None = None, *, name: str = "rules") -> None:
        self._scorer = scorer
        self._name = name

    @property
    def name(self) -> str:
        """Return the judge's name for reports."""
        return self._name

    @property
    def is_remote(self) -> bool:
        """Return False: it answers at once."""
        return False

    @property
    def confirms_skips(self) -> bool:
        """Return whether there is an NLI model: of the rules' own, the guard has said all before a skip."""
        return self._scorer is not None

    async def answer(self, question: Question) -> Verdict:
        """Return the verdict on a question. A scorer that fails is done without: then the rules answer alone, and say so."""
        near = [index for index in range(len(question.neighbours)) if not is_far(question, index)]
        scores: dict[int, NliScores] = {}
        without = ""
        if self._scorer is not None and near:
            pairs = [(question.neighbours[index].text, question.text) for index in near]
            try:
                scores = dict(zip(near, await self._scorer.score_pairs(pairs), strict=True))
            except FactsieveError as error:
                without = f" (without NLI: {error})"
        readings = [
            read(question, index, scores.get(index)) if index in near else FAR_APART
            for index in range(len(question.neighbours))
        ]
        verdict = decide(question, readings, self._name)
        return msgspec.structs.replace(verdict, reason=verdict.reason + without) if without else verdict


FAR_APART: Final = Reading(Relation.UNRELATED, 0.85, "about something else")


def is_far(question: Question, index: int) -> bool:
    """Return whether a neighbour has so little in common with the candidate that nothing more need be read of it."""
    near = question.neighbours[index]
    if question.slot is not None and question.slot == near.slot:
        return False
    ours, theirs = memo.features_of(question.text, question.occurred_at), memo.features_of(near.text, near.stated_at)
    return far_apart(ours, theirs, near.similarity) and not has_change_words(question.text)


def read(question: Question, index: int, nli: NliScores | None = None) -> Reading:
    """Return what a question's candidate is to one of its neighbours."""
    near = question.neighbours[index]
    comparison = memo.compare(question.text, question.occurred_at, near.text, near.stated_at)
    same_slot = question.slot is not None and question.slot == near.slot
    return relate(
        question.text, question.occurred_at, near.text, near.stated_at, near.similarity, same_slot, comparison, nli
    )


def decide(question: Question, readings: Sequence[Reading], judge: str) -> Verdict:
    """Return the verdict that follows from the readings of all neighbours; only what is allowed is chosen."""
    indexed = list(enumerate(readings))
    least = 0.0 if question.confirm else SURE_TO_SKIP  # before a confirming question the guard has spoken already
    same = [(i, r) for i, r in indexed if r.relation in (Relation.SAME, Relation.COVERED) and r.sureness >= least]
    if Kind.SKIP in question.allowed and same:
        return _verdict(Kind.SKIP, judge, [same[0]])
    replaced = [(i, r) for i, r in indexed if r.relation is Relation.REPLACES and r.sureness >= SURE]
    doubtful = tuple(
        i
        for i, r in indexed
        if r.relation is Relation.CONFLICTS or (r.relation is Relation.REPLACES and r.sureness < SURE)
    )
    if Kind.SUPERSEDE in question.allowed and replaced:
        return _verdict(Kind.SUPERSEDE, judge, replaced)
    refined = [(i, r) for i, r in indexed if r.relation is Relation.REFINES and r.sureness >= SURE_TO_REVISE]
    if len(refined) > 1 and Kind.MERGE in question.allowed and all(r.sureness >= SURE_TO_SKIP for _, r in refined):
        return _verdict(Kind.MERGE, judge, refined, text=question.text)
    if refined and Kind.UPDATE in question.allowed:
        return _verdict(Kind.UPDATE, judge, refined[:1])
    best = max((n.similarity for n in question.neighbours), default=0.0)
    near = [r for n, r in zip(question.neighbours, readings, strict=True) if n.similarity >= best - NEAR]
    return _added(judge, readings, near, doubtful, may_skip=Kind.SKIP in question.allowed)


def _verdict(choice: Kind, judge: str, chosen: Sequence[tuple[int, Reading]], text: str | None = None) -> Verdict:
    return Verdict(
        choice=choice,
        judge=judge,
        targets=tuple(i for i, _ in chosen),
        text=text,
        reason=chosen[0][1].reason,
        confidence=min(r.sureness for _, r in chosen),
    )


def _added(
    judge: str, readings: Sequence[Reading], near: Sequence[Reading], doubtful: tuple[int, ...], *, may_skip: bool
) -> Verdict:
    if doubtful:
        reason = readings[doubtful[0]].reason
        return Verdict(choice=Kind.ADD, judge=judge, reason=reason, confidence=DOUBT, review=REVIEW, conflicts=doubtful)
    if not near:
        return Verdict(choice=Kind.ADD, judge=judge, reason="nothing near", confidence=1.0)
    sureness = [_surely_other(reading, may_skip=may_skip) for reading in near]
    weakest = sureness.index(min(sureness))
    return Verdict(choice=Kind.ADD, judge=judge, reason=near[weakest].reason, confidence=sureness[weakest])


def _surely_other(reading: Reading, *, may_skip: bool) -> float:
    """Return how sure an `add` is: repeats and refinements that were not acted on leave it in doubt, where they may be acted on at all.

    Where only retiring is the question, a fact that says the same words or more is none to retire.
    """
    if reading.relation in (Relation.BOTH_STAND, Relation.UNRELATED):
        return reading.sureness
    if not may_skip and (
        reading.relation is Relation.COVERED
        or (reading.relation is Relation.SAME and reading.sureness >= SURE_TO_STAND)
    ):
        return SURE_TO_STAND
    return 0.9 - 0.5 * reading.sureness
