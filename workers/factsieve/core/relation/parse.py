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

_TOKEN: Final = re.compile(r"\S+")
_EDGE: Final = "\"'“”‘’«»()[]{}<>.,;:!?…"
_NUMBER: Final = re.compile(r"^[-+]?[$€£]?\d[\d.,:]*(?:st|nd|rd|th|%|[A-Za-z]{1,3})?$")
_NUMBER_WORDS: Final = w.words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half single double"
)
_SHORT: Final[dict[str, tuple[str, ...]]] = {
    "n't": ("not",), "can't": ("can", "not"), "cannot": ("can", "not"), "won't": ("will", "not"), "shan't": ("shall", "not"), "ain't": ("is", "not"),
}  # fmt: skip


class Token(msgspec.Struct, frozen=True, array_like=True):
    """One word: as written, in lower case, its normal form, whether it is a number or code, and whether a comma follows."""

    surface: str
    low: str
    key: str
    number: bool
    name: bool
    comma: bool


class Clause(msgspec.Struct, frozen=True):
    """The parts of one statement. `head` is everything before the verb group, `tail` everything after it.

    `tense` is present, past, perfect, future or modal; `passive` tells a participle after a form of be.
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


@lru_cache(maxsize=8192)
def verb_base(word: str) -> tuple[str, str] | None:
    """Return (base, form) of a word that can be a verb of the lists, form one of base, s, past, ing; else None."""
    if word in w.VERBS:
        if word in w.IRREGULAR and w.IRREGULAR[word] == word:
            return word, "past_or_base"
        return word, "base"
    if word in w.IRREGULAR:
        return w.IRREGULAR[word], "past"
    for ending, form in (("s", "s"), ("ed", "past"), ("ing", "ing")):
        if not word.endswith(ending) or len(word) <= len(ending) + 1:
            continue
        stem = word[: -len(ending)]
        options = [stem, stem + "e"]
        if ending == "s" and word.endswith("ies"):
            options = [word[:-3] + "y"]
        elif ending == "s" and word.endswith("es"):
            options = [word[:-2], word[:-1]]
        elif ending == "ed" and word.endswith("ied"):
            options.append(word[:-3] + "y")
        if len(stem) > 2 and stem[-1] == stem[-2]:
            options.append(stem[:-1])
        for option in options:
            if option in w.VERBS:
                return option, form
    return None


@lru_cache(maxsize=16384)
def key_of(low: str) -> str:
    """Return a word's normal form: verbs by base, nouns without plural."""
    if low in _FORMS_OF_BE:
        return "be"
    base = verb_base(low)
    if base is not None:
        return base[0]
    if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")):
        return low[:-3] + "y" if low.endswith("ies") and len(low) > 4 else low[:-1]
    return low


_FORMS_OF_BE: Final = w.BE - {"being"}


def tokenise(text: str) -> tuple[Token, ...]:
    """Return the words of a text; contractions of not and the possessive are words of their own."""
    out: list[Token] = []
    for match in _TOKEN.finditer(normalise(text)):
        raw = match.group()
        comma = raw.endswith((",", ";", ":")) or raw in ("-", ":")
        surface = raw.strip(_EDGE)
        if raw.startswith("-") and len(surface) > 1 and surface[1:2].isdigit():
            surface = raw.rstrip(_EDGE)
        if not surface or surface == "-":
            if out and (raw == "-" or comma):
                out[-1] = msgspec.structs.replace(out[-1], comma=True)
            continue
        pieces = _split(surface)
        for index, piece in enumerate(pieces):
            low = piece.casefold()
            number = bool(_NUMBER.match(piece)) or low in _NUMBER_WORDS or any(c.isdigit() for c in piece)
            name = piece[:1].isupper()
            out.append(
                Token(piece, low, low if number else key_of(low), number, name, comma and index == len(pieces) - 1)
            )
    return tuple(out)


def _split(surface: str) -> tuple[str, ...]:
    low = surface.casefold()
    if low in _SHORT:
        return _SHORT[low]
    if low.endswith("n't"):
        return surface[:-3], "not"
    for ending in ("'s", "'re", "'ve", "'ll", "'m", "'d"):
        if low.endswith(ending) and len(low) > len(ending):
            return surface[: -len(ending)], ending
    if low.endswith("s'") and len(low) > 2:
        return surface[:-1], "'s"
    return (surface,)


@lru_cache(maxsize=4096)
def parse(text: str) -> Clause:
    """Return the shallow reading of a statement."""
    tokens = tokenise(text)
    at = _verb_at(tokens)
    if at is None:
        return Clause(tokens, (), tokens, None, "none", _negated(tokens), False, False, "", ())
    return _group(tokens, at)


def _negated(tokens: tuple[Token, ...]) -> bool:
    return any(t.low in w.NEGATORS for t in tokens)


def _verb_at(tokens: tuple[Token, ...]) -> int | None:
    """Return where the first finite verb of the main clause stands."""
    relative = False
    limit = len(tokens)
    for index, token in enumerate(tokens):
        if index == 0 and token.low not in ("there", "we", "i", "you", "it", "they", "he", "she"):
            if token.low in w.BE or token.low in w.DO or token.low in w.MODALS:
                return None
            continue
        before = tokens[index - 1]
        if (
            index > 1
            and token.low in w.PRONOUNS
            and not before.comma
            and before.low not in w.CONJUNCTIONS
            and before.low not in w.PREPOSITIONS
        ):
            relative = True  # "the offer we sent to ...": the next verb belongs to the noun before
            continue
        if before.low in w.DETERMINERS and token.low not in w.BE:
            continue
        if before.low in w.PREPOSITIONS and token.low not in w.BE and token.low not in w.MODALS:
            continue
        if not _finite(tokens, index, limit):
            continue
        if relative:
            relative = False
            continue
        return index
    return None


def _finite(tokens: tuple[Token, ...], index: int, limit: int) -> bool:
    token, before = tokens[index], tokens[index - 1] if index else None
    if token.low == "'s":
        # "he's", "there's": be; "Nora's": possessive
        following = tokens[index + 1].low if index + 1 < limit else ""
        return (
            (before is not None
            and (before.low in w.PRONOUNS or before.low in ("there", "here")))
            or following in ("been", "not")
        )
    if token.low == "'d" or token.low in ("'ll", "'ve", "'re", "'m"):
        return True
    if token.low in w.BE and token.low not in ("being", "been", "be"):
        return True
    if token.low in w.HAVE or token.low in w.DO or token.low in w.MODALS:
        return not (token.low == "may" and token.name and index > 0)
    base = verb_base(token.low)
    if base is None or (token.name and index > 0 and token.low != token.surface and not token.surface.isupper()):
        return False
    form = base[1]
    plural_subject = before is not None and (
        before.low in ("we", "you", "they", "i", "people") or (before.low.endswith("s") and before.low != "'s")
    )
    following = tokens[index + 1] if index + 1 < limit else None
    if form == "ing":
        return False
    if form == "base":
        return plural_subject
    if form == "s":
        # "the team leads meet": a noun where another finite verb follows at once
        if following is not None and (following.low in w.BE or following.low in w.MODALS or following.low in w.HAVE):
            return False
        return before is not None and before.low != "'s" and before.low not in w.PREPOSITIONS
    return before is not None and before.low != "'s"


def _group(tokens: tuple[Token, ...], at: int) -> Clause:
    """Read the verb group that starts at a token."""
    seen: list[str] = []
    adverbs: list[str] = []
    negated = _subject_denies(tokens[:at])
    passive = progressive = False
    modal, main, tense = "", None, "present"
    index, end = at, at
    while index < len(tokens):
        token = tokens[index]
        low = token.low
        if low in w.NEGATORS and low not in ("nor", "neither", "without"):
            if low == "no" and index + 1 < len(tokens) and tokens[index + 1].low != "longer":
                negated = True
                end = index + 1
                break
            negated = True
        elif (
            (low == "longer"
            and index
            and tokens[index - 1].low == "no")
            or low in _ADVERBS
            or (low.endswith("ly") and verb_base(low) is None and len(low) > 4)
        ):
            adverbs.append(low)
        elif main is None and low in w.MODALS:
            modal, tense = low, "future" if low in ("will", "shall", "'ll") else "modal"
        elif low in _FORMS_OF_BE:
            if main is not None and main != "be" and seen and seen[-1] != "have":
                break
            if low in ("was", "were"):
                tense = "past"
            main = "be"
            seen.append("be")
        elif low in w.HAVE and main is None:
            if low == "had":
                tense = "past"
            main = "have"
            seen.append("have")
        elif low in w.DO and main is None:
            if low == "did":
                tense = "past"
            main = "do"
            seen.append("do")
        else:
            base = verb_base(low)
            if main is None and base is not None:
                main = base[0]
                if base[1] == "past" or (base[1] == "past_or_base" and not _third_person_plural(tokens, at)):
                    tense = "past"
                end = index + 1
                break
            if main == "do" and base is not None and base[1] in ("base", "past_or_base"):
                main, end = base[0], index + 1
                break
            if (
                main in ("be", "have")
                and base is not None
                and base[1] in ("past", "past_or_base")
                and not (main == "have" and tokens[index - 1].low in w.DETERMINERS)
            ):
                if main == "be":
                    passive = True
                else:
                    tense = "perfect" if tense == "present" else tense
                main, end = base[0], index + 1
                break
            if main == "be" and base is not None and base[1] == "ing":
                progressive = True
                main, end = base[0], index + 1
                break
            if main is None and modal and base is not None:
                main, end = base[0], index + 1
            break
        index += 1
        end = index
    if "have" in seen and "be" in seen and tense == "present":
        tense = "perfect"
    return Clause(tokens, tokens[:at], tokens[end:], main, tense, negated, passive, progressive, modal, tuple(adverbs))


def _third_person_plural(tokens: tuple[Token, ...], at: int) -> bool:
    return at > 0 and tokens[at - 1].low.endswith("s")


def _subject_denies(head: tuple[Token, ...]) -> bool:
    return any(t.low in ("nobody", "none", "nothing", "neither") for t in head) or (bool(head) and head[0].low == "no")


_ADVERBS: Final = w.words(
    "also still already always never usually often now just again currently only even ever mostly mainly sometimes rarely seldom yet soon then generally typically normally no longer recently finally almost nearly about quite very really too"
)
