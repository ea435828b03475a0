"""`factsieve whatif`: what past decisions would be under other thresholds."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import msgspec
import typer
from rich.markup import escape
from rich.table import Table

from factsieve.cli.connect import ConfigFile, Overrides, StateDir, connect
from factsieve.cli.progress import Steps
from factsieve.cli.render import STYLE, err, out
from factsieve.cli.times import instant
from factsieve.core.errors import BadSettings
from factsieve.core.policy import SkipGuard
from factsieve.operations.stores import reading

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.core.decision import Entry

SHORT: Final = 100
"""Characters of a statement in an example."""


def whatif(
    skip_threshold: Annotated[
        float | None, typer.Option(help="Similarity from which a candidate is known.", show_default=False)
    ] = None,
    ambiguous_threshold: Annotated[
        float | None, typer.Option(help="Similarity from which the judge chooses freely.", show_default=False)
    ] = None,
    supersede_threshold: Annotated[
        float | None, typer.Option(help="Similarity from which the judge may retire a fact.", show_default=False)
    ] = None,
    dedup_threshold: Annotated[
        float | None, typer.Option(help="Similarity above which the signal says is_update.", show_default=False)
    ] = None,
    skip_guard: Annotated[
        str | None, typer.Option(help="ask, local or off: who is asked where the guard objects.", show_default=False)
    ] = None,
    *,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Of this namespace alone.")] = None,
    since: Annotated[
        str | None, typer.Option(help="As if changed then: 2026-03-04 or 2026-03-04T09:30:00Z.", show_default=False)
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask the judge where its answer was not recorded.")] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Decide everything anew in memory, from an empty store on.")
    ] = False,
    examples: Annotated[int, typer.Option(min=0, max=100, help="Examples of each kind of change.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, with every change (the first 10,000).")] = False,
    assignments: Overrides = None,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Show what past decisions would be under other thresholds, and what that means for questions to the judge. Changes nothing.

    Each decision is made again from what the ledger recorded of it. That is exact up to the first one that would be different in
    a namespace; after that the stored facts would be others, and what follows is told as likely. --simulate decides all of them anew.
    The rules judge is always asked. A model is only asked with --ask; without, the answers that are missing are counted.

    Example: factsieve whatif --skip-threshold 0.92 --namespace team-kestrel
    """
    changes = {
        "skip_threshold": skip_threshold,
        "ambiguous_threshold": ambiguous_threshold,
        "supersede_threshold": supersede_threshold,
        "dedup_update_threshold": dedup_threshold,
        "skip_guard": _guard(skip_guard),
    }
    connected = connect(state_dir, config, assignments)
    start = instant(since, "--since")
    found = asyncio.run(
        _foresee(
            connected.settings,
            {name: value for name, value in changes.items() if value is not None},
            namespace=namespace,
            since=start,
            ask=ask,
            simulate=simulate,
            examples=examples,
        )
    )
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    show(found)


def _guard(text: str | None) -> str | None:
    if text is None or text in get_args(SkipGuard):
        return text
    raise BadSettings(f"--skip-guard {text!r} is none of {', '.join(get_args(SkipGuard))}")


async def _foresee(
    settings: "Settings",
    changes: Mapping[str, object],
    *,
    namespace: str | None,
    since: datetime | None,
    ask: bool,
    simulate: bool,
    examples: int,
) -> dict[str, Any]:
    from factsieve.operations.whatif import Logbook, policies_under, question_of, tell

    then = policies_under(settings, changes)
    query = question_of(settings, then, since=since, ask=ask, simulate=simulate)
    async with reading(settings) as stores:
        logbook = await Logbook.open(stores.ledger, namespace)
        with Steps(err(), "Deciding again", logbook.events) as steps:

            def advance(_entry: "Entry") -> None:
                steps.advance()

            told = await tell(settings, stores.embedder, logbook, query, examples=examples, on_entry=advance)
    policy = settings.policies().of(namespace or "")
    return {
        "policy": {name: [getattr(policy, name), value] for name, value in changes.items()},
        "namespace": namespace,
        "since": since,
        "simulated": simulate,
        "asked": ask,
        **told.value(),
    }


def show(found: Mapping[str, Any]) -> None:
    """Print what is foreseen, for people."""
    console = out()
    if not found["decisions"]:
        console.print("No decisions to look at.")
        return
    console.print(f"[bold]{escape(_policy_line(found))}[/bold]")
    console.print(_summary(found), soft_wrap=True)
    if found["steps"]:
        console.print()
        console.print(_table(found))
    for example in found["examples"]:
        _show_example(example)
    for note in _notes(found):
        console.print(f"[dim]{escape(note)}[/dim]", soft_wrap=True)


def _policy_line(found: Mapping[str, Any]) -> str:
    changed = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in found["policy"].items())
    return f"What if {changed}" if changed else "The policy in force"


def _summary(found: Mapping[str, Any]) -> str:
    parts = [f"{found['same'] + found['another_way']:,} would be the same"]
    if found["another_way"]:
        parts[-1] += f" ({found['another_way']:,} of them for another reason or in another band)"
    parts.append(f"{found['changed']:,} would change")
    if found["needs_judge"]:
        parts.append(f"{found['needs_judge']:,} need a judge's answer that was not recorded")
    if found["unclear"]:
        parts.append(f"{found['unclear']:,} can not be told from the log")
    return f"Of {found['decisions']:,} decisions in {found['namespaces']:,} namespaces " + ", ".join(parts) + "."


def _table(found: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("from", "to"):
        table.add_column(name, no_wrap=True)
    table.add_column("surely", justify="right")
    table.add_column("likely", justify="right")
    for step in found["steps"]:
        after = "[yellow]the judge's choice[/yellow]" if step["to"] is None else _styled(step["to"])
        table.add_row(_styled(step["from"]), after, f"{step['certain']:,}", f"{step['likely']:,}")
    return table


def _styled(kind: str) -> str:
    return f"[{STYLE[kind]}]{kind}[/]"


def _show_example(one: Mapping[str, Any]) -> None:
    console = out()
    before, after = one["from"], one["to"]
    became = "?" if after is None else f"{after['decision']} ({after['reason']})"
    sure = "" if one["certain"] else ", likely"
    console.print()
    console.print(f"{before['decision']} ({before['reason']}) -> {became} [dim]at {one['similarity']:.3f}{sure}[/dim]")
    console.print(f"  new     {escape(_short(one['text']))}", soft_wrap=True)
    stored = before["matched_text"] or (after or {}).get("matched_text")
    if stored:
        console.print(f"  stored  {escape(_short(stored))}", soft_wrap=True)
    console.print(f"  [dim]event {escape(str(one['event_id']))} in {escape(one['namespace'])}[/dim]", soft_wrap=True)


def _short(text: str) -> str:
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."


def _notes(found: Mapping[str, Any]) -> list[str]:
    """Return what has to be known to read the numbers."""
    notes = [""]
    questions, calls = found["questions"], found["model_calls"]
    notes.append(f"Questions to the judge: {questions['before']:,} -> {questions['after']:,}.")
    most = f" to {calls['after_at_most']:,}" if calls["after_at_most"] != calls["after_at_least"] else ""
    notes.append(f"Calls of a language model: {calls['before']:,} -> {calls['after_at_least']:,}{most}.")
    signal = found["is_update"]
    if signal["to_true"] or signal["to_false"]:
        notes.append(
            f"Dedup signals: is_update would become true {signal['to_true']:,} times, false {signal['to_false']:,} times."
        )
    if not found["simulated"] and found["namespaces_changed"]:
        notes.append(
            "Surely: up to the first difference in its namespace. Likely: as if the facts stored by then were the same; --simulate tells."
        )
    if found["needs_judge"] and not found["asked"]:
        notes.append("--ask has the judge answer now.")
    if found["orders_left_out"]:
        notes.append(f"{found['orders_left_out']:,} orders of operators came after a difference and were left out.")
    if found["erased"]:
        notes.append(f"{found['erased']:,} statements were erased since and are left out.")
    return notes
