"""Who denies what: negations and opposites of two texts set against each other."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from factsieve.core.guard.align import Alignment
from factsieve.core.guard.model import Features, Finding


def polarity_findings(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Compare who denies what. `not open` and `closed` cancel each other: a negation that bears on one of two opposite words."""
    ours, theirs = len(candidate.negations), len(stored.negations)
    if ours != theirs and not alignment.opposites and _avoided(candidate, stored, alignment):
        return []
    if alignment.opposites:
        denied = {key for _, key in candidate.negations} if ours > theirs else {key for _, key in stored.negations}
        cancelled = [
            (i, j)
            for i, j in alignment.opposites
            if ours != theirs and (alignment.ours[i].key in denied or alignment.theirs[j].key in denied)
        ]
        if len(cancelled) == len(alignment.opposites) == abs(ours - theirs):
            return []
        return [
            Finding("antonym", alignment.ours[i].surface, alignment.theirs[j].surface) for i, j in alignment.opposites
        ]
    if ours == theirs:
        return _scope(candidate, stored, alignment) if ours else []
    if (
        ours
        and theirs
        and not _denied_elsewhere(candidate, stored, alignment)
        and not _denied_elsewhere(stored, candidate, alignment)
    ):
        return []
    return [Finding("negation", " ".join(n[0] for n in candidate.negations), " ".join(n[0] for n in stored.negations))]


def _avoided(candidate: Features, stored: Features, alignment: Alignment) -> bool:
    """Return whether all that one text denies more, the other avoids (`not copy`, `avoid copying`); that word is no content then."""
    ours, theirs = len(candidate.negations), len(stored.negations)
    here = ours < theirs
    fewer, more = (candidate, stored) if here else (stored, candidate)
    open_words = alignment.open_ours if here else alignment.open_theirs
    keys = {key for _, key in more.negations}
    avoiding = [
        index
        for index in open_words
        if fewer.words[index].surface in _AVOIDING and any(w.key in keys for w in fewer.words[index + 1 : index + 4])
    ]
    if len(avoiding) != abs(ours - theirs):
        return False
    for index in avoiding:
        open_words.remove(index)
    return True


_AVOIDING: Final = frozenset(
    (
        "avoid",
        "avoids",
        "avoided",
        "avoiding",
        "prevent",
        "prevents",
        "prevented",
        "preventing",
        "zero",
        "absent",
        "missing",
    )
)


def _denied_elsewhere(one: Features, other: Features, alignment: Alignment) -> bool:
    """Return whether `one` denies a word that `other` states."""
    twins: dict[str, str] = {}
    for i, j in alignment.pairs:
        ours, theirs = alignment.ours[i].key, alignment.theirs[j].key
        twins[ours], twins[theirs] = theirs, ours
    denied_there = {key for _, key in other.negations}
    return any(
        not key or (key in twins and twins[key] not in denied_there and key not in denied_there)
        for _, key in one.negations
    )


def _scope(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Find a negation that bears on another of the shared words: `tea rather than coffee`, `coffee rather than tea`."""
    if alignment.share() < _SAME_WORDS:
        return []
    left = list(stored.negations)
    ours = [negation for negation in candidate.negations if not _take_denial(negation, left)]
    if not ours:
        return _moved_out_of(candidate, stored, alignment)
    if any(not key for _, key in (*ours, *left)):
        return []
    words, others = [word.key for word in candidate.words], [word.key for word in stored.words]
    for (our_word, our_key), (their_word, their_key) in zip(ours, left, strict=True):
        if our_key not in others or their_key not in words:
            continue
        if our_word == their_word and (_follows(their_key, our_key, words) or _follows(our_key, their_key, others)):
            continue  # `not in the formats of CSV`, `not in CSV`
        if {our_word, their_word} == {"no", "not"} and (words.index(our_key) < words.index(their_key)) != (
            others.index(our_key) < others.index(their_key)
        ):
            continue  # `no way is mentioned`, `does not mention any way`
        return [Finding("negation", f"{our_word} {our_key}", f"{their_word} {their_key}")]
    return []


def _moved_out_of(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Find a word that a contrast denies in one text only: `seen in one pit, but never whole`, `seen, but never whole or in one pit`."""
    denied = candidate.negations[0][1] if len(candidate.negations) == 1 else ""
    if not denied or not (_CONTRASTS & set(candidate.small) & set(stored.small)) or alignment.share() < 1:
        return []
    here, there = (next((i for i, w in enumerate(f.words) if w.key == denied), -1) for f in (candidate, stored))
    if here < 0 or there < 0:
        return []
    for i, j in alignment.pairs:
        if (i > here) != (j > there) and i and j and alignment.ours[i].role != "r":
            return [Finding("negation", alignment.ours[i].surface, alignment.ours[here].surface)]
    return []


_CONTRASTS: Final = frozenset(("but", "although", "though", "yet"))


def _take_denial(negation: tuple[str, str], left: list[tuple[str, str]]) -> bool:
    """Take out of `left` a negation of the same word."""
    for index, (_, key) in enumerate(left):
        if key == negation[1]:
            del left[index]
            return True
    return False


def _follows(key: str, before: str, words: list[str]) -> bool:
    """Return whether a word stands right behind another one."""
    return any(
        one == before and key in (other, *words[i + 2 : i + 3]) for i, (one, other) in enumerate(pairwise(words))
    )


_SAME_WORDS: Final = 0.9
