"""A rebuild does not begin beside workers."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from factsieve.assembly.settings import load_settings
from factsieve.core.errors import BadSettings
from factsieve.operations.connected import connected_to
from factsieve.operations.workers_at_work import members, refuse_beside_workers


@pytest.mark.kafka
@pytest.mark.stack
def test_members_of_the_workers_group_are_seen(apache: Any) -> None:
    """While a consumer of the group has its partitions the command is refused and says how to go on; before and after it is not."""
    settings = load_settings({"kafka.bootstrap": apache.bootstrap, "kafka.group": apache.name("workers")}, environ={})
    connected = connected_to(settings, local=False)

    async def scenario() -> None:
        topic = await apache.create(apache.name("candidates"))
        await refuse_beside_workers(connected, "a rebuild")
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=apache.bootstrap, group_id=settings.kafka.group)
        await consumer.start()
        try:
            async with asyncio.timeout(60):
                while not consumer.assignment():
                    await consumer.getmany(timeout_ms=100)
            assert await members(connected) == 1
            with pytest.raises(BadSettings, match=r"1 workers are at work .* --beside-workers"):
                await refuse_beside_workers(connected, "a rebuild")
            await refuse_beside_workers(connected_to(settings, local=True), "a rebuild")
        finally:
            await consumer.stop()
        assert await members(connected) == 0

    asyncio.run(scenario())
