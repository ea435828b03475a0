"""`factsieve activity`: the decision log, as it stands on `fact-decisions`."""

import asyncio
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.markup import escape

from factsieve.cli.connect import ConfigFile, Connected, StateDir, connect
from factsieve.cli.conversation import Reader
from factsieve.cli.render import decision_line, out

Seen = tuple[str, dict[str, Any]]
_SCAN_LIMIT: Final = 20_000
"""So many records back, per partition, are read at most to find the latest that match."""


def activity(
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, max=10_000, help="How many of the latest.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Of this namespace alone.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One decision a line, as JSON.")] = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Show what was decided lately, and why.

    Example: factsieve activity --limit 50 --follow
    """
    asyncio.run(_show(connect(state_dir, config), limit, follow=follow, namespace=namespace, as_json=as_json))


async def _show(connected: Connected, limit: int, *, follow: bool, namespace: str | None, as_json: bool) -> None:
    async with Reader(connected.kafka, connected.topics.decisions) as reader:
        for decision in await _latest(reader, limit, namespace):
            _print(decision, as_json=as_json)
        reader.seek(reader.ends)
        while follow:
            for _, _, value in await reader.poll():
                decision = msgspec.json.decode(value)
                if namespace in (None, decision.get("namespace")):
                    _print(decision, as_json=as_json)


async def _latest(reader: Reader, limit: int, namespace: str | None) -> list[dict[str, Any]]:
    """Return the latest decisions, oldest first. Without a namespace the last `limit` of each partition hold them all."""
    depth = _SCAN_LIMIT if namespace is not None else limit
    starts = {part: max(reader.begins[part], end - depth) for part, end in reader.ends.items()}
    if not limit:
        return []
    reader.seek(starts)
    found: list[Seen] = []
    while not await reader.reached(reader.ends):
        for part, offset, value in await reader.poll():
            decision = msgspec.json.decode(value)
            if offset < reader.ends[part] and namespace in (None, decision.get("namespace")):
                found.append((decision["decided_at"], decision))
    found.sort(key=lambda seen: seen[0])
    return [decision for _, decision in found[-limit:]]


def _print(decision: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(decision).decode())
        return
    at = str(decision["decided_at"])[:19].replace("T", " ")
    again = " [dim](again)[/dim]" if decision.get("replayed") else ""
    console = out()
    line = f"[dim]{at}[/dim] {escape(str(decision.get('namespace')))} {decision_line(decision)}{again}"
    console.print(line, soft_wrap=not console.is_terminal)
