"""What is new here and known downstream is stored and not told to ingest; where in doubt, it is told."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from factsieve.core.downstream import Foreign
from factsieve.core.facts import Kind, Status, round_similarity
from factsieve.core.policy import Policies, Policy
from factsieve.operations.whatif import Askers, Foreseer, Logbook
from factsieve.ports import Look, NeighbourQuery, Vector, Wanted
from tests.engine.harness import Counting, ToyEmbedder, World, always, by_digest, stripped

PORT = "The Harbor API listens on port 8080"
OTHER_PORT = "The Harbor API listens on port 8081"
TEA = "Couriers drink mint tea after lunch"


class Shelf:
    """Downstream texts in memory (`ports.Downstream`): what they are near to is found as a collection would find it."""

    def __init__(self, world: World, *texts: str, down: bool = False, cut: float | None = None) -> None:
        self._embedder = world.embedder
        self.texts = list(texts)
        self.down = down
        self.asked: list[Wanted] = []
        self.calls = 0
        self._cut = cut

    def covers(self, namespace: str) -> bool:
        return namespace != "alien"

    async def find(self, wanted: Sequence[Wanted]) -> list[Look]:
        self.calls += 1
        self.asked += wanted
        if self.down:
            return [Look(missing=("rag",)) for _ in wanted]
        return [Look(tuple(self._near(one))) for one in wanted]

    def _near(self, one: Wanted) -> list[Foreign]:
        cut = one.skip_threshold if self._cut is None else self._cut
        near = [
            Foreign("rag", str(number), text, round_similarity(float(one.vector @ self._embedder.vector(text))), cut)
            for number, text in enumerate(self.texts)
        ]
        return sorted((hit for hit in near if hit.similarity >= cut), key=lambda hit: (-hit.similarity, hit.point_id))


def fed(world: World, shelf: Shelf | None, *texts: str, at_s: float = 0, **more: Any) -> list[dict[str, Any]]:
    """Return the decisions about some statements, made by an engine that may look downstream."""
    before = len(world.decisions())
    world.run([world.record(text, at_s + 60 * n, **more) for n, text in enumerate(texts)], downstream=shelf)
    return world.decisions()[before:]


def told(world: World) -> list[str]:
    """Return the texts that ingest was told of."""
    import json

    return [json.loads(message.value or b"")["fact"]["text"] for message in world.outbox.of("new-facts")]


def test_what_is_known_downstream_is_stored_and_not_told() -> None:
    """The decision says so, and where; fact and compacted topic have it; other new facts are told as ever."""
    world = World(policy=Policy())
    known, new = fed(world, Shelf(world, PORT), PORT, TEA)
    assert (known["decision"], known["reason"]) == ("add", "known_downstream")
    assert known["downstream"] == {"outcome": "known", "collection": "rag", "point_id": "0", "similarity": 1.0}
    assert known["changes"] == []
    assert (new["reason"], new["downstream"]["outcome"]) == ("new", "absent")
    assert told(world) == [TEA]
    assert {fact.text for fact in world.current()} == {PORT, TEA}
    assert len(world.outbox.latest("facts")) == 2


def test_a_redelivery_tells_the_same_though_downstream_forgot() -> None:
    """The ledger keeps what was found: nothing is told that was held back, and nobody is asked again."""
    world = World(policy=Policy())
    records = [world.record(PORT), world.record(TEA, 60)]
    world.run(records, downstream=Shelf(world, PORT))
    forgot = Shelf(world)
    world.run(records, downstream=forgot)
    assert told(world) == [TEA, TEA]
    first, again = world.decisions()[0], world.decisions()[2]
    assert again["reason"] == first["reason"] == "known_downstream"
    assert again["downstream"] == first["downstream"]
    assert forgot.calls == 0
    replays = [world.record(PORT, event="e0", replay="r1")]
    world.run(replays, downstream=forgot)
    assert told(world) == [TEA, TEA]
    assert forgot.calls == 0


RETIRED: dict[str, tuple[Kind, list[str], dict[str, Any]]] = {
    "superseded": (Kind.SUPERSEDE, [PORT, "Harbor moved its API over to gate 9090"], {"slot": "harbor.port"}),
    # Each is near the one before, and the last one far from the first.
    "reworded": (Kind.UPDATE, ["a1 b2 c3 d4 e5 f6 g7 h8", "a1 b2 c3 d4 e5 f6 i9 j0", "a1 b2 c3 d4 k1 l2 i9 j0"], {}),
}


@pytest.mark.parametrize("together", [True, False], ids=["one wave", "apart"])
@pytest.mark.parametrize("how", RETIRED)
def test_a_text_that_was_retired_here_is_told(how: str, together: bool) -> None:
    """Downstream may hold it from us: it is stale there, and stated anew it has to be told. True in one wave as apart."""
    kind, texts, more = RETIRED[how]
    policy = Policy(skip_guard="off", skip_threshold=0.95, ambiguous_threshold=0.65, supersede_threshold=0.65)
    world = World(always(kind), policy=policy, wave_events=64 if together else 1)
    shelf = Shelf(world, *texts[:1], "something else altogether")
    records = [world.record(text, 60 * number, **more) for number, text in enumerate(texts)]
    world.run([*records, world.record(texts[0], 900)], downstream=shelf)
    first, *_, again = world.decisions()
    assert first["reason"] == "known_downstream"
    assert {one["decision"] for one in world.decisions()[1:-1]} == {kind}
    assert (again["decision"], again["downstream"]["outcome"]) == ("add", "retired")
    assert told(world)[-1] == texts[0]


def test_a_text_that_was_withdrawn_here_is_told() -> None:
    """A retracted statement may still be downstream: made anew it is told."""
    world = World(policy=Policy())
    [first] = fed(world, Shelf(world), PORT)
    world.run([world.command("retract", {"fact_id": first["fact_id"]})])
    [again] = fed(world, Shelf(world, PORT), PORT, at_s=900)
    assert (again["decision"], again["downstream"]["outcome"]) == ("add", "retired")
    assert told(world)[-1] == PORT


def test_the_guard_speaks_about_foreign_texts_too() -> None:
    """Another number near by is not the same, however similar; a text that says less is not, either."""
    world = World(policy=Policy())
    assert fed(world, Shelf(world, OTHER_PORT, cut=0.8), PORT)[0]["downstream"] == {"outcome": "absent"}
    world = World(policy=Policy())
    longer = PORT + " in every region of the company"
    assert fed(world, Shelf(world, PORT, cut=0.6), longer)[0]["downstream"] == {"outcome": "absent"}
    assert told(world) == [longer]


def test_a_time_that_depends_on_when_it_is_said_is_never_known() -> None:
    """Nobody knows when the foreign text was stated."""
    world = World(policy=Policy())
    text = "The dentist sees Ella tomorrow"
    assert fed(world, Shelf(world, text), text)[0]["downstream"] == {"outcome": "absent"}


def test_where_downstream_does_not_answer_ingest_is_told_and_it_is_said() -> None:
    """In the decision, and to the observer, once for a look."""

    class Noting(Counting):
        def __init__(self) -> None:
            super().__init__()
            self.degradations: list[tuple[str, str]] = []

        def degraded(self, service: str, error: str) -> None:
            self.degradations.append((service, error))

    world = World(policy=Policy())
    world.observer = Noting()
    decisions = fed(world, Shelf(world, PORT, down=True), PORT, TEA)
    assert [one["downstream"] for one in decisions] == [{"outcome": "unavailable", "collection": "rag"}] * 2
    assert [one["reason"] for one in decisions] == ["cold_start", "new"]
    assert told(world) == [PORT, TEA]
    assert {service for service, _ in world.observer.degradations} == {"downstream"}


def test_only_what_is_new_is_looked_for() -> None:
    """Repeats, judged revisions, doubtful adds and namespaces that nobody covers cost no look that counts, and carry no note."""
    world = World(always(Kind.SUPERSEDE), policy=Policy())
    fed(world, None, PORT, "gamma delta", namespace="team")
    shelf = Shelf(world, PORT, OTHER_PORT)
    repeated, replaced = fed(world, shelf, PORT, OTHER_PORT, at_s=300)
    assert (repeated["decision"], replaced["decision"]) == ("skip", "supersede")
    assert repeated["downstream"] is replaced["downstream"] is None
    assert shelf.asked == []
    [alien] = fed(world, shelf, PORT, namespace="alien")
    assert alien["downstream"] is None
    assert shelf.asked == []
    doubtful = World(always(Kind.ADD, review="conflict", conflicts=(0,)), policy=Policy())
    fed(doubtful, None, "Harbor: 8080", slot="port")
    [flagged] = fed(doubtful, Shelf(doubtful, TEA), TEA, at_s=60, slot="port")
    assert (flagged["review"], flagged["downstream"]) == ("conflict", None)
    assert told(doubtful)[-1] == TEA


def test_nothing_is_different_where_nothing_is_configured() -> None:
    """Decisions carry no note, and no further query is made."""
    world = World(policy=Policy())
    fed(world, None, PORT, TEA)
    queries = world.observer.queries
    other = World(policy=Policy())
    fed(other, Shelf(other), PORT, TEA)
    assert (queries, other.observer.queries) == (2, 2)
    assert [one["downstream"] for one in world.decisions()] == [None, None]
    assert [stripped(one) for one in world.decisions()] == [stripped(one) for one in other.decisions()]


def test_a_wave_looks_once() -> None:
    """Many new statements of a wave are one look."""
    world = World(policy=Policy())
    shelf = Shelf(world)
    fed(world, shelf, *(f"statement{number} about thing{number} here{number}" for number in range(40)))
    assert len(shelf.asked) == 40
    assert shelf.calls == 1


@pytest.mark.parametrize("seed", range(8))
def test_waves_decide_as_one_at_a_time(seed: int) -> None:
    """Whatever was retired a moment before in the same wave: what is held back is the same."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    chance = random.Random(seed)
    statements = []
    for number in range(60):
        text = " ".join(chance.sample(words, chance.randint(1, 3)))
        statements.append((text, 100 * number, {"slot": f"s{chance.randint(0, 2)}"} if chance.random() < 0.4 else {}))
    foreign = [" ".join(chance.sample(words, chance.randint(1, 3))) for _ in range(25)]
    seen = []
    for events in (64, 1):
        world = World(by_digest, policy=Policy(skip_guard="off"), wave_events=events)
        shelf = Shelf(world, *foreign)
        world.run([world.record(text, at, **more) for text, at, more in statements], downstream=shelf)
        seen.append(([stripped(one) | {"at": one["downstream"]} for one in world.decisions()], told(world)))
    assert seen[0] == seen[1]
    assert "known_downstream" in {one["reason"] for one in seen[0][0]}


def test_whatif_takes_what_was_found_as_found() -> None:
    """A decision that was held back is not told as different where nothing but thresholds is."""
    world = World(policy=Policy())
    fed(world, Shelf(world, PORT), PORT, TEA)

    async def run() -> list[str]:
        logbook = await Logbook.open(world.ledger, None)
        policies = Policies(world.policy)
        foreseer = Foreseer(
            now=policies,
            then=policies,
            embedder=world.embedder,
            max_unknown_share=0.3,
            asking=Askers(world.judge, world.judge, False),
        )
        return [seen.state async for seen in foreseer.foresee("team", logbook.entries("team"))]

    assert asyncio.run(run()) == ["same", "same"]


def test_retired_rows_are_found_by_their_vector() -> None:
    """Past, reworded and withdrawn rows, and no current one."""
    world = World(always(Kind.SUPERSEDE), policy=Policy())
    fed(world, None, PORT, OTHER_PORT)
    query = NeighbourQuery("team", world.embedder.vector(PORT), 16, 0.95, retired=True)
    [hits] = asyncio.run(world.facts.neighbours([query]))
    assert {hit.fact.status for hit in hits if hit.fact} == {Status.PAST, Status.ARCHIVED}


def test_a_foreign_text_on_which_something_fails_is_no_fault_of_the_event() -> None:
    """It is told to ingest, decided like any other, and no dead letter."""

    class Touchy(ToyEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            if bad in texts:
                raise ZeroDivisionError("broken")
            return await super().embed(texts)

    bad = f"{PORT} \u200b"
    world = World(policy=Policy(), embedder=Touchy())
    shelf = Shelf(world, bad, cut=0.5)
    (decision,) = fed(world, shelf, PORT)
    assert decision["decision"] == "add"
    assert decision["reason"] != "known_downstream"
    assert decision["downstream"] == {"outcome": "unavailable", "collection": "rag"}
    assert told(world) == [PORT]
    assert world.outbox.of("candidate-facts-dlt") == []
