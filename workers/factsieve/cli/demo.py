"""`factsieve demo`: a few hundred statements through a real stack, and what became of them."""

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from factsieve.cli.connect import Overrides, local_overrides, overrides_of
from factsieve.cli.demo_run import (
    Pass,
    all_rows,
    changes,
    dead_letters,
    embed_alone,
    same_decisions,
    stream,
)
from factsieve.cli.lines import BadLine, Line, open_input, read_lines
from factsieve.cli.progress import Steps
from factsieve.cli.render import STYLE, count, err, kind_of, out, summary, why
from factsieve.cli.story import longest_chain, timeline_table
from factsieve.cli.telling import telling
from factsieve.core.errors import Bug
from factsieve.core.facts import Fact
from factsieve.operations.connected import Connected, connected_to
from factsieve.operations.conversation import Decision


def demo(
    source: Annotated[
        str | None, typer.Argument(metavar="[INPUT]", help="JSON lines like the packaged ones.", show_default=False)
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the stack's state and logs in this folder.", show_default=False)
    ] = None,
    assignments: Overrides = None,
) -> None:
    """Start everything in a temporary folder, stream statements through Kafka, show what became of them, stop everything.

    The packaged input is half a year in the life of an engineering team and a household. It takes about a minute.

    Example: factsieve demo my-facts.jsonl
    """
    from factsieve.assembly.settings import load_settings
    from factsieve.cli.local import running, stopped_by_sigterm
    from factsieve.localstack.stack import StackConfig

    console, now = out(), datetime.now(UTC)
    lines = read_input(source, now)
    with ExitStack() as stack:
        stack.enter_context(stopped_by_sigterm())
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="factsieve-demo-")))
        console.print(
            f"[bold]factsieve demo[/bold]: {len(lines)} statements, a broker, Redis, a vector store and a worker."
        )
        console.print("Starting them ...")
        overrides = overrides_of(assignments)
        local, _worker = stack.enter_context(running(StackConfig(state_dir=folder), overrides, config=None))
        settings = load_settings({**local_overrides(local), **overrides})
        asyncio.run(_show(console, connected_to(settings, local=True), lines, now))
        console.print("\nStopping everything.")
    console.print(
        "Nothing is left running." if keep is None else f"Nothing is left running; state and logs are in {keep}."
    )
    console.print("Next: make up, then factsieve remember / facts / history / activity.", markup=False)


def read_input(source: str | None, now: datetime) -> list[Line | BadLine]:
    """Return the input's lines; one without an id is named by its number, so that a second time is a repetition."""
    if source is None:
        packaged = (resources.files("factsieve.cli") / "demo" / "facts.jsonl").read_bytes()
        lines = list(read_lines(packaged.splitlines(), default_namespace="demo", now=now))
    else:
        with open_input(source) as stream:
            lines = list(read_lines(stream, default_namespace="demo", now=now))
    return [
        msgspec.structs.replace(line, event_id=f"line-{line.number}")
        if isinstance(line, Line) and line.event_id is None
        else line
        for line in lines
    ]


async def _show(console: Console, connected: Connected, lines: Sequence[Line | BadLine], now: datetime) -> None:
    texts = [str(line.value.get("text", "")) for line in lines if isinstance(line, Line)]
    alone = await embed_alone(connected, texts)
    with Steps(err(), "Deciding", len(texts)) as steps:
        first = await stream(connected, lines, now, steps)
    console.print(f"\n[bold]{summary(count(first.decisions))}[/bold]")
    await _show_counts(console, connected, first.decisions)
    console.print("\n[bold]Telling decisions[/bold]")
    console.print(telling_table(first.decisions))
    rows = await all_rows(connected)
    _show_story(console, rows)
    console.print("\n[bold]How fast[/bold]")
    console.print(
        f"{first.per_second:,.0f} events/s from Kafka to decision; the bare embedder alone does {alone:,.0f} of the same "
        f"events/s here: {first.per_second / alone:.0%}."
    )
    console.print("\n[bold]The same input once more[/bold]")
    with Steps(err(), "Deciding", len(texts)) as steps:
        second = await stream(connected, lines, now, steps)
    _show_repetition(console, first, second, changes(rows, await all_rows(connected)))


async def _show_counts(console: Console, connected: Connected, decisions: Sequence[Decision]) -> None:
    kinds = count(decisions)
    known = sum(one.get("via") == "hash_window" for one in decisions)
    said = ", ".join(f"[{STYLE[kind]}]{number} {kind}[/]" for kind, number in kinds.most_common())
    console.print(f"{said}; {known} of the skips needed no embedding and no search.")
    console.print(
        f"{sum(kinds.values())} decisions for {len(decisions)} statements; dead letters: {await dead_letters(connected)}."
    )


def telling_table(decisions: Sequence[Decision]) -> Table:
    """Return one or two decisions of each kind, each with the statement that it was compared with and why."""
    table = Table(box=None, pad_edge=False, header_style="bold", row_styles=("", ""))
    table.add_column("case", no_wrap=True)
    table.add_column("decision", no_wrap=True)
    table.add_column("statement", overflow="fold", ratio=5)
    table.add_column("compared with", overflow="fold", ratio=4)
    table.add_column("why", overflow="fold", ratio=4)
    for row in telling(decisions):
        one = row.decision
        times = f" [dim]({row.times} times)[/dim]" if row.times > 1 else ""
        matched = one.get("matched_text")
        against = "the same words" if matched == one.get("text") else matched or ""
        table.add_row(
            f"[bold]{row.case}[/bold]" if row.first else "",
            f"[{STYLE[kind_of(one)]}]{kind_of(one)}[/]",
            escape(str(one.get("text"))) + times,
            f"[dim]{escape(str(against))}[/dim]",
            f"[dim]{escape(why(one))}[/dim]",
        )
    return table


def _show_story(console: Console, rows: Sequence[Fact]) -> None:
    chain = longest_chain(rows)
    if not chain:
        return
    name = chain[-1].slot or chain[-1].text
    console.print(f"\n[bold]The story of one fact[/bold]: {escape(name)} in {escape(chain[-1].namespace)}")
    console.print(timeline_table(chain))


def _show_repetition(console: Console, first: Pass, second: Pass, changed: tuple[int, int]) -> None:
    same = same_decisions(first.decisions, second.decisions)
    new_points, changed_points = changed
    console.print(
        f"{same} of {len(first.decisions)} statements got the very decision again that they had; "
        f"new points: {new_points}, changed points: {changed_points}."
    )
    if same != len(first.decisions) or new_points or changed_points:
        raise Bug("the same input a second time did not lead to the same decisions and the same facts")
