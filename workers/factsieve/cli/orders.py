"""What the commands that give orders have in common: options, and how outcomes are shown."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import typer
from rich.markup import escape

from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.render import out
from factsieve.core.telling import change_word
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Decision
from factsieve.operations.signing import signing_key, was_refused

Reason = Annotated[str | None, typer.Option("--reason", "-r", help="Why, for the record.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="One outcome a line, as JSON.")]
Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="Where to look for it (default: everywhere).", show_default=False),
]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="Give up waiting after so many seconds.")]

_STYLE: Final = {"applied": "green", "no_op": "bright_black", "refused": "red"}


def connect_to_order(state_dir: StateDir, config: ConfigFile, *, preview_only: bool) -> Connected:
    """Return how to connect; complain now, and not after long reading, where a command can not be signed."""
    connected = connect(state_dir, config)
    if not preview_only:
        signing_key(connected.settings)
    return connected


def report(outcomes: Sequence[Decision], *, as_json: bool) -> None:
    """Print outcomes, and exit with code 1 if any was refused."""
    for outcome in outcomes:
        show(outcome, as_json=as_json)
    if any(was_refused(outcome) for outcome in outcomes):
        raise typer.Exit(1)


def show(outcome: Decision, *, as_json: bool) -> None:
    """Print one outcome: what became of the command, and each fact that it changed."""
    if as_json:
        typer.echo(msgspec.json.encode(outcome).decode())
        return
    console = out()
    error = outcome.get("error")
    kind = "refused" if error else str(outcome.get("outcome"))
    said = f"{error['code']}: {error['message']}" if error else str(outcome.get("reason"))
    would = "[dim]would be[/dim] " if outcome.get("dry_run") else ""
    console.print(f"{would}[{_STYLE[kind]}]{kind.replace('_', '-')}[/] {escape(said)}", soft_wrap=True)
    for change in outcome.get("changes") or ():
        fact = change["fact"]
        word = change_word(change)
        text = fact["text"] or "(no text any more)"
        console.print(f"  {word:10} {escape(text)} [dim]{fact['fact_id']}[/dim]", soft_wrap=True)
