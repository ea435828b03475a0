"""The brokers that tests run on, as fixtures: the local stack's, or a real Apache Kafka.

`broker` is the one that FACTSIEVE_TEST_BROKER names (`tansu`, the default, or `apache`); `apache` is always Apache Kafka. Where
Java or Maven are missing, tests that need it are skipped, unless FACTSIEVE_REQUIRE_KAFKA=1 turns that into a failure.
"""

import os
import uuid
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from kafka.apache import ApacheKafka, KafkaUnavailable, kafka_jars

from factsieve.localstack.broker import Broker
from factsieve.localstack.process import Service


class TestBroker:
    """A running broker and what tests do with it."""

    __test__ = False

    def __init__(self, kind: str, service: Service) -> None:
        self.kind = kind
        self.service = service

    @property
    def bootstrap(self) -> str:
        return self.service.address

    @property
    def is_idempotent(self) -> bool:
        """Whether it knows idempotent producers."""
        return self.kind == "apache"

    def name(self, stem: str) -> str:
        """Return a name that no other test uses."""
        return f"{stem}-{uuid.uuid4().hex[:8]}"

    async def create(self, topic: str, partitions: int = 1, configs: dict[str, str] | None = None) -> str:
        """Create a topic."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])
        finally:
            await admin.close()
        return topic

    async def produce(self, topic: str, records: list[dict]) -> None:
        """Produce records (keyword arguments of a producer's `send`), one after another, and wait for all."""
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap, acks="all", max_request_size=4_000_000, linger_ms=2
        )
        await producer.start()
        try:
            sent = [await producer.send(topic, **record) for record in records]
            for future in sent:
                await future
        finally:
            await producer.stop()

    async def committed(self, group: str, topic: str, partitions: int) -> dict[int, int | None]:
        """Return the committed offset of each partition, read without joining the group."""
        consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap, group_id=group, enable_auto_commit=False)
        await consumer.start()
        try:
            wanted = [TopicPartition(topic, number) for number in range(partitions)]
            consumer.assign(wanted)
            return {tp.partition: await consumer.committed(tp) for tp in wanted}
        finally:
            await consumer.stop()

    async def read_all(self, topic: str, timeout_ms: int = 5_000) -> list:
        """Return every record of a topic, by partition and offset."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
        )
        await consumer.start()
        try:
            numbers = await consumer._client._wait_on_metadata(topic)
            wanted = [TopicPartition(topic, number) for number in sorted(numbers)]
            consumer.assign(wanted)
            ends = await consumer.end_offsets(wanted)
            found = []
            for tp in wanted:
                while await consumer.position(tp) < ends[tp]:
                    batch = await consumer.getmany(tp, timeout_ms=timeout_ms)
                    assert batch, f"{tp} stops at {await consumer.position(tp)} of {ends[tp]}"
                    found += batch[tp]
            return found
        finally:
            await consumer.stop()


def require_kafka() -> None:
    """Skip the test, or fail it under FACTSIEVE_REQUIRE_KAFKA=1, where Apache Kafka can not be had."""
    try:
        kafka_jars()
    except KafkaUnavailable as error:
        if os.environ.get("FACTSIEVE_REQUIRE_KAFKA") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def tansu(tmp_path_factory) -> Iterator[TestBroker]:
    """The local stack's broker."""
    folder = tmp_path_factory.mktemp("tansu")
    service = Broker(folder=folder, log_path=folder / "broker.log")
    service.start()
    yield TestBroker("tansu", service)
    service.stop()


@pytest.fixture(scope="session")
def apache(tmp_path_factory) -> Iterator[TestBroker]:
    """A real Apache Kafka, shared by the tests of a session."""
    require_kafka()
    folder = tmp_path_factory.mktemp("kafka")
    service = ApacheKafka(folder=folder / "node", log_path=folder / "kafka.log")
    service.start()
    yield TestBroker("apache", service)
    service.stop()


@pytest.fixture
def broker(request) -> TestBroker:
    """The broker that FACTSIEVE_TEST_BROKER names."""
    kind = os.environ.get("FACTSIEVE_TEST_BROKER", "tansu")
    if kind not in ("tansu", "apache"):
        pytest.fail(f"FACTSIEVE_TEST_BROKER={kind}: expected tansu or apache")
    return request.getfixturevalue(kind)
