"""Two texts as plain words, and the one stretch in which they differ."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

SMALL: Final = 4
"""Longer stretches that differ are rewording."""
_TOKEN: Final = re.compile(r"[^\s.,;:!?\"()\[\]]+")


class Place(NamedTuple):
    """The one stretch in which two texts differ, with the word before it and the word behind it; empty where there is none."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    before: str
    behind: str


@lru_cache(maxsize=4096)
def tokens_of(folded: str) -> tuple[str, ...]:
    """Return the words of a folded text without punctuation."""
    return tuple(_TOKEN.findall(folded))


def place_of_change(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Place:
    """Return the stretch between the common beginning and the common end of two texts."""
    least = min(len(ours), len(theirs))
    head = 0
    while head < least and ours[head] == theirs[head]:
        head += 1
    tail = 0
    while tail < least - head and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    return Place(
        ours[head : len(ours) - tail],
        theirs[head : len(theirs) - tail],
        ours[head - 1] if head else "",
        ours[len(ours) - tail] if tail else "",
    )
