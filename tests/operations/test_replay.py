"""A replay on a real broker: what it sends, how far it remembers to have come, and that it can be stopped anywhere."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from factsieve.assembly.settings import load_settings
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Candidate, Record
from factsieve.operations import replay as replaying
from factsieve.operations.connected import Connected, connected_to
from factsieve.operations.scan import Scan
from factsieve.wire.inbound import decode
from factsieve.wire.replaying import Fate, Selection
from factsieve.wire.topics import Limits

BROKERS = [
    pytest.param("tansu", marks=pytest.mark.stack),
    pytest.param("apache", marks=[pytest.mark.stack, pytest.mark.kafka]),
]
LIMITS = Limits()
EVENTS = 60


class Stopped(Exception):
    """Stands for Ctrl-C."""


def at(broker: Any) -> Connected:
    settings = {
        "kafka.bootstrap": broker.bootstrap,
        "kafka.idempotence": broker.is_idempotent,
        "kafka.topics.candidates": broker.name("candidates"),
        "kafka.topics.decisions": broker.name("decisions"),
        "kafka.group": broker.name("workers"),
    }
    return connected_to(load_settings(settings, environ={}), local=broker.kind == "tansu")


async def filled(broker: Any, connected: Connected) -> None:
    topic = await broker.create(connected.topics.candidates, partitions=3)
    await broker.create(connected.topics.decisions, partitions=1)
    records: list[dict[str, Any]] = []
    for number in range(EVENTS):
        value = {"namespace": f"n{number % 4}", "text": f"Statement {number}", "source": "remember"}
        named = [("ce_source", b"test"), ("ce_id", str(number).encode())] if number % 2 else []
        records.append(
            {
                "value": json.dumps(value).encode(),
                "key": value["namespace"].encode(),
                "headers": named,
                "partition": number % 3,
            }
        )
    records.append({"value": b"{}", "key": b"n0", "headers": [("ce_type", b"fact.retract.v1")], "partition": 0})
    records.append({"value": b"{}", "key": b"n0", "headers": [("replay-id", b"old")], "partition": 1})
    records.append({"value": None, "key": b"n0", "headers": [], "partition": 2})
    await broker.produce(topic, records)


def as_record(one: Any) -> Record:
    headers = tuple((name, value) for name, value in one.headers)
    return Record(one.topic, one.partition, one.offset, one.timestamp, one.key, one.value, headers)


def keys_of(records: list[Any]) -> list[str]:
    events = [decode(as_record(one), LIMITS, datetime.now(UTC)) for one in records]
    return [event.event_key for event in events if isinstance(event, Candidate)]


async def once(
    connected: Connected,
    replay_id: str,
    *,
    resume: bool,
    stop_after: int | None = None,
) -> Any:
    """Run a replay, stopped after so many steps."""
    left = stop_after

    def count(steps: int) -> None:
        nonlocal left
        if left is not None:
            left -= steps
            if left < 0:
                raise Stopped

    group = replaying.group_of(connected, replay_id)
    async with Scan(connected.kafka, connected.topics.candidates, group=group) as scan:
        starts, ends = replaying.ranges(scan, dict.fromkeys(range(3), (None, EVENTS // 3 + 1)))
        if resume:
            starts = await replaying.resumed(scan, starts, replay_id)
        return await replaying.replay(
            connected, scan, starts, ends, Selection(), LIMITS, replay_id=replay_id, emit=False, on_steps=count
        )


@pytest.mark.parametrize("kind", BROKERS)
def test_a_stopped_replay_goes_on_where_it_was(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped again and again, everything is sent, most of it once; each record keeps its event key, whether it names itself or not."""
    broker = request.getfixturevalue(kind)
    connected = at(broker)
    monkeypatch.setattr("factsieve.operations.scan.BATCH_RECORDS", 7)

    async def scenario() -> None:
        await filled(broker, connected)
        before = await broker.read_all(connected.topics.candidates)
        with pytest.raises(BadSettings, match="no replay"):
            await once(connected, "r", resume=True)
        stops = 0
        for attempt in range(20):
            try:
                await once(connected, "r", resume=attempt > 0, stop_after=10)
                break
            except Stopped:
                stops += 1
        assert stops >= 2
        sent = [one for one in await broker.read_all(connected.topics.candidates) if ("replay-id", b"r") in one.headers]
        own = [
            one for one in before if one.value and not any(name in ("ce_type", "replay-id") for name, _ in one.headers)
        ]
        assert set(keys_of(sent)) == set(keys_of(own))
        assert len(own) == EVENTS
        assert len(sent) == EVENTS  # a batch that was acknowledged was committed before it was stopped
        done = await once(connected, "r", resume=True)
        assert done.fates.total() == 0

    asyncio.run(scenario())


@pytest.mark.stack
def test_a_preview_counts_by_fate_and_asks_the_ledger(tansu: Any) -> None:
    """Chosen, known, commands, replays, records without value: each is counted, and nothing is sent or committed."""
    connected = at(tansu)

    class Ledger:
        async def lookup(self, event_keys: list[str]) -> dict[str, Any]:
            return {key: None for key in event_keys if key < "8"}

    async def scenario() -> None:
        await filled(tansu, connected)
        before = await tansu.read_all(connected.topics.candidates)
        async with Scan(connected.kafka, connected.topics.candidates) as scan:
            starts, ends = replaying.ranges(scan, {})
            assert sum(ends.values()) == EVENTS + 3
            ledger: Any = Ledger()
            would = await replaying.preview(scan, starts, ends, Selection(), LIMITS, ledger)
            assert would.fates == {Fate.CHOSEN: EVENTS, Fate.COMMAND: 1, Fate.REPLAYED: 1, Fate.UNUSABLE: 1}
            own = [
                one for one in before if one.value and not any(n in ("ce_type", "replay-id") for n, _ in one.headers)
            ]
            assert would.known == len([key for key in keys_of(own) if key < "8"])
            assert would.namespaces == {f"n{number}": EVENTS // 4 for number in range(4)}
            starts, ends = replaying.ranges(scan, {1: (3, 9)})
            part = await replaying.preview(scan, starts, ends, Selection(namespaces=frozenset({"n1"})), LIMITS, None)
            assert part.fates.total() == 6
            assert part.known is None
        assert await tansu.read_all(connected.topics.candidates) == before

    asyncio.run(scenario())
