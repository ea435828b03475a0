"""The engine: records in, decisions performed and told, `done` called. Drives the ports; knows nothing of Faust."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping
from datetime import datetime
from typing import Final

import msgspec

from factsieve.core.decision import Entry, LedgerRecord
from factsieve.core.errors import BadInput, Bug, Transient
from factsieve.core.facts import Candidate, Record, Source
from factsieve.core.offsets import Partitioner, partition_for
from factsieve.core.policy import Policies, Policy
from factsieve.engine.commands import Commander, Stores
from factsieve.engine.desk import HoldSettings, JudgeDesk
from factsieve.engine.items import Item
from factsieve.engine.lane import UNPROCESSABLE, Lane, LaneSettings, LaneTools
from factsieve.engine.perform import Performer, ledger_fields, record_id_of
from factsieve.engine.poison import NamespaceStopped, PoisonSettings, Quarantine, Recorded, refusal
from factsieve.engine.ports import Gathered, Observer, Ports, QuietObserver
from factsieve.engine.sizes import Room, too_large
from factsieve.engine.wave import Wave, WaveSettings
from factsieve.wire import outbound
from factsieve.wire.deadletters import dead_letter_message
from factsieve.wire.inbound import Command, decode
from factsieve.wire.ledger import encode_record
from factsieve.wire.topics import Limits, Topics

_PROBE: Final = "This is known-good statement number {number}."
_PROBE_KEY: Final = b"factsieve.probe"


def _record_of_nothing(now: datetime) -> Recorded:
    name = _PROBE_KEY.decode()
    record = LedgerRecord(record_id_of(name, name), name, "probe", now, ())
    return record.record_id, encode_record(record), ledger_fields(record)


def _nothing() -> None:
    """Do nothing: what a probe is told of its end."""


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the engine works.

    At most `max_in_flight` events are taken in and not done, of one namespace at most `max_lane_events`, so that one that is held or floods
    leaves room for those of other partitions. `batch_items` bounds what one call of a port carries. `command_keys` are the
    operators' keys by id, commands older than `command_max_age_s` are refused. An event whose decision can not be told within `room` is
    refused. A key outside the partition that `partitioner` would choose
    is noticed, and with `refuse_wrong_partition` refused.
    """

    topics: Topics = Topics()
    limits: Limits = Limits()
    policies: Policies = Policies(Policy())
    wave: WaveSettings = WaveSettings()
    lane: LaneSettings = LaneSettings()
    hold: HoldSettings = HoldSettings()
    poison: PoisonSettings = PoisonSettings()
    max_in_flight: int = 4096
    max_lane_events: int = 1024
    batch_items: int = 128
    partitioner: Partitioner = "murmur2"
    refuse_wrong_partition: bool = False
    command_keys: Mapping[str, bytes] = {}
    command_max_age_s: float = 3600.0
    room: Room = Room()


class Engine:
    """Takes records, keeps one lane per namespace, and calls `done` for each record when all that follows from it has happened.

    `on_failure` is told at once of what a lane met that can not happen: the process must end, for that lane's events are not done.
    """

    def __init__(
        self,
        ports: Ports,
        settings: EngineSettings,
        observer: Observer | None = None,
        partition_count: Callable[[str], int | None] = lambda _topic: None,
        on_failure: Callable[[BaseException], None] = lambda _error: None,
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._partition_count = partition_count
        self._observer = observer or QuietObserver()
        self._gathered = Gathered(ports, self._observer, batch_items=settings.batch_items)
        self._desk = JudgeDesk(ports.judge, ports.local_judge, ports.clock, self._observer, settings.hold)
        performer = Performer(ports, self._gathered, settings.topics, settings.wave, self._observer)
        stores = Stores(ports.facts, ports.ledger, ports.embedder)
        keys, max_age_s = settings.command_keys, settings.command_max_age_s
        self._commander = Commander(stores, settings.policies, self._desk, keys, max_age_s)
        self._quarantine = Quarantine(settings.poison, self._probe, self._observer)
        self._tools = LaneTools(
            ports=ports,
            gathered=self._gathered,
            performer=performer,
            observer=self._observer,
            settings=settings.lane,
            new_wave=self._new_wave,
            command=self._command_entry,
            reject=self._reject_item,
            too_large=lambda entry: too_large(entry, settings.topics, settings.room),
            is_gone=self._is_gone,
            quarantine=self._quarantine,
        )
        self._lanes: dict[str, Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._rejecting: Counter[tuple[str, int]] = Counter()
        self._generations: Counter[tuple[str, int]] = Counter()
        self._in_flight = 0
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None
        self._on_failure = on_failure

    async def start(self) -> None:
        """Be ready; nothing runs before the first record."""

    async def stop(self) -> None:
        """Cancel whatever is under way; what is not done comes again."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def in_flight(self) -> int:
        """Return how many records were taken in and are not done."""
        return self._in_flight

    @property
    def lanes(self) -> int:
        """Return how many namespaces have something waiting or under way."""
        return len(self._lanes)

    @property
    def desk(self) -> JudgeDesk:
        """Return the desk where judges are asked: it knows how many lanes wait there."""
        return self._desk

    @property
    def stopped_namespaces(self) -> int:
        """Return how many namespaces have stopped, since an event of theirs can neither be decided nor be set aside."""
        return self._quarantine.stopped

    @property
    def failure(self) -> BaseException | None:
        """Return what a lane met that can not happen, if it did."""
        return self._failure

    async def submit(self, record: Record, done: Callable[[], None]) -> None:
        """Take in a record; waits while too many are in flight. Raises only what can not happen and can not be laid to one event."""
        while self._in_flight >= self._settings.max_in_flight and self._failure is None:
            await self._change()
        if self._failure is not None:
            raise self._failure
        self._in_flight += 1
        try:
            taken = await self._take_in(record, done)
        except BaseException:  # cancelled while it waited, or a bug: it was not taken
            self._release()
            raise
        if not taken:
            self._release()  # neither done nor forgotten: it comes again with its partition

    async def _take_in(self, record: Record, done: Callable[[], None]) -> bool:
        """Queue a record or have it rejected. Returns False for one whose namespace has stopped."""
        partition = (record.topic, record.partition)
        generation = self._generations.setdefault(partition, 0)
        try:
            self._check_partition(record)
            event = await self._decoded(record)
        except BadInput as error:
            namespace = (record.key or b"").decode("utf-8", "replace")
            if error.code == UNPROCESSABLE and self._settings.poison.stops_namespace:
                self._quarantine.stop(namespace, partition, error)
            if self._quarantine.is_stopped(namespace):
                return False
            self._rejecting[partition] += 1
            self._spawn(self._reject(record, error, done, generation))
            return True
        while self._is_full(event.namespace) and self._failure is None:
            await self._change()
        if self._quarantine.is_stopped(event.namespace):
            return False
        item = Item(record, event, done, self._release, generation)
        lane = self._lanes.get(event.namespace)
        if lane is None:
            lane = self._lanes[event.namespace] = Lane(event.namespace, self._tools)
            lane.waiting.append(item)
            self._spawn(self._work(lane))
        else:
            lane.waiting.append(item)
        return True

    def _is_full(self, namespace: str) -> bool:
        lane = self._lanes.get(namespace)
        return lane is not None and len(lane.waiting) + len(lane.started) >= self._settings.max_lane_events

    async def _decoded(self, record: Record) -> Candidate | Command:
        """Return what a record says. Raises BadInput; the decoder's own failure is laid to the record if a known-good one is decoded."""
        risk = self._ports.risk
        value = record.value or b""
        pause_s = self._settings.lane.retry_first_s
        while True:
            try:
                async with risk.running(value):
                    event = decode(record, self._settings.limits, self._ports.clock.now())
            except BadInput:
                risk.survived([value])
                raise
            except Transient as trouble:  # of the known-good statement that goes before a suspect
                self._observer.waited(trouble.service, str(trouble))
                await self._ports.clock.sleep(pause_s)
                pause_s = min(2 * pause_s, self._settings.lane.retry_most_s)
            except Exception as error:
                risk.survived([value])
                if not await self._quarantine.blames(error):
                    raise
                self._quarantine.refused()
                raise refusal(error, 1) from error
            else:
                risk.survived([value])
                return event

    async def _probe(self, number: int) -> None:
        """Send a known-good statement the way of every other, and insert again what was recorded last. Raises whatever goes wrong.

        Where this process has recorded nothing yet, that is a record without a decision, always the same one.
        """
        now = self._ports.clock.now()
        text = _PROBE.format(number=number)  # another one each time: vectors of repeated texts are kept
        value = msgspec.json.encode({"text": text, "source": Source.REMEMBER, "occurred_at": now})
        record = Record(self._settings.topics.candidates, 0, 0, int(now.timestamp() * 1000), _PROBE_KEY, value)
        event = decode(record, Limits(), now)
        assert isinstance(event, Candidate)
        await self._gathered.lookup.many([event.event_key])
        wave = self._new_wave()
        item = Item(record, event, _nothing, _nothing, 0)
        [prepared] = await wave.prepare([(item, event)])
        await wave.decide(prepared, pending=False)
        recorded = self._quarantine.last_recorded or _record_of_nothing(now)
        try:
            await self._gathered.insert.many([recorded])  # insert-only: nothing changes
        except Bug as error:
            raise Transient("ledger", f"a record that is there can not be inserted again: {error}") from error

    def _check_partition(self, record: Record) -> None:
        """Notice a key outside its partition: its namespace has two writers. Raises BadInput where that is to be refused."""
        count = self._partition_count(record.topic)
        if count is None or record.key is None:
            return
        expected = partition_for(record.key, count, self._settings.partitioner)
        if expected is None or expected == record.partition:
            return
        self._observer.saw_wrong_partition()
        if self._settings.refuse_wrong_partition:
            raise BadInput(
                "wrong_partition",
                f"key {record.key[:80]!r} is in partition {record.partition}, {self._settings.partitioner} puts it into {expected}: "
                "let the producer use that partitioner, or set kafka.partitioner to the producer's",
                field="key",
            )

    def discard(self, partitions: Collection[tuple[str, int]]) -> None:
        """Drop what has not started of these partitions: someone else will take it."""
        gone = set(partitions)
        for lane in self._lanes.values():
            waiting = list(lane.waiting)
            lane.waiting.clear()
            lane.waiting.extend(item for item in waiting if item.partition not in gone)
            for item in waiting:
                if item.partition in gone:
                    item.close()

    async def drain(self, partitions: Collection[tuple[str, int]] | None, timeout_s: float) -> bool:
        """Wait until nothing that has started of these partitions (None: of all) is under way; what is not done then is abandoned.

        Returns whether all of it was done in time. Abandoned events write and acknowledge nothing any more.
        """
        wanted = None if partitions is None else set(partitions)
        try:
            async with asyncio.timeout(timeout_s):
                while self._busy(wanted) and self._failure is None:
                    await self._change()
        except TimeoutError:
            pass
        finished = self._failure is None and not self._busy(wanted)
        for partition in list(self._generations) if wanted is None else wanted:
            self._generations[partition] += 1
            self._quarantine.forget(partition)
        return finished

    def _busy(self, partitions: set[tuple[str, int]] | None) -> bool:
        if any(count and (partitions is None or p in partitions) for p, count in self._rejecting.items()):
            return True
        return any(
            partitions is None or item.partition in partitions
            for lane in self._lanes.values()
            for item in (*lane.started, *lane.waiting)
            if not item.closed and not self._is_gone(item)
        )

    # What lanes call

    def _new_wave(self) -> Wave:
        return Wave(
            self._ports, self._gathered, self._desk, self._settings.policies, self._settings.wave, self._observer
        )

    async def _command_entry(self, command: Command, wave: Wave) -> Entry:
        return await self._commander.entry(command, wave, self._ports.clock.now())

    def _is_gone(self, item: Item) -> bool:
        return item.generation != self._generations[item.partition]

    async def _reject_item(self, item: Item, error: BadInput) -> None:
        await self._send_rejection(item.record, error)
        item.finish()

    # Tasks

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Remember a bug and report it: the process stops before it does harm, whether or not there is a next submit."""
        if self._failure is None:
            self._failure = error
            self._on_failure(error)
        self._changed.set()

    async def _work(self, lane: Lane) -> None:
        try:
            await lane.work()
        except NamespaceStopped as stop:
            self._stop_namespace(lane, stop)
        except Exception as error:
            self._fail(error)  # before its events are let go: nobody may take them for done
        finally:
            del self._lanes[lane.namespace]
            for item in (*lane.waiting, *lane.started):
                item.close()

    def _stop_namespace(self, lane: Lane, reason: NamespaceStopped) -> None:
        place = lane.started[0].partition  # that of its whole wave
        try:
            self._quarantine.stop(lane.namespace, place, reason)
        except Bug as error:
            self._fail(error)

    async def _reject(self, record: Record, error: BadInput, done: Callable[[], None], generation: int) -> None:
        partition = (record.topic, record.partition)
        pause_s = self._settings.lane.retry_first_s
        try:
            while generation == self._generations[partition]:
                try:
                    await self._send_rejection(record, error)
                except Transient as trouble:
                    self._observer.waited(trouble.service, str(trouble))
                    await self._ports.clock.sleep(pause_s)
                    pause_s = min(2 * pause_s, self._settings.lane.retry_most_s)
                else:
                    done()
                    break
        finally:
            self._rejecting[partition] -= 1
            self._release()

    async def _send_rejection(self, record: Record, error: BadInput) -> None:
        now = self._ports.clock.now()
        topics = self._settings.topics
        namespace = None
        if record.key is not None:
            namespace = record.key.decode("utf-8", "replace") or None
        await self._gathered.send.many(
            [
                dead_letter_message(topics, record, error, now),
                outbound.reject_message(topics, record, error, namespace, now),
            ]
        )
        self._observer.rejected(error.code)

    def _release(self) -> None:
        self._in_flight -= 1
        self._changed.set()

    async def _change(self) -> None:
        """Wait until something ended."""
        self._changed.clear()
        await self._changed.wait()
