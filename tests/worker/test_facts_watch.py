"""The watch of the compacted topic on a real broker: former states are followed by what stands, whoever watches and whenever."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
import structlog
from kafka.brokers import TestBroker

from factsieve.adapters.kafka_outbox import KafkaOutbox, OutboxOptions
from factsieve.core.errors import Transient
from factsieve.core.facts import Fact
from factsieve.engine.standing import Standing
from factsieve.wire import outbound
from factsieve.wire.topics import Topics
from factsieve.worker.facts_watch import FactsWatch, WatchConfig
from tests.engine.harness import World

pytestmark = [pytest.mark.stack, pytest.mark.timeout(150)]

LIMIT_S = 90


class Stage:
    """A topic of its own, a world with one fact, and watches."""

    def __init__(self, broker: TestBroker) -> None:
        self.broker = broker
        self.topics = Topics(facts=broker.name("facts"))
        self.group = broker.name("group")
        self.world = World()
        self.world.run([self.world.record("the api listens on 8080", at) for at in (0, 1000, 2000)])
        [self.fact] = self.world.current()

    async def tell(self, *versions: int) -> None:
        """Produce states of the fact, as somebody who was late would."""
        facts = [msgspec.structs.replace(self.fact, version=version) for version in versions]
        told = [outbound.fact_message(self.topics, fact) for fact in facts]
        await self.broker.produce(self.topics.facts, [{"key": m.key, "value": m.value} for m in told])

    @contextlib.asynccontextmanager
    async def watch(self, facts: Any = None) -> AsyncIterator[Standing]:
        """Watch meanwhile."""
        options = OutboxOptions(enable_idempotence=self.broker.is_idempotent)
        outbox = KafkaOutbox([self.broker.bootstrap], options=options)
        standing = Standing(facts or self.world.facts, outbox, self.topics)
        config = WatchConfig(
            bootstrap_servers=(self.broker.bootstrap,),
            topic=self.topics.facts,
            group_id=self.group,
            session_timeout_s=3.0,
            heartbeat_interval_s=0.5,
            every_s=0.2,
        )
        watch = FactsWatch(config, standing)
        await watch.start()
        try:
            yield standing
        finally:
            await watch.stop()
            await outbox.stop()

    async def versions(self) -> list[int]:
        """Return the versions that the topic holds, in order."""
        records = await self.broker.read_all(self.topics.facts)
        return [msgspec.json.decode(record.value, type=Fact).version for record in records]

    async def settled(self) -> None:
        """Wait until the group has committed all that is on the topic."""

        async def all_of_it() -> bool:
            [end] = (await self.broker.committed(self.group, self.topics.facts, 1)).values()
            return end == len(await self.versions())

        await until(all_of_it)


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await holds():  # noqa: ASYNC110 - what is waited for is on the broker
            await asyncio.sleep(0.05)


def test_a_former_state_is_followed_by_what_stands(broker: TestBroker) -> None:
    """What was told too late while nobody watched is mended, then all is committed, and the next watch has nothing to do."""

    stage = Stage(broker)

    async def run() -> None:
        await broker.create(stage.topics.facts, 1)
        await stage.tell(3, 1)
        async with stage.watch() as standing:
            await stage.settled()
            assert standing.restated_total == 1
            assert await stage.versions() == [3, 1, 3]
            await stage.tell(2)  # and once more, while somebody watches
            await until(lambda: _reached(standing, 2))
            await stage.settled()
        async with stage.watch() as standing:
            await stage.tell(3)
            await stage.settled()
            assert standing.restated_total == 0
        assert await stage.versions() == [3, 1, 3, 2, 3, 3]

    asyncio.run(run())


def test_a_watch_that_ended_before_it_mended_leaves_that_to_the_next(broker: TestBroker) -> None:
    """Nothing is committed that is not settled: a store that never answers keeps the place, and its absence is told of once."""

    class Silent:
        asked = 0

        async def get(self, _ids: object) -> object:
            self.asked += 1
            raise Transient("qdrant", "no answer")

    stage = Stage(broker)

    async def run() -> None:
        await broker.create(stage.topics.facts, 1)
        await stage.tell(3, 1)
        silent = Silent()
        with structlog.testing.capture_logs() as logs:
            async with stage.watch(silent):
                await until(lambda: _asked(silent, 3))
        assert [entry["event"] for entry in logs if entry["log_level"] != "info"] == ["facts_watch_waits"]
        assert await broker.committed(stage.group, stage.topics.facts, 1) in ({0: None}, {0: 0})
        async with stage.watch() as standing:
            await stage.settled()
            assert standing.restated_total == 1

    asyncio.run(run())


def test_two_watches_share_the_topic_and_one_takes_over(broker: TestBroker) -> None:
    """Two watches of one group take different partitions; when one goes, the other mends what is told on both."""

    stage = Stage(broker)

    async def run() -> None:
        await broker.create(stage.topics.facts, 2)
        async with stage.watch() as stays:
            async with stage.watch() as goes:
                for number in range(1, 4):
                    await stage.tell(1)
                    await until(lambda n=number: _reached_together(n, stays, goes))
            mended = stays.restated_total
            await stage.tell(2)
            await until(lambda: _reached(stays, mended + 1))
        assert (await stage.versions())[-1] == 3

    asyncio.run(run())


async def _reached(standing: Standing, count: int) -> bool:
    return standing.restated_total >= count


async def _reached_together(count: int, *standings: Standing) -> bool:
    return sum(one.restated_total for one in standings) >= count


async def _asked(silent: Any, count: int) -> bool:
    return silent.asked >= count
