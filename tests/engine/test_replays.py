"""What is told of an event that a replay brings: once more what was decided, or for the first time."""

import json
from typing import Any

import pytest

from factsieve.core.facts import Kind, Record
from factsieve.core.policy import Policy
from factsieve.wire.deadletters import replay_message
from factsieve.wire.topics import Topics
from tests.engine.harness import World, always

WIDE = Policy(skip_guard="off", skip_threshold=0.995)
TOPICS = Topics()


def again(world: World, record: Record, replay_id: str = "r1", *, emit: bool = False) -> Record:
    """Return a record as a replay sends it in: at the end of the topic."""
    message = replay_message(TOPICS, record, replay_id, emit=emit)
    return world.raw(message.value, key=message.key, headers=message.headers)


def told(world: World) -> dict[str, list[Any]]:
    """Return what was sent since the outbox was cleared, by topic."""
    return {
        topic: [json.loads(m.value or b"null") for m in world.outbox.of(topic)]
        for topic in ("fact-decisions", "new-facts", "fact-supersessions", "facts")
    }


@pytest.fixture
def lived() -> tuple[World, list[Record]]:
    """A supersede behind an add, told and done; the outbox is empty again."""
    world = World(always(Kind.SUPERSEDE), policy=WIDE)
    records = [world.record("the api port is now 8080", 0), world.record("the api port is now 8081", 600)]
    world.run(records)
    world.first = told(world)  # type: ignore[attr-defined]
    world.outbox.clear()
    return world, records


@pytest.mark.parametrize("emit", [False, True])
def test_what_took_effect_is_told_again(lived: tuple[World, list[Record]], emit: bool) -> None:
    """On fact-decisions always, under its first id and with the place where it was met; on new-facts only where the replay asks for it."""
    world, records = lived
    state = world.state()
    replays = [again(world, record, emit=emit) for record in records]
    world.run(replays)
    now, first = told(world), world.first  # type: ignore[attr-defined]
    for one, before, met in zip(now["fact-decisions"], first["fact-decisions"], replays, strict=True):
        place = {"topic": met.topic, "partition": met.partition, "offset": met.offset}
        assert one == before | {"replayed": True, "replay_id": "r1", "met_at": place}
    assert now["new-facts"] == (first["new-facts"] if emit else [])
    assert now["fact-supersessions"] == now["facts"] == world.outbox.of("candidate-facts-dlt") == []
    assert world.state() == state
    assert world.judge.questions[1:] == []


def test_what_had_not_taken_effect_is_decided_and_told_to_everybody() -> None:
    """An event that was never decided is decided where the replay met it; its first record, met later, is then the repetition."""
    world = World(always(Kind.ADD), policy=WIDE)
    never = world.record("the lift is out of order", 0)
    world.run([again(world, never)])
    now = told(world)
    [one] = now["fact-decisions"]
    assert (one["decision"], one["replayed"], one["replay_id"], one["met_at"]) == ("add", False, "r1", None)
    assert one["coordinates"]["offset"] == 1
    assert len(now["new-facts"]) == len(now["facts"]) == 1
    world.outbox.clear()
    world.run([never])
    now = told(world)
    assert [(d["replayed"], d["replay_id"], d["met_at"]["offset"]) for d in now["fact-decisions"]] == [(True, None, 0)]
    assert now["new-facts"] == []


def test_a_refusal_says_which_replay_met_it() -> None:
    """What is refused again goes to the dead letters again, and the reject names the replay."""
    world = World(always(Kind.ADD))
    world.run([again(world, world.raw(b"no json"), "r7")])
    now = told(world)
    [one] = now["fact-decisions"]
    assert (one["error"]["code"], one["replay_id"]) == ("not_json", "r7")
    assert len(world.outbox.of("candidate-facts-dlt")) == 1


def test_an_erased_statement_stays_erased_whatever_is_replayed(lived: tuple[World, list[Record]]) -> None:
    """Its event decides `skip`, `erased`; with --emit too nobody is told its text."""
    world, records = lived
    [current] = world.current()
    world.run([world.command("erase", {"fact_id": current.fact_id})])
    state = world.state()
    world.outbox.clear()
    world.run([again(world, record, emit=True) for record in records])
    now = told(world)
    assert [(d["decision"], d["reason"]) for d in now["fact-decisions"]][1] == ("skip", "erased")
    assert "8081" not in json.dumps(now)
    assert world.state() == state
