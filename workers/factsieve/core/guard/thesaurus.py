"""Which words are opposites of each other, and which say the same."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from factsieve.core.guard.lexicon import ANTONYM_PAIRS, OTHER_ANTONYM_PAIRS
from factsieve.core.guard.stems import stem


def _pairs() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for row in (ANTONYM_PAIRS + ";" + OTHER_ANTONYM_PAIRS).split(";"):
        words = row.split()
        if len(words) == 2:
            for left, right in (words, words[::-1]):
                table.setdefault(left, set()).add(right)
                table.setdefault(stem(left, "en"), set()).add(stem(right, "en"))
    return {word: frozenset(others) for word, others in table.items()}


_ANTONYMS: Final = _pairs()
_NEGATIVE_PREFIXES: Final = ("un", "in", "im", "il", "ir", "dis", "non", "de", "a", "mis", "anti")
_NEGATIVE_SUFFIXES: Final = (("less", "ful"), ("less", ""))


@lru_cache(maxsize=16384)
def antonyms(a: str, b: str, stem_a: str, stem_b: str) -> bool:
    """Return whether two words (as written, and their stems) are opposites: by the list, or by a negating prefix or suffix on one of them."""
    if b in _ANTONYMS.get(a, ()) or stem_b in _ANTONYMS.get(stem_a, ()):
        return True
    for longer, shorter in ((stem_a, stem_b), (stem_b, stem_a)):
        if (
            len(shorter) >= 3
            and longer.endswith(shorter)
            and longer[: -len(shorter)].rstrip("-") in _NEGATIVE_PREFIXES
            and len(longer) - len(shorter) > 1
        ):
            return True
    for longer, shorter in ((a, b), (b, a)):
        for negative, positive in _NEGATIVE_SUFFIXES:
            if longer.endswith(negative) and len(longer) > 6 and shorter == longer[: -len(negative)] + positive:
                return True
    return False


@lru_cache(maxsize=16384)
def same_family(a: str, b: str) -> bool:
    """Return whether two stems differ in their ending only (derive, derivation) or in one typed letter of a long word."""
    if a == b:
        return True
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < 4:
        return False
    shared = 0
    for x, y in zip(shorter, longer, strict=False):
        if x != y:
            break
        shared += 1
    return shared >= 4 and len(longer) - shared <= 5 and len(shorter) - shared <= 2 and shared * 10 >= len(shorter) * 7


def synonyms(a: str, b: str) -> bool:
    """Return whether two words are plain synonyms."""
    return False
