"""What a wave has decided stands beside what the store says, as if it were there already."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factsieve.core.decision import Entry
from factsieve.core.facts import Fact, Source, Status
from factsieve.core.ids import text_hash
from factsieve.engine.overlay import Overlay, cosine, scored
from factsieve.ports import Near, NeighbourQuery, Vector, WindowHit

AT = datetime(2026, 3, 4, tzinfo=UTC)
WIDTH = timedelta(minutes=5)


def vector(*values: float) -> Vector:
    return np.array(values, dtype=np.float32)


EAST, NORTH = vector(1, 0), vector(0, 1)


def fact(
    name: str, status: Status = Status.CURRENT, *, text: str = "", slot: str | None = None, revision: int = 1
) -> Fact:
    return Fact(
        point_id=name, fact_id=name, namespace="team", text=text or name, status=status, revision=revision, version=revision,
        valid_from=AT, recorded_at=AT, last_stated_at=AT, source=Source.REMEMBER, event_key="k", decision_id="d", slot=slot,
    )  # fmt: skip


def took(overlay: Overlay, *facts: Fact, vectors: dict[str, Vector] | None = None) -> Overlay:
    """Take up a decision with these effects."""
    entry = Entry(decision=None, body_hash="", effects=facts, text_hash="h")  # type: ignore[arg-type]
    overlay.apply(entry, vectors or {}, None, AT)
    return overlay


def said(overlay: Overlay, hit: WindowHit, at: datetime) -> None:
    entry = Entry(decision=None, body_hash="", text_hash="h")  # type: ignore[arg-type]
    overlay.apply(entry, {}, hit, at)


def query(limit: int, *, past: bool = False, floor: float = 0.0) -> NeighbourQuery:
    return NeighbourQuery("team", EAST, limit, floor, past)


def names(hits: list[Near]) -> list[str]:
    return [hit.point_id for hit in hits]


def test_points_are_known_as_they_stand_now() -> None:
    """The latest state counts; what the wave did not touch stays as it was found."""
    overlay = took(took(Overlay(), fact("a")), fact("a", revision=2))
    assert overlay.latest(fact("a")).revision == 2
    assert overlay.get("a") == fact("a", revision=2)
    assert overlay.latest(fact("b")) == fact("b")
    assert overlay.get("b") is None


@pytest.mark.parametrize(("seconds", "found"), [(0, True), (300, True), (-300, True), (301, False), (-301, False)])
def test_the_window_reaches_so_far_to_both_sides(seconds: int, found: bool) -> None:
    """Statements of the wave up to the window's width away count, the one that was decided last before others."""
    overlay = Overlay()
    said(overlay, WindowHit("a", 1), AT)
    hit = overlay.window("h", AT + timedelta(seconds=seconds), WIDTH)
    assert hit == (WindowHit("a", 1) if found else None)
    assert overlay.window("other", AT, WIDTH) is None
    said(overlay, WindowHit("b", 2), AT)
    said(overlay, WindowHit("c", 1), AT + timedelta(days=1))
    assert overlay.window("h", AT, WIDTH) == WindowHit("b", 2)


def test_what_was_not_put_into_the_window_is_not_in_it() -> None:
    """A decision without a hit leaves no trace there, nor does it hide the one before it."""
    overlay = took(Overlay(), fact("a"))
    assert overlay.window("h", AT, WIDTH) is None
    said(overlay, WindowHit("a", 1), AT)
    assert took(overlay, fact("a", revision=2)).window("h", AT, WIDTH) == WindowHit("a", 1)


def test_facts_that_say_exactly_this() -> None:
    """New ones are found, reworded and retired ones are not, and those of the store as they stand now; in order of ids."""
    key = text_hash("x", None)
    overlay = took(Overlay(), fact("c", text="x"), fact("d", Status.PAST, text="x"), fact("e", text="y"))
    assert overlay.exact(key, []) == (fact("c", text="x"),)
    assert overlay.exact(key, [fact("b", text="x"), fact("e", text="x")]) == (fact("b", text="x"), fact("c", text="x"))
    took(overlay, fact("c", text="z", revision=2), fact("e", text="x", revision=2))
    assert overlay.exact(key, []) == (fact("e", text="x", revision=2),)
    took(overlay, fact("e", text="x", slot="s", revision=3))
    assert overlay.exact(key, [fact("b", Status.PAST, text="x")]) == ()
    assert overlay.exact(text_hash("x", "s"), []) == (fact("e", text="x", slot="s", revision=3),)


def test_facts_of_a_slot() -> None:
    """Those of the store as they stand now, with those of the wave; one that left the slot or the status is gone."""
    overlay = took(Overlay(), fact("c", slot="s"), fact("d", slot="t"), fact("a", Status.PAST, slot="s"), fact("f"))
    stored = [fact("e", slot="s"), fact("a", slot="s"), fact("f", slot="s")]
    assert overlay.of_slot("s", stored, frozenset({Status.CURRENT})) == [fact("c", slot="s"), fact("e", slot="s")]
    believed = overlay.of_slot("s", stored, frozenset({Status.CURRENT, Status.PAST}))
    assert [one.point_id for one in believed] == ["a", "c", "e"]


def test_neighbours_of_the_store_and_of_the_wave() -> None:
    """They come best first, ties by id, as many as are wanted; below the floor without their text."""
    overlay = took(Overlay(), fact("n"), fact("b"), vectors={"n": vector(0.6, 0.8), "b": EAST})
    hits = [Near("c", 1.0, fact("c")), Near("a", 0.7, fact("a"))]
    near, complete = overlay.neighbours(hits, query(4, floor=0.65), 4)
    assert complete
    assert near == [
        Near("b", 1.0, fact("b")), Near("c", 1.0, fact("c")), Near("a", 0.7, fact("a")), Near("n", 0.6, None),
    ]  # fmt: skip
    assert names(overlay.neighbours(hits, query(4), 2)[0]) == ["b", "c"]
    at_floor, _ = overlay.neighbours([], query(4, floor=0.6), 4)
    assert at_floor[-1] == Near("n", 0.6, fact("n"))


def test_hits_are_told_as_they_stand() -> None:
    """A point that changed and kept its vector has its new state and its similarity; where the store named no text, none is told."""
    overlay = took(Overlay(), fact("a", revision=2), fact("b", revision=2), fact("p", Status.PAST))
    hits = [Near("a", 0.9, fact("a")), Near("p", 0.8, fact("p")), Near("b", 0.5, None)]
    near, _ = overlay.neighbours(hits, query(8), 8)
    assert near == [Near("a", 0.9, fact("a", revision=2)), Near("b", 0.5, None)]


def test_a_point_whose_vector_changed_has_its_new_similarity() -> None:
    """The store's similarity of a reworded point is of its former words."""
    overlay = took(Overlay(), fact("a", revision=2), vectors={"a": NORTH})
    near, _ = overlay.neighbours([Near("a", 1.0, fact("a"))], query(8), 8)
    assert near == [Near("a", 0.0, fact("a", revision=2))]


@pytest.mark.parametrize(
    ("answered", "limit", "wanted", "complete"),
    [(3, 3, 2, True), (3, 3, 3, False), (2, 3, 3, True), (3, 3, 1, True), (0, 3, 3, True)],
)
def test_whether_the_neighbours_are_certain(answered: int, limit: int, wanted: int, complete: bool) -> None:
    """Of a full answer one hit was retired: what remains is certain only as far as it goes; an answer that is not full is all there is."""
    overlay = took(Overlay(), fact("0", Status.PAST))
    hits = [Near(str(n), 0.9, fact(str(n))) for n in range(answered)]
    assert overlay.neighbours(hits, query(limit), wanted)[1] is complete


def test_past_and_current_are_looked_up_apart() -> None:
    """A point is a neighbour among those of its status, and follows when it changes."""
    overlay = took(Overlay(), fact("a"), fact("b"), vectors={"a": EAST, "b": EAST})
    took(overlay, fact("a", Status.PAST, revision=2))
    assert names(overlay.neighbours([], query(8), 8)[0]) == ["b"]
    assert names(overlay.neighbours([], query(8, past=True), 8)[0]) == ["a"]
    took(overlay, fact("b", Status.ARCHIVED, revision=2))
    assert overlay.neighbours([], query(8), 8)[0] == []
    assert names(overlay.neighbours([], query(8, past=True), 8)[0]) == ["a"]


@pytest.mark.parametrize("wanted", [1, 2, 5])
def test_retired_points_do_not_crowd_out_others(wanted: int) -> None:
    """However many nearer points left the status, as many others are found as are wanted."""
    vectors = {f"r{n}": EAST for n in range(20)} | {f"s{n}": vector(1, 0.2 + n / 10) for n in range(6)}
    overlay = took(Overlay(), *(fact(name) for name in vectors), vectors=vectors)
    took(overlay, *(fact(f"r{n}", Status.PAST, revision=2) for n in range(20)))
    assert names(overlay.neighbours([], query(8), wanted)[0]) == [f"s{n}" for n in range(wanted)]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=60), st.integers(1, 8))
def test_nearest_are_those_that_a_full_sort_gives(angles: list[int], limit: int) -> None:
    """However many there are, growing or replaced, ties included: the first ones are those of all, sorted."""
    overlay = Overlay()
    vectors = {}
    for number, angle in enumerate(angles):
        name = f"{number % 40:02}"
        vectors[name] = vector(1, angle / 3)
        took(overlay, fact(name, revision=number + 1), vectors={name: vectors[name]})
    expected = sorted(vectors, key=lambda name: (-cosine(EAST, vectors[name]), name))[:limit]
    near, _ = overlay.neighbours([], query(8), limit)
    assert names(near) == expected
    assert [hit.similarity for hit in near] == [cosine(EAST, vectors[name]) for name in expected]


def test_vectors_that_are_wanting_can_be_learnt() -> None:
    """Of changed points only, and by status; what is learnt makes them neighbours."""
    overlay = took(Overlay(), fact("a", Status.PAST), fact("b", Status.PAST), fact("c"), vectors={"b": NORTH})
    assert overlay.without_vector(Status.PAST) == ["a"]
    assert overlay.without_vector(Status.CURRENT) == ["c"]
    overlay.learn({"a": EAST, "unknown": EAST})
    assert overlay.without_vector(Status.PAST) == []
    assert overlay.vector("unknown") is None
    assert names(overlay.neighbours([], query(8, past=True), 8)[0]) == ["a", "b"]


def test_what_does_not_hold_any_more() -> None:
    """Past, archived and withdrawn points, by id; current and erased ones are not among them."""
    overlay = took(Overlay(), *(fact(status.value, status) for status in Status))
    assert [one.point_id for one in overlay.retired()] == ["archived", "past", "retracted"]


def test_cosines() -> None:
    """A cosine is of the directions alone, rounded to 1e-5, and hits without a text are not scored."""
    assert cosine(vector(3, 0), vector(5, 0)) == 1.0
    assert cosine(vector(2, 0), vector(-1, 0)) == -1.0
    assert cosine(vector(1, 1), EAST) == 0.70711
    assert [one.similarity for one in scored([Near("a", 0.5, fact("a")), Near("b", 0.4, None)])] == [0.5]


def test_what_the_wave_brought_nearer_than_the_last_hit_takes_its_place() -> None:
    """Also where more points than are wanted lie nearer still that do not count any more."""
    overlay = took(Overlay(), fact("c"), vectors={"c": vector(0.7, 0.7)})
    hits = [Near("a", 0.9, fact("a")), Near("b", 0.5, fact("b"))]
    found, complete = overlay.neighbours(hits, query(2), 2)
    assert (names(found), complete) == (["a", "c"], True)
    for name in ("r", "s", "t"):
        took(overlay, fact(name), vectors={name: vector(0.95, 0.1)})
        took(overlay, fact(name, Status.PAST))
    found, complete = overlay.neighbours(hits, query(2), 2)
    assert (names(found), complete) == (["a", "c"], True)
