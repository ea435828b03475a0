"""The arithmetic of the hash window, shared by every adapter.

Event time is cut into buckets as wide as the window, and each bucket keeps the earliest and the latest entry of a text. That is
enough to answer exactly whether anything lies within the window around an instant: all of its own bucket does, of the bucket
before it the latest entry decides, of the one after it the earliest.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from factsieve.ports import WindowHit

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Entry(NamedTuple):
    """What a text led to at an instant (microseconds since 1970, negative before)."""

    fact_id: str
    revision: int
    at_us: int


def microseconds(at: datetime) -> int:
    """Return an aware datetime as microseconds since 1970, exactly."""
    return (at - _EPOCH) // _MICROSECOND


def bucket_of(at_us: int, window_us: int) -> int:
    """Return the number of the bucket that an instant lies in (negative before 1970)."""
    return at_us // window_us


def merge_entries(kept: tuple[Entry, Entry] | None, entry: Entry) -> tuple[Entry, Entry]:
    """Return the earliest and the latest entry of a bucket with `entry` among them; of two at one instant the newcomer stays."""
    if kept is None:
        return entry, entry
    first, last = kept
    return (entry if entry.at_us <= first.at_us else first, entry if entry.at_us >= last.at_us else last)


def nearest_hit(entries: Iterable[Entry], at_us: int, window_us: int) -> WindowHit | None:
    """Return the entry nearest to an instant, none further than the window; of two equally near ones the later."""
    near = [entry for entry in entries if abs(entry.at_us - at_us) <= window_us]
    if not near:
        return None
    best = min(near, key=lambda entry: (abs(entry.at_us - at_us), -entry.at_us))
    return WindowHit(best.fact_id, best.revision)
