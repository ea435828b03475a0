"""Events per second: the bare embedder, the engine in one process, and all of it through Kafka with one worker.

Prints numbers of this machine, now; compare only numbers of one run with each other. `make bench`, `make bench-smoke`.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import typer

from factsieve.assembly import memory
from factsieve.assembly.settings import load_settings
from factsieve.cli.connect import local_overrides
from factsieve.cli.decide import decide_lines
from factsieve.cli.demo_run import embed_alone, stream
from factsieve.cli.lines import Line, open_input, read_lines
from factsieve.cli.local import running
from factsieve.cli.progress import Steps
from factsieve.cli.render import err
from factsieve.localstack.stack import StackConfig
from factsieve.operations.connected import connected_to

SMOKE_LINES = 60


def read(path: str | None, now: datetime) -> list[Line]:
    """Return the input's usable lines."""
    if path is None:
        raw = (resources.files("factsieve.cli") / "demo" / "facts.jsonl").read_bytes().splitlines()
        lines = list(read_lines(raw, default_namespace="bench", now=now))
    else:
        with open_input(path) as stream_:
            lines = list(read_lines(stream_, default_namespace="bench", now=now))
    return [line for line in lines if isinstance(line, Line)]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", nargs="?", help="JSON lines; the demo's by default")
    parser.add_argument("--smoke", action="store_true", help=f"the first {SMOKE_LINES} lines only")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    memory.look_less_often()  # as the command line does
    now = datetime.now(UTC)
    lines = read(arguments.input, now)[: SMOKE_LINES if arguments.smoke else None]
    texts = [str(line.value.get("text", "")) for line in lines]
    rates: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory(prefix="factsieve-bench-") as folder,
        Steps(err(), "Deciding", len(lines)) as steps,
    ):
        with running(StackConfig(state_dir=Path(folder)), {}, config=None) as (stack, _worker):
            connected = connected_to(load_settings(local_overrides(stack)), local=True)
            rates["embedder"] = asyncio.run(embed_alone(connected, texts))
            through = asyncio.run(stream(connected, lines, now, steps))
            rates["kafka"] = through.per_second
        began = time.perf_counter()
        alone = asyncio.run(decide_lines(lines, {}, None, now))
        rates["one_process"] = len(alone) / (time.perf_counter() - began)
    if arguments.json:
        typer.echo(json.dumps({"events": len(lines), **{name: round(rate, 1) for name, rate in rates.items()}}))
    else:
        typer.echo(f"{len(lines)} events")
        for name, label in (
            ("embedder", "bare embedder"),
            ("one_process", "one process, loading the model included"),
            ("kafka", "Kafka to decision"),
        ):
            typer.echo(f"{rates[name]:8,.0f} events/s  {rates[name] / rates['embedder']:6.0%}  {label}")
    return 0 if len(alone) == len(through.decisions) == len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
