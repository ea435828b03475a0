"""Qdrant and Redis are lost; what the topics hold fills them again, and a model that would answer differently now is not asked."""

import asyncio
import hashlib
import json
import shutil
import threading
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from e2e import streams
from e2e.harness import PRODUCER, Room
from e2e.outcome import Outcome
from factsieve.assembly.wiring import open_stores
from factsieve.core.facts import Kind
from factsieve.operations import rebuild as rebuilding
from factsieve.operations.connected import connected_to
from factsieve.operations.scan import Scan
from factsieve.wire.producing import command_message
from tests.adapters.fake_openai import FakeOpenAI, Step, says

pytestmark = [pytest.mark.stack, pytest.mark.long]

KEY = "5a" * 32
SLOT = {"slot": "harbor.port", "namespace": "harbor", "source": "remember"}
OWN = [
    {"id": f"own-{n}", "text": f"The Harbor API listens on port {port}.", "occurred_at": f"2026-02-{day:02}T09:00:00Z", **SLOT}
    for n, (port, day) in enumerate([(8080, 2), (8081, 10), (8079, 6), (8080, 14), (8081, 14), (8078, 4), (8081, 20)])
] + [
    {"id": f"own-r{n}", "text": text, "occurred_at": f"2026-03-{n + 1:02}T09:00:00Z", "namespace": "house", "source": "remember"}
    for n, text in enumerate(
        [
            "The bins go out on Friday.",
            "The bins go out on Friday morning.",
            "The bins go out on Thursday.",
            "The glass goes out on Friday.",
            "The bins go out on Friday.",
            "The boiler was serviced in March.",
            "The boiler was serviced in March by Anna.",
            "The boiler was serviced in April.",
        ]
    )
]  # fmt: skip


class MoodyModel:
    """A language model that answers by its mood and a digest of the texts: in another mood it answers differently. In its own thread."""

    def __init__(self) -> None:
        self.mood = "calm"
        self.asked = 0
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def __enter__(self) -> "MoodyModel":
        self._thread.start()
        assert self._ready.wait(10), "the model does not listen"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(15)
        self._loop.close()

    async def _serve(self) -> None:
        async with FakeOpenAI(self._answer) as server:
            self.url = server.url
            self._ready.set()
            await self._stopping.wait()

    def _answer(self, body: dict[str, Any]) -> Step:
        self.asked += 1
        document = json.loads(body["messages"][1]["content"])
        text, stored = document["candidate"]["text"], document["stored"]
        digest = hashlib.sha256(f"{self.mood}/{text}/{stored[0]['text']}".encode()).digest()
        choice = sorted(document["allowed"])[digest[0] % len(document["allowed"])]
        targets = () if choice == "add" else (stored[0]["index"],)
        return says(choice, targets, text if choice in ("update", "merge") else None)


def order(room: Room, kind: Any, number: int, about: dict[str, Any], **more: Any) -> Any:
    """Return a signed command about a decision."""
    by_fact = kind == "retract"
    name = {"fact_id": about["fact_id"]} if by_fact else {"decision_id": about["decision_id"]}
    return command_message(
        room.topics,
        kind=kind,
        namespace=about["namespace"],
        body={**name, **more},
        ce_source=PRODUCER,
        ce_id=f"{kind}-{number}-{about['decision_id']}",
        now=datetime.now(UTC),
        key_id="op",
        key=KEY.encode(),
    )


def orders(room: Room, each: int) -> list[Any]:
    """Return commands about what was decided so far: reverts of every kind of decision, retracts, erases of facts and of statements."""
    decided = [one for one in room.follower.decisions() if one.get("decision")]
    found: list[Any] = []
    for kind in ("supersede", "update", "merge", "skip"):
        found += [
            order(room, "revert", len(found) + n, one)
            for n, one in enumerate([d for d in decided if d["decision"] == kind][:each])
        ]
    adds = [one for one in decided if one["decision"] == "add"]
    step = max(1, len(adds) // (2 * each))
    found += [order(room, "retract", 100 + n, one) for n, one in enumerate(adds[::step][0::2][:each])]
    merged = [one for one in decided if one["decision"] in ("merge", "update")]
    erased = [*adds[::step][1::2][:each], *merged[each : 2 * each]] or adds[-each:]
    return found + [order(room, "erase", 200 + n, one) for n, one in enumerate(erased)]


async def rebuilt(room: Room) -> rebuilding.Rebuilt:
    connected = connected_to(room.settings, local=True)
    async with Scan(connected.kafka, room.topics.decisions) as scan, open_stores(room.settings) as stores:
        await rebuilding.check_target(stores, go_on=False)
        starts = rebuilding.start_of(scan, None, room.topics.decisions, accept_gap=False)
        return await rebuilding.rebuild(stores, scan, starts)


def lose_everything(room: Room) -> None:
    """Delete Qdrant's folder and empty Redis."""
    site = room.site
    site.redis.kill()
    site.qdrant.stop()
    shutil.rmtree(site.qdrant.folder)
    site.ensure_running()


def fields_that_differ(one: Outcome, other: Outcome) -> list[str]:
    """Return what differs between the facts of two outcomes: any field, system times included, and any bit of a vector."""
    lines = [f"{key} is missing" for key in one.facts.keys() - other.facts.keys()]
    lines += [f"{key} is there" for key in other.facts.keys() - one.facts.keys()]
    lines += [
        f"{one.facts[key]}\nbecame\n{other.facts[key]}"
        for key in one.facts.keys() & other.facts.keys()
        if one.facts[key] != other.facts[key]
    ]
    lines += [
        f"vector of {key}"
        for key in one.vectors.keys() & other.vectors.keys()
        if one.vectors[key] != other.vectors[key]
    ]
    return lines


def lost_and_rebuilt(
    room: Room, model: MoodyModel, lines: list[dict[str, Any]], each: int, timeout_s: float
) -> Counter[str]:
    """Run a stream with commands in its middle and at its end, lose the stores, rebuild, compare, send everything again, compare."""
    messages = room.lines(lines)
    half = len(messages) // 2
    worker = room.worker()
    sent = messages[:half]
    room.send(sent)
    room.until_decided(half, timeout_s)
    for more in (messages[half:], []):
        commands = orders(room, each)
        room.send([*commands, *more])
        sent += [*commands, *more]
        room.until_decided(len({(m.key, dict(m.headers)["ce_id"]) for m in sent}), timeout_s)
    room.until_committed(timeout_s)
    assert worker.terminate() == 0
    before = room.outcome()
    assert before.rejects == []
    asked = model.asked
    assert asked > 0

    lose_everything(room)
    done = asyncio.run(rebuilt(room))
    assert model.asked == asked
    assert done.incomplete == 0
    after = room.outcome()
    assert fields_that_differ(before, after) == []
    assert after.entries().keys() == before.entries().keys()

    model.mood = "cross"
    again = room.worker()
    room.send(sent)
    room.until_committed(timeout_s)
    assert again.terminate() == 0
    last = room.outcome()
    assert model.asked == asked, "the model was asked about events that were decided before"
    assert fields_that_differ(before, last) == []
    told = [one for one in last.values(last.topics.decisions) if "error" not in one]
    assert len({one["event_key"] for one in told}) == len({one["decision_id"] for one in told}) == len(before.decisions)
    assert len(last.records[last.topics.new_facts]) == len(before.records[before.topics.new_facts])
    decisions = before.decisions.values()
    applied = Counter(f"{one['command']} {one['outcome']}" for one in decisions if one["command"])
    late = sum(one["reason"] == "late_history" for one in decisions)
    return Counter(str(one["decision"]) for one in decisions) + applied + Counter({"late": late})


def settings(model: MoodyModel) -> dict[str, Any]:
    return {
        "judge.name": f"{model.url}#moody",
        "commands.keys": {"op": KEY},
        "commands.key_id": "op",
        "policy.skip_guard": "off",
    }


def test_a_short_stream_is_rebuilt(site):
    """Decisions of a model, late statements, reverts, retracts and erases: every field of every fact comes back."""
    with MoodyModel() as model, site.room(**settings(model)) as room:
        happened = lost_and_rebuilt(room, model, OWN, each=1, timeout_s=120)
    assert happened["erase applied"] >= 1
    assert happened["retract applied"] >= 1


@pytest.mark.shared
@pytest.mark.timeout(1800)
def test_the_whole_stream_is_rebuilt(site, shared):
    """2,541 facts about people and statements of our own, with commands of every kind."""
    lines = [*streams.locomo(shared), *OWN]
    with MoodyModel() as model, site.room(engine__wave_size=64, embedder__threads=0, **settings(model)) as room:
        happened = lost_and_rebuilt(room, model, lines, each=12, timeout_s=600)
    print(dict(happened), model.asked)
    assert all(happened[kind] > 0 for kind in Kind)
    for command in ("revert", "retract", "erase"):
        assert happened[f"{command} applied"] >= 5
