"""An empty store made from the log alone, or from an export and the log since, is the store that was lost."""

import asyncio
import contextlib
import io
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factsieve.core.decision import Erasure
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Kind, Status
from factsieve.core.policy import Policy
from factsieve.core.recovery import merged
from factsieve.operations import rebuild as rebuilding
from factsieve.operations.backup import Export, export
from factsieve.operations.export_format import Writer
from factsieve.ports import Message
from tests.engine.harness import World, always, by_digest
from tests.operations.recovery_world import (
    ToldTopic,
    differences,
    empty_stores,
    entries,
    ledger_differences,
    points,
    redelivered,
    stores_of,
    topic_of,
)

WIDE = Policy(skip_guard="off", skip_threshold=0.995)
SUBJECTS = ("api", "cache", "queue")
SECRET = "safe code is 4711"


def told_of(world: World) -> list[str]:
    return [d["decision_id"] for d in world.decisions() if d.get("decision")]


def eventful() -> tuple[World, list[Any]]:
    """Return a world in which everything happened that can, and all records that it was given."""
    world = World(by_digest, policy=WIDE, wave_events=5)
    records: list[Any] = []

    def run(*more: Any) -> None:
        records.extend(more)
        world.run(list(more))

    def order(kind: str, **body: Any) -> None:
        run(world.command(kind, body))

    def say(script: Any, *statements: Any) -> None:
        world.judge.script = script
        run(*statements)

    own = list(map(float, world.embedder.vector("the vault opens at nine")))
    came = {"embedding": own, "embedding_model": "toy"}
    say(always(Kind.ADD), world.record("the api port is 8080", 0, slot="port", attributes={"by": "x"}))
    say(always(Kind.SUPERSEDE), world.record("the api port is 8081", 600, slot="port"))
    say(always(Kind.SUPERSEDE), world.record("the api port is 8082", 300, slot="port"))  # late: history
    say(always(Kind.ADD), world.record("the vault opens at nine", 10, attributes={"n": [1, None]}, **came))
    say(always(Kind.UPDATE), world.record("the vault opens at ten", 900))
    say(always(Kind.ADD), world.record("bins are out on friday", 20), world.record("glass is out on friday", 30))
    say(always(Kind.MERGE, text="bins and glass are out on friday"), world.record("bins are out on friday too", 1200))
    say(always(Kind.SKIP), world.record("the api port is still 8081", 1300, attributes={"kept": True}))
    say(always(Kind.SKIP), world.record("the vault opens at ten sharp", 1400))
    run(world.record("the vault opens at ten", 1500), world.record("the vault opens at ten", 1501))
    say(
        by_digest,
        *[world.record(f"the {s} runs on host {n}", 2000 + 10 * n, namespace=s) for n in range(8) for s in SUBJECTS],
    )
    decided = {d["event_id"]: d for d in world.decisions() if d.get("decision")}
    skips = [d for d in decided.values() if d["decision"] == "skip"]
    supersedes = [d for d in decided.values() if d["decision"] == "supersede" and d["namespace"] == "team"]
    order("revert", decision_id=skips[0]["decision_id"])
    order("revert", decision_id=supersedes[-1]["decision_id"])
    secret = f"the {SECRET}"
    run(world.record(secret, 3000), world.record("the lift is out of order", 3010))
    order("retract", fact_id=next(f for f in world.current() if f.text.startswith("the lift")).fact_id)
    say(always(Kind.MERGE, text=f"{secret} and blue"), world.record(f"{secret} in blue", 3100))
    say(always(Kind.SKIP), world.record(f"{secret} surely", 3200))
    for fact in [f for f in world.current() if SECRET in f.text]:
        order("erase", fact_id=fact.fact_id)
    merges = [d for d in world.decisions() if d.get("decision") == "merge" and d["text"].startswith("bins")]
    order("erase", decision_id=merges[0]["decision_id"])  # a wording that goes back to a former one
    run(world.record("the safe code is gone", 4000), world.raw(b"no json"))
    return world, records


@pytest.fixture(scope="module")
def lived() -> tuple[World, list[Any]]:
    return eventful()


def rebuilt(world: World, topic: ToldTopic | None = None, stores: Any = None, **more: Any) -> tuple[Any, Any]:
    stores = stores or empty_stores(world)
    scan: Any = topic or topic_of(world)
    starts = rebuilding.start_of(scan, more.get("export"), "fact-decisions", accept_gap=more.pop("accept_gap", False))
    return stores, asyncio.run(rebuilding.rebuild(stores, scan, starts, **more))


def exported(world: World, positions: dict[int, int], **more: Any) -> Export:
    stream = io.BytesIO()
    asyncio.run(export(stores_of(world), Writer(stream), topic="fact-decisions", positions=positions, **more))
    return Export(stream, "the export")


def test_every_kind_of_decision_happened(lived: Any) -> None:
    """The stream of these tests has all five decisions, late history, and applied commands of every kind that changes facts."""
    decisions = lived[0].decisions()
    assert {d["decision"] for d in decisions if d.get("decision")} == set(Kind)
    assert "late_history" in {d["reason"] for d in decisions}
    applied = {d["command"] for d in decisions if d.get("outcome") == "applied"}
    assert applied == {"revert", "retract", "erase"}
    assert any(d["vectors"] for d in decisions if "vectors" in d)
    rows = points(stores_of(lived[0]))
    assert {row["status"] for row in rows.values()} == set(Status)


def test_facts_and_ledger_come_back_as_they_were(lived: Any) -> None:
    """Every field of every point, its vector, and every entry of the ledger are the same; no judge is asked."""
    world, records = lived
    world.judge.questions.clear()
    stores, done = rebuilt(world)
    assert differences(points(stores_of(world)), points(stores)) == []
    assert ledger_differences(world, stores_of(world), stores) == []
    assert world.judge.questions == []
    assert done.rejects == 1
    assert done.erased_facts >= 2
    assert done.incomplete == 0

    before = points(stores)
    again = redelivered(world, stores, records)
    assert again.judge.questions == []
    assert points(stores) == before
    now = {d["event_id"]: d["decision_id"] for d in again.decisions() if "error" not in d}
    assert now == {d["event_id"]: d["decision_id"] for d in world.decisions() if "error" not in d}


def test_rubbish_on_the_topic_is_passed_over_and_counted(lived: Any, caplog: pytest.LogCaptureFixture) -> None:
    """What is no JSON object is nobody's decision: the same comes back without it, and the first one is named."""
    world, _ = lived
    rubbish = [b"no json", None, b"[" * 100_000, b"17", b"\xff"]
    messages = [Message("fact-decisions", b"a", value, ()) for value in rubbish] + world.outbox.of("fact-decisions")
    stores, done = rebuilt(world, ToldTopic(messages))
    assert differences(points(stores_of(world)), points(stores)) == []
    assert ledger_differences(world, stores_of(world), stores) == []
    assert (done.passed_over, done.rejects) == (len(rubbish), 1)
    [warning] = [record.getMessage() for record in caplog.records]
    assert warning.startswith("passed over fact-decisions, partition ")
    assert ", offset 0, which is no decision: " in warning


def test_no_erased_text_is_written_on_the_way(lived: Any) -> None:
    """Not even for a moment does a rebuild store or embed a text that was erased later."""
    world, _ = lived
    stores = empty_stores(world)
    written: list[str] = []
    write, insert = stores.facts.write, stores.ledger.insert

    async def watched_write(writes: Any) -> None:
        written.extend(one.fact.text for one in writes)
        await write(writes)

    async def watched_insert(bodies: Any) -> Any:
        written.extend(body.decode() for body, _ in bodies.values())
        return await insert(bodies)

    stores.facts.write, stores.ledger.insert = watched_write, watched_insert
    rebuilt(world, stores=stores)
    assert not [text for text in [*written, *stores.embedder.embedded] if SECRET in text]


def test_from_an_export_and_what_was_told_since() -> None:
    """Wherever the export was made, store and ledger are the same; erases that came later reach into what is imported."""
    world, _ = eventful()
    whole = world.outbox.messages
    for share in (0.3, 0.7, 1.0):
        told = [m for m in whole if m.topic == "fact-decisions"]
        upto = told[: int(len(told) * share)]
        half = World(by_digest, policy=WIDE)
        stores, _done = rebuilt(half, ToldTopic(upto))
        half.facts, half.ledger = stores.facts, stores.ledger
        at = ToldTopic(upto).ends
        backup = exported(half, at, with_vectors=share != 0.7)
        topic = ToldTopic(told)
        topic.begins = dict(at)  # retention took the rest
        stores, done = rebuilt(world, topic, export=backup)
        assert differences(points(stores_of(world)), points(stores)) == [], share
        assert ledger_differences(world, stores_of(world), stores) == [], share
        assert done.imported.facts_there == 0


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_an_interrupted_rebuild_goes_on(lived: Any, data: st.DataObject) -> None:
    """Stopped at any write and begun anew, in batches of any size, it ends in the same stores."""
    world, _ = lived
    stores = empty_stores(world)
    left = data.draw(st.integers(0, 12))
    batch = data.draw(st.sampled_from([1, 3, 64]))

    class Stopped(Exception):
        pass

    def stopping(call: Any) -> Any:
        async def wrapped(*given: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Stopped
            return await call(*given)

        return wrapped

    whole = stores.facts.write, stores.ledger.insert, stores.ledger.point
    stores.facts.write, stores.ledger.insert, stores.ledger.point = map(stopping, whole)
    with contextlib.suppress(Stopped):
        rebuilt(world, topic_of(world, batch=data.draw(st.sampled_from([2, 5, 50]))), stores)
    stores.facts.write, stores.ledger.insert, stores.ledger.point = whole
    rebuilt(world, topic_of(world, batch=batch), stores)
    assert differences(points(stores_of(world)), points(stores)) == []
    assert ledger_differences(world, stores_of(world), stores) == []


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40), st.booleans()), min_size=1, max_size=25), st.randoms())
def test_any_stream_with_commands_comes_back(statements: Any, rng: Any) -> None:
    """Random statements, late ones among them, and random commands about them: the rebuilt stores are the same."""
    world = World(by_digest, policy=WIDE, wave_events=rng.choice([1, 4, 64]))
    world.run(
        [
            world.record(f"the {SUBJECTS[n % 3]} runs on host {n}", 60 * at, slot="s" if slot else None)
            for n, at, slot in statements
        ]
    )
    for _ in range(4):
        decided = [d for d in world.decisions() if d.get("decision")]
        one = rng.choice(decided)
        kind = rng.choice(["revert", "retract", "erase"])
        body = (
            {"fact_id": one["fact_id"]} if kind == "retract" and one["fact_id"] else {"decision_id": one["decision_id"]}
        )
        world.run([world.command("revert" if kind == "retract" and not one["fact_id"] else kind, body)])
    stores, _ = rebuilt(world)
    assert differences(points(stores_of(world)), points(stores)) == []
    assert ledger_differences(world, stores_of(world), stores) == []


def test_an_older_log_without_the_ledgers_fields_is_taken(lived: Any) -> None:
    """Messages of a version that told less still fill the store; any body of such an event is then taken for it."""
    world, records = lived
    topic = topic_of(world)
    newer = {"reworded", "vectors", "attributes", "erases", "undoes", "body_hash", "text_hash", "replay_id", "met_at"}
    for number, part in enumerate(topic.partitions):
        topic.partitions[number] = [
            msgspec.structs.replace(
                one,
                value=msgspec.json.encode(
                    {k: v for k, v in msgspec.json.decode(one.value or b"{}").items() if k not in newer}
                ),
            )
            for one in part
        ]
    stores, done = rebuilt(world, topic)
    assert done.incomplete > 0
    ours, theirs = points(stores_of(world)), points(stores)
    for one in (ours, theirs):
        for row in one.values():
            row.pop("vector")
    gone = [key for key in ours if ours[key] != theirs.get(key)]
    assert gone == []
    assert redelivered(world, stores, records).judge.questions == []


def test_what_can_not_be_rebuilt_is_refused(lived: Any) -> None:
    """Lost messages, another embedder and a store that holds something are refused with what to do."""
    world, _ = lived
    with pytest.raises(BadSettings, match="retention is over"):
        rebuilt(world, topic_of(world, removed=2))
    rebuilt(world, topic_of(world, removed=2), accept_gap=True)
    other = empty_stores(world)
    other.embedder.fingerprint = "toy-2"
    with pytest.raises(BadSettings, match="--re-embed"):
        rebuilt(world, stores=other)
    with pytest.raises(BadSettings, match="not empty"):
        asyncio.run(rebuilding.check_target(stores_of(world), go_on=False))
    asyncio.run(rebuilding.check_target(stores_of(world), go_on=True))
    asyncio.run(rebuilding.check_target(empty_stores(world), go_on=False))
    ahead = exported(world, {0: 10_000, 1: 0, 2: 0})
    with pytest.raises(BadSettings, match="made anew"):
        rebuilt(world, export=ahead)


def test_another_embedder_makes_all_vectors_anew(lived: Any) -> None:
    """With --re-embed no vector that came along is kept, neither in facts nor in the ledger."""
    world, _ = lived
    stores = empty_stores(world)
    stores.embedder.fingerprint = "toy-2"
    stores, done = rebuilt(world, stores=stores, re_embed=True)
    assert done.other_embedder > 0
    assert not [row for row in points(stores).values() if row.get("embedded")]
    assert not [entry for entry in entries(stores).values() if entry.vectors]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.integers(1, 3), max_size=2)), max_size=4))
def test_erasures_add_up(parts: Any) -> None:
    """Several erasures take what each of them takes; one that takes a fact whole prevails."""
    total = Erasure()
    for fact_id, revisions in parts:
        total = merged(total, Erasure(facts={fact_id: tuple(revisions)}))
    for fact_id in {one for one, _ in parts}:
        own = [revisions for one, revisions in parts if one == fact_id]
        wanted = () if any(not one for one in own) else tuple(sorted({r for one in own for r in one}))
        assert total.facts[fact_id] == wanted
