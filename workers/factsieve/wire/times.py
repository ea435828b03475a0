"""Instants as RFC 3339 text."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_RFC_3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_PLAIN: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?Z")
"""As most are: of these `datetime.fromisoformat` takes and means the same."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_rfc3339(text: str) -> datetime:
    """Return the instant in UTC; raises ValueError where the text is not a date-time of RFC 3339 (5.6), which has an offset.

    Digits beyond microseconds are dropped. A leap second counts as the second after it, as POSIX time does.
    """
    if _PLAIN.fullmatch(text):
        return datetime.fromisoformat(text)
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 date-time with an offset")
    year, month, day, hour, minute, second = (int(group) for group in match.group(1, 2, 3, 4, 5, 6))
    leap = second == 60
    fraction = (match.group(7) or "")[:6].ljust(6, "0")
    offset_h, offset_min = int(match.group(9) or 0), int(match.group(10) or 0)
    if offset_h > 23 or offset_min > 59:
        raise ValueError("the offset is out of range")
    offset = timedelta(hours=offset_h, minutes=offset_min)
    try:
        local = datetime(
            year, month, day, hour, minute, 59 if leap else second, 0 if leap else int(fraction), tzinfo=UTC
        )
        if leap:
            local += timedelta(seconds=1)
        return local + offset if match.group(8) == "-" else local - offset
    except OverflowError as error:
        raise ValueError("the instant lies outside the years 1 to 9999 in UTC") from error


def parse_day_or_instant(text: str) -> datetime:
    """Return the instant that people mean by a day (2026-03-04: its beginning in UTC) or by an RFC 3339 date-time. Raises ValueError."""
    if len(text) == len("2026-03-04"):
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    return parse_rfc3339(text)


def format_rfc3339(at: datetime) -> str:
    """Return an instant as RFC 3339 text in UTC with `Z`, with microseconds only where there are any."""
    return (at if at.tzinfo is UTC else at.astimezone(UTC)).isoformat().removesuffix("+00:00") + "Z"


def from_ms(timestamp_ms: int) -> datetime:
    """Return the instant of a Kafka timestamp (ms since 1970); raises ValueError where no datetime can hold it."""
    try:
        return _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError as error:
        raise ValueError("the timestamp lies outside the years 1 to 9999") from error


def to_ms(at: datetime) -> int:
    """Return an instant as a Kafka timestamp (ms since 1970)."""
    return (at - _EPOCH) // timedelta(milliseconds=1)
