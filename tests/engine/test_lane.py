"""One namespace's queue: how large its waves are, what it waits for, and that it writes nothing where it may not."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from factsieve.core.errors import BadInput, Transient
from factsieve.core.facts import Record
from factsieve.engine.engine import Engine
from factsieve.engine.perform import ledger_fields, record_id_of
from factsieve.engine.poison import PoisonSettings
from factsieve.engine.ports import QuietObserver
from factsieve.ports import Vector
from factsieve.wire.ledger import decode_record, encode_record
from tests.engine.harness import ToyEmbedder, World
from tests.engine.test_intake import Marks, elsewhere, settle, until
from tests.engine.test_pauses import Told

P0, P1 = ("candidate-facts", 0), ("candidate-facts", 1)
WRITES = frozenset({"insert", "point", "write", "send", "scrub"})


class Sizes(QuietObserver):
    """Keeps how many events were recorded, or told again, at a time."""

    def __init__(self) -> None:
        self.recorded_sizes: list[int] = []
        self.told_again: list[int] = []

    def recorded(self, events: int) -> None:
        self.recorded_sizes.append(events)

    def redelivered(self, events: int) -> None:
        self.told_again.append(events)


class Touchy(ToyEmbedder):
    """Fails on texts that hold the word."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if any("poison" in text for text in texts):
            raise ZeroDivisionError
        return await super().embed(texts)


class On:
    """A port that has something happen before or after one of its calls, the first so many times."""

    def __init__(
        self, port: Any, name: str, before: Callable[[], Any] | None = None, after: Any = None, times: int = 1
    ) -> None:
        self._port, self._name, self._before, self._after, self.left = port, name, before, after, times

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name != self._name:
            return method

        async def call(*args: Any, **more: Any) -> Any:
            acts = self.left > 0
            self.left -= acts
            if acts and self._before is not None and (wait := self._before()) is not None:
                await wait
            result = await method(*args, **more)
            return self._after(result) if acts and self._after is not None else result

        return call


# Waves


def test_waves_are_full_while_nothing_goes_wrong() -> None:
    """As many events as a wave takes, and the rest in a last one."""
    world = World(wave_events=4)
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    world.run([world.record(f"statement {n}") for n in range(10)])
    assert sizes.recorded_sizes == [4, 4, 2]


@pytest.mark.parametrize("tries", [1, 3])
def test_a_wave_that_failed_is_taken_one_by_one_and_the_next_is_full_again(tries: int) -> None:
    """So many events alone as were in it, however often one of them is tried; not one more."""
    world = World(embedder=Touchy(), wave_events=4)
    world.settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(tries=tries))
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    texts = ["statement 0", "poison", *(f"statement {n}" for n in range(2, 12))]
    world.run([world.record(text) for text in texts])
    assert sizes.recorded_sizes == [1, 1, 1, 4, 4]
    assert [decision["text"] for decision in world.decisions() if "error" not in decision] == [
        t for t in texts if t != "poison"
    ]


def test_a_suspect_that_was_recorded_before_takes_nobodys_turn_alone() -> None:
    """It fails, is found in the ledger, performed, and told alone: all others of the wave that failed are still taken one by one."""
    world, other = World(wave_events=4), World()
    records = [world.record(f"statement {n}") for n in range(12)]
    other.run(records[:1])
    [body] = asyncio.run(_bodies(other))
    theirs = decode_record(body)  # by a process that died before it wrote its pointer
    asyncio.run(world.ledger.insert({theirs.record_id: (body, ledger_fields(theirs))}))
    world.embedder = Fitful(2)
    world.settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(tries=1))
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    world.run(records)
    assert sizes.told_again == [1]
    assert sizes.recorded_sizes == [1, 1, 1, 4, 4]
    assert [decision["text"] for decision in world.decisions()] == [f"statement {n}" for n in range(12)]


def test_two_events_of_which_one_fails() -> None:
    """The smallest wave that can be taken apart is."""
    world = World(embedder=Touchy())
    world.run([world.record("poison"), world.record("alpha runs")])
    assert [fact.text for fact in world.current()] == ["alpha runs"]
    assert len(world.done) == 2


def test_known_and_new_events_of_one_wave() -> None:
    """Known ones are told again together, new ones decided together, in their order; one that comes twice is decided once."""
    world = World()
    a, b = world.record("alpha runs", event="a"), world.record("beta runs", event="b")
    world.run([a, b])
    world.outbox.clear()
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    c, d = world.record("gamma runs", event="c"), world.record("delta runs", event="d")
    world.run([c, d, a, a, b, world.record("epsilon runs", event="e"), d])
    assert sizes.recorded_sizes == [2, 1]
    assert sizes.told_again == [3, 1]
    assert [decision["event_id"] for decision in world.decisions()] == ["c", "d", "a", "a", "b", "e", "d"]
    assert len({decision["decision_id"] for decision in world.decisions()}) == 5
    assert len(world.current()) == 5


def test_an_event_twice_in_one_wave_is_decided_once() -> None:
    """The second one meets the first's decision, and is told as that."""
    world = World()
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    world.run([world.record("alpha runs", event="a"), world.record("alpha runs", event="a"), world.record("beta runs")])
    assert (sizes.recorded_sizes, sizes.told_again) == ([1, 1], [1])
    assert len({decision["decision_id"] for decision in world.decisions()}) == 2
    assert len(world.done) == 3


def test_waves_are_of_one_partition() -> None:
    """Each owner of a namespace in several partitions has to find a record by the first of its own events."""
    world = World()
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    world.run([elsewhere(world.record(f"statement {n}"), partition) for n, partition in enumerate([0, 1, 0, 0])])
    assert sizes.recorded_sizes == [1, 1, 2]


def test_a_command_meets_what_was_decided_before_it_recorded() -> None:
    """It begins a record of its own: what it refers to is in the stores."""
    world = World()
    world.run([world.record("alpha runs")])
    [alpha] = world.current()
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    world.run([world.record("beta runs"), world.command("retract", {"fact_id": alpha.fact_id})])
    assert sizes.recorded_sizes == [1, 1]
    assert [fact.text for fact in world.current()] == ["beta runs"]


def test_a_command_that_is_refused_does_not_take_its_wave_apart() -> None:
    """Nothing has failed: what follows it is decided together, as if it had not been there."""
    world = World()
    world.run([world.record("delta runs")])
    old = world.command("retract", {"fact_id": world.current()[0].fact_id})
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    world.clock.advance(2 * world.settings.command_max_age_s)
    world.run([world.record("alpha runs"), old, world.record("beta runs"), world.record("gamma runs")])
    assert sizes.recorded_sizes == [1, 2]
    assert len(world.outbox.of("candidate-facts-dlt")) == 1
    assert len(world.done) == 5


@pytest.mark.parametrize("at", range(1, 4))
def test_a_suspect_takes_its_wave_apart_wherever_it_is_met(at: int) -> None:
    """A statement that takes processes down may do so to its vector, to what is recognised, or to a ruling: the ledger is asked first."""

    class Deadly(Marks):
        def __init__(self) -> None:
            super().__init__()
            self.met = 0

        def running(self, *contents: str | bytes) -> Any:
            self.met += "alpha runs" in contents
            if "alpha runs" in contents and self.met >= at:
                raise BadInput("unprocessable", "it took processes down")
            return super().running(*contents)

    world = World()
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    world.run([world.record(f"{name} runs") for name in ("alpha", "beta", "gamma")], risk=Deadly())
    assert sizes.recorded_sizes == [1, 1]
    assert len(world.outbox.of("candidate-facts-dlt")) == 1
    assert sorted(fact.text for fact in world.current()) == ["beta runs", "gamma runs"]


# The ledger


def test_an_event_that_comes_again_with_another_body_is_refused() -> None:
    """The first one stands; who sent the second is told where."""
    world = World()
    world.run([world.record("alpha runs", event="a"), world.record("beta runs", event="b")])
    world.outbox.clear()
    world.observer = sizes = Sizes()  # type: ignore[assignment]
    world.run([world.record("beta runs", event="b"), world.record("gamma runs", event="a")])
    assert sizes.told_again == [1]
    assert [decision["error"]["code"] for decision in world.decisions() if "error" in decision] == ["event_id_conflict"]
    assert len(world.outbox.of("candidate-facts-dlt")) == 1
    assert sorted(fact.text for fact in world.current()) == ["alpha runs", "beta runs"]
    assert len(world.done) == 4


def test_what_was_told_by_a_process_that_slept_is_told_anew() -> None:
    """Another one may have told a later state meanwhile: the compacted topic ends with what stands."""
    world, fence = World(), Fence()

    def sleep(result: Any) -> Any:
        fence.asleep = 3
        return result

    world.run([world.record("alpha runs")], outbox=On(world.outbox, "send", after=sleep), fence=fence)
    assert len(world.outbox.of("facts")) == 2
    assert len(world.outbox.of("fact-decisions")) == 1


def test_a_record_that_can_not_be_read_yet_is_waited_for() -> None:
    """Its pointer is there, itself not yet, as on a replica that is behind."""
    world, told = World(), Told()
    record = world.record("alpha runs")
    world.run([record])
    world.observer = told  # type: ignore[assignment]
    world.run([record], ledger=On(world.ledger, "records", after=lambda _: {}, times=2))
    assert told.counts == {"waited for qdrant": 2, "redelivered": 1}
    assert len(world.done) == 2


def test_what_another_one_recorded_and_did_not_perform_is_performed() -> None:
    """It died in between: no event is found by its pointer, and the record's name is taken."""
    world, other = World(), World()
    records = [world.record("alpha runs"), world.record("beta runs")]
    other.run(records)
    [body] = asyncio.run(_bodies(other))
    theirs = decode_record(body)
    asyncio.run(world.ledger.insert({theirs.record_id: (body, ledger_fields(theirs))}))
    world.observer = told = Told()  # type: ignore[assignment]
    world.run(records)
    assert told.counts == {"fenced": 2, "redelivered": 2}
    assert [d["decision_id"] for d in world.decisions()] == [d["decision_id"] for d in other.decisions()]
    assert sorted(fact.text for fact in world.current()) == ["alpha runs", "beta runs"]
    assert theirs.record_id == record_id_of("team", theirs.entries[0].decision.event_key)


async def _bodies(world: World) -> list[bytes]:
    return [body async for body in world.ledger.scan(None)]


def test_our_own_record_in_other_bytes_is_ours() -> None:
    """A store may hand back what was written in a form of its own: who made it is told by the attempt."""
    world = World()
    world.observer = told = Told()  # type: ignore[assignment]

    def reformed(stored: dict[str, bytes]) -> dict[str, bytes]:
        bodies = {key: json.dumps(json.loads(body), indent=1).encode() for key, body in stored.items()}
        assert all(encode_record(decode_record(body)) != body for body in bodies.values())
        return bodies

    world.run([world.record("alpha runs")], ledger=On(world.ledger, "insert", after=reformed))
    assert told.counts == {"recorded": 1}
    assert [fact.text for fact in world.current()] == ["alpha runs"]


def test_texts_that_were_recorded_are_marked_no_more() -> None:
    """They took no process down; commands have none."""
    world, marks = World(), Marks()
    world.run([world.record("alpha runs"), world.record("beta runs", source="post_tool_use")], risk=marks)
    assert {"alpha runs", "beta runs"} <= set(marks.begun)
    assert marks.under_way == {}
    world.observer = told = Told()  # type: ignore[assignment]
    world.run([world.command("retract", {"fact_id": world.current()[0].fact_id})], risk=Marks())
    assert world.decisions()[-1]["outcome"] == "applied"
    assert told.counts == {"recorded": 1}


# What fails


def test_what_goes_wrong_when_all_is_done_is_laid_to_nobody() -> None:
    """Its events are acknowledged already: the engine fails with that very error."""
    error = ZeroDivisionError("in a report")

    class Broken(QuietObserver):
        def redelivered(self, events: int) -> None:
            raise error

    world = World()
    record = world.record("alpha runs")
    world.run([record])

    async def main() -> None:
        engine = Engine(world.ports(), world.settings, Broken())
        done: list[int] = []
        await engine.submit(record, lambda: done.append(0))
        await until(lambda: not engine.lanes)
        assert engine.failure is error
        assert (done, engine.stopped_namespaces, engine.in_flight) == ([0], 0, 0)
        await engine.stop()

    asyncio.run(main())


def test_a_namespace_whose_event_can_not_be_set_aside_stops() -> None:
    """Neither decided nor refused, its event stays where it is; others go on."""

    class Choosy:
        """Takes no dead letters, with an error that is none of ours."""

        async def send(self, messages: Any) -> None:
            if any(message.topic == "candidate-facts-dlt" for message in messages):
                raise ZeroDivisionError
            await world.outbox.send(messages)

    world = World(embedder=Touchy())

    async def main() -> None:
        engine = Engine(world.ports(outbox=Choosy()), world.settings)
        done: list[str] = []
        await engine.submit(world.record("poison"), lambda: done.append("poison"))
        await engine.submit(world.record("alpha runs", namespace="other"), lambda: done.append("alpha"))
        await until(lambda: not engine.lanes)
        assert (done, engine.stopped_namespaces, engine.failure) == (["alpha"], 1, None)
        await engine.stop()

    asyncio.run(main())


def test_where_nobody_waits_an_event_to_blame_is_set_aside_too() -> None:
    """What ends the process is an outage, not one bad event."""
    world = World(embedder=Touchy())
    world.settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(tries=1, ends_on_outage=True))
    world.run([world.record("poison"), world.record("alpha runs")])
    assert [fact.text for fact in world.current()] == ["alpha runs"]
    assert len(world.outbox.of("candidate-facts-dlt")) == 1


def test_a_namespace_is_not_stopped_for_an_event_whose_partition_is_gone() -> None:
    """It went while the known-good statement was sent: the namespace is its new owner's to stop."""
    world, told = World(embedder=Touchy()), Told()

    async def main() -> None:
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(tries=1, stops_namespace=True))
        engine = Engine(world.ports(), settings, told)

        async def lose(_number: int) -> None:
            await engine.drain([P0], 0.0)

        engine._quarantine._probe = lose
        await engine.submit(world.record("poison"), lambda: pytest.fail("done"))
        await until(lambda: not engine.lanes)
        assert (engine.in_flight, engine.failure, engine.stopped_namespaces) == (0, None, 0)
        await engine.stop()

    asyncio.run(main())
    assert told.counts == {"fenced": 1}


def test_an_event_that_fails_is_not_set_aside_when_its_partition_is_gone() -> None:
    """Its new owner deals with it: nothing is sent, nothing acknowledged, and it is counted as lost once."""
    world, told = World(embedder=Touchy()), Told()

    async def main() -> None:
        def give_up() -> Any:
            return engine.drain([P0], 0.0)

        looks = On(world.ledger, "lookup", before=give_up)
        looks.left = 0
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(tries=1))
        engine = Engine(world.ports(ledger=looks), settings, told)
        engine._quarantine._probe = probe = Probe(looks)
        await engine.submit(world.record("poison"), lambda: pytest.fail("done"))
        await until(lambda: not engine.lanes)
        assert probe.asked == 1
        assert (engine.in_flight, engine.failure, engine.stopped_namespaces) == (0, None, 0)
        await engine.stop()

    asyncio.run(main())
    assert told.counts == {"fenced": 1}
    assert world.outbox.of("candidate-facts-dlt") == []


class Probe:
    """A known-good statement that goes through; the next look-up is the one before an event is set aside."""

    def __init__(self, looks: On) -> None:
        self.looks, self.asked = looks, 0

    async def __call__(self, _number: int) -> None:
        self.asked += 1
        self.looks.left = 1


# A process that may have slept


class Fence:
    """Holds, until it is put to sleep; wakes after it was asked so often."""

    def __init__(self) -> None:
        self.asleep = 0

    def holds(self, _topic: str, _partition: int) -> bool:
        self.asleep = max(0, self.asleep - 1)
        return not self.asleep


class Sleeper:
    """A port in whose call of one name the process falls asleep, and which takes no write from a process that has not looked since."""

    def __init__(self, port: Any, falls_asleep_at: str, fence: Fence, seen: list[str]) -> None:
        self._port, self._at, self._fence, self._seen = port, falls_asleep_at, fence, seen

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(method):
            return method

        async def call(*args: Any, **more: Any) -> Any:
            if name in WRITES:
                assert not self._fence.asleep, f"{name} of a process that slept"
                self._seen.append(name)
            result = await method(*args, **more)
            if name == self._at and "slept" not in self._seen:
                self._seen.append("slept")
                self._fence.asleep = 3
            return result

        return call


NEW = ["insert", "point", "write", "send"]


@pytest.mark.parametrize(
    ("what", "at", "written"),
    [
        ("new", "by_text", ["slept", *NEW]),
        ("new", "insert", ["insert", "slept", *NEW[1:]]),
        ("new", "put", ["insert", "point", "write", "slept", "send"]),
        ("known", "records", ["slept", "point", "send"]),
        ("refused", "lookup", ["slept", "send"]),
        ("recorded", "records", ["slept", "point", "write", "point", "send"]),
    ],
)
def test_a_process_that_slept_looks_before_it_writes(what: str, at: str, written: list[str]) -> None:
    """Wherever it fell asleep: nothing is recorded, performed, told or refused before it knows that the partition is still its own."""
    world = World(embedder=Touchy() if what == "refused" else None)
    record = world.record("poison" if what == "refused" else "alpha runs", source="post_tool_use")
    if what == "known":
        world.run([record])
    ledger: Any = world.ledger
    if what == "recorded":  # and its pointer was not written; by now the event fails
        other = World()
        other.run([record])
        [body] = asyncio.run(_bodies(other))
        theirs = decode_record(body)
        asyncio.run(world.ledger.insert({theirs.record_id: (body, ledger_fields(theirs))}))
        world.embedder = Fitful(1)
    fence, seen = Fence(), []
    ports = {
        name: Sleeper(port, at, fence, seen)
        for name, port in {
            "facts": world.facts,
            "ledger": ledger,
            "window": world.window,
            "outbox": world.outbox,
        }.items()
    }

    async def main() -> None:
        settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(tries=1))
        engine = Engine(world.ports(**ports, fence=fence), settings)
        engine._quarantine._probe = _goes_through
        done: list[int] = []
        await engine.submit(record, lambda: done.append(0))
        await until(lambda: not engine.lanes)
        assert (done, engine.failure) == ([0], None)
        await engine.stop()

    asyncio.run(main())
    assert seen == written


async def _goes_through(_number: int) -> None:
    """A known-good statement that needs nothing."""


class Fitful(ToyEmbedder):
    """Fails the first so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.left:
            self.left -= 1
            raise ZeroDivisionError
        return await super().embed(texts)


# One namespace in two partitions, as a producer with another partitioner makes it


def both(world: World) -> list[Record]:
    return [world.record("alpha runs", event="a"), elsewhere(world.record("beta runs", event="b"))]


class Holds:
    """Holds what it is not told to have lost."""

    def __init__(self) -> None:
        self.lost: set[tuple[str, int]] = set()

    def holds(self, topic: str, partition: int) -> bool:
        return (topic, partition) not in self.lost


@pytest.mark.parametrize("fenced", [False, True])
@pytest.mark.parametrize(
    ("port", "call"), [("ledger", "lookup"), ("facts", "by_text"), ("ledger", "insert"), ("outbox", "send")]
)
def test_of_two_partitions_one_is_lost(port: str, call: str, fenced: bool) -> None:
    """Wherever in a wave that happens: the event of the other one is done, that of the lost one is not, and nothing waits for it."""
    world, fence = World(), Holds()
    a, b = both(world)

    async def main() -> None:
        def lose() -> Any:
            if fenced:
                fence.lost.add(P0)
            return engine.drain([P0], 0.0)

        engine = Engine(world.ports(fence=fence, **{port: On(getattr(world, port), call, before=lose)}), world.settings)
        done: list[str] = []
        await engine.submit(a, lambda: done.append("a"))
        await engine.submit(b, lambda: done.append("b"))
        await until(lambda: not engine.lanes)
        assert (done, engine.in_flight, engine.failure) == (["b"], 0, None)
        await engine.stop()

    asyncio.run(main())
    assert "beta runs" in [fact.text for fact in world.current()]
    world.run([a])  # the new owner of the lost one
    assert sorted(fact.text for fact in world.current()) == ["alpha runs", "beta runs"]
    keys = [entry.decision.event_key for body in asyncio.run(_bodies(world)) for entry in decode_record(body).entries]
    assert len(keys) == len(set(keys)) == 2, "each event is recorded once"


def test_what_is_waited_for_is_not_waited_for_with_what_is_lost() -> None:
    """A store comes back when one of the partitions is gone: only the other one's event is looked at."""
    world = World()
    a, b = both(world)

    async def main() -> None:
        async def lose_and_fail() -> None:
            await engine.drain([P0], 0.0)
            raise Transient("qdrant", "gone")

        engine = Engine(world.ports(ledger=On(world.ledger, "lookup", before=lose_and_fail)), world.settings)
        done: list[str] = []
        await engine.submit(a, lambda: done.append("a"))
        await engine.submit(b, lambda: done.append("b"))
        await until(lambda: not engine.lanes)
        assert done == ["b"]
        await engine.stop()

    asyncio.run(main())
    assert world.embedder.embedded == ["beta runs"]


def test_what_waits_when_its_partition_is_lost_is_not_started() -> None:
    """Nobody dropped it: it is let go when its turn comes, and the rest goes on."""
    world = World(wave_events=1)

    async def main() -> None:
        gate = asyncio.Event()
        engine = Engine(world.ports(ledger=On(world.ledger, "lookup", before=gate.wait)), world.settings)
        done: list[int] = []
        for number, partition in enumerate([1, 0, 0, 1]):
            record = elsewhere(world.record(f"statement {number}"), partition)
            await engine.submit(record, lambda n=number: done.append(n))
        await settle()
        await engine.drain([P0], 0.0)
        gate.set()
        await until(lambda: not engine.lanes)
        assert (done, engine.in_flight, engine.failure) == ([0, 3], 0, None)
        await engine.stop()

    asyncio.run(main())
    assert world.embedder.embedded == ["statement 0", "statement 3"]


def test_bad_input_while_an_event_is_decided_is_refused_at_once() -> None:
    """A statement that took processes down is not tried again; a known-good statement is not asked for."""
    world = World()
    probed: list[int] = []

    class Deadly(Marks):
        ran = 0

        def running(self, *contents: str | bytes) -> Any:
            if "alpha runs" in contents:
                self.ran += 1
                raise BadInput("unprocessable", "it took processes down")
            return super().running(*contents)

    async def main() -> None:
        deadly = Deadly()
        engine = Engine(world.ports(risk=deadly), world.settings)

        async def probe(number: int) -> None:
            probed.append(number)

        engine._quarantine._probe = probe
        done: list[int] = []
        await engine.submit(world.record("alpha runs"), lambda: done.append(0))
        await until(lambda: not engine.lanes)
        assert (done, deadly.ran, probed) == ([0], 1, [])
        await engine.stop()

    asyncio.run(main())
    assert [decision["error"]["code"] for decision in world.decisions()] == ["unprocessable"]
