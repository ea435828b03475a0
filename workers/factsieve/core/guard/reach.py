"""How far a statement reaches: a shorter text is not always the smaller claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from factsieve.core.guard.align import Alignment
from factsieve.core.guard.model import Features, Finding
from factsieve.core.guard.thesaurus import only_verb

_WHOLE: Final = ("every", "each", "all", "any", "no", "only")


def reach_findings(
    candidate: Features, stored: Features, alignment: Alignment, missing: Sequence[Finding]
) -> list[Finding]:
    """Return where the candidate, which lacks a word of the stored fact, says something else by that.

    `every night` claims more than `every Sunday night`; `is on the second floor` is what `has moved from the second floor to the
    basement` denies. `missing` are the values (numbers, days) that the candidate lacks.
    """
    gone = [alignment.theirs[j].surface for j in alignment.open_theirs if alignment.theirs[j].role != "l"]
    gone += [finding.theirs for finding in missing]
    if not gone and not alignment.open_theirs:
        return []
    return [*_widened(candidate, stored, gone), *_left_behind(candidate, stored, alignment)]


def _widened(candidate: Features, stored: Features, gone: list[str]) -> list[Finding]:
    ours, theirs = f" {candidate.folded} ", f" {stored.folded} "
    wholes = [whole for whole in _WHOLE if f" {whole} " in ours and f" {whole} " in theirs]
    for word in gone if wholes else ():
        for whole in wholes:
            narrow = f" {whole} {word.lower()} "
            if narrow in theirs and narrow not in ours:
                return [Finding("quantifier", whole, narrow.strip())]
    return []


def _left_behind(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Find a stored change `from X to Y` of which the candidate names X alone, as if it still held."""
    if "from" in candidate.surfaces or "from" not in stored.surfaces or "to" not in stored.surfaces:
        return []
    origin = _object_after("from", stored)
    target = _object_after("to", stored) if origin is not None else None
    if origin is None or target is None or only_verb(stored.words[target].surface):
        return []
    matched = {j for _, j in alignment.pairs}
    if origin in matched and target in alignment.open_theirs:
        return [Finding("direction", stored.words[origin].surface, stored.words[target].surface)]
    return []


def _object_after(preposition: str, features: Features) -> int | None:
    for index, word in enumerate(features.words):
        if word.role == "r" and word.surface == preposition:
            following = (i for i in range(index + 1, len(features.words)) if features.words[i].role != "r")
            return next(following, None)
    return None
