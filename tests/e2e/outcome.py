"""What a run came to, checked in itself and reduced to what must be the same however the run went."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec
from aiokafka import ConsumerRecord

from factsieve.core.facts import Fact
from factsieve.wire.ledger import decode_record
from factsieve.wire.topics import Topics

SYSTEM_TIMES = frozenset({"decided_at", "recorded_at", "latency_ms"})
_OF_THE_MEETING = frozenset({"replayed", "replay_id", "met_at"})
"""What a repeated message says of where the event was met again, beside what was decided about it."""
FOREVER = "9999-12-31T23:59:59Z"


@dataclass(frozen=True, repr=False)
class Outcome:
    """Points and their vectors by id, the ledger's payloads, and every record of the output topics."""

    room: str
    topics: Topics
    facts: dict[str, Fact]
    vectors: dict[str, bytes]
    ledger: list[dict[str, Any]]
    records: dict[str, list[ConsumerRecord]]

    def values(self, topic: str) -> list[dict[str, Any]]:
        """Return the values of a topic in order of partition and offset."""
        found = sorted(self.records[topic], key=lambda record: (record.partition, record.offset))
        return [msgspec.json.decode(record.value) for record in found if record.value is not None]

    @property
    def decisions(self) -> dict[str, dict[str, Any]]:
        """Return the decision of each event by its key."""
        return {one["event_key"]: one for one in self.values(self.topics.decisions) if "event_key" in one}

    @property
    def rejects(self) -> list[dict[str, Any]]:
        return [one for one in self.values(self.topics.decisions) if "error" in one]

    @property
    def dead_letters(self) -> list[ConsumerRecord]:
        return self.records[self.topics.dead_letters]

    def ledger_ids(self) -> set[str]:
        """Return what the ledger's points are about: records by id, pointers by event."""
        return {str(payload.get("event_key") or payload["body"]) for payload in self.ledger}

    def entries(self) -> dict[str, Any]:
        """Return each event's entry in the ledger. No event may have been decided twice, and every one is pointed to."""
        records = {}
        for payload in self.ledger:
            if payload["kind"] == "record":
                record = decode_record(payload["body"].encode())
                records[record.record_id] = record
        entries = [entry for record in records.values() for entry in record.entries]
        often = {key: n for key, n in Counter(entry.decision.event_key for entry in entries).items() if n > 1}
        assert not often, f"decided more than once: {often}"
        pointed = {p["event_key"]: (p["record_id"], p["index"]) for p in self.ledger if p["kind"] == "pointer"}
        for key, (record_id, index) in pointed.items():
            assert records[record_id].entries[index].decision.event_key == key
        assert set(pointed) == {entry.decision.event_key for entry in entries}
        return {entry.decision.event_key: entry for entry in entries}

    def check(self) -> None:
        """Check what holds of every run, whatever happened to it: nothing dangles, nothing was told that is not so."""
        entries = self.entries()
        decisions = self.decisions
        assert set(decisions) == set(entries), "told and recorded decisions differ"
        self._check_copies()
        told_lines = {one["record_id"] for one in self.values(self.topics.supersessions)}
        told_changes = {(one["decision_id"], one["fact"]["fact_id"]) for one in self.values(self.topics.new_facts)}
        for key, entry in entries.items():
            assert decisions[key]["decision_id"] == entry.decision.decision_id
            for fact in entry.effects:
                there = self.facts.get(fact.point_id)
                assert there is not None, f"{fact.point_id} of event {entry.decision.event_id} is not in the store"
                assert there.version >= fact.version
            for line in entry.supersessions:
                assert line.record_id in told_lines
            for change in entry.changes:
                assert (change.decision_id, change.fact.fact_id) in told_changes
        self._check_points({fact.point_id for entry in entries.values() for fact in entry.effects})
        assert set(self.vectors) == set(self.facts)
        heads = {fact.fact_id for fact in self.facts.values() if fact.is_head}
        for fact in self.facts.values():
            linked = {*fact.supersedes, *fact.absorbed, *filter(None, (fact.superseded_by, fact.merged_into))}
            assert linked <= heads, f"{fact.text!r} refers to facts that are not there: {linked - heads}"
        self._check_states(heads)

    def _check_points(self, written: set[str]) -> None:
        """The store holds what the ledger says was written, and nothing else."""
        assert set(self.facts) == written

    def _check_copies(self) -> None:
        """What is told again is told in the same words."""
        for topic in (self.topics.new_facts, self.topics.supersessions, self.topics.decisions):
            told: dict[str, dict[str, Any]] = {}
            for record in self.records[topic]:
                name = dict(record.headers)["ce_id"].decode()
                value = {
                    key: one for key, one in msgspec.json.decode(record.value).items() if key not in _OF_THE_MEETING
                }
                assert told.setdefault(name, value) == value, f"{name} on {topic} was told in two ways"

    def _check_states(self, heads: set[str]) -> None:
        """The compacted topic holds every fact, and its latest state is the one in the store."""
        latest: dict[str, Fact] = {}
        for record in sorted(self.records[self.topics.facts], key=lambda one: (one.partition, one.offset)):
            state = msgspec.json.decode(record.value, type=Fact)
            latest[record.key.decode()] = state
        assert set(latest) == heads
        stale = {key: (state.version, self.facts[key].version) for key, state in latest.items()}
        stale = {key: versions for key, versions in stale.items() if versions[0] != versions[1]}
        assert not stale, f"the compacted topic ends with former states: {stale}"
        assert all(state == self.facts[key] for key, state in latest.items())

    def comparable(self) -> dict[str, dict[str, Any]]:
        """Return sets by id, without system times and latencies: two runs over the same input must agree on all of it."""
        entries = {key: msgspec.to_builtins(entry) for key, entry in self.entries().items()}
        found = {
            "facts": {point_id: msgspec.to_builtins(fact) for point_id, fact in self.facts.items()},
            "vectors": dict(self.vectors),
            "ledger": entries,
            "decisions": {key: {**one, "replayed": None} for key, one in self.decisions.items()},
            "supersessions": {one["record_id"]: one for one in self.values(self.topics.supersessions)},
            "new-facts": {
                f"{one['decision_id']}/{one['type']}/{one['fact']['fact_id']}": one
                for one in self.values(self.topics.new_facts)
            },
        }
        return _lasting(found, self.room)


def _lasting(node: Any, room: str) -> Any:
    if isinstance(node, dict):
        kept = {name: _lasting(value, room) for name, value in node.items() if name not in SYSTEM_TIMES}
        if "point_id" in kept:  # a fact: written out, or without what has its default value
            kept["retired_at"] = kept.get("retired_at", FOREVER) == FOREVER
            kept["valid_to"] = kept.get("valid_to", FOREVER)
        if "topic" in kept and "offset" in kept:
            kept["topic"] = kept["topic"].removeprefix(f"{room}.")
        return kept
    if isinstance(node, list | tuple):
        return [_lasting(one, room) for one in node]
    return node


def differences(one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]], limit: int = 5) -> list[str]:
    """Return the first differences of two comparable outcomes, in words.

    Similarities may differ in their last digit: the store and the wave's overlay add up in another order, and a sum that
    lies on the border of two roundings comes out on either side of it.
    """
    found: list[str] = []
    for part, a in one.items():
        b = other[part]
        for key in sorted(a.keys() | b.keys()):
            if key not in a or key not in b:
                found.append(f"{part} {key} is only in the {'first' if key in a else 'second'}")
            elif difference := _difference(a[key], b[key]):
                found.append(f"{part} {key}: {difference}")
    return found[:limit] + ([f"... and {len(found) - limit} more"] if len(found) > limit else [])


SIMILARITIES = frozenset({"similarity", "max_sim"})
LAST_DIGIT = 1.001e-5


def _difference(a: Any, b: Any, path: str = "") -> str | None:
    """Return where two values first differ, and how, or None."""
    if isinstance(a, dict) and isinstance(b, dict):
        parts = ((f"{path}.{name}", a.get(name), b.get(name)) for name in sorted(a.keys() | b.keys()))
        return next((found for name, x, y in parts if (found := _difference(x, y, name))), None)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        if path.endswith("neighbours"):
            a, b = (sorted(one, key=lambda note: note["fact_id"]) for one in (a, b))
        parts = ((f"{path}[{number}]", x, y) for number, (x, y) in enumerate(zip(a, b, strict=True)))
        return next((found for name, x, y in parts if (found := _difference(x, y, name))), None)
    if path.rpartition(".")[2] in SIMILARITIES and abs(a - b) < LAST_DIGIT:
        return None
    return None if a == b else f"{path}: {str(a)[:200]!r} / {str(b)[:200]!r}"
