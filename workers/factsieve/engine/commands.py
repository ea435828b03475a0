"""Operators' commands in their lane: authorised, planned by the core, recorded and performed like any decision.

What a command needs is read from the stores as they are: the lane has performed everything that came before it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from factsieve.core import ids, undo
from factsieve.core.decision import Band, Decision, Entry
from factsieve.core.errors import Bug
from factsieve.core.facts import FOREVER, NO_SIGNAL, Fact, Kind, Status
from factsieve.core.plan import Draft
from factsieve.core.policy import Policies
from factsieve.core.undo import Held, Outcome
from factsieve.engine.desk import JudgeDesk
from factsieve.engine.erasures import Eraser
from factsieve.engine.reviews import Reviewer
from factsieve.engine.wave import Wave
from factsieve.ports import Embedder, FactStore, Ledger
from factsieve.wire.inbound import Command
from factsieve.wire.ledger import decode_record
from factsieve.wire.signing import authorise

POINTS_LIMIT: Final = 1024
BYTES_LIMIT: Final = 2 << 20
"""A command that would change more than this is refused: its plan is one ledger record and one message on `fact-decisions`."""

SUCCESSORS_LIMIT: Final = 32
"""So many facts that took each other's place are followed; further on, a link is left as it was."""

SCAN_LIMIT: Final = 100_000
"""So many decisions are looked at for an event that is named without its source."""


class Stores(msgspec.Struct, frozen=True):
    """What commands read."""

    facts: FactStore
    ledger: Ledger
    embedder: Embedder


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """A command as it is planned: what it says, under which key it is recorded, by whose word and when."""

    kind: str
    namespace: str
    body: Mapping[str, Any]
    event_key: str
    decided_by: str
    now: datetime


class Planned(msgspec.Struct, frozen=True):
    """What a command would do, or does."""

    outcome: Outcome
    draft: Draft
    about: Decision | None = None


class Planner:
    """Plans commands over the stores, reading only: for the lane that performs them, and for previews."""

    def __init__(self, stores: Stores, policies: Policies, desk: JudgeDesk) -> None:
        self._facts = stores.facts
        self._ledger = stores.ledger
        self._reviewer = Reviewer(stores.facts, stores.embedder, policies, desk)
        self._eraser = Eraser(stores.facts, stores.ledger, self.entry_of)

    async def plan(self, issue: Issue) -> Planned:
        """Return outcome and effects of a command. Raises Transient."""
        draft = Draft(issue.event_key, ids.decision_id(issue.event_key), issue.namespace, issue.now)
        about: Decision | None = None
        match issue.kind:
            case "retract":
                outcome = await self._retract(draft, issue)
            case "revert":
                outcome, about = await self._revert(draft, issue)
            case "review":
                outcome, about = await self._review(draft, issue)
            case "erase":
                outcome, about = await self._eraser.plan(
                    draft,
                    issue.body,
                    limit=POINTS_LIMIT,
                    reason=_reason(issue, "erased by an operator"),
                    decided_by=issue.decided_by,
                )
            case _:
                raise Bug(f"no such command: {issue.kind!r}")
        if outcome.kind == "applied" and (much := _too_much(draft)):
            draft, outcome = _emptied(draft), Outcome("refused", much, outcome.fact)
        elif outcome.kind == "applied" and (torn := _torn(draft)):
            draft, outcome = _emptied(draft), Outcome("refused", torn, outcome.fact)
        elif outcome.kind != "applied":
            draft = _emptied(draft)
        return Planned(outcome, draft, about)

    async def _retract(self, draft: Draft, issue: Issue) -> Outcome:
        fact = await self._fact(issue.namespace, issue.body["fact_id"])
        rows = [] if fact is None else await self._facts.history(issue.namespace, fact.fact_id)
        held = Held({row.point_id: row for row in rows}, {} if fact is None else {fact.fact_id: rows})
        return undo.retract(draft, fact, held, _reason(issue, "retracted by an operator"), issue.decided_by)

    async def _revert(self, draft: Draft, issue: Issue) -> tuple[Outcome, Decision | None]:
        entry = await self.entry_of(issue.namespace, issue.body)
        if isinstance(entry, Outcome):
            return entry, None
        outcome = undo.revert(
            draft,
            entry,
            await self._held(entry),
            drop=bool(issue.body.get("drop_newer")),
            force=bool(issue.body.get("force")),
            reason=_reason(issue, "reverted by an operator"),
            decided_by=issue.decided_by,
        )
        return outcome, entry.decision

    async def _review(self, draft: Draft, issue: Issue) -> tuple[Outcome, Decision | None]:
        fact_id = issue.body.get("fact_id")
        entry: Entry | None = None
        if fact_id is None:
            found = await self.entry_of(issue.namespace, issue.body)
            if isinstance(found, Outcome):
                return found, None
            entry, fact_id = found, found.decision.fact_id
        fact = None if fact_id is None else await self._fact(issue.namespace, fact_id)
        reason = _reason(issue, "reviewed by an operator")
        outcome = await self._reviewer.plan(draft, fact, issue.body, reason=reason, decided_by=issue.decided_by)
        return outcome, None if entry is None else entry.decision

    # Loading

    async def _fact(self, namespace: str, fact_id: str) -> Fact | None:
        fact = (await self._facts.get([fact_id])).get(fact_id)
        return fact if fact is not None and fact.namespace == namespace and fact.is_head else None

    async def entry_of(self, namespace: str, body: Mapping[str, Any]) -> Entry | Outcome:
        """Return the ledger entry of the decision that a body names, or why there is none."""
        if body.get("decision_id") is not None:
            named = str(body["decision_id"])
            pointer = (await self._ledger.decided([named])).get(named)
        elif body.get("event_key") is not None or body.get("ce_source") is not None:
            named = body.get("event_key") or ids.event_key(namespace, body["ce_source"], body["event_id"])
            pointer = (await self._ledger.lookup([named])).get(named)
        else:
            return await self._scan(namespace, body["event_id"])
        if pointer is None:
            return Outcome("refused", f"no decision {named} in the ledger: `factsieve activity --json` shows the ids")
        stored = (await self._ledger.records([pointer.record_id])).get(pointer.record_id)
        if stored is None:
            return Outcome("refused", f"the record of decision {named} is not in the ledger any more")
        entry = decode_record(stored).entries[pointer.index]
        if entry.decision.namespace != namespace:
            return Outcome("refused", f"no decision {named} in this namespace")
        return entry

    async def _scan(self, namespace: str, event_id: str) -> Entry | Outcome:
        found: list[Entry] = []
        seen = 0
        async for stored in self._ledger.scan(namespace):
            entries = decode_record(stored).entries
            seen += len(entries)
            found += [entry for entry in entries if entry.decision.event_id == event_id]
            if seen > SCAN_LIMIT:
                return Outcome(
                    "refused",
                    f"event {event_id!r} is not among {SCAN_LIMIT} decisions looked at: name its decision_id, or its ce_source too",
                )
        if len(found) == 1:
            return found[0]
        if not found:
            return Outcome("refused", f"no decision about an event {event_id!r} in this namespace")
        sources = ", ".join(sorted({str(entry.decision.ce_source) for entry in found}))
        return Outcome("refused", f"{len(found)} events are called {event_id!r}: name ce_source too, one of {sources}")

    async def _held(self, entry: Entry) -> Held:
        """Return what is stored of everything that an entry wrote."""
        written = undo.written_rows(entry)
        wanted = {fact.point_id for fact in written} | {fact.fact_id for fact in written}
        decision = entry.decision
        wanted |= {one for one in (undo.stored_id(entry), decision.fact_id, decision.matched_id) if one is not None}
        made = [fact.fact_id for fact in written if fact.is_head and fact.point_id in entry.inserts]
        rows = {fact_id: await self._facts.history(decision.namespace, fact_id) for fact_id in made}
        stored = await self._facts.get(sorted(wanted))
        points = {key: fact for key, fact in stored.items() if fact.namespace == decision.namespace}
        reverts = await self._reverts_of(decision.decision_id, {fact.decision_id for fact in points.values()})
        return Held(await self._with_successors(points), rows, reverts)

    async def _with_successors(self, points: Mapping[str, Fact]) -> dict[str, Fact]:
        """Return points with what took their place, and what took the place of that in turn, as far as it is followed."""
        known = dict(points)
        for _ in range(SUCCESSORS_LIMIT):
            wanted = {fact.superseded_by for fact in known.values() if fact.superseded_by is not None} - known.keys()
            found = await self._facts.get(sorted(wanted)) if wanted else {}
            if not found:
                break
            known |= found
        return known

    async def _reverts_of(self, decision_id: str, among: set[str]) -> frozenset[str]:
        """Return those decisions that are applied reverts of one."""
        pointers = await self._ledger.decided(sorted(among))
        bodies = await self._ledger.records(sorted({pointer.record_id for pointer in pointers.values()}))
        records = {record_id: decode_record(body) for record_id, body in bodies.items()}
        found = [
            records[pointer.record_id].entries[pointer.index].decision
            for pointer in pointers.values()
            if pointer.record_id in records
        ]
        return frozenset(
            one.decision_id
            for one in found
            if one.command == "revert" and one.outcome == "applied" and one.about_decision_id == decision_id
        )


class Commander:
    """Turns commands into ledger entries."""

    def __init__(
        self,
        stores: Stores,
        policies: Policies,
        desk: JudgeDesk,
        keys: Mapping[str, bytes],
        max_age_s: float,
    ) -> None:
        self._stores = stores
        self._policies = policies
        self._planner = Planner(stores, policies, desk)
        self._keys = keys
        self._max_age_s = max_age_s

    async def entry(self, command: Command, wave: Wave, now: datetime) -> Entry:
        """Return the entry of a command, and take it up in the overlay. Raises BadInput for one that is not signed well."""
        authorise(command, self._keys, self._max_age_s, now)
        issue = Issue(
            kind=command.kind,
            namespace=command.namespace,
            body=command.body,
            event_key=command.event_key,
            decided_by=f"operator:{command.key_id}",
            now=now,
        )
        planned = await self._planner.plan(issue)
        draft = planned.draft
        entry = Entry(
            decision=self._decision(command, planned, now),
            body_hash=command.body_hash,
            effects=tuple(draft.points.values()),
            inserts=tuple(draft.inserts),
            reworded=tuple(draft.reworded),
            changes=tuple(draft.changes),
            supersessions=tuple(draft.records),
            vectors=await self._given_vectors(draft),
            erases=planned.outcome.erases,
            undoes=_undone(command, planned),
        )
        return await wave.take_up_command(entry)

    async def _given_vectors(self, draft: Draft) -> dict[str, tuple[float, ...]]:
        """Return the vectors of facts that get a wording back whose vector once came along: archived rows keep it."""
        copies: dict[str, str] = {}
        for point_id in draft.reworded:
            point = draft.points[point_id]
            if point.embedded:
                rows = await self._stores.facts.history(draft.namespace, point.fact_id)
                kept = [row for row in rows if row.embedded and row.text == point.text]
                if kept:
                    copies[point_id] = kept[-1].point_id
        found = await self._stores.facts.vectors(list(copies.values())) if copies else {}
        return {point_id: tuple(map(float, found[row])) for point_id, row in copies.items() if row in found}

    def _decision(self, command: Command, planned: Planned, now: datetime) -> Decision:
        outcome, draft, about = planned.outcome, planned.draft, planned.about
        fact = outcome.fact
        now_stands = None if fact is None else draft.points.get(fact.point_id, fact)
        policy = self._policies.of(command.namespace)
        return Decision(
            decision_id=draft.decision_id,
            event_key=command.event_key,
            event_id=command.event_id,
            namespace=command.namespace,
            decision=None,
            command=command.kind,
            outcome=outcome.kind,
            reason=outcome.reason,
            about_decision_id=None if about is None else about.decision_id,
            fact_id=None if fact is None else fact.fact_id,
            matched_id=None if about is None else about.matched_id,
            dedup_signal=NO_SIGNAL,
            band=Band.NONE,
            thresholds=policy.thresholds,
            text="" if now_stands is None else now_stands.text,
            source=None,
            occurred_at=command.issued_at,
            resolved_at=command.issued_at,
            decided_at=now,
            coordinates=command.coordinates,
            policy=policy.fingerprint,
            embedder=self._stores.embedder.fingerprint,
            superseded_ids=outcome.dropped,
            via="command",
            judges=outcome.judges,
            revision=None if now_stands is None else now_stands.revision,
            ce_source=command.ce_source,
            ce_id=command.ce_id,
            ce_time=command.ce_time,
            traceparent=command.traceparent,
        )


def _undone(command: Command, planned: Planned) -> Kind | None:
    """Return what the decision was that an applied revert takes back; None of a command that is reverted."""
    if command.kind != "revert" or planned.outcome.kind != "applied" or planned.about is None:
        return None
    return planned.about.decision


def _reason(issue: Issue, default: str) -> str:
    return str(issue.body.get("reason") or default)


def _emptied(draft: Draft) -> Draft:
    return Draft(draft.event_key, draft.decision_id, draft.namespace, draft.now)


def _torn(draft: Draft) -> str | None:
    """Return why a plan must not be performed: it would leave a fact both current and out of force."""
    for fact in draft.points.values():
        closed = fact.valid_to != FOREVER or fact.superseded_by is not None or fact.merged_into is not None
        if fact.status is Status.CURRENT and closed:
            return (
                f"what was decided about fact {fact.fact_id} in between contradicts it: revert those decisions first, the newest "
                "one before the others"
            )
    return None


def _too_much(draft: Draft) -> str | None:
    """Return why a plan is too large to be one record, if it is."""
    points = draft.points.values()
    size = sum(len(fact.text.encode()) + len(msgspec.json.encode(fact.attributes)) for fact in points)
    if len(points) <= POINTS_LIMIT and size <= BYTES_LIMIT:
        return None
    return (
        f"it would change {len(points)} rows with {size} bytes, at most {POINTS_LIMIT} rows and {BYTES_LIMIT} bytes are changed at "
        "once: revert or retract its facts one by one"
    )
