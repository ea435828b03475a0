"""Statements in, decisions back: produces candidates to Kafka and follows `fact-decisions` for what became of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from factsieve.core.errors import Transient
from factsieve.ports import Message
from factsieve.wire.topics import Topics

Decision = dict[str, Any]
EventName = tuple[str, str]
"""(`ce_source`, `ce_id`): how a decision is recognised as the answer to a statement."""

START_TIMEOUT_S: Final = 10.0
MAX_UNANSWERED: Final = 5_000
"""Statements sent and not answered yet, beyond which sending waits."""

_POLL_MS: Final = 200
_SEND_BATCH: Final = 500


class Kafka(msgspec.Struct, frozen=True):
    """How to reach Kafka; `security` holds further arguments of the client."""

    bootstrap: str
    idempotent: bool
    security: Mapping[str, Any] = {}

    def client(self) -> dict[str, Any]:
        """Return the client's arguments."""
        return {"bootstrap_servers": self.bootstrap, "client_id": "factsieve-cli", **self.security}


@contextlib.asynccontextmanager
async def reaching(what: str, kafka: Kafka) -> AsyncIterator[None]:
    """Turn the client's errors into Transient, naming the address."""
    try:
        yield
    except (KafkaError, OSError, TimeoutError) as error:
        detail = str(error) or type(error).__name__
        raise Transient(
            "kafka",
            f"{what} on {kafka.bootstrap} failed ({detail}): check that the broker runs and that the address is right",
        ) from error


class Reader:
    """Reads one topic from a place on, without a consumer group."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._kafka = kafka
        self._topic = topic
        self._consumer: AIOKafkaConsumer | None = None
        self.ends: dict[TopicPartition, int] = {}
        self.begins: dict[TopicPartition, int] = {}

    async def __aenter__(self) -> Self:
        """Connect and learn the partitions. Raises Transient where Kafka does not answer or the topic does not exist."""
        consumer = AIOKafkaConsumer(
            **self._kafka.client(), group_id=None, enable_auto_commit=False, max_partition_fetch_bytes=4 * 1024 * 1024
        )
        async with reaching(f"reading {self._topic}", self._kafka):
            try:
                await asyncio.wait_for(consumer.start(), START_TIMEOUT_S)
                numbers = await self._partitions(consumer)
                partitions = [TopicPartition(self._topic, number) for number in sorted(numbers)]
                consumer.assign(partitions)
                self.ends = await consumer.end_offsets(partitions)
                self.begins = await consumer.beginning_offsets(partitions)
            except BaseException:
                await consumer.stop()
                raise
        self._consumer = consumer
        self.seek(self.ends)
        return self

    async def _partitions(self, consumer: AIOKafkaConsumer) -> set[int]:
        topics = await consumer.topics()
        numbers = consumer.partitions_for_topic(self._topic) if self._topic in topics else None
        if not numbers:
            raise Transient(
                "kafka",
                f"topic {self._topic} does not exist on {self._kafka.bootstrap}: `factsieve topics create` makes it",
            )
        return set(numbers)

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

    async def poll(self) -> list[tuple[TopicPartition, int, bytes]]:
        """Return what arrived (partition, offset, value), possibly nothing; waits a moment."""
        assert self._consumer is not None
        async with reaching(f"reading {self._topic}", self._kafka):
            fetched = await self._consumer.getmany(timeout_ms=_POLL_MS, max_records=1_000)
        return [
            (partition, record.offset, record.value)
            for partition, records in fetched.items()
            for record in records
            if record.value is not None
        ]


class Conversation:
    """Sends candidates and yields their decisions, for as long as they come."""

    def __init__(self, kafka: Kafka, topics: Topics) -> None:
        self._kafka = kafka
        self._topics = topics
        self._reader = Reader(kafka, topics.decisions)
        self._producer: AIOKafkaProducer | None = None

    async def __aenter__(self) -> Self:
        """Stand at the end of `fact-decisions`, then get ready to send. Raises Transient."""
        await self._reader.__aenter__()
        producer = AIOKafkaProducer(
            **self._kafka.client(), acks="all", enable_idempotence=self._kafka.idempotent, linger_ms=5
        )
        try:
            async with reaching("sending", self._kafka):
                await asyncio.wait_for(producer.start(), START_TIMEOUT_S)
        except BaseException:
            await producer.stop()
            await self._reader.__aexit__(None, None, None)
            raise
        self._producer = producer
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._producer is not None:
            await self._producer.stop()
        await self._reader.__aexit__(kind, error, trace)

    async def tell(
        self,
        statements: Iterable[tuple[EventName, Message]],
        *,
        idle_timeout_s: float,
        on_decision: Callable[[EventName, Decision], None] = lambda _name, _decision: None,
        on_sent: Callable[[int], None] = lambda _count: None,
    ) -> tuple[dict[EventName, Decision], list[EventName]]:
        """Send statements and collect their decisions; each name must be there once.

        Returns the decisions by name, and the names of those for which none came: then nothing at all had come for
        `idle_timeout_s` seconds.
        """
        pending: dict[EventName, None] = {}
        answered: dict[EventName, Decision] = {}
        room = asyncio.Event()
        room.set()
        sending = asyncio.create_task(self._send(statements, pending, room, on_sent))
        loop = asyncio.get_running_loop()
        last_news = loop.time()
        try:
            while pending or not sending.done():
                if sending.done():
                    sending.result()
                for _, _, value in await self._reader.poll():
                    decision: Decision = msgspec.json.decode(value)
                    name = (decision.get("ce_source") or "", decision.get("ce_id") or "")
                    if name in pending:
                        del pending[name]
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
            with contextlib.suppress(asyncio.CancelledError, Transient):
                await sending
        return answered, list(pending)

    async def _send(
        self,
        statements: Iterable[tuple[EventName, Message]],
        pending: dict[EventName, None],
        room: asyncio.Event,
        on_sent: Callable[[int], None],
    ) -> None:
        assert self._producer is not None
        acknowledged: list[asyncio.Future[Any]] = []
        count = 0
        async with reaching("sending", self._kafka):
            for name, message in statements:
                pending[name] = None
                future = await self._producer.send(
                    message.topic, message.value, key=message.key, headers=list(message.headers)
                )
                acknowledged.append(future)
                count += 1
                if len(acknowledged) >= _SEND_BATCH:
                    await asyncio.gather(*acknowledged)
                    acknowledged.clear()
                    on_sent(count)
                if len(pending) >= MAX_UNANSWERED:
                    room.clear()
                    await self._producer.flush()
                    await room.wait()
            await asyncio.gather(*acknowledged)
            on_sent(count)
