"""What the comparison with the rebuilt state lets pass, and what not."""

import asyncio
import json
from dataclasses import replace

import pytest

from chaos.rebuild import ChaosOutcome, compare, outcome_of
from factsieve.core.facts import Record
from factsieve.core.policy import Policy
from tests.engine.harness import World
from tests.engine.test_window import TOOL, Gone

KNOWN = "the big nightly build runs at ten o'clock"
SAID = [(KNOWN, 0), (f"{KNOWN} sharp", 60), (f"{KNOWN} sharp", 120), (KNOWN, 150), ("ana owns the cache", 180)]


def outcome(said: list[tuple[str, int]], *, window: bool = True) -> tuple[ChaosOutcome, World]:
    """Return what statements of a tool come to, each in a wave of its own."""
    world = World(policy=Policy(skip_guard="off", skip_threshold=0.8))
    for text, at_s in said:
        world.run([world.record(text, at_s, source=TOOL)], **({} if window else {"window": Gone()}))
    topics = world.settings.topics
    return asyncio.run(outcome_of("", topics, world.facts, world.ledger, world.outbox)), world


def records(world: World) -> list[Record]:
    """Return the input once more."""
    world.offset = 0
    return [world.record(text, event=f"e{n}") for n, (text, _) in enumerate(SAID)]


def test_a_repeat_of_a_skip_may_be_met_by_the_rules() -> None:
    """The window was away: the same skip of the same fact, found in another way, is told as such and is no failure."""
    with_it, world = outcome(SAID)
    without, _ = outcome(SAID, window=False)
    assert [one.get("via", "rules") for one in with_it.decisions.values()] == [
        *["rules"] * 2,
        *["hash_window"] * 2,
        "rules",
    ]
    assert [one.get("via", "rules") for one in without.decisions.values()] == [*["rules"] * 3, "text", "rules"]
    for ours, theirs in ((without, with_it), (with_it, without)):
        found = compare(ours, theirs, records(world))
        assert found.failures == []
        assert "  repeats of a skip that only one of both found in the hash window: 1" in found.lines


@pytest.mark.parametrize(
    ("event", "name", "value"),
    [
        (2, "matched_id", "another"),
        (2, "decision", "add"),
        (3, "band", "known"),
        (3, "reason", "similar"),
        (4, "band", "known"),
    ],
)
def test_anything_else_must_be_equal(event: int, name: str, value: str) -> None:
    """Another fact or kind, or another way of what was found by its text or decided by the rules in both: a difference."""
    with_it, world = outcome(SAID)
    without, _ = outcome(SAID, window=False)
    told = without.records[without.topics.decisions]
    told[event] = replace(told[event], value=json.dumps(json.loads(told[event].value) | {name: value}).encode())
    failures = compare(without, with_it, records(world)).failures
    assert any(f"decisions {key_of(with_it, event)}: " in one for one in failures), failures


def key_of(found: ChaosOutcome, event: int) -> str:
    """Return the key of the event of this number."""
    return list(found.decisions)[event]
