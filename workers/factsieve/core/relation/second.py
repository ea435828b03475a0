"""The second look at near-misses: facts below every band that seem to be about the same attribute of the same subject."""

from __future__ import annotations

from typing import Final

from factsieve.core.guard import Features

LEAST_SHARED: Final = 0.6
LEAST_WORDS: Final = 2


def second_look(candidate: Features, stored: Features, similarity: float) -> bool:
    """Return whether a fact that lies too far for the bands should be shown to the judge all the same.

    Same label ("label: value"), or the same first content word and most content words in common. `similarity` is not used to
    decide: the caller bounds it from below.
    """
    label, other = _label(candidate.folded), _label(stored.folded)
    if label and other:
        return label == other
    ours = [word.key for word in candidate.words if word.role not in "lr"]
    theirs = [word.key for word in stored.words if word.role not in "lr"]
    if len(ours) < LEAST_WORDS or len(theirs) < LEAST_WORDS or ours[0] != theirs[0]:
        return False
    shared = len(set(ours) & set(theirs))
    return (
        shared >= LEAST_WORDS
        and shared >= LEAST_SHARED * min(len(set(ours)), len(set(theirs)))
        and shared >= 0.4 * max(len(set(ours)), len(set(theirs)))
    )


def _label(folded: str) -> str:
    label, colon, value = folded.partition(": ")
    return label if colon and value else ""
