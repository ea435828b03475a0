"""`factsieve decide`: the same engine in one process, without services, from file to file."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from factsieve.cli.connect import ConfigFile, Overrides, overrides_of
from factsieve.cli.lines import BadLine, Line, open_input, read_lines
from factsieve.cli.progress import Steps
from factsieve.cli.render import count, err, summary
from factsieve.cli.statements import CE_SOURCE, refusal
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Record
from factsieve.operations.conversation import Decision
from factsieve.wire import times
from factsieve.wire.outbound import cloud_event_headers
from factsieve.wire.topics import CANDIDATE, Topics

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.assembly.wiring import Models

MAX_ERRORS_SHOWN: Final = 20
DRAIN_TIMEOUT_S: Final = 24 * 3600.0
"""How long the last decisions are waited for: a slow judge may take its time, and Ctrl-C ends it."""


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
    _check_target(target)
    with open_input(source) as stream:
        lines = list(read_lines(stream, default_namespace=namespace, now=now))
    decisions = asyncio.run(decide_lines(lines, overrides, config, now))
    _write(target, decisions)
    console = err()
    refused = [decision for decision in decisions if decision["decision"] is None]
    for decision in refused[:MAX_ERRORS_SHOWN]:
        console.print(f"refused: {decision['error']['message']}", style="red", markup=False, soft_wrap=True)
    if len(refused) > MAX_ERRORS_SHOWN:
        console.print(f"... and {len(refused) - MAX_ERRORS_SHOWN} more refused", markup=False)
    console.print(summary(count(decisions)))
    if refused:
        raise typer.Exit(1)


async def decide_lines(
    lines: Sequence[Line | BadLine], overrides: Mapping[str, object], config: Path | None, now: datetime
) -> list[Decision]:
    """Return what the engine decides about each line, in order; a line that is none is a reject. Raises BadSettings."""
    from factsieve.assembly.settings import load_settings

    return await decide_under(load_settings(overrides, path=config), lines, now)


async def decide_under(
    settings: "Settings", lines: Sequence[Line | BadLine], now: datetime, models: "Models | None" = None
) -> list[Decision]:
    """Return the same under settings that are at hand, with models that are loaded already where they are given."""
    from factsieve.assembly.wiring import offline_engine

    by_number: dict[int, Decision] = {}
    numbers: list[int] = []
    async with offline_engine(settings, models=models) as offline:
        await offline.engine.start()
        with Steps(err(), "Deciding", len(lines)) as steps:
            for line in lines:
                if isinstance(line, BadLine):
                    by_number[line.number] = refusal(line.number, line.code, line.message)
                    steps.advance()
                    continue
                await offline.engine.submit(_record(line, len(numbers), settings.topics, now), steps.advance)
                numbers.append(line.number)
            await offline.engine.drain(None, DRAIN_TIMEOUT_S)
        await offline.engine.stop()
        if offline.engine.failure is not None:
            raise offline.engine.failure  # what is missing must not look like an answer
        for message in offline.outbox.of(settings.topics.decisions):
            decision: Decision = msgspec.json.decode(message.value or b"")
            number = numbers[decision["coordinates"]["offset"]]
            if decision["decision"] is None:
                decision["error"]["message"] = f"line {number}: {decision['error']['message']}"
            by_number[number] = decision
    return [by_number[number] for number in sorted(by_number)]


def _record(line: Line, offset: int, topics: Topics, now: datetime) -> Record:
    """Return a line as the record that a producer would have made of it."""
    named = line.event_id is not None
    headers = cloud_event_headers(CANDIDATE, line.event_id or "", now, ce_source=CE_SOURCE) if named else ()
    key, value = line.namespace.encode("utf-8", "surrogatepass"), line.encode()
    return Record(topics.candidates, 0, offset, times.to_ms(now), key, value, headers)


def _check_target(target: str) -> None:
    """Complain of an output that can not be written now, and not after hours of deciding. Raises BadSettings."""
    path = Path(target)
    if target == "-" or (path.exists() and not path.is_dir() and os.access(path, os.W_OK)):
        return
    if path.is_dir():
        raise BadSettings(f"output {target} can not be written: it is a folder. Name a file, or - for standard output")
    if not path.parent.is_dir():
        raise BadSettings(f"output {target} can not be written: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadSettings(f"output {target} can not be written: permission denied")


def _write(target: str, decisions: Sequence[Decision]) -> None:
    encoded = b"".join(msgspec.json.encode(decision) + b"\n" for decision in decisions)
    if target == "-":
        sys.stdout.buffer.write(encoded)
        sys.stdout.buffer.flush()
        return
    try:
        Path(target).write_bytes(encoded)
    except OSError as error:
        raise BadSettings(f"output {target} can not be written: {error.strerror or error}") from None
