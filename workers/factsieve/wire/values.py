"""The values of the output topics: the core's values with every field written out, for readers who know no defaults."""

from datetime import datetime
from typing import Any, Final

import msgspec

from factsieve.core.decision import Change, Decision, Entry, Erasure, SupersessionRecord
from factsieve.core.errors import RejectCode
from factsieve.core.facts import Coordinates, DedupSignal, Fact, Kind

CARRIED: Final = tuple(
    field.name for field in msgspec.structs.fields(Entry) if field.name not in {"decision", "effects", "changes"}
)
"""Fields of a ledger entry that stand on `fact-decisions` as they are."""


class FactValue(Fact, frozen=True, kw_only=True, omit_defaults=False):
    """Value of `facts` (`fact.state.v1`): a fact as it stands."""


class ChangeValue(Change, frozen=True, kw_only=True, omit_defaults=False):
    """Value of `new-facts`."""


class DecisionValue(Decision, frozen=True, kw_only=True, omit_defaults=False):
    """Value of `fact-decisions`: the decision, and the whole effect that it had.

    `effects` are the points as they were after the decision, `inserts` the ids of those that it made. The other fields of the ledger's
    entry (`core.decision.Entry`) are here too, so that the ledger can be made anew from these messages. `replayed`: nothing was decided
    or changed now, the event came by another way a second time, at `met_at`; by the replay `replay_id`, if it was one.
    """

    effects: tuple[FactValue, ...] = ()
    inserts: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    changes: tuple[ChangeValue, ...] = ()
    supersessions: tuple[SupersessionRecord, ...] = ()
    vectors: dict[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    attributes: dict[str, Any] | None = None
    erases: Erasure | None = None
    undoes: Kind | None = None
    body_hash: str = ""
    text_hash: str = ""
    replayed: bool = False
    replay_id: str | None = None
    met_at: Coordinates | None = None


class ErrorValue(msgspec.Struct, frozen=True):
    """Why an input was refused: `message` names the offending value and the fix, `field` the field, if it is one."""

    code: RejectCode
    message: str
    field: str | None


class RejectValue(msgspec.Struct, frozen=True, kw_only=True):
    """Value of `fact-decisions` for an input that was refused: `decision` is null. The record itself is in the dead letter topic."""

    decision_id: str
    event_id: str
    namespace: str | None
    error: ErrorValue
    dedup_signal: DedupSignal
    decided_at: datetime
    coordinates: Coordinates
    decision: None = None
    reason: str = "rejected"
    ce_source: str | None = None
    ce_id: str | None = None
    ce_time: str | None = None
    replayed: bool = False
    replay_id: str | None = None


def fact_value(fact: Fact) -> dict[str, Any]:
    """Return a fact with every field written out, as `FactValue` has them."""
    return msgspec.structs.asdict(fact)


def change_value(change: Change) -> dict[str, Any]:
    """Return a change with every field written out, as `ChangeValue` has them."""
    return msgspec.structs.asdict(change) | {"fact": fact_value(change.fact)}


def decision_value(
    entry: Entry, *, replayed: bool, replay_id: str | None, met_at: Coordinates | None
) -> dict[str, Any]:
    """Return what is told of a ledger entry, with every field written out, as `DecisionValue` has them.

    Made of fields, since of every event five values go out: a struct made first takes twice the time.
    """
    return {
        **msgspec.structs.asdict(entry.decision),
        **{name: getattr(entry, name) for name in CARRIED},
        "effects": [fact_value(fact) for fact in entry.effects],
        "changes": [change_value(change) for change in entry.changes],
        "replayed": replayed,
        "replay_id": replay_id,
        "met_at": met_at,
    }
