"""Another value behind the same subject and verb: of what has one at a time, of what can have many, or not known."""

from __future__ import annotations

from typing import Final

from factsieve.core.relation import words as w
from factsieve.core.relation.align import (
    Item,
    Segment,
    by_chunk,
    is_amount,
    is_scope,
    is_time,
    is_year,
    items_of,
    kind_of,
)
from factsieve.core.relation.copular import of_group, other_complement
from factsieve.core.relation.exact import more_exact, same_numbers
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.reading import Reading, Relation
from factsieve.core.relation.shape import both_amounts, is_indefinite, is_marked, is_state, subject_noun
from factsieve.core.relation.tokens import Token

BOTH_ADD: Final = "each says something that the other does not"
UNKNOWN_VALUE: Final = "another value; it is not known whether both can hold"


_PLACES: Final = w.PLACE_PREPOSITIONS | {"to", "with"}
_BOUNDS: Final = w.words("start begin end expire open close finish")
_EVENTS: Final = w.words("merge close send visit attend")
_ONE_OBJECT: Final = w.words("cost weigh measure total equal average employ seat prefer favour favor rank number run")


_GENERIC: Final = w.words("cost take last weigh require need measure hold seat contain")


def other_value(told: Clause, known: Clause, parts: tuple[Segment, ...]) -> Reading:
    """Return a reading where only what follows the verb differs."""
    near = [p for p in parts if not all(i.after_break for i in p.items)]
    if not near:
        return Reading(Relation.CONFLICTS, 0.4, "differs in what is added to the statement")
    if not (is_state(told) and is_state(known)):
        return _past_value(told, known, near)
    if (is_indefinite(known.head) or is_indefinite(told.head)) and not (told.verb in _GENERIC and not told.progressive):
        return Reading(Relation.BOTH_STAND, 0.7, "of no particular one")
    replaced = [piece for p in near if p.replaced for piece in by_chunk(p)]
    if not replaced:
        return Reading(Relation.CONFLICTS, 0.4, BOTH_ADD)
    if same_numbers(told, known) and any(both_amounts(p) for p in replaced):
        return Reading(Relation.BOTH_STAND, 0.5, "the same numbers in other words")
    if all(both_amounts(p) and more_exact(known, p) for p in replaced) and not any(
        p.stored for p in near if not p.replaced
    ):
        return Reading(Relation.REFINES, 0.7, "a more exact number")
    verdicts = [_value(told, known, p, parts) for p in replaced]
    if "both" in verdicts:
        sureness = 0.9 if is_marked(near) else 0.7
        return Reading(Relation.BOTH_STAND, sureness, "another value of what can have many, or of another occasion")
    if all(v == "one" for v in verdicts):
        loose = [p for p in near if not p.replaced]
        if any(is_scope(p.items) for p in loose) or sum(len(p.items) for p in loose) > 2:
            return Reading(Relation.CONFLICTS, 0.6, "another value, with a condition")
        if any(p.stored for p in loose):
            return Reading(Relation.CONFLICTS, 0.6, "another value, and it does not speak to all of what is stored")
        return Reading(Relation.REPLACES, 0.9, "another value of what has one at a time")
    return Reading(Relation.CONFLICTS, 0.55, UNKNOWN_VALUE)


def _past_value(told: Clause, known: Clause, near: list[Segment]) -> Reading:
    """Return a reading of two past statements: two events stand, the last one of a kind is one."""
    head = [t.low for t in known.head]
    picked = any(low in ("last", "latest", "recent") for low in head)
    if (
        picked
        and told.copular
        and not any(i.region == "h" for p in near for i in p.items)
        and not any(low in w.LEADING for low in head[:1])
    ):
        return Reading(Relation.REPLACES, 0.85, "another last one of its kind")
    if told.verb == "be" and not told.passive:
        return Reading(Relation.BOTH_STAND, 0.6, "how things were at one time and at another")
    return Reading(Relation.BOTH_STAND, 0.9 if is_marked(near) else 0.65, "two events")


def _value(told: Clause, known: Clause, part: Segment, parts: tuple[Segment, ...]) -> str:
    """Return whether a differing stretch after the verb is the value of one-at-a-time: one, both or unknown."""
    first, other = part.stored[0], part.candidate[0]
    places = {first.preposition, other.preposition} <= w.PLACE_PREPOSITIONS - w.VAGUE_PLACES | {"beside"}
    if first.chunk != other.chunk or (
        first.preposition != other.preposition and not places and not is_time(part.items)
    ):
        return "both" if is_scope(part.items) else "unknown"
    if _listed(told, other) or _listed(known, first):
        return "unknown"
    if told.copular:
        return other_complement(told, known, part)
    if _other_unit(part):
        return "one"
    measured = _measured(told, known, part, parts)
    if measured is not None:
        return measured
    return "both" if is_scope(part.items) else _named(told, known, part)


def _measured(told: Clause, known: Clause, part: Segment, parts: tuple[Segment, ...]) -> str | None:
    """Return the verdict on a differing amount or time, None where it is neither."""
    verb, chunk = told.verb or "", part.stored[0].chunk
    amount = is_amount(part.stored) and is_amount(part.candidate)
    if verb == "have":
        return "one" if amount and chunk == 0 else _had(told, part)
    if verb in w.PREFERENCE_VERBS and chunk == 0:
        return "one"
    if is_time(part.stored) and is_time(part.candidate) and (chunk > 0 or verb in w.TIME_VERBS | {"go"}):
        return _time(told, known, part, parts)
    if is_year(part.items) and chunk > 0:
        return "one" if verb in _BOUNDS else "both"
    if amount:
        return "both" if verb in _EVENTS else "one"
    return None


def _named(told: Clause, known: Clause, part: Segment) -> str:
    """Return the verdict on a differing name, place or thing."""
    first, verb = part.stored[0], told.verb or ""
    if _one_of_several(known.head):
        return "unknown"
    if told.passive and first.preposition == "by":
        return "one" if verb in w.AGENT_VERBS | w.PASSIVE_ONE and first.chunk == 1 else "unknown"
    if verb in w.PLACE_VERBS - w.MANY_VERBS and first.chunk == 1 and first.preposition in _PLACES:
        kinds = {kind_of(known, part.stored), kind_of(told, part.candidate)}
        if len(kinds) > 1 and not (kinds == {"name", "determined"} and first.preposition in ("to", "with")):
            return "unknown"
        if of_group(known, first.chunk):
            return "both"
        return "one" if first.preposition != "with" or _lies_with(verb, known) else "unknown"
    if told.passive and verb in w.PASSIVE_ONE and first.chunk <= 1:
        loose = first.preposition in ("for", "with", "of", "about") and verb not in ("schedule", "plan", "set")
        return "unknown" if loose else "one"
    if verb in _ONE_OBJECT and first.chunk == 0:
        return "one" if verb != "run" or any(i.token.number for i in part.items) else "unknown"
    if verb in ("show", "display", "read") and first.chunk == 0 and _shows_one(known.head):
        return "one"
    if verb in w.MANY_VERBS:
        return "both"
    return "one" if _value_naming(part) and verb in w.ONE_VERBS else "unknown"


def _one_of_several(head: tuple[Token, ...]) -> bool:
    """Return whether a possessed subject is of a kind that one can have several of: "Ben's sister", "my project"."""
    noun = subject_noun(head)
    owned = any(t.low in ("'s", "my", "our", "your", "his", "her", "their") for t in head)
    return owned and noun is not None and noun.key in w.MANY_NOUNS


def _lies_with(verb: str, known: Clause) -> bool:
    """Return whether "with" names who has it: "banks with", "the budget sits with"."""
    return verb in ("bank", "register") or (verb in ("sit", "lie", "rest") and _thing(known.head))


def _other_unit(part: Segment) -> bool:
    """Return whether only the unit of time behind the same number differs: "45 seconds" / "45 minutes"."""
    units = w.words("second minute hour day week month year")
    return all(i.key in units and i.before[:1].isdigit() for i in part.items) and len(part.items) == 2


def _shows_one(head: tuple[Token, ...]) -> bool:
    """Return whether a subject is a surface that shows one thing at a time."""
    last = subject_noun(head)
    numbered = len(head) > 1 and head[0].low in w.SHOWING_NOUNS and head[1].number
    return numbered or (
        last is not None and last.key in w.SHOWING_NOUNS and head[0].low in ("the", "our", "my", "this")
    )


def _thing(head: tuple[Token, ...]) -> bool:
    """Return whether a subject is a thing and not a person: more than names and pronouns stands in it."""
    return any(not t.name or t.low in w.ARTICLES for t in head if t.low not in w.PRONOUNS and t.low != "'s")


def _value_naming(part: Segment) -> bool:
    return all(i.before in w.VALUE_NAMES and i.token.number for i in part.items)


def _listed(clause: Clause, item: Item) -> bool:
    """Return whether a word stands in a list: "peanuts and shellfish", where another value may stand beside the first."""
    index = item.position
    around = clause.tokens[max(0, index - 2) : index + 3]
    return (
        any(t.low in ("and", "or", "&") for t in around[:2])
        and index > 0
        and clause.tokens[index - 1].low in ("and", "or", "&", "both", "either")
    )


def _time(told: Clause, known: Clause, part: Segment, parts: tuple[Segment, ...]) -> str:
    """Return whether a differing time is the value of a schedule, or the occasion that the statement is about."""
    verb = told.verb or ""
    if verb == "go" and known.tail[0].low in ("out", "live", "ahead", "up", "off"):
        return "one"
    if verb not in w.TIME_VERBS and not (told.passive and verb in w.ONE_VERBS) and not told.copular:
        return "both" if not any(i.token.number for i in part.items) else "unknown"
    if any(i.token.number for i in part.items):
        return "one"
    if not _thing(known.head) and verb not in ("meet", "open", "close", "start", "begin", "end"):
        return "unknown"  # a person does on other days what they do on one
    changed = {i.position for p in parts for i in p.stored}
    chunks = {i.chunk for i in part.stored}
    fixed = [
        i
        for i in items_of(known)
        if i.region == "t" and i.position not in changed and i.chunk not in chunks and is_time((i,))
    ]
    return "both" if fixed or is_scope(part.items) else "one"


def _had(told: Clause, part: Segment) -> str:
    """Return whether what a subject has is one: "has its head office in", "has a limit of"."""
    if (
        part.stored[0].chunk >= 1
        and told.tail
        and any(t.low in ("its", "his", "her", "their", "our", "my") for t in told.tail[:2])
        and part.stored[0].preposition in w.PLACE_PREPOSITIONS
    ):
        return "one"
    return "unknown" if part.stored[0].chunk else "both"
