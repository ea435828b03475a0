"""`factsieve revert` and `factsieve retract`: undo a decision, withdraw a fact."""

import asyncio
from typing import Annotated

import typer

from factsieve.cli.connect import ConfigFile, StateDir
from factsieve.cli.orders import AsJson, DryRun, Namespace, Reason, Timeout, connect_to_order, report
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Decision
from factsieve.operations.orders import Order, Orders, find_decision, find_fact, preview
from factsieve.operations.stores import reading


def revert(
    decision: Annotated[str, typer.Argument(help="Decision id, event key, or event id.")],
    drop: Annotated[bool, typer.Option("--drop", help="Withdraw the newer statement, too.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Undo what can be undone where something changed since.")
    ] = False,
    reason: Reason = None,
    namespace: Namespace = None,
    dry_run: DryRun = False,
    timeout: Timeout = 60.0,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Undo a decision: what it retired comes back; the newer statement stays beside it, unless it is dropped.

    The former wording of an update comes back, what a merge took up stands on its own again, a skipped statement is stored after all.
    A revert is undone by reverting it. Exit code 1 if it was refused.

    Example: factsieve revert 6dd3bc3e-5d1f-8a3e-9d9a-0123456789ab --dry-run
    """
    asked = {"drop_newer": True} if drop else {}
    asked |= {"force": True} if force else {}

    async def order(connected: Connected) -> list[Decision]:
        async with reading(connected.settings) as stores:
            where, decision_id = await find_decision(stores, decision, namespace)
            wanted = Order("revert", where, {"decision_id": decision_id, **asked}).with_reason(reason)
            if dry_run:
                return [await preview(connected.settings, stores, wanted)]
        async with Orders(connected, timeout_s=timeout) as orders:
            return [await orders.give(wanted)]

    report(asyncio.run(order(connect_to_order(state_dir, config, preview_only=dry_run))), as_json=as_json)


def retract(
    fact_ids: Annotated[list[str], typer.Argument(help="Facts, as `factsieve facts` shows their ids.")],
    reason: Reason = None,
    dry_run: DryRun = False,
    timeout: Timeout = 60.0,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Withdraw facts that were never right, or are not wanted. They keep their text and history; `erase` deletes.

    What a withdrawn fact had superseded stays past: `factsieve revert` of that decision brings it back. Exit code 1 if any was refused.

    Example: factsieve retract 01943a5c-3f80-7a1b-9c2d-0123456789ab --reason "said in jest"
    """

    async def order(connected: Connected) -> list[Decision]:
        async with reading(connected.settings) as stores:
            facts = [await find_fact(stores.facts, fact_id) for fact_id in fact_ids]
            wanted = [Order("retract", one.namespace, {"fact_id": one.fact_id}).with_reason(reason) for one in facts]
            if dry_run:
                return [await preview(connected.settings, stores, one) for one in wanted]
        async with Orders(connected, timeout_s=timeout) as orders:
            return [await orders.give(one) for one in wanted]

    report(asyncio.run(order(connect_to_order(state_dir, config, preview_only=dry_run))), as_json=as_json)
