"""Values of `fact-decisions` for tests, all fields there; checked against the schema by the tests that use them."""

import hashlib
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)


def uid(name: str) -> str:
    """Return an id that belongs to a name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def stamp(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def fact_value(name: str, text: str, *, namespace: str = "team", **changes: Any) -> dict[str, Any]:
    """Return a fact as it stands."""
    return {
        "point_id": uid(name),
        "fact_id": uid(name),
        "namespace": namespace,
        "text": text,
        "status": "current",
        "revision": 1,
        "version": 1,
        "valid_from": stamp(0),
        "recorded_at": stamp(0),
        "last_stated_at": stamp(0),
        "source": "remember",
        "event_key": hashlib.sha256(name.encode()).hexdigest(),
        "decision_id": uid(f"decision {name}"),
        "slot": None,
        "valid_to": "9999-12-31T23:59:59Z",
        "retired_at": "9999-12-31T23:59:59Z",
        "stated_count": 1,
        "stated_at": [stamp(0)],
        "supersedes": [],
        "superseded_by": None,
        "absorbed": [],
        "merged_into": None,
        "compatible_with": [],
        "conflicts_with": [],
        "review": None,
        "history": False,
        "embedded": False,
        "session_id": None,
        "attributes": None,
    } | changes


def decision_value(name: str, *, at: float = 0.0, **changes: Any) -> dict[str, Any]:
    """Return a decision about event `name`: an add unless told otherwise; `at` in seconds after the start."""
    similarity = changes.pop("similarity", None)
    matched = changes.get("matched_id")
    return {
        "decision_id": uid(f"decision {name}"),
        "event_key": hashlib.sha256(name.encode()).hexdigest(),
        "event_id": name,
        "namespace": "team",
        "decision": "add",
        "command": None,
        "outcome": None,
        "about_decision_id": None,
        "reason": "new",
        "fact_id": uid(name) if changes.get("decision", "add") not in ("skip", None) else None,
        "matched_id": None,
        "superseded_ids": [],
        "revision": 1,
        "dedup_signal": {"is_update": False, "max_sim": similarity or 0.0, "matched_id": matched},
        "band": "new",
        "thresholds": {"skip": 0.88, "ambiguous": 0.78, "supersede": 0.72, "update_signal": 0.85},
        "text": f"statement {name}",
        "matched_text": None,
        "source": "remember",
        "occurred_at": stamp(at),
        "resolved_at": stamp(at),
        "decided_at": stamp(at),
        "coordinates": {"topic": "candidate-facts", "partition": 0, "offset": 0},
        "policy": "5d1f0c9a7be2",
        "embedder": "c07a94d1e3f8",
        "via": "rules",
        "neighbours": [],
        "findings": [],
        "judges": [],
        "review": None,
        "conflicts_with": [],
        "slot": None,
        "session_id": None,
        "ce_source": "test",
        "ce_id": name,
        "ce_time": stamp(at),
        "traceparent": None,
        "effects": [],
        "inserts": [],
        "changes": [],
        "supersessions": [],
        "replayed": False,
    } | changes


def skip_value(name: str, of: str, *, at: float = 0.0, similarity: float = 0.95, **changes: Any) -> dict[str, Any]:
    """Return a skip of event `name` on the fact of event `of`."""
    return decision_value(
        name,
        at=at,
        similarity=similarity,
        **{
            "decision": "skip",
            "reason": "similar",
            "band": "known",
            "matched_id": uid(of),
            "matched_text": f"statement {of}",
            "effects": [fact_value(of, f"statement {of}", stated_count=2)],
        }
        | changes,
    )


def reject_value(name: str, *, at: float = 0.0, namespace: str | None = "team") -> dict[str, Any]:
    """Return the refusal of event `name`."""
    return {
        "decision_id": uid(f"decision {name}"),
        "event_id": name,
        "namespace": namespace,
        "error": {"code": "empty_text", "message": "text is empty: send a statement", "field": "text"},
        "dedup_signal": {"is_update": False, "max_sim": 0.0, "matched_id": None, "filtered": True},
        "decided_at": stamp(at),
        "coordinates": {"topic": "candidate-facts", "partition": 0, "offset": 1},
        "decision": None,
        "reason": "rejected",
        "ce_source": "test",
        "ce_id": name,
        "ce_time": None,
        "replayed": False,
    }
