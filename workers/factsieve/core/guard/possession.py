"""Whose a thing is, and which part of a thing is spoken of."""

from __future__ import annotations

from typing import Final

from factsieve.core.guard.lexicon import words
from factsieve.core.guard.model import Features, Finding, Word

_BEARING: Final = words(
    "of in for by from with at to on about into within inside belonging owned via through under over"
)
_DETERMINERS: Final = words("a an the my your his her its our their this that these those")
_AMOUNTS: Final = words(
    "group groups pair pairs couple piece pieces crowd bunch lot lots number amount kind kinds type types sort"
    " sorts set sets team bit bits slice slices cup cups glass bottle bowl plate box stack pile row rows line list"
    " series collection variety majority rest city town village state country name names value values total sum"
    " use usage process act way method body bodies stretch expanse patch chunk sheet flock herd pack gang number"
    " people one ones all some many most each any image picture photo case form version instance example copy"
    " field area level concept idea purpose role meaning"
)
"""Words that say no more than the amount, kind or wording of what follows `of`."""


def owner_finding(
    candidate: Features, stored: Features, ours: tuple[str, ...], theirs: tuple[str, ...]
) -> Finding | None:
    """Return a finding where a thing has another owner, or where the whole stands for its part: `the lid of the jar`, `the jar`."""
    for part, whole in ((theirs, ours), (ours, theirs)):
        if _is_part(part, whole):
            return Finding("entity", " ".join(ours)[:80], " ".join(theirs)[:80])
    mine, other = _owners(candidate), _owners(stored)
    if not mine and not other:
        return None
    if any(_several(a) != _several(b) for a in mine.values() for b in other.values() if a.key == b.key):
        return Finding("entity", " ".join(mine), " ".join(other))
    keys, known = set(candidate.keys), set(stored.keys)
    lost = [key for key in other if key not in keys and _owned(stored, key)]
    if lost:
        return Finding("entity", "", other[lost[0]].surface)
    turned_here = [key for key in mine if key in known and key not in other]
    turned_there = [key for key in other if key in keys and key not in mine]
    if turned_here and turned_there:
        return Finding("entity", mine[turned_here[0]].surface, other[turned_there[0]].surface)
    for key in turned_there:
        if _freed(candidate, stored, key):
            return Finding("entity", "", other[key].surface + "'s")
    for key in turned_here:
        if _freed(stored, candidate, key):
            return Finding("entity", mine[key].surface + "'s", "")
    return None


def _owners(text: Features) -> dict[str, Word]:
    return {word.key: word for word in text.words if word.owner}


def _several(word: Word) -> bool:
    """Return whether an owner is more than one: the children's, the child's."""
    return word.surface in ("children's", "women's", "men's", "people's", "children", "women", "men", "people")


def _owned(text: Features, key: str) -> bool:
    """Return whether an owner is itself somebody's: `Tom's sister's dog`."""
    return any(
        word.owner and word.key == key and index and text.words[index - 1].owner
        for index, word in enumerate(text.words)
    )


def _is_part(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Return whether one text says `<part> of the` where the other has nothing, or an article: `the road to the lake`, `the lake`."""
    if part and whole and part[-1].removesuffix("'s") == whole[-1]:  # a friend of Dana's
        part, whole = part[:-1], whole[:-1]
    if len(whole) > 1 or (whole and whole[0] not in _DETERMINERS):
        return False
    left = list(part)
    while left and left[-1] in _DETERMINERS:
        left.pop()
    if len(left) < 2 or left[-1] not in _JOINS:
        return False
    named = [word for word in left[:-1] if word not in _DETERMINERS]
    return 0 < len(named) <= _LONGEST and _AMOUNTS.isdisjoint(named) and not _VERBS.intersection(named)


_JOINS: Final = words("of to in at on from for near behind under between beside")
_VERBS: Final = words("is are was were be been being has have had do does did can will not no and or but")
_LONGEST: Final = 3


def _freed(text: Features, other: Features, key: str) -> bool:
    """Return whether an owner in `other` stands alone in `text`: with no word that bears on it, and not before what it owns."""
    names = text.words
    at = next((i for i, word in enumerate(names) if word.key == key and not word.owner), -1)
    there = next(i for i, word in enumerate(other.words) if word.key == key and word.owner)
    if at < 0 or names[at].role == "r":
        return False
    owned = {word.key for word in other.words[there + 1 : there + 2]}
    if at + 1 < len(names) and names[at + 1].key in owned and names[at].role != "n":
        return False
    tokens = text.folded.split()
    places = [i for i, token in enumerate(tokens) if token.strip(".,;:!?\"'()") == names[at].surface]
    if not places:
        return False
    before = tokens[max(0, places[0] - 4) : places[0]]
    return _BEARING.isdisjoint(before)
