"""Where a late statement belongs (DESIGN section 5).

A chain is the rows believed about one thing, each true in a half-open interval: the current fact, facts that were retired, and
former revisions. `place` is the whole rule; it looks at instants of statement, never at the order of arrival, so that any order of
arrival ends in the same timeline. It assumes nothing about how a chain was found.
"""

from collections.abc import Sequence, Set
from datetime import datetime, timedelta

import msgspec

from factsieve.core.facts import FOREVER, Fact, Status


class Repeat(msgspec.Struct, frozen=True):
    """The statement was already true at that time: `row` is stated once more, at a time within its validity."""

    row: Fact


class Extend(msgspec.Struct, frozen=True):
    """`row` says the same and becomes true from the statement on; `cut`, which was true until then, ends there."""

    row: Fact
    cut: Fact | None


class Insert(msgspec.Struct, frozen=True):
    """The statement is history of its own, true until `valid_to`.

    `cut` is the row that was taken to be true at that time: it ends at the statement. Where it was stated again later, it
    resumes at `resumes_at` (then equal to `valid_to`). `successor` is the row that follows.
    """

    valid_to: datetime
    successor: Fact
    cut: Fact | None
    resumes_at: datetime | None


Placement = Repeat | Extend | Insert


def is_late(at: datetime, fact: Fact, tolerance: timedelta) -> bool:
    """Return whether a statement made at `at` is older than what the fact was last stated at, beyond the tolerance."""
    return at < fact.last_stated_at - tolerance


def resolve(at: datetime, fact: Fact, tolerance: timedelta) -> datetime:
    """Return the time that a statement counts as made at: a slightly older one takes the fact's `last_stated_at`."""
    return fact.last_stated_at if fact.last_stated_at - tolerance <= at < fact.last_stated_at else at


def chain_of(head: Fact, rows: Sequence[Fact]) -> list[Fact]:
    """Return those rows (and `head`) that are linked to `head` by succession, by slot or as revisions, in order of time."""
    believed = {row.point_id: row for row in [head, *rows] if row.status in (Status.CURRENT, Status.PAST)}
    wanted = {head.fact_id}
    while True:
        linked = {
            row.fact_id
            for row in believed.values()
            if row.fact_id in wanted
            or (head.slot is not None and row.slot == head.slot)
            or row.superseded_by in wanted
            or wanted.intersection(row.supersedes)
        }
        linked |= {fact_id for row in believed.values() if row.fact_id in linked for fact_id in row.supersedes}
        if linked <= wanted:
            break
        wanted |= linked
    return sorted(
        (row for row in believed.values() if row.fact_id in wanted), key=lambda row: (row.valid_from, row.point_id)
    )


def place(at: datetime, chain: Sequence[Fact], same: Set[str]) -> Placement | None:
    """Return what a late statement made at `at` does to its chain, or None where nothing in it lies at or after that time.

    `chain` is in order of time, `same` holds the point ids of rows that say what the statement says; all others contradict it.
    """
    holding = [row for row in chain if row.valid_from <= at < row.valid_to]
    container = holding[-1] if holding else None
    if container is not None and container.point_id in same:
        return Repeat(container)
    later = [row for row in chain if row.valid_from > at]
    successor = later[0] if later else None
    if container is None:
        if successor is None:
            return None
        if successor.point_id in same:
            return Extend(successor, None)
        return Insert(successor.valid_from, successor, None, None)
    stated_again = [instant for instant in (*container.stated_at, container.last_stated_at) if instant > at]
    if stated_again:
        resumes_at = min(stated_again)
        return Insert(resumes_at, container, container, resumes_at)
    if container.valid_to == FOREVER or successor is None:
        return None
    if successor.point_id in same and successor.valid_from == container.valid_to:
        return Extend(successor, container)
    return Insert(min(container.valid_to, successor.valid_from), successor, container, None)
