"""Words with their normal forms: verbs by their base, nouns without plural, contractions taken apart."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from factsieve.core.guard.textnorm import normalise
from factsieve.core.relation import words as w

_TOKEN: Final = re.compile(r"\S+")
_QUOTES: Final = "\"'“”‘’«»()[]{}<>`*_"
_EDGE: Final = _QUOTES + ".,;:!?…"
_NUMBER: Final = re.compile(r"^[-+]?[$€£]?\d[\d.,:]*(?:st|nd|rd|th|%|[A-Za-z]{1,3})?$")
_NUMBER_WORDS: Final = w.words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half single double"
    " first third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_SHORT: Final[dict[str, tuple[str, ...]]] = {
    "n't": ("not",),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("is", "not"),
}
_DASHES: Final = re.compile(r"(?<=\w)--(?=\w)")
FORMS_OF_BE: Final = w.BE - {"being"}


class Token(msgspec.Struct, frozen=True, array_like=True):
    """One word: as written, in lower case, its normal form, whether it is a number or code, whether it is capitalised, and
    whether a comma, colon or dash follows."""

    surface: str
    low: str
    key: str
    number: bool
    name: bool
    comma: bool


@lru_cache(maxsize=8192)
def verb_base(word: str) -> tuple[str, str] | None:
    """Return (base, form) of a word that can be a verb of the lists, form one of base, past_or_base, s, past, ing; else None."""
    if word in w.VERBS:
        return word, "past_or_base" if w.IRREGULAR.get(word) == word else "base"
    if word in w.IRREGULAR:
        return w.IRREGULAR[word], "past"
    for ending, form in (("s", "s"), ("ed", "past"), ("ing", "ing")):
        if not word.endswith(ending) or len(word) <= len(ending) + 1:
            continue
        for option in _bases(word, ending):
            if option in w.VERBS:
                return option, form
    return None


def _bases(word: str, ending: str) -> list[str]:
    stem = word[: -len(ending)]
    options = [stem, stem + "e"]
    if ending == "s" and word.endswith("ies"):
        options = [word[:-3] + "y", stem]
    elif ending == "s" and word.endswith("es"):
        options = [stem, word[:-2]]
    elif ending == "ed" and word.endswith("ied"):
        options.append(word[:-3] + "y")
    elif ending == "s":
        options = [stem]
    if len(stem) > 2 and stem[-1] == stem[-2]:
        options.append(stem[:-1])
    return options


@lru_cache(maxsize=16384)
def key_of(low: str) -> str:
    """Return a word's normal form: verbs by base, nouns without plural."""
    if low in FORMS_OF_BE:
        return "be"
    base = verb_base(low)
    if base is not None:
        return base[0]
    if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")):
        return low[:-3] + "y" if low.endswith("ies") and len(low) > 4 else low[:-1]
    return low


def tokenise(text: str) -> tuple[Token, ...]:
    """Return the words of a text; contractions of not and the possessive are words of their own."""
    out: list[Token] = []
    plain = normalise(text)
    for match in _TOKEN.finditer(_DASHES.sub(" - ", plain) if "--" in plain else plain):
        raw = match.group()
        comma = raw.rstrip(_QUOTES).endswith((",", ";", ":")) or raw == "-"
        surface = raw.strip(_EDGE)
        if raw.startswith("-") and surface[1:2].isdigit():
            surface = raw.rstrip(_EDGE)
        if not surface or surface == "-":
            if out and (raw == "-" or comma):
                out[-1] = msgspec.structs.replace(out[-1], comma=True)
            continue
        pieces = _split(surface)
        for index, piece in enumerate(pieces):
            low = piece.casefold()
            number = low in _NUMBER_WORDS or (not piece.isalpha() and _is_number(piece))
            last = index == len(pieces) - 1
            out.append(Token(piece, low, low if number else key_of(low), number, piece[:1].isupper(), comma and last))
    return tuple(out)


def _is_number(piece: str) -> bool:
    return _NUMBER.match(piece) is not None or any(c.isdigit() for c in piece)


def _split(surface: str) -> tuple[str, ...]:
    low = surface.casefold()
    if low in _SHORT:
        return _SHORT[low]
    if "'" not in low:
        return (surface,)
    if low.endswith("n't") and len(low) > 3:
        return surface[:-3], "not"
    for ending in ("'s", "'re", "'ve", "'ll", "'m", "'d"):
        if low.endswith(ending) and len(low) > len(ending):
            return surface[: -len(ending)], ending
    if low.endswith("s'") and len(low) > 2:
        return surface[:-1], "'s"
    return (surface,)
