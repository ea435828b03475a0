"""Dead letters: the record as it came, and beside it in headers why it was refused and where it lay.

Header names are those that Spring Kafka made common, their values UTF-8 text. An input that brings such headers along (a dead letter
that was sent in again as it was) keeps them under a prefix, so that each name stands for one thing only.
"""

from datetime import datetime
from typing import Final

import msgspec

from factsieve.core.errors import BadInput
from factsieve.core.facts import Coordinates, Record
from factsieve.ports import Message
from factsieve.wire import times
from factsieve.wire.headers import ORIGIN, REPLAY_EMIT, REPLAY_ID, Headers, RawHeaders, lossy_text, origin_of
from factsieve.wire.outbound import MAX_MESSAGE_CHARS
from factsieve.wire.topics import Topics

PREFIX: Final = "kafka_dlt-"
KEPT: Final = "original-"
"""Put before the name of a header of the input that would look like one of ours."""


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """What a dead letter says about itself, and the record that it was."""

    code: str
    message: str
    field: str | None
    coordinates: Coordinates
    timestamp_ms: int
    dead_lettered_at: datetime | None
    key: bytes | None
    value: bytes | None
    headers: RawHeaders


def dead_letter_message(topics: Topics, record: Record, error: BadInput, now: datetime) -> Message:
    """Return the dead letter of a record: key, value and headers untouched, ours behind them."""
    ours: list[tuple[str, str]] = [
        ("original-topic", record.topic),
        ("original-partition", str(record.partition)),
        ("original-offset", str(record.offset)),
        ("original-timestamp", str(record.timestamp_ms)),
        ("exception-message", lossy_text(str(error), MAX_MESSAGE_CHARS)),
        ("exception-fqcn", "factsieve.core.errors.BadInput"),
        ("error-code", error.code),
        ("dead-lettered-at", times.format_rfc3339(now)),
    ]
    if error.field is not None:
        ours.append(("error-field", lossy_text(error.field, MAX_MESSAGE_CHARS)))
    kept = tuple((KEPT + name if _looks_like_ours(name) else name, value) for name, value in record.headers)
    return Message(
        topic=topics.dead_letters,
        key=record.key,
        value=record.value,
        headers=kept + tuple((PREFIX + name, text.encode("utf-8")) for name, text in ours),
    )


def _looks_like_ours(name: str) -> bool:
    lower = name.lower()
    while lower.startswith(KEPT):
        lower = lower.removeprefix(KEPT)
    return lower.startswith(PREFIX)


def read_dead_letter(record: Record) -> DeadLetter:
    """Return what a record of the dead letter topic says; exact inverse of `dead_letter_message`.

    Raises BadInput `missing_field` or `wrong_type` where the record is no dead letter of ours.
    """
    ours = Headers((name, value) for name, value in record.headers if name.lower().startswith(PREFIX))
    numbers: dict[str, int] = {}
    for name in ("partition", "offset", "timestamp"):
        text = ours.text(f"{PREFIX}original-{name}")
        try:
            numbers[name] = int(text or "")
        except ValueError:
            raise BadInput(
                "wrong_type", f"header {PREFIX}original-{name} is {text!r}: not a dead letter of factsieve", field=name
            ) from None
    topic, code = ours.text(f"{PREFIX}original-topic"), ours.text(f"{PREFIX}error-code")
    if topic is None or code is None:
        raise BadInput("missing_field", f"headers {PREFIX}original-topic and {PREFIX}error-code are missing")
    instant = ours.text(f"{PREFIX}dead-lettered-at")
    try:
        at = None if instant is None else times.parse_rfc3339(instant)
    except ValueError as error:
        raise BadInput(
            "wrong_type",
            f"header {PREFIX}dead-lettered-at is {(instant or '')[:80]!r}, {error}",
            field="dead-lettered-at",
        ) from None
    original = tuple(
        (name[len(KEPT) :] if name.lower().startswith(KEPT) and _looks_like_ours(name) else name, value)
        for name, value in record.headers
        if not name.lower().startswith(PREFIX)
    )
    return DeadLetter(
        code=code,
        message=ours.text(f"{PREFIX}exception-message") or "",
        field=ours.text(f"{PREFIX}error-field"),
        coordinates=Coordinates(topic, numbers["partition"], numbers["offset"]),
        timestamp_ms=numbers["timestamp"],
        dead_lettered_at=at,
        key=record.key,
        value=record.value,
        headers=original,
    )


class Redriven(msgspec.Struct, frozen=True):
    """A mark on the dead letter topic: the letter that lies there was sent in again."""

    partition: int
    offset: int
    at: datetime


def redriven_message(topics: Topics, key: bytes | None, mark: Redriven) -> Message:
    """Return the mark that a dead letter was sent in again: no value, and the letter's own key."""
    ours = {
        "redriven-partition": str(mark.partition),
        "redriven-offset": str(mark.offset),
        "redriven-at": times.format_rfc3339(mark.at),
    }
    return Message(
        topic=topics.dead_letters,
        key=key,
        value=None,
        headers=tuple((PREFIX + name, text.encode("utf-8")) for name, text in ours.items()),
    )


def read_redriven(record: Record) -> Redriven | None:
    """Return the mark that a record of the dead letter topic is, or None for anything else; never raises."""
    headers = Headers(record.headers)
    partition, offset, at = (headers.lossy(f"{PREFIX}redriven-{name}") for name in ("partition", "offset", "at"))
    if record.value is not None or partition is None or offset is None or at is None:
        return None
    try:
        return Redriven(int(partition), int(offset), times.parse_rfc3339(at))
    except ValueError:
        return None


def redrive_message(
    topics: Topics, letter: DeadLetter, *, value: bytes | None = None, key: bytes | None = None
) -> Message:
    """Return the record of a dead letter to be sent in again, with another value or key where it was corrected.

    An event that does not name itself keeps its key and its time by the origin headers. A corrected one is another event then.
    """
    record = Record(
        letter.coordinates.topic,
        letter.coordinates.partition,
        letter.coordinates.offset,
        letter.timestamp_ms,
        letter.key if key is None else key,
        letter.value if value is None else value,
        letter.headers,
    )
    return Message(topics.candidates, record.key, record.value, with_origin(record))


def replay_message(topics: Topics, record: Record, replay_id: str, *, emit: bool) -> Message:
    """Return a past input record to be sent in again, marked as replayed; `emit`: its changes go to `new-facts` again."""
    marks = ((REPLAY_ID, replay_id.encode("utf-8")), (REPLAY_EMIT, b"true" if emit else b"false"))
    mine = tuple((name, value) for name, value in with_origin(record) if name.lower() not in (REPLAY_ID, REPLAY_EMIT))
    return Message(topics.candidates, record.key, record.value, mine + marks)


def with_origin(record: Record) -> RawHeaders:
    """Return a record's headers with its origin stamped, unless it was stamped before."""
    headers = Headers(record.headers)
    if origin_of(record, headers).stamped:
        return record.headers
    mine = (record.topic, str(record.partition), str(record.offset), str(record.timestamp_ms))
    rest = tuple((name, value) for name, value in record.headers if name.lower() not in ORIGIN)
    return rest + tuple((name, text.encode("utf-8")) for name, text in zip(ORIGIN, mine, strict=True))
