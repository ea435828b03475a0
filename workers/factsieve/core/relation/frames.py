"""What an English statement is to another one of the same frame: same subject, same verb, another value or not."""

from __future__ import annotations

from factsieve.core.relation import words as w
from factsieve.core.relation.align import Item, Segment, is_time, items_of, segments
from factsieve.core.relation.denial import denial
from factsieve.core.relation.order import swapped
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.reading import Reading, Relation
from factsieve.core.relation.shape import (
    both_amounts,
    is_definite,
    is_indefinite,
    is_marked,
    is_state,
    names_the_one,
    tense_of,
)
from factsieve.core.relation.value import other_value

OTHER_AGENT = "another one in charge of the same thing"
"""Said where active and passive meet: no comparison of loose words can tell it."""


def relate_frames(told: Clause, known: Clause) -> Reading | None:
    """Return what a candidate (`told`) is to a stored statement (`known`), None where their forms tell nothing."""
    if told.verb is None or known.verb is None:
        return None
    ours, theirs = items_of(told), items_of(known)
    swap = swapped(told, known, ours, theirs)
    if swap is not None:
        return swap
    if _leading_relations(told) != _leading_relations(known):
        return Reading(Relation.BOTH_STAND, 0.7, "of another group or occasion")
    parts = segments(theirs, ours)
    flip = denial(told, known, ours, theirs, parts)
    if flip is not None:
        return flip
    if told.negated != known.negated or not parts:
        return None
    if told.verb != known.verb or told.passive != known.passive:
        return _voices(told, known)
    if tense_of(told) != tense_of(known) or any(i.region == "v" for p in parts for i in p.items):
        return None
    heads = [p for p in parts if any(i.region == "h" for i in p.items)]
    if heads:
        return _other_head(told, known, parts, heads)
    if all(not p.stored for p in parts):
        return Reading(Relation.REFINES, 0.75, "says the same and adds to it")
    if all(not p.candidate for p in parts):
        return Reading(Relation.COVERED, 0.75, "says a part of what is stored")
    return other_value(told, known, parts)


def _leading_relations(clause: Clause) -> list[str]:
    """Return the prepositions before the verb where a clause starts with one: "without a ticket, ..." """
    if not clause.head or clause.head[0].low not in w.LEADING:
        return []
    return [t.low for t in clause.head if t.low in w.PREPOSITIONS]


def _other_head(told: Clause, known: Clause, parts: tuple[Segment, ...], heads: list[Segment]) -> Reading:
    """Return a reading where the words before the verb differ: mostly another subject, unless the rest names the only one."""
    tails = [p for p in parts if p not in heads and not all(i.after_break for i in p.items)]
    both = Reading(Relation.BOTH_STAND, 0.9 if is_marked(heads) else 0.65, "of another subject, time or occasion")
    if any(any(i.region != "h" for i in p.items) for p in heads) or (
        known.head and known.head[0].low in ("among", "one")
    ):
        return both
    if not (is_state(told) and is_state(known)):
        return both
    if any(_is_leading(known, i) for p in heads for i in p.stored) or any(
        _is_leading(told, i) for p in heads for i in p.candidate
    ):
        timed = all(is_time(p.items) and any(i.token.number for i in p.items) for p in heads)
        if (
            timed
            and told.verb in w.TIME_VERBS | {"be", "make"}
            and told.head
            and told.head[0].low in ("at", "on")
            and not any(is_time(p.items) for p in tails)
            and not _measures(told)
        ):
            return Reading(Relation.REPLACES, 0.85, "another time of the same appointment")
        return both
    if len(heads) != 1 or not heads[0].replaced or not all(both_amounts(p) for p in tails):
        return both
    if is_indefinite(known.head) or is_indefinite(told.head):
        return both
    whole = _whole_subject(known, heads[0].stored) and _whole_subject(told, heads[0].candidate)
    if whole and told.copular and names_the_one(told.tail):
        return Reading(Relation.REPLACES, 0.87, "another one holds what only one can be")
    if told.verb in w.AGENT_VERBS and not told.passive and is_definite(told.tail) and not tails:
        return Reading(Relation.REPLACES, 0.82, "another one in charge of the same thing")
    return both


def _measures(clause: Clause) -> bool:
    return any(t.number for t in clause.tail)


def _is_leading(clause: Clause, item: Item) -> bool:
    return bool(clause.head) and clause.head[0].low in w.LEADING


def _whole_subject(clause: Clause, changed: tuple[Item, ...]) -> bool:
    """Return whether all of the subject differs or what differs is its name or number: "Press 9" / "Press 14"."""
    content = [t for t in clause.head if t.low not in w.LIGHT and t.low not in w.TITLES]
    positions = {i.token.surface for i in changed}
    same = [t for t in content if t.surface not in positions]
    if not same:
        return True
    return all(i.token.number or i.token.name for i in changed) and len(same) == 1


def _voices(told: Clause, known: Clause) -> Reading | None:
    """Return a reading where one statement is active and the other passive: "is owned by team K", "team O owns"."""
    if told.verb != known.verb or told.passive == known.passive or not (is_state(told) and is_state(known)):
        return None
    passive, active = (told, known) if told.passive else (known, told)
    by = next((i for i, t in enumerate(passive.tail) if t.low == "by"), None)
    if by is None:
        return None
    agent = {t.key for t in passive.tail[by + 1 :] if t.low not in w.LIGHT}
    patient = {t.key for t in passive.head + passive.tail[:by] if t.low not in w.LIGHT and t.low not in w.PREPOSITIONS}
    doer = {t.key for t in active.head if t.low not in w.LIGHT}
    done = {t.key for t in active.tail if t.low not in w.LIGHT and t.low not in w.PREPOSITIONS}
    if patient != done:
        return Reading(Relation.BOTH_STAND, 0.6, "of another thing")
    if agent == doer:
        return None
    if told.verb in w.AGENT_VERBS or (told.verb in ("hold", "host") and "most" in patient):
        return Reading(Relation.REPLACES, 0.85, OTHER_AGENT)
    return Reading(Relation.CONFLICTS, 0.5, "done by another one")
