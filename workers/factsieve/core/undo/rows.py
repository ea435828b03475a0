"""What undoing is made of: the three states of a row (before a decision, after it, now), and what follows from them.

A decision left the row it changed as an archived copy in its own plan, so that `before` and `after` are both in its ledger entry;
`now` is what is stored. Where nothing happened since, undoing gives `before` back. Otherwise it is a merge of three: what the
decision did not change stays as it is now, lists lose what it added and regain what it took away, counts are corrected.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from factsieve.core.decision import ChangeType, Entry, Erasure, JudgeNote, Replaced
from factsieve.core.facts import FOREVER, STATED_AT_LIMIT, Fact, Status
from factsieve.core.plan import Draft, archived_id

STANDING: Final = ("status", "valid_from", "valid_to", "superseded_by", "merged_into", "history", "retired_at")
"""What says whether a row is in force, and when."""

WORDING: Final = ("text", "slot", "source", "attributes", "embedded", "session_id")
"""What a row says."""

CORE: Final = ("status", "text", "valid_from", "valid_to", "superseded_by", "merged_into")
"""What two rows have to agree in for nothing that matters to have happened in between."""

LINKS: Final = ("supersedes", "absorbed", "compatible_with", "conflicts_with")

ERASED: Final = "erased"
"""Reason of the decision (`skip`) about an event whose statement was erased."""

COMPATIBLE_LIMIT: Final = 64
"""How many facts a fact may be said to stand beside: the latest."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of a command: `kind` applied, refused or no_op. `fact` is the one that it is about, as it was before.

    `dropped` are the facts that it withdrew, `erases` what the ledger must not hold any more.
    """

    kind: str
    reason: str
    fact: Fact | None = None
    dropped: tuple[str, ...] = ()
    judges: tuple[JudgeNote, ...] = ()
    erases: Erasure | None = None


class Held(msgspec.Struct, frozen=True):
    """What is stored now: points by id, and of some facts all their rows.

    `reverts`: of the decisions that gave rows their present revision, those that reverted the very decision that is to be reverted.
    """

    points: Mapping[str, Fact]
    rows: Mapping[str, Sequence[Fact]] = {}
    reverts: frozenset[str] = frozenset()


class Part(msgspec.Struct, frozen=True):
    """One row that an entry wrote. `before` is None for a row that it made, and for one whose notes and counts alone it changed."""

    now: Fact
    after: Fact
    before: Fact | None
    made: bool

    @property
    def untouched(self) -> bool:
        """Return whether the row is in force as the entry left it, and says what it then said."""
        return same(self.now, self.after, CORE)


def same(one: Fact, other: Fact, fields: Sequence[str]) -> bool:
    """Return whether two rows agree in these fields."""
    return all(getattr(one, field) == getattr(other, field) for field in fields)


def written_rows(entry: Entry) -> list[Fact]:
    """Return the rows that an entry wrote, without the archived copies of what they were before."""
    copies = {archived_id(entry.decision.event_key, fact.point_id) for fact in entry.effects}
    return [fact for fact in entry.effects if fact.point_id not in copies]


def parts_of(entry: Entry, held: Held) -> list[Part]:
    """Return the rows that an entry wrote in their three states; rows that are not there any more are left out."""
    by_id = {fact.point_id: fact for fact in entry.effects}
    parts = []
    for after in written_rows(entry):
        now = held.points.get(after.point_id)
        if now is None:
            continue
        copy = by_id.get(archived_id(entry.decision.event_key, after.point_id))
        parts.append(Part(now, after, None if copy is None else as_it_stood(copy), after.point_id in entry.inserts))
    return parts


def as_it_stood(copy: Fact) -> Fact:
    """Return an archived copy with the status that the row had: one with an open end was current, one with an end past."""
    if copy.status is Status.RETRACTED:
        return copy
    status = Status.CURRENT if copy.valid_to == FOREVER else Status.PAST
    return msgspec.structs.replace(copy, status=status, retired_at=FOREVER)


def undone(part: Part, *, standing: bool, wording: bool) -> dict[str, Any]:
    """Return the fields that change where a row is given back what it was before; `standing` and `wording` say what of it."""
    before, after, now = part.before, part.after, part.now
    assert before is not None
    changes: dict[str, Any] = {}
    for fields, wanted in ((STANDING, standing), (WORDING, wording), (("review",), True)):
        if wanted:
            changes |= {f: getattr(before, f) for f in fields if getattr(before, f) != getattr(after, f)}
    if before.status is not Status.RETRACTED:
        changes.pop("retired_at", None)
        if changes.get("status") is not None:
            changes["retired_at"] = FOREVER
    for field in LINKS:
        added = set(getattr(after, field)) - set(getattr(before, field))
        lost = [one for one in getattr(before, field) if one not in getattr(after, field)]
        kept = [one for one in getattr(now, field) if one not in added]
        changes[field] = tuple(dict.fromkeys([*_in_order(lost, kept, getattr(before, field))]))
    if part.untouched:
        changes |= _counts(before, after, now)
    return {field: value for field, value in changes.items() if getattr(now, field) != value}


def _counts(before: Fact, after: Fact, now: Fact) -> dict[str, Any]:
    """Return the counts and instants of statement without what was counted in between."""
    since = set(now.stated_at) - set(after.stated_at)
    instants = sorted({*before.stated_at, *since})
    if len(instants) > STATED_AT_LIMIT:
        instants = [instants[0], *instants[-(STATED_AT_LIMIT - 1) :]]
    counts: dict[str, Any] = {
        "stated_count": max(1, now.stated_count + before.stated_count - after.stated_count),
        "stated_at": tuple(instants),
    }
    if before.last_stated_at != after.last_stated_at:
        counts["last_stated_at"] = max([before.last_stated_at, *since])
    return counts


def _in_order(lost: Sequence[str], kept: Sequence[str], before: Sequence[str]) -> list[str]:
    """Return both together, those that were there before in the order that they had."""
    place = {one: number for number, one in enumerate(before)}
    return sorted([*lost, *kept], key=lambda one: place.get(one, len(place)))


def withdraw(draft: Draft, fact: Fact) -> Fact:
    """Withdraw a row: it keeps its text and its history, and is not believed any more."""
    return draft.revise(fact, status=Status.RETRACTED, retired_at=draft.now)


def statement(fact: Fact) -> Replaced:
    """Return what a fact said, as a message tells it of a statement that is out of force."""
    return Replaced(fact.fact_id, fact.revision, fact.text, fact.valid_from, fact.valid_to)


def beside(fact: Fact, others: Sequence[str]) -> dict[str, Any]:
    """Return the fields that change where a fact is said to stand beside others: their conflict is over."""
    compatible = tuple(dict.fromkeys([*fact.compatible_with, *others]))[-COMPATIBLE_LIMIT:]
    conflicts = tuple(one for one in fact.conflicts_with if one not in others)
    return {"compatible_with": compatible, "conflicts_with": conflicts}


def tell_changes(draft: Draft, held: Held, dropped: Sequence[Replaced] = ()) -> None:
    """Tell ingest of every fact whose text, validity or status changed: stored, withdrawn, or come back in place of what was dropped."""
    for point in list(draft.points.values()):
        if not point.is_head:
            continue
        former = held.points.get(point.point_id)
        if former is None:
            draft.tell(ChangeType.ADDED, point)
        elif same(former, point, ("slot", "attributes", *CORE)):
            continue
        elif point.status is Status.RETRACTED:
            draft.tell(ChangeType.RETRACTED, point, [statement(former)])
        else:
            draft.tell(
                ChangeType.REVERTED, point, [statement(former), *dropped] if former.text != point.text else dropped
            )


def mend_links(draft: Draft, held: Held) -> None:
    """Take back links that do not hold: what is current is neither superseded nor absorbed, and nobody succeeds what has another successor.

    A fact that was cut in two by a late one is current and has a past row besides: that link stands. A link comes back, and stays, only
    if the fact that it leads to is out of force through this one, be it by way of others; where another took its place in between, that
    one has the link. One that would go stays where the fact gave way to this one, and does so still. What was no such link before is left.
    """
    rows = {**held.points, **draft.points}
    cut = {(row.superseded_by, row.fact_id) for row in rows.values() if row.status is Status.PAST}

    def stands(point: Fact, other: str) -> bool:
        fact = rows.get(other)
        if fact is None or (point.fact_id, other) in cut:
            return True
        its = held.points.get(point.point_id)
        gained = its is not None and other not in (*its.supersedes, *its.absorbed)
        former = held.points.get(other)
        if fact.status is Status.CURRENT:
            back = former is not None and former.status is not Status.CURRENT
            return its is not None and not gained and not back
        was_stray = not gained and (former is None or not _is_succeeded(former, point.fact_id, held.points))
        return was_stray or fact.status is Status.ERASED or _is_succeeded(fact, point.fact_id, rows)

    def linked(point: Fact, field: str) -> tuple[str, ...]:
        kept = [one for one in getattr(point, field) if stands(point, one)]
        former: Sequence[str] = getattr(held.points.get(point.point_id, point), field)
        if point.status is Status.CURRENT:
            gone = [one for one in former if one not in kept]
            kept = _in_order([one for one in gone if _gave_way(rows.get(one), point.fact_id)], kept, former)
        return tuple(kept)

    for point in list(draft.points.values()):
        if point.is_head:
            kept = {field: linked(point, field) for field in ("supersedes", "absorbed")}
            draft.points[point.point_id] = msgspec.structs.replace(point, **kept)


def _gave_way(fact: Fact | None, to: str) -> bool:
    """Return whether a fact is out of force in favour of another."""
    return fact is not None and fact.status is Status.PAST and to in (fact.superseded_by, fact.merged_into)


def _is_succeeded(fact: Fact, by: str, rows: Mapping[str, Fact]) -> bool:
    """Return whether a fact was replaced by another, or by what that one replaced in turn; true where it is not known."""
    seen: set[str] = set()
    while fact.superseded_by is not None and fact.superseded_by not in seen:
        if by in (fact.superseded_by, fact.merged_into):
            return True
        seen.add(fact.superseded_by)
        following = rows.get(fact.superseded_by)
        if following is None:
            return True
        fact = following
    return False


def link_again(draft: Draft, stored: Fact, before: Fact, after: Fact) -> None:
    """Give a fact that came back earlier its links to those that it takes the place of only now.

    `before` and `after` are the fact around the decision that is reverted, which took those links away.
    """
    now = draft.points.get(stored.point_id, stored)
    if now.status not in (Status.CURRENT, Status.PAST):
        return
    links = {}
    for field in ("supersedes", "absorbed"):
        kept = getattr(now, field)
        lost = [one for one in getattr(before, field) if one not in getattr(after, field) and one not in kept]
        if again := [one for one in lost if _gave_way(draft.points.get(one), now.fact_id)]:
            links[field] = tuple(_in_order(again, kept, getattr(before, field)))
    if links and now is not stored:
        draft.points[now.point_id] = msgspec.structs.replace(now, **links)
    elif links:
        draft.revise(now, **links)


_BOOKKEEPING: Final = frozenset({"revision", "version", "recorded_at", "event_key", "decision_id"})


def drop_idle(draft: Draft, held: Held) -> None:
    """Take out of a draft every row that would only be written anew as it is."""
    for point_id, point in list(draft.points.items()):
        now = held.points.get(point_id)
        if now is None or not same(now, point, [f for f in Fact.__struct_fields__ if f not in _BOOKKEEPING]):
            continue
        copy = archived_id(draft.event_key, point_id)
        draft.points.pop(point_id)
        draft.points.pop(copy, None)
        if copy in draft.inserts:
            draft.inserts.remove(copy)
