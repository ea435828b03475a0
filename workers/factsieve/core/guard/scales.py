"""Scales of small words: each names a grade, and another grade of the same scale says something else."""

from __future__ import annotations

from typing import Final

from factsieve.core.guard.quantities import NUMBER_WORDS


def grades_of(*rows: str) -> dict[str, frozenset[str]]:
    """Return, by word, the grades of a scale that it may stand for: words of one row stand for the same, a word of two rows for either."""
    found: dict[str, set[str]] = {}
    for row in rows:
        words = row.split()
        for word in words:
            found.setdefault(word, set()).add(words[0])
    return {word: frozenset(grades) for word, grades in found.items()}


SCALES: Final = (
    (
        "quantifier",
        grades_of(
            "always constantly continuously perpetually",
            "usually normally mostly generally typically",
            "often frequently regularly",
            "sometimes occasionally",
            "rarely seldom",
            "never",
        ),
    ),
    (
        "quantifier",
        grades_of(
            "all every each everyone everybody everything",
            "most",
            "many",
            "some several",
            "few",
            "half",
            "two both",
            "one",
            "all both",
            *(word for word, value in NUMBER_WORDS["en"].items() if value > 2),
        ),
    ),
    (
        "unit",
        grades_of(
            "second seconds secondly",
            "minute minutes",
            "hour hours hourly",
            "day days daily",
            "night nights nightly",
            "week weeks weekly",
            "fortnight fortnights fortnightly",
            "month months monthly",
            "quarter quarters quarterly",
            "year years yearly annually",
        ),
    ),
    (
        "quantifier",
        grades_of(
            "slightly somewhat",
            "much far considerably greatly significantly",
            "completely fully totally entirely wholly",
            "nearly almost",
            "partly partially",
        ),
    ),
    (
        "hedge",
        grades_of(
            "because",
            "since because",
            "as because when",
            "although though",
            "while although when",
            "despite",
            "when whenever if once",
            "after once",
            "until till",
            "before",
            "unless",
        ),
    ),
    (
        "modality",
        grades_of(
            "will shall", "would", "can may", "could might may perhaps maybe possibly", "must", "should ought"
        ),
    ),
)  # fmt: skip
"""Kinds of finding, with the words of a scale and the grades that each may stand for."""
