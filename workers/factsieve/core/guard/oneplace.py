"""Two texts as plain words, and the one stretch in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

SMALL: Final = 4
"""Longer stretches that differ are rewording."""
UNSPACED: Final = frozenset(("zh", "ja"))
"""Languages written without spaces, which have no words in this sense."""


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


def only_in(ours: Sequence[str], theirs: Sequence[str], most: int) -> list[str] | None:
    """Return the words, in order, that `ours` has more often than `theirs`; nothing where these are more than `most`, each time counted."""
    if len(ours) - len(theirs) > most:
        return None
    left = list(theirs)
    further: list[str] = []
    for word in ours:
        if word in left:
            left.remove(word)
        elif len(further) < most:
            further.append(word)
        else:
            return None
    return further if len(further) < 2 else [word for word in dict.fromkeys(ours) if word in further]


def place_of_change(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Place:
    """Return the stretch between the common beginning and the common end of two texts."""
    head, tail = common_ends(ours, theirs)
    return Place(
        ours[head : len(ours) - tail],
        theirs[head : len(theirs) - tail],
        ours[head - 1] if head else "",
        ours[len(ours) - tail] if tail else "",
    )
