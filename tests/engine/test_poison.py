"""Events on which something fails that should not: told from outages, set aside one by one, never against the ledger."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from factsieve.adapters.memory import MemoryLedger
from factsieve.core.errors import BadInput, Bug, Transient
from factsieve.core.facts import Kind
from factsieve.core.policy import Policy
from factsieve.engine import engine as engine_module
from factsieve.engine.engine import Engine
from factsieve.engine.poison import PoisonSettings
from factsieve.engine.ports import QuietObserver
from factsieve.ports import Vector
from tests.engine.harness import ToyEmbedder, World, always, decoder_fails_on

BAD = "poison"


class Touchy(ToyEmbedder):
    """Fails on texts that hold the word, as a model's runtime does: with an error that is none of ours."""

    def __init__(self, word: str = BAD, error: BaseException | None = None) -> None:
        super().__init__()
        self.word, self.error, self.tries = word, error or ZeroDivisionError("broken"), 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if any(self.word in text for text in texts):
            self.tries += 1
            raise self.error
        return await super().embed(texts)


async def until(condition: Callable[[], Any]) -> None:
    """Let everything else go on until the condition holds."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - conditions of all kinds
            await asyncio.sleep(0)


def letters(world: World) -> dict[str, dict[str, str]]:
    """Return the dead letters' own headers by the text of the record."""
    return {
        json.loads(one.value)["text"]: {name: value.decode() for name, value in one.headers}
        for one in world.outbox.of("candidate-facts-dlt")
    }


def told(world: World) -> list[tuple[str, str | None]]:
    return [(one["event_id"], one.get("decision")) for one in world.decisions()]


@pytest.mark.parametrize("error", [ZeroDivisionError("broken"), RecursionError(), MemoryError()])
@pytest.mark.parametrize("wave_events", [1, 64])
def test_an_event_that_the_embedder_fails_on_is_set_aside_alone(error: BaseException, wave_events: int) -> None:
    """It has its bounded tries, its dead letter and its refusal; those before and behind it in the wave and in other lanes are decided."""
    world = World(embedder=Touchy(error=error), wave_events=wave_events)
    records = [world.record(f"statement {n}" if n != 3 else f"{BAD} statement") for n in range(7)]
    records += [world.record(f"other {n}", namespace="elsewhere") for n in range(3)]
    world.run(records)
    assert len(world.done) == len(records)
    assert world.embedder.tries >= world.settings.poison.tries
    assert list(letters(world)) == [f"{BAD} statement"]
    headers = letters(world)[f"{BAD} statement"]
    assert headers["kafka_dlt-error-code"] == "unprocessable"
    assert type(error).__name__ in headers["kafka_dlt-exception-message"]
    assert sorted(told(world)) == sorted([(f"e{n}", None if n == 3 else "add") for n in range(10)])
    assert [event for event, _ in told(world) if event < "e7"] == [f"e{n}" for n in range(7)], "in order all the same"


def test_a_refused_event_is_accepted_when_the_cause_is_mended() -> None:
    """It never reached the ledger: sent again under its id it is decided."""
    world = World(embedder=Touchy())
    record = world.record(f"{BAD} statement")
    world.run([record])
    assert told(world) == [("e0", None)]
    world.embedder.word = "\0"
    world.run([msgspec.structs.replace(record, offset=9)])
    assert told(world)[-1] == ("e0", "add")


def test_a_model_that_fails_on_everything_is_an_outage() -> None:
    """Nothing is set aside and nothing acknowledged while a known-good statement fails too; afterwards all are decided, the bad one too."""

    async def main() -> None:
        world = World(embedder=Touchy(word=""))
        failed: list[BaseException] = []
        engine = Engine(world.ports(), world.settings, on_failure=failed.append)
        records = [world.record(f"statement {n}", namespace=f"n{n % 2}") for n in range(6)]
        for record in records:
            await engine.submit(record, lambda: world.done.append(("", 0, 0)))
        await until(lambda: world.embedder.tries >= 60)
        assert (world.done, failed, world.outbox.of("candidate-facts-dlt")) == ([], [], [])
        world.embedder.word = BAD
        assert await engine.drain(None, 60.0)
        assert len(world.done) == 6
        assert {decision for _, decision in told(world)} == {"add"}
        await engine.stop()

    asyncio.run(main())


def test_where_nobody_waits_a_model_that_fails_on_everything_ends_the_engine() -> None:
    """A file is decided by one process that can only say that it can not."""

    async def main() -> None:
        world = World(embedder=Touchy(word=""))
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(ends_on_outage=True))
        reported: list[BaseException] = []
        engine = Engine(world.ports(), settings, on_failure=reported.append)
        done: list[int] = []
        for number in range(3):
            await engine.submit(world.record(f"statement {number}"), lambda n=number: done.append(n))
        assert not await engine.drain(None, 60.0)
        assert [type(error) for error in reported] == [ZeroDivisionError]
        assert not done
        with pytest.raises(ZeroDivisionError):
            await engine.submit(world.record("one more"), lambda: None)
        await engine.stop()

    asyncio.run(main())


def test_transient_trouble_never_counts() -> None:
    """A service that is away for a hundred tries sets nothing aside."""

    class Away(ToyEmbedder):
        tries = 0

        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            self.tries += 1
            if self.tries < 100:
                raise Transient("embedder", "away")
            return await super().embed(texts)

    world = World(embedder=Away())
    world.run([world.record("statement")])
    assert told(world) == [("e0", "add")]


def test_a_namespace_can_be_stopped_instead() -> None:
    """Its events are neither done nor dropped for good, others go on, nothing stays in memory; with its partition it starts anew."""

    async def main() -> None:
        world = World(embedder=Touchy())
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(stops_namespace=True))
        engine = Engine(world.ports(), settings)
        done: list[str] = []

        async def feed(*records: Any) -> None:
            for record in records:
                await engine.submit(record, lambda r=record: done.append(json.loads(r.value)["text"]))

        await feed(world.record("first"), world.record(f"{BAD} second"), world.record("third"))
        await feed(world.record("other", namespace="elsewhere"))
        await until(lambda: not engine.in_flight)
        assert engine.stopped_namespaces == 1
        assert await engine.drain(None, 60.0)  # as when partitions are given up
        again = [world.record(f"{BAD} second", event="e1"), world.record("third", event="e2")]
        assert (sorted(done), engine.stopped_namespaces, engine.lanes) == (["first", "other"], 0, 0)
        world.embedder.word = "\0"  # the cause is mended, and the partition assigned again
        await feed(*again)
        assert await engine.drain(None, 60.0)
        assert sorted(done) == ["first", "other", f"{BAD} second", "third"]
        assert not world.outbox.of("candidate-facts-dlt")
        await engine.stop()

    asyncio.run(main())


def test_what_comes_for_a_stopped_namespace_takes_no_room() -> None:
    """More of its events than may be in flight do not stop the others."""

    async def main() -> None:
        world = World(embedder=Touchy(), max_in_flight=4)
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(stops_namespace=True))
        engine = Engine(world.ports(), settings)
        done: list[int] = []
        await engine.submit(world.record(f"{BAD} statement"), lambda: done.append(-1))
        await until(lambda: engine.stopped_namespaces)
        for number in range(20):
            await engine.submit(world.record(f"statement {number}"), lambda: done.append(-1))
        await engine.submit(world.record("other", namespace="elsewhere"), lambda: done.append(1))
        await until(lambda: done)
        assert (done, engine.in_flight) == ([1], 0)
        await engine.stop()

    asyncio.run(main())


class Failing:
    """A port one of whose methods fails with an error that is none of ours, as long as `on`, or for so many `times`."""

    def __init__(self, port: Any, method: str, *, after: bool = False, times: int | None = None) -> None:
        self._port, self._method, self._after, self.on, self.calls = port, method, after, True, 0
        self._times = times

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._port, name)
        if name != self._method:
            return attribute

        async def call(*args: Any, **more: Any) -> Any:
            self.calls += 1
            self.on &= self._times is None or self.calls <= self._times
            if self.on and not self._after:
                raise ZeroDivisionError("broken")
            result = await attribute(*args, **more)
            if self.on:
                raise ZeroDivisionError("broken")
            return result

        return call


@pytest.mark.parametrize(
    ("port", "method", "after"),
    [
        ("facts", "write", False),
        ("ledger", "point", False),
        ("ledger", "point", True),
        ("outbox", "send", False),
    ],
)
def test_what_is_in_the_ledger_is_performed_and_never_set_aside(port: str, method: str, after: bool) -> None:
    """Where that fails for good the namespace stops; when it goes again, what was recorded is performed as it was decided."""
    world = World()
    broken = Failing(getattr(world, port), method, after=after)

    async def main() -> None:
        engine = Engine(world.ports(**{port: broken}), world.settings)
        done: list[int] = []
        await engine.submit(world.record("statement"), lambda: done.append(0))
        await until(lambda: engine.stopped_namespaces or engine.failure)
        assert (done, engine.failure, engine.in_flight) == ([], None, 0)
        assert broken.calls >= world.settings.poison.tries
        assert not world.outbox.of("candidate-facts-dlt")
        await engine.drain([("candidate-facts", 0)], 60.0)
        assert engine.stopped_namespaces == 0
        broken.on = False
        await engine.submit(world.record("statement", event="e0"), lambda: done.append(1))
        assert await engine.drain(None, 60.0)
        assert done == [1]
        await engine.stop()

    asyncio.run(main())
    assert {decision for _, decision in told(world)} == {"add"}
    assert len(world.current()) == 1
    assert len(asyncio.run(_records(world))) == 1


async def _records(world: World) -> list[bytes]:
    return [body async for body in world.ledger.scan(None)]


def test_an_event_recorded_before_its_pointer_was_written_is_found_in_time() -> None:
    """The embedder fails on it now, and the look-up does not know it: its record is found by name, and performed."""
    world = World(embedder=Touchy(word="\0"))
    broken = Failing(world.ledger, "point")

    async def die() -> None:
        engine = Engine(world.ports(ledger=broken), world.settings)
        await engine.submit(world.record(f"{BAD} statement"), lambda: None)
        await until(lambda: broken.calls)
        await engine.stop()

    asyncio.run(die())
    assert len(asyncio.run(_records(world))) == 1
    assert not world.current()

    class Fitful(ToyEmbedder):
        """Fails as often as the event is tried before its record is looked for."""

        calls = 0

        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            if any(BAD in text for text in texts):
                self.calls += 1
                if self.calls <= world.settings.poison.tries:
                    raise ZeroDivisionError("broken")
            return await super().embed(texts)

    world.run([world.record(f"{BAD} statement", event="e0")], embedder=Fitful())
    assert told(world) == [("e0", "add")]
    assert len(world.current()) == 1
    assert not world.outbox.of("candidate-facts-dlt")


@pytest.mark.parametrize(("port", "method"), [("ledger", "insert"), ("facts", "write")])
def test_a_store_that_fails_after_it_has_stored_loses_nothing(port: str, method: str) -> None:
    """What is there is found, by its name or by the event's, and performed."""
    world = World()
    world.run([world.record("statement")], **{port: Failing(getattr(world, port), method, after=True, times=5)})
    assert told(world) == [("e0", "add")]
    assert not world.outbox.of("candidate-facts-dlt")


def test_a_decoder_that_fails_on_one_record_sets_it_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record as it came is in the dead letter topic, and the next one is decoded."""
    decoder_fails_on(monkeypatch, b"poison", RecursionError)
    world = World()
    world.run([world.record("first"), world.raw(b"poison \xff"), world.record("third")])
    [letter] = world.outbox.of("candidate-facts-dlt")
    assert letter.value == b"poison \xff"
    assert dict(letter.headers)["kafka_dlt-error-code"] == b"unprocessable"
    assert len(world.done) == 3


def test_too_many_that_the_decoder_fails_on_are_no_fault_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """They count among those that were set aside one after another: after the bound the process ends instead."""
    decoder_fails_on(monkeypatch, b"poison", RecursionError)

    async def main() -> None:
        world = World()
        engine = Engine(world.ports(), msgspec.structs.replace(world.settings, poison=PoisonSettings(in_a_row=3)))
        for _ in range(3):
            await engine.submit(world.raw(b"poison"), lambda: None)
        with pytest.raises(RecursionError):
            await engine.submit(world.raw(b"poison"), lambda: None)
        await engine.stop()

    asyncio.run(main())


def test_a_decoder_that_fails_on_every_record_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No record is to blame, and waiting does not mend a program."""

    def decode(*_: Any) -> Any:
        raise RecursionError("too deep")

    monkeypatch.setattr(engine_module, "decode", decode)

    async def main() -> None:
        world = World()
        engine = Engine(world.ports(), world.settings)
        with pytest.raises(RecursionError):
            await engine.submit(world.record("first"), lambda: None)
        assert engine.in_flight == 0
        assert not world.outbox.of("candidate-facts-dlt")
        await engine.stop()

    asyncio.run(main())


def test_too_many_in_a_row_are_no_fault_of_theirs() -> None:
    """The known-good statement goes through, but nothing else does: after the bound nothing more is set aside, until one is decided."""

    async def main() -> None:
        world = World(embedder=Touchy(word="statement of"))
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(tries=1, in_a_row=3))
        engine = Engine(world.ports(), settings)
        for number in range(8):
            await engine.submit(world.record(f"statement of {number}"), lambda: world.done.append(("", 0, 0)))
        await until(lambda: world.embedder.tries >= 60)
        assert len(world.done) == len(world.outbox.of("candidate-facts-dlt")) == 3
        world.embedder.word = "\0"
        assert await engine.drain(None, 60.0)
        assert len(world.done) == 8
        assert len(world.outbox.of("candidate-facts-dlt")) == 3
        await engine.stop()

    asyncio.run(main())


def test_a_judge_that_fails_gives_no_answer() -> None:
    """Its event is added for review: a judge's failure costs a needless add at most, never a dead letter."""

    def fails(_question: Any) -> Any:
        raise ZeroDivisionError("broken")

    policy = Policy(skip_guard="off", skip_threshold=0.995)
    world = World(fails, policy=policy)
    world.run([world.record("the api port is now 8080"), world.record("the api port is now 8081", 60_000)])
    assert [one["decision"] for one in world.decisions()] == ["add", "add"]
    assert world.decisions()[1]["review"]
    assert not world.outbox.of("candidate-facts-dlt")


def test_a_command_that_fails_is_set_aside_like_a_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an operator sends can be poison too."""
    world = World(always(Kind.ADD))
    world.run([world.record("first")])
    fact = world.current()[0]

    async def entry(*_: Any) -> Any:
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(engine_module.Commander, "entry", entry)
    world.run([world.command("retract", {"fact_id": fact.fact_id}), world.record("second")])
    [letter] = world.outbox.of("candidate-facts-dlt")
    assert dict(letter.headers)["kafka_dlt-error-code"] == b"unprocessable"
    assert sorted(one.text for one in world.current()) == ["first", "second"]


class Refusing:
    """A risk that refuses one text."""

    def __init__(self, text: str) -> None:
        self.text, self.ran = text, []

    def is_suspect(self, content: str | bytes) -> bool:
        return content == self.text

    def running(self, *contents: str | bytes) -> Any:
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def run() -> Any:
            self.ran.append(contents)
            if self.text in contents:
                raise BadInput("unprocessable", "it took processes down")
            yield

        return run()

    def survived(self, contents: Any) -> None:
        assert self.text not in list(contents)


def test_what_took_processes_down_is_refused_at_once_and_alone() -> None:
    """Without a known-good statement and without further tries; the others of its wave are decided."""
    world = World()
    risk = Refusing("statement 2")
    world.run([world.record(f"statement {n}") for n in range(5)], risk=risk)
    assert list(letters(world)) == ["statement 2"]
    assert [event for event, decision in told(world) if decision == "add"] == ["e0", "e1", "e3", "e4"]
    assert letters(world)["statement 2"]["kafka_dlt-exception-message"] == "it took processes down"


@pytest.mark.parametrize("fresh", [False, True])
def test_a_ledger_that_takes_nothing_is_an_outage(fresh: bool) -> None:
    """A store that refuses every write, though it answers look-ups, is no fault of the events: they wait, and are decided afterwards.

    So it is for a process that has recorded something before, and for one that has not.
    """

    class Full(MemoryLedger):
        full, tries = False, 0

        async def insert(self, records: Mapping[str, tuple[bytes, Mapping[str, object]]]) -> dict[str, bytes]:
            self.tries += self.full
            if self.full:
                raise Bug("qdrant: a request was refused, HTTP 400: the collection is as large as it may be")
            return await super().insert(records)

    async def main() -> None:
        class Noting(QuietObserver):
            def waited(self, service: str, error: str) -> None:
                awaited.add(service)

        awaited: set[str] = set()
        world = World()
        world.ledger = ledger = Full()
        engine = Engine(world.ports(), world.settings, Noting())
        done: list[int] = []
        ledger.full = fresh
        await engine.submit(world.record("the first statement"), lambda: done.append(0))
        await until(lambda: ledger.tries if fresh else done)
        before = list(done)
        ledger.full = True
        for number in range(1, 4):
            await engine.submit(world.record(f"statement {number}"), lambda n=number: done.append(n))
        await until(lambda: ledger.tries >= 40)
        assert done == before
        assert world.outbox.of("candidate-facts-dlt") == []
        assert awaited == {"ledger"}, "the watchdog is told why nothing gets done"
        ledger.full = False
        assert await engine.drain(None, 60.0)
        assert done == [0, 1, 2, 3]
        assert {decision for _, decision in told(world)} == {"add"}
        await engine.stop()

    asyncio.run(main())
