"""Records of `candidate-facts` to values: CloudEvents 1.0 in Kafka's binary mode, and records without any header too.

Text is kept as it came: nothing is normalised and nothing is stripped. Null counts as absent in every optional field, unknown fields
are ignored. Everything that can be wrong with a record raises `BadInput` with a code of its own; nothing else is ever raised.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NoReturn

import msgspec

from factsieve.core import ids
from factsieve.core.errors import BadInput, RejectCode
from factsieve.core.facts import Candidate, Coordinates, Record, Source
from factsieve.wire import times
from factsieve.wire.commands import validate_body
from factsieve.wire.document import describe, parse_object, string_of
from factsieve.wire.headers import KEY_ID, REPLAY_EMIT, REPLAY_ID, SIGNATURE, Headers, Origin, origin_of
from factsieve.wire.names import check_name
from factsieve.wire.payload import attributes_of, embedding_of
from factsieve.wire.topics import CANDIDATE, CE_SPECVERSION, COMMAND_TYPES, Limits

CommandKind = Literal["revert", "retract", "erase", "review"]

_SOURCES: Final = {source.value: source for source in Source}


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's command, its body checked by shape but its signature not yet: see `signing.authorise`.

    `value` is the body as it was signed. `ce_time` is kept as it was written, for the signature covers it.
    """

    kind: CommandKind
    ce_type: str
    event_key: str
    event_id: str
    namespace: str
    body: dict[str, Any]
    value: bytes
    body_hash: str
    coordinates: Coordinates
    ce_source: str
    ce_id: str
    ce_time: str
    issued_at: datetime
    signature: str | None = None
    key_id: str | None = None
    replay_id: str | None = None
    traceparent: str | None = None


def decode(record: Record, limits: Limits, now: datetime) -> Candidate | Command:
    """Return what a record of the input topic says.

    `now` (UTC) bounds how far ahead a statement may lie (`limits.future_limit_s`). An event that names itself (`ce_id` and
    `ce_source`) has its key from that; any other from its coordinates, those of its origin where a replay stamped them. A vector of
    another model than the configured one, or of none, is left out; `embedding_model` (empty: none was named) then says that there was
    one. Raises BadInput, and nothing else.
    """
    namespace = _key_namespace(record, limits)
    if record.value is None:
        raise BadInput("null_value", "the record has no value: send the candidate as a JSON object")
    if len(record.value) > limits.max_value_bytes:
        raise BadInput(
            "record_too_large",
            f"the value has {len(record.value)} bytes, at most {limits.max_value_bytes} are taken: send shorter statements",
        )
    headers = Headers(record.headers)
    ce_type = _event_type(headers)
    document = parse_object(record.value, limits.max_nesting)
    if ce_type == CANDIDATE:
        return _candidate(record, record.value, namespace, document, headers, limits, now)
    return _command(record, record.value, namespace, document, headers, ce_type)


def _key_namespace(record: Record, limits: Limits) -> str:
    if record.key is None:
        raise BadInput("null_key", "the record has no key: the key is the namespace, as UTF-8 text", field="key")
    try:
        namespace = record.key.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            "not_utf8",
            f"the key is not UTF-8 at byte {error.start}: the key is the namespace, as UTF-8 text",
            field="key",
        ) from None
    check_name(namespace, limits.max_namespace_chars, code="bad_namespace", field="key")
    return namespace


def _event_type(headers: Headers) -> str:
    content_type = headers.text("content-type")
    if content_type is not None and content_type.lower().startswith("application/cloudevents"):
        raise BadInput(
            "unknown_type",
            f"content-type {content_type!r}: events are taken in binary mode, with ce_* headers and the plain value",
            field="content-type",
        )
    version = headers.text("ce_specversion")
    if version is not None and version != CE_SPECVERSION:
        raise BadInput(
            "unknown_type",
            f"ce_specversion is {version!r}: events of {CE_SPECVERSION} are taken",
            field="ce_specversion",
        )
    ce_type = headers.text("ce_type") or CANDIDATE
    if ce_type != CANDIDATE and ce_type not in COMMAND_TYPES:
        known = ", ".join((CANDIDATE, *COMMAND_TYPES))
        raise BadInput("unknown_type", f"ce_type is {ce_type[:80]!r}, known are {known}", field="ce_type")
    return ce_type


def _candidate(
    record: Record,
    value: bytes,
    namespace: str,
    document: Mapping[str, Any],
    headers: Headers,
    limits: Limits,
    now: datetime,
) -> Candidate:
    session_id = _check_namespace(namespace, document, limits)
    text = _text(document, limits)
    source = _source(document)
    ce_time = headers.text("ce_time")
    ce_id, ce_source = headers.text("ce_id"), headers.text("ce_source")
    origin = origin_of(record, headers)
    at = _occurred_at(document, ce_time, origin, now, limits.future_limit_s)
    slot = string_of(document, "slot")
    if slot is not None:
        check_name(slot, limits.max_slot_chars, code="bad_slot", field="slot")
    embedding, model = embedding_of(document, limits)
    if ce_id is not None and ce_source is not None:
        key = ids.event_key(namespace, ce_source, ce_id)
    else:
        key = ids.anonymous_event_key(origin.topic, origin.partition, origin.offset, origin.timestamp_ms, value)
    return Candidate(
        event_key=key,
        event_id=ce_id or origin.event_id,
        body_hash=ids.body_hash(value),
        coordinates=record.coordinates,
        namespace=namespace,
        text=text,
        source=source,
        occurred_at=at,
        ce_source=ce_source,
        ce_id=ce_id,
        ce_time=ce_time,
        slot=slot,
        session_id=session_id,
        embedding=embedding,
        embedding_model=model,
        dedup_threshold=_threshold(document),
        attributes=attributes_of(document, limits),
        replay_id=headers.text(REPLAY_ID),
        replay_emit=headers.flag(REPLAY_EMIT),
        traceparent=headers.traceparent,
    )


def _command(
    record: Record, value: bytes, namespace: str, document: dict[str, Any], headers: Headers, ce_type: str
) -> Command:
    named = {name: headers.text(name) for name in ("ce_id", "ce_source", "ce_time")}
    for name, content in named.items():
        if content is None:
            raise BadInput(
                "missing_field", f"a command needs the header {name}, which its signature covers", field=name
            )
    ce_id, ce_source, ce_time = (content or "" for content in named.values())
    stated = string_of(document, "namespace")
    if stated is not None and stated != namespace:
        _refuse_namespace(stated, namespace, "namespace")
    kind: CommandKind = COMMAND_TYPES[ce_type]  # type: ignore[assignment]
    validate_body(kind, document)
    return Command(
        kind=kind,
        ce_type=ce_type,
        event_key=ids.event_key(namespace, ce_source, ce_id),
        event_id=ce_id,
        namespace=namespace,
        body=document,
        value=value,
        body_hash=ids.body_hash(value),
        coordinates=record.coordinates,
        ce_source=ce_source,
        ce_id=ce_id,
        ce_time=ce_time,
        issued_at=_instant(ce_time, "ce_time"),
        signature=headers.text(SIGNATURE),
        key_id=headers.text(KEY_ID),
        replay_id=headers.text(REPLAY_ID),
        traceparent=headers.traceparent,
    )


def _required(document: Mapping[str, Any], field: str) -> str:
    value = string_of(document, field)
    if value is None:
        raise BadInput("missing_field", f"{field} is missing: send it as a string", field=field)
    return value


def _refuse_namespace(stated: str, namespace: str, field: str) -> NoReturn:
    raise BadInput(
        "namespace_mismatch",
        f"{field} is {stated[:80]!r} but the record's key is {namespace[:80]!r}: the key must be the namespace",
        field=field,
    )


def _check_namespace(namespace: str, document: Mapping[str, Any], limits: Limits) -> str | None:
    """Check that the value is of the key's namespace; return the session id, which stands in for an absent namespace."""
    stated = string_of(document, "namespace")
    session_id = string_of(document, "session_id") or None
    if session_id is not None:
        check_name(session_id, limits.max_namespace_chars, code="bad_namespace", field="session_id")
    if stated is not None:
        check_name(stated, limits.max_namespace_chars, code="bad_namespace", field="namespace")
        if stated != namespace:
            _refuse_namespace(stated, namespace, "namespace")
    elif session_id is not None and session_id != namespace:
        _refuse_namespace(session_id, namespace, "session_id")
    return session_id


def _text(document: Mapping[str, Any], limits: Limits) -> str:
    text = _required(document, "text")
    if not text.strip():
        raise BadInput("empty_text", "text is empty or only whitespace: send a statement", field="text")
    if len(text) > limits.max_text_chars:
        raise BadInput(
            "text_too_long",
            f"text has {len(text)} characters, at most {limits.max_text_chars} are taken: split it into single statements",
            field="text",
        )
    return text


def _source(document: Mapping[str, Any]) -> Source:
    name = _required(document, "source")
    source = _SOURCES.get(name)
    if source is None:
        raise BadInput("unknown_source", f"source is {name[:80]!r}, known are {', '.join(_SOURCES)}", field="source")
    return source


def _instant(text: str, field: str) -> datetime:
    try:
        return times.parse_rfc3339(text)
    except ValueError as error:
        raise BadInput(
            "bad_time", f"{field} is {text[:80]!r}, {error}: send for example 2026-03-04T09:30:00Z", field=field
        ) from None


def _occurred_at(
    document: Mapping[str, Any], ce_time: str | None, origin: Origin, now: datetime, future_limit_s: float
) -> datetime:
    stated = string_of(document, "occurred_at")
    if stated is not None:
        at, field = _instant(stated, "occurred_at"), "occurred_at"
    elif ce_time is not None:
        at, field = _instant(ce_time, "ce_time"), "ce_time"
    else:
        field = "timestamp"
        try:
            if origin.timestamp_ms < 0:
                raise ValueError("the record has none")
            at = times.from_ms(origin.timestamp_ms)
        except ValueError as error:
            raise BadInput(
                "bad_time",
                f"no occurred_at, no ce_time, and as record timestamp {origin.timestamp_ms}: {error}",
                field=field,
            ) from None
    if at - now > timedelta(seconds=future_limit_s):
        raise BadInput(
            "future_time",
            f"{field} is {times.format_rfc3339(at)}, more than {future_limit_s:g} s ahead of {times.format_rfc3339(now)}: "
            "send the time at which the statement was made, and check the sender's clock",
            field=field,
        )
    return at


def _threshold(document: Mapping[str, Any]) -> float | None:
    value = document.get("dedup_threshold")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadInput(
            "wrong_type",
            f"dedup_threshold is a {describe(value)}: send a number within [-1, 1]",
            field="dedup_threshold",
        )
    if not -1 <= value <= 1:
        raise BadInput(
            "bad_threshold", f"dedup_threshold is {describe(value)}: send one within [-1, 1]", field="dedup_threshold"
        )
    return float(value)


__all__ = ["Command", "CommandKind", "RejectCode", "decode"]
