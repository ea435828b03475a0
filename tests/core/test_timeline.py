"""Where a late statement belongs: every case of `place`, at its boundaries, and which rows make a chain."""

from datetime import UTC, datetime, timedelta

import pytest

from factsieve.core.facts import FOREVER, Fact, Source, Status
from factsieve.core.timeline import Extend, Insert, Repeat, chain_of, is_late, place, resolve

DAY_1 = datetime(2026, 3, 1, tzinfo=UTC)
TOLERANCE = timedelta(seconds=60)
TICK = timedelta(microseconds=1)


def day(number: float) -> datetime:
    return DAY_1 + timedelta(days=number - 1)


def row(name: str, since: float, until: float | None = None, **fields) -> Fact:
    """Return a row true from one day to another, stated on its first day."""
    base = {
        "point_id": name,
        "fact_id": name,
        "namespace": "team",
        "text": name,
        "status": Status.CURRENT if until is None else Status.PAST,
        "revision": 1,
        "version": 1,
        "valid_from": day(since),
        "valid_to": FOREVER if until is None else day(until),
        "recorded_at": day(since),
        "last_stated_at": day(since),
        "source": Source.REMEMBER,
        "event_key": "k",
        "decision_id": "d",
    }
    return Fact(**(base | fields))


# Late or not


@pytest.mark.parametrize(
    ("before", "late"),
    [(timedelta(0), False), (TOLERANCE, False), (TOLERANCE + TICK, True), (timedelta(days=1), True), (-TICK, False)],
)
def test_late_begins_beyond_the_tolerance(before: timedelta, late: bool) -> None:
    """A statement older than the fact's last one by more than the tolerance is late."""
    fact = row("a", 1, last_stated_at=day(3))
    assert is_late(day(3) - before, fact, TOLERANCE) is late


@pytest.mark.parametrize(
    ("before", "moved"),
    [(TICK, True), (TOLERANCE, True), (TOLERANCE + TICK, False), (timedelta(0), False), (-TICK, False)],
)
def test_within_the_tolerance_the_facts_own_time_counts(before: timedelta, moved: bool) -> None:
    """A slightly older statement takes the fact's last time; any other keeps its own."""
    fact = row("a", 1, last_stated_at=day(3))
    at = day(3) - before
    assert resolve(at, fact, TOLERANCE) == (day(3) if moved else at)


# Placing


def test_what_was_true_already_is_a_repeat() -> None:
    """Within the validity of a row that says the same: its first instant belongs to it, its last one does not."""
    one, two = row("a", 1, 5), row("b", 5)
    assert place(day(3), [one, two], {"a"}) == Repeat(one)
    assert place(day(1), [one, two], {"a"}) == Repeat(one)
    assert place(day(5), [one, two], {"a", "b"}) == Repeat(two)
    assert place(day(5), [one, two], {"b"}) == Repeat(two)
    assert place(day(9), [one, two], {"b"}) == Repeat(two)


def test_of_two_that_held_the_later_counts() -> None:
    """Where rows overlap, the one that began last is what was taken to be true."""
    one, two = row("a", 1), row("b", 2)
    assert place(day(3), [one, two], {"b"}) == Repeat(two)
    assert place(day(3), [one, two], {"a"}) is None


def test_before_everything() -> None:
    """Before the first row: the first row's own words make it true earlier, others are history up to it."""
    first, then = row("a", 3, 5), row("b", 5)
    assert place(day(1), [first, then], {"a"}) == Extend(first, None)
    assert place(day(1), [first, then], {"b"}) == Insert(day(3), first, None, None)
    assert place(day(1), [first, then], set()) == Insert(day(3), first, None, None)


def test_nothing_at_or_after_it() -> None:
    """After everything that a chain holds, or in an empty chain, there is nothing to be late against."""
    assert place(day(1), [], set()) is None
    assert place(day(9), [row("a", 3, 5)], set()) is None
    assert place(day(9), [row("a", 3, 5)], {"a"}) is None


def test_in_a_gap() -> None:
    """Between two rows of which neither held: as before the later one."""
    one, two = row("a", 1, 2), row("b", 5)
    assert place(day(3), [one, two], {"b"}) == Extend(two, None)
    assert place(day(3), [one, two], {"a"}) == Insert(day(5), two, None, None)
    assert place(day(2), [one, two], {"a"}) == Insert(day(5), two, None, None)


def test_in_the_midst_of_what_was_stated_again() -> None:
    """A row that was stated before and after ends at the statement and resumes when it was next stated."""
    one = row("a", 1, last_stated_at=day(8), stated_at=(day(1), day(3), day(6), day(8)))
    assert place(day(4), [one], set()) == Insert(day(6), one, one, day(6))
    assert place(day(6), [one], set()) == Insert(day(8), one, one, day(8))
    assert place(day(7), [one], set()) == Insert(day(8), one, one, day(8))


def test_the_last_statement_counts_though_its_instant_was_forgotten() -> None:
    """Only so many instants are remembered; the last one always is."""
    one = row("a", 1, last_stated_at=day(8))
    assert place(day(4), [one], set()) == Insert(day(8), one, one, day(8))
    assert place(day(8), [one], set()) is None  # not before its last statement: nothing to resume, nothing after


def test_between_a_row_and_its_successor() -> None:
    """The row ends at the statement, which holds until the successor; whose words it says, that one begins earlier."""
    one, two, three = row("a", 1, 5), row("b", 5, 7), row("c", 7)
    assert place(day(3), [one, two, three], set()) == Insert(day(5), two, one, None)
    assert place(day(3), [one, two, three], {"c"}) == Insert(day(5), two, one, None)
    assert place(day(3), [one, two, three], {"b"}) == Extend(two, one)


def test_at_the_very_instant_at_which_a_row_began() -> None:
    """What was stated then beside the row holds until its successor, as at any later instant of the row."""
    one, two = row("a", 1, 5), row("b", 5, 7)
    assert place(day(1), [one, two], set()) == Insert(day(5), two, one, None)
    assert place(day(1), [one, two], {"b"}) == Extend(two, one)


def test_the_successor_must_follow_at_once() -> None:
    """Where the row ended before its successor began, something else was true between them."""
    one, two = row("a", 1, 4), row("b", 5)
    assert place(day(3), [one, two], {"b"}) == Insert(day(4), two, one, None)
    assert place(day(3), [one, two], set()) == Insert(day(4), two, one, None)


def test_a_successor_that_began_earlier_ends_it_earlier() -> None:
    """Where rows overlap the statement holds only until the next one begins."""
    one, two = row("a", 1, 9), row("b", 5)
    assert place(day(3), [one, two], set()) == Insert(day(5), two, one, None)


def test_what_still_holds_is_not_cut() -> None:
    """A row without an end and without later statements is not contradicted by what came before them: it is not late then."""
    assert place(day(3), [row("a", 1)], set()) is None
    one, two = row("a", 1), row("b", 5)
    assert place(day(3), [one, two], set()) is None
    assert place(day(3), [row("a", 1, 5)], set()) is None


# Chains


def names(rows: list[Fact]) -> list[str]:
    return [one.point_id for one in rows]


def test_a_chain_is_linked_by_succession() -> None:
    """What a fact retired, what that had retired, and what retired it, in order of time; nothing else."""
    a = row("a", 1, 2, superseded_by="b")
    b = row("b", 2, 3, supersedes=("a",), superseded_by="c")
    c = row("c", 3, supersedes=("b",))
    other = row("x", 1, 9, supersedes=("y",), superseded_by="z")
    for head in (a, b, c):
        assert names(chain_of(head, [c, other, b, a])) == ["a", "b", "c"]


def test_one_side_of_a_link_is_enough() -> None:
    """A link that is written on one of two rows links them, from whichever the search begins."""
    old, new = row("a", 1, 2), row("b", 2, supersedes=("a",))
    assert names(chain_of(new, [old])) == names(chain_of(old, [new])) == ["a", "b"]
    old, new = row("a", 1, 2, superseded_by="b"), row("b", 2)
    assert names(chain_of(new, [old])) == ["a", "b"]


def test_a_chain_is_linked_by_slot() -> None:
    """Rows of the head's slot belong to it; having no slot is not having the same one."""
    head = row("b", 3, slot="city")
    rows = [row("a", 1, 3, slot="city"), row("x", 1, 3, slot="name"), row("y", 1, 3)]
    assert names(chain_of(head, rows)) == ["a", "b"]
    assert names(chain_of(row("h", 3), [row("x", 1), row("y", 2)])) == ["h"]


def test_revisions_belong_to_their_fact_and_former_beliefs_do_not() -> None:
    """Past rows of the same fact are part of its chain; what is believed no more, or was erased, is not."""
    head = row("a", 5)
    past = row("p", 1, 5, fact_id="a")
    gone = [
        row(status.value, 2, 4, fact_id="a", status=status)
        for status in (Status.ARCHIVED, Status.RETRACTED, Status.ERASED)
    ]
    assert names(chain_of(head, [*gone, past])) == ["p", "a"]


def test_rows_of_one_instant_are_in_order_of_their_ids() -> None:
    """The order of a chain does not depend on the order in which its rows were found."""
    head = row("b", 1, slot="s")
    rows = [row("c", 1, 2, slot="s"), row("a", 1, 2, slot="s")]
    assert names(chain_of(head, rows)) == names(chain_of(head, rows[::-1])) == ["a", "b", "c"]


def test_the_head_counts_as_it_is_found() -> None:
    """A row that is found anew stands for the head that was known."""
    head = row("a", 1, last_stated_at=day(1))
    newer = row("a", 1, last_stated_at=day(4))
    assert chain_of(head, [newer]) == [newer]
