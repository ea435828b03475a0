"""The hash window is only the cheap way: what it would have said is said without it, too."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from factsieve.core.errors import Transient
from factsieve.core.facts import Kind
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policy
from tests.engine.harness import START, World, always, by_digest

TOOL = "post_tool_use"
WORDS = ("redis", "cache", "port", "8080", "moved", "owner", "is", "ana", "ben", "now")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
streams = st.lists(texts, min_size=2, max_size=5, unique=True).flatmap(
    lambda said: st.lists(
        st.fixed_dictionaries(
            {
                "text": st.sampled_from(said),
                "at_s": st.integers(-8, 8).map(lambda n: n * 40),
                "slot": st.sampled_from([None, None, "user.port"]),
                "source": st.sampled_from(["remember", TOOL, TOOL]),
            }
        ),
        min_size=2,
        max_size=24,
    )
)


class Gone:
    """A window that is out of reach."""

    async def find(self, *_: Any) -> Any:
        raise Transient("redis", "out of reach")

    put = find


def never_the_same(question: Question) -> Verdict:
    """Answer anything but that a statement is known: a skip would be judged anew, beside other neighbours, when it comes again."""
    verdict = by_digest(question)
    if verdict.choice is Kind.SKIP:
        return Verdict(choice=Kind.ADD, judge="digest", targets=(0,))
    return verdict


HOW = frozenset({"via", "decided_at"})
HOW_A_SKIP_WAS_FOUND = HOW | {"reason", "band", "dedup_signal", "neighbours", "findings", "judges"}


def run(world: World, stream: list[dict[str, Any]], **ports: Any) -> dict[str, dict[str, Any]]:
    world.run([world.record(event=f"e{n}", **event) for n, event in enumerate(stream)], **ports)
    return {decision["event_id"]: decision for decision in world.decisions()}


@settings(
    max_examples=150,
    deadline=None,
    phases=(Phase.generate, Phase.explicit),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(stream=streams, wave_events=st.integers(1, 8), guard=st.sampled_from(["off", "ask"]))
def test_decisions_are_the_same_without_the_window(stream: list[dict[str, Any]], wave_events: int, guard: Any) -> None:
    """Redis out of reach, so that only a wave's own window is at hand: the same decisions, fields and points.

    Only what repeats a skip, in other words or of another slot than the fact that was known, is met by the rules where the window knew
    it: the same skip of the same fact, which says how it was found.
    """
    policy = Policy(skip_guard=guard, second_look_floor=0.3, skip_threshold=1.0)
    with_it, without = (World(never_the_same, policy=policy, wave_events=wave_events) for _ in range(2))
    ours, theirs = run(with_it, stream), run(without, stream, window=Gone())
    assert ours.keys() == theirs.keys()
    for name, one in ours.items():
        other = theirs[name]
        found = {one.get("via", "rules"), other.get("via", "rules")}
        left_out = HOW_A_SKIP_WAS_FOUND if found == {"hash_window", "rules"} else HOW
        assert _without(one, left_out) == _without(other, left_out)
    assert with_it.state() == without.state()


def _without(decision: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in decision.items() if name not in names}


# Whatever way it is found


@pytest.mark.parametrize("way", ["window", "text"])
@pytest.mark.parametrize(("older_s", "repeats"), [(0, True), (60, True), (61, False)])
def test_a_repeat_by_a_slow_clock_is_a_repeat(way: str, older_s: int, repeats: bool) -> None:
    """As much older than the fact's beginning as clocks may differ, it counts as made when the fact was stated last; not older."""
    world = World(policy=Policy())
    ports = {"window": Gone()} if way == "text" else {}
    world.run([world.record("the api port is 8080", 500, source=TOOL)], **ports)
    world.run([world.record("the api port is 8080", 500 - older_s, source=TOOL)], **ports)
    first, again = world.decisions()
    [fact] = world.current()
    if repeats:
        assert (again["decision"], again["reason"]) == ("skip", "exact_duplicate")
        assert again.get("via") == ("hash_window" if way == "window" else "text")
        assert again["resolved_at"] == first["occurred_at"]
        assert fact.valid_from == fact.last_stated_at == START + timedelta(seconds=500)
    else:
        assert (again["decision"], again["reason"]) == ("skip", "late_repeat")
        assert fact.valid_from == START + timedelta(seconds=500 - older_s)
    assert fact.stated_count == 2


def test_what_the_window_does_not_decide_is_not_exact() -> None:
    """It knows of a skip, which comes again from before the fact was true: judged by the similarity and the findings that there are."""
    world = World(always(Kind.SKIP), policy=Policy(skip_threshold=0.999))
    known, more = "the big nightly build runs at ten o'clock", "the big nightly build runs at ten o'clock sharp"
    world.run([world.record(known, 300), world.record(more, 400, source=TOOL)])
    world.run([world.record(more, 120, source=TOOL)])
    skip, again = world.decisions()[1:]
    assert skip["decision"] == again["decision"] == "skip"
    assert again.get("via", "rules") == "rules"
    assert skip["band"] == again["band"] == "ambiguous"
    assert skip["findings"] == again["findings"] != []
    assert again["dedup_signal"]["max_sim"] < 0.999


def test_the_window_leaves_what_is_of_another_slot_than_its_fact_to_the_rules() -> None:
    """They know what else was said of that slot: late in it, a statement has its place there, also where its words were known before."""
    decided = []
    for ports in ({}, {"window": Gone()}):
        world = World(always(Kind.ADD), policy=Policy())
        world.run([world.record("ana", 0), world.record("ana", 100, slot="owner", source=TOOL)], **ports)
        world.run([world.record("ben", 290, slot="owner")], **ports)
        world.run([world.record("ana", 200, slot="owner", source=TOOL)], **ports)
        decided.append([(d["decision"], d["reason"]) for d in world.decisions()])
    assert decided[0] == decided[1]


def test_the_window_knows_what_repeats_a_skip() -> None:
    """Of a tool in a loop, in words that the fact does not have: neither vector nor search; without the window both, and the same skip."""
    said = [("the big nightly build runs at ten o'clock sharp", 100 + n) for n in range(5)]
    for window, embedded in (({}, 2), ({"window": Gone()}, 6)):
        world = World(policy=Policy(skip_guard="off", skip_threshold=0.8))
        world.run([world.record("the big nightly build runs at ten o'clock")], **window)
        for text, at_s in said:
            world.run([world.record(text, at_s, source=TOOL)], **window)
        first, *again = world.decisions()[1:]
        assert len(world.embedder.embedded) == embedded
        assert (first["decision"], first["reason"]) == ("skip", "similar")
        assert {(d["decision"], d["reason"]) for d in again} == {("skip", "similar" if window else "exact_duplicate")}
        assert [fact.stated_count for fact in world.current()] == [6]
