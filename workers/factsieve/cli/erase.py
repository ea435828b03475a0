"""`factsieve erase`: texts are deleted for good."""

import asyncio
import sys
from typing import Annotated, Final

import typer

from factsieve.cli.connect import ConfigFile, StateDir
from factsieve.cli.orders import AsJson, DryRun, Namespace, Reason, Timeout, connect_to_order, report
from factsieve.cli.render import err
from factsieve.core.errors import BadSettings
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Decision
from factsieve.operations.orders import Order, Orders, find_decision, find_fact, preview
from factsieve.operations.signing import was_refused
from factsieve.operations.stores import reading

ROUNDS_LIMIT: Final = 100_000
"""An erase of very much is given again this often at most."""


def erase(
    fact_ids: Annotated[list[str] | None, typer.Argument(help="Facts, by their ids.", show_default=False)] = None,
    *,
    event: Annotated[
        list[str] | None,
        typer.Option("--event", "-e", help="A statement: decision id, event key or event id.", show_default=False),
    ] = None,
    everything: Annotated[
        str | None, typer.Option("--everything-in", help="Every fact of this namespace.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    reason: Reason = None,
    namespace: Namespace = None,
    dry_run: DryRun = False,
    timeout: Timeout = 60.0,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Delete the texts of facts, of single statements, or of a whole namespace, for good.

    Facts, their history and the ledger hold them no more, and no replay brings them back. Wordings that rest on an erased statement go
    back to former ones. Topics keep what they carried until their retention is over; `factsieve compact` rewrites the store's files.
    This can not be undone. Exit code 1 if any was refused.

    Example: factsieve erase 01943a5c-3f80-7a1b-9c2d-0123456789ab --reason "request 4711"
    """
    if not (fact_ids or event or everything):
        raise BadSettings("say what to erase: fact ids, --event EVENT, or --everything-in NAMESPACE")
    connected = connect_to_order(state_dir, config, preview_only=dry_run)
    if not dry_run:
        _confirm(len(fact_ids or ()), len(event or ()), everything, yes=yes)

    async def order(connected: Connected) -> list[Decision]:
        async with reading(connected.settings) as stores:
            facts = [await find_fact(stores.facts, fact_id) for fact_id in fact_ids or ()]
            decisions = [await find_decision(stores, one, namespace) for one in event or ()]
            wanted = [Order("erase", fact.namespace, {"fact_id": fact.fact_id}) for fact in facts]
            wanted += [Order("erase", where, {"decision_id": decision_id}) for where, decision_id in decisions]
            if everything is not None:
                wanted.append(Order("erase", everything, {"whole_namespace": True}))
            wanted = [one.with_reason(reason) for one in wanted]
            if dry_run:
                return [await preview(connected.settings, stores, one) for one in wanted]
        async with Orders(connected, timeout_s=timeout) as orders:
            return [outcome for one in wanted for outcome in await _to_the_end(orders, one)]

    report(asyncio.run(order(connected)), as_json=as_json)


def _confirm(facts: int, events: int, everything: str | None, *, yes: bool) -> None:
    """Ask whether it is meant. Raises BadSettings where there is nobody to ask, Exit(1) where the answer is no."""
    if yes:
        return
    parts = [f"{facts} facts"] * bool(facts) + [f"{events} statements"] * bool(events)
    parts += [f"everything in {everything}"] if everything is not None else []
    if not sys.stdin.isatty():
        raise BadSettings(
            "an erase can not be undone: say --yes where nobody can be asked, or look first with --dry-run"
        )
    if not typer.confirm(f"Erase {', '.join(parts)} for good?"):
        err().print("Nothing was erased.")
        raise typer.Exit(1)


async def _to_the_end(orders: Orders, order: Order) -> list[Decision]:
    """Give an order again while something is left; return all outcomes."""
    from factsieve.core.undo import AGAIN

    outcomes = [await orders.give(order)]
    for _ in range(ROUNDS_LIMIT):
        last = outcomes[-1]
        whole = "whole_namespace" in order.body and last.get("outcome") == "applied"
        if was_refused(last) or not (whole or AGAIN in str(last.get("reason"))):
            break
        outcomes.append(await orders.give(order))
    return outcomes
