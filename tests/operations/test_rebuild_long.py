"""2,541 facts about people with the shipped embedder, commands among them: the store is made anew from what was told, field by field."""

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from factsieve.adapters.onnx_embedder import OnnxEmbedder
from factsieve.core.facts import Kind
from factsieve.core.policy import Policy
from factsieve.operations import rebuild as rebuilding
from tests.engine.harness import World, by_digest
from tests.operations.recovery_world import (
    differences,
    ledger_differences,
    points,
    redelivered,
    stores_of,
    topic_of,
)

pytestmark = [pytest.mark.long, pytest.mark.shared, pytest.mark.timeout(1800)]
LINES = int(os.environ.get("FACTSIEVE_REBUILD_LINES", "2541"))


def test_the_long_stream_is_rebuilt_field_by_field(shared: Path) -> None:
    """Facts with all fields, vectors, and the ledger are equal; then all records come again, and no judge is asked and no point changes."""
    lines = (shared / "data" / "streams" / "locomo_observations.jsonl").read_text(encoding="utf-8").splitlines()[:LINES]
    embedder = OnnxEmbedder(None)
    world = World(by_digest, policy=Policy(skip_guard="off"), embedder=embedder)
    records: list[Any] = []

    def run(some: list[Any]) -> None:
        records.extend(some)
        for start in range(0, len(some), 500):
            asyncio.run(feed(world, some[start : start + 500]))

    for part in range(0, len(lines), len(lines) // 4 + 1):
        told = []
        for line in map(json.loads, lines[part : part + len(lines) // 4 + 1]):
            value = {name: line[name] for name in ("namespace", "text", "occurred_at", "source")}
            headers = (("ce_source", b"people"), ("ce_id", line["id"].encode()))
            told.append(world.raw(json.dumps(value).encode(), key=line["namespace"].encode(), headers=headers))
        told += told[:5]  # a producer that repeats itself
        run(told)
        decided = [one for one in world.decisions() if one.get("decision") and not one["replayed"]][-200:]
        for kind in Kind:
            for one in [d for d in decided if d["decision"] == kind.value][:4]:
                run([world.command("revert", {"decision_id": one["decision_id"]}, namespace=one["namespace"])])
        adds = [d for d in decided if d["decision"] == "add"]
        run([world.command("retract", {"fact_id": d["fact_id"]}, namespace=d["namespace"]) for d in adds[4:8]])
        run([world.command("erase", {"fact_id": d["fact_id"]}, namespace=d["namespace"]) for d in adds[8:14]])
        merged = [d for d in decided if d["decision"] in ("merge", "update")]
        run([world.command("erase", {"decision_id": d["decision_id"]}, namespace=d["namespace"]) for d in merged[4:10]])

    happened = Counter(
        str((d.get("command") and f"{d['command']} {d['outcome']}") or d["decision"]) for d in world.decisions()
    )
    print(dict(happened))
    assert all(happened[kind.value] for kind in Kind)
    for command in ("revert", "retract", "erase"):
        assert happened[f"{command} applied"] >= 5
    assert not [d for d in world.decisions() if "error" in d]
    stores: Any = Empty(embedder)
    topic: Any = topic_of(world, batch=200)
    starts = rebuilding.start_of(topic, None, "fact-decisions", accept_gap=False)
    asked = len(world.judge.questions)
    asyncio.run(rebuilding.rebuild(stores, topic, starts))
    assert len(world.judge.questions) == asked
    for line in differences(points(stores_of(world)), points(stores)):
        print("DIFF", line[:1500])
    assert differences(points(stores_of(world)), points(stores)) == []
    assert ledger_differences(world, stores_of(world), stores) == []
    before = points(stores)
    again = redelivered(world, stores, records)
    assert again.judge.questions == []
    assert points(stores) == before


class Empty:
    """Empty stores on memory."""

    def __init__(self, embedder: OnnxEmbedder) -> None:
        from factsieve.adapters.memory import MemoryFacts, MemoryLedger

        self.facts, self.ledger, self.embedder = MemoryFacts(), MemoryLedger(), embedder


async def feed(world: World, records: list[Any]) -> None:
    from factsieve.engine.engine import Engine

    engine = Engine(world.ports(), world.settings, world.observer)
    for record in records:
        await engine.submit(record, lambda: None)
    assert await engine.drain(None, 600.0), engine.failure
    await engine.stop()
