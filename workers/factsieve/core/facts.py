"""The values that flow: candidates in, facts stored, what is said of them.

All instants are aware UTC datetimes with microseconds. Times of validity are half open, `valid_from <= t < valid_to`.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

FOREVER: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""The open end of an interval, as Qdrant's datetime index and RFC 3339 can carry it."""

STATED_AT_LIMIT: Final = 16
"""How many instants of statement a fact remembers (the first one and the latest): enough to place a late contradiction."""


class Source(StrEnum):
    """Which kind of service made the statement."""

    REMEMBER = "remember"
    STOP_HOOK = "stop_hook"
    MCP_REMEMBER = "mcp_remember"
    INGEST = "ingest"
    POST_TOOL_USE = "post_tool_use"


class Kind(StrEnum):
    """The five decisions (AUDM and skip)."""

    ADD = "add"
    UPDATE = "update"
    SUPERSEDE = "supersede"
    MERGE = "merge"
    SKIP = "skip"


class Status(StrEnum):
    """What a stored point is.

    `current` and `past` are believed now (a past one was true in a closed interval), `archived` is a former belief,
    `retracted` was withdrawn, `erased` holds no text any more and never comes back.
    """

    CURRENT = "current"
    PAST = "past"
    ARCHIVED = "archived"
    RETRACTED = "retracted"
    ERASED = "erased"


class Coordinates(msgspec.Struct, frozen=True):
    """Where a Kafka record lies."""

    topic: str
    partition: int
    offset: int


class Record(msgspec.Struct, frozen=True):
    """A Kafka record as it was consumed: raw bytes, headers in order and with repetitions, timestamp in ms."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def coordinates(self) -> Coordinates:
        """Return where the record lies."""
        return Coordinates(self.topic, self.partition, self.offset)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One incoming statement, validated: the value of one `fact.candidate.v1` event."""

    event_key: str
    event_id: str  # ce_id, or topic/partition/offset where there is none: what people call the event
    body_hash: str
    coordinates: Coordinates
    namespace: str
    text: str
    source: Source
    occurred_at: datetime
    ce_source: str | None = None
    ce_id: str | None = None
    ce_time: str | None = None
    slot: str | None = None
    session_id: str | None = None
    embedding: tuple[float, ...] | None = None
    embedding_model: str | None = None
    dedup_threshold: float | None = None
    attributes: dict[str, Any] | None = None
    replay_id: str | None = None
    replay_emit: bool = False
    traceparent: str | None = None


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stored point: a fact as it stands (`point_id == fact_id`), or a row of its history.

    `revision` counts changes of text and validity, `version` every write, both from 1.
    """

    point_id: str
    fact_id: str
    namespace: str
    text: str
    status: Status
    revision: int
    version: int
    valid_from: datetime
    recorded_at: datetime
    last_stated_at: datetime
    source: Source
    event_key: str
    decision_id: str
    slot: str | None = None
    valid_to: datetime = FOREVER
    retired_at: datetime = FOREVER
    stated_count: int = 1
    stated_at: tuple[datetime, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    absorbed: tuple[str, ...] = ()  # facts whose statements this one took up (merge)
    merged_into: str | None = None
    compatible_with: tuple[str, ...] = ()  # facts that a person said can stand beside this one
    conflicts_with: tuple[str, ...] = ()  # facts that may contradict this one, until someone decides
    review: str | None = None
    history: bool = False  # came late, as history
    embedded: bool = False  # its vector came along with the candidate
    session_id: str | None = None
    attributes: dict[str, Any] | None = None

    @property
    def is_head(self) -> bool:
        """Return whether this is the fact itself and not a row of its history."""
        return self.point_id == self.fact_id


class Scored(msgspec.Struct, frozen=True):
    """A fact near a candidate, with its cosine similarity (rounded to 1e-5) and how it was found."""

    fact: Fact
    similarity: float
    via: str = "vector"  # vector | slot | text


class DedupSignal(msgspec.Struct, frozen=True, omit_defaults=True):
    """What accompanies every decision: `max_sim` is the true best similarity, `is_update` is strict (>)."""

    is_update: bool
    max_sim: float
    matched_id: str | None
    filtered: bool = False


NO_SIGNAL: Final = DedupSignal(is_update=False, max_sim=0.0, matched_id=None)
FILTERED_SIGNAL: Final = DedupSignal(is_update=False, max_sim=0.0, matched_id=None, filtered=True)


def round_similarity(cosine: float) -> float:
    """Return a cosine clamped to [-1, 1] and rounded to 1e-5, as it is compared and reported everywhere."""
    return round(cosine if -1.0 <= cosine <= 1.0 else min(1.0, max(-1.0, cosine)), 5)


def remember_statement(stated_at: tuple[datetime, ...], at: datetime) -> tuple[datetime, ...]:
    """Return the instants of statement with `at` among them, in order, bounded to the first and the latest ones."""
    merged = sorted({*stated_at, at})
    if len(merged) > STATED_AT_LIMIT:
        merged = [merged[0], *merged[-(STATED_AT_LIMIT - 1) :]]
    return tuple(merged)
