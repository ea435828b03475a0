"""What is stored is performed, told, remembered and taken out of the ledger, each by itself, and exactly that."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from factsieve.core.decision import Entry, Erasure, FindingNote, JudgeNote, LedgerRecord
from factsieve.core.errors import Transient
from factsieve.core.facts import Candidate, Fact, Kind, Record, Source
from factsieve.core.policy import Policy
from factsieve.engine.perform import Performer, blank_vector, held_facts, ledger_fields, record_id_of, scrubbed_record
from factsieve.engine.ports import Gathered, Ports, QuietObserver
from factsieve.engine.wave import WaveSettings, window_hit
from factsieve.ports import LedgerPointer, WindowHit
from factsieve.wire.inbound import Command, decode
from factsieve.wire.ledger import decode_record
from factsieve.wire.topics import Limits, Topics
from tests.engine.harness import World, always

WIDE = Policy(skip_guard="off", skip_threshold=0.995)


class Told(QuietObserver):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def changed(self, change_type: str) -> None:
        self.counts[f"changed {change_type}"] += 1

    def decided(self, decision: Any, *, replayed: bool) -> None:
        self.counts[f"decided {decision.decision}{' again' if replayed else ''}"] += 1

    def reverted(self, decision: str) -> None:
        self.counts[f"reverted {decision}"] += 1

    def degraded(self, service: str, error: str) -> None:
        self.counts[f"did without {service}: {error}"] += 1


class Watched:
    """A port that keeps the arguments of its calls; `before` is awaited ahead of each."""

    def __init__(self, port: Any, before: Callable[[str], Awaitable[None]] | None = None) -> None:
        self._port, self._before = port, before
        self.calls: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(method):
            return method

        async def call(*args: Any, **more: Any) -> Any:
            self.calls.append((name, args[0]))
            if self._before is not None:
                await self._before(name)
            return await method(*args, **more)

        return call

    def of(self, name: str) -> list[Any]:
        return [argument for called, argument in self.calls if called == name]


def performer(world: World, observer: Any = None, **replaced: Any) -> Performer:
    ports: Ports = world.ports(**replaced)
    observer = observer or QuietObserver()
    return Performer(ports, Gathered(ports, observer, batch_items=100), Topics(), world.settings.wave, observer)


def recorded(world: World) -> list[LedgerRecord]:
    """Return what is in the ledger, in the order in which it was recorded."""

    async def read() -> list[LedgerRecord]:
        keys = [decision["event_key"] for decision in world.decisions()]
        pointers = await world.ledger.lookup(keys)
        ids = list(dict.fromkeys(pointers[key].record_id for key in keys))
        bodies = await world.ledger.records(ids)
        return [decode_record(bodies[record_id]) for record_id in ids]

    return asyncio.run(read())


def event(world: World, record: Record) -> Candidate:
    decoded = decode(record, Limits(), world.clock.now())
    assert isinstance(decoded, Candidate)
    return decoded


@pytest.fixture
def lived() -> tuple[World, list[Record]]:
    """Return a world in which a statement was added and another one superseded it, and their records."""
    world = World(always(Kind.SUPERSEDE), policy=WIDE, wave_events=1)
    records = [world.record("the api port is now 8080"), world.record("the api port is now 8081", 60_000)]
    world.run(records)
    assert [decision["decision"] for decision in world.decisions()] == ["add", "supersede"]
    return world, records


# What a record is indexed by


@pytest.mark.parametrize("quotes", ["judges", "findings", "nobody"])
def test_a_neighbour_is_held_where_a_judge_or_the_guard_quotes_it(
    lived: tuple[World, list[Record]], quotes: str
) -> None:
    """Either of the two is enough; an id and a similarity alone hold no text."""
    entry = recorded(lived[0])[1].entries[0]
    note = msgspec.structs.replace(entry.decision.neighbours[0], fact_id="near")
    said: dict[str, Any] = {
        "judges": {"judges": (JudgeNote("model", "choose", Kind.ADD),), "findings": ()},
        "findings": {"judges": (), "findings": (FindingNote("number", "8081", "8080"),)},
        "nobody": {"judges": (), "findings": ()},
    }[quotes]
    decision = msgspec.structs.replace(entry.decision, neighbours=(note,), **said)
    held = held_facts(msgspec.structs.replace(entry, decision=decision))
    assert ("near" in held) is (quotes != "nobody")


def test_no_fact_is_nobody(lived: tuple[World, list[Record]]) -> None:
    """Where nothing resulted or matched, nothing is held by that name."""
    entry = recorded(lived[0])[0].entries[0]
    assert entry.decision.matched_id is None
    assert held_facts(entry) == {entry.decision.fact_id}


def test_what_a_record_is_indexed_by() -> None:
    """Whose it is, the facts of all its entries in order, whether nothing but skips is in it, and when it was recorded."""
    world = World()
    world.run([world.record("beta runs"), world.record("alpha runs"), world.record("alpha runs")])
    [record] = recorded(world)
    beta, alpha, skip = record.entries
    fields = ledger_fields(record)
    assert fields == {
        "namespace": "team",
        "fact_ids": sorted([str(beta.decision.fact_id), str(alpha.decision.fact_id)]),
        "skips_only": False,
        "recorded_at": record.recorded_at.isoformat(),
    }
    assert ledger_fields(msgspec.structs.replace(record, entries=(skip, skip)))["skips_only"] is True
    assert ledger_fields(msgspec.structs.replace(record, entries=(beta,)))["skips_only"] is False
    assert record.record_id == record_id_of("team", beta.decision.event_key)
    assert record_id_of("other", beta.decision.event_key) != record.record_id


# Points


def test_the_vector_of_a_point_without_text() -> None:
    """It has a norm of one, and points along the first axis."""
    vector = blank_vector(3)
    assert vector.dtype == np.float32
    assert vector.tolist() == [1.0, 0.0, 0.0]


def test_what_stands_already_is_not_written_again(lived: tuple[World, list[Record]]) -> None:
    """Performed again, nothing is embedded or written: points at this version or a later one are left out."""
    world, _ = lived
    state = world.state()
    facts, embedded = Watched(world.facts), list(world.embedder.embedded)
    for record in recorded(world):
        asyncio.run(performer(world, facts=facts).perform(record))
    assert [writes for writes in facts.of("write") if writes] == []
    assert facts.of("vectors") == []
    assert world.embedder.embedded == embedded
    assert world.state() == state


def test_what_is_missing_is_written_from_the_record_alone(lived: tuple[World, list[Record]]) -> None:
    """New points with the vectors of their texts, changed ones with those that they have; a changed point that is gone stays gone."""
    world, _ = lived
    first, second = recorded(world)
    bare = World(policy=WIDE)
    asyncio.run(performer(bare).perform(first))
    assert [fact.text for fact in bare.current()] == ["the api port is now 8080"]
    facts = Watched(bare.facts)
    asyncio.run(performer(bare, facts=facts).perform(second))
    [writes] = facts.of("write")
    for write in writes:
        assert np.array_equal(write.vector, bare.embedder.vector(write.fact.text))
    assert {write.fact.point_id: write.insert for write in writes} == {
        fact.point_id: fact.point_id in second.entries[0].inserts for fact in second.entries[0].effects
    }
    new = {fact.text for fact in second.entries[0].effects if fact.point_id in second.entries[0].inserts}
    assert set(bare.embedder.embedded[1:]) == new  # what is there keeps its vector
    empty = World(policy=WIDE)
    asyncio.run(performer(empty).perform(second))
    assert {row["point_id"] for row in empty.state()} == set(second.entries[0].inserts)


def test_pointers_lead_to_each_entry() -> None:
    """Each event of a record is found by its key, at its place in it."""
    world = World()
    world.run([world.record("alpha runs"), world.record("beta runs")])
    [record] = recorded(world)
    keys = [entry.decision.event_key for entry in record.entries]
    bare = World()
    asyncio.run(performer(bare).perform(record))
    assert asyncio.run(bare.ledger.lookup(keys)) == {
        key: LedgerPointer(record.record_id, index) for index, key in enumerate(keys)
    }


# The ledger without erased texts


def test_only_records_that_hold_an_erased_text_change() -> None:
    """One entry of several is enough, and the others stay as they are; a record without any is the very same."""
    world = World()
    world.run([world.record("alpha runs"), world.record("beta runs")])
    [record] = recorded(world)
    alpha, beta = record.entries
    assert scrubbed_record(record, Erasure(facts={"another": ()})) is record
    scrubbed = scrubbed_record(record, Erasure(facts={str(beta.decision.fact_id): ()}))
    assert scrubbed.entries[0] == alpha
    assert "beta" not in str(msgspec.to_builtins(scrubbed.entries[1]))
    assert (scrubbed.record_id, scrubbed.attempt, len(scrubbed.entries)) == (record.record_id, record.attempt, 2)


# The hash window


def test_the_window_is_left_alone_where_nothing_goes_into_it() -> None:
    """Nobody connects to Redis for sources that do not pass the window."""
    world, told = World(), Told()
    world.run([world.record("alpha runs"), world.record("beta runs", source="post_tool_use")])
    [record] = recorded(world)
    window = Watched(world.window)
    asyncio.run(performer(world, window=window).remember(record.entries[:1]))
    assert window.calls == []

    class Gone:
        async def put(self, *_: Any) -> None:
            raise Transient("redis", "out of reach")

    asyncio.run(performer(world, told, window=Gone()).remember(record.entries))
    assert told.counts == Counter({f"did without redis: {Transient('redis', 'out of reach')}": 1})


def test_what_the_window_holds_of_a_decision() -> None:
    """The fact that resulted, for a skip the one that was met, at its revision; nothing of other sources, relative times or no fact."""
    world = World()
    world.run(
        [
            world.record("alpha runs", source="post_tool_use"),
            world.record("alpha runs", 600, source="post_tool_use"),
            world.record("beta runs"),
        ]
    )
    [record] = recorded(world)
    add, skip, said = record.entries
    settings = WaveSettings()
    fact_id = add.decision.fact_id
    assert (skip.decision.decision, skip.decision.fact_id, skip.decision.matched_id) == (Kind.SKIP, None, fact_id)
    assert window_hit(add, settings) == WindowHit(str(fact_id), 1)
    assert window_hit(skip, settings) == WindowHit(str(fact_id), 1)
    assert window_hit(said, settings) is None
    assert window_hit(said, WaveSettings(window_sources=frozenset({Source.REMEMBER}))) is not None

    def but(entry: Entry, **changes: Any) -> Entry:
        return msgspec.structs.replace(entry, decision=msgspec.structs.replace(entry.decision, **changes))

    assert window_hit(but(add, matched_id="another"), settings) == WindowHit(str(fact_id), 1)
    assert window_hit(but(skip, fact_id="another"), settings) == WindowHit(str(fact_id), 1)
    assert window_hit(but(add, fact_id=None), settings) is None
    assert window_hit(but(add, revision=None), settings) is None
    assert window_hit(but(add, source=None), WaveSettings(window_sources=frozenset(Source))) is None
    assert window_hit(but(add, text="alpha runs since yesterday"), settings) is None


# What is told


def test_what_is_told_is_counted(lived: tuple[World, list[Record]]) -> None:
    """Each change and each decision once; a decision that is met elsewhere counts apart, and no change of it."""
    world, records = lived
    told = Told()
    one = performer(world, told)
    pairs = [
        (entry, event(world, r)) for kept, r in zip(recorded(world), records, strict=True) for entry in kept.entries
    ]
    asyncio.run(one.emit(pairs))
    assert told.counts == Counter(
        {"changed added": 1, "changed superseded": 1, "decided add": 1, "decided supersede": 1}
    )
    told.counts.clear()
    moved = [
        (entry, msgspec.structs.replace(e, coordinates=msgspec.structs.replace(e.coordinates, offset=99)))
        for entry, e in pairs
    ]
    asyncio.run(one.emit(moved))
    assert told.counts == Counter({"decided add again": 1, "decided supersede again": 1})


def test_a_revert_is_counted_where_it_takes_effect(lived: tuple[World, list[Record]]) -> None:
    """Told again from the same coordinates it counts, from others it does not."""
    world, records = lived
    entry = msgspec.structs.replace(recorded(world)[1].entries[0], undoes=Kind.UPDATE)
    met = event(world, records[1])
    elsewhere = msgspec.structs.replace(met, coordinates=msgspec.structs.replace(met.coordinates, offset=99))
    told = Told()
    one = performer(world, told)
    asyncio.run(one.emit([(entry, elsewhere)]))
    assert told.counts["reverted update"] == 0
    asyncio.run(one.emit([(entry, met)]))
    assert told.counts["reverted update"] == 1


@pytest.mark.parametrize(("replay_id", "emit", "told"), [("r", True, True), ("r", False, False), (None, True, False)])
def test_ingest_hears_of_a_replay_that_asks_for_it(
    lived: tuple[World, list[Record]], replay_id: str | None, emit: bool, told: bool
) -> None:
    """Only of an event of a replay, and only where the replay says so."""
    world, records = lived
    [entry] = recorded(world)[0].entries
    met = event(world, records[0])
    met = msgspec.structs.replace(
        met, coordinates=msgspec.structs.replace(met.coordinates, offset=99), replay_id=replay_id, replay_emit=emit
    )
    world.outbox.clear()
    asyncio.run(performer(world).emit([(entry, met)]))
    assert len(world.outbox.of("new-facts")) == told
    assert len(world.outbox.of("fact-decisions")) == 1
    assert world.outbox.of("facts") == []


def test_nothing_is_sent_where_the_last_look_says_no(lived: tuple[World, list[Record]]) -> None:
    """The look comes when everything is read, and before anything is sent."""
    world, records = lived
    [entry] = recorded(world)[0].entries
    world.outbox.clear()

    async def no() -> None:
        raise Transient("kafka", "not ours")

    with pytest.raises(Transient, match="not ours"):
        asyncio.run(performer(world).emit([(entry, event(world, records[0]))], no))
    assert [*world.outbox.of("new-facts"), *world.outbox.of("fact-decisions"), *world.outbox.of("facts")] == []


def test_how_facts_stand_is_told_until_it_is_what_stands(lived: tuple[World, list[Record]]) -> None:
    """Twice read alike is told once; what changes while it is told is told anew, and what never rests is given up."""
    world, _ = lived
    entries = recorded(world)[0].entries

    class Changing:
        """A fact that has another revision at each of so many looks."""

        def __init__(self, times: int) -> None:
            self.times, self.looks = times, 0

        async def get(self, ids: list[str]) -> dict[str, Fact]:
            self.looks += 1
            revision = 10 + min(self.looks, self.times)
            return {
                key: msgspec.structs.replace(one, revision=revision)
                for key, one in (await world.facts.get(ids)).items()
            }

    for times, sent in ((0, 1), (3, 3), (7, 7)):
        world.outbox.clear()
        changing = Changing(times)
        asyncio.run(performer(world, facts=_with(world.facts, changing)).restate(entries))
        assert len(world.outbox.of("facts")) == sent
        assert changing.looks == sent + 1
    with pytest.raises(Transient, match="1 facts changed 8 times"):
        asyncio.run(performer(world, facts=_with(world.facts, Changing(100))).restate(entries))


def _with(port: Any, changed: Any) -> Any:
    class Both:
        def __getattr__(self, name: str) -> Any:
            return getattr(changed if hasattr(changed, name) else port, name)

    return Both()


def test_a_command_that_is_replayed_is_reported_alone(lived: tuple[World, list[Record]]) -> None:
    """Whatever a replay asks for, ingest hears of a command once: where it took effect."""
    world, _ = lived
    record = world.command("retract", {"fact_id": world.current()[0].fact_id})
    world.run([record])
    command = decode(record, Limits(), world.clock.now())
    assert isinstance(command, Command)
    entry = recorded(world)[-1].entries[0]
    assert entry.changes
    again = msgspec.structs.replace(
        command, coordinates=msgspec.structs.replace(command.coordinates, offset=99), replay_id="r"
    )
    told = Told()
    world.outbox.clear()
    asyncio.run(performer(world, told).emit([(entry, again)]))
    assert world.outbox.of("new-facts") == []
    assert len(world.outbox.of("fact-decisions")) == 1
    assert told.counts == Counter({"decided None again": 1})


def test_of_a_wave_half_performed_the_rest_is_written() -> None:
    """Only what is missing is embedded and written."""
    world = World()
    world.run([world.record("alpha runs"), world.record("beta walks")])
    [record] = recorded(world)
    bare = World()
    asyncio.run(performer(bare).perform(msgspec.structs.replace(record, entries=record.entries[:1])))
    facts = Watched(bare.facts)
    asyncio.run(performer(bare, facts=facts).perform(record))
    assert [[write.fact.text for write in writes] for writes in facts.of("write")] == [["beta walks"]]
    assert bare.embedder.embedded == ["alpha runs", "beta walks"]


def test_a_reworded_fact_has_the_vector_of_its_new_words() -> None:
    """Whether the vectors are at hand or not: one that was there before is not put back."""
    world = World(always(Kind.UPDATE), policy=WIDE, wave_events=1)
    world.run([world.record("the api port is now 8080"), world.record("the api port is now 8081", 60_000)])
    assert [decision["decision"] for decision in world.decisions()] == ["add", "update"]
    first, second = recorded(world)
    [fact] = world.current()
    bare = World(policy=WIDE)
    asyncio.run(performer(bare).perform(first))
    asyncio.run(performer(bare).perform(second))
    for one in (world, bare):
        vectors = asyncio.run(one.facts.vectors([fact.point_id]))
        assert np.array_equal(vectors[fact.point_id], world.embedder.vector(fact.text))


def test_a_reworded_fact_that_is_gone_stays_gone() -> None:
    """Its words are not embedded, and nothing is written."""
    world = World(always(Kind.UPDATE), policy=WIDE, wave_events=1)
    world.run([world.record("the api port is now 8080"), world.record("the api port is now 8081", 60_000)])
    [_, second] = recorded(world)
    assert second.entries[0].reworded
    empty = World(policy=WIDE)
    facts = Watched(empty.facts)
    asyncio.run(
        performer(empty, facts=facts).perform(msgspec.structs.replace(second, entries=_without_inserts(second)))
    )
    assert empty.embedder.embedded == []
    assert [writes for writes in facts.of("write") if writes] == []
    assert empty.state() == []


def _without_inserts(record: LedgerRecord) -> tuple[Entry, ...]:
    """Return entries that only change what is there."""
    return tuple(
        msgspec.structs.replace(
            entry, inserts=(), effects=tuple(fact for fact in entry.effects if fact.point_id not in entry.inserts)
        )
        for entry in record.entries
    )


def test_what_goes_while_it_is_performed_stays_gone(lived: tuple[World, list[Record]]) -> None:
    """A point that was there a moment ago and has no vector any more is left out; the rest is written."""
    world, _ = lived
    first, second = recorded(world)
    bare = World(policy=WIDE)
    asyncio.run(performer(bare).perform(first))

    class Going(Watched):
        async def vectors(self, _ids: Any) -> dict[str, Any]:
            return {}

    facts = Going(bare.facts)
    asyncio.run(performer(bare, facts=facts).perform(second))
    [writes] = facts.of("write")
    assert {write.fact.point_id for write in writes} == set(second.entries[0].inserts)


def test_a_fact_that_is_gone_is_not_told(lived: tuple[World, list[Record]]) -> None:
    """Its decision and its change are, as they are recorded; how it stands nobody can say."""
    world, records = lived
    [entry] = recorded(world)[0].entries
    bare = World(policy=WIDE)
    one = performer(bare)
    asyncio.run(one.emit([(entry, event(world, records[0]))]))
    asyncio.run(one.restate([entry]))
    assert len(bare.outbox.of("new-facts")) == len(bare.outbox.of("fact-decisions")) == 1
    assert bare.outbox.of("facts") == []


def test_an_erase_rewrites_the_records_that_hold_its_text() -> None:
    """Each once, and no other."""
    world = World(wave_events=1)
    world.run([world.record("beta walks"), world.record("alpha runs"), world.record("alpha runs", 60)])
    fact_id = next(fact.fact_id for fact in world.current() if fact.text == "alpha runs")
    ledger = Watched(world.ledger)
    world.run([world.command("erase", {"fact_id": fact_id})], ledger=ledger)
    assert world.decisions()[-1]["outcome"] == "applied"
    scrubbed = [record_id for records in ledger.of("scrub") for record_id in records]
    assert len(scrubbed) == len(set(scrubbed))
    bodies = asyncio.run(_bodies(world))
    assert not any(b"alpha" in body for body in bodies)
    assert any(b"beta" in body for body in bodies)
    beta = next(record for record in map(decode_record, bodies) if "beta walks" in str(record.entries[0].decision.text))
    assert beta.record_id not in scrubbed


async def _bodies(world: World) -> list[bytes]:
    return [body async for body in world.ledger.scan(None)]
