"""Which parts of two statements differ, and what kind of part each is: head, verb or tail; amount, time, name, scope."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Final

import msgspec

from factsieve.core.relation import words as w
from factsieve.core.relation.parse import Clause, Token

_WORD_NUMBERS: Final[dict[str, str]] = {
    name: str(value)
    for value, name in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]
    )
} | {"single": "1", "double": "2", "half": "0.5", "first": "1st", "second": "2nd", "third": "3rd"}
_GROUPED: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_CLOCK: Final = re.compile(r"^\d{1,2}(?::\d\d)?(?:am|pm|h)?$", re.IGNORECASE)
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


def items_of(clause: Clause) -> tuple[Item, ...]:
    """Return the content words of a clause in order."""
    out: list[Item] = []
    head, tail = len(clause.head), len(clause.tokens) - len(clause.tail)
    chunk, preposition, broken = 0, "", False
    for index, token in enumerate(clause.tokens):
        low = token.low
        region = "h" if index < head else "t" if index >= tail else "v"
        if region == "t" and index == tail:
            chunk, preposition, broken = 0, "", False
        if low in w.PREPOSITIONS and not token.number:
            chunk, preposition = chunk + 1, low
            if low in ("with", "without") and index and clause.tokens[index - 1].comma and region == "t":
                broken = True
            continue
        if region == "t" and low in _BREAKS and index > tail:
            broken = True
        skip = low in w.LIGHT or low in w.NEGATORS or (region == "v" and (low in w.MODALS or low in clause.adverbs))
        if not skip:
            before = clause.tokens[index - 1].key if index else ""
            out.append(Item(number_key(token), token, region, index, chunk, preposition, broken, before))
        if (
            token.comma
            and region == "t"
            and index + 1 < len(clause.tokens)
            and not clause.tokens[index + 1].number
            and clause.tokens[index + 1].low not in w.PREPOSITIONS - {"with", "without", "as"}
        ):
            broken = True
    return tuple(out)


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


def is_amount(items: tuple[Item, ...]) -> bool:
    """Return whether words are an amount: numbers with or without a unit, and no number that names a thing."""
    numbers = [i for i in items if i.token.number]
    if not numbers:
        return False
    return not any(is_naming(i) for i in numbers) and all(
        i.token.number or i.key in w.CALENDAR or not i.token.name for i in items
    )


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
    return bool(items) and all(
        i.key in w.CALENDAR
        or i.token.low in w.CALENDAR
        or (i.token.number
        and not is_naming(i))
        or _CLOCK.match(i.token.surface) is not None
        or i.key in ("every", "each", "next", "other")
        for i in items
    )


def is_scope(items: tuple[Item, ...]) -> bool:
    """Return whether words name an occasion, a group or an environment."""
    return any(i.key in w.SCOPE_NOUNS or i.token.low in w.SCOPE_NOUNS for i in items)
