"""Another value behind a form of be: an attribute, a status, a place, a time."""

from __future__ import annotations

from typing import Final

from factsieve.core.relation import words as w
from factsieve.core.relation.align import Item, Segment, is_amount, is_scope, is_time, items_of, kind_of
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.shape import subject_noun

_TIME_ADJECTIVES: Final = w.words("due open closed valid available scheduled planned set until booked reserved back")


def other_complement(told: Clause, known: Clause, part: Segment) -> str:
    """Return whether what differs after a form of be is one at a time: one, both or unknown."""
    first = part.stored[0]
    amount = is_amount(part.stored) and is_amount(part.candidate)
    attribute = _attribute(known)
    if attribute == "both" and not amount:
        return "both"
    if known.head and known.head[-1].low == "there":
        return "one" if amount and first.chunk == 0 else "unknown"
    if first.chunk == 0:
        return _complement(known, part, amount, attribute)
    timed = is_time(part.stored) and is_time(part.candidate)
    if _complement_words(known):
        return _behind_complement(known, part, amount or timed, attribute)
    if timed or (amount and first.chunk > 1):
        return "one" if first.chunk == 1 or any(i.token.number for i in part.items) else "both"
    if first.chunk > 1:
        return "both" if is_scope(part.items) else "unknown"
    if of_group(known, first.chunk):
        return "both"
    if kind_of(known, part.stored) != kind_of(told, part.candidate):
        return "unknown"
    return "one" if first.preposition in w.PLACE_PREPOSITIONS - w.VAGUE_PLACES else "unknown"


def of_group(clause: Clause, chunk: int) -> bool:
    """Return whether a phrase behind the verb names a group of people: one can belong to several."""
    return any(
        i.key in w.GROUP_NOUNS for i in items_of(clause) if i.region == "t" and i.chunk == chunk and not i.after_break
    )


def _complement(known: Clause, part: Segment, amount: bool, attribute: str) -> str:
    """Return the verdict on "is X" / "is Y"."""
    if not _starts_complement(known, part.stored[0]):
        if amount and attribute != "both":
            return "one"
        return "both" if is_scope(part.items) else "unknown"
    if attribute == "both":
        return "both"
    if amount or attribute == "one" or (is_time(part.stored) and is_time(part.candidate)):
        return "one"
    one, other = {i.token.low for i in part.stored}, {i.token.low for i in part.candidate}
    if w.same_scale(one, other) or _identifies(known, part):
        return "one"
    return "unknown"


def _behind_complement(known: Clause, part: Segment, measured: bool, attribute: str) -> str:
    """Return the verdict on "is due on X" / "is due on Y": mostly another object or occasion of the same complement."""
    lead = known.tail[0].low
    if lead in _TIME_ADJECTIVES and (measured or part.stored[0].preposition in ("until", "till")):
        return (
            "one"
            if lead == "due"
            or part.stored[0].preposition in ("until", "till")
            or any(i.token.number for i in part.items)
            else "unknown"
        )
    return "one" if measured and attribute == "one" else "both"


def _identifies(known: Clause, part: Segment) -> bool:
    """Return whether a form of be names what a definite subject is: "My usual order is lentil soup".

    A definite singular speaks of the only one of its kind. A lone lower-case word may be an adjective, which says nothing about
    another one, and kinds of which one has several stay out.
    """
    head = known.head
    if not head:
        return False
    definite = head[0].low in ("the", "my", "our", "your", "his", "her", "their", "its") or any(
        t.low == "'s" for t in head
    )
    last = subject_noun(head)
    if not definite or last is None or last.name or last.key in w.MANY_NOUNS or last.key != last.low:
        return False
    articles = [t.low for t in known.tail[:1]]
    if articles and articles[0] in ("a", "an"):
        return False
    sides = (part.stored, part.candidate)
    return all(len(side) > 1 or side[0].token.name for side in sides)


def _complement_words(clause: Clause) -> bool:
    """Return whether something stands between the form of be and the first preposition."""
    for token in clause.tail:
        if token.low in w.PREPOSITIONS:
            return False
        if token.low not in w.LIGHT:
            return True
    return False


def _starts_complement(clause: Clause, item: Item) -> bool:
    start = len(clause.tokens) - len(clause.tail)
    return all(
        t.low in w.LIGHT or t.low in ("about", "around", "only", "just") for t in clause.tokens[start : item.position]
    )


def _attribute(clause: Clause) -> str:
    """Return whether the subject of a form of be is an attribute with one value: "the port of X", "my locker number"."""
    if clause.head and clause.head[0].low in w.LEADING:
        return "unknown"
    head = subject_noun(clause.head)
    if head is None:
        return "unknown"
    lows = [t.low for t in clause.head]
    if lows[0] in ("a", "an", "one", "another", "some", "among"):
        return "both"
    if any(low in w.SUPERLATIVES for low in lows):
        return "one"
    if head.key in w.ONE_NOUNS and not (head.low.endswith("s") and head.key != head.low):
        return "one"
    if head.key in w.MANY_NOUNS or (head.low.endswith("s") and not head.name and head.key != head.low):
        return "both"
    return "unknown"
