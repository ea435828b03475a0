"""Commands over HTTP: signed here, carried out in their namespace's lane, their outcome awaited for a bounded time."""

import uuid
from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request, Response

from factsieve.api.access import Caller, Writer
from factsieve.api.context import current
from factsieve.api.models import Order as OrderBody
from factsieve.api.models import Revert, Review
from factsieve.api.problems import Problem
from factsieve.api.replies import ApiRoute, described, problems, reply
from factsieve.api.routes.decisions import DecisionId, visible_decision
from factsieve.api.routes.facts import FactId, visible_fact
from factsieve.core.errors import BadSettings
from factsieve.operations.desk import command_key
from factsieve.operations.orders import Order, preview
from factsieve.operations.signing import was_refused
from factsieve.wire.commands import validate_body
from factsieve.wire.inbound import CommandKind

router = APIRouter(route_class=ApiRoute, tags=["commands"])

DryRun = Annotated[bool, Query(description="Say what would happen, and change nothing.")]
Wait = Annotated[
    float, Query(ge=0, le=300, description="Seconds to wait for the outcome; 202 where none came by then.")
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="Names the command for good: sent again with the same key and body, it is carried out once.",
    ),
]

_OUTCOME: Final[dict[str, Any]] = {
    "type": "object",
    "required": [
        "command",
        "namespace",
        "outcome",
        "reason",
        "fact_id",
        "changes",
        "dry_run",
        "command_id",
        "decision_id",
    ],
    "properties": {
        "command": {"enum": ["revert", "retract", "erase", "review"]},
        "namespace": {"type": "string"},
        "outcome": {"enum": ["applied", "no_op", "refused", "pending"], "description": "`refused` only of a dry run."},
        "reason": {"type": ["string", "null"], "description": "What was done, or why not."},
        "fact_id": {"type": ["string", "null"], "format": "uuid", "description": "The fact that it is about."},
        "changes": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Each fact that it changed (of a dry run: would change), as `new-facts` tells it.",
        },
        "dry_run": {"type": "boolean"},
        "command_id": {"type": ["string", "null"], "description": "The command's id; null of a dry run."},
        "decision_id": {
            "type": ["string", "null"],
            "format": "uuid",
            "description": "The command's own decision, by which it can be reverted; null of a dry run and while it is pending.",
        },
    },
}
_REPLIES: Final[dict[int | str, dict[str, Any]]] = {
    200: described(_OUTCOME, "What came of it, or of a dry run: what would."),
    202: {
        **described(_OUTCOME, "It is on the topic, and no outcome was told in time: `outcome` is `pending`."),
        "headers": {"Location": {"description": "Where its outcome will be.", "schema": {"type": "string"}}},
    },
    **problems(404, 409, 413, 429, 501),
}


@router.post("/v1/facts/{fact_id}/retract", summary="Withdraw a fact", responses=_REPLIES)
async def retract(
    fact_id: FactId,
    request: Request,
    who: Writer,
    body: OrderBody | None = None,
    dry_run: DryRun = False,
    wait: Wait = 10.0,
    idempotency_key: Key = None,
) -> Response:
    """Withdraw a fact that was never right, or is not wanted. It keeps its text and history."""
    fact = await visible_fact(request, fact_id, who)
    order = _order("retract", fact.namespace, {"fact_id": fact.fact_id}, body)
    return await _give(request, who, order, dry_run=dry_run, wait_s=wait, key=idempotency_key)


@router.post("/v1/facts/{fact_id}/erase", summary="Erase a fact for good", responses=_REPLIES)
async def erase(
    fact_id: FactId,
    request: Request,
    who: Writer,
    body: OrderBody | None = None,
    dry_run: DryRun = False,
    wait: Wait = 10.0,
    idempotency_key: Key = None,
) -> Response:
    """Delete a fact's text wherever it is stored, for good; no replay brings it back. This can not be undone."""
    fact = await visible_fact(request, fact_id, who)
    order = _order("erase", fact.namespace, {"fact_id": fact.fact_id}, body)
    return await _give(request, who, order, dry_run=dry_run, wait_s=wait, key=idempotency_key)


@router.post("/v1/decisions/{decision_id}/revert", summary="Undo a decision", responses=_REPLIES)
async def revert(
    decision_id: DecisionId,
    request: Request,
    who: Writer,
    body: Revert | None = None,
    dry_run: DryRun = False,
    wait: Wait = 10.0,
    idempotency_key: Key = None,
) -> Response:
    """Undo a decision: what it retired comes back, and the newer statement stays beside it unless it is dropped.

    A skipped statement is stored after all. A revert is undone by reverting it.
    """
    found = await visible_decision(request, decision_id, who)
    order = _order("revert", found["namespace"], {"decision_id": found["decision_id"]}, body)
    return await _give(request, who, order, dry_run=dry_run, wait_s=wait, key=idempotency_key)


@router.post("/v1/decisions/{decision_id}/review", summary="Decide what was flagged", responses=_REPLIES)
async def review(
    decision_id: DecisionId,
    body: Review,
    request: Request,
    who: Writer,
    dry_run: DryRun = False,
    wait: Wait = 10.0,
    idempotency_key: Key = None,
) -> Response:
    """Decide what was stored with a flag: as you say, or as the judge says now."""
    found = await visible_decision(request, decision_id, who)
    order = _order("review", found["namespace"], {"decision_id": found["decision_id"]}, body)
    return await _give(request, who, order, dry_run=dry_run, wait_s=wait, key=idempotency_key)


def _order(kind: CommandKind, namespace: str | None, about: Mapping[str, Any], body: OrderBody | None) -> Order:
    """Return the order. Raises BadInput for a body that a worker would refuse, Problem for input that has no lane."""
    if namespace is None:
        raise Problem(409, "refused", "this input was refused, and belongs to no namespace: there is nothing to undo")
    told = {} if body is None else body.model_dump(mode="json", exclude_none=True)
    full = {**told, **about}
    validate_body(kind, full)
    return Order(kind, namespace, full)


async def _give(
    request: Request, who: Caller, order: Order, *, dry_run: bool, wait_s: float, key: str | None
) -> Response:
    context = current(request)
    if dry_run:
        if order.body.get("ask"):
            context.writes.take(who.name, 1)
        told = await preview(context.settings, context.stores, order, judges=context.judges)
        return reply(_document(order, told, None))
    try:
        context.orders.check()
    except BadSettings as error:
        raise Problem(501, "commands_unavailable", str(error)) from error
    context.writes.take(who.name, 1)
    command_id = str(uuid.uuid4()) if key is None else f"{who.name}/{key}"
    timeout_s = min(wait_s, context.settings.api.wait_limit_s)
    outcome = await context.orders.give(order, command_id=command_id, timeout_s=timeout_s)
    if outcome is None:
        pending = {"outcome": "pending", "reason": "it is on the topic, and will be carried out when its turn comes"}
        where = f"/v1/decisions?event_key={command_key(order.namespace, command_id)}"
        return reply(_document(order, pending, command_id), 202, {"Location": where})
    if was_refused(outcome):
        told = outcome.get("error") or {}
        said = f"{told['code']}: {told['message']}" if told else str(outcome.get("reason"))
        raise Problem(409, "refused", said, more={"command_id": command_id, "decision_id": outcome["decision_id"]})
    return reply(_document(order, outcome, command_id))


def _document(order: Order, outcome: Mapping[str, Any], command_id: str | None) -> dict[str, Any]:
    return {
        "command": order.kind,
        "namespace": order.namespace,
        "outcome": outcome["outcome"],
        "reason": outcome["reason"],
        "fact_id": outcome.get("fact_id"),
        "changes": outcome.get("changes") or [],
        "dry_run": command_id is None,
        "command_id": command_id,
        "decision_id": None if command_id is None else outcome.get("decision_id"),
    }
