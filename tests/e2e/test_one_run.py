"""One undisturbed run, and the same input once more."""

from collections import Counter

import pytest

from e2e import streams
from e2e.outcome import differences

pytestmark = [pytest.mark.stack, pytest.mark.slow]


def test_one_decision_per_event_and_nothing_is_lost_on_the_way(calm):
    """Every event has one decision; counts of facts, changes and supersession records add up; nothing is dead-lettered."""
    outcome = calm.first
    outcome.check()
    decisions = outcome.decisions
    assert len(decisions) == len(streams.demo())
    assert len(outcome.records[outcome.topics.decisions]) == len(decisions), "nothing was told twice"
    assert not outcome.dead_letters
    kinds = Counter(one["decision"] for one in decisions.values())
    assert set(kinds) == {"add", "update", "supersede", "skip"} or set(kinds) == {
        "add",
        "update",
        "supersede",
        "merge",
        "skip",
    }
    heads = [fact for fact in outcome.facts.values() if fact.is_head]
    assert len(heads) == kinds["add"] + kinds["supersede"]
    assert sum(fact.stated_count for fact in heads) == len(decisions)


def test_the_engine_without_services_decides_the_same(calm, offline_decisions):
    """Broker, stores and waves change nothing about what is decided: one process with everything in memory says the same."""
    told = {one["event_id"]: _decided(one) for one in calm.first.decisions.values()}
    alone = {one["event_id"]: _decided(one) for one in offline_decisions}
    assert differences({"decisions": told}, {"decisions": alone}) == []


def test_the_same_input_once_more_changes_nothing(calm):
    """No new point, no changed point, the same decision ids, marked as replayed, and nothing more for ingest."""
    first, second = calm.first, calm.second
    assert second.facts == first.facts
    assert second.vectors == first.vectors
    assert second.ledger_ids() == first.ledger_ids()
    told = second.values(second.topics.decisions)
    assert len(told) == 2 * len(first.decisions)
    again = [one for one in told if one["replayed"]]
    assert Counter(one["decision_id"] for one in again) == Counter(
        one["decision_id"] for one in first.decisions.values()
    )
    for topic in (first.topics.new_facts, first.topics.supersessions, first.topics.facts, first.topics.dead_letters):
        assert len(second.records[topic]) == len(first.records[topic])
    second.check()


def _decided(one: dict) -> dict:
    names = (
        "decision",
        "reason",
        "fact_id",
        "matched_id",
        "superseded_ids",
        "dedup_signal",
        "band",
        "revision",
        "neighbours",
    )
    return {name: one[name] for name in names}
