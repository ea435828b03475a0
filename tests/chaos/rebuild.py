"""The expected state, rebuilt from the input topic alone, and its comparison with what a run came to.

The records of `candidate-facts`, partition by partition in the order of their offsets, go through the same engine in this process: its
stores are in memory, nothing is sent anywhere, and nothing goes wrong.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition

from chaos.stream import ERASING
from e2e.outcome import FOREVER, Outcome, differences
from factsieve.adapters.kafka_client import assign_all
from factsieve.adapters.memory import MemoryFacts, MemoryLedger, MemoryOutbox, MemoryWindow
from factsieve.assembly.settings import Settings
from factsieve.assembly.wiring import build_engine, open_models
from factsieve.core import ids
from factsieve.core.facts import Fact, Record
from factsieve.engine.ports import HoldsAll
from factsieve.ports import Message
from factsieve.wire.topics import Topics

READ_TIMEOUT_MS = 10_000
DRAIN_TIMEOUT_S = 1200.0


@dataclass(frozen=True)
class Sent:
    """A message of the engine in this process, as a record that was read would look."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class ChaosOutcome(Outcome):
    """An outcome in which something may have been erased: what was told of it before and after differs in words."""

    @property
    def erasing(self) -> set[str]:
        """Return the keys of events in namespaces in which something is erased."""
        return {one["event_key"] for one in self.decisions.values() if one["namespace"].startswith(ERASING)}

    def _check_points(self, written: set[str]) -> None:
        assert written <= set(self.facts), "points are missing"
        unknown = [self.facts[point_id] for point_id in set(self.facts) - written]
        # an erased event's entry does not say any more what it did to others
        assert all(fact.namespace.startswith(ERASING) for fact in unknown), f"points that nobody wrote: {unknown}"

    def _check_copies(self) -> None:
        for topic in (self.topics.new_facts, self.topics.supersessions, self.topics.decisions):
            said: dict[str, bytes] = {}
            for record in self.records[topic]:
                if record.key.decode().startswith(ERASING):
                    continue
                value, name = record.value, dict(record.headers)["ce_id"].decode()
                if b'"replayed":true' in value or b'"error":' in value:
                    continue  # the same event at another place, or a refusal, which holds when it was told
                if said.setdefault(name, value) != value:
                    raise AssertionError(f"{name} on {topic} was told in two ways: {said[name]!r} / {value!r}")

    def _check_states(self, heads: set[str]) -> None:
        latest: dict[str, Fact | None] = {}
        for record in sorted(self.records[self.topics.facts], key=lambda one: (one.partition, one.offset)):
            latest[record.key.decode()] = None if record.value is None else msgspec.json.decode(record.value, type=Fact)
        assert set(latest) == heads, "the compacted topic holds other facts than the store"
        for key, state in latest.items():
            stored = self.facts[key]
            if state is None:
                assert stored.status == "erased", f"a tombstone for fact {key}, which is {stored.status}"
            else:
                assert state == stored, f"the compacted topic ends with a former state of {key}: {state} / {stored}"

    def ids_of(self, topic: str) -> dict[str, set[str]]:
        """Return the decision ids that were told of each event."""
        found: dict[str, set[str]] = {}
        for one in self.values(topic):
            if "event_key" in one:
                found.setdefault(one["event_key"], set()).add(one["decision_id"])
        return found

    def counters(self) -> dict[str, int]:
        """Return sums that must be the same however the run went, of what the ledger holds: an erased event was told in two ways."""
        kinds: Counter[str] = Counter()
        for entry in self.entries().values():
            decision = entry.decision
            kinds[f"decided {decision.decision or f'{decision.command} {decision.outcome}'}"] += 1
        heads = [fact for fact in self.facts.values() if fact.is_head]
        kinds |= Counter({f"facts {status}": n for status, n in Counter(str(f.status) for f in heads).items()})
        return dict(sorted(kinds.items())) | {
            "events": len(self.decisions),
            "rejected": len({str(one["coordinates"]) for one in self.rejects}),
            "dead letters": len({letter_name(record) for record in self.dead_letters}),
            "points": len(self.facts),
            "stated_count of all facts": sum(fact.stated_count for fact in heads),
            "revisions of all facts": sum(fact.revision for fact in heads),
        }

    def comparable(self) -> dict[str, dict[str, Any]]:
        """Return sets by id, see `Outcome.comparable`; besides, what was refused, and dead letters byte by byte."""
        found = super().comparable()
        found.pop("vectors")  # compared as numbers: a store may normalise them once more
        for part in ("decisions", "ledger"):
            for key, one in found[part].items():
                found[part][key] = _without_via(one)
        erasing = self.erasing
        found["decisions"] = {
            key: {"decision_id": one["decision_id"]} if key in erasing else one
            for key, one in found["decisions"].items()
        }
        found["supersessions"] = {key: _without_moment(one) for key, one in found["supersessions"].items()}
        for part in ("new-facts", "supersessions"):
            for key, one in found[part].items():
                if str(one.get("namespace", one.get("fact", {}).get("namespace"))).startswith(ERASING):
                    found[part][key] = {}
        found["rejects"] = {
            "{partition}/{offset}".format(**one["coordinates"]): one["error"]["code"] for one in self.rejects
        }
        found["dead letters"] = {
            letter_name(record): {"value": record.value, "code": dict(record.headers)["kafka_dlt-error-code"]}
            for record in self.dead_letters
        }
        return found


def letter_name(record: Any) -> str:
    """Return where a dead letter came from."""
    headers = dict(record.headers)
    return "/".join(headers[f"kafka_dlt-original-{name}"].decode() for name in ("partition", "offset"))


def _without_via(one: dict[str, Any]) -> dict[str, Any]:
    """Leave out by which way a repeat was found (the window finds what the store would have found), and when an operator's word held."""
    if "supersessions" in one:
        one = {**one, "supersessions": [_without_moment(line) for line in one["supersessions"]]}
    if isinstance(one["decision"], dict):  # a ledger's entry
        return {**one, "decision": {**one["decision"], "via": None}}
    return {**one, "via": None}


HOW_A_SKIP_WAS_FOUND = ("reason", "band", "dedup_signal", "neighbours", "findings", "judges")


def window_knew(ours: dict[str, dict[str, Any]], theirs: dict[str, dict[str, Any]]) -> set[str]:
    """Return the keys of skips that one outcome found in the hash window, and the other one by the rules.

    The window names what a text was decided to be, also where the fact says it in other words. While it is away, the rules skip such a
    repeat again, and say so. Which fact it is, and what the skip does to it, must be the same all the same.
    """
    return {
        key
        for key in ours.keys() & theirs.keys()
        if {one[key].get("via", "rules") for one in (ours, theirs)} == {"hash_window", "rules"}
        and ours[key].get("decision") == theirs[key].get("decision") == "skip"
    }


def _without_how(one: dict[str, Any]) -> dict[str, Any]:
    """Leave out how a skip was found, of a decision or a ledger's entry."""
    if isinstance(one.get("decision"), dict):
        return {**one, "decision": _without_how(one["decision"])}
    return {**one, **dict.fromkeys(HOW_A_SKIP_WAS_FOUND)}


def _without_moment(line: dict[str, Any]) -> dict[str, Any]:
    return {**line, "effective_at": None} if str(line["decided_by"]).startswith("operator:") else line


@dataclass
class Comparison:
    """What a comparison came to, for people and for tests."""

    lines: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def same(self, what: str, one: Any, other: Any) -> None:
        """Note whether two values agree."""
        if one == other:
            self.lines.append(f"  {what}: {one}")
        else:
            self.lines.append(f"  {what}: {one}, expected {other}   <-- DIFFERS")
            self.failures.append(f"{what}: {one}, expected {other}")


def compare(real: ChaosOutcome, expected: ChaosOutcome, records: list[Record]) -> Comparison:
    """Compare a run with what it should have come to."""
    found = Comparison()
    for name, outcome in (("the run", real), ("the rebuilt state", expected)):
        try:
            outcome.check()
        except AssertionError as error:
            found.failures.append(f"{name} is not consistent: {str(error)[:2000]}")
    ours, theirs = real.comparable(), expected.comparable()
    known = window_knew(real.decisions, expected.decisions)
    for parts in (ours, theirs):
        for part in ("decisions", "ledger"):
            parts[part].update({key: _without_how(parts[part][key]) for key in known if key in parts[part]})
    found.lines.append(f"  repeats of a skip that only one of both found in the hash window: {len(known)}")
    for part in ours:
        wrong = differences({part: ours[part]}, {part: theirs[part]}, limit=3)
        found.lines.append(f"  {part}: {len(ours[part])} by id, {'equal' if not wrong else 'DIFFERENT'}")
        found.failures += wrong
    off = [key for key, vector in expected.vectors.items() if not _near(real.vectors.get(key), vector)]
    found.lines.append(f"  vectors: {len(real.vectors)}, {len(off)} differ by more than 1e-5")
    if off:
        found.failures.append(f"vectors of {len(off)} points differ, as of {off[0]}")
    counted, rebuilt = real.counters(), expected.counters()
    for name in sorted(counted.keys() | rebuilt.keys()):
        found.same(name, counted.get(name, 0), rebuilt.get(name, 0))
    several = {key: told for key, told in real.ids_of(real.topics.decisions).items() if len(told) != 1}
    found.lines.append(f"  events with more than one decision id: {len(several)}")
    if several:
        found.failures.append(f"events with several decision ids: {list(several.items())[:3]}")
    silent, repeats = _silent(real, records)
    found.lines.append(
        f"  input records: {len(records)}, {repeats} of them repeat an event; nobody was told anything of: {len(silent)}"
    )
    if silent:
        found.failures.append(f"{len(silent)} records were lost, as {silent[0].partition}/{silent[0].offset}")
    copies = len(real.records[real.topics.decisions]) - len(records)
    found.lines.append(f"  decisions told once more after a fault (same id, same words): {copies}")
    return found


def _silent(real: ChaosOutcome, records: list[Record]) -> tuple[list[Record], int]:
    """Return the records of which nothing was told, and how many repeat an event.

    A repeated event is told under the coordinates of its first record, as replayed, once for each of its other records.
    """
    told: set[tuple[int, int]] = set()
    again: Counter[str] = Counter()
    for one in real.values(real.topics.decisions):
        told.add((one["coordinates"]["partition"], one["coordinates"]["offset"]))
        again[one.get("event_key", "")] += bool(one.get("replayed"))
    silent, repeats = [], 0
    for record in records:
        if (record.partition, record.offset) in told:
            continue
        headers = dict(record.headers)
        key = ids.event_key((record.key or b"").decode(), headers["ce_source"].decode(), headers["ce_id"].decode())
        repeats += 1
        again[key] -= 1
        if again[key] < 0:
            silent.append(record)
    return silent, repeats


def _near(one: bytes | None, other: bytes) -> bool:
    if one is None or len(one) != len(other):
        return False
    return bool(np.allclose(np.frombuffer(one, np.float32), np.frombuffer(other, np.float32), atol=1e-5))


async def read_input(bootstrap: str, topic: str) -> list[Record]:
    """Return the whole input topic, partition by partition."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    try:
        numbers = await consumer._client._wait_on_metadata(topic)
        wanted = [TopicPartition(topic, number) for number in sorted(numbers)]
        _begins, ends = await assign_all(consumer, wanted)
        found: list[Record] = []
        await consumer.seek_to_beginning(*wanted)
        for partition in wanted:
            while await consumer.position(partition) < ends[partition]:
                batch = await consumer.getmany(partition, timeout_ms=READ_TIMEOUT_MS)
                assert batch, f"{partition} stops at {await consumer.position(partition)} of {ends[partition]}"
                found += [
                    Record(topic, one.partition, one.offset, one.timestamp, one.key, one.value, tuple(one.headers))
                    for one in batch[partition]
                ]
        return found
    finally:
        await consumer.stop()


async def rebuild(settings: Settings, room: str, records: list[Record]) -> ChaosOutcome:
    """Return what these records should have come to."""
    facts, ledger, outbox = MemoryFacts(), MemoryLedger(), MemoryOutbox()
    async with open_models(settings) as models:
        engine = build_engine(
            settings,
            facts=facts,
            ledger=ledger,
            window=MemoryWindow(settings.redis.window_s),
            embedder=models.embedder,
            outbox=outbox,
            fence=HoldsAll(),
            judges=models.judges,
        )
        await engine.start()
        for record in records:
            await engine.submit(record, lambda: None)
        assert await engine.drain(None, DRAIN_TIMEOUT_S), f"the rebuild did not end: {engine.failure!r}"
        await engine.stop()
        return await outcome_of(room, settings.topics, facts, ledger, outbox)


async def outcome_of(
    room: str, topics: Topics, facts: MemoryFacts, ledger: MemoryLedger, outbox: MemoryOutbox
) -> ChaosOutcome:
    """Return what stores in memory hold, and what was sent."""
    stored = await facts.select(None, current_only=False)
    vectors = await facts.vectors([fact.point_id for fact in stored])
    pointers = [
        {"kind": "pointer", "event_key": key, "record_id": pointer.record_id, "index": pointer.index}
        for key, pointer in ledger._pointers.items()
    ]
    bodies = [{"kind": "record", "body": body.decode()} async for body in ledger.scan(None)]
    return ChaosOutcome(
        room=room,
        topics=topics,
        facts={fact.point_id: fact for fact in stored},
        vectors={point_id: vector.tobytes() for point_id, vector in vectors.items()},
        ledger=[*bodies, *pointers],
        records=_sent(outbox.messages, topics),
    )


def _sent(messages: list[Message], topics: Topics) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {topic: [] for topic in topics.outputs}
    for message in messages:
        told = found[message.topic]
        told.append(Sent(0, len(told), message.key, message.value, message.headers))
    return found


def rebuild_now(settings: Settings, room: str, bootstrap: str) -> tuple[ChaosOutcome, list[Record]]:
    """Read the input topic and rebuild, in this thread."""

    async def both() -> tuple[ChaosOutcome, list[Record]]:
        records = await read_input(bootstrap, settings.topics.candidates)
        return await rebuild(settings, room, records), records

    return asyncio.run(both())


__all__ = ["FOREVER", "ChaosOutcome", "Comparison", "compare", "rebuild_now"]
