"""Two texts as plain words, and the one stretch in which they differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

SMALL: Final = 4
"""Longer stretches that differ are rewording."""
UNSPACED: Final = frozenset(("zh", "ja"))
"""Languages written without spaces, which have no words in this sense."""
_TOKEN: Final = re.compile(r"[^\s.,;:!?\"()\[\]]+")


class Place(NamedTuple):
    """The one stretch in which two texts differ, with the word before it and the word behind it; empty where there is none."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    before: str
    behind: str

    @property
    def excerpts(self) -> tuple[str, str]:
        """What stands there in the two texts, as a finding tells it."""
        return " ".join(self.ours)[:80], " ".join(self.theirs)[:80]


@lru_cache(maxsize=4096)
def tokens_of(folded: str) -> tuple[str, ...]:
    """Return the words of a folded text without punctuation."""
    return tuple(_TOKEN.findall(folded))


def common_ends(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int]:
    """Return how much of two texts is the same from the beginning on, and how much of the rest up to the end."""
    least = min(len(ours), len(theirs))
    head = 0
    while head < least and ours[head] == theirs[head]:
        head += 1
    tail = 0
    while tail < least - head and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    return head, tail


def place_of_change(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Place:
    """Return the stretch between the common beginning and the common end of two texts."""
    head, tail = common_ends(ours, theirs)
    return Place(
        ours[head : len(ours) - tail],
        theirs[head : len(theirs) - tail],
        ours[head - 1] if head else "",
        ours[len(ours) - tail] if tail else "",
    )
