"""`factsieve facts` and `factsieve history`: what is known, what was true then, what was believed then."""

import asyncio
import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.markup import escape

from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.render import facts_table, out, when
from factsieve.cli.story import beliefs_table, cost_line, steps_table, timeline_table
from factsieve.cli.times import instant
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Fact, Status
from factsieve.operations.connected import Connected
from factsieve.operations.stores import reading
from factsieve.wire.values import fact_value

if TYPE_CHECKING:
    from factsieve.core.story import Story

AsJson = Annotated[bool, typer.Option("--json", help="One a line, as JSON.")]


def facts(
    like: Annotated[str | None, typer.Option(help="Those nearest to a text, with their similarity.")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Of this namespace alone.")] = None,
    as_of: Annotated[str | None, typer.Option(help="What was true then: 2026-03-04 or 2026-03-04T09:30:00Z.")] = None,
    known_at: Annotated[str | None, typer.Option(help="What was believed then.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", min=1, max=100_000, help="How many; the latest.")] = 50,
    every: Annotated[bool, typer.Option("--all", help="Superseded, former and withdrawn ones too.")] = False,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Show current facts, or those of another time.

    Example: factsieve facts --like "which port does the API use" --as-of 2026-03-04
    """
    true_at, believed_at = instant(as_of, "--as-of"), instant(known_at, "--known-at")
    if like is not None and (believed_at is not None or every):
        raise BadSettings("--like searches what is believed now: use it without --known-at and --all, or with --as-of")
    found, similarities = asyncio.run(
        _find(connect(state_dir, config), like, namespace, true_at, believed_at, limit, every=every)
    )
    total, shown = len(found), found[:limit] if like is not None else found[-limit:]
    if as_json:
        for fact in shown:
            typer.echo(_as_json(fact, similarities.get(fact.fact_id)))
        return
    console = out()
    if not shown:
        console.print("No facts.")
        return
    several = len({fact.namespace for fact in shown}) > 1
    validity = every or true_at is not None or believed_at is not None
    console.print(facts_table(shown, show_namespace=several, show_validity=validity, similarities=similarities))
    if total > len(shown):
        console.print(f"... the latest {len(shown)} of {total}; --limit shows more")


def history(
    fact_id: Annotated[str, typer.Argument(help="A fact's id, as `factsieve facts` shows it.")],
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Show one fact's whole story: who said it and when, what it replaced, who decided and at what cost, what was believed when.

    Exit code 1 if there is no such fact.

    Example: factsieve history 01943a5c-3f80-7a1b-9c2d-0123456789ab
    """
    try:
        uuid.UUID(fact_id)
    except ValueError:
        raise BadSettings(f"{fact_id!r} is no fact id: `factsieve facts` shows them") from None
    story = asyncio.run(_story(connect(state_dir, config), fact_id))
    if story is None:
        out().print(f"There is no fact {fact_id}: `factsieve facts --all` shows the ids.", markup=False)
        raise typer.Exit(1)
    if as_json:
        for row in story.rows:
            typer.echo(_as_json(row, None))
        return
    console = out()
    head = story.head
    slot = f" [dim]\\[{escape(head.slot)}][/dim]" if head.slot else ""
    console.print(f"[bold]{escape(head.text)}[/bold]{slot}")
    console.print(
        f"{head.status.value}, stated {head.stated_count}x, last {when(head.last_stated_at)}, in {head.namespace}",
        markup=False,
    )
    if story.steps:
        console.print("\n[bold]What happened[/bold]")
        console.print(steps_table(story))
        more = " There is more than was read." if story.shortened else ""
        console.print(f"[dim]{cost_line(story)}{more}[/dim]")
    if len(story.chain) > 1:
        console.print("\n[bold]What was true when[/bold]")
        console.print(timeline_table(story.chain))
    console.print("\n[bold]What was believed when[/bold]")
    console.print(beliefs_table(story.rows))


async def _find(
    connected: Connected,
    like: str | None,
    namespace: str | None,
    as_of: datetime | None,
    known_at: datetime | None,
    limit: int,
    *,
    every: bool,
) -> tuple[list[Fact], dict[str, float]]:
    from factsieve.operations import asking

    async with reading(connected.settings) as stores:
        if like is not None:
            names = None if namespace is None else [namespace]
            near = await asking.nearest(stores.facts, stores.embedder, like, names, as_of=as_of, limit=limit)
            return [fact for fact, _ in near], {fact.fact_id: similarity for fact, similarity in near}
        found = await stores.facts.select(namespace, as_of=as_of, known_at=known_at, current_only=not every)
        if known_at is not None:
            return found, {}  # what was believed then may be a former belief now
        return [fact for fact in found if asking.is_listed(fact)], {}


async def _story(connected: Connected, fact_id: str) -> "Story | None":
    from factsieve.operations import asking
    from factsieve.operations.story import tell_story

    async with reading(connected.settings) as stores:
        head = await asking.one(stores.facts, fact_id, None)
        return None if head is None or head.status is Status.ERASED else await tell_story(stores, head)


def _as_json(fact: Fact, similarity: float | None) -> str:
    value = msgspec.to_builtins(fact_value(fact))
    if similarity is not None:
        value["similarity"] = similarity
    return msgspec.json.encode(value).decode()
