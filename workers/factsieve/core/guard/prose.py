"""Words that say the same in plain technical prose, where the thesaurus keeps them apart."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from factsieve.core.guard.stems import stem

_GROUPS: Final = (
    "allow enable permit let",
    "aim goal purpose objective",
    "alter change modify edit",
    "app application",
    "calculate compute",
    "choose select pick",
    "cite quote",
    "configuration setting",
    "convert transform",
    "data information",
    "decrease reduce lower",
    "delete remove erase",
    "directory folder",
    "doc document",
    "duplicate copy",
    "function method",
    "increase raise",
    "issue problem",
    "job occupation profession",
    "jpeg jpg",
    "maintain preserve retain keep",
    "merge combine",
    "mom mum mother",
    "dad father",
    "parameter argument",
    "photo picture image photograph",
    "repo repository",
    "retrieve fetch",
    "save store persist",
    "specify indicate denote designate define",
    "split divide partition",
    "stop halt",
    "swift rapid quick fast",
    "television tv telly",
    "test exam",
    "type kind sort variety",
    "warn caution",
)


def _by_stem() -> dict[str, frozenset[int]]:
    table: dict[str, set[int]] = {}
    for number, group in enumerate(_GROUPS):
        for word in group.split():
            table.setdefault(stem(word, "en"), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in table.items()}


_NUMBERS: Final = _by_stem()
_NONE: Final[frozenset[int]] = frozenset()


@lru_cache(maxsize=16384)
def groups_of(word: str) -> frozenset[int]:
    """Return the numbers of the groups that an English word, as written in lower case, is in."""
    return _NUMBERS.get(stem(word, "en"), _NONE)
