"""Which past records a replay sends in again."""

from datetime import datetime
from enum import StrEnum

import msgspec

from factsieve.core.errors import BadInput
from factsieve.core.facts import Candidate, Record
from factsieve.wire import times
from factsieve.wire.headers import REPLAY_ID, Headers
from factsieve.wire.inbound import decode
from factsieve.wire.topics import COMMAND_TYPES, Limits


class Fate(StrEnum):
    """What a replay does with a record, and why.

    Commands are passed over: they are signed for their own time, and what they did is in the ledger. So is what a replay brought in,
    for its first record is met too. What has no key or no value can have no effect.
    """

    CHOSEN = "chosen"
    COMMAND = "command"
    REPLAYED = "replayed"
    UNUSABLE = "unusable"
    OTHER_NAMESPACE = "other_namespace"
    OTHER_TIME = "other_time"


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which records are wanted: of these namespaces (None: of all), from `since` to before `until` (None: without end).

    Times are those of the events (when the statement was made), or with `by_record` the records' own timestamps.
    """

    namespaces: frozenset[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    by_record: bool = False


class Looked(msgspec.Struct, frozen=True):
    """A record's fate, and its statement where it can be read as one."""

    fate: Fate
    candidate: Candidate | None = None


def look(record: Record, selection: Selection, limits: Limits, now: datetime) -> Looked:
    """Return what a replay does with a record.

    One that was refused, and would be now, is chosen like any other, by its record's time: what was the matter may be mended.
    """
    if record.key is None or record.value is None:
        return Looked(Fate.UNUSABLE)
    headers = Headers(record.headers)
    if headers.lossy(REPLAY_ID):
        return Looked(Fate.REPLAYED)
    if headers.lossy("ce_type") in COMMAND_TYPES:
        return Looked(Fate.COMMAND)
    namespace = record.key.decode("utf-8", "replace")
    if selection.namespaces is not None and namespace not in selection.namespaces:
        return Looked(Fate.OTHER_NAMESPACE)
    try:
        event = decode(record, limits, now)
    except BadInput:
        event = None
    candidate = event if isinstance(event, Candidate) else None
    at = _time_of(record, None if selection.by_record else candidate)
    wanted = selection.since is None and selection.until is None
    if at is not None:
        wanted = (selection.since is None or selection.since <= at) and (
            selection.until is None or at < selection.until
        )
    return Looked(Fate.CHOSEN if wanted else Fate.OTHER_TIME, candidate)


def _time_of(record: Record, candidate: Candidate | None) -> datetime | None:
    if candidate is not None:
        return candidate.occurred_at
    try:
        return times.from_ms(record.timestamp_ms) if record.timestamp_ms >= 0 else None
    except ValueError:
        return None
