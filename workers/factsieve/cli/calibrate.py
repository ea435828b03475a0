"""`factsieve calibrate`: where to put the skip threshold, measured on labelled pairs."""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from factsieve.cli.connect import ConfigFile, Overrides, overrides_of
from factsieve.cli.measure.pairs import Pair, read_pairs
from factsieve.cli.measure.sweep_tables import Result, show
from factsieve.cli.progress import Steps
from factsieve.cli.render import err, out
from factsieve.core.calibration import Cuts, Point, Trial, grid, pick, sweep
from factsieve.core.errors import BadSettings
from factsieve.core.profile import Gate, Measured, NliCuts, Pick, ThresholdProfile, encode_profile

if TYPE_CHECKING:
    from factsieve.adapters.kept import Keep
    from factsieve.assembly.settings import Settings

VETOES: Final = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0)
ENTAILMENTS: Final = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
"""What a 3-way model must see both ways; a 2-way model tells no entailment."""


class PickBy(StrEnum):
    """How to choose from the sweep."""

    F1 = "f1"
    RECALL = "recall"
    FALSE_SKIP = "false-skip"


PairFiles = Annotated[
    list[str],
    typer.Option("--pairs", help="JSON lines: id, a (stored), b (incoming), relation, category. May be repeated."),
]
KeepFile = Annotated[
    Path | None,
    typer.Option(
        "--keep", help="A file that keeps vectors and NLI scores, so that the next run is quick.", show_default=False
    ),
]


def calibrate(
    *,
    pairs: PairFiles,
    first: Annotated[float, typer.Option("--from", help="Lowest skip threshold.")] = 0.80,
    last: Annotated[float, typer.Option("--to", help="Highest skip threshold.")] = 0.95,
    step: Annotated[float, typer.Option(help="From one threshold to the next.")] = 0.01,
    judge: Annotated[str | None, typer.Option(help="rules, nli:DIR or cascade: who confirms skips.")] = None,
    pick_by: Annotated[
        PickBy,
        typer.Option("--pick", help="The best F1, a recall that is reached, or a false-skip budget that is kept."),
    ] = PickBy.FALSE_SKIP,
    budget: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="With --pick false-skip: share of pairs of two statements that may be skipped."
        ),
    ] = 0.01,
    recall: Annotated[
        float, typer.Option("--recall", min=0, max=1, help="With --pick recall: share of duplicates to be skipped.")
    ] = 0.9,
    profile: Annotated[
        Path | None, typer.Option(help="Write the threshold profile here (JSON).", show_default=False)
    ] = None,
    name: Annotated[str, typer.Option(help="The profile's name, as decisions and reports give it.")] = "calibrated",
    plot: Annotated[Path | None, typer.Option(help="Draw the curves into this PNG.", show_default=False)] = None,
    keep: KeepFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole sweep as JSON.")] = False,
    config: ConfigFile = None,
    assignments: Overrides = None,
) -> None:
    """Sweep the skip threshold over labelled pairs, show what each would cost, and choose one.

    For every threshold: precision, recall and F1 (positive: a duplicate that is skipped) and the false-skip rate (pairs of two statements
    that are skipped), by the number alone, with the guard, and with an NLI judge, whose veto is swept too. The profile fits the
    embedder (and the NLI model) that it was measured with and no other; policy.profile_path puts it to use. Exit code 1 where no threshold
    reaches what --pick asks for.

    Example: factsieve calibrate --pairs pairs.jsonl --pick false-skip --budget 0.01 --profile thresholds.json --plot curves.png
    """
    from factsieve.adapters.kept import Keep
    from factsieve.assembly.settings import load_settings

    try:
        thresholds = grid(first, last, step)
    except ValueError as error:
        raise BadSettings(f"--from {first} --to {last} --step {step}: {error}") from None
    rows = read_pairs(pairs)
    settings = load_settings(
        overrides_of(assignments) | ({"judge.name": judge} if judge is not None else {}), path=config
    )
    wanted = {PickBy.F1: None, PickBy.RECALL: recall, PickBy.FALSE_SKIP: budget}[pick_by]
    by: Pick = pick_by.value
    kept = None if keep is None else Keep(keep)
    try:
        measured = asyncio.run(_measure(settings, rows, thresholds[0], kept))
    finally:
        if kept is not None:
            kept.close()
    result = choose(measured.trials, thresholds, by, wanted, measured.cuts)
    if plot is not None:
        from factsieve.cli.measure.plot import draw

        draw(plot, result.points, result.veto_points, result.chosen, budget=budget if by == "false-skip" else None)
    found = None if result.chosen is None else profile_of(name, settings, measured, rows, result.chosen, by, wanted)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(_as_json(result, found)) + b"\n")
    else:
        show(out(), result, rows)
    if result.chosen is None or found is None:
        asked = f"a recall of {recall:g}" if by == "recall" else f"a false-skip budget of {budget:g}"
        err().print(
            f"No threshold from {first:g} to {last:g} reaches {asked}: ask for less, or widen the range.", style="red"
        )
        raise typer.Exit(1)
    if profile is not None:
        try:
            profile.write_bytes(encode_profile(found))
        except OSError as error:
            raise BadSettings(f"the profile {profile} can not be written: {error.strerror or error}") from None
        err().print(f'Wrote {profile}. To use it: policy.profile_path = "{profile}"', markup=False)


class _Measurement(msgspec.Struct, frozen=True):
    """The pairs as the way to a skip sees them, and the models that made them so (`nli` with the cut-offs in force)."""

    trials: list[Trial]
    embedder_model: str
    embedder_fingerprint: str
    nli: NliCuts | None

    @property
    def cuts(self) -> Cuts | None:
        return None if self.nli is None else Cuts(0.0, self.nli.veto, self.nli.entailment)


async def _measure(settings: "Settings", pairs: Sequence[Pair], floor: float, keep: "Keep | None") -> _Measurement:
    from factsieve.assembly.wiring import open_models
    from factsieve.cli.measure.trials import make_trials

    share = settings.embedder.max_unknown_share
    async with open_models(settings, keep) as models:
        with Steps(err(), "Measuring", len(pairs)) as steps:
            trials = await make_trials(models, pairs, max_unknown_share=share, floor=floor, advance=steps.advance)
        nli = models.judges.nli
        cuts = None
        if nli is not None:
            used = nli.profile
            cuts = NliCuts(
                model=nli.name,
                fingerprint=nli.fingerprint,
                veto=used.veto,
                entailment=used.entailment,
                clear=used.clear,
            )
        return _Measurement(trials, models.embedder.model, models.embedder.fingerprint, cuts)


def choose(
    trials: list[Trial], thresholds: Sequence[float], by: Pick, wanted: float | None, cuts: Cuts | None
) -> Result:
    """Return the sweep and the choice from its last gate; `cuts` are those of the NLI model, None without one."""
    gates: tuple[Gate, ...] = ("number", "guard") if cuts is None else ("number", "guard", "judge")
    points = sweep(trials, thresholds, gates, cuts=cuts)
    last = [point for point in points if point.gate == gates[-1]]
    if cuts is None:
        return Result(trials, points, pick(last, by, wanted), [])
    three_way = any(trial.entailment is not None for trial in trials)
    swept = sweep(
        trials, thresholds, ("judge",), vetoes=VETOES, entailments=ENTAILMENTS if three_way else (), cuts=cuts
    )
    chosen = pick(swept, by, wanted)
    if chosen is None:
        return Result(trials, points, None, [])
    # the curves behind the judge are those of the cut-offs that were chosen
    shown = [point for point in points if point.gate != "judge"]
    alike = [point for point in swept if point.cuts.entailment == chosen.cuts.entailment]
    shown += [point for point in alike if point.cuts.veto == chosen.cuts.veto]
    return Result(trials, shown, chosen, [p for p in alike if p.cuts.threshold == chosen.cuts.threshold])


def profile_of(
    name: str,
    settings: "Settings",
    measured: _Measurement,
    pairs: Sequence[Pair],
    chosen: Point,
    by: Pick,
    wanted: float | None,
) -> ThresholdProfile:
    """Return the profile of a chosen point; the lower thresholds stay, as far as the order allows."""
    threshold, veto = chosen.cuts.threshold, chosen.cuts.veto
    ambiguous = min(settings.policy.ambiguous_threshold, threshold)
    cuts = measured.nli
    if cuts is not None:
        cuts = msgspec.structs.replace(cuts, veto=veto, entailment=chosen.cuts.entailment, clear=min(cuts.clear, veto))
    return ThresholdProfile(
        name=name,
        embedder_model=measured.embedder_model,
        embedder_fingerprint=measured.embedder_fingerprint,
        skip_threshold=threshold,
        ambiguous_threshold=ambiguous,
        supersede_threshold=min(settings.policy.supersede_threshold, ambiguous),
        nli=cuts,
        measured=Measured(
            rows=dict(Counter(pair.data for pair in pairs)),
            gate=chosen.gate,
            picked_by=by,
            asked_for=wanted,
            precision=round(chosen.precision, 4),
            recall=round(chosen.recall, 4),
            f1=round(chosen.f1, 4),
            false_skip_rate=round(chosen.false_skip_rate, 4),
        ),
    )


def _as_json(result: Result, profile: ThresholdProfile | None) -> dict[str, Any]:
    return {
        "points": [point_json(point) for point in result.points],
        "vetoes": [point_json(point) for point in result.veto_points],
        "chosen": None if result.chosen is None else point_json(result.chosen),
        "profile": profile,
    }


def point_json(point: Point) -> dict[str, Any]:
    """Return a point with its rates, as JSON has it."""
    return {
        "gate": point.gate,
        "skip_threshold": point.cuts.threshold,
        "nli_veto": point.cuts.veto if point.gate == "judge" else None,
        "nli_entailment": point.cuts.entailment if point.gate == "judge" else None,
        "precision": round(point.precision, 5),
        "recall": round(point.recall, 5),
        "f1": round(point.f1, 5),
        "false_skip_rate": round(point.false_skip_rate, 5),
        "true_skips": point.true_skips,
        "duplicates": point.duplicates,
        "false_skips": point.false_skips,
        "others": point.others,
        "groups": {name: {"false_skips": false, "pairs": count} for name, (false, count) in point.groups.items()},
    }
