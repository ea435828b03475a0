"""Where a topic ends, on both kinds of broker."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from factsieve.adapters.kafka_client import assign_all

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("kind", ["tansu", pytest.param("apache", marks=pytest.mark.kafka)])
def test_a_partition_ends_after_its_last_record(kind, request):
    """Also where the records came in batches, where there is none, and where all of them are of one batch."""
    broker = request.getfixturevalue(kind)

    async def main() -> None:
        topic = await broker.create(broker.name("ends"), 3)
        for count in (1, 7, 20):
            await broker.produce(topic, [{"value": b"v", "partition": 0}] * count)
        await broker.produce(topic, [{"value": b"v", "partition": 1}] * 5)
        partitions = [TopicPartition(topic, number) for number in range(3)]
        consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap, enable_auto_commit=False)
        await consumer.start()
        try:
            await consumer.topics()
            begins, ends = await assign_all(consumer, partitions)
            assert begins == dict.fromkeys(partitions, 0)
            assert ends == dict(zip(partitions, (28, 5, 0), strict=True))
            assert consumer.assignment() == set(partitions)
        finally:
            await consumer.stop()

    asyncio.run(main())
