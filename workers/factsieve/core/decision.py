"""A decision as a value, with everything that explains it and everything that follows from it."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec

from factsieve.core.facts import Coordinates, DedupSignal, Fact, Kind, Source


class Band(StrEnum):
    """Where the best similarity lies (`none`: no neighbour, or no vector to trust)."""

    EXACT = "exact"
    KNOWN = "known"
    AMBIGUOUS = "ambiguous"
    SUPERSEDE_ELIGIBLE = "supersede_eligible"
    NEW = "new"
    NONE = "none"


class Thresholds(msgspec.Struct, frozen=True):
    """The numbers that a decision was made under. `update_signal` is the statement's own where it brought one."""

    skip: float
    ambiguous: float
    supersede: float
    update_signal: float


class NeighbourNote(msgspec.Struct, frozen=True):
    """A neighbour as the decision saw it."""

    fact_id: str
    similarity: float
    via: str
    revision: int


class FindingNote(msgspec.Struct, frozen=True):
    """A guard finding against the matched fact."""

    kind: str
    ours: str
    theirs: str


class JudgeNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who was asked, what for (`confirm` or `choose`), what it answered, about which facts (`targets`), and what it cost."""

    judge: str
    asked: str
    choice: Kind | None
    reason: str = ""
    model: str | None = None
    confidence: float | None = None
    failure: str | None = None
    latency_ms: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    targets: tuple[str, ...] = ()


DownstreamOutcome = Literal["known", "retired", "absent", "unavailable"]


class DownstreamNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a look into the downstream collections found about an `add`.

    `known`: it is there (`collection`, `point_id`), so ingest is not told of the new fact. `retired`: it is there, but as a text that was
    retired here, so ingest is told. `absent`: it is not there. `unavailable`: a collection (`collection`) did not answer, and nothing
    was found in the others.
    """

    outcome: DownstreamOutcome
    collection: str | None = None
    point_id: str | None = None
    similarity: float | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was decided about one event, and why.

    `fact_id` is the fact that resulted (None for a skip), `matched_id` the fact that the decision is about (for an `add` the best
    neighbour, None on a cold start), `superseded_ids` all facts that it retired. `resolved_at` is the time that the statement was
    taken to be made at, which differs from `occurred_at` only within the clock skew tolerance. `reason` is of the rules' bounded
    vocabulary. An operator's command has its place here too: then `decision` is None, `command` its kind, `outcome` applied, refused or
    no_op, `reason` says why, and `about_decision_id` names the decision that was reverted or reviewed. `downstream` is what was found
    in the downstream collections, where they were asked.
    """

    decision_id: str
    event_key: str
    event_id: str
    namespace: str
    decision: Kind | None
    reason: str
    fact_id: str | None
    matched_id: str | None
    dedup_signal: DedupSignal
    band: Band
    thresholds: Thresholds
    text: str
    source: Source | None
    occurred_at: datetime
    resolved_at: datetime
    decided_at: datetime
    coordinates: Coordinates
    policy: str
    embedder: str
    superseded_ids: tuple[str, ...] = ()
    matched_text: str | None = None
    via: str = "rules"  # which path decided: hash_window | text | rules
    neighbours: tuple[NeighbourNote, ...] = ()
    findings: tuple[FindingNote, ...] = ()
    judges: tuple[JudgeNote, ...] = ()
    review: str | None = None
    conflicts_with: tuple[str, ...] = ()
    revision: int | None = None
    slot: str | None = None
    session_id: str | None = None
    ce_source: str | None = None
    ce_id: str | None = None
    ce_time: str | None = None
    traceparent: str | None = None
    command: str | None = None
    outcome: str | None = None
    about_decision_id: str | None = None
    downstream: DownstreamNote | None = None


class ChangeType(StrEnum):
    """What ingest has to act on; the CloudEvents type is `fact.<value>.v1`."""

    ADDED = "added"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    REVERTED = "reverted"
    RETRACTED = "retracted"
    ERASED = "erased"


class Replaced(msgspec.Struct, frozen=True):
    """A statement that a change put out of force."""

    fact_id: str
    revision: int
    text: str
    valid_from: datetime
    valid_to: datetime


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of `new-facts`: the whole fact after the change, and what it replaced.

    Consumers apply it only where `revision` is above the one they hold of this fact.
    """

    type: ChangeType
    fact: Fact
    decision_id: str
    revision: int
    replaced: tuple[Replaced, ...] = ()
    history: bool = False


class SupersessionRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the append-only story: which statement retired which, from when on, by whose word.

    `kind`: supersede, merge, update, late_history, revert, retract, erase.
    """

    record_id: str
    namespace: str
    kind: str
    retired_id: str
    retired_revision: int
    successor_id: str | None
    effective_at: datetime
    recorded_at: datetime
    decided_by: str
    reason: str
    decision_id: str
    event_key: str


class Erasure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whose texts the ledger must not hold any more: those of facts (only of the revisions named; empty: of all), and those of events."""

    facts: dict[str, tuple[int, ...]] = {}
    event_keys: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event's place in the ledger: the decision and its plan.

    `effects` are the points as they are after this decision, all absolute; `inserts` the ids of those that did not exist before,
    `reworded` of those whose text changed: all others keep their vector. `vectors` holds embeddings that came along, `attributes`
    those of a candidate that became no fact of its own. `erases` is what has to be scrubbed from the ledger besides, `undoes` what the
    decision had been that a revert took back.
    """

    decision: Decision
    body_hash: str
    effects: tuple[Fact, ...] = ()
    inserts: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    supersessions: tuple[SupersessionRecord, ...] = ()
    vectors: dict[str, tuple[float, ...]] = {}
    text_hash: str = ""
    attributes: dict[str, Any] | None = None
    erases: Erasure | None = None
    undoes: Kind | None = None


class LedgerRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one lane decided in one wave: all there or not there."""

    record_id: str
    namespace: str
    attempt: str
    recorded_at: datetime
    entries: tuple[Entry, ...]
