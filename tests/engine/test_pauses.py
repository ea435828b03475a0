"""How long the engine waits between tries, and that it says so: pauses double up to a bound, and belong to one kind of trouble each."""

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from factsieve.core.errors import Transient
from factsieve.engine.engine import Engine
from factsieve.engine.lane import LaneSettings
from factsieve.engine.poison import PoisonSettings
from factsieve.engine.ports import QuietObserver
from tests.engine.harness import ToyEmbedder, World

PAUSES = LaneSettings(retry_first_s=1.0, retry_most_s=5.0, fence_poll_s=0.25)


class Recorder:
    """A clock that keeps what is slept."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self.slept: list[float] = []

    def now(self) -> Any:
        return self._clock.now()

    async def sleep(self, duration_s: float) -> None:
        self.slept.append(duration_s)
        await self._clock.sleep(duration_s)


class Failing:
    """A port of which one call fails so many times before it works."""

    def __init__(self, port: Any, call: str, times: int) -> None:
        self._port, self._call, self.left = port, call, times

    def __getattr__(self, name: str) -> Any:
        if name != self._call:
            return getattr(self._port, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.left:
                self.left -= 1
                raise Transient("service", "gone")
            return await getattr(self._port, name)(*args, **kwargs)

        return call


class Told(QuietObserver):
    """Counts what it is told."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def waited(self, service: str, error: str) -> None:
        self.counts[f"waited for {service}"] += 1

    def degraded(self, service: str, error: str) -> None:
        self.counts[f"did without {service}"] += 1

    def recorded(self, events: int) -> None:
        self.counts["recorded"] += events

    def redelivered(self, events: int) -> None:
        self.counts["redelivered"] += events

    def fenced(self, events: int) -> None:
        self.counts["fenced"] += events

    def rejected(self, code: str) -> None:
        self.counts[f"rejected {code}"] += 1


def world_with_pauses(**settings: Any) -> tuple[World, Recorder, Told]:
    world = World()
    world.settings = msgspec.structs.replace(world.settings, lane=PAUSES, **settings)
    world.observer = told = Told()  # type: ignore[assignment]
    return world, Recorder(world.clock), told


@pytest.mark.parametrize(
    ("port", "call"),
    [("ledger", "lookup"), ("ledger", "insert"), ("ledger", "point"), ("facts", "write"), ("outbox", "send")],
)
def test_a_service_that_does_not_answer_is_asked_less_and_less_often(port: str, call: str) -> None:
    """Pauses double from the first to the longest one, wherever in a wave the service is wanting."""
    world, clock, told = world_with_pauses()
    failing = Failing(getattr(world, port), call, 5)
    world.run([world.record("alpha runs")], clock=clock, **{port: failing})
    assert clock.slept == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert told.counts == Counter({"waited for service": 5, "recorded": 1})
    assert len(world.done) == 1


def test_a_refusal_is_sent_less_and_less_often() -> None:
    """An input that is refused before it has a lane waits for Kafka by the same pauses."""
    world, clock, told = world_with_pauses()
    world.run([world.raw(b"no json")], clock=clock, outbox=Failing(world.outbox, "send", 4))
    assert clock.slept == [1.0, 2.0, 4.0, 5.0]
    assert told.counts == Counter({"waited for service": 4, "rejected not_json": 1})


def test_pauses_begin_anew_with_the_next_trouble() -> None:
    """What one wave had to wait is not laid to the next."""
    world, clock, _ = world_with_pauses()
    for _ in range(2):
        world.run([world.record("alpha runs")], clock=clock, ledger=Failing(world.ledger, "lookup", 2))
    assert clock.slept == [1.0, 2.0] * 2


def test_an_event_that_fails_is_tried_less_and_less_often() -> None:
    """Between the tries of one event pauses double up to the bound; none follows the last try."""

    class Broken(ToyEmbedder):
        async def embed(self, texts: Any) -> Any:
            if any("poison" in text for text in texts):
                raise ZeroDivisionError
            return await super().embed(texts)

    world = World(embedder=Broken())
    world.settings = msgspec.structs.replace(world.settings, lane=PAUSES, poison=PoisonSettings(tries=5))
    clock = Recorder(world.clock)
    world.run([world.record("poison"), world.record("alpha runs")], clock=clock)
    assert clock.slept == [1.0, 2.0, 4.0, 5.0]
    assert [fact.text for fact in world.current()] == ["alpha runs"]


def test_a_process_that_slept_looks_again_at_equal_distances() -> None:
    """Until its heartbeat is young again nothing is written."""

    class Asleep:
        asked = 0

        def holds(self, _topic: str, _partition: int) -> bool:
            self.asked += 1
            return self.asked > 3

    world, clock, told = world_with_pauses()
    world.run([world.record("alpha runs")], clock=clock, fence=Asleep())
    assert clock.slept == [0.25] * 3
    assert told.counts["waited for service"] == 0


def test_the_window_is_done_without() -> None:
    """Redis is waited for nowhere: it is said that it was done without, at each look and at each write."""
    world, clock, told = world_with_pauses()
    window = Failing(Failing(world.window, "put", 100), "find", 100)
    world.run([world.record("alpha runs", source="post_tool_use")], clock=clock, window=window)
    assert clock.slept == []
    assert told.counts == Counter({"did without redis": 2, "recorded": 1})


def test_what_comes_again_is_counted_as_that() -> None:
    """Events of a wave are recorded once; what is in the ledger is told again and counted apart, each event of it."""
    world, clock, told = world_with_pauses()
    records = [world.record(f"statement {n}") for n in range(5)]
    world.run(records, clock=clock)
    assert told.counts == Counter({"recorded": 5})
    told.counts.clear()
    world.run(records, clock=clock)
    assert told.counts == Counter({"redelivered": 5})


def test_what_another_one_recorded_first_is_counted_as_lost() -> None:
    """The loser of a race for a record drops its wave, says of how many events, and tells what is stored."""
    world, clock, told = world_with_pauses()
    records = [world.record(f"statement {n}") for n in range(3)]

    class Late:
        """A ledger into which another worker's record of the same wave comes first."""

        def __getattr__(self, name: str) -> Any:
            return getattr(world.ledger, name)

        async def insert(self, records_: Any) -> Any:
            if not other:
                other.append(True)
                await first.feed(records)
            return await world.ledger.insert(records_)

    other: list[bool] = []
    first = World()
    for name in ("facts", "ledger", "window", "outbox"):
        setattr(first, name, getattr(world, name))
    world.run(records, clock=clock, ledger=Late())
    assert told.counts == Counter({"fenced": 3, "redelivered": 3})
    assert len({one["decision_id"] for one in world.decisions()}) == 3


def test_a_full_engine_takes_the_next_record_when_one_is_done() -> None:
    """Events in flight are those that were taken in and are neither done nor refused."""
    world = World(max_in_flight=1)

    async def main() -> None:
        engine = Engine(world.ports(), world.settings)
        seen: list[int] = []
        for record in [world.record("alpha runs"), world.raw(b"no json"), world.record("beta runs")]:
            await engine.submit(record, lambda: seen.append(engine.in_flight))
            assert engine.in_flight == 1
        assert await engine.drain(None, 60.0)
        assert (engine.in_flight, engine.lanes, len(seen)) == (0, 0, 3)
        await engine.stop()

    asyncio.run(main())
