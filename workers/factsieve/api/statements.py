"""Statements of requests as candidates: judged by the very codec that workers read the topic with."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from factsieve.api.access import Caller
from factsieve.api.models import Candidate as CandidateBody
from factsieve.api.models import Statement
from factsieve.api.problems import Problem
from factsieve.core import ids
from factsieve.core.errors import BadInput, Bug
from factsieve.core.facts import Candidate, Record
from factsieve.ports import Message
from factsieve.wire.headers import RawHeaders
from factsieve.wire.inbound import decode
from factsieve.wire.outbound import cloud_event_headers
from factsieve.wire.topics import CANDIDATE, Limits, Topics

CE_SOURCE: Final = "factsieve/api"
"""`ce_source` of candidates that name none."""

UNUSABLE: Final = frozenset({"empty_text", "text_too_long", "record_too_large", "bad_embedding", "not_utf8"})
"""What makes a statement one that a worker filters, and not a request that is wrong in itself."""

_NOT_IN_VALUE: Final = frozenset({"id", "ce_source"})


class Event(msgspec.Struct, frozen=True):
    """A candidate that would be sent."""

    event_id: str
    event_key: str
    namespace: str
    message: Message


def namespace_of(body: Statement, caller: Caller) -> str:
    """Return the namespace of a statement. Raises Problem where it names none, or one that is not the caller's."""
    namespace = body.namespace if body.namespace is not None else body.session_id
    if not namespace:
        raise Problem(
            422,
            "unusable_input",
            "neither namespace nor session_id is given: say whose fact it is",
            errors=[{"field": "body.namespace", "message": "missing", "code": "missing_field"}],
        )
    caller.check(namespace)
    return namespace


def as_checked(
    body: Statement, namespace: str, topics: Topics, limits: Limits, now: datetime
) -> tuple[Record, Candidate]:
    """Return a statement as if a worker had read it just now. Raises BadInput as the worker's codec does."""
    record = _record(topics, namespace, _value(body), now)
    return record, _decoded(record, limits, now)


def as_event(
    body: CandidateBody, namespace: str, topics: Topics, limits: Limits, now: datetime, traceparent: str | None
) -> Event:
    """Return a candidate as the event that would be sent. Raises BadInput as the worker's codec does."""
    ce_id, ce_source = body.id or str(uuid.uuid4()), body.ce_source or CE_SOURCE
    value = _value(body)
    headers = _headers(ce_id, ce_source, now, traceparent)
    record = _record(topics, namespace, value, now, headers)
    candidate = _decoded(record, limits, now)
    message = Message(topics.candidates, record.key, record.value, headers)
    return Event(ce_id, ids.event_key(namespace, ce_source, ce_id), candidate.namespace, message)


def _headers(ce_id: str, ce_source: str, now: datetime, traceparent: str | None) -> RawHeaders:
    try:
        return cloud_event_headers(CANDIDATE, ce_id, now, ce_source=ce_source, traceparent=traceparent)
    except UnicodeEncodeError:
        raise BadInput("not_utf8", "id or ce_source holds half a surrogate pair: send whole characters") from None


def _value(body: Statement) -> bytes:
    """Return the value of the record. `occurred_at` stays absent where it is: the same event has the same body whenever it is sent."""
    fields: Mapping[str, Any] = body.model_dump(mode="json", exclude_none=True, exclude=set(_NOT_IN_VALUE))
    try:
        return msgspec.json.encode(fields)
    except UnicodeEncodeError:
        raise BadInput("not_utf8", "the body holds half a surrogate pair: send whole characters") from None


def _record(topics: Topics, namespace: str, value: bytes, now: datetime, headers: RawHeaders = ()) -> Record:
    try:
        key = namespace.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput(
            "bad_namespace", "the namespace holds half a surrogate pair: send whole characters", field="namespace"
        ) from None
    timestamp_ms = int(now.timestamp() * 1000)
    return Record(topics.candidates, 0, 0, timestamp_ms, key, value, headers)


def _decoded(record: Record, limits: Limits, now: datetime) -> Candidate:
    event = decode(record, limits, now)
    if not isinstance(event, Candidate):
        raise Bug(f"a candidate was read as {type(event).__name__}")
    return event
