"""The guard's values: what is known about one text, and what a comparison of two texts found.

All are plain msgspec structs of strings, numbers and tuples, so that the features of a fact can be stored with it as JSON.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

import msgspec

FEATURES_VERSION = 4
"""Raised whenever `features` would give another result for some text: stored features of another version are made again."""

FINDING_KINDS = (
    "antonym",  # opposite words: locked / unlocked, like / dislike
    "coverage",  # most of the content does not align
    "currency",  # the same amount in another currency
    "date",  # a calendar date, month, year or weekday
    "direction",  # before / after, from / to, include / exclude
    "entity",  # a name
    "hedge",  # a condition or a guess on one side only
    "identifier",  # ticket, part, host, path, hash, flag, address
    "modality",  # may, must, plans to
    "negation",  # one side denies what the other states
    "novelty",  # content that only one side has
    "number",  # a count or an amount
    "quantifier",  # all, some, only, at least
    "question",  # one side asks
    "relative_time",  # tomorrow, last week: resolved against the time of the statement
    "role_order",  # the same words, another doer
    "substitution",  # one word stands where the other text has another
    "symbol",  # emoji, operators, C / C++
    "tense",  # was, is, will be
    "time",  # time of day or its zone
    "unit",  # the same amount in another unit
    "unknown_language",  # no rules for this script: only equal texts are clear
    "version",  # a version number
)
"""Every value that `Finding.kind` can take."""


class Finding(msgspec.Struct, frozen=True):
    """One reason why two texts may not say the same.

    `kind` is one of `FINDING_KINDS`; `ours` is what the candidate has and `theirs` what the stored fact has, as short
    excerpts, empty where that side has nothing of the kind.
    """

    kind: str
    ours: str = ""
    theirs: str = ""


class Value(msgspec.Struct, frozen=True, array_like=True):
    """A number, date, time, version or identifier in its normal form.

    `family` names what it can be compared with (`number:time`, `date`, `identifier`, ...), `canonical` is equal for equal
    values however they were written, `excerpt` is the text, `position` the number of content words before it, `relative`
    tells that it was resolved against the time of the statement.
    """

    family: str
    canonical: str
    excerpt: str
    position: int
    relative: bool = False


class Word(msgspec.Struct, frozen=True, array_like=True):
    """One content word: `key` is its normal form (stem), `surface` the text in lower case.

    `role`: `n` a name, `w` an ordinary word, `r` a relation (before, from, than), `l` a light word that seldom carries the content, `p` a
    participle after a form of `to be`, `c` a piece of text written without spaces. `group` is equal for words that are members of one list;
    `owner` marks a possessive.
    """

    key: str
    surface: str
    role: str
    group: int = 0
    owner: bool = False


class Features(msgspec.Struct, frozen=True, dict=True):
    """Everything that `compare` needs to know about one text. Made by `features`, stored with the fact.

    `folded` is the text in one case and spacing (its digest where it is long); `negations` holds each negator with the content word it
    bears on; `marks` are (kind, value, excerpt) of modality, quantity, tense, question, condition and person; `small` are the function
    words, of which only the number of differences counts; `whole` tells that no part was left unread for length; `answer_at` is the
    number of content words before the last colon of a text such as `status: done`, -1 without one; `code` holds the exact tokens of a text
    that looks like program code, else nothing.
    """

    features_version: int
    language: str
    judgeable: bool
    folded: str
    words: tuple[Word, ...]
    values: tuple[Value, ...]
    negations: tuple[tuple[str, str], ...]
    marks: tuple[tuple[str, str, str], ...]
    small: tuple[str, ...] = ()
    passive: bool = False
    whole: bool = True
    answer_at: int = -1
    code: str = ""

    def prepare(self) -> Features:
        """Work out now what every comparison asks for, and return the same features."""
        _ = self.tokens, self.agreeing, self.keys, self.places, self.surfaces, self.roles, self.later_names
        return self

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The words of the folded text, small ones included, without punctuation."""
        return tuple(_TOKEN.findall(self.folded))

    @cached_property
    def agreeing(self) -> tuple[str, ...]:
        """The same with those that follow the number of what stands before them in one form: is, are."""
        return tuple([_AGREEING.get(token, token) for token in self.tokens])

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The normal forms of all words but relations, in order."""
        return tuple([word.key for word in self.words if word.role != "r"])

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each normal form stands among the words, relations included."""
        places: dict[str, list[int]] = {}
        for index, word in enumerate(self.words):
            if word.key in places:
                places[word.key].append(index)
            else:
                places[word.key] = [index]
        return places

    @cached_property
    def surfaces(self) -> frozenset[str]:
        """The words as written, in lower case, relations included."""
        return frozenset([word.surface for word in self.words])

    @cached_property
    def roles(self) -> frozenset[str]:
        """The roles that its words have."""
        return frozenset([word.role for word in self.words])

    @cached_property
    def later_names(self) -> dict[str, int]:
        """The names behind the first word, each with the list that it is a member of."""
        return {word.key: word.group for word in self.words[1:] if word.role == "n"}

    @cached_property
    def distinct(self) -> frozenset[str]:
        """The same without order and repeats."""
        return frozenset(self.keys)

    @cached_property
    def marked(self) -> dict[str, dict[str, str]]:
        """The marks by kind: value -> excerpt, the last one of equal values."""
        marked: dict[str, dict[str, str]] = {}
        for kind, value, excerpt in self.marks:
            marked.setdefault(kind, {})[value] = excerpt
        return marked

    @cached_property
    def label(self) -> str:
        """What stands before the first colon of `label: value`, else nothing."""
        label, colon, value = self.folded.partition(": ")
        return label if colon and value else ""


_TOKEN: Final = re.compile(r"[^\s.,;:!?\"()\[\]]+")
_AGREEING: Final = {"are": "is", "were": "was", "have": "has", "do": "does", "aren't": "isn't", "don't": "doesn't"}


class Comparison(msgspec.Struct, frozen=True):
    """What two texts have against being one statement.

    `findings` forbid an automatic skip, and so does `novelty`: content that the candidate has and the stored fact lacks.
    `missing` is content that only the stored fact has and does not forbid a skip: the fuller text is the stored one.
    `conflict` is the part of `findings` that makes the two exclude each other if they speak of one single-valued attribute of
    one subject. `aligned` is the share of content words that align, of both directions the smaller.
    """

    findings: tuple[Finding, ...] = ()
    novelty: tuple[Finding, ...] = ()
    missing: tuple[Finding, ...] = ()
    conflict: tuple[Finding, ...] = ()
    same_subject: bool = False
    aligned: float = 0.0
    judgeable: bool = True

    @property
    def clear(self) -> bool:
        """Whether an automatic skip is allowed."""
        return not self.findings and not self.novelty
