"""The compacted topic `facts`: where a new consumer starts, and what is left in its files of what was erased."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.apache import ApacheKafka
from kafka.brokers import TestBroker, require_kafka

from factsieve.core.facts import Kind, Status
from factsieve.core.policy import Policy
from factsieve.ports import Message
from factsieve.wire.topic_specs import load_specs
from tests.engine.harness import World, always, by_digest

SECRET = "the vault opens with 4711-unforgettable"
WIDE = Policy(skip_guard="off", skip_threshold=0.995)


def lived() -> World:
    """Return a world whose facts changed in every way, one of them erased after it had been merged and repeated."""
    world = World(by_digest, policy=WIDE)
    world.run([world.record(f"the api runs on host {n}", 60 * n, slot="host" if n % 3 else None) for n in range(25)])
    world.judge.script = always(Kind.ADD)
    world.run([world.record(SECRET, 3000), world.record("the lift is out of order", 3010)])
    world.judge.script = always(Kind.MERGE, text=f"{SECRET} since friday")
    world.run([world.record(f"{SECRET} friday", 3100), world.record(SECRET, 3200)])
    world.run([world.command("retract", {"fact_id": next(f for f in world.current() if "lift" in f.text).fact_id})])
    for fact in [one for one in world.current() if SECRET in one.text]:
        world.run([world.command("erase", {"fact_id": fact.fact_id})])
    return world


def states(records: list[tuple[str, bytes | None]]) -> dict[str, dict[str, Any]]:
    """Return what a new consumer holds after reading the topic from its beginning: each key's last value."""
    held: dict[str, dict[str, Any]] = {}
    for key, value in records:
        if value is None:
            held.pop(key, None)
        else:
            held[key] = json.loads(value)
    return held


def standing(world: World) -> dict[str, dict[str, Any]]:
    """Return the heads of the facts that are not erased, as their last states have to say."""
    rows = asyncio.run(world.facts.select(None, current_only=False))
    return {row.fact_id: {"text": row.text, "status": row.status.value, "version": row.version} for row in rows
            if row.is_head and row.status is not Status.ERASED}  # fmt: skip


def in_short(held: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {key: {name: value[name] for name in ("text", "status", "version")} for key, value in held.items()}


def test_a_new_consumer_has_the_facts_after_reading_to_the_end() -> None:
    """Whatever happened, each key's last value is its fact as it stands; erased facts have a tombstone, and no state holds their text."""
    world = lived()
    told = [(message.key or b"").decode() for message in world.outbox.of("facts")]
    records = [(key, message.value) for key, message in zip(told, world.outbox.of("facts"), strict=True)]
    assert in_short(states(records)) == standing(world)
    erased = {
        row.fact_id for row in asyncio.run(world.facts.select(None, current_only=False)) if row.status is Status.ERASED
    }
    assert erased
    assert {key for key, value in records if value is None} >= {one for one in erased if one in told}
    statuses = {value["status"] for value in states(records).values()}
    assert {"current", "retracted"} <= statuses


@pytest.fixture
def eager(tmp_path: Path) -> Iterator[TestBroker]:
    """An Apache Kafka whose log cleaner looks for work all the time."""
    require_kafka()
    properties = {"log.cleaner.backoff.ms": "100", "log.cleaner.threads": "1"}
    service = ApacheKafka(folder=tmp_path / "node", log_path=tmp_path / "kafka.log", properties=properties)
    service.start()
    yield TestBroker("apache", service)
    service.stop()


def held_in(folder: Path, topic: str, text: str) -> list[Path]:
    """Return the files of a topic whose bytes hold a text."""
    found = []
    for one in folder.glob(f"data/{topic}-*/*"):
        try:
            if text.encode() in one.read_bytes():
                found.append(one)
        except FileNotFoundError:  # the cleaner swaps files
            continue
    return found


@pytest.mark.kafka
@pytest.mark.stack
def test_compaction_removes_what_was_erased(eager: TestBroker) -> None:
    """On Apache Kafka with the topic's own policy and small segments: after compaction no file holds the erased text, all else is there."""
    world = lived()
    configs = dict(load_specs()["facts"].configs)
    assert configs["cleanup.policy"] == "compact"
    quick = {
        "segment.ms": "50",
        "min.cleanable.dirty.ratio": "0.0",
        "delete.retention.ms": "0",
        "max.compaction.lag.ms": "1",
    }
    messages = world.outbox.of("facts")
    filler = Message("facts", b"filler", b"{}", ())

    async def produce(topic: str, some: list[Message]) -> None:
        records = [{"key": m.key, "value": m.value, "headers": [*m.headers]} for m in some]
        await eager.produce(topic, records)

    async def read(topic: str) -> list[tuple[str, bytes | None]]:
        return [(one.key.decode(), one.value) for one in await eager.read_all(topic) if one.key != b"filler"]

    topic = asyncio.run(eager.create(eager.name("facts"), 1, configs | quick))
    asyncio.run(produce(topic, messages))
    folder = eager.service.folder
    assert held_in(folder, topic, SECRET)
    deadline = time.monotonic() + 120
    while held_in(folder, topic, SECRET):
        assert time.monotonic() < deadline, "the topic was not compacted"
        asyncio.run(produce(topic, [filler]))  # rolls the segment: the active one is never compacted
        time.sleep(0.2)
    assert in_short(states(asyncio.run(read(topic)))) == standing(world)
