"""A candidate's wording brought near to a stored one's, where the guard knows that nothing but the writing differs.

Language models of inference take `23:30` and `11:30 p.m.`, or `2 GiB` and `2048 MiB`, for a contradiction. The guard has read such values
and knows them to be equal, so the question is put to the model with the candidate's value written as the stored text writes it.
"""

from datetime import datetime
from typing import Final

from factsieve.core import memo
from factsieve.core.guard.textnorm import fold, normalise


def aligned(candidate: str, candidate_at: datetime, stored: str, stored_at: datetime) -> str:
    """Return the candidate's text with every value that the stored text holds too written as it is there."""
    ours, theirs = memo.features_of(candidate, candidate_at), memo.features_of(stored, stored_at)
    written: dict[tuple[str, str], list[str]] = {}
    for value in theirs.values:
        written.setdefault((value.family, value.canonical), []).append(value.excerpt)
    text = candidate
    for value in ours.values:
        others = written.get((value.family, value.canonical), [value.excerpt])
        if value.excerpt not in others and value.excerpt in text:
            text = text.replace(value.excerpt, others[-1], 1)
    return text


LONG: Final = 14
"""From so many words on, in the shorter of two texts, a model of inference is louder: repeats score higher than short ones do."""
_LOUDER: Final = 1.6
"""By how much what is missing to a certain contradiction counts more in long texts: 0.95 counts as 0.92. Measured on the training sets."""


def counted(contradiction: float, one: str, other: str) -> float:
    """Return a contradiction score (0..1) as it counts against a skip: a little less where both texts are long."""
    if min(len(one.split()), len(other.split())) < LONG:
        return contradiction
    return max(0.0, 1.0 - (1.0 - contradiction) * _LOUDER)


def same_words(one: str, other: str) -> bool:
    """Return whether two texts differ in case, width, spacing and quotes at most."""
    return fold(normalise(one)) == fold(normalise(other))
