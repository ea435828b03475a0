"""`factsieve activity`: the decision log, as it stands on `fact-decisions`."""

import asyncio
from typing import Annotated, Any

import msgspec
import typer
from rich.markup import escape

from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.render import decision_line, out
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import DecisionReader
from factsieve.operations.log import latest


def activity(
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, max=10_000, help="How many of the latest.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Of this namespace alone.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One decision a line, as JSON.")] = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Show what was decided lately, and why.

    A line ends with the event's id, by which `factsieve revert` finds its decision.

    Example: factsieve activity --limit 50 --follow
    """
    asyncio.run(_show(connect(state_dir, config), limit, follow=follow, namespace=namespace, as_json=as_json))


async def _show(connected: Connected, limit: int, *, follow: bool, namespace: str | None, as_json: bool) -> None:
    async with DecisionReader(connected.kafka, connected.topics) as reader:
        for decision in await latest(reader, limit, namespace):
            _print(decision, as_json=as_json)
        reader.seek(reader.ends)
        while follow:
            for _, _, decision in await reader.decisions():
                if namespace in (None, decision.get("namespace")):
                    _print(decision, as_json=as_json)


def _print(decision: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(decision).decode())
        return
    at = str(decision["decided_at"])[:19].replace("T", " ")
    again = " [dim](again)[/dim]" if decision.get("replayed") else ""
    event = decision.get("event_id") or decision.get("event_key")
    named = f" [dim]event {escape(str(event))}[/dim]" if event else ""
    console = out()
    line = f"[dim]{at}[/dim] {escape(str(decision.get('namespace')))} {decision_line(decision)}{named}{again}"
    console.print(line, soft_wrap=not console.is_terminal)
