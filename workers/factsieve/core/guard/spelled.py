"""Numbers in words: twenty-five, one thousand two hundred, three dozen, the second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from factsieve.core.guard.quantities import (
    CURRENCIES,
    MULTIPLIERS,
    NUMBER_WORDS,
    ORDINALS,
    SCALES,
    SPELLED_SCALES,
    plain,
    unit,
)
from factsieve.core.guard.scan import Token


class Spelled(NamedTuple):
    """A number in words: what it can be compared with, its normal form (`one` may be an article), and how many tokens it has."""

    family: str
    canonical: str
    size: int


_NO_SCALE: Final = frozenset(("mil", "mille", "mm"))


def spelled_number(
    tokens: Sequence[Token], lowers: Sequence[str], text: str, index: int, language: str
) -> Spelled | None:
    """Return the number in words that begins at token `index`, with its unit or currency, or None if there is none."""
    numbers = NUMBER_WORDS.get(language, NUMBER_WORDS["en"])
    lower = lowers[index]
    if lower not in numbers:
        return _single(lowers, index, language)
    value, size = _cardinal(tokens, lowers, text, index, numbers)
    family = "number"
    if index + size < len(tokens):
        word = lowers[index + size]
        measure = unit(word) if len(word) > 2 else None
        if word in CURRENCIES and len(word) > 3:
            family, size = f"currency:{CURRENCIES[word]}", size + 1
        elif measure is not None:
            value, family, size = value * measure.factor, f"number:{measure.dimension}", size + 1
    if value == 1 and size == 1:
        return Spelled("one", "1", 1)
    return Spelled(family, plain(value), size)


def _single(lowers: Sequence[str], index: int, language: str) -> Spelled | None:
    lower = lowers[index]
    if lower in SPELLED_SCALES and SCALES[lower] >= 1000 and lower not in _NO_SCALE:
        return Spelled("number", plain(SCALES[lower]), 1)
    if language != "en":
        return None
    if lower in ORDINALS and not (index and lower == "second" and lowers[index - 1] in ("a", "per", "each")):
        return Spelled("number", f"#{ORDINALS[lower]}", 1)
    if lower in MULTIPLIERS and lower != "once":
        return Spelled("number", str(MULTIPLIERS[lower]), 1)
    return Spelled("number", "12", 1) if lower in ("dozen", "dozens") else None


def _cardinal(
    tokens: Sequence[Token], lowers: Sequence[str], text: str, index: int, numbers: Mapping[str, int]
) -> tuple[float, int]:
    """Return value and length of a cardinal: thousands are closed off, hundreds and tens add up."""
    closed, current, size = 0.0, float(numbers[lowers[index]]), 1
    while index + size < len(tokens):
        at = index + size
        if text[tokens[at - 1].end : tokens[at].start].strip() not in ("", "-"):
            break
        word = lowers[at]
        value = numbers.get(word)
        if word in SPELLED_SCALES and word not in _NO_SCALE:
            if SCALES[word] >= 1000:
                closed, current = (closed + current) * SCALES[word], 0.0
            else:
                current *= SCALES[word]
        elif value is not None and _continues(current, value, closed):
            current += value
        elif word != "and" or (current < 100 and not closed) or at + 1 >= len(tokens) or lowers[at + 1] not in numbers:
            break
        size += 1
    return closed + current, size


def _continues(current: float, value: int, closed: float) -> bool:
    if not current:
        return bool(closed)
    return current % 100 == 0 or (current % 100 >= 20 and current % 10 == 0 and value < 10)
