"""Guard features, computed once per text and process.

They are a function of the text (and, where it names a relative time, of when it was said), so remembering them changes no answer.
"""

from datetime import UTC, datetime
from functools import lru_cache

from factsieve.core import guard

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=16384)
def _features(text: str, occurred_at: datetime) -> guard.Features:
    return guard.features(text, occurred_at)


@lru_cache(maxsize=16384)
def names_relative_time(text: str) -> bool:
    """Return whether a text names a time that depends on when it is said."""
    return any(value.relative for value in _features(text, _EPOCH).values)


def _said_at(text: str, occurred_at: datetime) -> datetime:
    """Return what a text's features depend on of the time that it was said at: all of it, or nothing."""
    return occurred_at if names_relative_time(text) else _EPOCH


def features_of(text: str, occurred_at: datetime) -> guard.Features:
    """Return the guard's features of a text said at `occurred_at`."""
    return _features(text, _said_at(text, occurred_at))


@lru_cache(maxsize=16384)
def _comparison(candidate: str, candidate_at: datetime, stored: str, stored_at: datetime) -> guard.Comparison:
    return guard.compare(_features(candidate, candidate_at), _features(stored, stored_at))


def compare(candidate: str, candidate_at: datetime, stored: str, stored_at: datetime) -> guard.Comparison:
    """Return the guard's comparison of a candidate's text with a stored one's."""
    return _comparison(candidate, _said_at(candidate, candidate_at), stored, _said_at(stored, stored_at))
