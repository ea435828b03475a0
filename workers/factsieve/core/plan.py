"""From a ruling to its plan: the points as they are afterwards, what is told, and the records of succession.

Effects are absolute. Every change of text or validity closes the former belief as an `archived` row (system time), so that both
"what was true then" and "what we believed then" have answers (DESIGN section 5).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from factsieve.core import ids, timeline
from factsieve.core.case import Case, Ruling
from factsieve.core.decision import (
    Change,
    ChangeType,
    Decision,
    Entry,
    NeighbourNote,
    Replaced,
    SupersessionRecord,
)
from factsieve.core.errors import Bug
from factsieve.core.facts import Candidate, DedupSignal, Fact, Kind, Status, remember_statement
from factsieve.core.ruling import signal_of

CONFLICTS_LIMIT: Final = 8
"""How many rivals a fact remembers: the latest."""


def archived_id(event_key: str, point_id: str) -> str:
    """Return the id of the row that holds what a point said before an event changed it."""
    return ids.derived_id(event_key, "archived", point_id)


class Draft:
    """Collects the effects of one event: the latest state of every point that it touches, each written once."""

    def __init__(self, event_key: str, decision_id: str, namespace: str, now: datetime) -> None:
        self.event_key = event_key
        self.decision_id = decision_id
        self.namespace = namespace
        self.now = now
        self.points: dict[str, Fact] = {}
        self.inserts: list[str] = []
        self.reworded: list[str] = []
        self.changes: list[Change] = []
        self.records: list[SupersessionRecord] = []

    def insert(self, fact: Fact) -> Fact:
        """Add a new point."""
        self.points[fact.point_id] = fact
        self.inserts.append(fact.point_id)
        return fact

    def touch(self, fact: Fact, **changes: object) -> Fact:
        """Write a point anew with `changes` and the next version."""
        changed = msgspec.structs.replace(fact, version=fact.version + 1, **changes)
        self.points[fact.point_id] = changed
        return changed

    def revise(self, fact: Fact, **changes: object) -> Fact:
        """Change text, validity or status of a point: the former belief is archived, the point gets the next revision.

        Of a withdrawn point the archived row says so too: it was not believed between its times.
        """
        self.insert(
            msgspec.structs.replace(
                fact,
                point_id=archived_id(self.event_key, fact.point_id),
                status=Status.RETRACTED if fact.status is Status.RETRACTED else Status.ARCHIVED,
                version=1,
                retired_at=min(fact.retired_at, self.now),
            )
        )
        return self.touch(
            fact,
            revision=fact.revision + 1,
            recorded_at=self.now,
            event_key=self.event_key,
            decision_id=self.decision_id,
            **changes,
        )

    def state_again(self, row: Fact, at: datetime) -> Fact:
        """Count one more statement of a row."""
        return self.touch(
            row,
            last_stated_at=max(row.last_stated_at, at),
            stated_count=row.stated_count + 1,
            stated_at=remember_statement(row.stated_at, at),
        )

    def past_row(self, fact: Fact, kind: str, **changes: object) -> Fact:
        """Add a row for what a fact said in a closed interval of the past."""
        row = msgspec.structs.replace(
            fact,
            point_id=ids.derived_id(self.event_key, kind, fact.point_id),
            status=Status.PAST,
            version=1,
            recorded_at=self.now,
            **changes,
        )
        return self.insert(row)

    def record(
        self, kind: str, retired: Fact, successor_id: str | None, effective_at: datetime, decided_by: str, reason: str
    ) -> None:
        """Append one line to the story of succession."""
        self.records.append(
            SupersessionRecord(
                record_id=ids.derived_id(self.event_key, f"supersession:{kind}", retired.point_id),
                namespace=self.namespace,
                kind=kind,
                retired_id=retired.fact_id,
                retired_revision=retired.revision,
                successor_id=successor_id,
                effective_at=effective_at,
                recorded_at=self.now,
                decided_by=decided_by,
                reason=reason,
                decision_id=self.decision_id,
                event_key=self.event_key,
            )
        )

    def tell(self, kind: ChangeType, fact: Fact, replaced: Sequence[Replaced] = ()) -> None:
        """Add a message for ingest."""
        self.changes.append(
            Change(kind, fact, self.decision_id, fact.revision, replaced=tuple(replaced), history=fact.history)
        )


def plan(case: Case, ruling: Ruling, *, now: datetime, policy: str, embedder: str) -> Entry:
    """Return the ledger entry of a ruling: the decision as reported, and its effects.

    `now` is system time. `policy` and `embedder` are fingerprints. Raises Bug for a ruling that contradicts itself.
    """
    candidate = case.candidate
    decision_id = ids.decision_id(candidate.event_key)
    draft = Draft(candidate.event_key, decision_id, candidate.namespace, now)
    decided_by = ruling.judges[-1].judge if ruling.judges and ruling.judges[-1].choice is ruling.kind else "rules"
    match ruling.kind:
        case Kind.SKIP:
            fact = _skip(draft, ruling)
        case Kind.ADD if ruling.placement is not None:
            fact = _add_history(draft, candidate, ruling, decided_by)
        case Kind.ADD:
            fact = _add(draft, case, candidate, ruling)
        case Kind.SUPERSEDE:
            fact = _supersede(draft, candidate, ruling, decided_by)
        case Kind.UPDATE | Kind.MERGE:
            fact = _revise(draft, candidate, ruling, decided_by)
    signal = dedup_signal(case, ruling)
    matched_id = ruling.matched.fact_id if ruling.matched is not None else signal.matched_id
    decision = Decision(
        decision_id=decision_id,
        event_key=candidate.event_key,
        event_id=candidate.event_id,
        namespace=candidate.namespace,
        decision=ruling.kind,
        reason=ruling.reason,
        fact_id=None if ruling.kind is Kind.SKIP else fact.fact_id,
        matched_id=matched_id,
        dedup_signal=signal,
        band=ruling.band,
        thresholds=msgspec.structs.replace(case.policy.thresholds, update_signal=_signal_threshold(case)),
        text=candidate.text,
        source=candidate.source,
        occurred_at=candidate.occurred_at,
        resolved_at=ruling.resolved_at,
        decided_at=now,
        coordinates=candidate.coordinates,
        policy=policy,
        embedder=embedder,
        superseded_ids=tuple(target.fact_id for target in ruling.targets),
        matched_text=_matched_text(case, matched_id, ruling),
        via=ruling.via,
        neighbours=tuple(NeighbourNote(s.fact.fact_id, s.similarity, s.via, s.fact.revision) for s in case.current),
        findings=ruling.findings,
        judges=ruling.judges,
        review=ruling.review,
        conflicts_with=ruling.conflicts,
        revision=fact.revision,
        slot=candidate.slot,
        session_id=candidate.session_id,
        ce_source=candidate.ce_source,
        ce_id=candidate.ce_id,
        ce_time=candidate.ce_time,
        traceparent=candidate.traceparent,
        downstream=ruling.downstream,
    )
    vectors = {}
    if candidate.embedding is not None and fact.embedded and fact.event_key == candidate.event_key:
        vectors[fact.point_id] = candidate.embedding
    return Entry(
        decision=decision,
        body_hash=candidate.body_hash,
        effects=tuple(draft.points.values()),
        inserts=tuple(draft.inserts),
        reworded=tuple(draft.reworded),
        changes=() if _is_held_back(ruling) else tuple(draft.changes),
        supersessions=tuple(draft.records),
        vectors=vectors,
        text_hash=ids.text_hash(candidate.text, candidate.slot),
        attributes=None if ruling.kind in (Kind.ADD, Kind.SUPERSEDE) else candidate.attributes,
    )


def dedup_signal(case: Case, ruling: Ruling | None) -> DedupSignal:
    """Return the signal of a case, as its decision carries it; `ruling` None: as far as it needs no ruling."""
    max_sim, best_id = signal_of(case, ruling)
    is_update = best_id is not None and max_sim > _signal_threshold(case)
    return DedupSignal(is_update=is_update, max_sim=max_sim, matched_id=best_id)


def _is_held_back(ruling: Ruling) -> bool:
    """Return whether ingest is not told of a new fact: it knows it already."""
    return ruling.downstream is not None and ruling.downstream.outcome == "known"


def _signal_threshold(case: Case) -> float:
    """Return the threshold that the dedup signal goes by: the statement's own, or the policy's."""
    own = case.candidate.dedup_threshold
    return case.policy.dedup_update_threshold if own is None else own


def _matched_text(case: Case, matched_id: str | None, ruling: Ruling) -> str | None:
    if ruling.matched is not None:
        return ruling.matched.text
    return next((s.fact.text for s in case.current if s.fact.fact_id == matched_id), None)


def _skip(draft: Draft, ruling: Ruling) -> Fact:
    matched = ruling.matched
    if matched is None:
        raise Bug("a skip without the fact that it repeats")
    at = ruling.resolved_at
    if isinstance(ruling.placement, timeline.Extend):
        row, cut = ruling.placement.row, ruling.placement.cut
        if cut is not None:
            draft.revise(cut, valid_to=at)
        lowered = draft.revise(row, valid_from=at)
        return draft.state_again(_unversioned(lowered), at)
    return draft.state_again(matched, at)


def _unversioned(fact: Fact) -> Fact:
    """Return the fact one version lower, so that two changes of one event are one write."""
    return msgspec.structs.replace(fact, version=fact.version - 1)


def _new_fact(draft: Draft, candidate: Candidate, ruling: Ruling, **more: object) -> Fact:
    at = ruling.resolved_at
    fact_id = ids.fact_id(at, candidate.event_key)
    fact = Fact(
        point_id=fact_id,
        fact_id=fact_id,
        namespace=candidate.namespace,
        text=candidate.text,
        status=Status.CURRENT,
        revision=1,
        version=1,
        valid_from=at,
        recorded_at=draft.now,
        last_stated_at=at,
        source=candidate.source,
        event_key=candidate.event_key,
        decision_id=draft.decision_id,
        slot=candidate.slot,
        stated_at=(at,),
        conflicts_with=ruling.conflicts,
        review=ruling.review,
        session_id=candidate.session_id,
        attributes=candidate.attributes,
        embedded=candidate.embedding is not None,
    )
    return draft.insert(msgspec.structs.replace(fact, **more))


def _add(draft: Draft, case: Case, candidate: Candidate, ruling: Ruling) -> Fact:
    fact = _new_fact(draft, candidate, ruling)
    for scored in case.current:
        rival = scored.fact
        if rival.fact_id in ruling.conflicts and fact.fact_id not in rival.conflicts_with:
            draft.touch(rival, conflicts_with=(*rival.conflicts_with, fact.fact_id)[-CONFLICTS_LIMIT:])
    draft.tell(ChangeType.ADDED, fact)
    return fact


def _replaced(fact: Fact, valid_to: datetime) -> Replaced:
    return Replaced(fact.fact_id, fact.revision, fact.text, fact.valid_from, valid_to)


def _retire(
    draft: Draft, targets: Sequence[Fact], successor_id: str, at: datetime, kind: str, decided_by: str, reason: str
) -> list[Replaced]:
    """Put facts out of force from `at` on, in favour of a successor."""
    replaced = []
    for target in targets:
        ends = max(at, target.valid_from)
        merged_into = successor_id if kind == "merge" else None
        draft.revise(target, status=Status.PAST, valid_to=ends, superseded_by=successor_id, merged_into=merged_into)
        draft.record(kind, target, successor_id, ends, decided_by, reason)
        replaced.append(_replaced(target, ends))
    return replaced


def _supersede(draft: Draft, candidate: Candidate, ruling: Ruling, decided_by: str) -> Fact:
    if not ruling.targets:
        raise Bug("a supersede without a fact to retire")
    fact = _new_fact(draft, candidate, ruling, supersedes=tuple(target.fact_id for target in ruling.targets))
    reason = ruling.judges[-1].reason if ruling.judges else ruling.reason
    replaced = _retire(draft, ruling.targets, fact.fact_id, ruling.resolved_at, "supersede", decided_by, reason)
    draft.tell(ChangeType.SUPERSEDED, fact, replaced)
    return fact


def _revise(draft: Draft, candidate: Candidate, ruling: Ruling, decided_by: str) -> Fact:
    """Revise a fact in place; a merge also takes up the other targets."""
    head = ruling.matched
    if head is None or ruling.text is None:
        raise Bug(f"a {ruling.kind} without a fact or a wording")
    at = ruling.resolved_at
    reason = ruling.judges[-1].reason if ruling.judges else ruling.reason
    if at > head.valid_from:
        draft.past_row(head, "former", valid_to=at)
    revised = draft.revise(
        head,
        text=ruling.text,
        valid_from=max(at, head.valid_from),
        last_stated_at=max(at, head.last_stated_at),
        stated_count=head.stated_count + 1,
        stated_at=(max(at, head.valid_from),),
        source=candidate.source,
        slot=candidate.slot if candidate.slot is not None else head.slot,
        absorbed=(*head.absorbed, *(target.fact_id for target in ruling.targets)),
        attributes=candidate.attributes if candidate.attributes is not None else head.attributes,
        embedded=candidate.embedding is not None and ruling.text == candidate.text,
    )
    if ruling.text != head.text:
        draft.reworded.append(head.point_id)
    replaced = [_replaced(head, at)]
    draft.record("update" if ruling.kind is Kind.UPDATE else "merge", head, head.fact_id, at, decided_by, reason)
    replaced += _retire(draft, ruling.targets, head.fact_id, at, "merge", decided_by, reason)
    draft.tell(ChangeType.UPDATED if ruling.kind is Kind.UPDATE else ChangeType.MERGED, revised, replaced)
    return revised


def _add_history(draft: Draft, candidate: Candidate, ruling: Ruling, decided_by: str) -> Fact:
    """Store a late statement as history, cutting what was taken to be true at its time."""
    placement = ruling.placement
    if not isinstance(placement, timeline.Insert):
        raise Bug(f"history without a place in it: {placement!r}")
    at, cut, successor = ruling.resolved_at, placement.cut, placement.successor
    fact = _new_fact(
        draft,
        candidate,
        ruling,
        status=Status.PAST,
        valid_to=placement.valid_to,
        history=True,
        supersedes=(cut.fact_id,) if cut is not None else (),
        superseded_by=successor.fact_id,
    )
    cut_history(draft, placement, fact.fact_id, at, decided_by, ruling.reason)
    draft.record("late_history", fact, successor.fact_id, placement.valid_to, decided_by, ruling.reason)
    draft.tell(ChangeType.ADDED, fact)  # what was cut is not replaced: it is in force as before, or as little as before
    return fact


def cut_history(draft: Draft, placement: timeline.Insert, by: str, at: datetime, decided_by: str, reason: str) -> None:
    """End what was taken to be true at the time of a late statement (`by`, made at `at`), until it was stated again if it was."""
    cut = placement.cut
    if cut is None:
        return
    draft.record("late_history", cut, by, at, decided_by, reason)
    if placement.resumes_at is None:
        draft.revise(cut, valid_to=at, superseded_by=by)
    else:
        _split(draft, cut, by, at, placement.resumes_at)


def _split(draft: Draft, row: Fact, by: str, at: datetime, resumes_at: datetime) -> None:
    """Split a row in two: what was stated until `at`, and what was stated again from `resumes_at` on (the point itself)."""
    before = tuple(instant for instant in row.stated_at if instant < at)
    after = tuple(instant for instant in row.stated_at if instant >= resumes_at) or (resumes_at,)
    draft.past_row(
        row,
        "former",
        valid_to=at,
        stated_at=before,
        last_stated_at=before[-1] if before else row.valid_from,
        superseded_by=by,
    )
    draft.revise(row, valid_from=resumes_at, stated_at=after, supersedes=(by,))
