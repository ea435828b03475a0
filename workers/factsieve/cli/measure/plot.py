"""The curves of a calibration as a picture, for a person to choose by."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from factsieve.cli.measure.sweep_tables import GATE_NAMES
from factsieve.core.calibration import LEAST_PAIRS, Point
from factsieve.core.errors import BadSettings
from factsieve.core.profile import Gate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUPS_SHOWN: Final = 14
_LOOK: Final[dict[Gate, tuple[str, str]]] = {
    "number": ("#8a8f98", "--"),
    "guard": ("#d9822b", "-."),
    "judge": ("#1f6fb4", "-"),
}


def draw(
    path: Path, points: Sequence[Point], veto_points: Sequence[Point], chosen: Point | None, *, budget: float | None
) -> None:
    """Draw the sweep into a PNG. Raises BadSettings where matplotlib is missing or the file can not be written."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib.figure import Figure
    except ImportError as error:
        raise BadSettings(f"a plot needs matplotlib ({error}): pip install 'factsieve[plot]'") from None
    figure = Figure(figsize=(15, 9), dpi=110, layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=(1.05, 1))
    top, bottom = rows
    left, right, third = top.subplots(1, 3)
    lower = bottom.subplots()
    gates = list(dict.fromkeys(point.gate for point in points))
    _curves(left, points, gates, "recall", "Recall: duplicates that are skipped")
    _curves(right, points, gates, "false_skip_rate", "False skips: other pairs that are skipped (log)")
    _log(right, budget)
    if veto_points:
        _vetoes(third, veto_points, chosen)
    else:
        _curves(third, points, gates, "f1", "F1, and precision (thin)")
        _curves(third, points, gates, "precision", None, thin=True)
    if chosen is not None:
        for axes in (left, right, *([] if veto_points else [third])):
            axes.axvline(chosen.cuts.threshold, color="#2e8540", linewidth=1.2)
        _groups(lower, points, gates, chosen)
        figure.suptitle(_title(chosen), fontsize=13)
    else:
        lower.axis("off")
        figure.suptitle("No threshold reaches what was asked for", fontsize=13)
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        raise BadSettings(f"the plot {path} can not be written: {error.strerror or error}") from None


def _title(chosen: Point) -> str:
    veto = f", NLI veto above {chosen.cuts.veto:g}" if chosen.gate == "judge" else ""
    return (
        f"Chosen: skip from {chosen.cuts.threshold:g}{veto}   recall {chosen.recall:.1%}   precision {chosen.precision:.1%}   "
        f"false skips {chosen.false_skip_rate:.2%}"
    )


def _curves(
    axes: "Axes", points: Sequence[Point], gates: Sequence[Gate], field: str, title: str | None, *, thin: bool = False
) -> None:
    for gate in gates:
        colour, line = _LOOK[gate]
        own = [point for point in points if point.gate == gate]
        axes.plot(
            [point.cuts.threshold for point in own],
            [getattr(point, field) for point in own],
            line,
            color=colour,
            linewidth=0.9 if thin else 2.2,
            marker=None if thin else "o",
            markersize=3.5,
            label=None if thin else GATE_NAMES[gate],
        )
    if title is not None:
        axes.set_title(title, fontsize=11, loc="left")
        axes.set_xlabel("skip threshold")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=9)
        if field != "false_skip_rate":
            axes.set_ylim(0, 1.02)
            axes.yaxis.set_major_formatter(_percent())


def _percent(decimals: int = 0) -> Any:  # noqa: ANN401 - matplotlib is untyped here
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0, decimals=decimals)


def _log(axes: "Axes", budget: float | None) -> None:
    """Show small rates apart; zero, which a logarithm has no place for, lies on the bottom."""
    axes.set_yscale("symlog", linthresh=0.001, linscale=0.5)
    axes.set_ylim(0, 1.0)
    ticks = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    axes.set_yticks(ticks, [f"{tick:.3g}" if not tick else f"{tick:.1%}" for tick in ticks])
    axes.minorticks_off()
    if budget is not None:
        axes.axhline(budget, color="#b00020", linewidth=1.2, linestyle=":", label=f"budget {budget:.2%}")
        axes.legend(fontsize=9)


def _vetoes(axes: "Axes", points: Sequence[Point], chosen: Point | None) -> None:
    places = range(len(points))
    axes.plot(places, [p.recall for p in points], "-o", color="#1f6fb4", markersize=4, label="recall")
    axes.plot(places, [p.precision for p in points], "--o", color="#2e8540", markersize=4, label="precision")
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(_percent())
    other = axes.twinx()
    other.plot(
        places, [p.false_skip_rate for p in points], "-.s", color="#b00020", markersize=4, label="false skips (right)"
    )
    other.set_ylim(0, max(0.001, 1.3 * max(p.false_skip_rate for p in points)))
    other.yaxis.set_major_formatter(_percent(2))
    axes.set_xticks(list(places), [f"{p.cuts.veto:g}" for p in points], fontsize=8)
    axes.set_xlabel("NLI veto: a contradiction above this refuses a skip")
    axes.set_title(f"NLI veto, at skip threshold {points[0].cuts.threshold:g}", fontsize=11, loc="left")
    axes.grid(alpha=0.3)
    if chosen is not None:
        axes.axvline([p.cuts.veto for p in points].index(chosen.cuts.veto), color="#2e8540", linewidth=1.2)
    lines = [*axes.get_lines()[:2], *other.get_lines()]
    other.legend(lines, [str(line.get_label()) for line in lines], fontsize=9, loc="center right")


def _groups(axes: "Axes", points: Sequence[Point], gates: Sequence[Gate], chosen: Point) -> None:
    beside = {point.gate: point for point in points if point.cuts.threshold == chosen.cuts.threshold}

    large = [group for group, (_, count) in chosen.groups.items() if count >= LEAST_PAIRS]
    worst = sorted(large, key=lambda group: [-beside[gate].rate_of(group) for gate in reversed(gates)])[:GROUPS_SHOWN]
    height = 0.8 / len(gates)
    for index, gate in enumerate(gates):
        colour, _ = _LOOK[gate]
        places = [row + (index - (len(gates) - 1) / 2) * height for row in range(len(worst))]
        axes.barh(
            places,
            [beside[gate].rate_of(group) for group in worst],
            height=height,
            color=colour,
            label=GATE_NAMES[gate],
        )
    axes.set_yticks(range(len(worst)), [f"{group} ({chosen.groups[group][1]})" for group in worst], fontsize=8)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(_percent())
    axes.set_title(f"False skips by group at {chosen.cuts.threshold:g} (pairs)", fontsize=11, loc="left")
    axes.grid(alpha=0.3, axis="x")
    axes.legend(fontsize=9, loc="lower right")
