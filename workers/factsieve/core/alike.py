"""A candidate's wording brought near to a stored one's, where the guard knows that nothing but the writing differs.

Language models of inference take `23:30` and `11:30 p.m.`, or `2 GiB` and `2048 MiB`, for a contradiction. The guard has read such values
and knows them to be equal, so the question is put to the model with the candidate's value written as the stored text writes it.
"""

from datetime import datetime

from factsieve.core import memo
from factsieve.core.guard.textnorm import fold, normalise


def aligned(candidate: str, candidate_at: datetime, stored: str, stored_at: datetime) -> str:
    """Return the candidate's text with every value that the stored text holds too written as it is there."""
    ours, theirs = memo.features_of(candidate, candidate_at), memo.features_of(stored, stored_at)
    written = {(value.family, value.canonical): value.excerpt for value in theirs.values}
    text = candidate
    for value in ours.values:
        other = written.get((value.family, value.canonical))
        if other is not None and other != value.excerpt and value.excerpt in text:
            text = text.replace(value.excerpt, other, 1)
    return text


def same_words(one: str, other: str) -> bool:
    """Return whether two texts differ in case, width, spacing and quotes at most."""
    return fold(normalise(one)) == fold(normalise(other))
