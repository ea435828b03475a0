"""A fact's story from the stores: who said it, what it replaced, who decided, what it cost, what was undone."""

import asyncio
from dataclasses import dataclass

import pytest

from factsieve.adapters.memory import MemoryFacts, MemoryLedger
from factsieve.core.facts import Kind
from factsieve.core.story import Story
from factsieve.operations import asking, story
from factsieve.operations.story import tell_story
from tests.engine.harness import World, always
from tests.engine.test_commands import WIDE

OLD, NEW = "the harbour api listens on port eight", "the harbour api listens on port nine"


@dataclass
class Stores:
    facts: MemoryFacts
    ledger: MemoryLedger


def told(world: World, fact_id: str) -> Story:
    async def tell() -> Story:
        head = await asking.one(world.facts, fact_id, None)
        assert head is not None
        return await tell_story(Stores(world.facts, world.ledger), head)

    return asyncio.run(tell())


def replaced() -> World:
    """Return a world in which a statement was made, made again, replaced with a judge's help, and said once more."""
    costly = always(
        Kind.SUPERSEDE, reason="another port", model="m-2", latency_ms=40.0, prompt_tokens=300, completion_tokens=9
    )
    world = World(costly, policy=WIDE)
    world.run([world.record(OLD, 0, session_id="s-1"), world.record(OLD, 3600), world.record(NEW, 7200)])
    world.run([world.record(NEW, 20_000), world.record("something else entirely", 20_000)])
    return world


def test_a_story_tells_everything_that_touched_a_fact_and_its_relatives() -> None:
    """In order of decision: who said it and where, what it replaced, who decided and at what cost; nothing of other facts."""
    world = replaced()
    [current] = [fact for fact in world.current() if fact.text == NEW]
    tale = told(world, current.fact_id)
    assert [(step.value["decision"], step.said) for step in tale.steps] == [
        ("add", OLD),
        ("skip", OLD),
        ("supersede", NEW),
        ("skip", NEW),
    ]
    first, again, third, last = tale.steps
    assert first.by == "remembered on request by test in session s-1"
    assert (first.verb, again.verb) == ("stated for the first time", "said again")
    assert [one.text for one in third.replaced] == [OLD]
    assert third.decided_by == "language model scripted (m-2)"
    assert (third.cost.latency_ms, third.cost.tokens) == (40.0, 309)
    assert (tale.cost.model_calls, tale.cost.tokens, tale.shortened) == (1, 309, False)
    assert [step.direct for step in (first, third, last)] == [False, True, True]
    assert [row.text for row in tale.chain] == [OLD, NEW]


def test_what_was_undone_is_part_of_the_story() -> None:
    """By an operator, of the decision that it was about."""
    world = replaced()
    [supersede] = [one for one in world.decisions() if one["decision"] == "supersede"]
    world.run([world.command("revert", {"decision_id": supersede["decision_id"], "reason": "both are open"})])
    last = told(world, supersede["superseded_ids"][0]).steps[-1]
    assert (last.verb, last.by, last.direct) == ("undone", "an operator (desk)", True)
    assert last.why == "Carried out: both are open"
    assert last.value["about_decision_id"] == supersede["decision_id"]


def test_an_update_tells_its_wording() -> None:
    """Where it is not what was said."""
    world = World(always(Kind.UPDATE, text="the harbour api listens on port eight daily"), policy=WIDE)
    world.run([world.record(OLD, 0), world.record("the harbour api listens on port daily", 60)])
    [fact] = world.current()
    step = told(world, fact.fact_id).steps[-1]
    assert (step.said, step.wording) == ("the harbour api listens on port daily", fact.text)
    assert [one.text for one in step.replaced] == [OLD]


def test_a_long_story_says_that_it_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not more ledger records are read than the limit."""
    world = replaced()
    [current] = [fact for fact in world.current() if fact.text == NEW]
    monkeypatch.setattr(story, "MAX_RECORDS", 1)
    assert told(world, current.fact_id).shortened
