"""Statements of the form "label: value" or "question: answer"."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from factsieve.core.guard.textnorm import fold, normalise
from factsieve.core.relation import words as w
from factsieve.core.relation.cardinality import MANY, ONE, cardinality_of
from factsieve.core.relation.reading import Reading, Relation
from factsieve.core.relation.tokens import tokenise

_LABEL_LIMIT_TOKENS: Final = 30
_PREFIXES: Final = w.words(
    "correction update note reminder todo fyi warning error info notice decision idea task log event alert ps nb attention news edit summary example hint tip namespace quote question answer"
)


class Labelled(msgspec.Struct, frozen=True):
    """A label and its value, both as written."""

    label: str
    value: str


def split(text: str) -> Labelled | None:
    """Return label and value of "label: value", None where a text has no such form."""
    plain = normalise(text).strip()
    match = re.match(r"^(.{2,200}?):\s+(\S.*)$", plain, re.DOTALL)
    if match is None:
        return None
    label, value = match.group(1).strip(), match.group(2).strip()
    first = label.split()[0].casefold()
    if (first in _PREFIXES and len(label.split()) == 1) or len(label.split()) > _LABEL_LIMIT_TOKENS:
        return None
    return Labelled(label, value)


def relate_labelled(candidate: str, stored: str, says_the_same: bool = False) -> Reading | None:
    """Return what two labelled statements of the same label are to each other, None where they are not such."""
    ours, theirs = split(candidate), split(stored)
    if ours is None or theirs is None:
        return None
    if _key(ours.label) != _key(theirs.label):
        return None
    mine, other = _value(ours.value), _value(theirs.value)
    if mine == other or (says_the_same and any(t.isdigit() for t in ours.value + theirs.value)):
        return Reading(Relation.SAME, 0.95, "the same label with the same value")
    if not mine or not other:
        return None
    cardinality = cardinality_of(ours.label, ours.value, theirs.value)
    if _contains(mine, other):
        return Reading(Relation.REFINES, 0.7 if cardinality else 0.5, "the same label with a fuller value")
    if _contains(other, mine):
        return Reading(Relation.COVERED, 0.7 if cardinality else 0.5, "the same label with a shorter value")
    if cardinality == ONE:
        return Reading(Relation.REPLACES, 0.9, "the same label, which has one value at a time, with another value")
    if cardinality == MANY:
        return Reading(Relation.BOTH_STAND, 0.9, "the same label, which can have many values")
    return Reading(Relation.CONFLICTS, 0.5, "the same label with another value")


def _key(label: str) -> tuple[str, ...]:
    return tuple(t.key for t in tokenise(label))


def _value(value: str) -> tuple[str, ...]:
    tokens = tokenise(value)
    if tokens:
        return tuple(t.low for t in tokens)
    return (fold(value),) if fold(value) else ()


def _contains(outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    return len(inner) < len(outer) and any(
        outer[i : i + len(inner)] == inner for i in range(len(outer) - len(inner) + 1)
    )
