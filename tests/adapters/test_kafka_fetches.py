"""How long a broker may keep a fetch that finds nothing."""

import asyncio
import itertools
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.protocol.fetch import FetchRequest
from kafka.brokers import TestBroker

from factsieve.adapters.kafka_client import pace_fetches

pytestmark = pytest.mark.stack


def test_each_fetch_says_anew_how_long_it_may_be_kept(tansu: TestBroker) -> None:
    """The time is asked for when the fetch is made, and what comes is read as ever."""
    sent: list[int] = []

    async def run() -> list[bytes]:
        topic = await tansu.create(tansu.name("paced"), 2)
        consumer = AIOKafkaConsumer(bootstrap_servers=tansu.bootstrap, enable_auto_commit=False, fetch_max_wait_ms=7)
        await consumer.start()
        try:
            send = consumer._client.send

            async def noted(node: Any, request: Any, **more: Any) -> Any:
                if isinstance(request, FetchRequest):
                    sent.append(request._max_wait_ms)
                return await send(node, request, **more)

            consumer._client.send = noted
            waits = itertools.count(20, 10)
            pace_fetches(consumer, lambda: next(waits))
            consumer.assign([TopicPartition(topic, 0), TopicPartition(topic, 1)])
            while len(sent) < 3:
                assert not await consumer.getmany(timeout_ms=50)
            await tansu.produce(topic, [{"value": b"v", "partition": 1}])
            while not (found := await consumer.getmany(timeout_ms=50)):
                pass
            return [record.value for records in found.values() for record in records]
        finally:
            await consumer.stop()

    assert asyncio.run(run()) == [b"v"]
    assert len(sent) >= 3
    assert sent == sorted(set(sent)), "each its own"
    assert min(sent) >= 20, "and none the one that the client was made with"
