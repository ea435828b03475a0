"""From the ledger to the world: what is stored is performed, told and then acknowledged. All of it is harmless to repeat."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from factsieve.core.decision import Change, Entry, Erasure, LedgerRecord
from factsieve.core.errors import Transient
from factsieve.core.facts import Candidate, Fact, Kind, Status
from factsieve.core.ids import derived_id
from factsieve.core.undo import scrub
from factsieve.engine.ports import Gathered, Observer, Ports
from factsieve.engine.wave import WaveSettings, new_vectors, window_hit
from factsieve.ports import FactWrite, Ledger, LedgerPointer, Message, Vector, WindowHit
from factsieve.wire import outbound
from factsieve.wire.inbound import Command
from factsieve.wire.ledger import decode_record, encode_record
from factsieve.wire.topics import Topics

_RESTATE_LIMIT: Final = 8


def record_id_of(namespace: str, first_event_key: str) -> str:
    """Return the id of the ledger record of a lane's wave: it is named by its first event."""
    return derived_id(first_event_key, "wave", namespace)


def ledger_fields(record: LedgerRecord) -> dict[str, object]:
    """Return what the ledger indexes of a record: whose it is, which facts' texts it holds, whether it may be dropped some day."""
    fact_ids = sorted({fact_id for entry in record.entries for fact_id in held_facts(entry)})
    return {
        "namespace": record.namespace,
        "fact_ids": fact_ids,
        "skips_only": all(entry.decision.decision is Kind.SKIP for entry in record.entries),
        "recorded_at": record.recorded_at.isoformat(),
    }


def held_facts(entry: Entry) -> set[str]:
    """Return the facts whose texts an entry may hold: written, matched, replaced, or quoted by a judge or the guard."""
    decision = entry.decision
    held = {fact.fact_id for fact in entry.effects}
    held |= {one.fact_id for change in entry.changes for one in change.replaced}
    held |= {one for one in (decision.fact_id, decision.matched_id, *decision.superseded_ids) if one is not None}
    if decision.judges or decision.findings:
        held |= {note.fact_id for note in decision.neighbours}
    return held


def blank_vector(dimension: int) -> Vector:
    """Return the vector of points without a text."""
    vector = np.zeros(dimension, dtype=np.float32)
    vector[0] = 1.0
    return vector


async def scrub_ledger(ledger: Ledger, namespace: str, erasure: Erasure) -> None:
    """Take erased texts out of every record that holds them. Raises Transient where a record changes meanwhile: it is read again."""
    async for record_id, body in ledger.holding(namespace, list(erasure.facts)):
        await _scrub_record(ledger, record_id, body, erasure)
    pointers = await ledger.lookup(erasure.event_keys)
    for record_id in dict.fromkeys(pointer.record_id for pointer in pointers.values()):
        for body in (await ledger.records([record_id])).values():
            await _scrub_record(ledger, record_id, body, erasure)


async def _scrub_record(ledger: Ledger, record_id: str, body: bytes, erasure: Erasure) -> None:
    record = decode_record(body)
    scrubbed = scrubbed_record(record, erasure)
    if scrubbed is not record:
        await ledger.scrub({record_id: (body, encode_record(scrubbed))})


def scrubbed_record(record: LedgerRecord, erasure: Erasure) -> LedgerRecord:
    """Return a record without the erased texts; the same one where it holds none."""
    entries = tuple(scrub(entry, erasure) for entry in record.entries)
    if all(new is old for new, old in zip(entries, record.entries, strict=True)):
        return record
    return msgspec.structs.replace(record, entries=entries)


class Performer:
    """Performs recorded decisions and emits what follows from them."""

    def __init__(
        self, ports: Ports, gathered: Gathered, topics: Topics, settings: WaveSettings, observer: Observer
    ) -> None:
        self._ports = ports
        self._gathered = gathered
        self._topics = topics
        self._settings = settings
        self._observer = observer

    async def perform(self, record: LedgerRecord, known: Mapping[str, Vector] | None = None) -> None:
        """Write pointers and effects of a stored record. `known`: vectors of new and reworded points, by id, if at hand.

        Several changes of one point in a wave are one write, of the last state. Points that are there already, at this version or a
        later one, are left out. What a command erases is scrubbed from the ledger, too.
        """
        pointers = [
            (entry.decision.event_key, LedgerPointer(record.record_id, index))
            for index, entry in enumerate(record.entries)
        ]
        await self._gathered.point.many(pointers)
        await self._write(record, known)
        for entry in record.entries:
            if entry.erases is not None:
                await scrub_ledger(self._ports.ledger, record.namespace, entry.erases)

    async def _write(self, record: LedgerRecord, known: Mapping[str, Vector] | None) -> None:
        final: dict[str, Fact] = {}
        inserts = {point_id for entry in record.entries for point_id in entry.inserts}
        for entry in record.entries:
            final |= {fact.point_id: fact for fact in entry.effects}
        if known is None:
            stored = await self._gathered.get.many(list(final))
            final = {
                fact.point_id: fact
                for fact, old in zip(final.values(), stored, strict=True)
                if (old is None and fact.point_id in inserts) or (old is not None and old.version < fact.version)
            }
            if not final:
                return
            known = await new_vectors(self._gathered, [_only(entry, final) for entry in record.entries])
        gone = {point_id: self._blank for point_id, fact in final.items() if fact.status is Status.ERASED}
        kept = [point_id for point_id in final if point_id not in known and point_id not in gone]
        vectors = {**known, **(await self._ports.facts.vectors(kept) if kept else {}), **gone}
        writes = [
            FactWrite(fact, vectors[point_id], point_id in inserts)
            for point_id, fact in final.items()
            if point_id in vectors  # a point that is gone can not be changed either
        ]
        await self._gathered.write.many(writes)

    @cached_property
    def _blank(self) -> Vector:
        return blank_vector(self._ports.embedder.dimension)

    async def remember(self, entries: Iterable[Entry]) -> None:
        """Write what the hash window is to hold of decided events."""
        texts: list[tuple[str, datetime, WindowHit]] = []
        namespace = ""
        for entry in entries:
            hit = window_hit(entry, self._settings)
            if hit is not None:
                namespace = entry.decision.namespace
                texts.append((entry.text_hash, entry.decision.occurred_at, hit))
        if not texts:
            return
        try:
            await self._ports.window.put(namespace, texts)
        except Transient as error:
            self._observer.degraded("redis", str(error))

    async def emit(
        self,
        told: Sequence[tuple[Entry, Candidate | Command]],
        before_send: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Send everything that follows from stored decisions, and wait until all of it is acknowledged.

        An event met at the coordinates that it was decided under is told in full, again if need be. Met elsewhere (a replay, or a
        producer that repeats itself) only the decision is reported, and `new-facts` hears of it where the replay asks for that.
        `before_send` is awaited when everything is read, and may raise.
        """
        heads: dict[str, None] = {}
        messages: list[Message] = []
        changes: list[Change] = []
        for entry, event in told:
            decision = entry.decision
            replayed = decision.coordinates != event.coordinates
            if not replayed or (isinstance(event, Candidate) and event.replay_id is not None and event.replay_emit):
                changes += entry.changes
                messages += [
                    outbound.change_message(self._topics, change, decision, traceparent=decision.traceparent)
                    for change in entry.changes
                ]
            if not replayed:
                messages += [
                    outbound.supersession_message(self._topics, line, traceparent=decision.traceparent)
                    for line in entry.supersessions
                ]
                heads |= dict.fromkeys(fact.fact_id for fact in entry.effects)
            messages.append(
                outbound.decision_message(
                    self._topics,
                    entry,
                    replayed=replayed,
                    replay_id=event.replay_id,
                    met_at=event.coordinates if replayed else None,
                    traceparent=decision.traceparent,
                )
            )
        standing = await self._gathered.get.many(list(heads))
        messages += [outbound.fact_message(self._topics, fact) for fact in standing if fact is not None]
        if before_send is not None:
            await before_send()
        await self._gathered.send.many(messages)
        for change in changes:
            self._observer.changed(change.type.value)
        for entry, event in told:
            replayed = entry.decision.coordinates != event.coordinates
            self._observer.decided(entry.decision, replayed=replayed)
            if entry.undoes is not None and not replayed:
                self._observer.reverted(entry.undoes.value)

    async def restate(self, entries: Iterable[Entry]) -> None:
        """Tell anew how the facts of these decisions stand, until what was told last is what stands.

        For a process that may have slept before it told: another one may have changed the facts and told it meanwhile, and
        the compacted topic would keep the older state for good. Raises Transient where they change too fast to be followed.
        """
        heads = list(dict.fromkeys(fact.fact_id for entry in entries for fact in entry.effects))
        told: list[Fact | None] | None = None
        for _ in range(_RESTATE_LIMIT):
            standing = await self._gathered.get.many(heads)
            if standing == told:
                return
            messages = [outbound.fact_message(self._topics, fact) for fact in standing if fact is not None]
            await self._gathered.send.many(messages)
            told = standing
        raise Transient("kafka", f"{len(heads)} facts changed {_RESTATE_LIMIT} times while they were told")


def _only(entry: Entry, points: Mapping[str, Fact]) -> Entry:
    """Return the entry with those effects only that are still to be written as they are there."""
    effects = tuple(fact for fact in entry.effects if points.get(fact.point_id) is not None)
    return msgspec.structs.replace(entry, effects=effects)
