"""From fetched records to the engine: one feed per assigned partition, in order, bounded, followed until done.

Knows nothing of Kafka clients. A record is noted as incomplete the moment it is fetched, so whatever happens to it on its way
here, nothing after it can be committed past it; records enter the engine exactly in the order in which they were fetched.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Final, Protocol

import msgspec
import structlog

from factsieve.core.errors import Bug
from factsieve.core.facts import Record
from factsieve.core.offsets import OffsetTracker
from factsieve.worker.fence import TopicPartition

log = structlog.get_logger(__name__)

_YIELD_EVERY: Final = 64
_DRAIN_GRACE_S: Final = 0.5


class Pipeline(Protocol):
    """What stands behind the consumer: the engine."""

    async def submit(self, record: Record, done: Callable[[], None]) -> None:
        """Take a record; waits while too many are in flight.

        `done` is called once, in the event loop, when all that follows from the record is recorded, performed, emitted and
        acknowledged. Never raises for bad input. May be cancelled while it waits: then the record was taken or was not, and
        in both cases `discard` makes sure that it does not start.
        """
        ...

    def discard(self, partitions: Collection[TopicPartition]) -> None:
        """Drop what was taken from these partitions and has not started."""
        ...

    async def drain(self, partitions: Collection[TopicPartition] | None, timeout_s: float) -> bool:
        """Wait until what has started of these partitions (None: of all) is done; False if it is not within `timeout_s`."""
        ...

    async def start(self) -> None:
        """Get ready."""
        ...

    async def stop(self) -> None:
        """Give everything back."""
        ...

    @property
    def in_flight(self) -> int:
        """Return how many records were taken and are not done."""
        ...


class FeedLimits(msgspec.Struct, frozen=True):
    """How much of one partition may wait in memory for the engine before no more of it is pulled.

    One pull may overshoot: by at most the records and bytes of one fetch. `max_span` bounds what is kept account of while the first
    incomplete record stays so and those behind it are done.
    """

    max_records: int = 4_000
    max_bytes: int = 32 * 1024 * 1024
    max_span: int = 200_000


class FeedState(msgspec.Struct, frozen=True):
    """What is known of one partition, for metrics and health."""

    topic: str
    partition: int
    incomplete: int
    waiting: int
    waiting_bytes: int
    highest_seen: int | None
    highest_succeeded: int | None
    committable: int | None
    committed: int | None


class _Feed:
    """One partition during one assignment."""

    def __init__(self, name: TopicPartition) -> None:
        self.name = name
        self.tracker = OffsetTracker()
        self.expected: deque[tuple[int, int]] = deque()  # (offset, bytes) fetched, not handed to the engine yet
        self.queue: deque[Record] = deque()
        self.arrived = asyncio.Event()
        self.waiting_bytes = 0
        self.stamps_ms: dict[int, int] = {}  # of incomplete records, by offset
        self.latest_ms = 0
        self.committed: int | None = None
        self.is_closed = False
        self.pump: asyncio.Task[None] | None = None


class Feeds:
    """The feeds of all assigned partitions.

    Args:
        pipeline: takes the records.
        limits: the bound of what waits, per partition.
        on_bug: told of anything that a pump or a `done` runs into and that can not be retried; the process should end.
    """

    def __init__(self, pipeline: Pipeline, limits: FeedLimits, on_bug: Callable[[BaseException], None]) -> None:
        self._pipeline = pipeline
        self._limits = limits
        self._on_bug = on_bug
        self._feeds: dict[TopicPartition, _Feed] = {}
        self._room = asyncio.Event()
        self.done_total = 0
        self.late_total = 0  # done after the partition was given up: will be seen again by whoever has it now

    def open(self, partitions: Iterable[TopicPartition]) -> None:
        """Begin to follow newly assigned partitions, from nothing: what an earlier assignment left behind is forgotten."""
        for name in partitions:
            if name in self._feeds:
                raise Bug(f"partition {name} was assigned twice without being revoked")
            feed = self._feeds[name] = _Feed(name)
            feed.pump = asyncio.create_task(self._pump(feed), name=f"feed-{name[0]}-{name[1]}")
        self._room.set()

    def expect(self, name: TopicPartition, offset: int, size_bytes: int, timestamp_ms: int) -> None:
        """Note a record as incomplete, when it is fetched and before anything else happens to it."""
        feed = self._feeds[name]
        feed.tracker.started(offset)
        feed.stamps_ms[offset] = feed.latest_ms = timestamp_ms
        feed.expected.append((offset, size_bytes))
        feed.waiting_bytes += size_bytes

    def offer(self, record: Record) -> None:
        """Hand over a fetched record; ignored if its partition was given up meanwhile.

        Raises Bug if a record that was fetched before it has not been handed over: going on would change the order.
        """
        feed = self._feeds.get((record.topic, record.partition))
        if feed is None or feed.is_closed:
            return
        position = len(feed.queue)
        if position >= len(feed.expected) or feed.expected[position][0] != record.offset:
            raise Bug(
                f"offset {record.offset} of {feed.name} arrived out of order: a fetched record was lost on the way"
            )
        feed.queue.append(record)
        feed.arrived.set()

    def has_room(self, name: TopicPartition) -> bool:
        """Return whether more of this partition may be pulled."""
        feed = self._feeds.get(name)
        if feed is None or feed.is_closed:
            return False
        limits = self._limits
        return (
            len(feed.expected) < limits.max_records
            and feed.waiting_bytes < limits.max_bytes
            and feed.tracker.followed < limits.max_span
        )

    async def wait_for_room(self, timeout_s: float) -> None:
        """Return when a feed took something (so there may be room again), or after `timeout_s`."""
        self._room.clear()
        try:
            await asyncio.wait_for(self._room.wait(), timeout_s)
        except TimeoutError:
            return

    def committable(self) -> dict[TopicPartition, int]:
        """Return the offsets that may be committed and are not yet."""
        found = {}
        for name, feed in self._feeds.items():
            offset = feed.tracker.committable()
            if offset is not None and offset != feed.committed:
                found[name] = offset
        return found

    def committed(self, offsets: dict[TopicPartition, int]) -> None:
        """Take note of what was committed."""
        for name, offset in offsets.items():
            feed = self._feeds.get(name)
            if feed is not None:
                feed.committed = offset

    async def settle(self, partitions: Collection[TopicPartition], timeout_s: float) -> bool:
        """Take no more from these partitions, drop what has not started, wait at most `timeout_s` for what has.

        What is done then still counts, until `close`. Returns whether all that had started is done.
        """
        feeds = [self._feeds[name] for name in partitions if name in self._feeds]
        for feed in feeds:
            feed.is_closed = True
        pumps = [feed.pump for feed in feeds if feed.pump is not None]
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        names = [feed.name for feed in feeds]
        if not names:
            return True
        try:
            self._pipeline.discard(names)
            return await asyncio.wait_for(self._pipeline.drain(names, timeout_s), timeout_s + _DRAIN_GRACE_S)
        except TimeoutError:
            return False
        except Exception as error:  # reported, and the partition is given up all the same
            self._on_bug(error)
            return False

    def close(self, partitions: Iterable[TopicPartition]) -> int:
        """Forget these partitions; what is done later for them is ignored. Returns how many records stay incomplete."""
        left = 0
        for name in partitions:
            feed = self._feeds.pop(name, None)
            if feed is not None:
                left += feed.tracker.incomplete
        return left

    def states(self) -> list[FeedState]:
        """Return what is known of every assigned partition."""
        return [
            FeedState(
                topic=feed.name[0],
                partition=feed.name[1],
                incomplete=feed.tracker.incomplete,
                waiting=len(feed.expected),
                waiting_bytes=feed.waiting_bytes,
                highest_seen=feed.tracker.highest_seen,
                highest_succeeded=feed.tracker.highest_succeeded,
                committable=feed.tracker.committable(),
                committed=feed.committed,
            )
            for feed in list(self._feeds.values())
        ]

    @property
    def incomplete(self) -> int:
        """Return how many fetched records are not done, in all assigned partitions. May be read from any thread."""
        return sum(feed.tracker.incomplete for feed in list(self._feeds.values()))

    def incomplete_of(self, name: TopicPartition) -> int:
        """Return how many fetched records of one partition are not done."""
        feed = self._feeds.get(name)
        return 0 if feed is None else feed.tracker.incomplete

    async def _pump(self, feed: _Feed) -> None:
        handed_over = 0
        try:
            while True:
                while not feed.queue:
                    feed.arrived.clear()
                    await feed.arrived.wait()
                record = feed.queue.popleft()
                _offset, size_bytes = feed.expected.popleft()
                feed.waiting_bytes -= size_bytes
                await self._pipeline.submit(record, partial(self._done, feed, record.offset))
                self._room.set()
                handed_over += 1
                if handed_over % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)
        except Exception as error:  # none may leave: it would end one partition silently
            self._on_bug(error)

    def oldest_ms(self, name: TopicPartition) -> int | None:
        """Return the timestamp of the first record that is not done, of one partition.

        Where all that was fetched is done, the last one's: whatever waits at the broker came after it. None before the first fetch.
        May be read from any thread.
        """
        feed = self._feeds.get(name)
        if feed is None or feed.tracker.highest_seen is None:
            return None
        head = feed.tracker.head
        return feed.latest_ms if head is None else feed.stamps_ms.get(head, feed.latest_ms)

    def _done(self, feed: _Feed, offset: int) -> None:
        if self._feeds.get(feed.name) is not feed:
            self.late_total += 1
            return
        try:
            feed.tracker.done(offset)
        except Bug as error:
            self._on_bug(error)
            return
        del feed.stamps_ms[offset]
        self.done_total += 1
