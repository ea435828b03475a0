"""The engine end to end on memory ports."""

from datetime import timedelta

import pytest

from factsieve.core.facts import FOREVER, Kind
from factsieve.core.policy import Policy
from tests.engine.harness import START, World, always


def kinds(world: World) -> list[str]:
    return [d["decision"] for d in world.decisions()]


def test_first_statement_is_added_and_told() -> None:
    """A cold start adds, with the signal that says so, and every topic hears of it."""
    world = World()
    world.run([world.record("the cache lives in redis")])
    [decision] = world.decisions()
    assert decision["decision"] == "add"
    assert decision["reason"] == "cold_start"
    assert decision["dedup_signal"] == {"is_update": False, "max_sim": 0.0, "matched_id": None}
    assert len(world.outbox.of("new-facts")) == len(world.outbox.of("facts")) == 1
    assert len(world.done) == 1


def test_exact_repeat_is_skipped_whatever_the_source() -> None:
    """The same text again is counted on the fact and not told to ingest."""
    world = World()
    world.run([world.record("the cache lives in redis"), world.record("the cache lives in redis", 3600)])
    world.run([world.record("the cache lives in redis", 7200)])
    assert kinds(world) == ["add", "skip", "skip"]
    assert {d["reason"] for d in world.decisions()[1:]} == {"exact_duplicate"}
    [fact] = world.current()
    assert fact.stated_count == 3
    assert fact.last_stated_at == START + timedelta(seconds=7200)
    assert len(world.outbox.of("new-facts")) == 1


def test_supersede_links_both_ways_and_keeps_the_old_one() -> None:
    """The retired fact stays visible with its dates, and knows its successor."""
    world = World(always(Kind.SUPERSEDE, reason="moved"))
    world.run([world.record("the cache lives in redis now"), world.record("the cache lives in postgres now", 60_000)])
    new = world.current()
    assert [fact.text for fact in new] == ["the cache lives in postgres now"]
    assert kinds(world) == ["add", "supersede"]
    old_id = new[0].supersedes[0]
    assert world.decisions()[1]["superseded_ids"] == [old_id]
    assert world.timeline() == [
        (START, START + timedelta(seconds=60_000), "the cache lives in redis now"),
        (START + timedelta(seconds=60_000), FOREVER, "the cache lives in postgres now"),
    ]


def test_tool_loop_costs_one_embedding() -> None:
    """A thousand repeats within the window are one fact, one embedding and one neighbour query."""
    world = World()
    texts = [world.record("ran the migration", i * 0.25, source="post_tool_use") for i in range(1000)]
    world.run(texts)
    assert kinds(world).count("skip") == 999
    assert world.embedder.embedded == ["ran the migration"]
    assert world.observer.queries == 1
    assert world.current()[0].stated_count == 1000


@pytest.mark.parametrize("choice", ["skip", "update", "supersede", "merge"])
def test_facts_that_carry_attributes_are_judged_like_others(choice: str) -> None:
    """What a producer attaches is passed through, whatever is decided about the fact."""
    policy = Policy(skip_guard="ask", skip_threshold=0.99, ambiguous_threshold=0.6, supersede_threshold=0.5)
    world = World(always(Kind(choice)), policy=policy)
    world.run([world.record("the cache lives in redis now", attributes={"by": {"team": ["a"]}})])
    world.run([world.record("the cache lives in redis 7 now", 60_000, attributes={"by": {"team": ["b"]}})])
    assert kinds(world) == ["add", choice]
    assert len(world.done) == 2
