"""`factsieve evaluate`: whole decisions on labelled pairs, against what they should have been."""

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer
from rich.table import Table

from factsieve.cli.calibrate import KeepFile, PairFiles
from factsieve.cli.connect import ConfigFile, Overrides, overrides_of
from factsieve.cli.measure import report as quality_report
from factsieve.cli.measure.pairs import Pair, read_pairs
from factsieve.cli.measure.report import Run, shown
from factsieve.cli.progress import Steps
from factsieve.cli.render import err, out
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Kind
from factsieve.core.outcomes import Outcome, Share, Summary, confusion, misses, summarise

if TYPE_CHECKING:
    from factsieve.adapters.kept import Keep
    from factsieve.assembly.settings import Settings

_HEADINGS: Final = tuple(kind.value for kind in Kind)


class Budgets(msgspec.Struct, frozen=True):
    """What the command line allows, as shares; None: not looked at."""

    max_false_skips: float | None = None
    max_wrong_retirements: float | None = None
    min_yield: float | None = None
    min_right_retirements: float | None = None


def evaluate(
    *,
    pairs: PairFiles,
    judge: Annotated[
        list[str] | None, typer.Option(help="rules, nli:DIR, cascade, or a model; repeated: one after the other.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the page of quality (Markdown).", show_default=False)
    ] = None,
    misses_file: Annotated[
        Path | None, typer.Option("--misses", help="Write every miss here (JSON lines).", show_default=False)
    ] = None,
    show: Annotated[int, typer.Option(min=0, help="Print so many misses of each judge.")] = 10,
    max_false_skips: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Budget: contradictions at or above the skip threshold that are skipped."),
    ] = None,
    max_wrong_retirements: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Budget: distinct pairs and duplicates whose stored statement is retired."),
    ] = None,
    min_yield: Annotated[
        float | None, typer.Option(min=0, max=1, help="Duplicates at or above the skip threshold to be skipped.")
    ] = None,
    min_right_retirements: Annotated[
        float | None, typer.Option(min=0, max=1, help="Contradictions whose stored statement is to be retired.")
    ] = None,
    scenarios: Annotated[
        Path | None, typer.Option(help="Decision scenarios (JSON lines), graded by --scorer.", show_default=False)
    ] = None,
    scorer: Annotated[Path | None, typer.Option(help="The scenarios' own scorer (Python).", show_default=False)] = None,
    costs: Annotated[bool, typer.Option("--costs", help="Measure what guard and NLI cost beside embedding.")] = False,
    keep: KeepFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    config: ConfigFile = None,
    assignments: Overrides = None,
) -> None:
    """Run labelled pairs through the whole engine and count what became of them.

    Each pair has a namespace of its own: `a` is remembered, `b` comes in a day later. For every file: the label against the decision,
    false skips, how many duplicates are skipped, wrong and right retirements. A budget holds for every file and every judge; exit
    code 1 where one is broken.

    Example: factsieve evaluate --pairs pairs.jsonl --judge rules --max-false-skips 0.03
    """
    if (scenarios is None) != (scorer is None):
        raise BadSettings("--scenarios and --scorer belong together: give both or neither")
    budgets = Budgets(max_false_skips, max_wrong_retirements, min_yield, min_right_retirements)
    rows = read_pairs(pairs)
    base = overrides_of(assignments)
    names: list[str | None] = [*(judge or ())] or [None]
    runs = [
        run_judge(base | ({} if name is None else {"judge.name": name}), config, rows, keep, scenarios, scorer)
        for name in names
    ]
    cost = None
    if costs:
        from factsieve.cli.measure.costs import measure_costs

        cost = measure_costs(base, config, [name for name in judge or () if name.startswith("nli:")], rows)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode([_as_json(run) for run in runs]) + b"\n")
    else:
        for run in runs:
            _show(run, rows, show)
        if cost is not None:
            out().print(quality_report.cost_lines(cost), markup=False)
    if misses_file is not None:
        _write(misses_file, b"".join(_miss_lines(runs, rows)))
    if report is not None:
        _write(report, quality_report.render(runs, cost).encode())
    broken = list(broken_budgets(runs, budgets))
    for line in broken:
        err().print(line, style="red", markup=False)
    if broken:
        raise typer.Exit(1)


def run_judge(
    overrides: Mapping[str, object],
    config: Path | None,
    pairs: Sequence[Pair],
    keep: Path | None,
    scenarios: Path | None = None,
    scorer: Path | None = None,
) -> Run:
    """Return what the engine makes of the pairs, and of the scenarios where they are given. Raises BadSettings."""
    from factsieve.adapters.kept import Keep
    from factsieve.assembly.settings import load_settings

    settings = load_settings(overrides, path=config)
    kept = None if keep is None else Keep(keep)
    try:
        return asyncio.run(_run(settings, pairs, kept, scenarios, scorer))
    finally:
        if kept is not None:
            kept.close()


async def _run(
    settings: "Settings", pairs: Sequence[Pair], keep: "Keep | None", scenarios: Path | None, scorer: Path | None
) -> Run:
    from factsieve.assembly.wiring import open_models
    from factsieve.cli.measure.runs import decide_pairs
    from factsieve.cli.measure.scenarios import grade

    policy = settings.policies().default
    async with open_models(settings, keep) as models:
        name = models.judges.local.name if not models.judges.judge.is_remote else models.judges.judge.name
        with Steps(err(), f"Deciding with {name}", len(pairs)) as steps:
            outcomes = await decide_pairs(settings, models, pairs, steps.advance)
        graded = None
        if scenarios is not None and scorer is not None:
            graded = await grade(settings, models, scenarios, scorer)
        by_data: dict[str, list[Outcome]] = {}
        for outcome in outcomes:
            by_data.setdefault(outcome.data, []).append(outcome)
        thresholds = {"skip_threshold": policy.skip_threshold, "supersede_threshold": policy.supersede_threshold}
        nli = models.judges.nli
        return Run(
            judge=name,
            embedder=f"{models.embedder.model} ({models.embedder.fingerprint})",
            nli=None if nli is None else f"{nli.name.removeprefix('nli:')} ({nli.fingerprint})",
            policy=policy,
            outcomes=by_data,
            summaries={data: summarise(rows, **thresholds) for data, rows in by_data.items()},
            graded=graded,
        )


def broken_budgets(runs: Sequence[Run], budgets: Budgets) -> Iterator[str]:
    """Yield one line for each budget that a file breaks with a judge."""
    for run in runs:
        for data, summary in run.summaries.items():
            for about, found, bound, at_most in (
                ("false skips", summary.false_skips, budgets.max_false_skips, True),
                ("wrong retirements", summary.wrong_retirements, budgets.max_wrong_retirements, True),
                ("yield", summary.skipped_yield, budgets.min_yield, False),
                ("right retirements", summary.right_retirements, budgets.min_right_retirements, False),
            ):
                if bound is None or not found.whole:
                    continue
                if found.rate > bound if at_most else found.rate < bound:
                    word = "at most" if at_most else "at least"
                    yield f"Broken: {about} of {data} with {run.judge} are {shown(found)}, {word} {bound:.1%} was asked for."


def _show(run: Run, pairs: Sequence[Pair], most: int) -> None:
    console = out()
    for data, outcomes in run.outcomes.items():
        title = f"{data} with {run.judge}: {len(outcomes):,} pairs (in brackets: at or above the skip threshold)"
        console.print(_confusion_table(title, outcomes, run.policy.skip_threshold))
        console.print(_rates(run.summaries[data]), markup=False)
        console.print()
    if run.graded is not None:
        (one, of_one), (two, of_two) = run.graded.kinds["all"]
        console.print(f"scenarios with {run.judge}: tier 1 {one}/{of_one}, tier 2 {two}/{of_two}\n", markup=False)
    if most:
        texts = {(pair.data, pair.pair_id): pair for pair in pairs}
        for name, outcome in misses(o for rows in run.outcomes.values() for o in rows)[:most]:
            pair = texts[outcome.data, outcome.pair_id]
            line = f"{name} ({outcome.label}, {outcome.similarity:.2f}, {outcome.decision}): {pair.a} | {pair.b}"
            console.print(f"{outcome.data} {outcome.pair_id} {line}", markup=False)


def _confusion_table(title: str, outcomes: Sequence[Outcome], skip_threshold: float) -> Table:
    overall, near = confusion(outcomes), confusion(outcomes, skip_threshold)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("labelled")
    for heading in _HEADINGS:
        table.add_column(heading, justify="right")
    for label, row in overall.items():
        table.add_row(label, *(f"{row[kind]} ({near[label][kind]})" for kind in Kind))
    return table


def _rates(summary: Summary) -> str:
    said = [
        ("false skips", summary.false_skips),
        ("yield", summary.skipped_yield),
        ("wrong retirements", summary.wrong_retirements),
        ("right retirements", summary.right_retirements),
    ]
    return "; ".join(f"{name} {shown(found)}" for name, found in said if found.whole)


def _miss_lines(runs: Sequence[Run], pairs: Sequence[Pair]) -> Iterator[bytes]:
    texts = {(pair.data, pair.pair_id): pair for pair in pairs}
    for run in runs:
        for name, outcome in misses(o for rows in run.outcomes.values() for o in rows):
            pair = texts[outcome.data, outcome.pair_id]
            row = {"judge": run.judge, "miss": name, **msgspec.to_builtins(outcome), "a": pair.a, "b": pair.b}
            yield msgspec.json.encode(row) + b"\n"


def _as_json(run: Run) -> dict[str, Any]:
    return {
        "judge": run.judge,
        "embedder": run.embedder,
        "nli": run.nli,
        "policy": run.policy,
        "files": {
            data: {
                "rates": {
                    field: {"part": value.part, "whole": value.whole, "rate": round(value.rate, 5)}
                    for field in summary.__struct_fields__
                    if isinstance(value := getattr(summary, field), Share)
                },
                "confusion": confusion(run.outcomes[data]),
                "confusion_at_skip": confusion(run.outcomes[data], run.policy.skip_threshold),
            }
            for data, summary in run.summaries.items()
        },
        "scenarios": None if run.graded is None else {"kinds": run.graded.kinds, "problems": run.graded.problems},
    }


def _write(path: Path, body: bytes) -> None:
    try:
        path.write_bytes(body)
    except OSError as error:
        raise BadSettings(f"{path} can not be written: {error.strerror or error}") from None
