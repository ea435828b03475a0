"""Values that the wire tests start from."""

import json
from datetime import UTC, datetime

from factsieve.core import decision as d
from factsieve.core.facts import Coordinates, DedupSignal, Fact, Kind, Record, Source, Status
from factsieve.wire.topics import Limits

NOW = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
LIMITS = Limits(embedding_dimension=3, embedding_model="minilm")
TOPIC = "candidate-facts"
FACT_ID = "0195f0c8-1111-7222-8333-444455556666"
OTHER_ID = "0195f0c8-1111-7222-8333-444455557777"

CE = (
    ("ce_specversion", b"1.0"),
    ("ce_type", b"fact.candidate.v1"),
    ("ce_source", b"chat"),
    ("ce_id", b"e-1"),
    ("ce_time", b"2026-03-04T09:00:00Z"),
)


def record(value=None, *, headers=CE, key=b"team", timestamp_ms=NOW_MS, offset=7, raw=None):
    """Return an input record of a JSON value, or of raw bytes."""
    body = raw if raw is not None else json.dumps(value).encode()
    return Record(TOPIC, 2, offset, timestamp_ms, key, body, tuple(headers))


def candidate(**fields):
    """Return a candidate value as producers send it; a field given as `...` is left out."""
    value = {"namespace": "team", "text": "The API listens on port 8080", "source": "remember", **fields}
    return {name: content for name, content in value.items() if content is not ...}


def fact(**fields):
    base = {
        "point_id": FACT_ID,
        "fact_id": FACT_ID,
        "namespace": "team",
        "text": "The API listens on port 8080",
        "status": Status.CURRENT,
        "revision": 1,
        "version": 1,
        "valid_from": NOW,
        "recorded_at": NOW,
        "last_stated_at": NOW,
        "source": Source.REMEMBER,
        "event_key": "ab" * 32,
        "decision_id": OTHER_ID,
        "attributes": {"path": "/etc/hosts", "n": [1, 2.5, None, True]},
    }
    return Fact(**(base | fields))


def decision(**fields):
    base = {
        "decision_id": OTHER_ID,
        "event_key": "ab" * 32,
        "event_id": "e-1",
        "namespace": "team",
        "decision": Kind.SUPERSEDE,
        "reason": "judge",
        "fact_id": FACT_ID,
        "matched_id": OTHER_ID,
        "dedup_signal": DedupSignal(is_update=True, max_sim=0.91, matched_id=OTHER_ID),
        "band": d.Band.KNOWN,
        "thresholds": d.Thresholds(0.88, 0.78, 0.72, 0.85),
        "text": "The API listens on port 8081",
        "source": Source.REMEMBER,
        "occurred_at": NOW,
        "resolved_at": NOW,
        "decided_at": NOW,
        "coordinates": Coordinates(TOPIC, 2, 7),
        "policy": "p",
        "embedder": "e",
        "superseded_ids": (OTHER_ID,),
        "neighbours": (d.NeighbourNote(OTHER_ID, 0.91, "vector", 1),),
        "findings": (d.FindingNote("number", "8081", "8080"),),
        "judges": (d.JudgeNote(judge="rules", asked="choose", choice=Kind.SUPERSEDE, latency_ms=0.2),),
    }
    return d.Decision(**(base | fields))


def change(**fields):
    base = {
        "type": d.ChangeType.SUPERSEDED,
        "fact": fact(),
        "decision_id": OTHER_ID,
        "revision": 1,
        "replaced": (d.Replaced(OTHER_ID, 1, "The API listens on port 8080", NOW, NOW),),
    }
    return d.Change(**(base | fields))


def supersession(**fields):
    base = {
        "record_id": OTHER_ID,
        "namespace": "team",
        "kind": "supersede",
        "retired_id": OTHER_ID,
        "retired_revision": 1,
        "successor_id": FACT_ID,
        "effective_at": NOW,
        "recorded_at": NOW,
        "decided_by": "rules",
        "reason": "judge",
        "decision_id": OTHER_ID,
        "event_key": "ab" * 32,
    }
    return d.SupersessionRecord(**(base | fields))
