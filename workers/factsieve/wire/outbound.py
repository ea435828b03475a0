"""Values to messages. `ce_id` of each derives from what it says, so that saying it again gives the same message."""

from datetime import datetime
from typing import Final

import msgspec

from factsieve.core import ids
from factsieve.core.decision import Change, Decision, Entry, SupersessionRecord
from factsieve.core.errors import BadInput
from factsieve.core.facts import FILTERED_SIGNAL, Coordinates, Fact, Record, Status
from factsieve.ports import Message
from factsieve.wire import times
from factsieve.wire.headers import REPLAY_ID, Headers, RawHeaders, lossy_text, origin_of
from factsieve.wire.topics import (
    CE_SOURCE,
    CE_SPECVERSION,
    CONTENT_TYPE,
    DECISION,
    STATE,
    SUPERSESSION,
    Topics,
)
from factsieve.wire.values import ErrorValue, RejectValue, change_value, decision_value, fact_value

_ENCODER: Final = msgspec.json.Encoder()
MAX_MESSAGE_CHARS: Final = 1000

_SPECVERSION: Final = ("ce_specversion", CE_SPECVERSION.encode())
_JSON: Final = ("content-type", CONTENT_TYPE.encode())


def cloud_event_headers(
    ce_type: str, ce_id: str, at: datetime, *, ce_source: str = CE_SOURCE, traceparent: str | None = None
) -> RawHeaders:
    """Return the headers of a CloudEvent in Kafka's binary mode, `traceparent` behind them where there is one."""
    named = (
        _SPECVERSION,
        ("ce_type", ce_type.encode()),
        ("ce_source", ce_source.encode()),
        ("ce_id", ce_id.encode()),
        ("ce_time", times.format_rfc3339(at).encode()),
        _JSON,
    )
    return named if traceparent is None else (*named, ("traceparent", traceparent.encode()))


def decision_message(
    topics: Topics,
    entry: Entry,
    *,
    replayed: bool,
    replay_id: str | None = None,
    met_at: Coordinates | None = None,
    traceparent: str | None = None,
) -> Message:
    """Return the `fact-decisions` message of a decision (or of a command's outcome) and its whole effect.

    `replayed`: told again of an event that came by another way, at `met_at`. `replay_id` names the replay that brought the event.
    """
    decision = entry.decision
    value = decision_value(entry, replayed=replayed, replay_id=replay_id, met_at=met_at)
    return Message(
        topic=topics.decisions,
        key=decision.namespace.encode("utf-8"),
        value=_ENCODER.encode(value),
        headers=cloud_event_headers(DECISION, decision.decision_id, decision.decided_at, traceparent=traceparent),
    )


def change_message(topics: Topics, change: Change, decision: Decision, *, traceparent: str | None = None) -> Message:
    """Return the `new-facts` message of a change; its type is `fact.<change>.v1`."""
    subject = f"{change.type.value}/{change.fact.fact_id}/{change.revision}"
    return Message(
        topic=topics.new_facts,
        key=change.fact.namespace.encode("utf-8"),
        value=_ENCODER.encode(change_value(change)),
        headers=cloud_event_headers(
            f"fact.{change.type.value}.v1",
            ids.derived_id(decision.event_key, "change", subject),
            decision.decided_at,
            traceparent=traceparent,
        ),
    )


def supersession_message(topics: Topics, record: SupersessionRecord, *, traceparent: str | None = None) -> Message:
    """Return the `fact-supersessions` message of a supersession record."""
    return Message(
        topic=topics.supersessions,
        key=record.namespace.encode("utf-8"),
        value=_ENCODER.encode(record),
        headers=cloud_event_headers(SUPERSESSION, record.record_id, record.recorded_at, traceparent=traceparent),
    )


def fact_message(topics: Topics, fact: Fact) -> Message:
    """Return the `facts` message of a fact as it stands: a tombstone where it was erased."""
    return Message(
        topic=topics.facts,
        key=fact.fact_id.encode("utf-8"),
        value=None if fact.status is Status.ERASED else _ENCODER.encode(fact_value(fact)),
        headers=cloud_event_headers(STATE, ids.derived_id(fact.fact_id, "state", str(fact.version)), fact.recorded_at),
    )


def reject_message(topics: Topics, record: Record, error: BadInput, namespace: str | None, now: datetime) -> Message:
    """Return the `fact-decisions` message of an input that was refused.

    Its key is the namespace where one is known, else the record's own key, else empty.
    """
    headers = Headers(record.headers)
    origin = origin_of(record, headers)
    key = ids.anonymous_event_key(
        record.topic, record.partition, record.offset, record.timestamp_ms, record.value or b""
    )
    value = RejectValue(
        decision_id=ids.derived_id(key, "reject", error.code),
        event_id=headers.lossy("ce_id") or origin.event_id,
        namespace=namespace,
        error=ErrorValue(error.code, lossy_text(str(error), MAX_MESSAGE_CHARS), error.field),
        dedup_signal=FILTERED_SIGNAL,
        decided_at=now,
        coordinates=record.coordinates,
        ce_source=headers.lossy("ce_source"),
        ce_id=headers.lossy("ce_id"),
        ce_time=headers.lossy("ce_time"),
        replay_id=headers.lossy(REPLAY_ID),
    )
    return Message(
        topic=topics.decisions,
        key=namespace.encode("utf-8") if namespace is not None else record.key or b"",
        value=_ENCODER.encode(value),
        headers=cloud_event_headers(DECISION, value.decision_id, now, traceparent=headers.traceparent),
    )
