"""Messages of `fact-decisions` back to what the ledger held."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec

from factsieve.core.decision import Change, Decision, Entry, Erasure, FindingNote, JudgeNote, Thresholds
from factsieve.core.errors import Bug
from factsieve.core.facts import Coordinates, DedupSignal, Fact, Kind
from factsieve.core.ids import text_hash
from factsieve.wire.values import CARRIED, DecisionValue


class NotADecision(ValueError):
    """A record of `fact-decisions` that somebody else wrote: nothing can be read from it, and nothing of ours is lost with it."""


class _Refused(msgspec.Struct):
    code: str
    message: str = ""


class _Told(msgspec.Struct):
    """What readers count on in a decision, a command's outcome or a reject. Other fields may be anything."""

    decision_id: str
    event_id: str
    decided_at: Annotated[datetime, msgspec.Meta(tz=True)]
    coordinates: Coordinates
    dedup_signal: DedupSignal
    decision: Kind | None = None
    command: Literal["revert", "retract", "review", "erase"] | None = None
    outcome: str | None = None
    reason: str | None = None
    namespace: str | None = None
    event_key: str | None = None
    text: str | None = None
    matched_text: str | None = None
    fact_id: str | None = None
    matched_id: str | None = None
    superseded_ids: tuple[str, ...] | None = None
    thresholds: Thresholds | None = None
    findings: tuple[FindingNote, ...] | None = None
    judges: tuple[JudgeNote, ...] | None = None
    effects: tuple[dict[str, Any], ...] | None = None
    erases: Erasure | None = None
    error: _Refused | None = None
    replayed: bool = False
    replay_id: str | None = None
    met_at: Coordinates | None = None


class Outline(msgspec.Struct, frozen=True):
    """What a first look at a message tells: whether it is a decision at all (`event_key`), where, and what it erases."""

    namespace: str | None = None
    event_key: str | None = None
    erases: Erasure | None = None


_TOLD: Final = msgspec.json.Decoder(_Told)
_ANYTHING: Final = msgspec.json.Decoder(dict[str, Any])
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_OUTLINE: Final = msgspec.json.Decoder(Outline)
_VALUE: Final = msgspec.json.Decoder(DecisionValue)
_DECISION: Final = msgspec.structs.fields(Decision)


def told(value: bytes | None) -> dict[str, Any]:
    """Return a message's value as it is, once it has what readers count on. Raises NotADecision where it has not."""
    try:
        _TOLD.decode(value or b"")
        return _ANYTHING.decode(value or b"")
    except _UNREADABLE as error:
        raise NotADecision(_described(value, error)) from error


def _described(value: bytes | None, error: BaseException) -> str:
    return "it has no value" if not value else f"{error}; it begins {value[:60]!r}"


def outline(value: bytes | None) -> Outline:
    """Return the outline of a message; a reject has no `event_key`.

    Raises NotADecision where it is no JSON object, Bug where it is one that says where it belongs otherwise than we do.
    """
    try:
        _ANYTHING.decode(value or b"")
    except _UNREADABLE as error:
        raise NotADecision(_described(value, error)) from error
    assert value is not None
    try:
        return _OUTLINE.decode(value)
    except _UNREADABLE as error:
        raise Bug(f"a message of fact-decisions can not be read: {error}; it begins {value[:60]!r}") from error


def decided_entry(value: bytes | None) -> Entry | None:
    """Return the ledger entry that a message tells of, None of a reject.

    One of a version that did not say all of it has `body_hash` empty (any body of the event is then taken for it). Raises NotADecision
    where the message is no JSON object, Bug where it is one that can not be read.
    """
    if outline(value).event_key is None:
        return None
    assert value is not None
    try:
        said = _VALUE.decode(value)
    except _UNREADABLE as error:
        raise Bug(f"a decision can not be read: {error}; it begins {value[:60]!r}") from error
    decision = Decision(**{field.name: getattr(said, field.name) for field in _DECISION})
    entry = Entry(
        decision=decision,
        effects=tuple(Fact(**msgspec.structs.asdict(fact)) for fact in said.effects),
        changes=tuple(
            Change(**(msgspec.structs.asdict(change) | {"fact": Fact(**msgspec.structs.asdict(change.fact))}))
            for change in said.changes
        ),
        **{name: getattr(said, name) for name in CARRIED},
    )
    if not entry.text_hash and decision.command is None and decision.text:
        return msgspec.structs.replace(entry, text_hash=text_hash(decision.text, decision.slot))
    return entry
