"""`factsieve review`: decide what was flagged, oldest first: one by one, by a file, or by asking the judge now."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer
from rich.markup import escape

from factsieve.cli.connect import ConfigFile, StateDir
from factsieve.cli.lines import open_input
from factsieve.cli.orders import AsJson, DryRun, Reason, Timeout, connect_to_order, show
from factsieve.cli.render import out, when
from factsieve.core.errors import BadInput, BadSettings
from factsieve.core.facts import Fact, Kind, Status
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Decision
from factsieve.operations.orders import Order, Orders, find_decision, find_fact, preview
from factsieve.operations.signing import was_refused
from factsieve.operations.stores import reading
from factsieve.wire.commands import validate_body
from factsieve.wire.values import fact_value

if TYPE_CHECKING:
    from factsieve.assembly.wiring import Stores

MAX_LINES: Final = 100_000
_KEYS: Final = {
    "k": "keep both",
    "s": "supersedes it",
    "r": "repeats it",
    "u": "updates it",
    "m": "merge both",
    "j": "ask the judge",
    "n": "next",
    "q": "quit",
}
"""What can be said of a flagged fact (it) and its rival."""

_DECISIONS: Final = {"k": Kind.ADD, "s": Kind.SUPERSEDE, "r": Kind.SKIP, "u": Kind.UPDATE, "m": Kind.MERGE}


def review(
    fact_id: Annotated[
        str | None, typer.Argument(help="One flagged fact, with --decision.", show_default=False)
    ] = None,
    *,
    decision: Annotated[
        Kind | None, typer.Option("--decision", "-d", help="What it should have been.", show_default=False)
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option("--target", "-t", help="The fact that it is about; may be repeated.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Wording of an update or merge.", show_default=False)] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", help="Decisions, one JSON object a line: fact_id, decision, targets, text."),
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Let the judge decide all of them now.")] = False,
    list_only: Annotated[bool, typer.Option("--list", "-l", help="Show what is flagged, and decide nothing.")] = False,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Of this namespace alone.")] = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    timeout: Timeout = 120.0,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Decide what was stored with a flag, since nobody could say whether it repeats, replaces or contradicts another fact.

    On a terminal it asks about one after the other, oldest first; elsewhere it lists them. Exit code 1 if any decision was refused.

    Example: factsieve review 01943a5c-3f80-7a1b-9c2d-0123456789ab --decision supersede
    """
    if sum([file is not None, ask, list_only, decision is not None]) > 1:
        raise BadSettings("--file, --ask, --list and --decision exclude each other: choose one")
    if (decision is not None) != (fact_id is not None and not ask) or (decision is None and (target or text)):
        raise BadSettings("a fact id and --decision belong together: factsieve review FACT --decision supersede")
    alone = not (file or ask or decision)
    list_only = list_only or (alone and not (sys.stdin.isatty() and sys.stdout.isatty()))
    connected = connect_to_order(state_dir, config, preview_only=list_only or dry_run)
    how = _How(connected, timeout_s=timeout, reason=reason, dry_run=dry_run, as_json=as_json)
    if list_only:
        asyncio.run(_list(how, namespace))
    elif file is not None:
        bodies = list(_read(file))
        asyncio.run(_by_bodies(how, bodies))
    elif decision is not None:
        body = {"fact_id": fact_id, "decision": decision.value, "targets": target or None, "text": text}
        asyncio.run(_by_bodies(how, [{field: value for field, value in body.items() if value is not None}]))
    elif ask:
        asyncio.run(_ask_all(how, namespace, fact_id))
    else:
        asyncio.run(_one_by_one(how, namespace))
    if how.refused:
        raise typer.Exit(1)


class _How:
    """How decisions are made known: sent, or previewed; and how they are shown."""

    def __init__(
        self, connected: Connected, *, timeout_s: float, reason: str | None, dry_run: bool, as_json: bool
    ) -> None:
        self.connected = connected
        self.as_json = as_json
        self.refused = 0
        self._timeout_s = timeout_s
        self._reason = reason
        self._dry_run = dry_run
        self._orders: Orders | None = None

    @asynccontextmanager
    async def open(self) -> "AsyncIterator[Stores]":
        """Open the stores, and the way to the workers."""
        async with reading(self.connected.settings) as stores:
            if self._dry_run:
                yield stores
                return
            async with Orders(self.connected, timeout_s=self._timeout_s) as orders:
                self._orders = orders
                yield stores

    async def decide(self, stores: "Stores", namespace: str, body: Mapping[str, Any]) -> Decision:
        """Give the order (or preview it), show the outcome and return it."""
        order = Order("review", namespace, body)
        order = order if "reason" in body else order.with_reason(self._reason)
        if self._orders is None:
            outcome = await preview(self.connected.settings, stores, order)
        else:
            outcome = await self._orders.give(order)
        self.refused += was_refused(outcome)
        show(outcome, as_json=self.as_json)
        return outcome


async def open_reviews(stores: "Stores", namespace: str | None) -> list[Fact]:
    """Return the current facts that are flagged, oldest first."""
    return [fact for fact in await stores.facts.select(namespace) if fact.review is not None]


async def _list(how: _How, namespace: str | None) -> None:
    async with reading(how.connected.settings) as stores:
        flagged = await open_reviews(stores, namespace)
        for number, fact in enumerate(flagged, start=1):
            if how.as_json:
                typer.echo(msgspec.json.encode(fact_value(fact)).decode())
            else:
                _show(fact, await _rivals(stores, fact), f"{number}.")
        if not how.as_json:
            out().print(f"{len(flagged):,} flagged." if flagged else "Nothing is flagged.")


async def _rivals(stores: "Stores", fact: Fact) -> list[Fact]:
    """Return the current facts that a flagged one may contradict."""
    found = await stores.facts.get(fact.conflicts_with)
    return [found[one] for one in fact.conflicts_with if one in found and found[one].status is Status.CURRENT]


def _show(fact: Fact, rivals: Sequence[Fact], number: str) -> None:
    console = out()
    console.print(
        f"[bold]{number} {escape(fact.text)}[/bold] [dim]{when(fact.last_stated_at)}, {escape(fact.namespace)}, {fact.fact_id}[/dim]",
        soft_wrap=True,
    )
    console.print(f"   flagged: {escape(str(fact.review))}", soft_wrap=True)
    for place, rival in enumerate(rivals, start=1):
        console.print(
            f"   {chr(ord('a') + place - 1)}) {escape(rival.text)} [dim]{when(rival.last_stated_at)}, {rival.fact_id}[/dim]",
            soft_wrap=True,
        )


def _read(path: str) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a file. Raises BadInput that names the line, before anything is decided."""
    with open_input(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number > MAX_LINES:
                raise BadInput("not_json", f"line {number}: at most {MAX_LINES:,} lines are read: split the file")
            if not raw.strip():
                continue
            try:
                body = msgspec.json.decode(raw, type=dict[str, Any])
                validate_body("review", body)
            except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
                raise BadInput("not_json", f"line {number}: {error}") from None
            except BadInput as error:
                raise BadInput(error.code, f"line {number}: {error}", field=error.field) from None
            yield body


async def _by_bodies(how: _How, bodies: Sequence[dict[str, Any]]) -> None:
    async with how.open() as stores:
        for body in bodies:
            fact_id = body.get("fact_id")
            if fact_id is not None:
                where = (await find_fact(stores.facts, str(fact_id))).namespace
            else:
                name = body.pop("decision_id", None) or body.pop("event_key", None) or body.pop("event_id", None)
                where, decision_id = await find_decision(stores, str(name), body.get("namespace"))
                body["decision_id"] = decision_id
            await how.decide(stores, where, {field: value for field, value in body.items() if field != "namespace"})


async def _ask_all(how: _How, namespace: str | None, fact_id: str | None) -> None:
    async with how.open() as stores:
        flagged = await open_reviews(stores, namespace) if fact_id is None else [await find_fact(stores.facts, fact_id)]
        for number, fact in enumerate(flagged, start=1):
            if not how.as_json:
                _show(fact, await _rivals(stores, fact), f"{number}.")
            await how.decide(stores, fact.namespace, {"fact_id": fact.fact_id, "ask": True})
        if not flagged and not how.as_json:
            out().print("Nothing is flagged.")


async def _one_by_one(how: _How, namespace: str | None) -> None:
    async with how.open() as stores:
        flagged = await open_reviews(stores, namespace)
        out().print(f"{len(flagged):,} flagged." if flagged else "Nothing is flagged.")
        for number, one in enumerate(flagged, start=1):
            fact = (await stores.facts.get([one.fact_id])).get(one.fact_id)  # earlier answers may have settled it
            if fact is None or fact.status is not Status.CURRENT or fact.review is None:
                continue
            rivals = await _rivals(stores, fact)
            _show(fact, rivals, f"{number}/{len(flagged)}")
            body = await asyncio.to_thread(_answer, fact, rivals)
            if body is None:
                return
            if body:
                await how.decide(stores, fact.namespace, body)


def _answer(fact: Fact, rivals: Sequence[Fact]) -> dict[str, Any] | None:
    """Ask a person about one fact; return the body of the order, empty to leave it, None to stop."""
    offered = _KEYS if rivals else {key: said for key, said in _KEYS.items() if key in "kjnq"}
    out().print("   " + "  ".join(f"[bold]{key}[/bold] {said}" for key, said in offered.items()), soft_wrap=True)
    while True:
        key = typer.prompt("  ", default="n", show_default=False).strip().lower()[:1]
        if key in offered:
            break
    if key in "nq":
        return {} if key == "n" else None
    if key == "j":
        return {"fact_id": fact.fact_id, "ask": True}
    body: dict[str, Any] = {"fact_id": fact.fact_id, "decision": _DECISIONS[key].value}
    if key != "k":
        body["targets"] = [one.fact_id for one in _which(rivals, several=key in "sm")]
    if key == "m":
        body["text"] = typer.prompt("   the wording")
    return body


def _which(rivals: Sequence[Fact], *, several: bool) -> list[Fact]:
    """Ask which of several rivals is meant."""
    if len(rivals) == 1:
        return list(rivals)
    letters = "".join(chr(ord("a") + place) for place in range(len(rivals)))
    while True:
        said = typer.prompt(f"   which of {letters}{' (several, as ab)' if several else ''}").strip().lower()
        if said and set(said) <= set(letters) and (several or len(said) == 1):
            return [rivals[letters.index(letter)] for letter in dict.fromkeys(said)]
