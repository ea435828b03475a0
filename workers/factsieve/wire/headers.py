"""Kafka headers as they are read and written: names without regard to case, the first of a repeated one counts."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from factsieve.core.errors import BadInput

RawHeaders = tuple[tuple[str, bytes], ...]

REPLAY_ID: Final = "replay-id"
REPLAY_EMIT: Final = "replay-emit"
SIGNATURE: Final = "signature"
KEY_ID: Final = "key-id"
ORIGIN: Final = ("origin-topic", "origin-partition", "origin-offset", "origin-timestamp")
"""Stamped by a replay, so that an event that does not name itself keeps its key and its time."""

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

        Raises BadInput `not_utf8` where its bytes are not UTF-8.
        """
        raw = self._first.get(name)
        if not raw:
            return None
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(
                "not_utf8",
                f"header {name} is not UTF-8 at byte {error.start}: encode headers as UTF-8 text",
                field=name,
            ) from None

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
