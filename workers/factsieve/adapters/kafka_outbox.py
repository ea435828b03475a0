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

from factsieve.adapters.kafka_client import KafkaSecurity, KafkaTransient, describe, kafka_errors
from factsieve.core.offsets import Partitioner, partition_for
from factsieve.ports import Message

log = structlog.get_logger(__name__)

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

    `enable_idempotence` is off only for brokers that do not know it (the local stack). `request_timeout_s` is also how long a
    message may wait for its acknowledgement before it counts as not sent. `max_request_bytes` must be above the limit of the
    input topic, so that any record that came in fits into the dead letter topic with its headers.
    """

    linger_ms: int = 3
    compression: Compression = "lz4"
    enable_idempotence: bool = True
    partitioner: Partitioner = "murmur2"
    max_in_flight: int = 2_000
    max_batch_bytes: int = 256 * 1024
    max_request_bytes: int = 4 * 1024 * 1024
    request_timeout_s: float = 30.0
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
        pending: list[Any] = []
        first_error: BaseException | None = None
        try:
            for message in messages:
                pending.append(  # noqa: PERF401 - what was sent before an error must be awaited too
                    await producer.send(
                        message.topic,
                        message.value,
                        key=message.key,
                        timestamp_ms=message.timestamp_ms,
                        headers=list(message.headers),
                    )
                )
        except (KafkaError, OSError) as error:
            first_error = error
        results = await asyncio.gather(*pending, return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        self.sent_total += len(results) - len(errors)
        if first_error is None and errors:
            first_error = errors[0]
        if first_error is None:
            return
        self.failed_total += len(messages) - (len(results) - len(errors))
        await self._replace_if_unusable(producer, first_error)
        with kafka_errors(f"{len(messages)} messages to {', '.join(sorted({m.topic for m in messages}))}"):
            raise first_error

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
            **self._security.client_options(),
        )
        try:
            with kafka_errors(f"connecting to {', '.join(self._bootstrap_servers)}"):
                await asyncio.wait_for(producer.start(), options.request_timeout_s)
        except BaseException:
            await self._close(producer)
            raise
        return producer

    async def _replace_if_unusable(self, producer: AIOKafkaProducer, error: BaseException) -> None:
        retriable = bool(getattr(error, "retriable", True))
        if isinstance(error, _ABOUT_THE_MESSAGE) or (retriable and not _has_ended(producer)):
            return
        async with self._lock:
            if self._producer is not producer:
                return
            self._producer = None
            self.replaced_total += 1
            log.warning("producer_replaced", error=describe(error))
            await self._close(producer)

    async def _close(self, producer: AIOKafkaProducer) -> None:
        try:
            await asyncio.wait_for(producer.stop(), self._options.stop_timeout_s)
        except TimeoutError:
            log.warning("producer_stop_timed_out", timeout_s=self._options.stop_timeout_s)
            await producer._sender.close()
            await producer.client.close()
        except (KafkaError, OSError) as error:
            log.warning("producer_stop_failed", error=describe(error))
            with contextlib.suppress(KafkaError, OSError):
                await producer.client.close()


class _Partitioner:
    """Sends a key where the configured partitioner would, and keyless messages anywhere that is up."""

    def __init__(self, kind: Partitioner) -> None:
        self._kind = kind

    def __call__(self, key: bytes | None, all_partitions: list[int], available: list[int]) -> int:
        chosen = None if key is None else partition_for(key, len(all_partitions), self._kind)
        return random.choice(available or all_partitions) if chosen is None else sorted(all_partitions)[chosen]


def _has_ended(producer: AIOKafkaProducer) -> bool:
    task = producer._sender.sender_task
    return task is None or task.done()
