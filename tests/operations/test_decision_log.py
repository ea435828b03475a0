"""The decision log as it follows a real broker: what was there, what comes, connections that break, followers that are slow."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer
from kafka.brokers import TestBroker

from factsieve.operations.conversation import Kafka
from factsieve.operations.log import MISSED, DecisionFilter, DecisionLog, QuietLogObserver
from factsieve.wire.topics import Topics
from tests.operations.decisions import decision_value, reject_value, uid

pytestmark = pytest.mark.stack

LIMIT_S = 60.0


class Counting(QuietLogObserver):
    def __init__(self) -> None:
        self.seen = {"read": 0, "unreadable": 0, "disconnected": 0, "missed": 0}

    def log_read(self, decisions: int) -> None:
        self.seen["read"] += decisions

    def log_unreadable(self) -> None:
        self.seen["unreadable"] += 1

    def log_disconnected(self) -> None:
        self.seen["disconnected"] += 1

    def log_missed(self, decisions: int) -> None:
        self.seen["missed"] += decisions


class Topic:
    """A decisions topic of its own on a broker."""

    def __init__(self, broker: TestBroker, name: str) -> None:
        self.broker = broker
        self.name = name

    async def tell(self, *values: dict | bytes, partition: int = 0) -> None:
        raw = [value if isinstance(value, bytes) else msgspec.json.encode(value) for value in values]
        await self.broker.produce(self.name, [{"value": one, "partition": partition} for one in raw])

    @asynccontextmanager
    async def log(self, **options: object) -> AsyncIterator[DecisionLog]:
        log = DecisionLog(Kafka((self.broker.bootstrap,)), Topics(decisions=self.name), **options)
        await log.start()
        try:
            yield log
        finally:
            await log.stop()


async def topic_on(broker: TestBroker, partitions: int = 2) -> Topic:
    return Topic(broker, await broker.create(broker.name("decisions"), partitions))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - anything may be waited for
            await asyncio.sleep(0.02)


def ids(log: DecisionLog, **wanted: object) -> list[str]:
    return [value["event_id"] for value in log.find(DecisionFilter(**wanted), limit=100).items]


def test_what_was_there_comes_in_order_of_time_and_then_what_comes(tansu: TestBroker) -> None:
    """Partitions are woven together by the time of decision; what is no decision is passed over and counted."""

    async def run() -> None:
        topic, observer = await topic_on(tansu), Counting()
        await topic.tell(decision_value("1", at=1), b"no json", decision_value("3", at=3), partition=0)
        await topic.tell(decision_value("2", at=2), b'{"decision_id": 4}', decision_value("4", at=4), partition=1)
        async with topic.log(observer=observer) as log:
            assert await log.until_ready(LIMIT_S)
            assert ids(log) == ["4", "3", "2", "1"]
            await topic.tell(decision_value("5", at=5), b"[" * 100_000, reject_value("6", at=6))
            await until(lambda: len(log) == 6)
            assert ids(log) == ["6", "5", "4", "3", "2", "1"]
            assert log.complete_since is None
            await until(lambda: log.behind_s is not None and log.behind_s < LIMIT_S)
        assert observer.seen == {"read": 6, "unreadable": 3, "disconnected": 0, "missed": 0}

    asyncio.run(run())


def test_an_empty_topic_is_ready_at_once(tansu: TestBroker) -> None:
    """Nothing was there, nothing is missing."""

    async def run() -> None:
        async with (await topic_on(tansu)).log() as log:
            assert await log.until_ready(LIMIT_S)
            assert (ids(log), log.complete_since) == ([], None)
            assert (await log.counts(DecisionFilter())).total == 0

    asyncio.run(run())


def test_a_long_topic_is_read_from_near_its_end(tansu: TestBroker) -> None:
    """Only the latest are kept, and the log says from when on it has all."""

    async def run() -> None:
        topic = await topic_on(tansu, partitions=1)
        await topic.tell(*[decision_value(str(n), at=n) for n in range(50)])
        observer = Counting()
        async with topic.log(records=10, observer=observer) as log:
            assert await log.until_ready(LIMIT_S)
            assert ids(log) == [str(n) for n in range(49, 39, -1)]
            assert log.complete_since is not None
        assert observer.seen["read"] == 10

    asyncio.run(run())


def test_a_wait_ends_with_the_decision_or_in_time(tansu: TestBroker) -> None:
    """One that is there is given at once, one that comes when it comes, one that does not come is None."""

    async def run() -> None:
        topic = await topic_on(tansu)
        await topic.tell(decision_value("there"))
        async with topic.log() as log:
            await log.until_ready(LIMIT_S)
            there = await log.wait_for(DecisionFilter(event_id="there"), LIMIT_S)
            assert there is not None
            assert there["event_id"] == "there"
            waiting = asyncio.create_task(log.wait_for(DecisionFilter(event_id="soon"), LIMIT_S))
            await topic.tell(decision_value("other"), decision_value("soon"))
            soon = await waiting
            assert soon is not None
            assert soon["event_id"] == "soon"
            assert await log.wait_for(DecisionFilter(event_id="never"), 0.05) is None
            assert await log.wait_for(DecisionFilter(event_id="never"), 0.0) is None
            seen = await log.wait_for(DecisionFilter(event_id="soon", namespaces=frozenset({"other"})), 0.05)
            assert seen is None

    asyncio.run(run())


def test_followers_get_what_they_asked_for_and_a_slow_one_is_told_what_it_missed(tansu: TestBroker) -> None:
    """A slow follower holds nobody up; stopping the log ends every iteration."""

    async def run() -> None:
        topic, observer = await topic_on(tansu, partitions=1), Counting()
        async with topic.log(follower_queue=5, observer=observer) as log:
            await log.until_ready(LIMIT_S)
            slow, picky = log.follow(DecisionFilter()), log.follow(DecisionFilter(text="statement 7"))
            quick = log.follow(DecisionFilter())
            got: list[str] = []

            async def take() -> None:
                async for value in quick:
                    got.append(value["event_id"])  # noqa: PERF401 - looked at while it grows

            taking = asyncio.create_task(take())
            for n in range(12):
                await topic.tell(decision_value(str(n), at=n))
                await until(lambda n=n: len(got) == n + 1)
            assert (await anext(picky))["event_id"] == "7"
            assert await anext(slow) == {MISSED: 7}
            assert [(await anext(slow))["event_id"] for _ in range(5)] == ["7", "8", "9", "10", "11"]
        await asyncio.wait_for(taking, LIMIT_S)
        assert got == [str(n) for n in range(12)]
        assert [value async for value in slow] == []
        assert observer.seen["missed"] == 7

    asyncio.run(run())


def test_a_follower_can_go_on_from_where_it_stopped(tansu: TestBroker) -> None:
    """What came after a decision comes first; one that nobody holds is forgotten."""

    async def run() -> None:
        topic = await topic_on(tansu, partitions=1)
        await topic.tell(*[decision_value(str(n), at=n) for n in range(5)])
        async with topic.log() as log:
            await log.until_ready(LIMIT_S)
            again = log.follow(DecisionFilter(), after=uid("decision 2"))
            assert [(await anext(again))["event_id"] for _ in range(2)] == ["3", "4"]
            log.unfollow(again)
            assert [value async for value in again] == []
            log.follow(DecisionFilter())
            assert len(log._followers) == 0

    asyncio.run(run())


MADE: list[AIOKafkaConsumer] = []


class Breakable(Kafka, frozen=True):
    """Remembers its consumers, so that a test can break their connection."""

    def consumer(self) -> AIOKafkaConsumer:
        MADE.append(super().consumer())
        return MADE[-1]


def test_a_broken_connection_costs_nothing(tansu: TestBroker) -> None:
    """The log connects anew and goes on where it was: nothing is missed, nothing is there twice."""

    async def run() -> None:
        topic, observer = await topic_on(tansu), Counting()
        await topic.tell(decision_value("1", at=1))
        log = DecisionLog(Breakable((tansu.bootstrap,)), Topics(decisions=topic.name), observer=observer)
        await log.start()
        try:
            await until(lambda: len(log) == 1)
            await MADE[-1].stop()
            await topic.tell(decision_value("2", at=2), partition=1)
            await until(lambda: len(log) == 2)
            assert ids(log) == ["2", "1"]
            assert log.ready
        finally:
            await log.stop()
        assert (observer.seen["read"], observer.seen["disconnected"]) == (2, 1)

    asyncio.run(run())


def test_without_broker_or_topic_the_log_is_not_ready_and_waits(tansu: TestBroker) -> None:
    """It says so, tries again, and is ready once they are there."""

    async def run() -> None:
        nowhere, observer = DecisionLog(Kafka(("127.0.0.1:1",)), Topics()), Counting()
        await nowhere.start()
        later = tansu.name("later")
        log = DecisionLog(Kafka((tansu.bootstrap,)), Topics(decisions=later), observer=observer)
        await log.start()
        try:
            await until(lambda: observer.seen["disconnected"] >= 2)
            assert (log.ready, log.behind_s, ids(log)) == (False, None, [])
            assert not await nowhere.until_ready(0.01)
            await tansu.create(later, 1)
            assert await log.until_ready(LIMIT_S)
        finally:
            await log.stop()
            await nowhere.stop()

    asyncio.run(run())
