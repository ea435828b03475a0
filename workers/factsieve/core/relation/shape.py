"""What kind of statement a clause is: a state or an event, of whom, and whether its complement names what only one can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from factsieve.core.relation import words as w
from factsieve.core.relation.align import Segment, is_amount, is_scope, is_time, is_year
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.tokens import Token

_UNIQUE: Final = w.SUPERLATIVES | w.words("where when who owner leader head captain president")


_NOT_ROLES: Final = w.words(
    "part member one proof kind type sort piece evidence example friend capable aware fond worthy sign made full full-time"
    " afraid proud home native graduate"
)


_BREAK_WORDS: Final = w.words("that which who where when and or but because")


def tense_of(clause: Clause) -> str:
    """Return present, past, perfect or none; obligations and plans count as present."""
    return "present" if clause.tense in ("present", "modal", "future") else clause.tense


def is_state(clause: Clause) -> bool:
    """Return whether a clause tells how things stand and not what happened."""
    if clause.tense in ("present", "modal", "future"):
        return not (clause.progressive and clause.verb not in ("run", "work", "wait", "live", "use", "listen", "stay"))
    return clause.tense == "perfect" and clause.passive


def is_indefinite(head: tuple[Token, ...]) -> bool:
    """Return whether the subject is no particular one: "a man", "two dogs", "some people"."""
    if not head:
        return False
    first = head[0]
    return (
        first.low in w.INDEFINITE and not (len(head) > 1 and head[1].low in ("of", "'s")) and first.low not in ("one",)
    ) or (first.number and len(head) > 1 and not first.name and not head[1].name)


def bare(head: tuple[Token, ...]) -> set[str]:
    """Return the content words of a subject."""
    return {t.key for t in head if t.low not in w.LIGHT}


def both_amounts(part: Segment) -> bool:
    """Return whether a difference is one amount in place of another; years are none."""
    return part.replaced and is_amount(part.stored) and is_amount(part.candidate) and not is_year(part.items)


def subject_noun(tokens: tuple[Token, ...]) -> Token | None:
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


def names_the_one(tail: tuple[Token, ...]) -> bool:
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


def is_definite(tail: tuple[Token, ...]) -> bool:
    """Return whether an object is a particular one: "the", a possessive, a name."""
    if not tail:
        return False
    first = tail[0]
    return (
        first.low in ("the", "this", "that", "my", "our", "your", "his", "her", "their")
        or (first.name and first.low not in ("a", "an"))
        or first.low in ("most",)
    )


def is_marked(parts: Sequence[Segment]) -> bool:
    """Return whether differences lie in names, numbers, times or scopes, and not in words that may mean the same."""
    return any(
        i.token.number or i.token.name or is_time((i,)) or is_scope((i,)) for p in parts for i in p.items if i.position
    )
