"""What charts show of the decisions in memory: over time by kind, similarities against thresholds, who decided."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from factsieve.operations.log_ring import DecisionFilter, Row, test_of

STEPS_S: Final = (
    *(1, 5, 15, 60, 300, 900, 3_600, 4 * 3_600, 86_400),
    *(7 * 86_400, 28 * 86_400, 91 * 86_400, 364 * 86_400),
)
"""Widths that a bar of time may have: the first one with which there are not too many."""

SIMILARITY_FROM: Final = 0.4
SIMILARITY_STEP: Final = 0.02
SIMILARITY_BARS: Final = 30
"""Similarities are counted from 0.4 to 1 in steps of 0.02; the first bar holds everything below, too."""


class TimeBar(msgspec.Struct, frozen=True):
    """How many decisions of each kind fell into `[start, start + width)`, in seconds since the epoch."""

    start: float
    kinds: dict[str, int]


class SimilarityBar(msgspec.Struct, frozen=True):
    """How many decisions about candidates had their best similarity in `[low, high)` (the last one includes 1), by kind."""

    low: float
    high: float
    kinds: dict[str, int]


class Counts(msgspec.Struct, frozen=True):
    """Numbers over the matching decisions.

    `reached`: statements with a neighbour at or above the supersede threshold, about which similarity alone says too little; without
    guard, exact text and local judges each would be a question to a language model. `asked`: how many were one. `thresholds`: supersede,
    ambiguous, skip, as of the latest decision that has them.
    """

    total: int
    kinds: dict[str, int]
    deciders: dict[str, int]
    namespaces: tuple[str, ...]
    reasons: tuple[str, ...]
    width_s: float
    times: tuple[TimeBar, ...]
    similarities: tuple[SimilarityBar, ...]
    thresholds: tuple[float, float, float] | None
    reached: int
    asked: int
    model_calls: int
    model_ms: float
    tokens: int
    review: int


def count_rows(rows: Sequence[Row], wanted: DecisionFilter, buckets: int) -> Counts:
    """Return the numbers over those rows that match; at most `buckets` (at least 2) bars of time."""
    if buckets < 2:
        raise ValueError(f"{buckets} bars of time: at least 2 are needed")
    matches = test_of(wanted)
    kept = [row for row in rows if matches(row)]
    width_s, starts = _bars(kept, buckets)
    by_time: list[Counter[str]] = [Counter() for _ in starts]
    by_similarity: list[Counter[str]] = [Counter() for _ in range(SIMILARITY_BARS)]
    thresholds = None
    for row in kept:
        by_time[int((row.at - starts[0]) // width_s)][row.kind] += 1
        if row.similarity is not None and row.thresholds is not None:
            by_similarity[similarity_bar(row.similarity)][row.kind] += 1
        thresholds = row.thresholds or thresholds
    near = [
        row for row in kept if row.similarity is not None and row.thresholds and row.similarity >= row.thresholds[0]
    ]
    return Counts(
        total=len(kept),
        kinds=dict(Counter(row.kind for row in kept)),
        deciders=dict(Counter(row.decided_by for row in kept)),
        namespaces=tuple(sorted({row.namespace for row in kept if row.namespace is not None})),
        reasons=tuple(sorted({row.reason for row in kept if row.decided_by != "operator"})),
        width_s=width_s,
        times=tuple(TimeBar(start, dict(kinds)) for start, kinds in zip(starts, by_time, strict=True)),
        similarities=tuple(
            SimilarityBar(_edge(bar) if bar else -1.0, _edge(bar + 1), dict(kinds))
            for bar, kinds in enumerate(by_similarity)
        ),
        thresholds=thresholds,
        reached=len(near),
        asked=sum(row.model_calls > 0 for row in kept),
        model_calls=sum(row.model_calls for row in kept),
        model_ms=sum(row.model_ms for row in kept),
        tokens=sum(row.tokens for row in kept),
        review=sum(row.review for row in kept),
    )


def similarity_bar(similarity: float) -> int:
    """Return the number of the bar that a similarity belongs to."""
    # A similarity has five digits: counted in units of 1e-5, so that 0.58 begins a bar and does not end one.
    units = round((similarity - SIMILARITY_FROM) * 1e5) // round(SIMILARITY_STEP * 1e5)
    return min(SIMILARITY_BARS - 1, max(0, units))


def _edge(bar: int) -> float:
    return round(SIMILARITY_FROM + bar * SIMILARITY_STEP, 2)


def _bars(rows: Sequence[Row], buckets: int) -> tuple[float, list[float]]:
    if not rows:
        return float(STEPS_S[0]), []
    first, last = min(row.at for row in rows), max(row.at for row in rows)
    width_s = float(next((step for step in STEPS_S if last // step - first // step < buckets), 0))
    if not width_s:  # clocks lie: centuries in one log
        width_s = (last - first) / (buckets - 1)
    start = first // width_s * width_s
    return width_s, [start + bar * width_s for bar in range(int((last - start) // width_s) + 1)]
