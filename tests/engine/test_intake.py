"""What the engine takes in, lets go of, waits for and refuses, before and beside its lanes."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from factsieve.core.errors import Bug, Transient
from factsieve.core.facts import Record
from factsieve.core.offsets import partition_for
from factsieve.engine import poison
from factsieve.engine.engine import Engine
from factsieve.engine.lane import LaneSettings
from factsieve.engine.poison import PoisonSettings
from factsieve.ports import Vector
from tests.engine.harness import ToyEmbedder, World, decoder_fails_on
from tests.engine.test_pauses import Recorder, Told

P0, P1 = ("candidate-facts", 0), ("candidate-facts", 1)


class Gated(ToyEmbedder):
    """Answers when it is let; texts that hold the word wait for it, others do not."""

    def __init__(self, word: str = "") -> None:
        super().__init__()
        self.word, self.go, self.ended = word, asyncio.Event(), 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        try:
            if any(self.word in text for text in texts):
                await self.go.wait()
        finally:
            await asyncio.sleep(0)
            self.ended += 1
        return await super().embed(texts)


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - conditions of all kinds
            await asyncio.sleep(0)


async def settle() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


def elsewhere(record: Record, partition: int = 1) -> Record:
    return msgspec.structs.replace(record, partition=partition)


# Ends


def test_nothing_is_under_way_after_a_stop() -> None:
    """Whatever runs is cancelled, and has come to its end when the call returns."""

    async def main() -> None:
        world, trouble = World(embedder=Gated()), list[Any]()
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: trouble.append(context))
        engine = Engine(world.ports(outbox=Silent()), world.settings, on_failure=trouble.append)
        await engine.submit(world.record("alpha runs"), lambda: pytest.fail("acknowledged"))
        await engine.submit(world.raw(b"no json"), lambda: pytest.fail("acknowledged"))
        await settle()
        assert (engine.in_flight, engine.lanes) == (2, 1)
        await engine.stop()
        await settle()
        assert (engine.in_flight, engine.lanes) == (0, 0)
        assert trouble == [], "to be cancelled is no trouble"
        assert asyncio.all_tasks() - {asyncio.current_task()} == _batches(engine)

    asyncio.run(main())


def test_nothing_is_kept_of_what_is_done() -> None:
    """A lane that has come to its end leaves nothing behind, and is no failure."""

    async def main() -> None:
        world, told = World(), list[BaseException | None]()
        engine = Engine(world.ports(), world.settings, on_failure=told.append)
        for number in range(3):
            await engine.submit(world.record("alpha runs", namespace=f"n{number}"), lambda: None)
        assert await engine.drain(None, 60.0)
        await until(lambda: not engine.lanes)
        await settle()
        assert (len(engine._tasks), engine.in_flight, told) == (0, 0, [])
        await engine.stop()

    asyncio.run(main())


def test_what_was_abandoned_is_not_waited_for_again() -> None:
    """Its lane may hang on for as long as a service takes: the next time a partition is given up, there is nothing of ours left in it."""

    async def main() -> None:
        world = World(embedder=Gated())
        engine = Engine(world.ports(), world.settings)
        await engine.submit(world.record("alpha runs"), lambda: pytest.fail("acknowledged"))
        await settle()
        assert not await engine.drain([P0, P1], 0.0)
        assert engine.lanes == 1
        assert await engine.drain([P0, P1], 0.0)
        await engine.stop()

    asyncio.run(main())


def _batches(engine: Engine) -> set[Any]:
    """Return the calls of ports that are under way: they are shared by lanes, and no lane's own."""
    return {task for one in vars(engine._gathered).values() for task in getattr(one, "_tasks", ())}


class Silent:
    """An outbox that never answers."""

    async def send(self, _messages: Any) -> None:
        await asyncio.Event().wait()


def test_the_first_bug_is_told_once_and_ends_the_intake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later ones change nothing; whoever waits for room is told, and nothing more is taken in."""

    class Broken(ToyEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            await go.wait()
            raise Bug(texts[0])

    go = asyncio.Event()

    async def main() -> None:
        world = World(embedder=Broken(), max_in_flight=2)
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(ends_on_outage=True))
        told: list[BaseException] = []
        engine = Engine(world.ports(), settings, on_failure=told.append)
        for namespace in ("a", "b"):
            await engine.submit(world.record(f"in {namespace}", namespace=namespace), lambda: pytest.fail("done"))
        waiting = asyncio.create_task(engine.submit(world.record("third", namespace="c"), lambda: pytest.fail("done")))
        draining = asyncio.create_task(engine.drain(None, 60.0))
        await settle()
        assert not waiting.done()
        assert engine.failure is None
        go.set()
        with pytest.raises(Bug):
            await waiting
        assert not await draining
        await until(lambda: not engine.lanes)
        assert told == [engine.failure]
        assert engine.in_flight == 0
        with pytest.raises(Bug):
            await engine.submit(world.record("fourth"), lambda: pytest.fail("done"))
        assert not await engine.drain(None, 60.0), "what failed is not done"
        await engine.stop()

    asyncio.run(main())


class Broken:
    """Fails on each send as no outbox should."""

    async def send(self, messages: object) -> None:
        raise ZeroDivisionError


def test_a_bug_of_a_refusal_ends_the_engine_too() -> None:
    """What goes wrong beside the lanes is told like what goes wrong in one, and the record is not acknowledged."""

    async def main() -> None:
        world, told = World(), list[BaseException]()
        engine = Engine(world.ports(outbox=Broken()), world.settings, on_failure=told.append)
        await engine.submit(world.raw(b"no json"), lambda: pytest.fail("acknowledged"))
        await until(lambda: engine.failure is not None)
        assert [type(error) for error in told] == [ZeroDivisionError]
        assert not await engine.drain(None, 60.0), "what failed is not done"
        await engine.stop()

    asyncio.run(main())


def test_whoever_waits_for_room_is_told_of_a_bug_that_makes_none() -> None:
    """A bug of a refusal leaves the events of the lanes where they are: a record that waits for room among them still comes to its end."""

    async def main() -> None:
        for bound in ("max_in_flight", "max_lane_events"):
            world = World(embedder=Gated())
            go = asyncio.Event()

            class Later(Broken):
                async def send(self, messages: object, go: asyncio.Event = go) -> None:
                    await go.wait()
                    await super().send(messages)

            settings = msgspec.structs.replace(world.settings, **{bound: 2})
            engine = Engine(world.ports(outbox=Later()), settings)
            await engine.submit(world.raw(b"no json"), lambda: pytest.fail("acknowledged"))
            for _ in range(1 if bound == "max_in_flight" else 2):
                await engine.submit(world.record("alpha runs"), lambda: pytest.fail("done"))
            waiting = asyncio.create_task(engine.submit(world.record("alpha runs"), lambda: pytest.fail("done")))
            await settle()
            assert not waiting.done()
            go.set()
            await until(waiting.done)
            assert isinstance(waiting.exception(), ZeroDivisionError | None)
            await engine.stop()

    asyncio.run(main())


def test_room_in_a_lane_is_not_waited_for_after_a_bug() -> None:
    """A record that waits for its full lane goes no further; it comes again with its partition."""

    class Broken(Gated):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            await self.go.wait()
            raise Bug("broken")

    async def main() -> None:
        world = World(embedder=Broken(), wave_events=1)
        settings = msgspec.structs.replace(
            world.settings, poison=PoisonSettings(ends_on_outage=True), max_lane_events=2
        )
        engine = Engine(world.ports(), settings)
        for _ in range(2):
            await engine.submit(world.record("alpha runs"), lambda: pytest.fail("done"))
        waiting = asyncio.create_task(engine.submit(world.record("alpha runs"), lambda: pytest.fail("done")))
        await settle()
        assert not waiting.done()
        assert engine.in_flight == 3
        world.embedder.go.set()
        await until(waiting.done)
        await engine.stop()

    asyncio.run(main())


# Partitions that come and go


def test_what_waits_of_a_partition_is_dropped_and_the_rest_stays_in_order() -> None:
    """Dropped events are let go at once and never done; those of other partitions are, in their order."""

    async def main() -> None:
        world = World(embedder=Gated(), wave_events=1)
        engine = Engine(world.ports(), world.settings)
        done: list[str] = []
        for number, partition in enumerate([0, 1, 0, 1, 0]):
            record = elsewhere(world.record(f"statement {number}"), partition)
            await engine.submit(record, lambda n=number: done.append(n))
        await settle()
        assert engine.in_flight == 5
        engine.discard([P1])
        assert engine.in_flight == 3
        engine.discard([("another-topic", 0)])
        assert engine.in_flight == 3
        world.embedder.go.set()
        assert await engine.drain(None, 60.0)
        assert done == [0, 2, 4]
        assert [decision["text"] for decision in world.decisions()] == ["statement 0", "statement 2", "statement 4"]
        await engine.stop()

    asyncio.run(main())


class Asleep:
    """A fence that does not hold one partition until it is let go."""

    def __init__(self, partition: tuple[str, int]) -> None:
        self.partition, self.awake = partition, False

    def holds(self, topic: str, partition: int) -> bool:
        return self.awake or (topic, partition) != self.partition


def test_a_partition_is_waited_for_by_itself() -> None:
    """What another one has under way holds nobody up; what does not come to an end is abandoned, and what comes later is not."""

    async def main() -> None:
        world = World()
        fence = Asleep(P0)
        engine = Engine(world.ports(fence=fence), world.settings)
        done: list[str] = []
        await engine.submit(world.record("slow", namespace="a"), lambda: done.append("slow"))
        await engine.submit(elsewhere(world.record("quick", namespace="b")), lambda: done.append("quick"))
        assert await engine.drain([P1], 60.0)
        assert done == ["quick"]
        assert not await engine.drain([P0], 0.01)
        assert await engine.drain([P0], 60.0), "what is abandoned is not waited for again"
        fence.awake = True
        await until(lambda: not engine.lanes)
        assert (done, engine.in_flight) == (["quick"], 0)
        assert [decision["text"] for decision in world.decisions()] == ["quick"]
        await engine.submit(elsewhere(world.record("later", namespace="b")), lambda: done.append("later"))
        await engine.submit(world.record("slow again", namespace="a"), lambda: done.append("slow again"))
        assert await engine.drain(None, 60.0)
        assert sorted(done) == ["later", "quick", "slow again"]
        await engine.stop()

    asyncio.run(main())


def test_a_refusal_is_waited_for_and_abandoned_with_its_partition() -> None:
    """While Kafka does not take it, it is under way; when its partition is gone it is neither sent nor done."""

    class Deaf:
        def __init__(self, outbox: Any) -> None:
            self.outbox, self.hears, self.asked = outbox, False, 0

        async def send(self, messages: Any) -> None:
            self.asked += 1
            await asyncio.sleep(0)
            if not self.hears:
                raise Transient("kafka", "gone")
            await self.outbox.send(messages)

    async def main() -> None:
        world = World()
        deaf = Deaf(world.outbox)
        engine = Engine(world.ports(outbox=deaf), world.settings)
        done: list[str] = []
        await engine.submit(world.raw(b"no json"), lambda: done.append("first"))
        await until(lambda: deaf.asked > 1)
        assert await engine.drain([P1], 60.0), "of another partition nothing is under way"
        assert not await engine.drain([P0], 0.01)
        await settle()
        deaf.hears = True
        await until(lambda: not engine.in_flight)
        assert done == []
        assert world.outbox.of("candidate-facts-dlt") == []
        for number in range(3):
            await engine.submit(world.raw(b"no json"), lambda n=number: done.append(n))
        assert engine.in_flight == 3
        assert await engine.drain([P0], 60.0)
        assert (sorted(done), engine.in_flight) == ([0, 1, 2], 0)
        assert len(world.outbox.of("candidate-facts-dlt")) == 3
        await engine.stop()

    asyncio.run(main())


def test_only_namespaces_of_partitions_that_are_given_up_start_anew() -> None:
    """The others stay stopped; all of them start anew where everything is given up."""

    class Broken(ToyEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            if any("poison" in text for text in texts):
                raise ZeroDivisionError
            return await super().embed(texts)

    async def main() -> None:
        world = World(embedder=Broken())
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(stops_namespace=True))
        engine = Engine(world.ports(), settings)
        await engine.submit(world.record("poison", namespace="a"), lambda: pytest.fail("done"))
        await engine.submit(elsewhere(world.record("poison", namespace="b")), lambda: pytest.fail("done"))
        await until(lambda: engine.stopped_namespaces == 2)
        assert await engine.drain([P1], 60.0)
        assert engine.stopped_namespaces == 1
        assert await engine.drain(None, 60.0)
        assert engine.stopped_namespaces == 0
        await engine.stop()

    asyncio.run(main())


def test_too_many_stopped_namespaces_end_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the bound each one stops alone; one more fails the engine."""

    class Broken(ToyEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            if any("poison" in text for text in texts):
                raise ZeroDivisionError
            return await super().embed(texts)

    monkeypatch.setattr(poison, "MAX_STOPPED", 2)

    async def main() -> None:
        world = World(embedder=Broken())
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(stops_namespace=True))
        engine = Engine(world.ports(), settings)
        for namespace in ("a", "b"):
            await engine.submit(world.record("poison", namespace=namespace), lambda: pytest.fail("done"))
        await until(lambda: engine.stopped_namespaces == 2 and not engine.lanes)
        assert engine.failure is None
        await engine.submit(world.record("poison", namespace="c"), lambda: pytest.fail("done"))
        await until(lambda: not engine.lanes)
        assert isinstance(engine.failure, Bug)
        await engine.stop()

    asyncio.run(main())


# Keys and partitions


class Noticing(Told):
    """Counts keys outside their partition, too."""

    def saw_wrong_partition(self) -> None:
        self.counts["wrong partition"] += 1


def placed(record: Record, count: int, *, right: bool, partitioner: Any = "murmur2") -> Record:
    expected = partition_for(record.key or b"", count, partitioner) or 0
    return elsewhere(record, expected if right else (expected + 1) % count)


@pytest.mark.parametrize("refuse", [False, True])
def test_a_key_outside_its_partition_is_noticed(refuse: bool) -> None:
    """It has a second writer elsewhere. It is refused only where that is wanted; one in its place is never complained of."""
    world, told = World(), Noticing()
    settings = msgspec.structs.replace(world.settings, refuse_wrong_partition=refuse)

    async def main() -> None:
        engine = Engine(world.ports(), settings, told, lambda topic: {"candidate-facts": 3}[topic])
        await engine.submit(placed(world.record("in its place"), 3, right=True), lambda: None)
        assert await engine.drain(None, 60.0)
        assert told.counts["wrong partition"] == 0
        await engine.submit(placed(world.record("elsewhere"), 3, right=False), lambda: None)
        assert await engine.drain(None, 60.0)
        await engine.stop()

    asyncio.run(main())
    assert told.counts["wrong partition"] == 1
    assert told.counts["rejected wrong_partition"] == refuse
    assert sorted(fact.text for fact in world.current()) == ["elsewhere"] * (not refuse) + ["in its place"]


def test_a_record_without_a_key_is_refused_for_that() -> None:
    """There is nothing by which it could be in the wrong partition, whatever the partitioner."""
    world, told = World(), Noticing()
    settings = msgspec.structs.replace(world.settings, refuse_wrong_partition=True)

    async def main() -> None:
        engine = Engine(world.ports(), settings, told, lambda _: 3)
        await engine.submit(world.raw(b"{}", key=None), lambda: None)
        assert await engine.drain(None, 60.0)
        await engine.stop()

    asyncio.run(main())
    assert told.counts == Counter({"rejected null_key": 1})


def test_no_key_is_outside_its_partition_where_nobody_can_tell() -> None:
    """The number of partitions is not known, or the partitioner leaves the key to chance: nothing is noticed, nothing fails."""
    world, told = World(), Noticing()
    settings = msgspec.structs.replace(world.settings, refuse_wrong_partition=True, partitioner="crc32")

    async def main() -> None:
        for count in (None, 3):
            engine = Engine(world.ports(), settings, told, lambda _, count=count: count)
            await engine.submit(world.raw(b"{}", key=None), lambda: None)
            await engine.submit(world.raw(b"{}", key=b""), lambda: None)
            assert await engine.drain(None, 60.0)
            await engine.stop()
        engine = Engine(world.ports(), settings, told, lambda _: None)
        await engine.submit(placed(world.record("alpha runs"), 3, right=False, partitioner="crc32"), lambda: None)
        assert await engine.drain(None, 60.0)
        await engine.stop()

    asyncio.run(main())
    assert told.counts == Counter({"rejected null_key": 2, "rejected bad_namespace": 2, "recorded": 1})


# What a record says


class Marks:
    """Keeps what is under way and what survived; the first so many that begin find that the statement before them failed."""

    def __init__(self, trouble: int = 0) -> None:
        self.trouble = trouble
        self.begun: list[str | bytes] = []
        self.under_way: Counter[str | bytes] = Counter()

    def is_suspect(self, content: str | bytes) -> bool:
        assert isinstance(content, str | bytes)
        return False

    def running(self, *contents: str | bytes) -> Any:
        @asynccontextmanager
        async def run() -> Any:
            assert all(isinstance(content, str | bytes) for content in contents)
            if self.trouble:
                self.trouble -= 1
                raise Transient("nli", "the known-good statement failed")
            self.begun += contents
            self.under_way.update(contents)
            yield

        return run()

    def survived(self, contents: Iterable[str | bytes]) -> None:
        for content in contents:
            assert isinstance(content, str | bytes)
            self.under_way.pop(content, None)


def test_whatever_becomes_of_a_record_its_mark_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken, refused, without a value, or one that the decoder fails on: it took no process down."""
    world, marks = World(), Marks()
    decoder_fails_on(monkeypatch, b"odd", ZeroDivisionError)
    records = [world.record("alpha runs"), world.raw(b"no json"), world.raw(None), world.record("odd")]
    world.run(records, risk=marks)
    assert {record.value or b"" for record in records} <= set(marks.begun)
    assert {content for content in marks.under_way if isinstance(content, bytes)} == set()
    codes = [decision["error"]["code"] for decision in world.decisions() if "error" in decision]
    assert sorted(codes) == ["not_json", "null_value", "unprocessable"]
    letter = next(one for one in world.outbox.of("candidate-facts-dlt") if b"odd" in (one.value or b""))
    assert "at each of 1 tries" in str(letter.headers)


def test_a_known_good_statement_that_fails_before_a_suspect_is_waited_for() -> None:
    """Pauses double up to the bound, and it is said what is waited for."""
    world, told = World(), Told()
    settings = msgspec.structs.replace(world.settings, lane=LaneSettings(retry_first_s=1.0, retry_most_s=5.0))
    clock = Recorder(world.clock)

    async def main() -> None:
        engine = Engine(world.ports(clock=clock, risk=Marks(trouble=5)), settings, told)
        await engine.submit(world.record("alpha runs"), lambda: world.done.append(("", 0, 0)))
        assert await engine.drain(None, 60.0)
        await engine.stop()

    asyncio.run(main())
    assert clock.slept == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert told.counts == Counter({"waited for nli": 5, "recorded": 1})
    assert len(world.done) == 1


def test_a_refused_record_of_a_stopped_namespace_waits_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an event stops its namespace, one that the decoder fails on does; nothing of it is sent, and nothing more of it taken in."""
    decoder_fails_on(monkeypatch, b"odd", ZeroDivisionError)

    async def main() -> None:
        world = World()
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(stops_namespace=True))
        engine = Engine(world.ports(), settings)
        done: list[str] = []
        await engine.submit(world.raw(b"no json"), lambda: done.append("refused"))
        await until(lambda: done)
        assert engine.stopped_namespaces == 0, "input that is merely bad stops nothing"
        await engine.submit(world.record("odd"), lambda: done.append("odd"))
        assert engine.stopped_namespaces == 1
        for record in (world.raw(b"no json"), world.record("alpha runs")):
            await engine.submit(record, lambda: done.append("of the stopped namespace"))
        await engine.submit(world.record("beta runs", namespace="other"), lambda: done.append("other"))
        assert await engine.drain([P1], 60.0)
        await until(lambda: engine.in_flight == 0)
        assert done == ["refused", "other"]
        assert len(world.outbox.of("candidate-facts-dlt")) == 1
        await engine.stop()

    asyncio.run(main())


def test_a_key_that_is_no_text_is_refused_as_any_other() -> None:
    """Its namespace is told as far as it can be read; an empty one is none."""
    world = World()
    world.run([world.raw(b"{}", key=b"\xff\xfea"), world.raw(b"{}", key=b""), world.raw(b"{}", key=None)])
    rejects = [json.loads(message.value or b"") for message in world.outbox.of("fact-decisions")]
    assert len(world.done) == 3
    assert sorted(str(one.get("namespace")) for one in rejects) == ["None", "None", "\ufffd\ufffda"]


# The known-good statement


@pytest.mark.parametrize(
    ("port", "method"), [("ledger", "lookup"), ("facts", "by_text"), ("facts", "neighbours"), ("ledger", "insert")]
)
def test_the_known_good_statement_goes_the_way_of_every_other(port: str, method: str) -> None:
    """Whichever of its stations fails for everybody, no event is set aside for it: the engine ends where nobody waits."""
    world = World(embedder=Poisoned())
    world.run([world.record("alpha runs")])
    world.embedder.word = "poison"

    class Failing:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            attribute = getattr(self.inner, name)
            if name != method:
                return attribute

            async def call(*args: Any) -> Any:
                if world.embedder.failed or (method == "insert"):
                    raise Bug("broken for everybody")
                return await attribute(*args)

            return call

    async def main() -> None:
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(ends_on_outage=True, tries=1))
        engine = Engine(world.ports(**{port: Failing(getattr(world, port))}), settings)
        engine._quarantine.last_recorded = ("id", b"{}", {})
        await engine.submit(world.record("poison"), lambda: pytest.fail("done"))
        await until(lambda: not engine.lanes)
        assert engine.failure is not None
        assert world.outbox.of("candidate-facts-dlt") == []
        await engine.stop()

    asyncio.run(main())


class Poisoned(ToyEmbedder):
    """Fails on a word, and remembers that it did."""

    def __init__(self) -> None:
        super().__init__()
        self.word, self.failed = "\0", False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if any(self.word in text for text in texts):
            self.failed = True
            raise ZeroDivisionError
        return await super().embed(texts)
