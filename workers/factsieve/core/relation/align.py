"""Which parts of two statements differ, and what kind of part each is: head, verb or tail; amount, time, name, scope."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

import msgspec

from factsieve.core.relation import words as w
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.tokens import Token, verb_base

_WORD_NUMBERS: Final[dict[str, str]] = {
    name: str(value)
    for value, name in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {"single": "1", "double": "2", "half": "0.5", "first": "1st", "second": "2nd", "third": "3rd"}
_GROUPED: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_CLOCK: Final = re.compile(r"^\d{1,2}(?::\d\d(?:am|pm)?|am|pm|st|nd|rd|th)$", re.IGNORECASE)
_YEAR: Final = re.compile(r"^(?:19|20)\d\d$")
_APPROXIMATE: Final = w.words("about around roughly nearly almost approximately circa some")
_CODE: Final = re.compile(r"[A-Za-z].*\d|\d.*[A-Za-z]")
_UNITS_IN_ONE: Final = re.compile(r"^[-+]?[$€£]?\d[\d.,]*(?:%|[a-zA-Zµ]{1,3})?$")


class Item(msgspec.Struct, frozen=True):
    """One content word with its place: region h, v or t; chunk is the number of prepositions before it in the tail."""

    key: str
    token: Token
    region: str
    position: int
    chunk: int
    preposition: str
    after_break: bool
    before: str


class Segment(msgspec.Struct, frozen=True):
    """One difference: the stored words and the candidate's; one of both may be empty."""

    stored: tuple[Item, ...]
    candidate: tuple[Item, ...]

    @property
    def replaced(self) -> bool:
        """Whether both sides have something here."""
        return bool(self.stored) and bool(self.candidate)

    @property
    def items(self) -> tuple[Item, ...]:
        """All words of both sides."""
        return self.stored + self.candidate


_BREAKS: Final = w.words("because which who where since although though but while whereas so that as")


@lru_cache(maxsize=4096)
def items_of(clause: Clause) -> tuple[Item, ...]:
    """Return the content words of a clause in order."""
    out: list[Item] = []
    tokens = clause.tokens
    head, tail = len(clause.head), len(tokens) - len(clause.tail)
    chunk, preposition, broken = 0, "", False
    for index, token in enumerate(tokens):
        low = token.low
        region = "h" if index < head else "t" if index >= tail else "v"
        if index == tail:
            chunk, preposition, broken = 0, "", False
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if low in w.PREPOSITIONS and not _particle(token, following, region) and not _approximates(low, following):
            chunk, preposition = chunk + 1, low
            if low in ("with", "without") and index and tokens[index - 1].comma and region == "t":
                broken = True
            continue
        if region == "t" and index > tail and (low in _BREAKS or (low == "and" and _another_verb(following))):
            broken = True
        skip = low in w.LIGHT or low in w.NEGATORS or _approximates(low, following)
        if not skip and not (region == "v" and (low in w.MODALS or low in clause.adverbs)):
            before = tokens[index - 1].key if index else ""
            out.append(Item(number_key(token), token, region, index, chunk, preposition, broken, before))
        if token.comma and region == "t" and following is not None and not _goes_on(following):
            broken = True
    return tuple(out)


def _another_verb(following: Token | None) -> bool:
    """Return whether another predicate starts: "and shares an office"."""
    base = None if following is None or following.name else verb_base(following.low)
    return base is not None and base[1] in ("s", "past")


def _particle(token: Token, following: Token | None, region: str) -> bool:
    """Return whether a preposition stands without an object: "switched off", "is up"."""
    if region != "t" or token.low not in ("on", "off", "up", "down", "in", "out"):
        return False
    return (
        following is None
        or token.comma
        or following.low in w.CONJUNCTIONS
        or following.low in w.PREPOSITIONS
        or following.low in _BREAKS
    )


def _approximates(low: str, following: Token | None) -> bool:
    return low in _APPROXIMATE and following is not None and following.number


def _goes_on(following: Token) -> bool:
    """Return whether what follows a comma still belongs to the value: "on Monday, 3 May, at noon"."""
    if following.number or following.low in w.CALENDAR:
        return True
    return following.low in ("on", "from", "until", "till", "in", "by", "between", "to")


def number_key(token: Token) -> str:
    """Return a token's normal form, with numbers written alike."""
    if token.low in _WORD_NUMBERS:
        return _WORD_NUMBERS[token.low]
    if token.number:
        return _GROUPED.sub("", token.surface if len(token.surface) > 1 and token.surface[0].isdigit() else token.low)
    return token.key


def segments(stored: tuple[Item, ...], candidate: tuple[Item, ...]) -> tuple[Segment, ...]:
    """Return the differing stretches of two sequences of content words."""
    matcher = SequenceMatcher(None, [i.key for i in stored], [i.key for i in candidate], autojunk=False)
    return tuple(
        Segment(stored[a1:a2], candidate[b1:b2]) for tag, a1, a2, b1, b2 in matcher.get_opcodes() if tag != "equal"
    )


def by_chunk(part: Segment) -> tuple[Segment, ...]:
    """Return a difference cut where a preposition stands on both sides: "trains for long" / "bicycles for short" are two."""
    chunks = sorted({i.chunk for i in part.items})
    if len(chunks) == 1 or {i.chunk for i in part.stored} != {i.chunk for i in part.candidate}:
        return (part,)
    return tuple(
        Segment(tuple(i for i in part.stored if i.chunk == chunk), tuple(i for i in part.candidate if i.chunk == chunk))
        for chunk in chunks
    )


def kind_of(clause: Clause, items: tuple[Item, ...]) -> str:
    """Return what a phrase looks like: a name, a phrase with a determiner, a counted, numbered or bare one, a time."""
    if is_time(items):
        return "time"
    first = items[0]
    previous = clause.tokens[first.position - 1].low if first.position else ""
    if first.token.number:
        return "count"
    if first.token.name and previous not in w.DETERMINERS:
        return "name"
    if previous in w.DETERMINERS or any(i.before == "'s" for i in items[1:]):
        return "determined"
    return "numbered" if any(i.token.number for i in items) else "bare"


def is_year(items: tuple[Item, ...]) -> bool:
    """Return whether words are years: a scope of events, the value only of dates."""
    return bool(items) and all(_YEAR.match(i.token.surface) for i in items)


def is_amount(items: tuple[Item, ...]) -> bool:
    """Return whether words are an amount: a number with or without its unit, and no number that names a thing."""
    numbers = [i for i in items if i.token.number]
    if not numbers or any(is_naming(i) for i in numbers):
        return False
    return all(i.token.number or i.key in w.CALENDAR or i.key in w.UNIT_WORDS for i in items)


def is_naming(item: Item) -> bool:
    """Return whether a number names a thing: a code, or a number that follows the kind of thing."""
    if not item.token.number:
        return False
    if item.before in w.NAMING_NOUNS:
        return True
    surface = item.token.surface
    return bool(_CODE.search(surface)) and not _UNITS_IN_ONE.match(surface) and ":" not in surface


def is_time(items: tuple[Item, ...]) -> bool:
    """Return whether words are a time, a date or a rhythm."""
    if not items or not all(
        i.key in w.CALENDAR
        or i.token.low in w.CALENDAR
        or i.token.number
        or i.key in ("every", "each", "next", "other")
        for i in items
    ):
        return False
    return any(
        i.key in w.CALENDAR or i.token.low in w.CALENDAR or _CLOCK.match(i.token.surface) is not None
        for i in items
        if not is_naming(i)
    )


def is_scope(items: tuple[Item, ...]) -> bool:
    """Return whether words name an occasion, a group or an environment."""
    return any(i.key in w.SCOPE_NOUNS or i.token.low in w.SCOPE_NOUNS for i in items)
