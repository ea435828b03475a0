"""Messages of `fact-decisions` back to what the ledger held."""

from typing import Final

import msgspec

from factsieve.core.decision import Change, Decision, Entry, Erasure
from factsieve.core.errors import Bug
from factsieve.core.facts import Fact
from factsieve.core.ids import text_hash
from factsieve.wire.values import DecisionValue


class Outline(msgspec.Struct, frozen=True):
    """What a first look at a message tells: whether it is a decision at all (`event_key`), where, and what it erases."""

    namespace: str | None = None
    event_key: str | None = None
    erases: Erasure | None = None


_OUTLINE: Final = msgspec.json.Decoder(Outline)
_VALUE: Final = msgspec.json.Decoder(DecisionValue)
_DECISION: Final = msgspec.structs.fields(Decision)
_AS_THEY_ARE: Final = tuple(
    field.name for field in msgspec.structs.fields(Entry) if field.name not in {"decision", "effects", "changes"}
)


def outline(value: bytes) -> Outline:
    """Return the outline of a message; a reject has no `event_key`. Raises Bug where it is none of ours."""
    try:
        return _OUTLINE.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Bug(f"a message of fact-decisions can not be read: {error}; it begins {value[:60]!r}") from error


def decided_entry(value: bytes) -> Entry | None:
    """Return the ledger entry that a message tells of, None of a reject.

    One of a version that did not say all of it has `body_hash` empty (any body of the event is then taken for it). Raises Bug where the
    message is none of ours.
    """
    if outline(value).event_key is None:
        return None
    try:
        told = _VALUE.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Bug(f"a decision can not be read: {error}; it begins {value[:60]!r}") from error
    decision = Decision(**{field.name: getattr(told, field.name) for field in _DECISION})
    entry = Entry(
        decision=decision,
        effects=tuple(Fact(**msgspec.structs.asdict(fact)) for fact in told.effects),
        changes=tuple(
            Change(**(msgspec.structs.asdict(change) | {"fact": Fact(**msgspec.structs.asdict(change.fact))}))
            for change in told.changes
        ),
        **{name: getattr(told, name) for name in _AS_THEY_ARE},
    )
    if not entry.text_hash and decision.command is None and decision.text:
        return msgspec.structs.replace(entry, text_hash=text_hash(decision.text, decision.slot))
    return entry
