"""Statements that say themselves what they put out of force: "no longer", "moved from X to Y", "has been cancelled"."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

import msgspec

from factsieve.core.guard.textnorm import normalise
from factsieve.core.relation import words as w
from factsieve.core.relation.align import items_of
from factsieve.core.relation.parse import Clause, parse
from factsieve.core.relation.tokens import Token, key_of, tokenise

# What reads a whole text for words reads it in lower case: a search that passes over case takes two to three times as long.
_END: Final = re.compile(
    r"\b(?:no longer|not (?:\w+ ){1,6}?any ?(?:more|longer)|n't (?:\w+ ){1,6}?any ?(?:more|longer)|stopped|stops|has ceased|ceased|ceases|quit|gave up|given up|gives up|giving up|discontinued|abolished|abandoned|scrapped|"
    r"(?:is|are|was|were|been) (?:cancelled|canceled|called off|withdrawn|repealed|revoked|retired|removed|dropped|phased out|shut down)|came to an end|has ended|(?<!be )(?<!is )(?<!are )(?<!was )(?<!were )(?<!been )(?<!being )(?<!get )used to|formerly|got rid of|done away with|put an end to)\b",
)
_MOVE: Final = re.compile(
    r"\b(?:(?:moved|moves|switched|switches|changed|changes|migrated|migrates|relocated|transferred|passed|shifted|went|gone|converted|reassigned|re\w+ed|rescheduled|renamed|upgraded|downgraded|raised|lowered|increased|reduced|cut|grew|rose|fell|dropped|postponed|extended|shortened)"
    r"(?: \w+){0,4}? from|(?:moved|switched|migrated|changed) (?:away|off)|moved out of|replaced|replaces|has been replaced|instead of|in place of|in favou?r of|no more|handed (?:\w+ ){0,4}?over to|gave (?:\w+ ){1,6}?(?:back|away)|has become|have become|became|turned into)\b",
)
_INSTEAD: Final = re.compile(r"\binstead\b")
_CORRECTION: Final = re.compile(
    r"^\s*(?:correction|erratum|corrected|rectification|korrektur|corrección|correction \w+|rettifica|correção|исправление)\s*[:,-]\s*",
    re.IGNORECASE,
)
_LETS_GO: Final = re.compile(
    r"\b(?:after all|changed (?:his|her|its|their|my|our|your) minds?|(?:dropped|shelved|scrapped|abandoned|gave up|given up|cancelled|canceled) (?:[\w']+ ){0,4}?(?:plans?|idea|project|intention|bid)|"
    r"(?:gave|gives|given|giving|threw|thrown|passed) (?:[\w']+ ){1,6}?(?:away|back)|stepped down|steps down|resigned|backed out|pulled out|dropped out|let go|parted with|handed (?:[\w']+ ){0,4}?in|"
    r"decided (?:not to|against|to (?:keep|stay|remain))|turned (?:[\w']+ ){0,3}?down|thought better of|moved out|is (?:gone|over)|are (?:gone|over))\b",
)
"""Words of one who lets go or thinks again: what they put out of force is seldom said in the words of the stored statement."""
_NOT_VALUE: Final = re.compile(r"(?:,|\s-)\s*(?:and\s+)?not\s+")
_RESCHEDULED: Final = re.compile(
    r"\b(?:pushed back|pushed out|pushed|brought forward|moved forward|moved back|moved up|moved|postponed|rescheduled|delayed|put back|put off|advanced|deferred|extended|shifted|changed|raised|lowered|increased|reduced|cut|bumped)\s+(?:\w+ )?(?:to|until|till|by)\b",
)

_CALLED_OFF: Final = re.compile(
    r"\b(?:cancelled|canceled|called off|scrapped|withdrawn|will not take place|won't take place)\b"
)
_LIGHT_HERE: Final = w.words(
    "alone only own sole still currently all both outright place completely entirely fully each every full together ahead"
)

# What ends a state, by the state that it ends: words of the candidate's verb group -> words of the stored complement or verb.
_ENDINGS: Final[tuple[tuple[frozenset[str], frozenset[str]], ...]] = (
    (
        w.words("merge close resolve fix complete finish cancel"),
        w.words(
            "open pending waiting wait await unresolved outstanding progress review ongoing unfinished incomplete draft broken"
        ),
    ),
    (
        w.words("approve reject decline refuse accept grant deny withdraw turn"),
        w.words("pending open waiting wait await review outstanding undecided consideration submitted"),
    ),
    (w.words("pay settle"), w.words("unpaid outstanding due overdue open owing")),
    (
        w.words("ship deliver dispatch arrive clear"),
        w.words("pending backordered waiting wait hold held customs transit delayed"),
    ),
    (w.words("expire lapse"), w.words("valid current active")),
    (w.words("sell"), w.words("own owner owned property belong")),
    (w.words("repair fix restore"), w.words("broken down out order faulty defective")),
    (w.words("break fail crash"), w.words("working fixed repaired operational running")),
    (w.words("hire fill appoint"), w.words("vacant unfilled")),
    (w.words("resign retire leave quit"), w.words("work employ employed teach head manage lead serve")),
)


STILL_SAYS: Final = "says it too, and what it was before"


class Change(msgspec.Struct, frozen=True):
    """That a candidate retires a stored statement by its own words; `whole` if it speaks to all that the stored one says."""

    whole: bool
    reason: str


@lru_cache(maxsize=8192)
def has_change_words(text: str) -> bool:
    """Return whether a statement says that something ended or moved, or that somebody thought again."""
    plain = normalise(text)
    low = plain.lower()
    return bool(
        _signs(plain) & _ENDED_OR_MOVED or _CORRECTION.match(plain) or _INSTEAD.search(low) or _LETS_GO.search(low)
    )


_ENDED_OR_MOVED: Final = frozenset(("end", "move", "reset", "not"))


def strip_correction(text: str) -> tuple[str, bool]:
    """Return a text without a leading "Correction:", and whether there was one."""
    plain = normalise(text)
    match = _CORRECTION.match(plain)
    return (plain[match.end() :], True) if match else (text, False)


def _alike(one: str, other: str) -> bool:
    if one == other or key_of(one) == key_of(other):
        return True
    if one.startswith("re") and one[2:] == other:
        return True
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= 5 and shared * 10 >= max(len(one), len(other)) * 6


def _main_part(clause: Clause) -> list[Token]:
    """Return the content words of the main clause: nothing after the first break."""
    return [i.token for i in items_of(clause) if not i.after_break]


def explicit_change(candidate: str, stored: str) -> Change | None:
    """Return how a candidate retires a stored statement by words of change, None where it does not."""
    signs, old = _signs(normalise(candidate)), _signs(normalise(stored))
    if not signs or old or _NOT_DONE.search(normalise(candidate)) or _ACCUSTOMED.search(normalise(stored)):
        return None  # no change came about, or it says nothing of a change, or the stored statement is itself the report of one
    told, clause = parse(candidate), parse(stored)
    if clause.verb is None or clause.negated or (clause.tense in ("past", "perfect") and not clause.passive):
        return None
    ours = [t.low for t in told.tokens]
    if sorted(ours) == sorted(t.low for t in clause.tokens):
        return None  # the same words in another order tell of no change
    theirs = [t for t in _main_part(clause) if t.low not in _LIGHT_HERE]
    missing = [t for t in theirs if not any(_alike(o, t.low) for o in ours)]
    head = {t.low for t in clause.head}
    if not theirs or any(t.low in head for t in missing):
        return None
    if _kept(candidate, [t for t in theirs if t in clause.tail]):
        return Change(False, STILL_SAYS)
    tail = [t for t in theirs if t in clause.tail]
    if tail and all(t in missing for t in tail):
        return None
    if not tail and missing:
        return None
    group = clause.tokens[len(clause.head) : len(clause.tokens) - len(clause.tail)]
    rest = [t for t in missing if t not in group and t.key != clause.verb]
    if not rest and (signs & {"end", "move"} or (not missing and signs & {"instead", "not"})):
        if signs == {"end"} and (_narrower(candidate, stored) or _of_one_kind(told, clause)):
            return Change(False, "says that a part of it ended")
        return Change(True, "says that it changed or ended")
    if _reset(signs, clause, theirs, rest):
        return Change(True, "gives a new time or amount in place of it, or calls it off")
    if signs & {"move", "end", "instead"} and len(rest) <= 2 and len(theirs) >= 2 * len(missing):
        return Change(False, "says that something of it changed")
    return None


_TURNS: Final = (
    re.compile(r"\b(?:no longer|not|never)\b(?P<old>.*?)\bbut\b(?P<new>.*)", re.IGNORECASE | re.DOTALL),
    re.compile(r"\bfrom\b(?P<old>.*?)\bto\b(?P<new>.*)", re.IGNORECASE | re.DOTALL),
    re.compile(r"\binstead of\b(?P<old>[^,;]*)(?P<new>.*)", re.IGNORECASE | re.DOTALL),
    re.compile(
        r"\b(?:dropped|replaced|gave up|given up|swapped|exchanged|abandoned)\b(?P<old>.*?)\b(?:in favou?r of|with|by|for|and)\b(?P<new>.*)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"(?P<new>.*?)(?:,|\s-)\s*(?:and\s+)?not\s+(?P<old>.*)", re.IGNORECASE | re.DOTALL),
    re.compile(r"(?P<new>.*)\binstead of\b(?P<old>.*)", re.IGNORECASE | re.DOTALL),
)


def _kept(candidate: str, value: list[Token]) -> bool:
    """Return whether what a stored statement says is the new side of a change, and so still holds."""
    for pattern in _TURNS:
        match = pattern.search(normalise(candidate))
        if match is None:
            continue
        old = [t.low for t in tokenise(match["old"])]
        new = [t.low for t in tokenise(match["new"])]
        only_new = [t for t in value if _in(t, new) and not _in(t, old)]
        only_old = [t for t in value if _in(t, old) and not _in(t, new)]
        return bool(only_new) and not only_old
    return False


def _in(token: Token, others: list[str]) -> bool:
    return any(_alike(o, token.low) for o in others)


@lru_cache(maxsize=8192)
def _signs(plain: str) -> frozenset[str]:
    low = plain.lower()
    found = {
        "end": _END.search(low),
        "move": _MOVE.search(low),
        "reset": _RESCHEDULED.search(low),
        "off": _CALLED_OFF.search(low),
        "instead": _INSTEAD.search(low) and "instead of" not in low,
        "not": _NOT_VALUE.search(low),
    }
    return frozenset(name for name, match in found.items() if match)


def _reset(signs: frozenset[str], clause: Clause, theirs: list[Token], rest: list[Token]) -> bool:
    """Return whether only the old time or amount is left unsaid because a new one, or none, takes its place."""
    timed = [t for t in theirs if t.number or t.low in w.CALENDAR]
    if "reset" in signs:
        return bool(rest) and all(t in timed for t in rest)
    if "off" in signs and clause.verb in w.TIME_VERBS | {"be", "run"}:
        return all(t in timed or t.low in ("ahead", "place", "forward", "effect") for t in rest)
    return False


def _narrower(candidate: str, stored: str) -> bool:
    """Return whether an ending is bound to an occasion that the stored statement does not name."""
    known = [t.low for t in tokenise(stored)]
    tokens = tokenise(candidate)
    for index, token in enumerate(tokens[:-1]):
        if token.comma and index > 2:
            break
        if token.low in ("on", "in", "at", "for", "to", "during", "before", "after", "outside", "except") and index > 2:
            phrase = [t.low for t in tokens[index + 1 : index + 4] if t.low not in w.LIGHT]
            if phrase and not any(_alike(p, k) for p in phrase[:2] for k in known):
                return True
    return False


def _of_one_kind(told: Clause, clause: Clause) -> bool:
    """Return whether an ending is of one kind only of what the stored statement names without one: `red meat`, `meat`."""
    named = next((t for t in clause.tail if t.low not in w.LIGHT), None)
    if named is None or named.low in w.PREPOSITIONS:
        return False
    known = [t.low for t in clause.tokens]
    for before, token in pairwise(told.tail):
        if _alike(token.low, named.low):
            plain = before.low in w.LIGHT or before.low in w.PREPOSITIONS or before.low in w.DETERMINERS
            return not plain and not before.low.endswith("ing") and not any(_alike(before.low, k) for k in known)
    return False


_NOT_DONE: Final = re.compile(
    r"\b(?:tr(?:y|ies|ied|ying)|attempt(?:s|ed)?|fail(?:s|ed)?|refuse[sd]?|offer(?:s|ed)?|forgot|swor?e|vow(?:s|ed)?|promise[sd]?) to\b"
    r"|\b(?:nearly|almost|all but|about to|(?:is|are|was|were) (?:considering|thinking)|(?:told|asked|advised|urged) (?:[\w']+ ){1,3}to)\b",
    re.IGNORECASE,
)
"""Words after which an ending did not come about."""
_ACCUSTOMED: Final = re.compile(r"\b(?:am|is|are|was|were|be|been|get|gets|got|getting) used to\b", re.IGNORECASE)


def _another_thing(told: Clause, clause: Clause) -> bool:
    """Return whether an event and a state name two things: `sold the blue car`, `owns the red car`; `left Bosch`, `works at Siemens`."""
    mine, theirs = _object(told), _object(clause)
    named = {t.key for t in clause.tail if t.low not in w.LIGHT and t.low not in w.PREPOSITIONS}
    if told.verb in _PARTINGS and mine and named and not mine & (named | _ANY_JOB):
        return True
    return bool(mine & theirs) and bool(mine - theirs) and bool(theirs - mine)


_PARTINGS: Final = w.words("sell resign retire leave quit")
_ANY_JOB: Final = w.words("job work company firm post position role office business organisation organization career")
"""What anybody leaves who leaves what he works at."""


def _object(clause: Clause) -> set[str]:
    found = set()
    for token in clause.tail:
        if token.low in w.PREPOSITIONS:
            break
        if token.low not in w.LIGHT and token.low not in w.DETERMINERS:
            found.add(token.key)
    return found


def ends_state(told: Clause, clause: Clause) -> bool:
    """Return whether the candidate reports an event that ends the state which the stored statement describes."""
    if (
        told.verb is None
        or told.negated
        or clause.negated
        or told.tense not in ("past", "perfect", "present")
        or told.modal
    ):
        return False
    if told.tense == "present" and not told.passive:
        return False
    if not (clause.tense == "present" or (clause.tense == "perfect" and clause.passive)) or not same_head(told, clause):
        return False
    if _another_thing(told, clause):
        return False
    state = (
        {t.low for t in clause.tail[:6]} | {t.key for t in clause.tail[:6]} | ({clause.verb} if clause.verb else set())
    )
    return any(told.verb in ends and state & of for ends, of in _ENDINGS)


def same_head(one: Clause, other: Clause) -> bool:
    """Return whether two clauses have the same words before the verb, articles and order aside."""
    mine = {t.key for t in one.head if t.low not in w.LIGHT and t.low not in w.NEGATORS}
    theirs = {t.key for t in other.head if t.low not in w.LIGHT and t.low not in w.NEGATORS}
    return bool(mine) and mine == theirs
