"""Kafka headers as they are read and written: names without regard to case, the first of a repeated one counts."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from factsieve.core.errors import BadInput
from factsieve.core.facts import Record

RawHeaders = tuple[tuple[str, bytes | None], ...]

REPLAY_ID: Final = "replay-id"
REPLAY_EMIT: Final = "replay-emit"
SIGNATURE: Final = "signature"
KEY_ID: Final = "key-id"
ORIGIN: Final = ("origin-topic", "origin-partition", "origin-offset", "origin-timestamp")
"""Stamped by a replay, so that an event that does not name itself keeps its key and its time."""

MAX_HEADER_BYTES: Final = 4096
"""Of a header that we read and pass on."""
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?", re.ASCII)


class Headers:
    """The headers of one record, by lower-case name."""

    __slots__ = ("_first",)

    def __init__(self, raw: Iterable[tuple[str, bytes | None]]) -> None:
        first: dict[str, bytes | None] = {}
        for name, value in raw:
            first.setdefault(name.lower(), value)
        self._first: Mapping[str, bytes | None] = first

    def text(self, name: str) -> str | None:
        """Return a header's text, None where it is absent, null or empty.

        Raises BadInput `not_utf8` where its bytes are not UTF-8, `record_too_large` where there are more than `MAX_HEADER_BYTES`.
        """
        raw = self._first.get(name)
        if not raw:
            return None
        if len(raw) > MAX_HEADER_BYTES:
            raise BadInput(
                "record_too_large",
                f"header {name} has {len(raw)} bytes, at most {MAX_HEADER_BYTES} are taken",
                field=name,
            )
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(
                "not_utf8",
                f"header {name} is not UTF-8 at byte {error.start}: encode headers as UTF-8 text",
                field=name,
            ) from None

    def lossy(self, name: str, limit: int = 512) -> str | None:
        """Return a header's text for a report: what is not UTF-8 replaced, cut at a limit. Never raises."""
        raw = self._first.get(name)
        return lossy_text(raw.decode("utf-8", "replace"), limit) if raw else None

    def flag(self, name: str) -> bool:
        """Return whether a header says `true` or `1`."""
        raw = self._first.get(name)
        return raw is not None and raw.lower() in (b"true", b"1")

    @property
    def traceparent(self) -> str | None:
        """Return the W3C trace context (`traceparent`, else `ce_traceparent`); one that is malformed is ignored, as W3C asks."""
        for name in ("traceparent", "ce_traceparent"):
            raw = self._first.get(name)
            if raw:
                text = raw.decode("utf-8", "replace")
                if len(text) <= 512 and _TRACEPARENT.fullmatch(text):
                    return text
        return None


class Origin(msgspec.Struct, frozen=True):
    """Where a record was first: its own coordinates, or those that a replay stamped."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    stamped: bool = False

    @property
    def event_id(self) -> str:
        """Return what people call an event that has no `ce_id`."""
        return f"{self.topic}/{self.partition}/{self.offset}"


def origin_of(record: Record, headers: Headers) -> Origin:
    """Return where a record was first. Origin headers count only where all four are there and in order; never raises."""
    topic, *rest = (headers.lossy(name) for name in ORIGIN)
    if topic is not None and all(text is not None and _NUMBER.fullmatch(text) for text in rest):
        partition, offset, timestamp_ms = (int(text or "") for text in rest)
        return Origin(topic, partition, offset, timestamp_ms, stamped=True)
    return Origin(record.topic, record.partition, record.offset, record.timestamp_ms)


def lossy_text(text: str, limit: int) -> str:
    """Return a text cut at a limit of characters, half surrogate pairs replaced: always encodable."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")
