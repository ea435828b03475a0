"""Flagged facts decided anew: the person's choice is checked, or the judge is asked about the fact as it was asked when it came."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from factsieve.core import undo
from factsieve.core.case import Answer, Ask, Case, LookBack, Ruling
from factsieve.core.decide import asked, late_look
from factsieve.core.decision import Band
from factsieve.core.facts import Candidate, Coordinates, Fact, Kind, Scored, Status
from factsieve.core.plan import Draft
from factsieve.core.policy import Policies
from factsieve.core.undo import Held, Outcome
from factsieve.engine.desk import JudgeDesk
from factsieve.engine.overlay import cosine, scored
from factsieve.ports import Embedder, FactStore, NeighbourQuery, Vector

_SPARE: Final = 24
"""So many neighbours more than a question holds are looked up: facts that were stated later are left out of it."""


class Reviewer:
    """Plans reviews over the stores, reading only."""

    def __init__(self, facts: FactStore, embedder: Embedder, policies: Policies, desk: JudgeDesk) -> None:
        self._facts = facts
        self._embedder = embedder
        self._policies = policies
        self._desk = desk

    async def plan(
        self, draft: Draft, fact: Fact | None, body: Mapping[str, Any], *, reason: str, decided_by: str
    ) -> Outcome:
        """Return the outcome of a review; its effects are in the draft. Raises Transient."""
        if fact is None:
            return Outcome("refused", "there is no such fact in this namespace, or the decision made none")
        if fact.status is not Status.CURRENT:
            return Outcome("no_op", f"the fact is {fact.status} by now: nothing is left to decide", fact)
        if fact.review is None:
            return Outcome("no_op", "the fact is not flagged: it was reviewed already, or never had to be", fact)
        ruling = await (self._ask(fact) if body.get("ask") else self._choice(fact, body))
        if isinstance(ruling, Outcome):
            return ruling
        if ruling.judges:
            last = ruling.judges[-1]
            decided_by, reason = f"{last.judge}, asked by {decided_by}", last.reason or reason
        held = await self._held(fact, ruling)
        tolerance = Case(candidate=_candidate(fact), policy=self._policies.of(fact.namespace)).tolerance
        return undo.review(draft, fact, ruling, held, tolerance=tolerance, reason=reason, decided_by=decided_by)

    async def _held(self, fact: Fact, ruling: Ruling) -> Held:
        ids = {fact.fact_id, *fact.conflicts_with, *ruling.conflicts, *(target.fact_id for target in ruling.targets)}
        points = await self._facts.get(sorted(ids))
        return Held({key: point for key, point in points.items() if point.namespace == fact.namespace})

    async def _choice(self, fact: Fact, body: Mapping[str, Any]) -> Ruling | Outcome:
        """Return a person's choice as a ruling. Without targets it is about the facts that the flagged one may contradict."""
        named: Sequence[str] = body.get("targets") or ()
        ids = list(dict.fromkeys(named or fact.conflicts_with))
        found = await self._facts.get(ids)
        targets = [found[one] for one in ids if one in found and _can_be_target(found[one], fact)]
        missing = [one for one in named if one not in {target.fact_id for target in targets}]
        if missing:
            return Outcome("refused", f"no current fact to decide about: {', '.join(missing)}", fact)
        return undo.chosen(fact, Kind(body["decision"]), targets, body.get("text"))

    async def _ask(self, fact: Fact) -> Ruling | Outcome:
        """Ask the judge about the fact and those that were there when it came."""
        case = await self._case(fact)
        step = late_look(case)
        if isinstance(step, LookBack):
            case = msgspec.structs.replace(case, past=await self._past(case, fact))
        step = asked(case)
        if isinstance(step, Ask):
            case = case.answered(Answer(step, await self._desk.ask(step)))
            step = asked(case)
        if step is None:
            return Ruling(kind=Kind.ADD, reason="new", resolved_at=case.at, band=Band.NEW)
        if not isinstance(step, Ruling):
            return Outcome("no_op", "the judge's answer leaves a question open: a person has to decide", fact)
        if step.review is not None:
            return Outcome("no_op", f"left for a person: {step.review}", fact, judges=step.judges)
        if step.kind is Kind.SKIP and (step.matched is None or not _can_be_target(step.matched, fact)):
            return Outcome("no_op", "it repeats a past statement: a person has to decide", fact, judges=step.judges)
        return step

    async def _case(self, fact: Fact) -> Case:
        policy = self._policies.of(fact.namespace)
        vector = await self._vector(fact)
        limit = policy.supersede_scan_limit
        query = NeighbourQuery(fact.namespace, vector, limit + _SPARE, policy.second_look_floor)
        [near] = await self._facts.neighbours([query])
        hits = [hit for hit in near if hit.fact is not None and _was_there(hit.fact, fact)][:limit]
        current = scored(hits)
        if fact.slot is not None:
            [of_slot] = await self._facts.by_slot([(fact.namespace, fact.slot)])
            known = {one.fact.point_id for one in current}
            more = [one for one in of_slot if one.point_id not in known and _was_there(one, fact)]
            current += await self._scored(vector, more)
        return Case(
            candidate=_candidate(fact),
            policy=policy,
            current=tuple(current),
            best=(hits[0].point_id, hits[0].similarity) if hits else None,
            resolved=True,
        )

    async def _past(self, case: Case, fact: Fact) -> tuple[Scored, ...]:
        policy = case.policy
        vector = await self._vector(fact)
        query = NeighbourQuery(fact.namespace, vector, policy.supersede_scan_limit, policy.second_look_floor, past=True)
        [near] = await self._facts.neighbours([query])
        rows = [one for one in scored(near) if one.fact.fact_id != fact.fact_id]
        if fact.slot is not None:
            [of_slot] = await self._facts.by_slot([(fact.namespace, fact.slot)], past=True)
            known = {one.fact.point_id for one in (*rows, *case.current)}
            more = [one for one in of_slot if one.point_id not in known and one.fact_id != fact.fact_id]
            rows += await self._scored(vector, more)
        return tuple(rows)

    async def _scored(self, vector: Vector, facts: Sequence[Fact]) -> list[Scored]:
        vectors = await self._facts.vectors([fact.point_id for fact in facts]) if facts else {}
        return [Scored(one, cosine(vector, vectors[one.point_id]), "slot") for one in facts if one.point_id in vectors]

    async def _vector(self, fact: Fact) -> Vector:
        stored = (await self._facts.vectors([fact.point_id])).get(fact.point_id)
        return stored if stored is not None else (await self._embedder.embed([fact.text]))[0]


def _candidate(fact: Fact) -> Candidate:
    """Return a stored fact as the statement that it was, made when it was said last."""
    return Candidate(
        event_key=fact.event_key,
        event_id=fact.fact_id,
        body_hash="",
        coordinates=Coordinates("", 0, 0),
        namespace=fact.namespace,
        text=fact.text,
        source=fact.source,
        occurred_at=fact.last_stated_at,
        slot=fact.slot,
        session_id=fact.session_id,
    )


def _can_be_target(target: Fact, fact: Fact) -> bool:
    return (
        target.status is Status.CURRENT
        and target.is_head
        and target.namespace == fact.namespace
        and target.fact_id != fact.fact_id
    )


def _was_there(other: Fact, fact: Fact) -> bool:
    """Return whether another fact belongs into the question about a flagged one, and nobody said that both stand.

    That is what was stated before, and what it was noted to contradict; but not what was flagged later because of it: that one's turn
    comes, and then this one is asked about.
    """
    if not _can_be_target(other, fact) or other.fact_id in fact.compatible_with:
        return False
    if other.valid_from <= fact.last_stated_at:
        return True
    comes_later = other.review is not None and fact.fact_id in other.conflicts_with
    return other.fact_id in fact.conflicts_with and not comes_later
