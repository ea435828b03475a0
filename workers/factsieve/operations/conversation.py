"""Statements in, decisions back: produces candidates to Kafka and follows `fact-decisions` for what became of them."""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from factsieve.adapters.kafka_client import (
    FETCH_LATER_MS,
    FETCH_MAX_WAIT_MS,
    FETCH_SOON_MS,
    Access,
    KafkaSecurity,
    assign_all,
    kafka_errors,
    pace_fetches,
)
from factsieve.adapters.kafka_outbox import KafkaOutbox, OutboxOptions
from factsieve.adapters.kafka_partitions import partitions_of
from factsieve.core.errors import Transient
from factsieve.ports import Message
from factsieve.wire.recorded import NotADecision, told
from factsieve.wire.topics import Topics

log = logging.getLogger(__name__)

Decision = dict[str, Any]
EventName = tuple[str, str, str]
"""(namespace, `ce_source`, `ce_id`): how a decision is recognised as the answer to a statement."""

START_TIMEOUT_S: Final = 10.0
MAX_UNANSWERED: Final = 5_000
"""Statements sent and not answered yet, beyond which sending waits."""

_LAST_ANSWERS: Final = 256
"""With so few statements unanswered the end is near, and what comes late comes too late."""

_POLL_MS: Final = 200
_SEND_BATCH: Final = 500


class Kafka(msgspec.Struct, frozen=True):
    """How to reach Kafka, and how to produce."""

    servers: tuple[str, ...]
    security: KafkaSecurity = KafkaSecurity()
    producing: OutboxOptions = OutboxOptions()

    @property
    def address(self) -> str:
        """Return the brokers' addresses, for people."""
        return ",".join(self.servers)

    def consumer(self) -> AIOKafkaConsumer:
        """Return a consumer without a group. Raises BadSettings for security settings that can not be."""
        return AIOKafkaConsumer(
            bootstrap_servers=list(self.servers),
            client_id="factsieve-cli",
            group_id=None,
            enable_auto_commit=False,
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
            max_partition_fetch_bytes=4 * 1024 * 1024,
            **self.security.client_options(),
        )

    async def partitions(self, consumer: AIOKafkaConsumer, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic. Raises Transient where there is no such topic, KafkaError."""
        partitions = await partitions_of(consumer, topic)
        if not partitions:
            raise Transient(
                "kafka", f"topic {topic} does not exist on {self.address}: `factsieve topics create` makes it"
            )
        return partitions

    def outbox(self) -> KafkaOutbox:
        """Return a producer, not connected yet."""
        options = msgspec.structs.replace(self.producing, request_timeout_s=START_TIMEOUT_S)
        return KafkaOutbox(self.servers, security=self.security, options=options, client_id="factsieve-cli")

    def reaching(self, doing: str) -> AbstractContextManager[None]:
        """Return a context that turns the client's errors into Transient, naming what was done and the address."""
        access = Access(self.servers, self.security)
        return kafka_errors(f"{doing} on {self.address} (does the broker run, is the address right?)", access)


class Reader:
    """Reads one topic from a place on, without a consumer group.

    `wait_ms`: how long a broker may keep the next fetch; None: as long as any other of the consumer.
    """

    def __init__(self, kafka: Kafka, topic: str, *, wait_ms: Callable[[], int] | None = None) -> None:
        self._kafka = kafka
        self._topic = topic
        self._wait_ms = wait_ms
        self._consumer: AIOKafkaConsumer | None = None
        self.ends: dict[TopicPartition, int] = {}
        self.begins: dict[TopicPartition, int] = {}

    async def __aenter__(self) -> Self:
        """Connect and learn the partitions. Raises Transient where Kafka does not answer or the topic does not exist."""
        consumer = self._kafka.consumer()
        with self._kafka.reaching(f"reading {self._topic}"):
            try:
                await asyncio.wait_for(consumer.start(), START_TIMEOUT_S)
                if self._wait_ms is not None:
                    pace_fetches(consumer, self._wait_ms)
                partitions = await self._kafka.partitions(consumer, self._topic)
                self.begins, self.ends = await asyncio.wait_for(assign_all(consumer, partitions), START_TIMEOUT_S)
            except BaseException:
                await consumer.stop()
                raise
        self._consumer = consumer
        self.seek(self.ends)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._consumer is not None:
            await self._consumer.stop()

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read on from these offsets."""
        assert self._consumer is not None
        for partition, offset in offsets.items():
            self._consumer.seek(partition, offset)

    async def reached(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Return whether everything before these offsets was read."""
        assert self._consumer is not None
        with self._kafka.reaching(f"reading {self._topic}"):
            return all([await self._consumer.position(part) >= offset for part, offset in offsets.items()])

    async def standing(self) -> tuple[int, float]:
        """Return how many records are known to be unread, and the time (seconds since the epoch) from which that is known.

        Both come with the answers to fetches, so they are as old as the least recently answered partition.
        """
        assert self._consumer is not None
        unread, heard_ms = 0, float("inf")
        for part in self.ends:
            unread += max(0, (self._consumer.highwater(part) or 0) - await self._consumer.position(part))
            heard_ms = min(heard_ms, self._consumer.last_poll_timestamp(part) or 0)
        return unread, heard_ms / 1_000

    async def poll(self) -> list[tuple[TopicPartition, int, bytes]]:
        """Return what arrived (partition, offset, value: empty where there is none), possibly nothing; waits a moment."""
        assert self._consumer is not None
        with self._kafka.reaching(f"reading {self._topic}"):
            fetched = await self._consumer.getmany(timeout_ms=_POLL_MS, max_records=1_000)
        return [
            (partition, record.offset, record.value or b"")
            for partition, records in fetched.items()
            for record in records
        ]


def tell_passed_over(topic: str, partition: int, offset: int, error: NotADecision) -> None:
    """Warn of a record on the decision log that somebody else wrote, and say where it is."""
    log.warning("passed over %s, partition %d, offset %d, which is no decision: %s", topic, partition, offset, error)


class DecisionReader(Reader):
    """Reads `fact-decisions`. What is no decision is passed over: the first is told of at once, how many there were at the end."""

    def __init__(self, kafka: Kafka, topics: Topics, *, wait_ms: Callable[[], int] | None = None) -> None:
        super().__init__(kafka, topics.decisions, wait_ms=wait_ms)
        self.passed_over = 0

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.passed_over > 1:
            log.warning("%d records of %s were passed over: they are no decisions", self.passed_over, self._topic)
        await super().__aexit__(kind, error, trace)

    async def decisions(self) -> list[tuple[TopicPartition, int, Decision]]:
        """Return what arrived (partition, offset, decision), possibly nothing; waits a moment."""
        found = []
        for part, offset, value in await self.poll():
            try:
                found.append((part, offset, told(value)))
            except NotADecision as error:
                self.passed_over += 1
                if self.passed_over == 1:
                    tell_passed_over(part.topic, part.partition, offset, error)
        return found


class Conversation:
    """Sends candidates and collects their decisions."""

    def __init__(self, kafka: Kafka, topics: Topics) -> None:
        self._pending: set[EventName] = set()
        self._reader = DecisionReader(kafka, topics, wait_ms=self._fetch_wait_ms)
        self._outbox = kafka.outbox()

    def _fetch_wait_ms(self) -> int:
        return FETCH_SOON_MS if len(self._pending) <= _LAST_ANSWERS else FETCH_LATER_MS

    async def __aenter__(self) -> Self:
        """Stand at the end of `fact-decisions`, then get ready to send. Raises Transient."""
        async with contextlib.AsyncExitStack() as opened:
            await opened.enter_async_context(self._reader)
            opened.push_async_callback(self._outbox.stop)
            await self._outbox.start()
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    async def tell(
        self,
        statements: Iterable[tuple[EventName, Message]],
        *,
        idle_timeout_s: float,
        on_decision: Callable[[EventName, Decision], None] = lambda _name, _decision: None,
    ) -> dict[EventName, Decision]:
        """Send statements, each under a name of its own, and return their decisions by name.

        Some are missing where nothing at all came for `idle_timeout_s` seconds. Raises Transient.
        """
        pending = self._pending
        pending.clear()
        answered: dict[EventName, Decision] = {}
        room = asyncio.Event()
        loop = asyncio.get_running_loop()
        last_news = loop.time()
        sending = asyncio.create_task(self._send(statements, room))
        try:
            while pending or not sending.done():
                if sending.done():
                    sending.result()
                for _, _, decision in await self._reader.decisions():
                    name = _name_of(decision)
                    if name in pending:
                        pending.discard(name)
                        answered[name] = decision
                        on_decision(name, decision)
                        last_news = loop.time()
                if len(pending) < MAX_UNANSWERED:
                    room.set()
                if loop.time() - last_news > idle_timeout_s:
                    break
            if sending.done():
                sending.result()
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        return answered

    async def _send(self, statements: Iterable[tuple[EventName, Message]], room: asyncio.Event) -> None:
        remaining = iter(statements)
        while batch := list(itertools.islice(remaining, _SEND_BATCH)):
            if len(self._pending) >= MAX_UNANSWERED:
                room.clear()
                await room.wait()
            self._pending.update(name for name, _ in batch)
            await self._outbox.send([message for _, message in batch])


def _name_of(decision: Decision) -> EventName:
    return (decision.get("namespace") or "", decision.get("ce_source") or "", decision.get("ce_id") or "")
