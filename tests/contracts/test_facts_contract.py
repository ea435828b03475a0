"""What every fact store does with writes, neighbours and look-ups."""

import math
import unicodedata
from datetime import timedelta

import numpy as np
import pytest
from contract_values import (
    DIMENSION,
    T0,
    Box,
    at_cosine,
    axis,
    changed,
    full_fact,
    hits,
    ids,
    insert,
    make_fact,
    near_axis,
    new_id,
    new_namespace,
    update,
)

from factsieve.core.errors import Bug
from factsieve.core.facts import Fact, Status
from factsieve.core.ids import text_hash
from factsieve.ports import FactStore, FactWrite, NeighbourQuery

AWKWARD_NAMESPACES = [
    "a",
    "A",
    "a ",
    " a",
    "a\u0000b",
    "a*",
    "*",
    "é",
    "e\u0301",
    "\U0001f3e0 Haus",
    "שלום",
    '"} , {"should": []',
    "' or 1=1",
    "%61",
    "../a",
    "a/b",
    "null",
    "true",
    "1",
    "x" * 500,
]


def one(facts: Box[FactStore], point_id: str) -> Fact | None:
    """Return a point as it is stored."""

    async def scenario(store: FactStore) -> Fact | None:
        return (await store.get([point_id])).get(point_id)

    return facts.run(scenario)


def perform(facts: Box[FactStore], *writes: FactWrite) -> None:
    """Write."""
    facts.run(lambda store: store.write(writes))


class TestWrite:
    def test_what_is_written_is_read_back_whole(self, facts):
        """Every field of a fact survives: all times to the microsecond, any Unicode, nested attributes."""
        fact = full_fact(new_namespace())
        assert [name for name in fact.__struct_fields__ if getattr(fact, name) is None] == []
        perform(facts, insert(fact))
        assert one(facts, fact.point_id) == fact

    def test_a_second_insert_leaves_the_first_alone(self, facts):
        """An insert of an existing id changes nothing, whatever its version, and whatever else the call holds."""
        first = make_fact(new_namespace(), "first")
        other = make_fact(first.namespace, "other")
        perform(facts, insert(first))
        perform(facts, insert(changed(first, text="second", version=9), at_cosine(0.5)), insert(other))
        assert one(facts, first.point_id) == first
        assert one(facts, other.point_id) == other
        near = facts.run(lambda store: store.neighbours([near_axis(first.namespace)]))[0]
        assert dict(hits(near))[first.point_id] == 1.0

    @pytest.mark.parametrize(
        ("stored", "written", "replaced"), [(1, 2, True), (2, 2, False), (3, 2, False), (9, 10, True)]
    )
    def test_only_a_lower_version_is_replaced(self, facts, stored, written, replaced):
        """A write replaces a point of a lower version and leaves an equal or higher one alone (as numbers: 9 < 10)."""
        old = make_fact(new_namespace(), "old", version=stored)
        new = changed(old, text="new", version=written)
        perform(facts, insert(old))
        perform(facts, update(new))
        assert one(facts, old.point_id) == (new if replaced else old)

    def test_an_update_creates_no_point(self, facts):
        """A conditional write on an absent point does nothing."""
        fact = make_fact(new_namespace(), version=5)
        perform(facts, update(fact))
        assert one(facts, fact.point_id) is None
        assert facts.run(lambda store: store.neighbours([near_axis(fact.namespace)])) == [[]]

    def test_an_update_replaces_the_whole_point(self, facts):
        """After an update no field, look-up or vector of the former point is left."""
        old = full_fact(new_namespace())
        new = make_fact(old.namespace, "plain", point_id=old.point_id, version=old.version + 1)
        perform(facts, insert(old))
        perform(facts, update(new, axis(3)))
        assert one(facts, old.point_id) == new

        async def scenario(store: FactStore) -> None:
            assert await store.by_slot([(old.namespace, old.slot)], past=True) == [[]]
            assert await store.by_text([(old.namespace, text_hash(old.text, old.slot))]) == [[]]
            assert await store.by_text([(old.namespace, text_hash("plain", None))]) == [[new]]
            assert hits((await store.neighbours([near_axis(old.namespace)]))[0]) == [(old.point_id, 0.0)]
            assert (await store.vectors([old.point_id]))[old.point_id] == pytest.approx(axis(3))

        facts.run(scenario)

    def test_one_call_takes_many_versions(self, facts):
        """Inserts, updates to several versions, and stale ones stand in one call, each judged by itself."""
        namespace = new_namespace()
        stored = [make_fact(namespace, f"old {number}", version=number % 4 + 1) for number in range(40)]
        perform(facts, *(insert(fact) for fact in stored))
        targets = [changed(fact, text=f"new {number}", version=number % 3 + 2) for number, fact in enumerate(stored)]
        fresh = [make_fact(namespace, f"fresh {number}") for number in range(5)]
        perform(facts, *(update(fact) for fact in targets), *(insert(fact) for fact in fresh))
        expected = [new if old.version < new.version else old for old, new in zip(stored, targets, strict=True)] + fresh
        found = facts.run(lambda store: store.get(ids(expected)))
        assert found == {fact.point_id: fact for fact in expected}

    def test_writing_again_changes_nothing(self, facts):
        """The same call twice, as after a crash, leaves what one call left."""
        namespace = new_namespace()
        stored, fresh = make_fact(namespace, "stored"), make_fact(namespace, "fresh")
        target = changed(stored, text="target", version=2)
        perform(facts, insert(stored))
        for _ in range(2):
            perform(facts, update(target), insert(fresh))
        assert facts.run(lambda store: store.select(namespace, current_only=False)) == sorted(
            [target, fresh], key=lambda fact: fact.point_id
        )

    def test_more_than_one_request_holds(self, facts):
        """A call with 1,200 facts is written whole."""
        namespace = new_namespace()
        many = [make_fact(namespace, f"fact {number}") for number in range(1200)]
        perform(facts, *(insert(fact) for fact in many))
        assert len(facts.run(lambda store: store.select(namespace))) == 1200
        found = facts.run(lambda store: store.get([*ids(many), new_id()]))
        assert found.keys() == set(ids(many))

    def test_large_facts(self, facts):
        """200 facts with 400 kB each of text and attributes, more than any request may hold, are written and read whole."""
        namespace = new_namespace()
        large = [
            make_fact(namespace, f"{number}" + "ü" * 50_000, attributes={"a": "\u0001" * 50_000})
            for number in range(200)
        ]
        perform(facts, *(insert(fact) for fact in large))
        assert facts.run(lambda store: store.get(ids(large))) == {fact.point_id: fact for fact in large}

    def test_nothing_is_asked_and_nothing_is_answered(self, facts):
        """Empty calls are no errors."""

        async def scenario(store: FactStore) -> list[object]:
            await store.write([])
            return [
                await store.neighbours([]),
                await store.by_slot([]),
                await store.by_text([]),
                await store.get([]),
                await store.vectors([]),
            ]

        assert facts.run(scenario) == [[], [], [], {}, {}]

    @pytest.mark.parametrize(
        "vector",
        [
            np.full(DIMENSION, np.nan, dtype=np.float32),
            np.full(DIMENSION, np.inf, dtype=np.float32),
            np.zeros(DIMENSION, dtype=np.float32),
            axis() * np.float32(1.01),
            axis()[:-1],
            np.concatenate([axis(), axis()]),
            axis().reshape(1, -1),
        ],
        ids=["nan", "infinite", "zero", "not-unit", "short", "long", "matrix"],
    )
    def test_a_bad_vector_is_a_bug_and_nothing_is_written(self, facts, vector):
        """NaN, infinite, zero, not normalised or wrongly sized vectors are refused in writes and in queries."""
        good, bad = make_fact(new_namespace()), make_fact(new_namespace())
        with pytest.raises(Bug, match=bad.point_id):
            perform(facts, insert(good), insert(bad, vector))
        assert one(facts, good.point_id) is None
        with pytest.raises(Bug, match="neighbour query"):
            facts.run(lambda store: store.neighbours([NeighbourQuery(good.namespace, vector, 1, 0.0)]))

    def test_a_point_twice_in_one_call_is_a_bug(self, facts):
        """Which of two writes of one call would win is undefined: it is refused."""
        fact = make_fact(new_namespace())
        with pytest.raises(Bug, match="twice"):
            perform(facts, insert(fact), update(changed(fact, version=2)))

    def test_vectors_come_back(self, facts):
        """The stored vectors are read back as float32, for those points that exist."""
        fact, other = make_fact(new_namespace()), make_fact(new_namespace())
        perform(facts, insert(fact, at_cosine(0.6)), insert(other, axis(2)))
        found = facts.run(lambda store: store.vectors([other.point_id, new_id(), fact.point_id]))
        assert found.keys() == {fact.point_id, other.point_id}
        assert found[fact.point_id].dtype == np.float32
        assert found[fact.point_id] == pytest.approx(at_cosine(0.6), abs=1e-6)
        assert found[other.point_id] == pytest.approx(axis(2), abs=1e-6)


class TestNeighbours:
    def test_best_first_and_rounded(self, facts):
        """Hits come best first with cosines clamped to [-1, 1] and rounded to 1e-5, also zero and negative ones."""
        namespace = new_namespace()
        cosines = [0.123456, 1.0, -1.0, 0.0, 0.87999, 0.88, -0.5]
        stored = {cosine: make_fact(namespace, str(cosine)) for cosine in cosines}
        perform(facts, *(insert(fact, at_cosine(cosine)) for cosine, fact in stored.items()))
        near = facts.run(lambda store: store.neighbours([near_axis(namespace, floor=-1.0)]))[0]
        assert hits(near) == [(stored[c].point_id, round(c, 5)) for c in sorted(cosines, reverse=True)]
        assert [hit.fact for hit in near] == [stored[c] for c in sorted(cosines, reverse=True)]

    def test_ties_stand_in_order_of_point_id(self, facts):
        """Equal similarities are ordered by point id, and the limit cuts in that order."""
        namespace = new_namespace()
        tied = [make_fact(namespace, f"tied {number}") for number in range(60)]
        best = make_fact(namespace, "best")
        perform(facts, *(insert(fact, at_cosine(0.8, 1 + number % 5)) for number, fact in enumerate(tied)))
        perform(facts, insert(best, at_cosine(0.9)))
        expected = [(best.point_id, 0.9), *((point, 0.8) for point in sorted(ids(tied)))]
        for limit in (1, 2, 8, 59, 61, 100):
            near = facts.run(lambda store, limit=limit: store.neighbours([near_axis(namespace, limit)]))[0]
            assert hits(near) == expected[:limit]

    def test_the_floor_holds_payloads_back(self, facts):
        """Hits below the payload floor are ids and similarities, those at it carry their facts."""
        namespace = new_namespace()
        at, below = make_fact(namespace, "at"), make_fact(namespace, "below")
        perform(facts, insert(at, at_cosine(0.72)), insert(below, at_cosine(0.71999)))
        near = facts.run(lambda store: store.neighbours([near_axis(namespace, floor=0.72)]))[0]
        assert [(hit.point_id, hit.fact) for hit in near] == [(at.point_id, at), (below.point_id, None)]
        assert near[1].similarity == 0.71999

    def test_current_and_past_are_apart(self, facts):
        """A query finds current facts only, or past rows only; archived, retracted and erased rows are never found."""
        namespace = new_namespace()
        stored = {status: make_fact(namespace, status, status=status) for status in Status}
        perform(facts, *(insert(fact) for fact in stored.values()))
        queries = [near_axis(namespace), near_axis(namespace, past=True)]
        current, past = facts.run(lambda store: store.neighbours(queries))
        assert hits(current) == [(stored[Status.CURRENT].point_id, 1.0)]
        assert hits(past) == [(stored[Status.PAST].point_id, 1.0)]
        assert past[0].fact == stored[Status.PAST]

    def test_a_change_of_status_moves_a_fact(self, facts):
        """A fact that is superseded leaves the current ones and is found among the past ones."""
        fact = make_fact(new_namespace())
        perform(facts, insert(fact))
        perform(facts, update(changed(fact, status=Status.PAST, version=2)))
        queries = [near_axis(fact.namespace), near_axis(fact.namespace, past=True)]
        assert [ids_of(near) for near in facts.run(lambda store: store.neighbours(queries))] == [[], [fact.point_id]]

    def test_queries_of_many_namespaces_are_answered_in_order(self, facts):
        """One call answers queries of several namespaces, limits and floors, each for itself and in order."""
        first, second = new_namespace(), new_namespace()
        stored = [make_fact(namespace) for namespace in (first, first, second)]
        perform(
            facts,
            *(
                insert(fact, vector)
                for fact, vector in zip(stored, (at_cosine(0.9), at_cosine(0.8), axis()), strict=True)
            ),
        )
        queries = [near_axis(second), near_axis(first, 1), near_axis(new_namespace()), near_axis(first, 5, 0.85)]
        answers = facts.run(lambda store: store.neighbours(queries))
        assert [ids_of(near) for near in answers] == [
            [stored[2].point_id],
            [stored[0].point_id],
            [],
            [stored[0].point_id, stored[1].point_id],
        ]
        assert [hit.fact is None for hit in answers[3]] == [False, True]

    def test_six_hundred_queries_in_one_call(self, facts):
        """More queries than fit one request are all answered."""
        fact = make_fact(new_namespace())
        perform(facts, insert(fact))
        answers = facts.run(lambda store: store.neighbours([near_axis(fact.namespace)] * 600))
        assert [hits(near) for near in answers] == [[(fact.point_id, 1.0)]] * 600

    def test_cosines_agree_with_float64(self, facts):
        """Random unit vectors: order and similarities are those of a float64 computation, to 1e-5."""
        random = np.random.default_rng(20260304)
        vectors = random.standard_normal((200, DIMENSION)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        namespace = new_namespace()
        stored = [make_fact(namespace, f"random {number}") for number in range(len(vectors))]
        perform(facts, *(insert(fact, vector) for fact, vector in zip(stored, vectors, strict=True)))
        query = NeighbourQuery(namespace, vectors[0], 200, 2.0)
        near = facts.run(lambda store: store.neighbours([query]))[0]
        exact = dict(
            zip(ids(stored), (vectors.astype(np.float64) @ vectors[0].astype(np.float64)).tolist(), strict=True)
        )
        assert len(near) == 200
        assert all(math.isclose(hit.similarity, exact[hit.point_id], abs_tol=1.01e-5) for hit in near)
        assert hits(near) == sorted(hits(near), key=lambda hit: (-hit[1], hit[0]))
        assert near[0].similarity == 1.0


def ids_of(near: list) -> list[str]:
    return [hit.point_id for hit in near]


class TestNamespaces:
    def test_namespaces_never_mix(self, facts):
        """The same statement in namespaces with awkward names stays in each: no query, slot, text or story crosses over."""
        mark = new_namespace("m")
        namespaces = [f"{name}\u241f{mark}" if len(name) > 400 else name for name in AWKWARD_NAMESPACES]
        story = new_id()
        stored = {
            name: make_fact(name, f"same text {mark}", slot=f"same slot {mark}", fact_id=story) for name in namespaces
        }
        perform(facts, *(insert(fact, axis(7)) for fact in stored.values()))
        key = text_hash(f"same text {mark}", f"same slot {mark}")

        async def scenario(store: FactStore) -> None:
            slots = await store.by_slot([(name, f"same slot {mark}") for name in namespaces])
            texts = await store.by_text([(name, key) for name in namespaces])
            for name, by_slot, by_text in zip(namespaces, slots, texts, strict=True):
                assert by_slot == by_text == [stored[name]]
                assert await store.history(name, story) == [stored[name]]
                assert stored[name] in await store.select(name)
                assert {fact.namespace for fact in await store.select(name)} == {name}
            queries = [NeighbourQuery(name, axis(7), 64, 0.99) for name in namespaces]
            for name, near in zip(namespaces, await store.neighbours(queries), strict=True):
                assert stored[name] in [hit.fact for hit in near]
                assert {hit.fact.namespace for hit in near if hit.fact} == {name}

        facts.run(scenario)


class TestLookups:
    def test_by_slot_gives_current_facts(self, facts):
        """The current facts of a slot come by point id, other slots and statuses do not; with `past` the past rows come too."""
        namespace = new_namespace()
        stored = {status: make_fact(namespace, status, slot="user.city", status=status) for status in Status}
        second = make_fact(namespace, "second", slot="user.city")
        others = [
            make_fact(namespace, slot="user.City"),
            make_fact(namespace),
            make_fact(new_namespace(), slot="user.city"),
        ]
        perform(facts, *(insert(fact) for fact in [*stored.values(), second, *others]))
        current = sorted([stored[Status.CURRENT], second], key=lambda fact: fact.point_id)
        both = sorted([*current, stored[Status.PAST]], key=lambda fact: fact.point_id)
        pairs = [(namespace, "user.city"), (namespace, "absent"), (others[2].namespace, "user.city")]

        async def scenario(store: FactStore) -> None:
            assert await store.by_slot(pairs) == [current, [], [others[2]]]
            assert await store.by_slot(pairs, past=True) == [both, [], [others[2]]]
            assert await store.by_slot([pairs[0], pairs[0]]) == [current, current]

        facts.run(scenario)

    def test_slots_of_two_namespaces_do_not_cross(self, facts):
        """Asking for slot X of one namespace and slot Y of another brings neither namespace's other slot."""
        one_space, two_space = new_namespace(), new_namespace()
        stored = {(name, slot): make_fact(name, slot=slot) for name in (one_space, two_space) for slot in ("x", "y")}
        perform(facts, *(insert(fact) for fact in stored.values()))
        asked = [(one_space, "x"), (two_space, "y")]
        assert facts.run(lambda store: store.by_slot(asked)) == [[stored[pair]] for pair in asked]

    def test_a_long_slot_gives_its_latest_64(self, facts):
        """Of a slot with 700 rows the 64 latest by `valid_from` come back, and the others asked for with it are whole."""
        namespace = new_namespace()
        rows = [
            make_fact(
                namespace, f"row {number}", slot="long", status=Status.PAST, valid_from=T0 + timedelta(minutes=number)
            )
            for number in range(700)
        ]
        short = make_fact(namespace, "short", slot="short")
        perform(facts, *(insert(fact) for fact in [*rows, short]))
        latest = sorted(rows[-64:], key=lambda fact: fact.point_id)
        asked = [(namespace, "short"), (namespace, "long")]
        assert facts.run(lambda store: store.by_slot(asked, past=True)) == [[short], latest]

    def test_canonically_equal_texts_are_one_text(self, facts):
        """A fact written as NFD is found by the hash of its NFC form; its text comes back unchanged."""
        composed = "Zo\u00eb \u00c5ngstr\u00f6m caf\u00e9"
        decomposed = unicodedata.normalize("NFD", composed)
        assert composed != decomposed
        fact = make_fact(new_namespace(), decomposed)
        perform(facts, insert(fact))
        found = facts.run(lambda store: store.by_text([(fact.namespace, text_hash(composed, None))]))
        assert found == [[fact]]

    def test_by_text_gives_current_facts(self, facts):
        """Text and slot must both be the same, and only current facts say something, each key answered in order."""
        namespace = new_namespace()
        stored = {status: make_fact(namespace, "same", status=status) for status in Status}
        second, slotted = make_fact(namespace, "same"), make_fact(namespace, "same", slot="s")
        perform(facts, *(insert(fact) for fact in [*stored.values(), second, slotted]))
        keys = [
            (namespace, text_hash("same", "s")),
            (namespace, text_hash("same", None)),
            (namespace, text_hash("Same", None)),
        ]
        expected = [[slotted], sorted([stored[Status.CURRENT], second], key=lambda fact: fact.point_id), []]
        assert facts.run(lambda store: store.by_text(keys)) == expected

    def test_history_gives_every_row(self, facts):
        """The rows of a fact come whatever their status, in order of `recorded_at`, then revision."""
        namespace, story = new_namespace(), new_id()
        at = [T0, T0 + timedelta(seconds=1), T0 + timedelta(seconds=1), T0 + timedelta(days=1)]
        rows = [
            make_fact(namespace, f"r{number}", fact_id=story, revision=number + 1, recorded_at=when, status=status)
            for number, (when, status) in enumerate(
                zip(at, (Status.ARCHIVED, Status.RETRACTED, Status.PAST, Status.ERASED), strict=True)
            )
        ]
        perform(facts, *(insert(fact) for fact in reversed([*rows, make_fact(namespace)])))
        assert facts.run(lambda store: store.history(namespace, story)) == rows
        assert facts.run(lambda store: store.history(new_namespace(), story)) == []
