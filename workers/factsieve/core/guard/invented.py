"""`introduces`: what a text written by a model brings in that none of its sources has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from factsieve.core.guard.extract import features
from factsieve.core.guard.values import _same

_AT = datetime(2024, 5, 15, 12)


def introduces(text: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the numbers, names and identifiers of `text` that no source has, as short excerpts in order of appearance."""
    ours = features(text, _AT)
    known = [features(source, _AT) for source in sources]
    values = [value for other in known for value in other.values]
    keys = {word.key for other in known for word in other.words}
    surfaces = {word.surface for other in known for word in other.words}
    new = [value.excerpt for value in ours.values if not any(_same(value, other) for other in values)]
    new += [
        word.surface
        for word in ours.words
        if word.role == "n" and word.key not in keys and word.surface not in surfaces
    ]
    return tuple(dict.fromkeys(new))
