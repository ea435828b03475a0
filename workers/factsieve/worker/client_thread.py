"""The thread in which the Kafka client lives: fetches with their assignment and number, heartbeats as a lease, bounded commits.

Faust runs aiokafka in a thread with an event loop of its own; what is here runs in that loop unless it says otherwise.
"""
# ruff: noqa: ANN401 - Faust and aiokafka are untyped, and so is what they hand over

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import structlog
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import (
    CommitFailedError,
    ConsumerStoppedError,
    CorruptRecordException,
    GroupAuthorizationFailedError,
    IllegalStateError,
    KafkaError,
    TopicAuthorizationFailedError,
)
from aiokafka.protocol.group import HeartbeatRequest, SyncGroupRequest
from aiokafka.structs import OffsetAndMetadata
from aiokafka.structs import TopicPartition as KafkaTopicPartition
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from factsieve.adapters.kafka_client import (
    FETCH_LATER_MS,
    FETCH_MAX_WAIT_MS,
    FETCH_SOON_MS,
    pace_fetches,
    stop_within,
)
from factsieve.adapters.kafka_records import accept_any_header_names
from factsieve.core.errors import Bug
from factsieve.worker.feeds import Feeds
from factsieve.worker.fence import LeaseFence

if TYPE_CHECKING:
    from factsieve.worker.consumer import SafeConsumer

log = structlog.get_logger(__name__)

_NO_ERROR: Final = 0
_ILLEGAL_GENERATION: Final = 22
_UNKNOWN_MEMBER_ID: Final = 25
_REBALANCE_IN_PROGRESS: Final = 27
_FENCED_INSTANCE_ID: Final = 82
_EXPELLED: Final = frozenset({_ILLEGAL_GENERATION, _UNKNOWN_MEMBER_ID, _FENCED_INSTANCE_ID})

DEFAULT_GENERATION_ID: Final = -1
_CLIENT_STOP_S: Final = 1.0
_ERROR_PAUSE_S: Final = 0.5

_ENOUGH_RECORDS: Final = 512
"""With so many records not done, what comes half a second later still comes in time."""


class Fetched(dict[TP, list[Any]]):
    """The records of one pull, with the assignment (counted from 1) that they belong to and their number in it, from 1."""

    def __init__(self, records: Mapping[TP, list[Any]], epoch: int, serial: int) -> None:
        super().__init__(records)
        self.epoch = epoch
        self.serial = serial


def _nothing() -> None:
    """Do nothing."""


class Coupling:
    """What the consumer is connected to; handed to the transport, which Faust itself builds."""

    def __init__(
        self,
        *,
        feeds: Feeds,
        fence: LeaseFence,
        drain_timeout_s: float,
        commit_timeout_s: float,
        isolation_level: str,
        on_bug: Callable[[BaseException], None],
    ) -> None:
        self.feeds = feeds
        self.fence = fence
        self.drain_timeout_s = drain_timeout_s
        self.commit_timeout_s = commit_timeout_s
        self.isolation_level = isolation_level
        self.on_bug = on_bug
        self.rebalances_total = 0
        self.commits_total = 0
        self.commit_failures_total = 0
        self.drain_timeouts_total = 0
        self.fetch_failures_total = 0
        self.on_assigned: Callable[[], None] = (
            _nothing  # called in the event loop, before the first record of an assignment
        )
        self.is_joined = False  # an assignment (perhaps an empty one) was received and not revoked


class SafeConsumerThread(driver.AIOKafkaConsumerThread):  # type: ignore[misc] # untyped upstream
    """The thread in which the Kafka client lives: fetches, heartbeats, commits."""

    consumer: "SafeConsumer"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.epoch = 0
        self._assignment: Any = None
        self._serial = 0
        self._early: tuple[Any, Mapping[TP, list[Any]]] | None = None

    @property
    def coupling(self) -> Coupling:
        """Return what the consumer is connected to."""
        return self.consumer.coupling

    async def on_start(self) -> None:
        """Start the client, then follow its heartbeats."""
        await super().on_start()
        coordinator = self._consumer._coordinator
        if not isinstance(coordinator, GroupCoordinator):
            raise Bug("the consumer has no group coordinator: a group id is missing")
        self._follow_heartbeats(coordinator)
        pace_fetches(self._consumer, self._fetch_wait_ms)

    def _fetch_wait_ms(self) -> int:
        """Return how long a broker may keep the next fetch: the less there is to do here, the less."""
        incomplete = self.coupling.feeds.incomplete
        if incomplete >= _ENOUGH_RECORDS:
            return FETCH_LATER_MS
        return FETCH_MAX_WAIT_MS if incomplete else FETCH_SOON_MS

    async def on_thread_stop(self) -> None:
        """Close the client within a bound. (Faust waits for a join under way, and for brokers that do not answer.)"""
        await driver.ConsumerThread.on_thread_stop(
            self
        )  # not the driver's own, which closes the client without a bound
        consumer = self._consumer
        if consumer is None or consumer._coordinator is None:
            return
        await self._cut_join(consumer._coordinator)
        await stop_within(consumer._client, consumer.stop(), _CLIENT_STOP_S)

    async def _cut_join(self, coordinator: Any) -> None:
        """End a join under way. Its answer may take as long as a rebalance, and the broker reads nothing of us before."""
        task = coordinator._coordination_task
        if task.done() or not coordinator._performed_join_prepare:
            return
        log.info("join_cut_short")
        task.cancel()
        await asyncio.wait({task}, timeout=_CLIENT_STOP_S)
        coordinator.generation = DEFAULT_GENERATION_ID  # else it would ask to leave, on the connection that waits

    def _create_worker_consumer(self, transport: Any) -> Any:
        accept_any_header_names()
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = self.coupling.isolation_level  # Faust couples it to its own transactions
        consumer._fetch_max_wait_ms = FETCH_MAX_WAIT_MS  # Faust's own is six times as long
        return consumer

    def _follow_heartbeats(self, coordinator: Any) -> None:
        """Renew the lease with what the coordinator answers, dated to when it was asked.

        Only these two requests make the coordinator count the session anew. REBALANCE_IN_PROGRESS is an answer to a member:
        its partitions are its own until it joins again.
        """
        fence, send = self.coupling.fence, coordinator._send_req

        async def send_and_note(request: Any) -> Any:
            sent_at = fence.now()
            response = await send(request)
            if isinstance(request, HeartbeatRequest | SyncGroupRequest):
                code = response.error_code
                if code == _NO_ERROR or (code == _REBALANCE_IN_PROGRESS and isinstance(request, HeartbeatRequest)):
                    fence.renew(sent_at)
                elif code in _EXPELLED:
                    fence.revoke()
            return response

        coordinator._send_req = send_and_note

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin a new epoch; runs in this thread, before the event loop hears of the assignment."""
        self._assignment = self._consumer._subscription.subscription.assignment
        self.epoch += 1
        self._serial = 0
        await super().on_partitions_assigned(assigned, generation_id)

    async def _fetch_records(
        self, consumer: Any, active_partitions: set[TP], timeout: float | None = None, max_records: int | None = None
    ) -> Mapping[TP, list[Any]]:
        if not self.consumer.flow_active:
            return {}
        if consumer._closed or consumer._fetcher._closed:
            raise ConsumerStoppedError
        early, self._early = self._early, None
        if early is not None and early[0] is self._assignment:
            return self._numbered(early[1])
        with consumer._subscription.fetch_context():
            records = await self._client_records(consumer, active_partitions, timeout, max_records)
        if not records:
            return {}
        # The client hands out records of its current assignment only, and nothing ran since it did.
        assignment = consumer._subscription.subscription.assignment
        if assignment is not self._assignment:
            self._early = (assignment, records)  # we are told of this assignment in a moment
            return {}
        return self._numbered(records)

    def _numbered(self, records: Mapping[TP, list[Any]]) -> Fetched:
        self._serial += 1
        return Fetched(records, self.epoch, self._serial)

    async def _client_records(
        self, consumer: Any, partitions: set[TP], timeout: float | None, max_records: int | None
    ) -> Mapping[TP, list[Any]]:
        before = self._positions()
        try:
            consumer._coordinator.check_errors()
            return await consumer._fetcher.fetched_records(partitions, timeout=timeout, max_records=max_records)  # type: ignore[no-any-return]
        except (TopicAuthorizationFailedError, GroupAuthorizationFailedError, ConsumerStoppedError):
            raise
        except KafkaError as error:
            if consumer._coordinator._coordination_task.done():
                raise  # nobody would join the group any more
            after = self._positions()
            if any(after.get(tp, position) > position for tp, position in before.items()):
                raise Bug(f"records were taken from the client and lost: {error!r}") from error
            self.coupling.fetch_failures_total += 1
            if isinstance(error, CorruptRecordException):
                # The client stands still at the batch that it can not read. Passing over it would lose records that nobody has seen.
                log.error("batch_corrupt", error=repr(error), positions=_stated(before))
            else:
                log.warning("fetch_failed", error=repr(error), retriable=error.retriable)
            await asyncio.sleep(_ERROR_PAUSE_S)
            return {}

    def _positions(self) -> dict[Any, int]:
        """Return where the client will read next; a partition that another one's error left behind would show here."""
        subscription = self._consumer._subscription.subscription
        assignment = subscription.assignment if subscription is not None else None
        if assignment is None:
            return {}
        states = {tp: assignment.state_value(tp) for tp in assignment.tps}
        return {tp: state.position for tp, state in states.items() if state.has_valid_position}

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit within a bound of time; False if it did not work, which costs repetition only."""
        wanted = {KafkaTopicPartition(tp.topic, tp.partition): OffsetAndMetadata(at, "") for tp, at in offsets.items()}
        try:
            await asyncio.wait_for(self._consumer.commit(wanted), self.coupling.commit_timeout_s)
        except TimeoutError:
            log.warning("commit_timed_out", timeout_s=self.coupling.commit_timeout_s)
        except (CommitFailedError, IllegalStateError) as error:
            log.info("commit_refused", error=str(error))  # rebalanced: whoever has them now starts at the last commit
        except KafkaError as error:
            log.warning("commit_failed", error=repr(error))
        else:
            return True
        return False

    async def commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit in this thread, beside its queue of calls: a fetch that waits for an assignment must not hold it up."""
        future = asyncio.run_coroutine_threadsafe(self._commit(offsets), self.thread_loop)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Do nothing: the client is closed by its own thread when that ends, not from another event loop."""

    def partition_count(self, topic: str) -> int | None:
        """Return how many partitions the brokers told of, or None while that is not known."""
        if self._consumer is None:
            return None
        partitions = self._consumer._client.cluster.partitions_for_topic(topic)
        return len(partitions) if partitions else None

    def backlog(self, tp: TP) -> int:
        """Return how many offsets the broker has behind our position; 0 where that is not known (yet)."""
        subscription = self._consumer._subscription.subscription if self._consumer is not None else None
        assignment = subscription.assignment if subscription is not None else None
        state = assignment.state_value(KafkaTopicPartition(tp.topic, tp.partition)) if assignment is not None else None
        if state is None or not state.has_valid_position:
            return 0
        committed_reads = self.coupling.isolation_level == "read_committed"
        end = state.lso if committed_reads else state.highwater
        return max(0, int(end or 0) - int(state.position))


def _stated(positions: Mapping[Any, int]) -> dict[str, int]:
    """Return where the client will read next, by partition, for the log."""
    return {f"{tp.topic}-{tp.partition}": position for tp, position in positions.items()}
