"""Orders and filters over rows of facts that every store shares."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from factsieve.core.facts import FOREVER, Fact, Status
from factsieve.ports import NeighbourQuery

SLOT_LIMIT: Final = 64
"""How many facts of one slot a store gives back at most: the latest by `valid_from`."""

BELIEVED: Final = frozenset({Status.CURRENT, Status.PAST})
"""The statuses of rows that are believed now."""


RETIRED: Final = (Status.PAST, Status.ARCHIVED, Status.RETRACTED)
"""The statuses of rows that say what does not hold any more."""


def searched_by(query: NeighbourQuery) -> tuple[Status, ...]:
    """Return the statuses of the rows among which a query searches."""
    if query.retired:
        return RETIRED
    return (Status.PAST,) if query.past else (Status.CURRENT,)


def by_validity(fact: Fact) -> tuple[datetime, str]:
    """Order facts by when they became true."""
    return fact.valid_from, fact.point_id


def by_record(fact: Fact) -> tuple[datetime, int, int, str]:
    """Order the rows of one fact as they were recorded."""
    return fact.recorded_at, fact.revision, fact.version, fact.point_id


def latest_of_slot(facts: Iterable[Fact]) -> list[Fact]:
    """Return the latest `SLOT_LIMIT` facts by `valid_from`, in order of point id."""
    latest = sorted(facts, key=by_validity)[-SLOT_LIMIT:]
    return sorted(latest, key=lambda fact: fact.point_id)


def selection(as_of: datetime | None, known_at: datetime | None, current_only: bool) -> Callable[[Fact], bool]:
    """Return the condition of `FactStore.select` (intervals are half open; erased rows answer no question about times)."""

    def believed(fact: Fact) -> bool:
        if known_at is None:
            return fact.status in BELIEVED
        return fact.status is not Status.ERASED and fact.recorded_at <= known_at < fact.retired_at

    if as_of is not None:
        instant = as_of
        return lambda fact: believed(fact) and fact.valid_from <= instant < fact.valid_to
    if known_at is not None:
        return lambda fact: believed(fact) and fact.valid_to == FOREVER
    return lambda fact: not current_only or fact.status is Status.CURRENT
