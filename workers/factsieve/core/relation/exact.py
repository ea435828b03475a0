"""Rough numbers and exact ones: a number that only makes another more precise puts nothing out of force."""

from __future__ import annotations

from typing import Final

from factsieve.core.relation import words as w
from factsieve.core.relation.align import Item, Segment, number_key
from factsieve.core.relation.parse import Clause

_ROUGH: Final = w.words("about around roughly nearly almost approximately circa some under over approx")


def same_numbers(told: Clause, known: Clause) -> bool:
    """Return whether two clauses hold the same numbers."""
    mine, theirs = ({number_key(t) for t in c.tokens if t.number} for c in (told, known))
    return mine == theirs


def more_exact(known: Clause, part: Segment) -> bool:
    """Return whether a number takes the place of a rough one that it does not contradict (within a tenth of it)."""
    index = min(i.position for i in part.stored)
    around = {t.low for t in known.tokens[max(0, index - 2) : index]}
    if not around & _ROUGH:
        return False
    old, new = _plain_number(part.stored), _plain_number(part.candidate)
    return old is None or new is None or abs(new - old) <= 0.1 * abs(old)


def _plain_number(items: tuple[Item, ...]) -> float | None:
    """Return the one number among words in figures; None where it has a unit of its own or there are several."""
    numbers = [i.key.strip("$€£") for i in items if i.token.number]
    if len(numbers) != 1 or len(items) != 1:
        return None
    try:
        return float(numbers[0])
    except ValueError:
        return None
