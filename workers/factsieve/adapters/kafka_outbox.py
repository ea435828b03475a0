"""Messages out to Kafka: every one acknowledged by all in-sync replicas, in order per key."""

import asyncio
import contextlib
import random
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

from factsieve.adapters.kafka_client import Access, KafkaSecurity, KafkaTransient, describe, kafka_errors, stop_within
from factsieve.core.offsets import Partitioner, partition_for
from factsieve.ports import Message

log = structlog.get_logger(__name__)

_ABORT_S: Final = 1.0

_NULL: Final = object()
"""Stands for a null value beside a null key: Kafka takes such a record, which may have to become a dead letter, the client does not."""

Compression = Literal["none", "gzip", "lz4", "zstd", "snappy"]

# What says something about a message or a topic. Anything else that is not retriable leaves an aiokafka producer unusable: after
# OUT_OF_ORDER_SEQUENCE_NUMBER, for example, its sender task has ended, and every later send fails.
_ABOUT_THE_MESSAGE: Final = (
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)


class OutboxOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How messages are produced.

    `enable_idempotence` is off only for brokers that do not know it (the local stack). `delivery_timeout_s` is
    how long messages may wait for their acknowledgement before they count as not sent. `max_request_bytes` must be above the limit of the
    input topic, so that any record that came in fits into the dead letter topic with its headers.
    """

    linger_ms: int = 3
    compression: Compression = "lz4"
    enable_idempotence: bool = True
    partitioner: Partitioner = "murmur2"
    max_in_flight: int = 2_000
    max_batch_bytes: int = 256 * 1024
    max_request_bytes: int = 4 * 1024 * 1024
    request_timeout_s: float = 20.0
    delivery_timeout_s: float = 30.0
    stop_timeout_s: float = 5.0


class KafkaOutbox:
    """The `Outbox` port over aiokafka's producer, which is made at the first use and again when it has become unusable.

    Args:
        bootstrap_servers: `host:port` of some brokers.
        security: how they want to be spoken to.
        options: how messages are produced.
        client_id: shows in the brokers' logs and quotas.
    """

    def __init__(
        self,
        bootstrap_servers: Sequence[str],
        *,
        security: KafkaSecurity | None = None,
        options: OutboxOptions | None = None,
        client_id: str = "factsieve-outbox",
    ) -> None:
        self._bootstrap_servers = list(bootstrap_servers)
        self._security = security or KafkaSecurity()
        self._options = options or OutboxOptions()
        self._client_id = client_id
        self._producer: AIOKafkaProducer | None = None
        self._lock = asyncio.Lock()
        self._is_stopped = False
        self.sent_total = 0
        self.failed_total = 0
        self.replaced_total = 0

    async def start(self) -> None:
        """Connect. Raises KafkaTransient if no broker answers, BadSettings for unusable credentials or files."""
        await self._connected()

    async def send(self, messages: Sequence[Message]) -> None:
        """Produce the messages and wait for every acknowledgement, in order per key.

        Raises KafkaTransient if one or more were not acknowledged; any of the others may have been, so all are to be sent again.
        """
        step = self._options.max_in_flight
        for first in range(0, len(messages), step):
            await self._send(messages[first : first + step])

    async def stop(self) -> None:
        """Wait a bounded time for what is under way, then close the connections."""
        self._is_stopped = True
        async with self._lock:
            producer, self._producer = self._producer, None
            if producer is not None:
                await self._close(producer)

    async def _send(self, messages: Sequence[Message]) -> None:
        producer = await self._connected()
        pending: list[asyncio.Future[Any]] = []
        error: BaseException | None = None
        try:
            async with asyncio.timeout(self._options.delivery_timeout_s):
                error = await self._hand_over(producer, messages, pending)
                if pending:
                    await asyncio.wait(pending)
        except TimeoutError:
            # With idempotence the client tries for ever. A message of ours must not go out after we have said that it did not.
            error = _Undelivered(f"not acknowledged within {self._options.delivery_timeout_s:g} s")
        acknowledged = 0
        for future in pending:
            if not future.done():
                future.add_done_callback(_retrieve)
            elif future.cancelled():
                error = error or _Undelivered("the producer was closed")
            elif future.exception() is not None:
                error = error or future.exception()
            else:
                acknowledged += 1
        self.sent_total += acknowledged
        if error is None:
            return
        self.failed_total += len(messages) - acknowledged
        await self._replace_if_unusable(producer, error)
        topics = ", ".join(sorted({message.topic for message in messages}))
        with kafka_errors(f"{len(messages) - acknowledged} of {len(messages)} messages to {topics}"):
            raise error

    async def _hand_over(
        self, producer: AIOKafkaProducer, messages: Sequence[Message], pending: list[asyncio.Future[Any]]
    ) -> BaseException | None:
        """Give the messages to the client, in order; return the error at which that ended early, if it did."""
        try:
            for message in messages:
                future = await producer.send(
                    message.topic,
                    _NULL if message.key is None and message.value is None else message.value,
                    key=message.key,
                    timestamp_ms=message.timestamp_ms,
                    headers=list(message.headers),
                )
                pending.append(future)
        except (KafkaError, OSError) as error:
            return error
        return None

    async def _connected(self) -> AIOKafkaProducer:
        if self._producer is not None:
            return self._producer
        async with self._lock:
            if self._is_stopped:
                raise KafkaTransient("the outbox was stopped", retriable=False)
            if self._producer is None:
                self._producer = await self._new_producer()
            return self._producer

    async def _new_producer(self) -> AIOKafkaProducer:
        options = self._options
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap_servers,
            client_id=self._client_id,
            acks="all",
            enable_idempotence=options.enable_idempotence,
            linger_ms=options.linger_ms,
            compression_type=None if options.compression == "none" else options.compression,
            max_batch_size=options.max_batch_bytes,
            max_request_size=options.max_request_bytes,
            request_timeout_ms=int(options.request_timeout_s * 1000),
            partitioner=_Partitioner(options.partitioner),
            value_serializer=_value,
            **self._security.client_options(),
        )
        try:
            access = Access(tuple(self._bootstrap_servers), self._security)
            with kafka_errors(f"connecting to {', '.join(self._bootstrap_servers)}", access):
                await asyncio.wait_for(producer.start(), options.request_timeout_s)
        except BaseException:
            await self._close(producer)
            raise
        return producer

    async def _replace_if_unusable(self, producer: AIOKafkaProducer, error: BaseException) -> None:
        is_usable = (
            bool(getattr(error, "retriable", True)) and not isinstance(error, _Undelivered) and not _has_ended(producer)
        )
        if is_usable or isinstance(error, _ABOUT_THE_MESSAGE):
            return
        async with self._lock:
            if self._producer is not producer:
                return
            self._producer = None
            self.replaced_total += 1
            log.warning("producer_replaced", error=describe(error))
            await self._abort(producer)

    async def _close(self, producer: AIOKafkaProducer) -> None:
        if not _has_ended(producer):
            with contextlib.suppress(TimeoutError, KafkaError):
                await asyncio.wait_for(producer.flush(), self._options.stop_timeout_s)
        await self._abort(producer)

    async def _abort(self, producer: AIOKafkaProducer) -> None:
        """Close the connections: what was not sent yet is not sent any more."""
        producer._closed = True
        task = producer._sender.sender_task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_ABORT_S)
        await stop_within(producer.client, producer.client.close(), _ABORT_S)


def _value(value: object) -> object:
    return None if value is _NULL else value


class _Partitioner:
    """Sends a key where the configured partitioner would, and keyless messages anywhere that is up."""

    def __init__(self, kind: Partitioner) -> None:
        self._kind = kind

    def __call__(self, key: bytes | None, all_partitions: list[int], available: list[int]) -> int:
        chosen = None if key is None else partition_for(key, len(all_partitions), self._kind)
        return random.choice(available or all_partitions) if chosen is None else sorted(all_partitions)[chosen]


class _Undelivered(TimeoutError):
    """Some messages were not acknowledged in time."""


def _retrieve(future: "asyncio.Future[Any]") -> None:
    """Look at what became of a future that nobody waits for any more, so that it is not reported as forgotten."""
    if not future.cancelled():
        future.exception()


def _has_ended(producer: AIOKafkaProducer) -> bool:
    task = producer._sender.sender_task
    return task is None or task.done()
