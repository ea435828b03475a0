"""The page of quality: numbers only, no text of any data set."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from factsieve.cli.measure import costs as cost_goals
from factsieve.cli.measure.costs import Costs
from factsieve.cli.measure.scenarios import Graded
from factsieve.cli.measure.targets import Target, measured
from factsieve.core.facts import Kind
from factsieve.core.outcomes import Outcome, Share, Summary, confusion
from factsieve.core.policy import Policy

COMMAND: Final = "make quality SHARED=path/to/the/data"

_HEAD: Final = f"""# Quality

Made by `factsieve evaluate` (`{COMMAND}`); do not edit.

Every pair of a set runs through the whole engine in a namespace of its own: the stored statement is remembered, the incoming one comes in a
day later, without slots. What is counted:

- *false skip*: the pair is a contradiction, its similarity is at or above the skip threshold, and the incoming statement was skipped;
- *yield*: duplicates at or above the skip threshold that were skipped;
- *wrong retirement*: the pair is labelled distinct or duplicate, and the stored statement was retired (`supersede`);
- *wrong revision*: the pair is labelled distinct, and the stored wording was replaced by an `update` or `merge`: it is history, not lost;
- *right retirement*: the pair is a contradiction, and the stored statement was retired.

A share is followed by its counts. The sets are public ones that may not be passed on here; the tables hold numbers only.
"""


class Run(msgspec.Struct, frozen=True):
    """What one judge made of everything."""

    judge: str
    embedder: str
    nli: str | None
    policy: Policy
    outcomes: dict[str, list[Outcome]]
    summaries: dict[str, Summary]
    graded: Graded | None = None


def shown(found: Share) -> str:
    """Return a share for people: `3.2 % (5/154)`, a dash of nothing."""
    return f"{100 * found.rate:.1f} % ({found.part}/{found.whole})" if found.whole else "-"


def render(runs: Sequence[Run], costs: Costs | None) -> str:
    """Return the page."""
    parts = [_HEAD, *_setting(runs), *_targets(runs), *_sets(runs), *_scenarios(runs)]
    if costs is not None:
        parts += ["## Cost\n", cost_lines(costs), ""]
    parts += [*_confusions(runs), *_commands()]
    return "\n".join(parts).rstrip() + "\n"


def cost_lines(costs: Costs) -> str:
    """Return the table of costs."""
    rows = [
        ("guard: features of one text", costs.features, cost_goals.FEATURES_GOAL),
        ("guard: one comparison", costs.compare, cost_goals.COMPARE_GOAL),
        *(
            (f"NLI: one pair, both directions ({_short(name)})", value, cost_goals.NLI_GOAL)
            for name, value in costs.nli.items()
        ),
    ]
    lines = [
        f"As ratios to embedding one text alone ({costs.embed_ms:.1f} ms of processor time in that run; in a full batch a text takes "
        f"{costs.batched:.2f} of it).\n",
        "| what | ratio | at most | reached |",
        "| --- | ---: | ---: | --- |",
        *(f"| {name} | {value:.3f} | {goal:g} | {_yes(value <= goal)} |" for name, value, goal in rows),
    ]
    return "\n".join(lines)


def _short(judge: str) -> str:
    return judge.removeprefix("nli:").rstrip("/").rpartition("/")[2]


def _yes(met: bool | None) -> str:
    return "" if met is None else "yes" if met else "**no**"


def _setting(runs: Sequence[Run]) -> Iterator[str]:
    yield "## What ran\n"
    yield "| judge | embedder | NLI model | skip | ambiguous | supersede | profile |"
    yield "| --- | --- | --- | ---: | ---: | ---: | --- |"
    for run in runs:
        p = run.policy
        yield (
            f"| {run.judge} | {run.embedder} | {run.nli or 'none'} | {p.skip_threshold:g} | {p.ambiguous_threshold:g} | "
            f"{p.supersede_threshold:g} | {p.profile} |"
        )
    yield ""


def _targets(runs: Sequence[Run]) -> Iterator[str]:
    found = [measured(run.summaries) for run in runs]
    if not any(found):
        return
    yield "## Goals\n"
    missed = [sum(met is False for _, _, met in rows) for rows in found]
    told = "; ".join(
        f"with {run.judge} {count} of {len(rows)} are missed"
        for run, count, rows in zip(runs, missed, found, strict=True)
    )
    yield f"What factsieve sets itself to reach, and where it stands: {told}.\n"
    yield from _missed(runs, found)
    yield "| what | set | goal |" + "".join(f" {run.judge} | reached |" for run in runs)
    yield "| --- | --- | --- |" + " ---: | --- |" * len(runs)
    for row in zip(*found, strict=True):
        target = row[0][0]
        goal = _goal(target)
        cells = "".join(f" {shown(reached)} | {_yes(met)} |" for _, reached, met in row)
        yield f"| {target.about} | {target.data} | {goal} |{cells}"
    yield ""


def _missed(runs: Sequence[Run], found: Sequence[Sequence[tuple[Target, Share, bool | None]]]) -> Iterator[str]:
    lines = [
        f"- {target.data}, with {run.judge}: {target.about}: {shown(reached)}, goal {_goal(target)}"
        for run, rows in zip(runs, found, strict=True)
        for target, reached, met in rows
        if met is False
    ]
    if lines:
        yield "Missed:\n"
        yield from lines
        yield ""


def _goal(target: Target) -> str:
    if target.goal is None:
        return "reported"
    return f"{'at most' if target.at_most else 'at least'} {100 * target.goal:g} %"


def _sets(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        yield f"## Sets with {run.judge}\n"
        yield (
            "| set | pairs | false skips | distinct skipped >= skip | updates skipped >= skip | yield | wrong retirements | "
            "wrong revisions | right retirements | judge asked |"
        )
        yield "| --- | ---: |" + " ---: |" * 8
        for data, s in run.summaries.items():
            asked = Share(sum(outcome.asked for outcome in run.outcomes[data]), s.pairs)
            shares = (
                s.false_skips, s.lost_distinct, s.lost_updates, s.skipped_yield, s.wrong_retirements, s.wrong_revisions,
                s.right_retirements, asked,
            )  # fmt: skip
            yield f"| {data} | {s.pairs} | " + " | ".join(shown(value) for value in shares) + " |"
        yield ""


def _scenarios(runs: Sequence[Run]) -> Iterator[str]:
    graded = [(run.judge, run.graded) for run in runs if run.graded is not None]
    if not graded:
        return
    yield "## Decision scenarios\n"
    yield "Passed, of; tier 1 is safety (nothing lost), tier 2 quality (repeats recognised, outdated values gone).\n"
    yield "| kind |" + "".join(f" {name}: tier 1 | tier 2 |" for name, _ in graded)
    yield "| --- |" + " ---: | ---: |" * len(graded)
    for kind in graded[0][1].kinds:
        cells = [f" {part}/{whole} |" if whole else " - |" for _, one in graded for part, whole in one.kinds[kind]]
        yield f"| {kind} |" + "".join(cells)
    yield ""
    yield "| what went wrong |" + "".join(f" {name}: tier 1 | tier 2 |" for name, _ in graded)
    yield "| --- |" + " ---: | ---: |" * len(graded)
    for problem in graded[0][1].problems:
        yield f"| {problem} |" + "".join(f" {count} |" for _, one in graded for count in one.problems[problem])
    yield ""


def _confusions(runs: Sequence[Run]) -> Iterator[str]:
    yield "## Decisions by label\n"
    yield "In brackets: pairs at or above the skip threshold.\n"
    for run in runs:
        yield f"### {run.judge}\n"
        yield "| set | label |" + "".join(f" {kind.value} |" for kind in Kind)
        yield "| --- | --- |" + " ---: |" * len(Kind)
        for data, outcomes in run.outcomes.items():
            near = confusion(outcomes, run.policy.skip_threshold)
            for label, row in confusion(outcomes).items():
                yield f"| {data} | {label} |" + "".join(f" {row[kind]} ({near[label][kind]}) |" for kind in Kind)
        yield ""


def _commands() -> Iterator[str]:
    yield "## To make this page again\n"
    yield f"```sh\n{COMMAND}\n```\n"
    yield (
        "It reads `data/pairs/*.jsonl` and `cases/` under that folder, makes the pairs that differ in a value only, and runs "
        "`factsieve evaluate` with rules alone and with the NLI model of the development dependencies. Vectors and scores are kept in "
        "`.factsieve/quality.sqlite`, so that the next run takes a minute."
    )
