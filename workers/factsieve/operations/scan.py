"""Reads a stretch of a topic, record by record with everything a record has; where it has a group, it can be taken up again."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Final, Self

from aiokafka import AIOKafkaConsumer, TopicPartition

from factsieve.adapters.kafka_client import FETCH_MAX_WAIT_MS, assign_all
from factsieve.adapters.kafka_records import accept_any_header_names
from factsieve.core.facts import Record
from factsieve.operations.conversation import START_TIMEOUT_S, Kafka

Positions = Mapping[int, int]
"""Offsets by partition."""

BATCH_RECORDS: Final = 500
_POLL_MS: Final = 500


class Scan:
    """Reads one topic between offsets. An async context manager; `begins` and `ends` are the topic's bounds when it was opened.

    With a `group`, which nobody joins, positions can be committed and found again.
    """

    def __init__(self, kafka: Kafka, topic: str, *, group: str | None = None) -> None:
        self._kafka = kafka
        self._topic = topic
        self._group = group
        self._consumer: AIOKafkaConsumer | None = None
        self._keeper: AIOKafkaConsumer | None = None  # of the group's positions; reads nothing
        self.begins: dict[int, int] = {}
        self.ends: dict[int, int] = {}

    async def __aenter__(self) -> Self:
        """Connect and learn the bounds. Raises Transient where Kafka does not answer or the topic does not exist."""
        accept_any_header_names()
        with self._kafka.reaching(f"reading {self._topic}"):
            try:
                self._consumer = await self._started(None)
                partitions = await self._kafka.partitions(self._consumer, self._topic)
                begins, ends = await asyncio.wait_for(assign_all(self._consumer, partitions), START_TIMEOUT_S)
                if self._group is not None:
                    self._keeper = await self._started(self._group)
                    self._keeper.assign(partitions)
            except BaseException:
                await self.__aexit__(None, None, None)
                raise
        self.begins = {one.partition: offset for one, offset in begins.items()}
        self.ends = {one.partition: offset for one, offset in ends.items()}
        return self

    async def _started(self, group: str | None) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=list(self._kafka.servers),
            client_id="factsieve-cli",
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
            max_partition_fetch_bytes=8 * 1024 * 1024,
            **self._kafka.security.client_options(),
        )
        try:
            await asyncio.wait_for(consumer.start(), START_TIMEOUT_S)
        except BaseException:
            await consumer.stop()
            raise
        return consumer

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for consumer in (self._consumer, self._keeper):
            if consumer is not None:
                await consumer.stop()

    async def committed(self) -> dict[int, int]:
        """Return the positions that were committed for the group, of those partitions that have one. Raises Transient."""
        assert self._keeper is not None
        found = {}
        with self._kafka.reaching(f"asking for positions of group {self._group}"):
            for number in self.begins:
                offset = await self._keeper.committed(TopicPartition(self._topic, number))
                if offset is not None and offset >= 0:
                    found[number] = offset
        return found

    async def commit(self, positions: Positions) -> None:
        """Commit positions for the group. Raises Transient."""
        assert self._keeper is not None
        if positions:
            with self._kafka.reaching(f"committing positions of group {self._group}"):
                await self._keeper.commit(
                    {TopicPartition(self._topic, number): offset for number, offset in positions.items()}
                )

    async def read(self, starts: Positions, ends: Positions) -> AsyncIterator[tuple[list[Record], dict[int, int]]]:
        """Yield the records from `starts` to before `ends` in batches, each with the positions that are reached with it.

        A batch may be empty: positions also advance where records were removed. Partitions that `starts` does not name are left out.
        Raises Transient.
        """
        assert self._consumer is not None
        todo = {number: ends[number] for number, start in starts.items() if start < ends[number]}
        parts = {number: TopicPartition(self._topic, number) for number in todo}
        self._consumer.assign(list(parts.values()) or [TopicPartition(self._topic, min(self.begins))])
        for number, part in parts.items():
            self._consumer.seek(part, starts[number])
        while todo:
            with self._kafka.reaching(f"reading {self._topic}"):
                open_ones = [parts[number] for number in todo]
                fetched = await self._consumer.getmany(*open_ones, timeout_ms=_POLL_MS, max_records=BATCH_RECORDS)
                reached = {number: await self._consumer.position(parts[number]) for number in todo}
            records = [
                Record(
                    part.topic,
                    part.partition,
                    one.offset,
                    one.timestamp,
                    one.key,
                    one.value,
                    tuple(one.headers),
                )
                for part, batch in fetched.items()
                for one in batch
                if starts[part.partition] <= one.offset < todo[part.partition]
            ]
            yield records, {number: min(offset, todo[number]) for number, offset in reached.items()}
            todo = {number: end for number, end in todo.items() if reached[number] < end}


def read_length(starts: Positions, ends: Positions) -> int:
    """Return how many offsets lie between."""
    return sum(max(0, ends[number] - start) for number, start in starts.items())
