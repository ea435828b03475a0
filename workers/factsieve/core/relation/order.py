"""The same words in another order: who is more than whom, who reports to whom, what is preferred to what."""

from __future__ import annotations

from typing import Final

from factsieve.core.relation import words as w
from factsieve.core.relation.align import Item
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.reading import Reading, Relation
from factsieve.core.relation.shape import bare, is_indefinite, is_state, names_the_one, tense_of
from factsieve.core.relation.tokens import Token

_PREFERENCE_TURNED: Final = "the preference is the other way round"


_RELATION_TURNED: Final = "the same relation the other way round"


ORDER_REASONS: Final = frozenset((_PREFERENCE_TURNED, _RELATION_TURNED))


def swapped(told: Clause, known: Clause, ours: tuple[Item, ...], theirs: tuple[Item, ...]) -> Reading | None:
    """Return a reading where the same words stand in another order: who is more than whom, who reports to whom."""
    mine = [i.key for i in ours if not i.after_break]
    other = [i.key for i in theirs if not i.after_break]
    if mine == other or sorted(mine) != sorted(other) or told.negated != known.negated:
        return None
    if told.passive != known.passive or tense_of(told) != tense_of(known):
        return None
    if bare(told.head) == bare(known.head):
        chosen = _turned_around(told.tokens, known.tokens) and is_state(told)
        return Reading(Relation.REPLACES, 0.9, _PREFERENCE_TURNED) if chosen else None
    if told.verb != known.verb or is_indefinite(told.head):
        return None
    if not is_state(told) or bare(told.head) <= bare(known.head) or bare(known.head) <= bare(told.head):
        return Reading(Relation.BOTH_STAND, 0.7, "the same words of another doer")
    comparing = _compares(told.tail) and _compares(known.tail)
    if comparing or told.verb == "report" or (told.copular and names_the_one(told.tail) and names_the_one(known.tail)):
        return Reading(Relation.REPLACES, 0.88, _RELATION_TURNED)
    return Reading(Relation.BOTH_STAND, 0.6, "the same relation the other way round can hold too")


def _compares(tail: tuple[Token, ...]) -> bool:
    """Return whether two are set against each other; `thirty days ahead` sets nobody against anybody."""
    last = len(tail) - 1
    return any(t.low in ("than", "ahead", "above", "below", "behind") and index < last for index, t in enumerate(tail))


def _turned_around(mine: tuple[Token, ...], theirs: tuple[Token, ...]) -> bool:
    """Return whether what stood before "over", "than" or "instead of" stands after it now, and the other way round."""

    def halves(tokens: tuple[Token, ...]) -> tuple[set[str], set[str]] | None:
        for index, token in enumerate(tokens):
            if token.low in ("over", "than") or (token.low == "of" and tokens[index - 1].low == "instead"):
                end = next((i for i in range(index, len(tokens)) if tokens[i].comma), len(tokens) - 1)
                left = {t.key for t in tokens[:index] if t.low not in w.LIGHT}
                return left, {t.key for t in tokens[index + 1 : end + 1] if t.low not in w.LIGHT}
        return None

    one, other = halves(mine), halves(theirs)
    return (
        one is not None
        and other is not None
        and bool(one[1] & (other[0] - one[0]))
        and bool(other[1] & (one[0] - other[0]))
    )
