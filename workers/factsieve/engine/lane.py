"""The ordered queue of one namespace (DESIGN sections 3 and 6).

A lane takes a wave of its events: those that are in the ledger are performed and told again, the rest is decided, recorded as one
insert-only record, read back, performed, told, and acknowledged. Nothing of the next wave happens before.
"""

import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Final, TypeVar

import msgspec

from factsieve.core.decision import Entry, LedgerRecord
from factsieve.core.errors import BadInput, Transient
from factsieve.core.facts import Candidate
from factsieve.core.undo import SCRUBBED_HASH
from factsieve.engine.items import Item, Prepared, WaveLost
from factsieve.engine.perform import Performer, ledger_fields, record_id_of
from factsieve.engine.poison import NamespaceStopped, Quarantine, refusal
from factsieve.engine.ports import Gathered, Observer, Ports
from factsieve.engine.wave import Flush, Wave
from factsieve.ports import Vector
from factsieve.wire.inbound import Command
from factsieve.wire.ledger import decode_record, encode_record

T = TypeVar("T")

UNPROCESSABLE: Final = "unprocessable"
_MOSTLY_NEW: Final = 0.9
_DOUBLINGS: Final = 16
"""Of a pause, at most: far above the longest pause that is meant."""


class LaneSettings(msgspec.Struct, frozen=True):
    """Bounds of a lane: events per wave, and the pauses of repeated calls (seconds)."""

    wave_events: int = 64
    retry_first_s: float = 0.1
    retry_most_s: float = 5.0
    fence_poll_s: float = 0.2


class LaneTools(msgspec.Struct, frozen=True):
    """What every lane works with."""

    ports: Ports
    gathered: Gathered
    performer: Performer
    observer: Observer
    settings: LaneSettings
    new_wave: Callable[[], Wave]
    command: Callable[[Command, Wave], Awaitable[Entry]]
    reject: Callable[[Item, BadInput], Awaitable[None]]
    too_large: Callable[[Entry], BadInput | None]
    is_gone: Callable[[Item], bool]
    quarantine: Quarantine


class Lane:
    """One namespace's queue and the task that works it off."""

    def __init__(self, namespace: str, tools: LaneTools) -> None:
        self.namespace = namespace
        self.waiting: deque[Item] = deque()
        self.started: list[Item] = []
        self._tools = tools
        self._singly = 0  # so many of the next events are taken one at a time: one of them made a wave fail

    async def work(self) -> None:
        """Take waves until nothing waits. Raises NamespaceStopped, and whatever can not be laid to one event."""
        while self.waiting:
            count = 1 if self._singly else min(len(self.waiting), self._tools.settings.wave_events)
            self._singly = max(0, self._singly - 1)
            self.started = self._ours(self._next(count))
            try:
                rest = await self._insist(self._take, self.started) if self.started else []
            except WaveLost:
                self._tools.observer.fenced(len(self.started))
                rest = self.started
            except Exception as error:
                rest = await self._failed(self.started, error)
            # What another worker recorded first, or what follows a repeated event, is looked up anew.
            self.waiting.extendleft(reversed(self._ours(rest)))

    def _next(self, count: int) -> list[Item]:
        """Return the next events, `count` at most, all of one partition.

        A namespace whose keys were put into several partitions has several owners, who each must find a record by the first of its events.
        """
        items = [self.waiting.popleft()]
        while len(items) < count and self.waiting[0].partition == items[0].partition:
            items.append(self.waiting.popleft())
        return items

    def _ours(self, items: Sequence[Item]) -> list[Item]:
        """Return the events whose partition is still ours, and drop the others."""
        for item in items:
            if self._tools.is_gone(item):
                item.close()
        return [item for item in items if not item.closed]

    async def _insist(self, call: Callable[[Sequence[Item]], Awaitable[T]], items: Sequence[Item]) -> T:
        """Return the call's result; a service that does not answer is waited for as long as the events are ours."""
        pause_s = self._tools.settings.retry_first_s
        while True:
            try:
                return await call(items)
            except Transient as error:
                self._tools.observer.waited(error.service, str(error))
                await self._tools.ports.clock.sleep(pause_s)
                pause_s = min(2 * pause_s, self._tools.settings.retry_most_s)
                if any(self._tools.is_gone(item) for item in items):
                    raise WaveLost from error

    # Events that fail

    async def _failed(self, items: Sequence[Item], error: Exception) -> list[Item]:
        """Take a failed wave apart, or judge the event that failed alone; return the events that are to be tried again."""
        left = [item for item in items if not item.closed]
        if not left:
            raise error  # all was done, and what went wrong then can not be laid to any of them
        if len(left) > 1:
            self._singly = len(left)
            return left
        [item] = left
        quarantine = self._tools.quarantine
        blamed = isinstance(error, BadInput) or await quarantine.blames(error)
        if not blamed and quarantine.settings.ends_on_outage:
            raise error
        try:
            item.failures += blamed
            if item.failures < quarantine.settings.tries and not isinstance(error, BadInput):
                return await self._later(item)
            return await self._insist(lambda _: self._set_aside(item, error), left)
        except WaveLost:
            self._tools.observer.fenced(1)
            return left
        except NamespaceStopped:
            raise
        except Exception as second:
            raise NamespaceStopped(f"{self.namespace!r}: {second!r} while {error!r} was dealt with") from second

    async def _later(self, item: Item) -> list[Item]:
        """Let some time pass, and have the event tried again alone."""
        settings = self._tools.settings
        pause_s = min(settings.retry_first_s * 2 ** min(item.waits, _DOUBLINGS), settings.retry_most_s)
        item.waits += 1
        await self._tools.ports.clock.sleep(pause_s)
        self._singly += 1
        return [item]

    async def _set_aside(self, item: Item, error: Exception) -> list[Item]:
        """Refuse an event, unless it is in the ledger: then it must be performed."""
        await self._hold_fence([item])
        [pointer] = await self._tools.gathered.lookup.many([item.event.event_key])
        if pointer is None and await self._is_performed(item):
            self._singly += 1
            return [item]
        why = refusal(error, item.failures)
        if pointer is not None:
            raise NamespaceStopped(
                f"{self.namespace!r}: event {item.event.event_id!r} is recorded, but {why}"
            ) from error
        if self._tools.quarantine.settings.stops_namespace:
            raise NamespaceStopped(f"{self.namespace!r}: event {item.event.event_id!r}: {why}") from error
        await self._refuse(item, why)
        self._tools.quarantine.refused()
        return []

    async def _refuse(self, item: Item, why: BadInput) -> None:
        """Put an event into the dead letter topic, unless it is another worker's by now."""
        await self._hold_fence([item])
        await self._tools.reject(item, why)

    async def _is_performed(self, item: Item) -> bool:
        """Perform the record that an event begins, if there is one whose pointers are not written yet; then the event is found by them."""
        [body] = await self._tools.gathered.records.many([record_id_of(self.namespace, item.event.event_key)])
        if body is None:
            return False
        await self._hold_fence([item])
        await self._tools.performer.perform(decode_record(body))
        return True

    async def _take(self, items: Sequence[Item]) -> list[Item]:
        """Handle the first run of events that are all known, or all new; return those that are left."""
        keys = [item.event.event_key for item in items]
        pointers = await self._tools.gathered.lookup.many(keys)
        known = pointers[0] is not None
        run: list[Item] = []
        taken: set[str] = set()
        for item, key, pointer in zip(items, keys, pointers, strict=True):
            if (pointer is not None) != known or (key in taken and not known):
                break
            run.append(item)
            taken.add(key)
        if known:
            await self._repeat(run, [pointer.record_id for pointer in pointers[: len(run)] if pointer is not None])
        else:
            run = run[: await self._decide(run)]
        return list(items[len(run) :])

    # Events that are in the ledger

    async def _repeat(self, items: Sequence[Item], record_ids: Sequence[str]) -> None:
        """Perform what is stored for known events, and tell it again."""
        unique = list(dict.fromkeys(record_ids))
        bodies = await self._tools.gathered.records.many(unique)
        records = {
            record_id: decode_record(body) for record_id, body in zip(unique, bodies, strict=True) if body is not None
        }
        for record in records.values():
            await self._hold_fence(items)
            await self._tools.performer.perform(record)
        entries = {entry.decision.event_key: entry for record in records.values() for entry in record.entries}
        told: list[tuple[Item, Entry]] = []
        for item in items:
            entry = entries.get(item.event.event_key)
            if entry is None:
                raise Transient("qdrant", f"the ledger's record of event {item.event.event_key} is not readable yet")
            if entry.body_hash not in (item.event.body_hash, SCRUBBED_HASH):
                await self._refuse(item, _conflict(item, entry))
            else:
                told.append((item, entry))
        await self._tell(told)
        self._tools.observer.redelivered(len(told))

    async def _tell(self, told: Sequence[tuple[Item, Entry]]) -> None:
        await self._tools.performer.remember(entry for _, entry in told)
        items = [item for item, _ in told]
        performer = self._tools.performer
        await performer.emit([(entry, item.event) for item, entry in told], lambda: self._hold_fence(items))
        while not self._holds(items):  # what was read before we slept may have come after what another one told
            await performer.restate(entry for _, entry in told)
            await self._hold_fence(items)
        for item in items:
            item.finish()

    # New events

    async def _decide(self, items: Sequence[Item]) -> int:
        """Decide, record, perform and tell new events; return how many of them, from the first on, are dealt with."""
        wave = self._tools.new_wave()
        candidates = [(item, item.event) for item in items if isinstance(item.event, Candidate)]
        prepared = {id(p.item): p for p in await wave.prepare(candidates)} if candidates else {}
        self._look_ahead(list(prepared.values()))
        pending: list[tuple[Item, Entry]] = []
        for count, item in enumerate(items, 1):
            try:
                try:
                    entry = await self._entry(item, prepared.get(id(item)), wave, pending=bool(pending))
                except Flush:
                    await self._flush(pending, wave)
                    pending = []
                    entry = await self._entry(item, prepared.get(id(item)), wave, pending=False)
            except BadInput as error:  # at the first attempt or at the second
                if error.code == UNPROCESSABLE:
                    raise  # dealt with like any event that fails: the ledger is asked first
                await self._refuse_unrecorded(item, error)
                continue
            if (refusal := self._tools.too_large(entry)) is not None:
                await self._flush(pending, wave)
                await self._refuse_unrecorded(item, refusal)
                return count  # this wave takes it for decided: what follows is decided in one that knows nothing of it
            pending.append((item, entry))
        await self._flush(pending, wave)
        return len(items)

    async def _refuse_unrecorded(self, item: Item, error: BadInput) -> None:
        """Refuse an event, unless a record that it begins is there: a command that was in time then is not too old now."""
        if await self._is_performed(item):
            raise WaveLost from error
        await self._refuse(item, error)

    def _look_ahead(self, prepared: Sequence[Prepared]) -> None:
        """Have the vectors of the next wave computed while this one is decided, so that a lane on its own keeps the embedder busy too.

        Only where nearly all of this one needed theirs: repeats, which need none, come in crowds.
        """
        needed = sum(p.vector is not None for p in prepared)
        if self._singly or not prepared or needed < _MOSTLY_NEW * len(prepared):
            return
        coming = islice(self.waiting, self._tools.settings.wave_events)
        self._tools.gathered.embed_ahead(
            item.event.text
            for item in coming
            if isinstance(item.event, Candidate) and item.event.embedding is None and not self._tools.is_gone(item)
        )

    async def _entry(self, item: Item, prepared: Prepared | None, wave: Wave, *, pending: bool) -> Entry:
        if isinstance(item.event, Command):
            if pending:
                raise Flush
            return await self._tools.command(item.event, wave)
        assert prepared is not None
        return await wave.decide(prepared, pending=pending)

    async def _flush(self, pending: Sequence[tuple[Item, Entry]], wave: Wave) -> None:
        """Record what was decided, all or nothing; perform and tell what is then stored, whoever recorded it."""
        if not pending:
            return
        items = [item for item, _ in pending]
        entries = tuple(entry for _, entry in pending)
        record = LedgerRecord(
            record_id=record_id_of(self.namespace, entries[0].decision.event_key),
            namespace=self.namespace,
            attempt=uuid.uuid4().hex,
            recorded_at=self._tools.ports.clock.now(),
            entries=entries,
        )
        await self._hold_fence(items)
        body = encode_record(record)
        stored = await self._insist(lambda _: self._insert(record, body), items)
        if stored != body and (theirs := decode_record(stored)).attempt != record.attempt:
            await self._insist(lambda _: self._tools.performer.perform(theirs), items)
            raise WaveLost
        self._tools.observer.recorded(len(entries))
        self._tools.quarantine.decided((record.record_id, body, ledger_fields(record)))
        self._tools.ports.risk.survived(item.event.text for item in items if isinstance(item.event, Candidate))
        known = wave.new_vectors(entries)
        await self._insist(lambda _: self._perform(record, known, items), items)
        await self._insist(lambda _: self._tell(pending), items)

    async def _insert(self, record: LedgerRecord, body: bytes) -> bytes:
        [stored] = await self._tools.gathered.insert.many([(record.record_id, body, ledger_fields(record))])
        return stored

    async def _perform(self, record: LedgerRecord, known: dict[str, Vector], items: Sequence[Item]) -> None:
        await self._hold_fence(items)
        await self._tools.performer.perform(record, known)

    def _holds(self, items: Sequence[Item]) -> bool:
        fence = self._tools.ports.fence
        return all(fence.holds(*item.partition) and not self._tools.is_gone(item) for item in items)

    async def _hold_fence(self, items: Sequence[Item]) -> None:
        """Wait until this process surely holds the partitions, or they are gone: a process that slept does not write."""
        for topic, partition in dict.fromkeys(item.partition for item in items):
            while not self._tools.ports.fence.holds(topic, partition):
                if any(self._tools.is_gone(item) for item in items):
                    raise WaveLost
                await self._tools.ports.clock.sleep(self._tools.settings.fence_poll_s)
        if any(self._tools.is_gone(item) for item in items):
            raise WaveLost


def _conflict(item: Item, entry: Entry) -> BadInput:
    at = entry.decision.coordinates
    return BadInput(
        "event_id_conflict",
        f"event {item.event.event_id!r} was decided with another body, at {at.topic}/{at.partition}/{at.offset}: "
        "send the other statement under an id of its own",
        field="ce_id",
    )
