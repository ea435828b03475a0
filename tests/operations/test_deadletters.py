"""Names of dead letters, and marks of those that were sent in again; the topic itself is tested on real brokers."""

from datetime import UTC, datetime

import pytest

from factsieve.core.errors import BadSettings
from factsieve.core.facts import Record
from factsieve.operations.deadletters import parse_place
from factsieve.wire.deadletters import Redriven, read_redriven, redriven_message
from factsieve.wire.topics import Topics


def test_names_are_places() -> None:
    """PARTITION/OFFSET and nothing else."""
    assert parse_place("0/17") == (0, 17)
    for odd in ("17", "a/1", "1/", "/1", "1/-1", "1/2/3", "\u0663/1"):
        with pytest.raises(BadSettings, match="names no dead letter"):
            parse_place(odd)


@pytest.mark.parametrize("key", [b"team", None])
def test_a_mark_reads_back_and_nothing_else_is_one(key: bytes | None) -> None:
    """A record with a value, or with a header that is no number or no time, is no mark."""
    mark = Redriven(3, 17, datetime(2026, 3, 4, 9, 30, tzinfo=UTC))
    message = redriven_message(Topics(), key, mark)
    assert (message.key, message.value) == (key, None)
    record = Record(message.topic, 0, 0, 0, message.key, message.value, message.headers)
    assert read_redriven(record) == mark
    assert read_redriven(Record("t", 0, 0, 0, key, b"value", message.headers)) is None
    for index in range(3):
        headers = list(message.headers)
        headers[index] = (headers[index][0], b"odd")
        assert read_redriven(Record("t", 0, 0, 0, key, None, tuple(headers))) is None
        assert read_redriven(Record("t", 0, 0, 0, key, None, tuple(headers[:index] + headers[index + 1 :]))) is None
