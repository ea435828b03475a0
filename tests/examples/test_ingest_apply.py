"""What the example consumer holds is what is in force, however often and in whatever order it is told."""

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factsieve.core.facts import Kind
from factsieve.core.judging import Verdict
from factsieve.core.policy import Policy
from tests.engine.harness import World

WIDE = Policy(
    skip_guard="off", skip_threshold=0.999, ambiguous_threshold=0.6, supersede_threshold=0.3, second_look_floor=0.3
)
TEXTS = [f"the api port is {number}" for number in range(8080, 8086)]

statements = st.tuples(
    st.just("state"),
    st.sampled_from(TEXTS),
    st.sampled_from(list(Kind)),
    st.integers(-3, 3),
    st.sampled_from([None, "api.port"]),
)
undoing = st.tuples(st.just("revert"), st.integers(0, 30), st.booleans())
withdrawing = st.tuples(st.sampled_from(["retract", "erase"]), st.integers(0, 30))
stories = st.lists(st.one_of(statements, statements, undoing, withdrawing), min_size=1, max_size=14)


def tell(story: list[tuple[Any, ...]]) -> World:
    """Return a world in which this happened, one event after the other."""
    chosen = {"kind": Kind.ADD}

    def script(question: Any) -> Verdict:
        kind = chosen["kind"] if chosen["kind"] in question.allowed else Kind.ADD
        text = question.text if kind in (Kind.UPDATE, Kind.MERGE) else None
        return Verdict(choice=kind, judge="scripted", targets=(0,), text=text)

    world = World(script, policy=WIDE)
    at_s = 0
    for number, step in enumerate(story):
        at_s += 600
        if step[0] == "state":
            _, text, chosen["kind"], late, slot = step
            more = {} if slot is None else {"slot": slot}
            world.run([world.record(text, at_s + 1_000 * min(late, 0), event=f"e{number}", **more)])
        elif step[0] == "revert":
            decisions = [d for d in world.decisions() if d["decision"] is not None]
            if decisions:
                about = decisions[step[1] % len(decisions)]["decision_id"]
                world.run([world.command("revert", {"decision_id": about, "drop_newer": step[2], "force": True})])
        else:
            facts = world.current()
            if facts:
                world.run([world.command(step[0], {"fact_id": facts[step[1] % len(facts)].fact_id})])
    return world


def messages_of(world: World) -> list[dict[str, Any]]:
    return [json.loads(message.value or b"") for message in world.outbox.of("new-facts")]


def in_force(world: World) -> dict[str, str]:
    return {fact.fact_id: fact.text for fact in world.current()}


def held_after(ingesting: ModuleType, messages: list[dict[str, Any]]) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for message in messages:
        held |= {head.fact_id: head for head in ingesting.apply(message, held)}
    return held


def live(held: dict[str, Any]) -> dict[str, str]:
    return {fact_id: head.text for fact_id, head in held.items() if head.text is not None}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=stories, data=st.data())
def test_any_order_and_any_repetition_ends_in_what_is_in_force(ingesting, story, data):
    """All messages in any order, some of them twice, lead to the current facts with their texts, and to no other."""
    world = tell(story)
    messages = messages_of(world)
    again = data.draw(st.lists(st.sampled_from(messages), max_size=6)) if messages else []
    shuffled = data.draw(st.permutations([*messages, *again]))
    assert live(held_after(ingesting, messages)) == in_force(world)
    assert live(held_after(ingesting, shuffled)) == in_force(world)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=stories, data=st.data())
def test_a_stretch_that_is_told_again_changes_nothing(ingesting, story, data):
    """What Kafka does after a crash: the last messages once more, in their order."""
    messages = messages_of(tell(story))
    start = data.draw(st.integers(0, len(messages)))
    held = held_after(ingesting, messages)
    for message in messages[start:]:
        for head in ingesting.apply(message, held):
            assert held[head.fact_id] == head


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(story=stories, data=st.data())
def test_a_new_consumer_starts_from_the_states_and_goes_on(ingesting, story, data):
    """The compacted topic, then all of `new-facts` from its beginning: the same facts, and nothing comes back."""
    world = tell(story)
    held: dict[str, Any] = {}
    latest = {message.key.decode(): message.value for message in world.outbox.of("facts") if message.key is not None}
    for fact_id in data.draw(st.permutations(sorted(latest))):
        value = latest[fact_id]
        state = None if value is None else json.loads(value)
        held |= {head.fact_id: head for head in ingesting.apply_state(fact_id, state, held)}
    assert live(held) == in_force(world)
    for message in messages_of(world):
        held |= {head.fact_id: head for head in ingesting.apply(message, held)}
    assert live(held) == in_force(world)


def test_what_came_late_takes_out_nothing(ingesting):
    """A late statement between two of a fact that is in force is history: the fact stays, and a consumer that knows it keeps it."""
    state = ("state", TEXTS[0], Kind.ADD, 0, None)
    world = tell([state, state, ("state", TEXTS[1], Kind.SUPERSEDE, -1, None)])
    messages = messages_of(world)
    assert [(message["history"], message["replaced"]) for message in messages] == [(False, []), (True, [])]
    assert set(live(held_after(ingesting, messages)).values()) == {TEXTS[0]} == set(in_force(world).values())


def test_the_stories_hold_all_seven_operations(ingesting):
    """The generator above is able to bring each of them about, so that the properties speak of all."""
    story = [
        ("state", TEXTS[0], Kind.ADD, 0, None),
        ("state", TEXTS[1], Kind.UPDATE, 0, None),
        ("state", TEXTS[2], Kind.SUPERSEDE, 0, None),
        ("revert", 2, False),
        ("state", TEXTS[3], Kind.MERGE, 0, None),
        ("retract", 0),
        ("erase", 0),
    ]
    kinds = {message["type"] for message in messages_of(tell(story))}
    assert kinds == {"added", "updated", "superseded", "merged", "reverted", "retracted", "erased"}


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("short", ["short"]), ("", [""]), ("a" * 900, 3), ("word " * 200, 3), ("文" * 401, 2)],
)
def test_texts_are_cut_without_loss(ingesting, text, pieces):
    """Pieces are short enough, and together they are the text."""
    cut = ingesting.chunks_of(text)
    assert all(len(piece) <= ingesting.CHUNK_CHARS for piece in cut)
    assert "".join("".join(cut).split()) == "".join(text.split())
    assert cut == pieces if isinstance(pieces, list) else len(cut) == pieces


def test_the_fact_is_indexed_under_its_own_revision(ingesting):
    """A change that is not above what is held leaves it alone."""
    fact = {
        "fact_id": "a",
        "revision": 2,
        "status": "current",
        "namespace": "n",
        "text": "two",
        "slot": None,
        "valid_from": "t",
    }
    newer = ingesting.apply({"fact": {**fact, "revision": 3, "text": "three"}, "replaced": []}, {})
    held = {head.fact_id: head for head in newer}
    assert ingesting.apply({"fact": fact, "replaced": []}, held) == []
