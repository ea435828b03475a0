"""Instants as RFC 3339 text, there and back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factsieve.wire.times import format_rfc3339, parse_rfc3339

INSTANTS = st.datetimes(timezones=st.just(UTC))
ZONES = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(INSTANTS)
def test_what_is_written_is_read_as_it_was(at: datetime) -> None:
    """In UTC with `Z`, and microseconds only where there are any."""
    written = format_rfc3339(at)
    assert written.endswith("Z")
    assert ("." in written) == bool(at.microsecond)
    assert parse_rfc3339(written) == at
    assert parse_rfc3339(written).tzinfo is UTC


@given(INSTANTS, st.integers(0, 9))
def test_however_it_is_written_it_is_the_same_instant(at: datetime, digits: int) -> None:
    """`T` or `t` or a space, `Z` or an offset of nothing, any number of digits: the plain form has a way of its own through the parser."""
    fraction = f".{at.microsecond:06}"[: 1 + digits].ljust(1 + digits, "0") if digits else ""
    plain = f"{at.year:04}-{at:%m-%dT%H:%M:%S}{fraction}"
    first = parse_rfc3339(plain + "Z")
    assert first == at.replace(microsecond=int(fraction[1:7].ljust(6, "0")) if digits else 0)
    others = [
        plain + "+00:00",
        plain + "-00:00",
        plain + "z",
        plain.replace("T", "t") + "Z",
        plain.replace("T", " ") + "Z",
    ]
    assert [parse_rfc3339(one) for one in others] == [first] * len(others)


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=ZONES))
def test_an_offset_is_taken_off(at: datetime) -> None:
    """Whatever the zone, the instant is in UTC afterwards."""
    assert parse_rfc3339(at.isoformat()) == at
    assert format_rfc3339(at) == format_rfc3339(at.astimezone(UTC))


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30T00:00:00Z",
        "2026-03-04T24:00:00Z",
        "2026-03-04T23:60:00Z",
        "2026-03-04T23:59:61Z",
        "0000-01-01T00:00:00Z",
        "2026-03-04T09:30:00",
        "2026-03-04T09:30Z",
        "2026-03-04T093000Z",
        "20260304T09:30:00Z",
        "2026-W10-3T09:30:00Z",
        "2026-03-04T09:30:00,5Z",
        "2026-03-04T09:30:00.Z",
        "２０２６-03-04T09:30:00Z",
        "2026-03-04T09:30:00Z\n",
        "2026-03-04T09:30:00+24:00",
        "9999-12-31T23:59:60Z",
        "",
    ],
)
def test_what_is_no_instant_of_rfc_3339_is_refused(text: str) -> None:
    """Also what Python's own parser would take."""
    with pytest.raises(ValueError, match=r"\w"):
        parse_rfc3339(text)


def test_a_leap_second_is_the_second_after_it() -> None:
    """As POSIX time has it."""
    assert parse_rfc3339("2016-12-31T23:59:60Z") == datetime(2017, 1, 1, tzinfo=UTC)
