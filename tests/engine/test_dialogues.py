"""The reference's dialogues, with vectors at fixed similarities and a scripted judge."""

import asyncio

import numpy as np
import pytest

from factsieve.core.facts import FOREVER, Kind
from factsieve.core.policy import Policy
from tests.engine.harness import DIMENSION, START, World, always

FIRST = [1.0, *[0.0] * (DIMENSION - 1)]


def at_similarity(similarity: float) -> list[float]:
    """Return a unit vector with this cosine to FIRST."""
    return [similarity, float(np.sqrt(1 - similarity**2)), *[0.0] * (DIMENSION - 2)]


def world_with(similarity: float, kind: Kind) -> World:
    world = World(always(kind), policy=Policy(skip_guard="off"))
    first = world.record("we use LISTEN/NOTIFY for events", embedding=FIRST, embedding_model="toy")
    other = world.record("something else", 60_000, embedding=at_similarity(similarity), embedding_model="toy")
    world.run([first, other])
    return world


@pytest.mark.parametrize(
    ("similarity", "kind", "band", "allowed"),
    [
        (0.91, "skip", "known", None),
        (0.82, "update", "ambiguous", set(Kind)),
        (0.75, "supersede", "supersede_eligible", {Kind.SUPERSEDE, Kind.ADD}),
        (0.60, "add", "new", None),
    ],
)
def test_bands_at_fixed_similarities(similarity: float, kind: str, band: str, allowed: set[Kind] | None) -> None:
    """0.91 is known without a question, 0.82 is judged, 0.75 may only be superseded or added, 0.60 is new."""
    world = world_with(similarity, Kind(kind))
    decision = world.decisions()[1]
    assert (decision["decision"], decision["band"]) == (kind, band)
    assert decision["dedup_signal"]["max_sim"] == pytest.approx(similarity, abs=1e-5)
    assert [set(question.allowed) for question in world.judge.questions] == ([] if allowed is None else [allowed])


def test_superseded_fact_is_linked_and_still_visible_with_its_date() -> None:
    """What was retired says by what, and until when it held."""
    world = world_with(0.75, Kind.SUPERSEDE)
    [new] = world.current()
    rows = {row["point_id"]: row for row in world.state()}
    old = rows[new.supersedes[0]]
    assert old["superseded_by"] == new.fact_id
    assert old["status"] == "past"
    assert world.timeline()[0][1] == new.valid_from
    assert world.timeline()[1][1] == FOREVER
    assert len(world.outbox.of("fact-supersessions")) == 1


@pytest.mark.parametrize(
    ("similarity", "threshold", "expected"),
    [(0.849, None, False), (0.849, 0.84, True), (0.85, None, False), (0.86, None, True)],
)
def test_signal_is_strict_and_takes_a_threshold_per_call(
    similarity: float, threshold: float | None, expected: bool
) -> None:
    """`is_update` is `max_sim > threshold`, whatever is decided."""
    world = World(policy=Policy(skip_guard="off"))
    more = {} if threshold is None else {"dedup_threshold": threshold}
    world.run(
        [
            world.record("one", embedding=FIRST, embedding_model="toy"),
            world.record("two", 60_000, embedding=at_similarity(similarity), embedding_model="toy", **more),
        ]
    )
    assert world.decisions()[1]["dedup_signal"]["is_update"] is expected


def test_given_vectors_stay_with_their_facts_through_later_changes() -> None:
    """A repeat, a retirement and a wave of both keep the vector that came along."""
    world = world_with(0.75, Kind.SUPERSEDE)
    world.run([world.record("something else", 70_000)])
    [new] = world.current()
    vectors = asyncio.run(world.facts.vectors([new.point_id, new.supersedes[0]]))
    assert vectors[new.point_id][0] == pytest.approx(0.75, abs=1e-5)
    assert vectors[new.supersedes[0]][0] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("kind", [Kind.SUPERSEDE, Kind.UPDATE])
@pytest.mark.parametrize("values", [("8080", "8081", "8080"), ("ON", "OFF", "ON")])
@pytest.mark.parametrize("source", ["post_tool_use", "remember"])
@pytest.mark.parametrize("wave_events", [1, 8])
def test_flip_flops_reassert(kind: Kind, values: tuple[str, ...], source: str, wave_events: int) -> None:
    """A value that comes back within the window is stated anew: the window's entry names a fact that has moved on."""
    world = World(always(kind), policy=Policy(skip_guard="off", skip_threshold=0.99), wave_events=wave_events)
    world.run(
        [
            world.record(f"the flag of the new basket is {v}", 10 * i, slot="flag", source=source)
            for i, v in enumerate(values)
        ]
    )
    assert [d["decision"] for d in world.decisions()] == ["add", kind.value, kind.value]
    assert [fact.text[-len(values[2]) :] for fact in world.current()] == [values[2]]
    assert [text for _, _, text in world.timeline()] == [f"the flag of the new basket is {v}" for v in values]


def test_tool_loop_after_five_minutes_goes_on_to_the_rules() -> None:
    """The window ends; the exact rule still knows the text."""
    world = World()
    times = [0, 299, 299 + 301]
    world.run([world.record("ran the migration", t, source="post_tool_use") for t in times])
    assert [(d["decision"], d.get("via", "rules")) for d in world.decisions()] == [
        ("add", "rules"),
        ("skip", "hash_window"),
        ("skip", "text"),
    ]


def test_window_serves_also_where_the_first_was_a_skip() -> None:
    """A rewording that was skipped leads the window to the fact that it repeats, without another embedding."""
    world = World(policy=Policy(skip_guard="off", skip_threshold=0.8))
    world.run([world.record("the nightly job has run the big migration")])
    world.run([world.record("the nightly job has run the big migrations", 60, source="post_tool_use")])
    embedded = len(world.embedder.embedded)
    world.run(
        [
            world.record("the nightly job has run the big migrations", 60 + i, source="post_tool_use")
            for i in range(1, 100)
        ]
    )
    assert [d["decision"] for d in world.decisions()[1:]] == ["skip"] * 100
    assert {d["reason"] for d in world.decisions()[2:]} == {"exact_duplicate"}
    assert len(world.embedder.embedded) == embedded


def test_dentist_tomorrow_a_month_later_is_new() -> None:
    """A relative time that resolves to another day makes another statement of the same text."""
    world = World(always(Kind.ADD), policy=Policy())
    world.run(
        [
            world.record("Dentist tomorrow", 0),
            world.record("Dentist tomorrow", 3600),
            world.record("Dentist tomorrow", 30 * 86_400),
        ]
    )
    assert [d["decision"] for d in world.decisions()] == ["add", "skip", "add"]


def test_tenants_never_mix() -> None:
    """The same statement in two namespaces is two facts; no query, window key or question crosses."""
    names = ["a", "b", "a:b", "ä", "a\u0308"]
    world = World(always(Kind.SUPERSEDE), policy=Policy(skip_guard="off"))
    for turn in range(2):
        world.run(
            [
                world.record("the port of the main api server is 8080", turn * 10, namespace=n, source="post_tool_use")
                for n in names
            ]
        )
    world.run([world.record(f"the port of the main api server is {n} 8081", 90_000, namespace=n) for n in names])
    facts = {n: world.current(n) for n in names}
    assert all(len(found) == 1 and found[0].namespace == n for n, found in facts.items())
    homes = {row["point_id"]: row["namespace"] for row in world.state()}
    for decision in world.decisions():
        mentioned = [decision.get("matched_id"), *[n["fact_id"] for n in decision.get("neighbours", [])]]
        assert all(homes[m] == decision["namespace"] for m in mentioned if m)
    for question in world.judge.questions:
        assert question.namespace in names


def test_repeat_later_than_a_late_contradiction_is_not_retired_by_it() -> None:
    """What was said again after the late statement's time stands; the late one becomes history in between."""
    world = World(always(Kind.SUPERSEDE), policy=Policy(skip_guard="off", skip_threshold=0.99))
    said = "the office of the main team is in Kiel"
    world.run([world.record(said, 0), world.record(said, 300_000)])
    world.run([world.record("the office of the main team is in Bonn", 100_000)])
    assert [fact.text for fact in world.current()] == [said]
    assert world.decisions()[-1]["reason"] == "late_history"
    assert [text[-4:] for _, _, text in world.timeline()] == ["Kiel", "Bonn", "Kiel"]
    assert world.timeline()[0][0] == START
