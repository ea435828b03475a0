"""Input files: one candidate a line, as JSON, with an `id` besides the fields of a candidate."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from factsieve.core.errors import BadInput, RejectCode
from factsieve.core.facts import Source
from factsieve.wire import times

MAX_LINE_BYTES: Final = 4_000_000
"""A longer line is refused: it is no statement, and it would have to fit into memory and into a Kafka record."""


class InputRefused(BadInput):
    """An input line that can not be used; the message names the line."""


class Line(msgspec.Struct, frozen=True):
    """One usable line: its number (from 1), what it calls its event (None: nothing), and the candidate's value without `id`."""

    number: int
    event_id: str | None
    namespace: str
    value: dict[str, object]

    def encode(self) -> bytes:
        """Return the value of the Kafka record."""
        return msgspec.json.encode(self.value)


class BadLine(msgspec.Struct, frozen=True):
    """A line that is no candidate, and why."""

    number: int
    code: RejectCode
    message: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.message}"


@contextmanager
def open_input(path: str) -> Iterator[BinaryIO]:
    """Open a file, `-` being standard input. Raises InputRefused where it can not be read."""
    if path == "-":
        import sys

        yield sys.stdin.buffer
        return
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed by the with below; only opening may fail with our message
    except OSError as error:
        raise InputRefused(
            "not_json", f"input {path}: {error.strerror}. Give a file with one JSON object a line"
        ) from None
    with stream:
        yield stream


def read_lines(stream: Iterable[bytes], *, default_namespace: str, now: datetime) -> Iterator[Line | BadLine]:
    """Yield every line that is not blank. A line without `occurred_at` is taken to be said `now`, one without `source` is `remember`.

    The namespace is the line's `namespace`, else its `session_id`, else `default_namespace`.
    """
    for number, raw in enumerate(stream, start=1):
        if raw.strip():
            yield parse_line(raw, number, default_namespace=default_namespace, now=now)


def parse_line(raw: bytes, number: int, *, default_namespace: str, now: datetime) -> Line | BadLine:
    """Return one line as a candidate, or why it is none. Whether the candidate is acceptable is for the worker to say."""
    if len(raw) > MAX_LINE_BYTES:
        return BadLine(number, "record_too_large", f"has {len(raw)} bytes, at most {MAX_LINE_BYTES} are read")
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return BadLine(number, "not_json", f"is not JSON ({error}): {_excerpt(raw)}")
    if not isinstance(value, dict):
        example = '{"id": "1", "text": "..."}'
        return BadLine(number, "not_an_object", f"is not a JSON object but {_excerpt(raw)}: write {example}")
    event_id = value.pop("id", None)
    if isinstance(event_id, int) and not isinstance(event_id, bool):
        event_id = str(event_id)
    if event_id is not None and (not isinstance(event_id, str) or not event_id):
        found = json.dumps(event_id)[:40]
        return BadLine(number, "wrong_type", f"id is {found}: give a string or a number, or leave it out")
    namespace = value.get("namespace") or value.get("session_id") or default_namespace
    if not isinstance(namespace, str):
        return BadLine(number, "wrong_type", f"namespace is {json.dumps(namespace)[:40]}: give a string")
    if value.get("namespace") is None and value.get("session_id") is None:
        value["namespace"] = namespace
    value.setdefault("source", Source.REMEMBER.value)
    value.setdefault("occurred_at", times.format_rfc3339(now))
    return Line(number, event_id, namespace, value)


def _excerpt(raw: bytes) -> str:
    text = raw.strip().decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
