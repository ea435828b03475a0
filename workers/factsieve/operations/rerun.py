"""Everything decided anew under another policy, in memory: the engine's own waves over the statements that the ledger tells of."""

import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from factsieve.adapters.clock import SystemClock
from factsieve.adapters.memory import MemoryFacts, MemoryLedger, MemoryOutbox, MemoryWindow
from factsieve.core import downstream, whatif
from factsieve.core.decision import Entry, LedgerRecord
from factsieve.core.facts import Candidate, Kind, Record
from factsieve.core.policy import Policies
from factsieve.core.whatif import Foreseen
from factsieve.engine.desk import HoldSettings, JudgeDesk
from factsieve.engine.items import Item, Prepared
from factsieve.engine.perform import Performer, record_id_of
from factsieve.engine.ports import Gathered, HoldsAll, Ports, QuietObserver
from factsieve.engine.wave import Flush, Wave, WaveSettings
from factsieve.wire.topics import Topics

if TYPE_CHECKING:
    from factsieve.ports import Embedder, Judge

_BATCH: Final = 128


@dataclass(frozen=True)
class Parts:
    """What a rerun decides with: the embedder, the judges, and how waves are made."""

    embedder: "Embedder"
    judge: "Judge"
    local_judge: "Judge"
    wave: WaveSettings
    hold: HoldSettings
    wave_events: int = 64


class Rerun:
    """One namespace's statements decided anew, from an empty store on, each compared with what was decided about it.

    What operators ordered can be done again only while nothing is different yet; later orders are left out and counted in
    `orders_left_out`. Statements whose text was erased are left out, too.
    """

    def __init__(self, namespace: str, parts: Parts, *, now: Policies, then: Policies) -> None:
        self._namespace = namespace
        self._parts = parts
        self._now = now
        self._then = then
        observer = QuietObserver()
        self._observer = observer
        self._ports = Ports(
            facts=MemoryFacts(parts.embedder.dimension),
            ledger=MemoryLedger(),
            window=MemoryWindow(int(parts.wave.window_s)),
            embedder=parts.embedder,
            judge=parts.judge,
            local_judge=parts.local_judge,
            outbox=MemoryOutbox(),
            clock=SystemClock(),
            fence=HoldsAll(),
        )
        self._gathered = Gathered(self._ports, observer, batch_items=_BATCH)
        self._desk = JudgeDesk(parts.judge, parts.local_judge, self._ports.clock, observer, parts.hold)
        self._performer = Performer(self._ports, self._gathered, Topics(), parts.wave, observer)
        self._differs = False
        self.orders_left_out = 0

    async def run(
        self,
        entries: AsyncIterator[Entry],
        *,
        since: datetime | None = None,
        on_entry: Callable[[Entry], None] = lambda _entry: None,
    ) -> AsyncIterator[Foreseen]:
        """Yield what comes of each statement. Before `since` the policy in force decides, from then on the other one."""
        waiting: list[Entry] = []
        changed = False
        async for entry in entries:
            on_entry(entry)
            new = since is None or entry.decision.decided_at >= since
            if waiting and (len(waiting) == self._parts.wave_events or new != changed):
                async for seen in self._wave(waiting, changed=changed):
                    yield seen
                waiting = []
            changed = new
            if whatif.is_told(entry):
                waiting.append(entry)
                continue
            async for seen in self._wave(waiting, changed=changed):
                yield seen
            waiting = []
            if entry.decision.decision is None:
                await self._order(entry)
        async for seen in self._wave(waiting, changed=changed):
            yield seen

    async def _order(self, entry: Entry) -> None:
        """Do again what an operator ordered, as it was done."""
        if self._differs:
            self.orders_left_out += 1
            return
        await self._performer.perform(self._record([entry]))

    async def _wave(self, recorded: list[Entry], *, changed: bool) -> AsyncIterator[Foreseen]:
        """Decide a run of statements as a lane does: what is decided is performed where the next decision needs it."""
        if not recorded:
            return
        policies = self._then if changed else self._now
        wave = Wave(self._ports, self._gathered, self._desk, policies, self._parts.wave, self._observer)
        policy = self._now.of(self._namespace)
        candidates = [whatif.candidate_of(e, whatif.policy_then(e.decision, policy)) for e in recorded]
        prepared = await wave.prepare([(_item(candidate), candidate) for candidate in candidates])
        pending: list[Entry] = []
        for old, one in zip(recorded, prepared, strict=True):
            new, pending = await self._decide(wave, one, pending)
            seen = _compared(self._namespace, old, new)
            self._differs = self._differs or seen.state == "changed"
            if changed:
                yield seen
        await self._perform(wave, pending)

    async def _decide(self, wave: Wave, one: Prepared, pending: list[Entry]) -> tuple[Entry, list[Entry]]:
        try:
            entry = await wave.decide(one, pending=bool(pending))
        except Flush:
            await self._perform(wave, pending)
            entry = await wave.decide(one, pending=False)
            return entry, [entry]
        return entry, [*pending, entry]

    async def _perform(self, wave: Wave, entries: list[Entry]) -> None:
        if entries:
            await self._performer.perform(self._record(entries), wave.new_vectors(entries))
            await self._performer.remember(entries)

    def _record(self, entries: list[Entry]) -> LedgerRecord:
        return LedgerRecord(
            record_id=record_id_of(self._namespace, entries[0].decision.event_key),
            namespace=self._namespace,
            attempt=uuid.uuid4().hex,
            recorded_at=self._ports.clock.now(),
            entries=tuple(entries),
        )


def _item(candidate: Candidate) -> Item:
    at = candidate.coordinates
    record = Record(at.topic, at.partition, at.offset, 0, candidate.namespace.encode("utf-8"), None)
    return Item(record, candidate, _nothing, _nothing, 0)


def _nothing() -> None:
    """Nobody waits for a rerun's events."""


def _compared(namespace: str, old: Entry, new: Entry) -> Foreseen:
    before, after = whatif.told(old.decision), whatif.told(new.decision)
    if before.reason == downstream.KNOWN and after.decision is Kind.ADD and after.review is None:
        after = msgspec.structs.replace(after, reason=before.reason)  # a rerun does not look there again
    if _gist(old) != _gist(new):
        state: whatif.State = "changed"
    else:
        state = "same" if whatif.same_way(before, after) else "another_way"
    return Foreseen(
        namespace=namespace,
        event_id=old.decision.event_id,
        event_key=old.decision.event_key,
        decision_id=old.decision.decision_id,
        text=old.decision.text,
        similarity=new.decision.dedup_signal.max_sim,
        occurred_at=old.decision.occurred_at,
        decided_at=old.decision.decided_at,
        state=state,
        before=before,
        after=after,
        certain=True,
        questions_before=len(old.decision.judges),
        questions_after=len(new.decision.judges),
        model_calls_before=sum(whatif.is_model(note.judge) for note in old.decision.judges),
        model_calls_after=sum(whatif.is_model(note.judge) for note in new.decision.judges),
    )


def _gist(entry: Entry) -> tuple[object, ...]:
    """Return what a decision did, apart from system times: which points it wrote, what they say and from when to when they hold."""
    points = [
        msgspec.structs.replace(fact, recorded_at=fact.valid_from, retired_at=fact.valid_to, attributes=None)
        for fact in entry.effects
    ]
    return entry.decision.decision, sorted(points, key=lambda fact: fact.point_id)
