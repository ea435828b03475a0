"""`factsieve audit`: which facts stand that should not."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer
from rich.markup import escape

from factsieve.cli.connect import ConfigFile, Overrides, StateDir, connect
from factsieve.cli.progress import Steps
from factsieve.cli.render import err, out
from factsieve.operations.stores import reading

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings

_TITLES: Final = {"duplicates": "say one thing", "conflicts": "contradict each other, or may"}


def audit(
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Of this namespace alone.")] = None,
    max_rate: Annotated[
        float | None,
        typer.Option(min=0, help="Exit code 1 only above so many of 1,000 facts.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, max=1000, help="Groups shown of each kind.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    assignments: Overrides = None,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Scan the current facts for groups that say one thing and for conflicts that both stand, the largest first. Changes nothing.

    Every fact is compared with its neighbours, the facts of its slot and those it was flagged against, by guard, rules and, where
    configured, NLI; no language model is asked. Pairs that a revert left standing together are passed over. Each group names the
    decision that let its facts through. Exit code 1 if anything was found, or with --max-rate if it is too much: for cron.

    Example: factsieve audit --max-rate 5 --json
    """
    connected = connect(state_dir, config, assignments)
    told = asyncio.run(_scan(connected.settings, namespace, limit))
    told["max_rate"] = max_rate
    told["passed"] = told["rate_per_1000"] <= max_rate if max_rate is not None else told["rate_per_1000"] == 0
    if as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        show(told)
    if not told["passed"]:
        raise typer.Exit(1)


async def _scan(settings: "Settings", namespace: str | None, limit: int) -> dict[str, Any]:
    from factsieve.operations.audit import Audit, local_judge

    async with reading(settings) as stores, local_judge(settings) as judge:
        scan = Audit(
            stores.facts,
            settings.policies(),
            stores.embedder,
            judge,
            max_unknown_share=settings.embedder.max_unknown_share,
        )
        with Steps(err(), "Reading facts", await stores.facts.count(namespace)) as steps:
            await scan.scan(namespace, on_points=steps.advance)
        return await scan.value(stores.ledger, limit)


def show(told: Mapping[str, Any]) -> None:
    """Print what was found, for people."""
    console = out()
    for kind, title in _TITLES.items():
        for group in told[kind]["largest"]:
            where = escape(group["namespace"])
            console.print(f"[bold]{group['size']} facts {title}[/bold] [dim]in {where}[/dim]", soft_wrap=True)
            reasons = {pair["later"]: pair for pair in group["pairs"]}
            for fact in group["facts"]:
                _show_fact(fact, reasons.get(fact["fact_id"]))
            hidden = group["size"] - len(group["facts"])
            if hidden > 0:
                console.print(f"  ... and {hidden} more", markup=False)
            console.print()
    for kind in _TITLES:
        hidden = told[kind]["groups"] - len(told[kind]["largest"])
        if hidden > 0:
            console.print(f"... and {hidden:,} more groups of {kind}; --limit shows more")
    console.print(_summary(told), soft_wrap=True)


def _show_fact(fact: Mapping[str, Any], pair: Mapping[str, Any] | None) -> None:
    console = out()
    since = str(fact["valid_from"])[:10]
    flagged = " [yellow](waits for review)[/yellow]" if pair is not None and pair["flagged"] else ""
    console.print(f"  {since}  {escape(fact['text'])}{flagged} [dim]{fact['fact_id']}[/dim]", soft_wrap=True)
    if pair is None:
        return
    said = f"similarity {pair['similarity']:.3f}: {pair['reason']}"
    through = fact["let_through"]
    if through is not None:
        judges = "".join(f"; {note['judge']} said {note['choice']}" for note in through["judges"])
        said += f"; let through as {through['decision']}, {through['reason']}{judges}"
    console.print(f"              [dim]{escape(said)}[/dim]", soft_wrap=True)


def _summary(told: Mapping[str, Any]) -> str:
    duplicates, conflicts = told["duplicates"], told["conflicts"]
    said = (
        f"{told['facts']:,} facts in {told['namespaces']:,} namespaces, {told['pairs']:,} pairs looked at: "
        f"{duplicates['surplus']:,} too many in {duplicates['groups']:,} groups that say one thing, "
        f"{conflicts['surplus']:,} in {conflicts['groups']:,} that contradict each other, or may. "
        f"{round(told['rate_per_1000'], 1):g} of 1,000 facts"
    )
    if told["max_rate"] is not None:
        said += f", at most {told['max_rate']:g} are allowed"
    return said + "."
