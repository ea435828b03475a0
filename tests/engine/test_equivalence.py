"""Decisions made in waves equal decisions made one at a time."""

import itertools
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from factsieve.core.policy import Policy
from tests.engine.harness import World, by_digest, stripped

WORDS = ("redis", "cache", "port", "8080", "moved", "owner", "is", "ana", "ben", "now")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
events = st.fixed_dictionaries(
    {
        "text": texts,
        "at_s": st.integers(-20, 20).map(lambda n: n * 50),
        "namespace": st.sampled_from(["a", "b"]),
        "slot": st.sampled_from([None, None, "user.port", "user.owner"]),
        "source": st.sampled_from(["remember", "post_tool_use"]),
    }
)


def run(world: World, stream: list[dict[str, Any]]) -> dict[str, Any]:
    world.run([world.record(event=f"e{i}", **event) for i, event in enumerate(stream)])
    return {d["event_id"]: stripped(d) for d in world.decisions()}


@settings(
    max_examples=150,
    deadline=None,
    phases=(Phase.generate, Phase.explicit),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    stream=st.lists(events, min_size=1, max_size=24),
    wave_events=st.integers(2, 24),
    slack=st.integers(0, 3),
    limit=st.integers(1, 4),
    remote=st.booleans(),
    guard=st.sampled_from(["off", "ask"]),
)
def test_waves_equal_one_at_a_time(
    stream: list[dict[str, Any]], wave_events: int, slack: int, limit: int, remote: bool, guard: Any
) -> None:
    """Any batching gives the decisions and the stored state of one event after the other."""
    policy = Policy(skip_guard=guard, supersede_scan_limit=limit, second_look_floor=0.3)
    waves = World(by_digest, policy=policy, wave_events=wave_events, slack=slack, remote=remote)
    single = World(by_digest, policy=policy, wave_events=1, slack=slack)
    assert run(waves, stream) == run(single, stream)
    assert waves.state() == single.state()


SLOT = [("A", 0), ("B", 1000), ("A", 2000), ("C", 3000)]


def timeline_of(order: tuple[tuple[str, int], ...]) -> list[Any]:
    from factsieve.core.facts import Kind
    from tests.engine.harness import always

    world = World(always(Kind.SUPERSEDE), policy=Policy(), wave_events=3)
    world.run([world.record(f"value {t}", at, slot="user.value") for t, at in order])
    return world.timeline()


def test_any_arrival_order_ends_in_one_timeline() -> None:
    """Four statements about one slot end in the same intervals, however they arrive; repeats included."""
    for values in itertools.product("ABC", repeat=4):
        statements = [(value, 1000 * i) for i, value in enumerate(values)]
        expected = timeline_of(tuple(statements))
        for order in itertools.permutations(statements):
            assert timeline_of(order) == expected, order
