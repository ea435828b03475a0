"""Whatever dies in between: every event gets one effective decision, and a repetition changes nothing."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from factsieve.core.errors import Transient
from factsieve.core.facts import Kind
from factsieve.core.policy import Policy
from factsieve.engine.engine import Engine
from factsieve.wire import signing
from tests.engine.harness import START, World, always, by_digest, stripped
from tests.engine.test_equivalence import events

WIDE = Policy(skip_guard="off", skip_threshold=0.995)
"""Puts near texts before the judge, with all five choices."""


class Life:
    """Counts a process's calls of all ports, and ends at the n-th: from then on nothing returns."""

    def __init__(self, dies_at: int, *, after: bool = False) -> None:
        self.calls, self.dies_at, self.after = 0, dies_at, after
        self.ended = asyncio.Event()

    async def end(self, *_: Any) -> None:
        self.ended.set()
        await asyncio.Event().wait()


class Fragile:
    """A port of a process that dies at the n-th call of any port, before or after the call had its effect."""

    def __init__(self, port: Any, life: Life) -> None:
        self._port, self._life = port, life

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(attribute):
            return attribute

        async def call(*args: Any, **more: Any) -> Any:
            life = self._life
            life.calls += 1
            dies = life.calls == life.dies_at
            if life.calls > life.dies_at or (dies and not life.after):
                await life.end()
            result = await attribute(*args, **more)
            if dies:
                await life.end()
            return result

        return call


async def run_until_dead(world: World, records: list[Any], life: Life, **replaced: Any) -> bool:
    """Return whether all was done before the process died."""
    ports = {name: Fragile(getattr(world, name), life) for name in ("facts", "ledger", "window", "outbox")} | replaced
    engine = Engine(world.ports(**ports), world.settings, world.observer)

    async def live() -> None:
        for record in records:
            await engine.submit(record, lambda r=record: world.done.append((r.topic, r.partition, r.offset)))
        assert await engine.drain(None, 60.0)

    living, ending = asyncio.create_task(live()), asyncio.create_task(life.ended.wait())
    await asyncio.wait({living, ending}, return_when=asyncio.FIRST_COMPLETED)
    for task in (living, ending):
        task.cancel()
    await asyncio.gather(living, ending, return_exceptions=True)
    await engine.stop()
    return not life.ended.is_set()


def decided(world: World) -> dict[str, Any]:
    """Return the decisions by event; they must be the same each time that they are reported."""
    found: dict[str, Any] = {}
    for decision in world.decisions():
        kept = stripped(decision)
        assert found.setdefault(decision["event_id"], kept) == kept
    return found


@settings(
    max_examples=80, deadline=None, phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck)
)
@given(
    stream=st.lists(events, min_size=2, max_size=12),
    deaths=st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=4),
    wave_events=st.integers(1, 6),
)
def test_any_death_ends_in_the_undisturbed_state(
    stream: list[dict[str, Any]], deaths: list[tuple[int, bool]], wave_events: int
) -> None:
    """Killed before or after any call, and started again with what was not acknowledged: facts and decisions are the same."""
    policy = Policy(second_look_floor=0.3, skip_guard="off")
    undisturbed = World(by_digest, policy=policy, wave_events=wave_events)
    undisturbed.run([undisturbed.record(event=f"e{i}", **event) for i, event in enumerate(stream)])

    world = World(by_digest, policy=policy, wave_events=wave_events)
    records = [world.record(event=f"e{i}", **event) for i, event in enumerate(stream)]
    for dies_at, after in deaths:
        acked = {offset for _, _, offset in world.done}
        head = next((r.offset for r in records if r.offset not in acked), len(records))  # only a prefix is committed
        world.done = [d for d in world.done if d[2] < head]
        asyncio.run(run_until_dead(world, records[head:], Life(dies_at, after=after)))
    acked = {offset for _, _, offset in world.done}
    world.run([r for r in records if r.offset not in acked])

    assert world.state() == undisturbed.state()
    assert decided(world) == decided(undisturbed)


class Held:
    """A ledger whose insert waits until it is let go: its owner sleeps with a finished wave."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self.reached = asyncio.Event()
        self.go = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def insert(self, records: Any) -> Any:
        self.reached.set()
        await self.go.wait()
        return await self._ledger.insert(records)


def test_an_old_owner_that_wakes_with_a_finished_wave_performs_what_is_stored() -> None:
    """Two owners decide one wave differently: the first record stands, the other's wave is dropped whole."""
    world = World(always(Kind.SUPERSEDE), policy=WIDE)
    world.run([world.record("the api port is now 8080", 0)])
    records = [world.record("the api port is now 8081", 60_000), world.record("the api port is now 8082", 120_000)]
    asleep, awake = World(always(Kind.UPDATE), policy=WIDE), world
    for name in ("facts", "window", "outbox", "clock", "embedder", "ledger"):
        setattr(asleep, name, getattr(world, name))

    async def both() -> None:
        held = Held(world.ledger)
        old = Engine(asleep.ports(ledger=held), asleep.settings)
        for record in records:
            await old.submit(record, lambda: None)
        await held.reached.wait()
        await awake.feed(records[:1])
        held.go.set()
        assert await old.drain(None, 60.0)
        await old.stop()

    asyncio.run(both())
    decisions = decided(world)
    assert decisions["e1"]["decision"] == "supersede"
    assert decisions["e2"]["decision"] == "update"
    ids = {row["point_id"] for row in world.state()}
    for row in world.state():
        assert set(row.get("supersedes", ())) <= ids
    assert [fact.text for fact in world.current()] == ["the api port is now 8082"]


def test_a_judge_that_changes_its_mind_after_a_crash_is_not_asked_again() -> None:
    """A recorded wave is performed as it was decided, whatever the judge would answer now."""
    world = World(always(Kind.SUPERSEDE), policy=WIDE)
    world.run([world.record("the api port is now 8080")])
    record = world.record("the api port is now 8081", 60_000)
    life = Life(10_000)
    facts = Fragile(world.facts, life)
    facts.write = life.end
    assert not asyncio.run(run_until_dead(world, [record], life, facts=facts))
    assert [fact.text for fact in world.current()] == ["the api port is now 8080"]
    world.judge.script = always(Kind.SKIP)
    questions = len(world.judge.questions)
    world.run([record])
    assert len(world.judge.questions) == questions
    assert [fact.text for fact in world.current()] == ["the api port is now 8081"]


@pytest.mark.parametrize("change", ["update", "supersede", "retract"])
@pytest.mark.parametrize("what", ["add", "skip"])
def test_redelivery_after_the_world_moved_on_changes_nothing(change: str, what: str) -> None:
    """A stored decision comes again as it was; the fact, its count included, stays as later events left it."""
    key = b"operator"
    world = World(command_keys={"op": key}, policy=WIDE)
    first = [world.record("the api port is now 8080"), world.record("the api port is now 8080", 100)]
    world.run(first)
    before = decided(world)
    if change == "retract":
        fact_id = world.current()[0].fact_id
        world.run([command(world, "retract", {"fact_id": fact_id}, key)])
    else:
        world.judge.script = always(Kind(change))
        world.run([world.record("the api port is now 8081", 60_000)])
    state = world.state()
    world.outbox.clear()
    world.run([first[0 if what == "add" else 1]])
    assert world.state() == state
    [again] = world.decisions()
    assert stripped(again) == before[again["event_id"]]
    assert again["replayed"] is False
    assert len(world.outbox.of("new-facts")) == (1 if what == "add" else 0)


def command(world: World, kind: str, body: dict[str, Any], key: bytes, namespace: str = "team") -> Any:
    """Return a signed command's record."""
    import json

    value = json.dumps({"namespace": namespace, **body}).encode()
    ce = {
        "ce_type": f"fact.{kind}.v1",
        "ce_source": "test",
        "ce_id": f"c{world.offset}",
        "ce_time": world.clock.now().isoformat(),
    }
    signature = signing.sign(key, namespace=namespace, value=value, **ce)
    headers = {"ce_specversion": "1.0", **ce, "signature": signature, "key-id": "op"}
    return world.raw(value, key=namespace.encode(), headers=tuple((k, v.encode()) for k, v in headers.items()))


def test_two_producers_that_number_from_one_lose_nothing() -> None:
    """Events without a `ce_id` have their coordinates as identity, events with one their source besides."""
    world = World()
    one = world.raw(
        b'{"text": "alpha runs", "source": "ingest"}', headers=((b"ce_id".decode(), b"1"), ("ce_source", b"p1"))
    )
    two = world.raw(b'{"text": "beta runs", "source": "ingest"}', headers=(("ce_id", b"1"), ("ce_source", b"p2")))
    bare = [world.raw(b'{"text": "gamma runs", "source": "ingest"}') for _ in range(2)]
    world.run([one, two, *bare])
    assert sorted(fact.text for fact in world.current()) == ["alpha runs", "beta runs", "gamma runs"]
    assert [d["decision"] for d in world.decisions()] == ["add", "add", "add", "skip"]


def test_same_id_with_another_body_is_dead_lettered_and_a_corrected_reject_is_taken() -> None:
    """An id names one body once decided; a refused one was not decided."""
    world = World()
    world.run([world.record("alpha runs", event="x"), world.record("beta runs", event="x")])
    assert [m.topic for m in world.outbox.of("candidate-facts-dlt")] == ["candidate-facts-dlt"]
    assert world.decisions()[-1]["error"]["code"] == "event_id_conflict"
    world.run([world.record("  ", event="y"), world.record("beta runs", event="y")])
    assert (
        world.decisions()[-2]["error"]["code"] == "empty_text" or world.decisions()[-1]["error"]["code"] == "empty_text"
    )
    assert sorted(fact.text for fact in world.current()) == ["alpha runs", "beta runs"]
    assert len(world.done) == 4


def test_outages_are_waited_for_and_redis_is_done_without() -> None:
    """A store that does not answer for a while delays, and nothing more; without the window decisions stay right."""
    world = World()
    failures = {"facts": 3, "ledger": 3, "outbox": 3}

    class Flaky:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            method = getattr(getattr(world, self._name), attribute)

            async def call(*args: Any, **more: Any) -> Any:
                if failures[self._name] > 0:
                    failures[self._name] -= 1
                    raise Transient(self._name, "out of reach")
                return await method(*args, **more)

            return call

    class Gone:
        async def find(self, *_: Any) -> Any:
            raise Transient("redis", "out of reach")

        put = find

    records = [world.record("ran the migration", i, source="post_tool_use") for i in range(3)]
    world.run(records, window=Gone(), **{name: Flaky(name) for name in failures})
    assert [d["decision"] for d in world.decisions()] == ["add", "skip", "skip"]
    assert world.current()[0].stated_count == 3
    assert world.clock.now() > START


def test_an_unsigned_command_among_statements_is_refused_and_stops_nothing() -> None:
    """Whoever may produce may send one: it is dead-lettered wherever in a wave it stands, and what surrounds it is decided."""
    world = World(command_keys={"op": b"operator"})
    forged = command(world, "retract", {"fact_id": "00000000-0000-0000-0000-000000000000"}, b"another key")
    world.run([world.record("alpha runs"), forged, world.record("beta runs")])
    assert [d["decision"] for d in world.decisions()] == ["add", None, "add"]
    assert world.decisions()[1]["error"]["code"] == "command_unauthorised"
    assert len(world.done) == 3


class Lease:
    """A fence that is let go and taken up again by hand."""

    held = True

    def holds(self, topic: str, partition: int) -> bool:
        return self.held


@pytest.mark.parametrize("rejoined", [False, True])
@pytest.mark.parametrize("asleep_at", ["get", "send"])
def test_an_owner_that_slept_while_it_told_leaves_no_former_state(asleep_at: str, rejoined: bool) -> None:
    """Asleep between reading a fact and the arrival of what it tells: the last state told is the one that stands."""
    world = World(policy=WIDE)
    first = world.record("the cache lives in redis")
    later = [world.record("the cache lives in redis", 60 * n) for n in range(1, 4)]
    lease = Lease()

    class Sleeping:
        def __init__(self, port: Any) -> None:
            self._port = port
            self.reached, self.go, self.slept = asyncio.Event(), asyncio.Event(), False

        def __getattr__(self, name: str) -> Any:
            return getattr(self._port, name)

        async def _sleep(self) -> None:
            if not self.slept and await world.facts.select("team"):
                self.slept, lease.held = True, False
                self.reached.set()
                await self.go.wait()

        async def get(self, point_ids: Any) -> Any:
            found = await self._port.get(point_ids)
            await self._sleep()
            return found

        async def send(self, messages: Any) -> None:
            await self._sleep()
            await self._port.send(messages)

    async def main() -> None:
        sleeping = Sleeping(world.facts if asleep_at == "get" else world.outbox)
        old = Engine(
            world.ports(**{"facts" if asleep_at == "get" else "outbox": sleeping}, fence=lease), world.settings
        )
        await old.submit(first, lambda: None)
        await sleeping.reached.wait()
        await world.feed([first, *later])
        old.discard([("candidate-facts", 0)])
        await old.drain([("candidate-facts", 0)], 0.0)
        lease.held = rejoined
        sleeping.go.set()
        for _ in range(1000):
            if not old.lanes:
                break
            await asyncio.sleep(0)
        assert not old.lanes
        await old.stop()

    asyncio.run(main())
    [told] = world.outbox.latest("facts").values()
    assert json.loads(told or b"")["stated_count"] == 4 == world.current()[0].stated_count
