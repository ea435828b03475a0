"""Charts as numbers that the templates draw: inline SVG with its sizes in per cent, and the same as a table."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

import msgspec

from factsieve.core.telling import COMMANDS, KINDS
from factsieve.operations.log_counts import Counts

HEIGHT: Final = 120
"""Height of the bars' area in pixels."""

GROUPS: Final = (*KINDS, "command", "refused")
"""What a bar is divided into, from the bottom up: commands count as one."""

DECIDERS: Final[Mapping[str, str]] = {
    "window": "hash window",
    "text": "exact text",
    "bands": "similarity and guard",
    "rules": "rules",
    "nli": "local NLI model",
    "model": "language model",
}
"""Who settles what a candidate is, cheapest first."""

SCALE_FROM: Final = 0.5
"""Where the bar of a similarity begins: what is below stands at its start."""


class Part(msgspec.Struct, frozen=True):
    """One piece of a bar: `kind` colours it; `y` and `height` in pixels from the top."""

    kind: str
    count: int
    y: float
    height: float


class Bar(msgspec.Struct, frozen=True):
    """One bar: `x` and `width` in per cent, `name` for people, `total` what it stands for."""

    x: float
    width: float
    name: str
    total: int
    parts: tuple[Part, ...]
    counts: Mapping[str, int]


class Chart(msgspec.Struct, frozen=True):
    """Bars beside each other. `highest` is the count of the tallest, `kinds` those that occur, `marks` lines at per cents."""

    bars: tuple[Bar, ...]
    highest: int
    kinds: tuple[str, ...]
    first: str
    last: str
    marks: tuple[tuple[float, str], ...] = ()


class Slice(msgspec.Struct, frozen=True):
    """One share of a whole: `x` and `width` in per cent."""

    kind: str
    name: str
    count: int
    x: float
    width: float


class Scale(msgspec.Struct, frozen=True):
    """A similarity on its bar: where it stands, and where each band begins and how wide it is, in per cent."""

    value: float
    place: float
    bands: tuple[tuple[str, float, float], ...]
    thresholds: tuple[tuple[str, float], ...]


def grouped(kinds: Mapping[str, int]) -> dict[str, int]:
    """Return counts by group, in their order, without what does not occur."""
    counts = {kind: kinds.get(kind, 0) for kind in (*KINDS, "refused")}
    counts["command"] = sum(kinds.get(kind, 0) for kind in COMMANDS)
    return {kind: counts[kind] for kind in GROUPS if counts[kind]}


def over_time(counts: Counts) -> Chart:
    """Return decisions over time, by kind."""
    names = [bar_name(bar.start, counts.width_s) for bar in counts.times]
    chart = _chart([grouped(bar.kinds) for bar in counts.times], names)
    day, _, rest = chart.last.partition(" ")
    same_day = rest and len(names) > 1 and chart.first.startswith(day)
    return msgspec.structs.replace(chart, last=rest) if same_day else chart


def by_similarity(counts: Counts) -> Chart:
    """Return how similar statements were to what was nearest, with the thresholds in force."""
    bars = counts.similarities
    names = [f"{bar.low:.2f} to {bar.high:.2f}" if bar.low > 0 else f"below {bar.high:.2f}" for bar in bars]
    chart = _chart([grouped(bar.kinds) for bar in bars], names)
    low, span = bars[1].low - (bars[1].high - bars[1].low), bars[-1].high
    places = [(value - low) / (span - low) * 100 for value in counts.thresholds or ()]
    marks = tuple(
        (round(place, 2), f"{name} {value:.2f}")
        for place, name, value in zip(places, ("supersede", "ambiguous", "skip"), counts.thresholds or (), strict=False)
        if 0 <= place <= 100
    )
    return msgspec.structs.replace(chart, first=f"{low:.1f}", last="1.0", marks=marks)


def deciders(counts: Counts) -> tuple[Slice, ...]:
    """Return who settled what candidates are, in shares."""
    total = sum(counts.deciders.get(who, 0) for who in DECIDERS)
    slices: list[Slice] = []
    x = 0.0
    for who, name in DECIDERS.items():
        count = counts.deciders.get(who, 0)
        if count:
            width = count / total * 100
            slices.append(Slice(who, name, count, round(x, 3), round(width, 3)))
            x += width
    return tuple(slices)


def scale(similarity: float, thresholds: Mapping[str, float]) -> Scale:
    """Return a similarity on its bar, between the bands of a policy."""
    edges = [("new", -1.0), ("supersede_eligible", thresholds["supersede"])]
    edges += [("ambiguous", thresholds["ambiguous"]), ("known", thresholds["skip"]), ("", 1.0)]
    bands = []
    for (name, low), (_, high) in pairwise(edges):
        start, end = _on_scale(low), _on_scale(high)
        if end > start:
            bands.append((name, start, round(end - start, 2)))
    named = (
        ("supersede", thresholds["supersede"]),
        ("ambiguous", thresholds["ambiguous"]),
        ("skip", thresholds["skip"]),
    )
    return Scale(similarity, _on_scale(similarity), tuple(bands), named)


def _on_scale(similarity: float) -> float:
    return round(min(1.0, max(0.0, (similarity - SCALE_FROM) / (1 - SCALE_FROM))) * 100, 2)


def _chart(columns: Sequence[Mapping[str, int]], names: Sequence[str]) -> Chart:
    highest = max((sum(column.values()) for column in columns), default=0)
    width = 100 / max(1, len(columns))
    bars = []
    for place, (column, name) in enumerate(zip(columns, names, strict=True)):
        parts: list[Part] = []
        y = float(HEIGHT)
        for kind, count in column.items():
            height = count / highest * HEIGHT
            y -= height
            parts.append(Part(kind, count, round(y, 2), round(height, 2)))
        gap = width * 0.12
        bars.append(
            Bar(
                round(place * width + gap / 2, 3),
                round(width - gap, 3),
                name,
                sum(column.values()),
                tuple(parts),
                column,
            )
        )
    kinds = tuple(kind for kind in GROUPS if any(kind in column for column in columns))
    return Chart(tuple(bars), highest, kinds, names[0] if names else "", names[-1] if names else "")


def bar_name(start: float, width_s: float) -> str:
    """Return the time that a bar begins at, as exact as it is wide."""
    at = datetime.fromtimestamp(start, UTC)
    if width_s >= 86_400:
        return f"{at:%Y-%m-%d}"
    return f"{at:%Y-%m-%d %H:%M}" if width_s >= 60 else f"{at:%Y-%m-%d %H:%M:%S}"
