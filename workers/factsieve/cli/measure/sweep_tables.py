"""A sweep as tables for the terminal."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table

from factsieve.cli.measure.pairs import Pair
from factsieve.core.calibration import Point, Trial
from factsieve.core.profile import Gate

GATE_NAMES: Final[dict[Gate, str]] = {"number": "number alone", "guard": "with guard", "judge": "with guard and NLI"}
WORST_SHOWN: Final = 8


class Result(msgspec.Struct, frozen=True):
    """What a calibration found: the curves to show, the point chosen, and the vetoes beside it."""

    trials: list[Trial]
    points: list[Point]
    chosen: Point | None
    veto_points: list[Point]


def show(console: Console, result: Result, pairs: Sequence[Pair]) -> None:
    """Print the sweep, the choice, and what it does to each group."""
    counts = Counter(pair.label.value for pair in pairs)
    console.print(f"{len(pairs):,} pairs: " + ", ".join(f"{counts[label]:,} {label}" for label in sorted(counts)))
    for gate in dict.fromkeys(point.gate for point in result.points):
        console.print(_table(gate, [point for point in result.points if point.gate == gate], result.chosen))
    if result.veto_points:
        console.print(_veto_table(result.veto_points, result.chosen))
    if result.chosen is not None:
        console.print(_worst_table(result.chosen, result.points))
        console.print(_sentence(result.chosen, three_way=any(t.entailment is not None for t in result.trials)))


def _table(gate: Gate, points: Sequence[Point], chosen: Point | None) -> Table:
    table = Table(title=GATE_NAMES[gate], title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading in ("skip >=", "precision", "recall", "F1", "false skips", "worst group"):
        table.add_column(heading, justify="left" if heading == "worst group" else "right", no_wrap=True)
    for point in points:
        worst = point.worst_group
        told = "" if worst is None or not worst[1] else f"{worst[1]:6.1%} {worst[0]}"
        cells = [f"{point.cuts.threshold:.3g}", *(f"{v:.3f}" for v in (point.precision, point.recall, point.f1))]
        table.add_row(*cells, f"{point.false_skip_rate:.2%}", told, style="bold green" if point == chosen else None)
    return table


def _veto_table(points: Sequence[Point], chosen: Point | None) -> Table:
    title = f"NLI veto at skip >= {points[0].cuts.threshold:.3g}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading in ("veto above", "precision", "recall", "F1", "false skips"):
        table.add_column(heading, justify="right")
    for point in points:
        cells = [f"{point.cuts.veto:.2f}", *(f"{v:.3f}" for v in (point.precision, point.recall, point.f1))]
        table.add_row(*cells, f"{point.false_skip_rate:.2%}", style="bold green" if point == chosen else None)
    return table


def _worst_table(chosen: Point, points: Sequence[Point]) -> Table:
    beside = [p for p in points if p.cuts.threshold == chosen.cuts.threshold]
    table = Table(
        title="false skips by group, at the choice", title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    table.add_column("group")
    table.add_column("pairs", justify="right")
    for point in beside:
        table.add_column(GATE_NAMES[point.gate], justify="right")
    rates = {group: [point.rate_of(group) for point in beside] for group in chosen.groups}
    order = sorted(rates, key=lambda group: rates[group][::-1], reverse=True)
    for group in order[:WORST_SHOWN]:
        table.add_row(group, str(chosen.groups[group][1]), *(f"{rate:.1%}" for rate in rates[group]))
    return table


def _sentence(point: Point, *, three_way: bool) -> str:
    veto = f" and an NLI veto above {point.cuts.veto:g}" if point.gate == "judge" else ""
    entailment = f", entailment from {point.cuts.entailment:g} on" if three_way else ""
    return (
        f"Chosen: skip from {point.cuts.threshold:g} on{veto}{entailment}, {GATE_NAMES[point.gate]}: "
        f"{point.recall:.1%} of duplicates are skipped, "
        f"{point.false_skip_rate:.2%} of other pairs ({point.false_skips} of {point.others})."
    )
