"""Input lines: what is taken, what is refused, and that the refusal names the line."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factsieve.cli.lines import BadLine, InputRefused, Line, open_input, parse_line, read_lines

NOW = datetime(2026, 3, 4, 9, 30, tzinfo=UTC)


def read(*raw: bytes) -> list[Line | BadLine]:
    return list(read_lines(io.BytesIO(b"\n".join(raw)), default_namespace="home", now=NOW))


def test_defaults_are_filled_in_and_the_id_is_taken_out() -> None:
    """A line needs a text alone; its id names the event and is no field of the candidate."""
    (line,) = read(b'{"id": 7, "text": "Bins on Friday"}')
    assert isinstance(line, Line)
    assert (line.event_id, line.namespace) == ("7", "home")
    assert json.loads(line.encode()) == {
        "text": "Bins on Friday",
        "namespace": "home",
        "source": "remember",
        "occurred_at": "2026-03-04T09:30:00Z",
    }


def test_what_the_line_says_stands() -> None:
    """Namespace, session, source, time and unknown fields stay as they are written."""
    (line,) = read(
        b'{"text": "x", "session_id": "s-1", "source": "ingest", "occurred_at": "2025-01-01T00:00:00Z", "k": [1]}'
    )
    assert isinstance(line, Line)
    assert line.event_id is None
    assert line.namespace == "s-1"
    assert line.value == {
        "text": "x",
        "session_id": "s-1",
        "source": "ingest",
        "occurred_at": "2025-01-01T00:00:00Z",
        "k": [1],
    }


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"not json", "is not JSON"),
        (b'["a"]', "is not a JSON object"),
        (b'{"id": {}, "text": "a"}', "id is {}"),
        (b'{"id": "", "text": "a"}', 'id is ""'),
        (b'{"id": true, "text": "a"}', "id is true"),
        (b'{"text": "a", "namespace": 3}', "namespace is 3"),
        (b'{"text": "\xff"}', "is not JSON"),
    ],
)
def test_a_bad_line_is_named_by_its_number_and_value(raw: bytes, said: str) -> None:
    """The refusal counts blank lines too, so that an editor finds the place."""
    good, bad = read(b'{"text": "a"}', b"", raw)
    assert isinstance(good, Line)
    assert isinstance(bad, BadLine)
    assert str(bad).startswith("line 3: ")
    assert said in str(bad)


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(raw: bytes) -> None:
    """Whatever a line holds, it is a candidate or it is refused."""
    assert isinstance(parse_line(raw, 1, default_namespace="home", now=NOW), Line | BadLine)


def test_a_missing_file_is_refused_with_its_name(tmp_path: Path) -> None:
    """The message names the path."""
    with pytest.raises(InputRefused, match=r"absent\.jsonl"), open_input(str(tmp_path / "absent.jsonl")):
        pass
