"""A shallow reading of one English statement: what comes before its main verb, the verb group, and what follows.

Not a grammar: enough to tell subject from value and state from event, and to say so when it cannot (`verb` None).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from factsieve.core.guard.textnorm import normalise
from factsieve.core.relation import words as w
from factsieve.core.relation.tokens import FORMS_OF_BE, Token, key_of, tokenise, verb_base

_OPENING: Final = re.compile(
    r"^\s*(?:(?:no|yes|oh|well|ok|okay),\s+|(?:so|and|but|also|actually|in fact|then),?\s+(?=\S+\s)|"
    r"(?:these days|nowadays|now|currently|today|at present|at the moment|from now on|as of (?:now|today)|presently)[,:]?\s+)+",
    re.IGNORECASE,
)
_SUBJECT_PRONOUNS: Final = w.words("i we you he she it they there")
_RELATIVES: Final = w.words("which who whom whose where")
_ADVERBS: Final = w.words(
    "also still already always usually often now just again currently only even ever mostly mainly sometimes yet soon then"
    " generally typically normally recently finally almost nearly quite very really too rather"
)


class Clause(msgspec.Struct, frozen=True, eq=False):
    """The parts of one statement. `head` is everything before the verb group, `tail` everything after it.

    `tense` is present, past, perfect, future, modal or none; `passive` tells a participle after a form of be. Clauses are told apart by
    identity, so that what is found out about one can be kept without reading it again.
    """

    tokens: tuple[Token, ...]
    head: tuple[Token, ...]
    tail: tuple[Token, ...]
    verb: str | None
    tense: str
    negated: bool
    passive: bool
    progressive: bool
    modal: str
    adverbs: tuple[str, ...]

    @property
    def copular(self) -> bool:
        """Whether the main verb is a form of be."""
        return self.verb == "be"


@lru_cache(maxsize=4096)
def parse(text: str) -> Clause:
    """Return the shallow reading of a statement."""
    tokens = tokenise(_OPENING.sub("", normalise(text), count=1))
    at = _verb_at(tokens)
    if at is None:
        at = _unlisted_verb(tokens)
    if at is None:
        at = _bare_verb(tokens)
    if at is None:
        denied = any(t.low in w.NEGATORS for t in tokens)
        return Clause(tokens, (), tokens, None, "none", denied, False, False, "", ())
    while at > 1 and (tokens[at - 1].low in _ADVERBS or tokens[at - 1].low in ("never", "no", "longer", "not")):
        at -= 1
    return _group(tokens, at)


def _verb_at(tokens: tuple[Token, ...]) -> int | None:
    """Return where the first finite verb of the main clause stands."""
    relative = False
    inserted = False  # within ", which ... ,"
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        if inserted:
            inserted = not token.comma
            continue
        if before is None:
            if token.low in w.BE or token.low in w.DO or token.low in w.MODALS:
                return None  # a question or an order
            continue
        if before.comma and token.low in _RELATIVES:
            inserted = not token.comma
            continue
        if _opens_relative(token, before, index):
            relative = True  # "the offer we sent to ...": the next verb belongs to the noun before
            continue
        if before.low in w.DETERMINERS and token.low not in w.BE:
            continue
        if before.low in w.PREPOSITIONS and token.low not in w.BE and token.low not in w.MODALS:
            continue
        if not _finite(tokens, index):
            continue
        if relative:
            relative = False
            continue
        return index
    return None


def _opens_relative(token: Token, before: Token, index: int) -> bool:
    return (
        index > 1
        and token.low in w.PRONOUNS
        and not before.comma
        and before.low not in w.CONJUNCTIONS
        and before.low not in w.PREPOSITIONS
    )


def _finite(tokens: tuple[Token, ...], index: int) -> bool:
    """Return whether a word is the finite verb of its clause; `index` is at least 1."""
    token, before = tokens[index], tokens[index - 1]
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if token.low == "'s":  # "she's": be; "Nora's": possessive
        return before.low in _SUBJECT_PRONOUNS or (following is not None and following.low in ("been", "not"))
    if token.low in ("'d", "'ll", "'ve", "'re", "'m"):
        return True
    if token.low in w.BE:
        return token.low not in ("being", "been", "be")
    if token.low in w.HAVE or token.low in w.DO or token.low in w.MODALS:
        return token.low != "having" and not (token.low == "may" and token.name)
    base = verb_base(token.low)
    if base is None or before.low == "'s" or (token.name and not token.surface.isupper()):
        return False
    if base[1] == "ing" or (base[1] == "past" and before.low in w.CONJUNCTIONS):
        return False
    plural = before.low in ("we", "you", "they", "i", "people") or (
        before.low.endswith("s") and before.key != before.low
    )
    if base[1] == "base":
        return plural
    if base[1] == "s":
        return not token.comma and not _noun_before_verb(tokens, index)
    return not (base[1] == "past" and _reduced(tokens, index))


def _noun_before_verb(tokens: tuple[Token, ...], index: int) -> bool:
    """Return whether a word in -s is a noun: another finite verb follows at once ("the team leads met")."""
    if index + 1 >= len(tokens):
        return False
    following = tokens[index + 1]
    if following.low in w.MODALS or following.low in w.HAVE or following.low in FORMS_OF_BE or following.low in w.DO:
        return True
    base = verb_base(following.low)
    if base is None or following.name:
        return False
    return base[1] == "past" or (base[1] == "s" and _object_follows(tokens, index + 1))


def _object_follows(tokens: tuple[Token, ...], index: int) -> bool:
    if index + 1 >= len(tokens) or tokens[index].comma:
        return False
    after = tokens[index + 1]
    return after.low in w.DETERMINERS or after.number


def _bare_verb(tokens: tuple[Token, ...]) -> int | None:
    """Return 0 where a statement starts with its verb: a rule ("Keep crates at 5 degrees") or an event ("Closed ticket 5")."""
    if len(tokens) < 3 or tokens[0].comma:
        return None
    base = verb_base(tokens[0].low)
    return 0 if base is not None and base[1] in ("base", "past", "past_or_base") else None


def _unlisted_verb(tokens: tuple[Token, ...]) -> int | None:
    """Return where a verb stands that no list has: a word in -s with its object's determiner right behind it."""
    for index in range(1, len(tokens) - 1):
        token, before = tokens[index], tokens[index - 1]
        if token.name or token.comma or token.number or before.low in w.PREPOSITIONS or before.low in w.DETERMINERS:
            continue
        like_a_verb = token.low.endswith("s") and not token.low.endswith(("ss", "'s", "us")) and len(token.low) > 3
        if like_a_verb and tokens[index + 1].low in w.DETERMINERS:
            return index
    return None


def _reduced(tokens: tuple[Token, ...], index: int) -> bool:
    """Return whether a participle belongs to the noun before: "the man named Ben is", "a wall made of rock stands"."""
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if following is None or following.low not in ("by", "of", "as", "from", "in", "on", "at", "to", "for", "with"):
        return False
    return (
        any(t.low in FORMS_OF_BE and t.low != "be" for t in tokens[index + 2 :])
        and verb_base(tokens[index].low) is not None
        and not any(
            t.comma or t.low in w.CONJUNCTIONS or t.low in w.PRONOUNS for t in tokens[index : _first_be(tokens, index)]
        )
    )


def _first_be(tokens: tuple[Token, ...], start: int) -> int:
    return next((i for i in range(start, len(tokens)) if tokens[i].low in FORMS_OF_BE), len(tokens))


class _Group:
    """What is known of a verb group while it is read."""

    def __init__(self) -> None:
        self.main: str | None = None
        self.tense = "present"
        self.modal = ""
        self.negated = self.passive = self.progressive = False
        self.seen: list[str] = []
        self.adverbs: list[str] = []

    def auxiliary(self, low: str) -> bool:
        """Take in a form of be, have, do or a modal; return whether it was one."""
        if self.main is None and low in w.MODALS:
            self.modal, self.tense = low, "future" if low in ("will", "shall", "'ll") else "modal"
            return True
        if low in FORMS_OF_BE and not (self.main not in (None, "be") and self.seen[-1:] != ["have"]):
            self._aux("be", low in ("was", "were"))
            return True
        if self.main is None and low in w.HAVE:
            self._aux("have", low == "had")
            return True
        if self.main is None and low in w.DO:
            self._aux("do", low == "did")
            return True
        return False

    def obliged(self, low: str) -> None:
        """Take in "has to", "needs to": an obligation, whose verb follows."""
        self.main, self.modal = None, low
        if low != "had":
            self.tense = "modal"

    def _aux(self, name: str, past: bool) -> None:
        self.main = name
        self.seen.append(name)
        if past:
            self.tense = "past"

    def verb(self, base: str, form: str, plural: bool, after_determiner: bool) -> bool:
        """Take in a full verb; return whether it belongs to the group (and ends it)."""
        if self.main is None:
            if not self.modal and (form == "past" or (form == "past_or_base" and not plural)):
                self.tense = "past"
        elif self.main == "do" and form in ("base", "past_or_base"):
            pass
        elif self.main == "be" and form in ("past", "past_or_base"):
            self.passive = True
        elif self.main == "have" and form in ("past", "past_or_base") and not after_determiner:
            self.tense = "perfect" if self.tense == "present" else self.tense
        elif self.main == "be" and form == "ing":
            self.progressive = True
        else:
            return False
        self.main = base
        return True


def _group(tokens: tuple[Token, ...], at: int) -> Clause:
    """Read the verb group that starts at a token."""
    group = _Group()
    group.negated = _subject_denies(tokens[:at])
    end = at
    for index in range(at, len(tokens)):
        low = tokens[index].low
        if low in w.NEGATORS and low not in ("nor", "neither", "without"):
            group.negated = True
            end = index + 1
            if low == "no" and tokens[index + 1 : index + 2] and tokens[index + 1].low != "longer":
                break  # "has no lift": what follows is what is denied
            continue
        if low in _ADVERBS or low == "longer" or (low.endswith("ly") and len(low) > 4 and verb_base(low) is None):
            group.adverbs.append(low)
            end = index + 1
            continue
        if low == "to" and index > at and tokens[index - 1].low in ("have", "has", "had", "need", "needs", "ought"):
            group.obliged(tokens[index - 1].low)
            end = index + 1
            continue
        if low in ("need", "needs") and tokens[index + 1 : index + 2] and tokens[index + 1].low == "to":
            continue
        if group.auxiliary(low):
            end = index + 1
            continue
        base = verb_base(low)
        plural = at > 0 and key_of(tokens[at - 1].low) != tokens[at - 1].low
        if base is None and index == at and group.main is None:
            base = key_of(low), "s"  # a verb that no list has
        if base is not None and group.verb(*base, plural, tokens[index - 1].low in w.DETERMINERS):
            end = index + 1
        break
    if "have" in group.seen and "be" in group.seen and group.tense == "present":
        group.tense = "perfect"
    return Clause(
        tokens,
        tokens[:at],
        tokens[end:],
        group.main,
        group.tense,
        group.negated,
        group.passive,
        group.progressive,
        group.modal,
        tuple(group.adverbs),
    )


def _subject_denies(head: tuple[Token, ...]) -> bool:
    return any(t.low in ("nobody", "none", "nothing", "neither") for t in head) or (bool(head) and head[0].low == "no")
