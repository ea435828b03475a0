"""Guard features, computed once per text and process.

They are a function of the text (and, where it names a relative time, of when it was said), so remembering them changes no answer.
"""

from datetime import UTC, datetime
from functools import lru_cache

from factsieve.core import guard

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=65536)
def _relative(text: str) -> bool:
    return guard.names_relative_time(text)


@lru_cache(maxsize=16384)
def _features(text: str, occurred_at: datetime) -> guard.Features:
    return guard.features(text, occurred_at)


def features_of(text: str, occurred_at: datetime) -> guard.Features:
    """Return the guard's features of a text said at `occurred_at`."""
    return _features(text, occurred_at if _relative(text) else _EPOCH)


@lru_cache(maxsize=16384)
def _comparison(candidate: str, candidate_at: datetime, stored: str, stored_at: datetime) -> guard.Comparison:
    return guard.compare(_features(candidate, candidate_at), _features(stored, stored_at))


def compare(candidate: str, candidate_at: datetime, stored: str, stored_at: datetime) -> guard.Comparison:
    """Return the guard's comparison of a candidate's text with a stored one's."""
    return _comparison(
        candidate,
        candidate_at if _relative(candidate) else _EPOCH,
        stored,
        stored_at if _relative(stored) else _EPOCH,
    )
