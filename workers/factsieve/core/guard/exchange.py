"""Words that changed places while all others stayed: another doer, another order, another thing described."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from factsieve.core.guard.lexicon import words
from factsieve.core.guard.model import Features, Finding
from factsieve.core.guard.oneplace import UNSPACED, common_ends

_FREE_ORDER: Final = frozenset(("ru", "pl", "tr", "hi", "ko"))
"""Languages whose endings tell who does it, in any order."""
_VERB_SECOND: Final = frozenset(("de", "nl"))
"""Languages in which what begins a statement changes places with the subject around the verb: a time, an object."""
_JOINING: Final = words(
    "and or und oder y e o et ou и или with = == both & plus as nor sowie und/oder and/or vs versus 和 与 與 跟 及 と や"
    " 、 或"
)
"""What stands between two that may be named in either order."""
_COPULAS: Final = words("is was are were ist war sind est era es fue è é は 是")
_NO_ONE: Final = words("a an all every any each some no ein eine alle jeder un une tout tous una todo todos")
"""Whoever is the treasurer, the treasurer is he; what is a square is a rectangle, and not the other way round."""
_LETTERS: Final = re.compile(r"[^\W_]")
_DETERMINERS: Final = words("a an the my your his her its our their this that every each no")
_LONGEST: Final = 60
"""Longer texts than so many words, or characters without spaces, are not searched for an exchange."""


def exchanged(ours: tuple[str, ...], theirs: tuple[str, ...], candidate: Features, stored: Features) -> Finding | None:
    """Return a finding where two pieces changed places around a third, or where a word describes another thing than before."""
    if candidate.language == "en":
        ours, theirs = _bare(ours), _bare(theirs)
    elif candidate.language in UNSPACED:
        ours, theirs = _characters(candidate.folded), _characters(stored.folded)
    if (
        candidate.language in _FREE_ORDER
        or len(ours) != len(theirs)
        or ours == theirs
        or len(ours) > _LONGEST
        or sorted(ours) != sorted(theirs)
    ):
        return None
    head, tail = common_ends(ours, theirs)
    one, other = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    around = _exchange(one, other)
    if around is not None:
        first, middle, last = around
        alike = candidate.language not in _VERB_SECOND or len(first) == len(last)
        named = len(middle) == 1 and middle[0] in _COPULAS and _NO_ONE.isdisjoint((*first, *last))
        if _JOINING.isdisjoint(middle) and alike and not named:
            return Finding("role_order", " ".join(one)[:80], " ".join(other)[:80])
        return None
    if candidate.language == "en" and (
        _moved_description(ours, theirs, head, tail) or _moved_description(theirs, ours, head, tail)
    ):
        return Finding("role_order", " ".join(one)[:80], " ".join(other)[:80])
    return None


def _bare(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words with every pronoun in its first form: who visits us may be visited by us."""
    return (
        tokens
        if _FIRST_FORMS.keys().isdisjoint(tokens)
        else tuple([_FIRST_FORMS.get(token, token) for token in tokens])
    )


_FIRST_FORMS: Final = {"us": "we", "me": "i", "him": "he", "them": "they"}


def _characters(folded: str) -> tuple[str, ...]:
    return tuple(c for c in folded if _LETTERS.match(c) or c in _JOINING)


def _exchange(one: Sequence[str], other: Sequence[str]) -> tuple[Sequence[str], Sequence[str], Sequence[str]] | None:
    """Return the pieces X, m, Y of `one` if `other` is Y m X, with something in the middle."""
    size = len(one)
    for x in range(1, size - 1):
        if tuple(one[:x]) != tuple(other[size - x :]):
            continue
        for y in range(1, size - x):
            if tuple(one[size - y :]) == tuple(other[:y]) and tuple(one[x : size - y]) == tuple(other[y : size - x]):
                return one[:x], one[x : size - y], one[size - y :]
    return None


def _moved_description(one: Sequence[str], other: Sequence[str], head: int, tail: int) -> bool:
    """Return whether one word moved from before one thing to before another: `the old man with the dog`, `the man with the old dog`."""
    last = len(one) - tail - 1
    word = one[head]
    if other[last] != word or tuple(one[head + 1 : last + 1]) != tuple(other[head:last]):
        return False
    if head == 0 or last + 1 > len(other) - 1 or word.endswith("ly") or word in _ADVERBS:
        return False
    describes = (one[head - 1] in _DETERMINERS or one[head - 1].endswith("'s")) and one[head + 1] not in _DETERMINERS
    return describes and other[last - 1] not in _BE_FORMS and other[last + 1] != one[head + 1]


_BE_FORMS: Final = words("is are was were be been and or to")
_ADVERBS: Final = words("also only now still just even again often always never soon already too then here there today")
