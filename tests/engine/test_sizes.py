"""What can not be told is not recorded: an event whose decision would not fit through its topics becomes a dead letter."""

import asyncio
import json
import os
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.brokers import TestBroker

from factsieve.adapters.kafka_outbox import KafkaOutbox, OutboxOptions
from factsieve.assembly.settings import load_settings
from factsieve.assembly.wiring import engine_settings
from factsieve.core.decision import Entry
from factsieve.core.facts import Kind
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policy
from factsieve.engine.sizes import Room, _at_most, size_of, too_large
from factsieve.ports import Message
from factsieve.wire.ledger import decode_record
from factsieve.wire.topics import Topics
from tests.engine.harness import ToyEmbedder, World

TOPICS = Topics()
WIDE = Policy(
    skip_guard="off", skip_threshold=0.999, ambiguous_threshold=0.5, supersede_threshold=0.2, second_look_floor=0.2
)


def all_of_them(question: Question) -> Verdict:
    """Let whatever speaks of ports retire every neighbour; all else stands beside them."""
    kind = Kind.SUPERSEDE if "ports" in question.text and Kind.SUPERSEDE in question.allowed else Kind.ADD
    return Verdict(choice=kind, judge="scripted", targets=tuple(range(len(question.neighbours))), reason="since " * 20)


def bounded(most: int | None, script: Any = all_of_them, **more: Any) -> World:
    world = World(script, policy=WIDE, **more)
    room = Room() if most is None else Room({TOPICS.decisions: most}, 16_384)
    world.settings = msgspec.structs.replace(world.settings, room=room)
    return world


def entries_of(world: World) -> list[Entry]:
    async def scan() -> list[Entry]:
        return [entry async for body in world.ledger.scan(None) for entry in decode_record(body).entries]

    return asyncio.run(scan())


def told_of(world: World, event_id: str) -> int:
    """Return the size of an event's decision as it was told."""
    found = [m for m in world.outbox.of(TOPICS.decisions) if json.loads(m.value or b"{}")["event_id"] == event_id]
    return size_of(found[-1])


def stream(world: World, *, last: bool = True) -> list[Any]:
    """Return facts that stand side by side, one that retires all of them, and one that comes after."""
    facts = [world.record(f"port {n} is open " + "x" * 3_000, n, event=f"f{n}", slot=f"p{n}") for n in range(4)]
    bulky = [world.record("port ports are open", 1_000, event="bulky", slot="p0")] if last else []
    return [*facts, *bulky, world.record("port 2 is shut", 2_000, event="after", slot="p2")]


@pytest.mark.parametrize("wave_events", [1, 64])
def test_what_can_not_be_told_is_refused_and_the_rest_goes_on(wave_events: int) -> None:
    """The record goes to the dead letter topic with a code of its own; everything else is as if it had never come."""
    free = bounded(None, wave_events=wave_events)
    free.run(stream(free))
    assert next(d for d in free.decisions() if d["event_id"] == "bulky")["superseded_ids"]
    room = told_of(free, "bulky") - 1
    world, without = (bounded(room, wave_events=wave_events) for _ in range(2))
    world.run(stream(world))
    without.run(stream(without, last=False))
    [refused] = [d for d in world.decisions() if d["decision"] is None]
    assert (refused["event_id"], refused["error"]["code"]) == ("bulky", "decision_too_large")
    assert f"{room} are let through" in refused["error"]["message"]
    [letter] = world.outbox.of(TOPICS.dead_letters)
    assert (letter.key, json.loads(letter.value or b"{}")["text"]) == (b"team", "port ports are open")
    assert len(world.done) == 6
    assert {e.decision.event_id for e in entries_of(world)} == {"f0", "f1", "f2", "f3", "after"}
    assert [(f.text, f.status, f.version) for f in world.current()] == [
        (f.text, f.status, f.version) for f in without.current()
    ]


def test_at_the_bound_it_is_told() -> None:
    """The most that is let through is let through."""
    free = bounded(None)
    free.run(stream(free))
    largest = max(too_large_at(free, entry) for entry in entries_of(free))
    world = bounded(largest)
    world.run(stream(world))
    assert [d["decision"] is None for d in world.decisions()] == [False] * 6


def too_large_at(world: World, entry: Entry) -> int:
    """Return the smallest room that an entry's decision needs."""
    low, high = 0, 10_000_000
    while low < high:
        middle = (low + high) // 2
        refused = too_large(entry, TOPICS, Room({TOPICS.decisions: middle}, 16_384))
        low, high = (middle + 1, high) if refused is not None else (low, middle)
    return low


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300).filter(lambda text: text.strip())
statements = st.tuples(texts, st.sampled_from([None, "a", "b"]), st.booleans(), st.none() | st.text(max_size=200))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(statements, min_size=1, max_size=8), st.sampled_from(list(Kind)))
def test_what_is_taken_for_the_most_is_never_less(story: list[Any], kind: Kind) -> None:
    """Nothing that is told of an entry is larger than what its sizes are taken to add up to without writing it."""

    def script(question: Question) -> Verdict:
        chosen = kind if kind in question.allowed else Kind.ADD
        text = question.text if chosen in (Kind.UPDATE, Kind.MERGE) else None
        return Verdict(choice=chosen, judge="scripted", targets=(0,), text=text, reason="\x01" * 100)

    world = bounded(None, script)
    embedding = ToyEmbedder()
    for number, (text, slot, embedded, note) in enumerate(story):
        more: dict[str, Any] = {} if slot is None else {"slot": slot}
        if embedded:
            more |= {"embedding": [0.1] * embedding.dimension, "embedding_model": embedding.model}
        if note is not None:
            more["attributes"] = {"note": note}
        world.run([world.record(text, 100 * number, **more)])
    for entry in entries_of(world):
        most = _at_most(entry, Room({}, 2_000))
        mine = {entry.decision.decision_id, *(fact.decision_id for fact in entry.effects)}
        told = [m for m in world.outbox.messages if json.loads(m.value or b"{}").get("decision_id") in mine]
        assert told
        assert max(map(size_of, told)) <= most


def test_a_worker_knows_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lower of what the producer and what the topic lets through, for each topic."""
    monkeypatch.setenv("FACTSIEVE_KAFKA__MAX_REQUEST_BYTES", "2000000")
    room = engine_settings(load_settings(), ToyEmbedder()).room
    assert room.topics["fact-decisions"] == 2_000_000
    assert room.topics["facts"] == 1_048_588
    assert room.attributes == 16_384


@pytest.mark.kafka
@pytest.mark.parametrize("compression", ["none", "lz4", "gzip"])
def test_a_broker_takes_what_fits(apache: TestBroker, compression: Any) -> None:
    """A message of which `size_of` says that it takes what the topic lets through is taken, however badly it compresses."""
    most = 300_000

    async def run() -> int:
        topic = await apache.create(apache.name("small"), 1, {"max.message.bytes": str(most)})
        headers = tuple((f"ce_{n}", os.urandom(40)) for n in range(12))
        frame = size_of(Message(topic, b"team", b"", headers))
        outbox = KafkaOutbox([apache.bootstrap], options=OutboxOptions(compression=compression, max_request_bytes=most))
        try:
            await outbox.send([Message(topic, b"team", os.urandom(most - frame), headers)])
        finally:
            await outbox.stop()
        return outbox.sent_total

    assert asyncio.run(run()) == 1
