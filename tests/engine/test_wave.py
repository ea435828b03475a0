"""What a wave looks up, and only that; what it takes from the window, a vector or a slot, and what it does not trust."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
import pytest

from factsieve.core.errors import Transient
from factsieve.core.facts import Kind, Source, Status
from factsieve.core.ids import text_hash
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policies, Policy
from factsieve.engine.ports import Gathered, QuietObserver
from factsieve.engine.wave import WaveSettings, new_vectors, unit
from factsieve.ports import Coverage, WindowHit
from factsieve.wire.topics import Limits
from tests.engine.harness import DIMENSION, START, ToyEmbedder, World, always
from tests.engine.test_performer import Watched, recorded

TOOL = "post_tool_use"
WIDE = Policy(skip_guard="off", skip_threshold=0.995)
FIRST = [1.0, *[0.0] * (DIMENSION - 1)]


def at_similarity(similarity: float) -> list[float]:
    return [similarity, (1 - similarity**2) ** 0.5, *[0.0] * (DIMENSION - 2)]


class Calls:
    """The ports of a world, watched."""

    def __init__(self, world: World) -> None:
        self.facts, self.window, self.embedder = Watched(world.facts), Watched(world.window), Embedding(world.embedder)

    def ports(self) -> dict[str, Any]:
        return {"facts": self.facts, "window": self.window, "embedder": self.embedder}

    def sizes(self, port: str, name: str) -> list[int]:
        return [len(asked) for asked in getattr(self, port).of(name)]


class Embedding:
    """An embedder that keeps what it is asked at a time, and of which texts it was asked what its vectors are worth."""

    def __init__(self, embedder: Any, coverage: Coverage | None = None) -> None:
        self._embedder, self._coverage = embedder, coverage or Coverage(truncated=False, unknown_share=0.0)
        self.calls: list[list[str]] = []
        self.covered: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    async def embed(self, texts: Any) -> Any:
        self.calls.append(list(texts))
        return await self._embedder.embed(texts)

    def coverage(self, text: str) -> Coverage:
        self.covered.append(text)
        return self._coverage


class Told(QuietObserver):
    """Counts what it is told."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def distrusted(self, cause: str) -> None:
        self.counts[cause] += 1

    def ignored_foreign_embedding(self) -> None:
        self.counts["foreign"] += 1

    def degraded(self, service: str, error: str) -> None:
        self.counts[f"did without {service}"] += 1


def kinds(world: World) -> list[str]:
    return [decision["decision"] for decision in world.decisions()]


# What is looked up


def test_each_text_of_a_wave_is_looked_up_once() -> None:
    """Repeats within a wave cost nothing; what the store knows word for word needs neither vector nor neighbours."""
    world = World(policy=WIDE)
    world.run([world.record("known already")])
    calls = Calls(world)
    texts = ["alpha runs", "known already", "alpha runs", "beta walks", "known already"]
    world.run([world.record(text, n) for n, text in enumerate(texts)], **calls.ports())
    assert kinds(world)[1:] == ["add", "skip", "skip", "add", "skip"]
    assert calls.embedder.calls == [["alpha runs", "beta walks"]]
    assert calls.sizes("facts", "by_text") == [3]
    assert calls.sizes("facts", "neighbours") == [2]
    assert calls.sizes("facts", "by_slot") == []
    assert calls.window.of("find") == []


def test_a_slot_is_looked_up_where_there_is_one() -> None:
    """By its name, for the statements that name one; of others nothing is asked."""
    world = World(policy=WIDE)
    world.run([world.record("the port is 8080", slot="port"), world.record("the name is basket")])
    calls = Calls(world)
    world.run(
        [
            world.record("gamma drives", 600),
            world.record("the port is 8081", 600, slot="port"),
            world.record("delta flies", 600),
        ],
        **calls.ports(),
    )
    assert calls.facts.of("by_slot") == [[("team", "port")]]
    [question] = [q for q in world.judge.questions if q.text == "the port is 8081"]
    assert question.neighbours[0].text == "the port is 8080"


def test_how_many_neighbours_are_asked_for() -> None:
    """As many as may be looked at, and some more in case that others change meanwhile; from the floor of a second look with their texts."""
    world = World(policy=WIDE, slack=3)
    calls = Calls(world)
    world.run([world.record("alpha runs")], **calls.ports())
    [[query]] = calls.facts.of("neighbours")
    assert (query.namespace, query.limit, query.past) == ("team", WIDE.supersede_scan_limit + 3, False)
    assert query.payload_floor == WIDE.second_look_floor


def test_a_statement_with_a_vector_is_not_embedded() -> None:
    """Its own is used, made one of norm 1; one of another model is left out, and that is said."""
    world = World(policy=WIDE)
    world.settings = msgspec.structs.replace(
        world.settings, limits=Limits(embedding_model="toy", embedding_dimension=DIMENSION)
    )
    told, calls = Told(), Calls(world)
    world.observer = told  # type: ignore[assignment]
    world.run(
        [
            world.record("given", embedding=[3.0, *FIRST[1:]], embedding_model="toy"),
            world.record("foreign", embedding=FIRST, embedding_model="another"),
            world.record("none"),
        ],
        **calls.ports(),
    )
    assert calls.embedder.calls == [["foreign", "none"]]
    assert told.counts == Counter({"foreign": 1})
    ids = {fact.text: fact.point_id for fact in world.current()}
    vectors = asyncio.run(world.facts.vectors(list(ids.values())))
    assert vectors[ids["given"]].tolist() == FIRST
    assert np.array_equal(vectors[ids["foreign"]], world.embedder.vector("foreign"))


@pytest.mark.parametrize(("model", "ignored"), [("toy", 0), ("another", 1), (None, 0)])
def test_what_is_said_of_a_vector_that_came_along(model: str | None, ignored: int) -> None:
    """That one of another model was left out, each time; of one that is used, and of a statement without, nothing."""
    world, told = World(policy=WIDE), Told()
    world.observer = told  # type: ignore[assignment]
    more: dict[str, Any] = {} if model is None else {"embedding": FIRST, "embedding_model": model}
    world.run([world.record(f"statement {n}", **more) for n in range(2)])
    assert told.counts["foreign"] == 2 * ignored


def test_a_vector_is_made_one_of_norm_one() -> None:
    """In float32, whatever its length."""
    assert unit((3.0, 4.0)).tolist() == pytest.approx([0.6, 0.8])
    assert unit((0.003, 0.004)).tolist() == pytest.approx([0.6, 0.8])
    assert unit((1, 0)).dtype == np.float32


def test_vectors_of_new_and_reworded_points() -> None:
    """Given ones as they came, known texts by what is known of them, the rest embedded once a text; others have theirs."""
    world = World(policy=WIDE)
    world.run([world.record(text) for text in ("alpha runs", "beta walks", "gamma drives", "delta flies")])
    entries = recorded(world)[0].entries
    a, b, c, _ = (entry.effects[0].point_id for entry in entries)
    entries = (
        entries[0],
        msgspec.structs.replace(entries[1], vectors={b: (2.0, *FIRST[1:])}),
        msgspec.structs.replace(entries[2], inserts=(), reworded=(c,)),
        msgspec.structs.replace(entries[3], inserts=(), reworded=()),
    )
    embedder = Embedding(world.embedder)
    gathered = Gathered(world.ports(embedder=embedder), QuietObserver(), batch_items=100)
    known = {"gamma drives": unit([5.0, *FIRST[1:]])}
    found = asyncio.run(new_vectors(gathered, entries, known))
    assert set(found) == {a, b, c}
    assert found[b].tolist() == FIRST
    assert found[c] is known["gamma drives"]
    assert embedder.calls == [["alpha runs"]]
    assert set(asyncio.run(new_vectors(gathered, entries))) == {a, b, c}
    assert embedder.calls[1:] == [["alpha runs", "gamma drives"]]
    assert asyncio.run(new_vectors(gathered, entries[1:2])).keys() == {b}
    assert len(embedder.calls) == 2
    assert known.keys() == {"gamma drives"}


# The hash window


def test_the_window_is_asked_for_tools_alone_and_not_where_time_is_relative() -> None:
    """One call for all of a wave; none where nothing is to be asked."""
    world = World()
    calls = Calls(world)
    world.run(
        [
            world.record("ran the tests", source=TOOL),
            world.record("said by somebody"),
            world.record("deployed yesterday", source=TOOL),
            world.record("ran the build", source=TOOL),
        ],
        **calls.ports(),
    )
    assert [len(keys) for keys in (argument for name, argument in calls.window.calls if name == "find")] == [
        len("team")
    ]
    world.run([world.record("said again"), world.record("deployed yesterday", source=TOOL)], **calls.ports())
    assert len(calls.window.of("find")) == 1


def remembered(world: World, text: str, hit: WindowHit) -> None:
    """Put something into the hash window as if it had been decided."""
    asyncio.run(world.window.put("team", [(text_hash(text, None), START, hit)]))


@pytest.mark.parametrize("case", ["stands", "another revision", "gone", "of another namespace", "retired", "nothing"])
def test_a_fact_that_the_window_names_must_still_stand(case: str) -> None:
    """Current, at the revision that the window knows, and of this namespace: else the statement goes on to the rules."""
    world = World(always(Kind.SUPERSEDE), policy=WIDE)
    world.run([world.record("the api port is 8080")])
    [fact] = world.current()
    hit = WindowHit(fact.fact_id, 1)
    match case:
        case "another revision":
            hit = WindowHit(fact.fact_id, 2)
        case "gone":
            hit = WindowHit("00000000-0000-0000-0000-000000000000", 1)
        case "of another namespace":
            world.run([world.record("the api port is 8080", namespace="other")])
            hit = WindowHit(world.current("other")[0].fact_id, 1)
        case "retired":
            world.run([world.record("the api port is 8081", 60)])
    if case != "nothing":
        remembered(world, "ran the tests", hit)
    world.run([world.record("ran the tests", 10, source=TOOL)])
    decision = world.decisions()[-1]
    assert (decision["decision"], decision.get("via", "rules")) == (
        ("skip", "hash_window") if case == "stands" else ("add", "rules")
    )


def test_several_tools_at_once_get_their_own_facts_from_the_window() -> None:
    """Each the one that it was decided as; one that has none goes on."""
    world = World(policy=WIDE)
    world.run([world.record("ran alpha", source=TOOL), world.record("ran beta", source=TOOL)])
    calls = Calls(world)
    texts = ["ran gamma", "ran beta", "ran alpha", "ran beta"]
    world.run([world.record(text, 10, source=TOOL) for text in texts], **calls.ports())
    assert kinds(world)[2:] == ["add", "skip", "skip", "skip"]
    ids = {fact.text: fact.fact_id for fact in world.current()}
    assert [d["matched_id"] for d in world.decisions()[3:]] == [ids["ran beta"], ids["ran alpha"], ids["ran beta"]]
    assert calls.sizes("facts", "by_text") == [1], "what the window knows is not looked for by its text"
    assert calls.embedder.calls == [["ran gamma"]]
    assert calls.sizes("facts", "get")[0] == 2, "each fact once"


def test_a_tool_is_met_in_its_own_wave() -> None:
    """Before Redis knows of it: by what the wave itself decided within the window, and not outside it, nor from other sources."""
    world = World(policy=WIDE)
    world.run(
        [
            world.record("ran alpha", source=TOOL),
            world.record("ran alpha", 200, source=TOOL),
            world.record("ran alpha", 900, source=TOOL),
            world.record("ran alpha", 901),
        ]
    )
    assert [(d["decision"], d.get("via", "rules")) for d in world.decisions()] == [
        ("add", "rules"),
        ("skip", "hash_window"),
        ("skip", "text"),
        ("skip", "text"),
    ]


def test_what_the_window_named_may_change_in_the_wave() -> None:
    """The fact is retired before the tool's turn comes: it goes on to the rules, with all that was not looked up for it at first."""
    world = World(always(Kind.SUPERSEDE), policy=WIDE)
    world.run([world.record("the api port is 8080", source=TOOL)])
    world.run([world.record("the api port is 8081", 20), world.record("the api port is 8080", 40, source=TOOL)])
    assert kinds(world) == ["add", "supersede", "supersede"]
    assert [fact.text for fact in world.current()] == ["the api port is 8080"]


def test_the_window_is_done_without_and_the_text_still_known() -> None:
    """Redis is gone: it is said once a look, and the exact rule decides."""
    world, told = World(policy=WIDE), Told()

    class Gone:
        async def find(self, *_: Any) -> Any:
            raise Transient("redis", "out of reach")

        put = find

    world.observer = told  # type: ignore[assignment]
    world.run([world.record("ran alpha", source=TOOL)])
    world.run([world.record("ran alpha", 10, source=TOOL)], window=Gone())
    assert [(d["decision"], d.get("via", "rules")) for d in world.decisions()] == [("add", "rules"), ("skip", "text")]
    assert told.counts == Counter({"did without redis": 2})


# What a vector is worth


@pytest.mark.parametrize(
    ("truncated", "share", "cause"),
    [(False, 0.3, None), (False, 0.31, "unknown_tokens"), (True, 0.0, "truncated"), (True, 1.0, "truncated")],
)
def test_no_skip_on_a_vector_that_stands_for_too_little(truncated: bool, share: float, cause: str | None) -> None:
    """A text that was cut, or mostly unknown to the model, is not skipped by similarity; it is said why."""
    world, told = World(policy=Policy(skip_threshold=0.8)), Told()
    world.observer = told  # type: ignore[assignment]
    embedder = Embedding(world.embedder, Coverage(truncated=truncated, unknown_share=share))
    world.run([world.record("the nightly job has run the big migration")], embedder=embedder)
    assert embedder.covered == []
    world.run([world.record("the nightly job has run the big migrations", 60)], embedder=embedder)
    assert embedder.covered == ["the nightly job has run the big migrations"]
    assert (kinds(world)[1] == "skip") is (cause is None)
    assert told.counts == Counter({cause: 1} if cause else {})


@pytest.mark.parametrize(("similarity", "asked"), [("0.79", False), ("0.8", True), ("0.81", True)])
def test_what_a_vector_is_worth_is_asked_only_where_it_may_lead_to_a_skip(similarity: str, asked: bool) -> None:
    """Not below the threshold; exactly at the threshold it is."""

    class Fixed(ToyEmbedder):
        def vector(self, text: str) -> Any:
            return unit(at_similarity(float(text)))

    world = World(policy=Policy(skip_guard="off", skip_threshold=0.8))
    embedder = Embedding(Fixed(), Coverage(truncated=True, unknown_share=0.0))
    for n, text in enumerate(["1.0", similarity]):
        world.run([world.record(text, 60_000 * n)], embedder=embedder)
    assert world.decisions()[-1]["dedup_signal"]["max_sim"] == float(similarity)
    assert embedder.covered == ([similarity] if asked else [])


def test_what_a_vector_is_worth_depends_on_the_nearest_fact() -> None:
    """However far the others are; and where nothing is near enough for a skip, nothing is held against it."""
    world = World(
        policy=Policy(skip_threshold=0.8, second_look_floor=0.1, supersede_threshold=0.1, ambiguous_threshold=0.2)
    )
    far = [0.3, 0.0, 0.91**0.5, *[0.0] * (DIMENSION - 3)]
    vectors = {"near": FIRST, "far": far, "again": at_similarity(0.9), "between": at_similarity(0.7)}

    class Fixed(ToyEmbedder):
        def vector(self, text: str) -> Any:
            return unit(vectors[text])

    embedder = Embedding(Fixed(), Coverage(truncated=True, unknown_share=0.0))
    for n, text in enumerate(("near", "far")):
        world.run([world.record(text, 60_000 * n)], embedder=embedder)
    assert embedder.covered == []
    world.run([world.record("between", 120_000)], embedder=embedder)
    assert embedder.covered == []
    assert "coverage" not in {finding["kind"] for finding in world.decisions()[-1].get("findings", ())}
    world.run([world.record("again", 180_000)], embedder=embedder)
    assert embedder.covered == ["again"]
    assert "coverage" in {finding["kind"] for finding in world.decisions()[-1]["findings"]}


def test_a_vector_that_came_along_is_trusted() -> None:
    """What our model would make of the text says nothing about it: the skip is made."""
    world = World(policy=Policy(skip_threshold=0.8))
    embedder = Embedding(world.embedder, Coverage(truncated=True, unknown_share=1.0))
    given = {"embedding": FIRST, "embedding_model": "toy"}
    world.run([world.record("the nightly job has run the big migration", **given)], embedder=embedder)
    world.run([world.record("the nightly job has run the big migrations", 60, **given)], embedder=embedder)
    assert [(d["decision"], d["reason"]) for d in world.decisions()] == [("add", "cold_start"), ("skip", "similar")]
    assert embedder.covered == []


# Slots, and what was believed once


def test_facts_of_a_slot_come_behind_neighbours_nearest_first_and_once() -> None:
    """Those that are too far to be neighbours are seen all the same, with their true similarity."""
    questions: list[Question] = []

    def script(question: Question) -> Any:
        questions.append(question)
        return always(Kind.ADD)(question)

    world = World(
        script, policy=Policy(skip_guard="off", second_look_floor=0.7, supersede_threshold=0.7, ambiguous_threshold=0.8)
    )
    world.settings = msgspec.structs.replace(
        world.settings, limits=Limits(embedding_model="toy", embedding_dimension=DIMENSION)
    )
    for n, similarity in enumerate([0.1, 0.3, 0.75, 0.2]):
        vector = [similarity, *[0.0] * (DIMENSION - 1)]
        vector[n + 1] = (1 - similarity**2) ** 0.5  # each one far from the others
        world.run([world.record(f"at {similarity}", n, slot="s", embedding=vector, embedding_model="toy")])
    assert kinds(world) == ["add"] * 4
    questions.clear()
    world.run([world.record("first", 60_000, slot="s", embedding=FIRST, embedding_model="toy")])
    notes = world.decisions()[-1]["neighbours"]
    assert [(round(note["similarity"], 2), note["via"]) for note in notes] == [
        (0.75, "vector"),
        (0.3, "slot"),
        (0.2, "slot"),
        (0.1, "slot"),
    ]
    assert [one.text for one in questions[0].neighbours] == ["at 0.75", "at 0.3", "at 0.2", "at 0.1"]


@pytest.mark.parametrize("slot", [None, "port"])
@pytest.mark.parametrize("wave_events", [1, 8])
def test_a_late_statement_looks_back_and_finds_its_place(slot: str | None, wave_events: int) -> None:
    """By neighbours and by its slot among what was believed once, in the store and in its own wave."""
    world = World(always(Kind.SUPERSEDE), policy=WIDE, wave_events=wave_events)
    more: dict[str, Any] = {} if slot is None else {"slot": slot}
    texts = {
        0: "the api port is 8080",
        60_000: "the api port is 8082",
        30_000: "the api port is 8081",
        90_000: "the api port is 8083",
    }
    for batch in ([0, 60_000], [30_000, 90_000]):
        world.run([world.record(texts[at], at, **more) for at in batch])
    assert [text for _, _, text in world.timeline()] == [texts[at] for at in sorted(texts)]
    assert [start for start, _, _ in world.timeline()] == [START + timedelta(seconds=at) for at in sorted(texts)]


def test_what_was_believed_once_is_asked_for_by_slot_only_where_there_is_one() -> None:
    """A look back asks for past neighbours, and for the past rows of the slot that was named."""
    for slot in (None, "port"):
        world = World(always(Kind.SUPERSEDE), policy=WIDE)
        more: dict[str, Any] = {} if slot is None else {"slot": slot}
        world.run(
            [world.record("the api port is 8080", 0, **more), world.record("the api port is 8082", 60_000, **more)]
        )
        calls = Calls(world)
        world.run([world.record("the api port is 8081", 30_000, **more)], **calls.ports())
        assert [[query.past for query in queries] for queries in calls.facts.of("neighbours")] == [[False], [True]]
        assert len(calls.facts.of("by_slot")) == (0 if slot is None else 2)


def test_what_changed_too_much_is_searched_again_once_it_is_performed() -> None:
    """Without slack: the one neighbour that the store named is retired in the wave; what the store says then is seen, and no less."""
    world = World(always(Kind.SUPERSEDE), policy=msgspec.structs.replace(WIDE, supersede_scan_limit=1), slack=0)
    world.run([world.record("the api port is 8080"), world.record("the ui colour is green", 10)])
    calls = Calls(world)
    world.run(
        [world.record("the api port is 8081", 60_000), world.record("the api port is 8082", 120_000)], **calls.ports()
    )
    assert kinds(world)[2:] == ["supersede", "supersede"]
    assert sorted(fact.text for fact in world.current()) == ["the api port is 8082", "the ui colour is green"]
    assert calls.sizes("facts", "neighbours") == [2, 1]


def test_what_was_believed_once_is_searched_again_too() -> None:
    """One of two past facts that the store named is in force again by a command of the wave: the next one is asked for, and found."""
    nearness = {"first": 0.73, "second": 0.82, "third": 0.97, "fourth": 0.9, "late": 1.0}

    class Fixed(ToyEmbedder):
        def vector(self, text: str) -> Any:
            return unit(at_similarity(nearness[text]))

    policy = msgspec.structs.replace(WIDE, supersede_scan_limit=2)
    world = World(always(Kind.SUPERSEDE), policy=policy, slack=0, embedder=Fixed())
    for n, text in enumerate(["first", "second", "third", "fourth"]):
        world.run([world.record(text, 60_000 * n)])
    assert kinds(world) == ["add", "supersede", "supersede", "supersede"]
    decision_id = world.decisions()[-1]["decision_id"]
    calls = Calls(world)
    world.run([world.command("revert", {"decision_id": decision_id}), world.record("late", 30_000)], **calls.ports())
    assert [[query.past for query in queries] for queries in calls.facts.of("neighbours")] == [[False], [True], [True]]
    assert world.decisions()[-1]["reason"] == "late_history"
    places = {text: (start, end) for start, end, text in world.timeline()}
    times = [START + timedelta(seconds=30_000 * n) for n in range(3)]
    assert places["first"] == (times[0], times[1]), "cut, though it is the farthest"
    assert places["late"] == (times[1], times[2])


def test_the_signal_is_of_the_nearest_fact() -> None:
    """Of several neighbours the first is the one that is named."""
    world = World(always(Kind.ADD), policy=WIDE)
    texts = ("the api port is 8080", "the ui colour is green", "a walk is nice")
    world.run([world.record(text) for text in texts])
    near = world.embedder.vector("the api port is 8081")
    nearest = next(fact for fact in world.current() if fact.text == texts[0])
    world.run([world.record("the api port is 8081", 60_000)])
    signal = world.decisions()[-1]["dedup_signal"]
    assert signal["matched_id"] == nearest.fact_id
    assert signal["max_sim"] == pytest.approx(float(near @ world.embedder.vector(texts[0])), abs=1e-3)


def test_what_is_in_conflict_and_was_stated_last_is_known_when_it_comes_again() -> None:
    """Once neighbours were looked up: the other one was not stated since, so nothing is asserted anew."""
    world = World(always(Kind.ADD, review="conflict", conflicts=(0,)), policy=WIDE)
    for at, text in enumerate(["the api port is 8080", "the api port is 8081", "the api port is 8081"]):
        world.run([world.record(text, 60_000 * at)])
    assert [(d["decision"], d["reason"]) for d in world.decisions()][-1] == ("skip", "exact_duplicate")


def test_a_late_statement_sees_what_its_own_wave_has_just_retired() -> None:
    """By the vector that the store has of it: the wave knows of that fact only that it changed."""
    timelines = []
    for wave_events in (1, 8):
        world = World(always(Kind.SUPERSEDE), policy=WIDE, wave_events=wave_events)
        world.run([world.record("the api port is 8080")])
        world.run(
            [world.record("the api port is 8082", 60_000), world.record("the api port is 8081", 30_000)],
        )
        timelines.append(world.timeline())
    assert timelines[0] == timelines[1]
    assert [text for _, _, text in timelines[0]] == [f"the api port is {port}" for port in (8080, 8081, 8082)]


def test_what_was_believed_once_is_found_by_its_slot_alone() -> None:
    """However far its words are: a late statement of the slot ends it."""
    policy = msgspec.structs.replace(WIDE, supersede_scan_limit=1)
    world = World(always(Kind.SUPERSEDE), policy=policy, slack=0)
    world.run([world.record("ana", 0, slot="owner"), world.record("ben", 60_000, slot="owner")])
    # nearer ones, which take the place that the limit leaves for a neighbour
    near = ("carl of the shop", "carl of the garden", "carl of the shop")
    world.run([world.record(text, at) for text, at in zip(near, (0, 20_000, 40_000), strict=True)])
    world.run([world.record("carl", 30_000, slot="owner")])
    places = {text: (start, end) for start, end, text in world.timeline()}
    assert places["ana"] == (START, START + timedelta(seconds=30_000))
    assert places["carl"] == (START + timedelta(seconds=30_000), START + timedelta(seconds=60_000))


# Commands in a wave


def test_what_came_back_into_force_is_a_neighbour_at_once() -> None:
    """After a revert, statements of the same wave see the fact that stands again, by the vector that the store has of it."""
    world = World(always(Kind.SUPERSEDE), policy=WIDE)
    world.run([world.record("the api port is 8080"), world.record("the api port is 8081", 60_000)])
    decision_id = world.decisions()[1]["decision_id"]
    world.judge.questions.clear()
    calls = Calls(world)
    world.run(
        [
            world.command("revert", {"decision_id": decision_id}),
            world.record("the api port is 8082", 120_000),
            world.record("nothing alike at all", 120_000),
        ],
        **calls.ports(),
    )
    assert [one.text for one in world.judge.questions[0].neighbours] == ["the api port is 8080"]
    assert [fact.text for fact in world.current()][-2:] == ["the api port is 8082", "nothing alike at all"] or len(
        world.current()
    ) == 2


def test_what_a_command_rewords_is_met_by_its_words_at_once() -> None:
    """After the revert of an update, statements of the same wave see the old words by their own vector, not by the one in the store."""
    world = World(always(Kind.UPDATE), policy=WIDE)
    world.run([world.record("the api port is 8080"), world.record("the api port is 8081", 60_000)])
    assert kinds(world) == ["add", "update"]
    decision_id = world.decisions()[1]["decision_id"]
    world.run(
        [world.command("revert", {"decision_id": decision_id}), world.record("the api port is 8080 today", 120_000)]
    )
    words = [world.embedder.vector(text) for text in ("the api port is 8080", "the api port is 8080 today")]
    assert world.decisions()[-1]["dedup_signal"]["max_sim"] == pytest.approx(float(words[0] @ words[1]), abs=1e-3)


# Judges


@pytest.mark.parametrize("remote", [False, True])
def test_a_remote_judge_is_waited_for_with_nothing_pending(remote: bool) -> None:
    """What was decided before it in the wave is recorded and told first; for a judge at hand nothing is taken apart."""
    told: list[int] = []

    def script(question: Question) -> Verdict:
        told.append(len(world.outbox.of("fact-decisions")))
        return always(Kind.ADD)(question)

    world = World(script, policy=WIDE, remote=remote)
    world.run([world.record(text) for text in ("the api port is 8080", "nothing alike", "the api port is 8081")])
    assert told == [2 if remote else 0]
    assert [len(record.entries) for record in recorded(world)] == ([2, 1] if remote else [3])


# Vectors that came along


def test_history_of_a_fact_keeps_the_vector_that_came_along() -> None:
    """A new row of the past has its fact's own vector, from the wave or from the store, and is not embedded."""
    for wave_events in (1, 8):
        world = World(always(Kind.UPDATE), policy=WIDE, wave_events=wave_events)
        world.settings = msgspec.structs.replace(
            world.settings, limits=Limits(embedding_model="toy", embedding_dimension=DIMENSION)
        )
        embedder = Embedding(world.embedder)
        world.run(
            [
                world.record("one", embedding=FIRST, embedding_model="toy"),
                world.record("two", 60_000, embedding=at_similarity(0.9), embedding_model="toy"),
            ],
            embedder=embedder,
        )
        assert kinds(world) == ["add", "update"]
        assert embedder.calls == []
        rows = asyncio.run(world.facts.select("team", current_only=False))
        vectors = asyncio.run(world.facts.vectors([row.point_id for row in rows]))
        for row in rows:
            expected = 0.9 if row.text == "two" else 1.0
            assert vectors[row.point_id][0] == pytest.approx(expected, abs=1e-5), row
        assert {row.status for row in rows} >= {Status.CURRENT, Status.PAST}


def test_history_of_a_fact_that_changed_in_the_wave_has_the_vector_that_it_had_then() -> None:
    """The store still has an older one."""
    world = World(always(Kind.UPDATE), policy=WIDE)
    nearness = {"one": 1.0, "two": 0.95, "three": 0.9}
    records = [
        world.record(text, 60_000 * n, embedding=at_similarity(nearness[text]), embedding_model="toy")
        for n, text in enumerate(nearness)
    ]
    world.run(records[:1])
    world.run(records[1:])
    assert kinds(world) == ["add", "update", "update"]
    rows = asyncio.run(world.facts.select("team", current_only=False))
    vectors = asyncio.run(world.facts.vectors([row.point_id for row in rows]))
    assert {row.text for row in rows if row.status is Status.PAST} == {"one", "two"}
    for row in rows:
        assert vectors[row.point_id][0] == pytest.approx(nearness[row.text], abs=1e-5), row


@pytest.mark.parametrize("kind", [Kind.SKIP, Kind.SUPERSEDE])
def test_the_ledger_keeps_vectors_that_came_along_of_new_points_alone(kind: Kind) -> None:
    """What is only counted once more, or retired, has its vector in the store; the row of its past belief gets it from there."""
    world = World(always(kind), policy=WIDE)
    world.run([world.record("one", embedding=FIRST, embedding_model="toy")])
    calls = Calls(world)
    world.run([world.record("two", 60_000, embedding=at_similarity(0.9), embedding_model="toy")], **calls.ports())
    assert kinds(world) == ["add", str(kind)]
    entry = recorded(world)[-1].entries[0]
    [fact] = [fact for fact in entry.effects if fact.text == "one" and fact.status is not Status.ARCHIVED]
    assert fact.embedded
    assert fact.point_id not in entry.inserts
    assert entry.vectors.keys() == set(entry.inserts)
    assert calls.embedder.calls == []


def test_a_policy_is_that_of_the_namespace() -> None:
    """Each statement is judged, and searched for, by its own."""
    world = World(policy=WIDE)
    strict = msgspec.structs.replace(WIDE, supersede_scan_limit=2)
    world.settings = msgspec.structs.replace(
        world.settings,
        policies=Policies(WIDE, {"strict": strict}),
        wave=WaveSettings(slack=0, window_sources=frozenset(Source)),
    )
    calls = Calls(world)
    world.run([world.record("alpha runs", namespace="strict"), world.record("alpha runs")], **calls.ports())
    limits = {query.namespace: query.limit for queries in calls.facts.of("neighbours") for query in queries}
    assert limits == {"strict": 2, "team": WIDE.supersede_scan_limit}
