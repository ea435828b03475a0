"""What an English statement is to another one of the same frame: same subject, same verb, another value or not."""

from __future__ import annotations

from typing import Final

from factsieve.core.relation import words as w
from factsieve.core.relation.align import (
    Item,
    Segment,
    is_amount,
    is_naming,
    is_scope,
    is_time,
    is_year,
    items_of,
    number_key,
    segments,
)
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.tokens import Token
from factsieve.core.relation.polarity import liking, opposite, prefixed
from factsieve.core.relation.reading import Reading, Relation

_PREFERENCE_TURNED: Final = "the preference is the other way round"
UNKNOWN_VALUE: Final = "another value; it is not known whether both can hold"
_RELATION_TURNED: Final = "the same relation the other way round"
ORDER_REASONS: Final = frozenset((_PREFERENCE_TURNED, _RELATION_TURNED))
_GROUPS: Final = w.words(
    "committee team board choir club list band council panel group staff crew cast jury union association league squad guild society network class community commission delegation trade press"
)
_PLACE_PREPOSITIONS: Final = w.words(
    "in at on under underneath beneath behind beside near inside over above below between within outside off next to from by against along"
)
_TIME_ADJECTIVES: Final = w.words("due open closed valid available scheduled planned set until booked reserved back")
_ONE_OBJECT: Final = w.words("cost weigh measure total equal average employ seat prefer favour favor rank number run")
_ROUGH: Final = w.words("about around roughly nearly almost approximately circa some under over approx")
_GENERIC: Final = w.words("cost take last weigh require need measure hold seat contain")
_UNIQUE: Final = w.SUPERLATIVES | w.words("where when who owner leader head captain president")
_NOT_ROLES: Final = w.words(
    "part member one proof kind type sort piece evidence example friend capable aware fond worthy sign made full full-time afraid proud home native graduate"
)


def _reading(relation: Relation, sureness: float, reason: str) -> Reading:
    return Reading(relation, sureness, reason)


def relate_frames(told: Clause, known: Clause) -> Reading | None:
    """Return what a candidate (`told`) is to a stored statement (`known`), None where their forms tell nothing."""
    if told.verb is None or known.verb is None:
        return None
    ours, theirs = items_of(told), items_of(known)
    swap = _swapped(told, known, ours, theirs)
    if swap is not None:
        return swap
    parts = segments(theirs, ours)
    flip = _flip(told, known, ours, theirs, parts)
    if flip is not None:
        return flip
    if told.negated != known.negated or not parts:
        return None
    if told.verb != known.verb or told.passive != known.passive:
        return _voices(told, known)
    if _tense(told) != _tense(known) or any(i.region == "v" for p in parts for i in p.items):
        return None
    heads = [p for p in parts if any(i.region == "h" for i in p.items)]
    if heads:
        return _other_head(told, known, parts, heads)
    if all(not p.stored for p in parts):
        return _reading(Relation.REFINES, 0.75, "says the same and adds to it")
    if all(not p.candidate for p in parts):
        return _reading(Relation.COVERED, 0.75, "says a part of what is stored")
    return _other_tail(told, known, parts)


def _tense(clause: Clause) -> str:
    return "present" if clause.tense in ("present", "modal", "future") else clause.tense


def is_state(clause: Clause) -> bool:
    """Return whether a clause tells how things stand and not what happened."""
    if clause.tense in ("present", "modal", "future"):
        return not (clause.progressive and clause.verb not in ("run", "work", "wait", "live", "use", "listen", "stay"))
    return clause.tense == "perfect" and clause.passive


def _indefinite(head: tuple[Token, ...]) -> bool:
    """Return whether the subject is no particular one: "a man", "two dogs", "some people"."""
    if not head:
        return False
    first = head[0]
    return (
        first.low in w.INDEFINITE and not (len(head) > 1 and head[1].low in ("of", "'s")) and first.low not in ("one",)
    ) or (first.number and len(head) > 1 and not first.name and not head[1].name)


# --- denial -----------------------------------------------------------------------------------------------------------


def _flip(
    told: Clause, known: Clause, ours: tuple[Item, ...], theirs: tuple[Item, ...], parts: tuple[Segment, ...]
) -> Reading | None:
    """Return a reading where one statement denies the other: negation, an opposite verb or predicate, a turned liking."""
    likes, liked = liking(told), liking(known)
    if likes and liked:
        return _turned_liking(likes, liked, parts)
    denied = told.negated != known.negated
    turned = [p for p in parts if _opposite_predicate(told, known, p)]
    rest = [p for p in parts if p not in turned and not _without_weight(p)]
    before = [p for p in rest if not all(i.after_break for i in p.items) and not _amounts(p)]
    if not denied and not turned:
        return None
    if len(turned) > 1:
        return None
    if denied and turned:
        return (
            _reading(Relation.BOTH_STAND, 0.6, "an opposite word that is denied says much the same")
            if not before
            else None
        )
    if denied and any(
        prefixed(a.token.low, b.token.low) or prefixed(b.token.low, a.token.low)
        for p in parts
        for a in p.stored
        for b in p.candidate
    ):
        return _reading(Relation.BOTH_STAND, 0.5, "both deny it, each in its way")
    if any(i.region == "h" for p in before for i in p.items):
        return None
    if _relations(told.head) != _relations(known.head):
        return _reading(Relation.BOTH_STAND, 0.6, "the opposite, of another group or occasion")
    if not (is_state(told) and is_state(known)):
        return _reading(Relation.CONFLICTS, 0.6, "denies what is stored about an event") if not before else None
    if _indefinite(known.head) or _indefinite(told.head):
        return _reading(Relation.CONFLICTS, 0.5, "denies it of no particular one") if not before else None
    reason = "denies what is stored" if denied else "says the opposite of what is stored"
    if not before:
        return _reading(Relation.REPLACES, 0.92, reason)
    if all(not p.candidate for p in before) and _covers(ours, theirs) >= 0.6:
        return _reading(Relation.CONFLICTS, 0.6, reason + ", but not of all of it")
    if any(p.stored and p.candidate for p in before) or any(is_scope(p.items) for p in before):
        return _reading(Relation.BOTH_STAND, 0.6, "the opposite, of another thing or occasion")
    return _reading(Relation.CONFLICTS, 0.6, reason + ", with a condition")


def _relations(head: tuple[Token, ...]) -> set[str]:
    return {t.low for t in head if t.low in w.PREPOSITIONS} if head and head[0].low in w.LEADING else set()


def _covers(ours: tuple[Item, ...], theirs: tuple[Item, ...]) -> float:
    mine = {i.key for i in ours}
    return sum(i.key in mine for i in theirs) / max(1, len(theirs))


def _amounts(part: Segment) -> bool:
    return part.replaced and is_amount(part.stored) and is_amount(part.candidate) and not is_year(part.items)


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
        return _reading(Relation.BOTH_STAND, 0.85, "likes and dislikes of other things stand beside each other")
    if likes == liked:
        return None
    if rest:
        return _reading(Relation.CONFLICTS, 0.6, "a turned liking, with a condition")
    return _reading(Relation.REPLACES, 0.93, "a liking that has turned")


# --- the same words in another order ----------------------------------------------------------------------------------


def _swapped(told: Clause, known: Clause, ours: tuple[Item, ...], theirs: tuple[Item, ...]) -> Reading | None:
    """Return a reading where the same words stand in another order: who is more than whom, who reports to whom."""
    mine = [i.key for i in ours if not i.after_break]
    other = [i.key for i in theirs if not i.after_break]
    if mine == other or sorted(mine) != sorted(other) or told.negated != known.negated:
        return None
    if told.passive != known.passive or _tense(told) != _tense(known):
        return None
    if _bare(told.head) == _bare(known.head):
        chosen = _turned_around(told.tokens, known.tokens) and is_state(told)
        return _reading(Relation.REPLACES, 0.9, _PREFERENCE_TURNED) if chosen else None
    if told.verb != known.verb or _indefinite(told.head):
        return None
    if not is_state(told) or _bare(told.head) <= _bare(known.head) or _bare(known.head) <= _bare(told.head):
        return _reading(Relation.BOTH_STAND, 0.7, "the same words of another doer")
    comparing = _compares(told.tail) and _compares(known.tail)
    if (
        comparing
        or told.verb == "report"
        or (told.copular and _names_the_one(told.tail) and _names_the_one(known.tail))
    ):
        return _reading(Relation.REPLACES, 0.88, _RELATION_TURNED)
    return _reading(Relation.BOTH_STAND, 0.6, "the same relation the other way round can hold too")


def _bare(head: tuple[Token, ...]) -> set[str]:
    return {t.key for t in head if t.low not in w.LIGHT}


def _compares(tail: tuple[Token, ...]) -> bool:
    return any(t.low in ("than", "ahead", "above", "below", "behind") for t in tail)


def _turned_around(mine: tuple[Token, ...], theirs: tuple[Token, ...]) -> bool:
    """Return whether what stood before "over", "than" or "instead of" stands after it now, and the other way round."""

    def halves(tokens: tuple[Token, ...]) -> tuple[set[str], set[str]] | None:
        for index, token in enumerate(tokens):
            if token.low in ("over", "than") or (token.low == "of" and tokens[index - 1].low == "instead"):
                end = next((i for i in range(index, len(tokens)) if tokens[i].comma), len(tokens) - 1)
                left = {t.key for t in tokens[:index] if t.low not in w.LIGHT}
                return left, {t.key for t in tokens[index + 1 : end + 1] if t.low not in w.LIGHT}
        return None

    one, other = halves(mine), halves(theirs)
    return (
        one is not None
        and other is not None
        and bool(one[1] & (other[0] - one[0]))
        and bool(other[1] & (one[0] - other[0]))
    )


# --- another subject --------------------------------------------------------------------------------------------------


def _other_head(told: Clause, known: Clause, parts: tuple[Segment, ...], heads: list[Segment]) -> Reading:
    """Return a reading where the words before the verb differ: mostly another subject, unless the rest names the only one."""
    tails = [p for p in parts if p not in heads and not all(i.after_break for i in p.items)]
    both = _reading(Relation.BOTH_STAND, 0.85, "of another subject, time or occasion")
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
            return _reading(Relation.REPLACES, 0.85, "another time of the same appointment")
        return both
    if len(heads) != 1 or not heads[0].replaced or not all(_amounts(p) for p in tails):
        return both
    if _indefinite(known.head) or _indefinite(told.head):
        return both
    if not (_whole_subject(known, heads[0].stored) and _whole_subject(told, heads[0].candidate)):
        return both
    if told.copular and _names_the_one(told.tail):
        return _reading(Relation.REPLACES, 0.87, "another one holds what only one can be")
    if told.verb in w.AGENT_VERBS and not told.passive and _definite(told.tail):
        return _reading(Relation.REPLACES, 0.82, "another one in charge of the same thing")
    return both


def _measures(clause: Clause) -> bool:
    return any(t.number for t in clause.tail)


def _is_leading(clause: Clause, item: Item) -> bool:
    return bool(clause.head) and clause.head[0].low in w.LEADING


def _whole_subject(clause: Clause, changed: tuple[Item, ...]) -> bool:
    """Return whether all of the subject differs or what differs is its name or number: "Press 9" / "Press 14"."""
    content = [t for t in clause.head if t.low not in w.LIGHT]
    positions = {i.token.surface for i in changed}
    same = [t for t in content if t.surface not in positions]
    if not same:
        return True
    return all(i.token.number for i in changed) and len(same) == 1


def _names_the_one(tail: tuple[Token, ...]) -> bool:
    """Return whether a complement names what only one can be: "the owner of", "where", "my favourite", "head of"."""
    lows = [t.low for t in tail]
    if not lows:
        return False
    if lows[0] in ("where", "when", "who", "what"):
        return True
    if any(low in _UNIQUE or low.endswith("est") for low in lows[:5]) and lows[0] not in (
        "a",
        "an",
        "one",
        "among",
        "in",
        "at",
        "on",
    ):
        return True
    if lows[0] == "the":
        head = _complement_head(tail[1:])
        return head is not None and not head.low.endswith("s")
    head = _complement_head(tail)
    return (
        head is not None
        and "of" in lows[1:4]
        and head.low not in _NOT_ROLES
        and not head.low.endswith("s")
        and lows[0] not in w.DETERMINERS
        and not tail[0].number
        and lows[0] not in w.PREPOSITIONS
    )


def _complement_head(tail: tuple[Token, ...]) -> Token | None:
    head = None
    for token in tail:
        if token.low in w.PREPOSITIONS or token.low in _BREAK_WORDS:
            break
        head = token
        if token.comma:
            break
    return head


_BREAK_WORDS: Final = w.words("that which who where when and or but because")


def _definite(tail: tuple[Token, ...]) -> bool:
    if not tail:
        return False
    first = tail[0]
    return (
        first.low in ("the", "this", "that", "my", "our", "your", "his", "her", "their")
        or (first.name and first.low not in ("a", "an"))
        or first.low in ("most",)
    )


# --- another value ----------------------------------------------------------------------------------------------------


def _other_tail(told: Clause, known: Clause, parts: tuple[Segment, ...]) -> Reading:
    """Return a reading where only what follows the verb differs."""
    near = [p for p in parts if not all(i.after_break for i in p.items)]
    if not near:
        return _reading(Relation.CONFLICTS, 0.4, "differs in what is added to the statement")
    if not (is_state(told) and is_state(known)):
        return _past_value(told, known, near)
    if (_indefinite(known.head) or _indefinite(told.head)) and not (told.verb in _GENERIC and not told.progressive):
        return _reading(Relation.BOTH_STAND, 0.7, "of no particular one")
    replaced = [p for p in near if p.replaced]
    if not replaced:
        return _reading(Relation.CONFLICTS, 0.4, "each says something that the other does not")
    if _same_numbers(told, known) and any(_amounts(p) for p in replaced):
        return _reading(Relation.BOTH_STAND, 0.5, "the same numbers in other words")
    if all(_amounts(p) and _more_exact(known, p) for p in replaced) and not any(
        p.stored for p in near if not p.replaced
    ):
        return _reading(Relation.REFINES, 0.7, "a more exact number")
    verdicts = [_value(told, known, p, parts) for p in replaced]
    if "both" in verdicts:
        return _reading(Relation.BOTH_STAND, 0.8, "another value of what can have many, or of another occasion")
    if all(v == "one" for v in verdicts):
        loose = [p for p in near if not p.replaced]
        if any(is_scope(p.items) for p in loose) or sum(len(p.items) for p in loose) > 2:
            return _reading(Relation.CONFLICTS, 0.6, "another value, with a condition")
        if any(p.stored for p in loose):
            return _reading(Relation.CONFLICTS, 0.6, "another value, and it does not speak to all of what is stored")
        return _reading(Relation.REPLACES, 0.9, "another value of what has one at a time")
    return _reading(Relation.CONFLICTS, 0.55, UNKNOWN_VALUE)


def _same_numbers(told: Clause, known: Clause) -> bool:
    mine, theirs = ({number_key(t) for t in c.tokens if t.number} for c in (told, known))
    return mine == theirs


def _more_exact(known: Clause, part: Segment) -> bool:
    """Return whether a number takes the place of a rough one that it does not contradict (within a tenth of it)."""
    index = min(i.position for i in part.stored)
    around = {t.low for t in known.tokens[max(0, index - 2) : index]}
    if not around & _ROUGH:
        return False
    old, new = _plain_number(part.stored), _plain_number(part.candidate)
    return old is None or new is None or abs(new - old) <= 0.1 * abs(old)


def _plain_number(items: tuple[Item, ...]) -> float | None:
    """Return the one number among words in figures; None where it has a unit of its own or there are several."""
    numbers = [i.key.strip("$€£") for i in items if i.token.number]
    if len(numbers) != 1 or len(items) != 1:
        return None
    try:
        return float(numbers[0])
    except ValueError:
        return None


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
        return _reading(Relation.REPLACES, 0.85, "another last one of its kind")
    if told.verb == "be" and not told.passive:
        return _reading(Relation.BOTH_STAND, 0.6, "how things were at one time and at another")
    return _reading(Relation.BOTH_STAND, 0.9, "two events")


def _value(told: Clause, known: Clause, part: Segment, parts: tuple[Segment, ...]) -> str:
    """Return whether a differing stretch after the verb is the value of one-at-a-time: one, both or unknown."""
    first, other = part.stored[0], part.candidate[0]
    both_place = first.preposition in _PLACE_PREPOSITIONS and other.preposition in _PLACE_PREPOSITIONS
    if first.chunk != other.chunk or (
        first.preposition != other.preposition and not both_place and not is_time(part.items)
    ):
        return "unknown" if not is_scope(part.items) else "both"
    verb, chunk = told.verb or "", first.chunk
    if _listed(told, other) or _listed(known, first):
        return "unknown"
    if told.copular:
        return _copular(told, known, part)
    amount = is_amount(part.stored) and is_amount(part.candidate)
    timed = is_time(part.stored) and is_time(part.candidate)
    if _other_unit(part):
        return "one"
    if verb == "have" or verb == "be":
        return "one" if amount and chunk == 0 else _had(told, part)
    if verb in w.PREFERENCE_VERBS and chunk == 0:
        return "one"
    if timed and (chunk > 0 or verb in w.TIME_VERBS):
        return _time(told, known, part, parts)
    if is_year(part.items) and chunk > 0:
        return "one" if verb in w.words("start begin end expire open close finish") else "both"
    if amount:
        return "one" if verb not in ("merge", "close", "send", "visit", "attend") else "both"
    if is_scope(part.items):
        return "both"
    if told.passive and first.preposition == "by":
        return "one" if verb in w.AGENT_VERBS | w.PASSIVE_ONE and chunk == 1 else "unknown"
    if (
        verb in w.PLACE_VERBS
        and verb not in w.MANY_VERBS
        and chunk == 1
        and first.preposition in _PLACE_PREPOSITIONS | {"to", "with"}
    ):
        if first.preposition == "with":
            return (
                "one"
                if verb in ("bank", "register") or (verb in ("sit", "lie", "rest") and _thing(known.head))
                else "unknown"
            )
        return "one"
    if told.passive and verb in w.PASSIVE_ONE and chunk <= 1:
        return (
            "one"
            if first.preposition not in ("for", "with", "of", "about") or verb in ("schedule", "plan", "set")
            else "unknown"
        )
    if verb in _ONE_OBJECT and chunk == 0:
        return "one" if verb != "run" or any(i.token.number for i in part.items) else "unknown"
    if verb in ("show", "display", "read") and chunk == 0 and _shows_one(known.head):
        return "one"
    if verb in ("lead", "head") or verb in w.MANY_VERBS:
        return "both"
    if _value_naming(part) and verb in w.ONE_VERBS:
        return "one"
    return "unknown"


def _other_unit(part: Segment) -> bool:
    """Return whether only the unit of time behind the same number differs: "45 seconds" / "45 minutes"."""
    units = w.words("second minute hour day week month year")
    return all(i.key in units and i.before[:1].isdigit() for i in part.items) and len(part.items) == 2


def _shows_one(head: tuple[Token, ...]) -> bool:
    """Return whether a subject is a surface that shows one thing at a time."""
    last = _subject_noun(head)
    return last is not None and last.key in w.SHOWING_NOUNS and head[0].low in ("the", "our", "my", "this")


def _thing(head: tuple[Token, ...]) -> bool:
    """Return whether a subject is a thing and not a person: an article or a preposition stands in it."""
    return any(t.low in w.ARTICLES or t.low in w.PREPOSITIONS for t in head)


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
    if verb not in w.TIME_VERBS and not (told.passive and verb in w.ONE_VERBS) and not told.copular:
        return "both" if not any(i.token.number for i in part.items) else "unknown"
    if any(i.token.number for i in part.items):
        return "one"
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
        and part.stored[0].preposition in _PLACE_PREPOSITIONS
    ):
        return "one"
    return "unknown" if part.stored[0].chunk else "both"


def _copular(told: Clause, known: Clause, part: Segment) -> str:
    """Return whether what differs after a form of be is one at a time."""
    first = part.stored[0]
    start = [t for t in known.tail]
    lead = [t.low for t in start]
    there = known.head[-1:] and known.head[-1].low == "there"
    amount = is_amount(part.stored) and is_amount(part.candidate)
    timed = is_time(part.stored) and is_time(part.candidate)
    attribute = _attribute(known)
    if attribute == "both" and not amount:
        return "both"
    if there:
        return "one" if amount and first.chunk == 0 else "unknown"
    if first.chunk == 0:
        whole = _starts_complement(known, first)
        if not whole:
            return "one" if amount and attribute != "both" else "unknown" if not is_scope(part.items) else "both"
        if attribute == "both":
            return "both"
        if amount or timed:
            return "one"
        if {i.token.low for i in part.items} <= w.STATUS_WORDS:
            return "one"
        if attribute == "one":
            return "one"
        return "one" if _identifies(known, part) else "unknown"
    if first.chunk >= 1 and _complement_words(known):
        if lead and lead[0] in _TIME_ADJECTIVES and (timed or amount or first.preposition in ("until", "till")):
            return "one" if any(i.token.number for i in part.items) or lead[0] == "due" else "unknown"
        if (amount or timed) and attribute == "one":
            return "one"
        return "both"
    if first.chunk == 1:
        if timed:
            return "one"
        if any(i.key in _GROUPS for i in items_of(known) if i.region == "t"):
            return "both"
        return "one" if first.preposition in _PLACE_PREPOSITIONS else "unknown"
    if timed or amount:
        return "one" if any(i.token.number for i in part.items) else "both"
    return "unknown" if not is_scope(part.items) else "both"


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
    last = _subject_noun(head)
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


def _subject_noun(tokens: tuple[Token, ...]) -> Token | None:
    """Return the head noun of a subject: the last word before its first preposition, behind any possessor."""
    head = None
    for token in tokens:
        if token.low in w.PREPOSITIONS and head is not None:
            break
        if token.low == "'s":
            head = None
        elif token.low not in w.DETERMINERS and token.low not in w.LIGHT:
            head = token
    return head


def _attribute(clause: Clause) -> str:
    """Return whether the subject of a form of be is an attribute with one value: "the port of X", "my locker number"."""
    if clause.head and clause.head[0].low in w.LEADING:
        return "unknown"
    head = _subject_noun(clause.head)
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


# --- active and passive -----------------------------------------------------------------------------------------------


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
        return _reading(Relation.BOTH_STAND, 0.6, "of another thing")
    if agent == doer:
        return None
    if told.verb in w.AGENT_VERBS or (told.verb in ("hold", "host") and "most" in patient):
        return _reading(Relation.REPLACES, 0.85, "another one in charge of the same thing")
    return _reading(Relation.CONFLICTS, 0.5, "done by another one")


def names_a_thing(part: Segment) -> bool:
    """Return whether a difference is only the number or code of a thing."""
    return bool(part.items) and all(is_naming(i) for i in part.items)
