"""`factsieve decide`: the same engine in one process, without services, from file to file."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from factsieve.cli.connect import ConfigFile, Overrides, overrides_of
from factsieve.cli.lines import open_input, read_lines
from factsieve.cli.render import count, err, summary

MAX_ERRORS_SHOWN: Final = 20


def decide(
    source: Annotated[
        str, typer.Option("--input", "-i", help="JSON lines: candidates with an id; - reads standard input.")
    ],
    target: Annotated[str, typer.Option("--output", "-o", help="JSON lines: one decision each; - is standard output.")],
    judge: Annotated[
        str | None, typer.Option(help="rules, nli:DIR, cascade, or a model (openrouter:..., openai:..., ollama:...).")
    ] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Of lines that name none.")] = "default",
    config: ConfigFile = None,
    assignments: Overrides = None,
) -> None:
    """Decide the statements of a file in this process, in order, and write one decision a line.

    No service is needed and nothing is kept. Each decision has the fields of fact-decisions: event_id, namespace, decision, reason,
    fact_id, matched_id, superseded_ids, dedup_signal and more. A line that can not be used is reported with its number, and
    written with decision null and its error; exit code 1 then.

    Example: factsieve decide --input facts.jsonl --output decisions.jsonl --judge rules
    """
    overrides = overrides_of(assignments) | ({"judge.name": judge} if judge is not None else {})
    now = datetime.now(UTC)
    with open_input(source) as stream:
        lines = list(read_lines(stream, default_namespace=namespace, now=now))
    decisions = asyncio.run(_decide(lines, overrides, config, now))
    _write(target, decisions)
    console = err()
    refused = [decision for decision in decisions if decision["decision"] is None]
    for decision in refused[:MAX_ERRORS_SHOWN]:
        console.print(f"refused: {decision['error']['message']}", style="red", markup=False)
    if len(refused) > MAX_ERRORS_SHOWN:
        console.print(f"... and {len(refused) - MAX_ERRORS_SHOWN} more refused", markup=False)
    console.print(summary(count(decisions)))
    if refused:
        raise typer.Exit(1)
