"""Reads all output topics from their beginning on, in a thread of its own, and keeps every record."""

import asyncio
import contextlib
import threading
from collections import defaultdict

import msgspec
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from factsieve.adapters.kafka_client import FETCH_MAX_WAIT_MS, assign_all
from factsieve.wire.topics import Topics


class _Name(msgspec.Struct):
    """What tells one event's decision from another's; a refused event is named by where it lay."""

    coordinates: dict[str, str | int]
    event_key: str | None = None


class Follower:
    """The output topics as they grow. A broker that is away is waited for."""

    def __init__(self, bootstrap: str, topics: Topics) -> None:
        self.records: dict[str, list[ConsumerRecord]] = {topic: [] for topic in topics.outputs}
        self.failure: BaseException | None = None
        self._bootstrap = bootstrap
        self._topics = topics
        self._events: set[str] = set()
        self._decode = msgspec.json.Decoder(_Name)
        self._started = threading.Event()
        self._stopping = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()
        assert self._started.wait(30), "the follower did not connect"

    @property
    def decided(self) -> int:
        """How many different events were told a decision or a refusal for."""
        return len(self._events)

    def decisions(self) -> list[dict]:
        """Return all values of `fact-decisions` so far, in order of partition and offset."""
        found = sorted(self.records[self._topics.decisions], key=lambda record: (record.partition, record.offset))
        return [msgspec.json.decode(record.value) for record in found]

    def caught_up(self) -> bool:
        """Tell whether everything that is on the topics now was read."""
        return self._ask(self._caught_up())

    def lag(self, group: str) -> int:
        """Return how many input records the group has not committed, as seen from outside."""
        return self._ask(self._lag(group))

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(15)
        assert not self._thread.is_alive(), "the follower does not end"

    def _ask(self, question):
        return asyncio.run_coroutine_threadsafe(question, self._loop).result(30)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._follow())
        except BaseException as error:
            self.failure = error
        finally:
            self._started.set()
            self._loop.close()

    async def _follow(self) -> None:
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            max_partition_fetch_bytes=4_000_000,
            fetch_max_wait_ms=FETCH_MAX_WAIT_MS,
            retry_backoff_ms=50,
            request_timeout_ms=5_000,
        )
        await self._consumer.start()
        try:
            await self._consumer.topics()
            wanted = [
                TopicPartition(topic, number)
                for topic in self.records
                for number in sorted(await self._consumer._client._wait_on_metadata(topic))
            ]
            self._consumer.assign(wanted)
            self._started.set()
            while not self._stopping.is_set():
                with contextlib.suppress(KafkaError):
                    for partition, records in (await self._consumer.getmany(timeout_ms=50)).items():
                        self._keep(partition.topic, records)
        finally:
            await self._consumer.stop()

    def _keep(self, topic: str, records: list[ConsumerRecord]) -> None:
        if topic == self._topics.decisions:
            for record in records:
                name = self._decode.decode(record.value)
                self._events.add(name.event_key or str(sorted(name.coordinates.items())))
        self.records[topic] += records

    async def _caught_up(self) -> bool:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, enable_auto_commit=False)
        await consumer.start()
        try:
            await consumer.topics()
            _begins, ends = await assign_all(consumer, self._consumer.assignment())
        finally:
            await consumer.stop()
        read: dict[TopicPartition, int] = defaultdict(int)
        for topic, records in self.records.items():
            for record in records:
                partition = TopicPartition(topic, record.partition)
                read[partition] = max(read[partition], record.offset + 1)
        # Transactions are not used here, so that the last offset is that of a record.
        return all(read[partition] >= end for partition, end in ends.items())

    async def _lag(self, group: str) -> int:
        consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, group_id=group, enable_auto_commit=False)
        await consumer.start()
        try:
            numbers = await consumer._client._wait_on_metadata(self._topics.candidates)
            partitions = [TopicPartition(self._topics.candidates, number) for number in sorted(numbers)]
            _begins, ends = await assign_all(consumer, partitions)
            return sum([ends[one] - (await consumer.committed(one) or 0) for one in partitions])
        finally:
            await consumer.stop()
