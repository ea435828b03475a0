"""`factsieve remember`: statements in, decisions out."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
import typer

from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.lines import Line, open_input, read_lines
from factsieve.cli.progress import Steps
from factsieve.cli.render import FEW, count, decision_line, err, out, summary
from factsieve.cli.statements import Statements, Told
from factsieve.core.errors import BadSettings, Transient
from factsieve.core.facts import Source
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Conversation, Decision

MAX_SHOWN: Final = 50


def remember(
    text: Annotated[list[str] | None, typer.Argument(help="Statements, one an argument.", show_default=False)] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", help="JSON lines with id, text, namespace, ...; - reads standard input."),
    ] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Of statements that name none.")] = "default",
    slot: Annotated[str | None, typer.Option(help="What the statements are about, e.g. user.city.")] = None,
    source: Annotated[Source, typer.Option(help="Which kind of service makes the statements.")] = Source.REMEMBER,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Give up when no decision has come for so many seconds.")
    ] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="One decision a line, as JSON.")] = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Tell factsieve statements, and see what it makes of each.

    Lines of a file are told under their id: told again, they get the same decision again. Exit code 1 if any was refused, 3 if
    decisions did not come in time.

    Example: factsieve remember "The API listens on port 8081" --slot api.port
    """
    if bool(text) == bool(file):
        raise BadSettings(
            'give statements or --file, not both: factsieve remember "Bins on Friday", or --file facts.jsonl (- for standard input)'
        )
    now = datetime.now(UTC)
    extra = {"slot": slot} if slot is not None else {}
    if file is None:
        raw = [
            msgspec.json.encode({"text": one, "namespace": namespace, "source": source.value, **extra})
            for one in text or []
        ]
        lines = list(read_lines(raw, default_namespace=namespace, now=now))
    else:
        with open_input(file) as stream:
            lines = list(read_lines(stream, default_namespace=namespace, now=now))
    statements = Statements(lines, now)
    told = asyncio.run(_tell(statements, connect(state_dir, config), timeout_s=timeout, quiet=as_json))
    report(told.decisions, as_json=as_json)
    if told.missing:
        raise Transient("worker", missing_message(told.missing, timeout))
    if any(decision["decision"] is None for decision in told.decisions):
        raise typer.Exit(1)


async def _tell(statements: Statements, connected: Connected, *, timeout_s: float, quiet: bool) -> Told:
    async with Conversation(connected.kafka, connected.topics) as conversation:
        with Steps(err(), "Remembering", len(statements), quiet=quiet or len(statements) <= FEW) as steps:
            return await statements.tell(conversation, connected.topics, steps, idle_timeout_s=timeout_s)


def report(decisions: Sequence[Decision], *, as_json: bool) -> None:
    """Print the decisions: all of them as JSON; for people one by one where they are few, refusals always, then the summary."""
    if as_json:
        for decision in decisions:
            typer.echo(msgspec.json.encode(decision).decode())
        return
    console = out()
    shown = decisions if len(decisions) <= FEW else [one for one in decisions if one["decision"] is None]
    for decision in shown[:MAX_SHOWN]:
        console.print(decision_line(decision), soft_wrap=not console.is_terminal)
    if len(shown) > MAX_SHOWN:
        console.print(f"... and {len(shown) - MAX_SHOWN} more refused")
    console.print(summary(count(decisions)))


def missing_message(missing: Sequence[Line], timeout_s: float) -> str:
    """Return which statements no decision came for, and what to look at."""
    named = ", ".join(repr(line.event_id or str(line.value.get("text"))[:40]) for line in missing[:5])
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return (
        f"no decision within {timeout_s:g} s for {len(missing)} of the statements: {named}{more}. They are on the topic and will "
        "be decided when a worker runs (`factsieve up`, `factsieve worker`); look at its /readyz and its log"
    )
