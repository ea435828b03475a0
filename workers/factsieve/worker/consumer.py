"""The safe consumer: Faust's Kafka consumer with its bookkeeping of acknowledgements replaced.

Rules of this file, each against a way in which the stock one (faust-streaming 0.15.3 on aiokafka 0.14.0) loses events:

1. A record is incomplete from the moment it is fetched; offsets are committed from the trackers in `Feeds` alone. (Stock: from
   what was acknowledged, which jumps over a head in flight, and knows no head at all in a fresh group.)
2. A fetch belongs to one assignment and has a serial number in it. One of another assignment is dropped (it will be fetched
   again from the committed offset), a missing one ends the process. (Stock: fetched records may be dropped silently.)
3. Positions are never sought back: a new assignment starts at the committed offsets by itself.
4. Nothing is paused for back-pressure. What is full is left out of the next pull, and stays with the client.
5. On revocation and before shutdown: stop the flow, drop what has not started, wait a bounded time for what has, commit, forget.
   Only then Faust's own handling runs, which forgets acknowledgements before it commits.
6. A commit that fails costs repetition only: it is reported and tried again, bounded in time, and never ends the process.
7. Errors that the client keeps for its caller are asked for; Faust does not, and would go on without a group.
"""
# ruff: noqa: ANN401 - Faust and aiokafka are untyped, and so is what they hand over

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar, Final

import structlog
from aiokafka.errors import ConsumerStoppedError
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, ConsumerMessage

from factsieve.core.errors import Bug
from factsieve.core.facts import Record
from factsieve.worker.client_thread import Coupling, Fetched, SafeConsumerThread
from factsieve.worker.fence import TopicPartition

log = structlog.get_logger(__name__)

_PULL_S: Final = 1.0
_FULL_POLL_S: Final = 0.1
_RECORD_OVERHEAD_BYTES: Final = 256


class SafeConsumer(driver.Consumer):  # type: ignore[misc] # untyped upstream
    """The consumer as the event loop sees it."""

    _thread: SafeConsumerThread

    def __init__(self, transport: Any, **kwargs: Any) -> None:
        self.coupling: Coupling = transport.coupling
        self.is_closing = False
        self._epoch = 0
        self._serial = 0
        self._assigned: set[TP] = set()
        self._turned = asyncio.Event()
        self._commit_lock = asyncio.Lock()
        self._settle_lock = asyncio.Lock()
        super().__init__(transport, **kwargs)

    def _new_consumer_thread(self) -> SafeConsumerThread:
        return SafeConsumerThread(self, loop=self.loop, beacon=self.beacon)

    # -- pulling

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, ConsumerMessage]]:
        """Pull once and yield what came, noting all of it as incomplete first."""
        fetched = await self._pull(timeout)
        if fetched is None:
            return
        await self._until(lambda: fetched.epoch <= self._epoch)  # the event loop hears of this assignment in a moment
        if fetched.epoch != self._epoch or self.is_closing:
            return
        if fetched.serial != self._serial + 1:
            raise Bug(f"fetch {self._serial + 1} of assignment {self._epoch} was lost: got {fetched.serial}")
        self._serial = fetched.serial
        feeds = self.coupling.feeds
        for tp, records in fetched.items():
            name = (tp.topic, tp.partition)
            for record in records:
                feeds.expect(name, record.offset, _size_bytes(record), _timestamp_ms(record))
        await self._until(lambda: self.flow_active or fetched.epoch != self._epoch)
        for tp, record in self.scheduler.iterate(fetched):
            if fetched.epoch != self._epoch or self.is_closing or self.should_stop:
                return
            yield tp, self._to_message(tp, record)

    async def _drain_messages(self, fetcher: Any) -> None:
        """Hand every pulled message to the conductor. (Faust makes four tasks per message here, to be able to drop one.)

        The conductor never waits for room: what waits in the feeds is bounded below the stream's buffer.
        """
        try:
            while not self.should_stop and not fetcher.should_stop:
                async for _tp, message in self.getmany(timeout=_PULL_S):
                    await self.callback(message)
                await asyncio.sleep(0)
        except (ConsumerStoppedError, asyncio.CancelledError):
            if not self.app.should_stop:
                raise

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Return when the condition holds or we are on our way out; looked at when an assignment or the flow changes."""
        while not condition() and not self.should_stop and not self.is_closing:
            self._turned.clear()
            await self.wait(self._turned)

    async def _pull(self, timeout: float) -> Fetched | None:
        if not self.flow_active:
            await self.wait(self.can_resume_flow)
        if self.should_stop or self.is_closing:
            await asyncio.sleep(_FULL_POLL_S)
            return None
        feeds = self.coupling.feeds
        active = set(self._get_active_partitions())
        wanted = {tp for tp in active if feeds.has_room((tp.topic, tp.partition))}
        if not wanted:
            await feeds.wait_for_room(_FULL_POLL_S)
            return None
        # A partition that is full now may have room soon, and this pull waits for the others only.
        fetched = await self._getmany(active_partitions=wanted, timeout=timeout if wanted == active else _FULL_POLL_S)
        return fetched if isinstance(fetched, Fetched) else None

    def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
        message = super()._to_message(tp, record)
        message.epoch = self._epoch
        message.timestamp_ms = -1 if record.timestamp is None else record.timestamp
        return message

    def offer(self, message: Any) -> None:
        """Hand a delivered message to its feed; ignored if it belongs to an earlier assignment. Raises Bug as `Feeds.offer` does."""
        if message.epoch != self._epoch:
            return
        self.coupling.feeds.offer(
            Record(
                topic=message.topic,
                partition=message.partition,
                offset=message.offset,
                timestamp_ms=message.timestamp_ms,
                key=message.key,
                value=message.value,
                headers=tuple(message.headers or ()),
            )
        )

    def partition_count(self, topic: str) -> int | None:
        """Return how many partitions a topic has, or None while that is not known."""
        return self._thread.partition_count(topic)

    async def perform_seek(self) -> None:
        """Do nothing (rule 3)."""

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Do nothing: trackers do not count on consecutive offsets."""

    def on_buffer_full(self, tp: TP) -> None:
        """Do nothing: the feeds bound what is pulled, far below the stream's buffer."""

    def on_buffer_drop(self, tp: TP) -> None:
        """Do nothing, see `on_buffer_full`."""

    def resume_flow(self) -> None:
        """Let records flow, unless we are on our way out."""
        if not self.is_closing:
            super().resume_flow()
            self._turned.set()

    # -- acknowledging

    def ack(self, message: Any) -> bool:
        """Do nothing (rule 1): Faust acknowledges here what it skipped itself."""
        message.acked = True
        return False

    async def commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Commit what the trackers allow. Returns whether something was committed."""
        async with self._commit_lock:
            feeds = self.coupling.feeds
            offsets = feeds.committable()
            if not offsets:
                return False
            ok = await self._thread.commit({TP(*name): at for name, at in offsets.items()})
            if ok:
                feeds.committed(offsets)
                self.coupling.commits_total += 1
            else:
                self.coupling.commit_failures_total += 1
            return ok

    force_commit = commit

    async def wait_empty(self) -> None:
        """Commit; the waiting is done by `settle`, within a bound."""
        await self.commit()

    async def commit_and_end_transactions(self) -> None:
        """Commit; there are no transactions."""
        await self.commit()

    async def verify_all_partitions_active(self) -> None:
        """Do nothing: the watchdog tells a stall from idleness, which this can not."""

    # -- giving up and taking over

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Rule 5. Never raises: the client would go on and join as if all was well."""
        self.stop_flow()
        self.coupling.is_joined = False
        try:
            await self.settle(self.coupling.drain_timeout_s)
            await super().on_partitions_revoked(revoked)
        except Exception as error:  # see above
            self.coupling.on_bug(error)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Follow the new assignment from its first record on."""
        coupling = self.coupling
        try:
            self._epoch = self._thread.epoch
            self._serial = 0
            self._assigned = set(assigned)
            self._turned.set()
            names = sorted((tp.topic, tp.partition) for tp in assigned)
            if not self.is_closing:
                coupling.on_assigned()
                coupling.feeds.open(names)
                coupling.fence.assign(names)
            await super().on_partitions_assigned(assigned, generation_id)
            coupling.rebalances_total += 1
            coupling.is_joined = True
            log.info("partitions_assigned", partitions=_short(names), generation=generation_id)
        except Exception as error:  # as above
            coupling.on_bug(error)

    async def settle(self, timeout_s: float) -> bool:
        """Give up all partitions: drop what has not started, wait at most `timeout_s` for what has, commit, forget.

        Returns whether all that had started is done. The fence holds until the wait is over.
        """
        async with self._settle_lock:
            coupling = self.coupling
            names = sorted((tp.topic, tp.partition) for tp in self._assigned)
            if not names:
                return True
            self._epoch = -1  # messages on their way to the feeds are dropped from here on
            drained = await coupling.feeds.settle(names, timeout_s)
            coupling.fence.release(names)
            await self.commit()
            left = coupling.feeds.close(names)
            self._assigned = set()
            if not drained:
                coupling.drain_timeouts_total += 1
            log.info("partitions_released", partitions=_short(names), drained=drained, left_incomplete=left)
            return drained

    async def leave(self, timeout_s: float) -> bool:
        """Prepare for shutdown: take nothing more, then `settle`. Returns whether all that had started is done."""
        self.is_closing = True
        self._turned.set()
        self.stop_flow()
        return await self.settle(timeout_s)

    def close(self) -> None:
        """Do nothing, see `SafeConsumerThread.close`."""

    @property
    def lag(self) -> int:
        """Return how many records of the assigned partitions are not done, at the broker and here. May be read from any thread."""
        return self.coupling.feeds.incomplete + sum(self._thread.backlog(tp) for tp in tuple(self._assigned))

    def lag_of(self, name: TopicPartition) -> int:
        """Return how many records of one partition are not done, at the broker and here."""
        return self.coupling.feeds.incomplete_of(name) + self._thread.backlog(TP(*name))

    def lag_s_of(self, name: TopicPartition) -> float:
        """Return the age in seconds of the oldest record of one partition that is not done, by its timestamp; 0 where all is done."""
        oldest_ms = self.coupling.feeds.oldest_ms(name)
        if oldest_ms is None or self.lag_of(name) == 0:
            return 0.0
        return max(0.0, time.time() - oldest_ms / 1000)  # clocks lie: no event is from the future


class SafeTransport(driver.Transport):  # type: ignore[misc] # untyped upstream
    """Faust's transport with the safe consumer."""

    Consumer: ClassVar[type[SafeConsumer]] = SafeConsumer

    def __init__(self, url: Any, app: Any, coupling: Coupling) -> None:
        super().__init__(url, app)
        self.coupling = coupling


def _timestamp_ms(record: Any) -> int:
    """Return a record's timestamp; one that has none is as old as we know it."""
    stamp = record.timestamp
    return int(time.time() * 1000) if stamp is None or stamp < 0 else int(stamp)


def _size_bytes(record: Any) -> int:
    size = _RECORD_OVERHEAD_BYTES
    for part in (record.key, record.value, *(value for _name, value in record.headers or ())):
        size += len(part) if part is not None else 0
    return size


def _short(names: list[TopicPartition], limit: int = 20) -> list[str]:
    shown = [f"{topic}-{partition}" for topic, partition in names[:limit]]
    return shown if len(names) <= limit else [*shown, f"and {len(names) - limit} more"]
