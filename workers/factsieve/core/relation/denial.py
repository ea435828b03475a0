"""Whether one statement denies the other: by negation, by an opposite word, by a turned liking."""

from __future__ import annotations

from typing import Final

from factsieve.core.relation import words as w
from factsieve.core.relation.align import Item, Segment, is_scope
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.polarity import liking, opposite, prefixed
from factsieve.core.relation.reading import Reading, Relation
from factsieve.core.relation.shape import both_amounts, is_indefinite, is_state


def denial(
    told: Clause, known: Clause, ours: tuple[Item, ...], theirs: tuple[Item, ...], parts: tuple[Segment, ...]
) -> Reading | None:
    """Return a reading where one statement denies the other: negation, an opposite verb or predicate, a turned liking."""
    likes, liked = liking(told), liking(known)
    if likes and liked:
        return _turned_liking(likes, liked, parts)
    denied = told.negated != known.negated
    turned = [p for p in parts if _opposite_predicate(told, known, p)]
    rest = [p for p in parts if p not in turned and not _without_weight(p)]
    before = [p for p in rest if not all(i.after_break for i in p.items) and not _new_amount(p)]
    if not denied and not turned:
        return None
    if len(turned) > 1:
        return None
    if denied and sorted(t.low for t in told.tokens) == sorted(t.low for t in known.tokens):
        return Reading(Relation.BOTH_STAND, 0.6, "the denial is of another clause")
    if turned and not denied and _two_moments(told, known, turned[0]):
        return Reading(Relation.BOTH_STAND, 0.85, "a beginning and an end, or both sides of an exchange")
    if denied and turned:
        return (
            Reading(Relation.BOTH_STAND, 0.6, "an opposite word that is denied says much the same")
            if not before
            else None
        )
    if denied and any(
        prefixed(a.token.low, b.token.low) or prefixed(b.token.low, a.token.low)
        for p in parts
        for a in p.stored
        for b in p.candidate
    ):
        return Reading(Relation.BOTH_STAND, 0.5, "both deny it, each in its way")
    if any(i.region == "h" for p in before for i in p.items):
        return None
    if not (is_state(told) and is_state(known)):
        return Reading(Relation.CONFLICTS, 0.6, "denies what is stored about an event") if not before else None
    if is_indefinite(known.head) or is_indefinite(told.head):
        return Reading(Relation.CONFLICTS, 0.5, "denies it of no particular one") if not before else None
    reason = "denies what is stored" if denied else "says the opposite of what is stored"
    if not before:
        return Reading(Relation.REPLACES, 0.92, reason)
    if all(not p.candidate for p in before) and _covers(ours, theirs) >= 0.6:
        return Reading(Relation.CONFLICTS, 0.6, reason + ", but not of all of it")
    if any(p.stored and p.candidate for p in before) or any(is_scope(p.items) for p in before):
        return Reading(Relation.BOTH_STAND, 0.6, "the opposite, of another thing or occasion")
    return Reading(Relation.CONFLICTS, 0.6, reason + ", with a condition")


def _two_moments(told: Clause, known: Clause, part: Segment) -> bool:
    """Return whether opposite verbs tell of two moments of one thing (opens at nine, closes at nine), or of give and take.

    A beginning and an end stand beside each other where a time or place is told with them; a bare `runs`, `stops` is a state.
    """
    if any(clause.passive or clause.copular for clause in (told, known)):
        return False
    verbs = {told.verb or "", known.verb or ""}
    if any(i.region != "v" for i in part.items):
        return False
    if verbs <= _EXCHANGES:
        return True
    return verbs <= _MOMENTS and all(any(t.low in w.PREPOSITIONS for t in clause.tail) for clause in (told, known))


_MOMENTS: Final = w.words(
    "start begin open end finish close shut stop conclude arrive depart leave enter exit come go land launch rise fall set board"
)
_EXCHANGES: Final = w.words("buy sell lend borrow give take send receive import export upload download load unload")


def _new_amount(part: Segment) -> bool:
    """Return whether a difference is only a new amount of the same statement, behind its verb."""
    return both_amounts(part) and all(i.region == "t" for i in part.items)


def _covers(ours: tuple[Item, ...], theirs: tuple[Item, ...]) -> float:
    mine = {i.key for i in ours}
    return sum(i.key in mine for i in theirs) / max(1, len(theirs))


def _without_weight(part: Segment) -> bool:
    """Return whether a difference carries no content of its own: "any", "again", an auxiliary, the word of liking itself."""
    return all(
        i.token.low
        in ("any", "some", "again", "all", "longer", "more", "anymore", "both", "even", "either", "ever", "yet", "much")
        or (i.region == "v" and i.key in ("do", "be", "have", "can"))
        for i in part.items
    )


def _opposite_predicate(told: Clause, known: Clause, part: Segment) -> bool:
    """Return whether a difference is an opposite verb, or opposite words right after a form of be."""
    if len(part.stored) != 1 or len(part.candidate) != 1:
        return False
    one, other = part.stored[0], part.candidate[0]
    if not opposite(one.token.low, other.token.low):
        return False
    if one.region == "v" and other.region == "v":
        return True
    for item, clause in ((one, known), (other, told)):
        if item.region == "v":
            if not clause.passive:
                return False
        elif (
            item.region != "t"
            or not (clause.copular or clause.passive)
            or item.chunk > 0
            or _first_of_tail(clause, item) is False
        ):
            return False
    return True


def _first_of_tail(clause: Clause, item: Item) -> bool:
    start = len(clause.tokens) - len(clause.tail)
    between = clause.tokens[start : item.position]
    return all(
        t.low in w.LIGHT or t.low.endswith("ly") or t.low in ("again", "not", "switched", "turned") for t in between
    )


def _turned_liking(likes: int, liked: int, parts: tuple[Segment, ...]) -> Reading | None:
    rest = [
        p
        for p in parts
        if not all(i.region == "v" or i.key in ("like",) for i in p.items) and not all(i.after_break for i in p.items)
    ]
    rest = [p for p in rest if not all(i.token.low in ("stand", "really", "very", "much") for i in p.items)]
    if any(p.stored for p in rest):
        return Reading(Relation.BOTH_STAND, 0.85, "likes and dislikes of other things stand beside each other")
    if likes == liked:
        return None
    if rest:
        return Reading(Relation.CONFLICTS, 0.6, "a turned liking, with a condition")
    return Reading(Relation.REPLACES, 0.93, "a liking that has turned")
