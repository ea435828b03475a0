"""Undoing on the page: what would happen is shown first; then, confirmed, the signed command is given and its outcome shown."""

import uuid
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from factsieve.api.access import Caller, caller, writer
from factsieve.api.context import current
from factsieve.api.page import rendering, session, views
from factsieve.api.page.query import HOME
from factsieve.api.page.route import PageRoute
from factsieve.api.problems import Problem
from factsieve.api.routes.decisions import visible_decision
from factsieve.core.errors import BadSettings
from factsieve.operations.orders import Order, preview
from factsieve.operations.signing import was_refused

router = APIRouter(route_class=PageRoute, include_in_schema=False)

WAIT_S: Final = 10.0
MAX_REASON_CHARS: Final = 500


async def visible(request: Request, decision_id: str, who: Caller) -> dict[str, Any]:
    """Return a decision that a caller may see. Raises Problem `not_found`."""
    return await visible_decision(request, decision_id, who)


@router.get("/decisions/{decision_id}/revert")
async def ask(request: Request, decision_id: str) -> Response:
    """Show what a revert would do now, and ask."""
    who = caller(request)
    return await _form(request, who, decision_id, dict(request.query_params))


async def _form(
    request: Request,
    who: Caller,
    decision_id: str,
    given: dict[str, str],
    *,
    refused: str = "",
    changed: bool = False,
    status: int = 200,
) -> Response:
    context = current(request)
    value = await visible(request, decision_id, who)
    order = _order(value, given)
    would = await preview(context.settings, context.stores, order) if who.may_write else None
    return rendering.page(
        request,
        "revert.html",
        who,
        status=status,
        card=views.card(value),
        would=would,
        changes=views.changes(would or {}),
        given=given,
        command_id=str(uuid.uuid4()),
        previewed=_how(given),
        changed=changed,
        refused=refused,
        unsigned=_unsigned(request),
    )


def _how(given: dict[str, str]) -> str:
    """Return in which way a revert is asked for, so that nothing else is done than what was shown."""
    return "+".join(name for name in ("drop", "force") if given.get(name) == "yes") or "plainly"


def _unsigned(request: Request) -> str:
    """Return why commands can not be signed here; empty where they can."""
    try:
        current(request).orders.check()
    except BadSettings as error:
        return str(error)
    return ""


@router.post("/decisions/{decision_id}/revert")
async def give(request: Request, decision_id: str) -> Response:
    """Give the command, wait for its outcome for a bounded time, and show it."""
    who = writer(request)
    given = dict(await session.read_form(request))
    context = current(request)
    value = await visible(request, decision_id, who)
    order = _order(value, given)
    if given.get("only") == "preview" or given.get("previewed") != _how(given):
        return await _form(request, who, decision_id, given, changed=given.get("only") != "preview")
    try:
        command_id = str(uuid.UUID(given.get("command_id", "")))
    except ValueError:
        raise Problem(422, "unusable_input", "this form has no command id: load the page again") from None
    try:
        context.orders.check()
    except BadSettings as error:
        raise Problem(501, "commands_unavailable", str(error)) from error
    context.writes.take(who.name, 1)
    timeout_s = min(WAIT_S, context.settings.api.wait_limit_s)
    outcome = await context.orders.give(order, command_id=f"{who.name}/{command_id}", timeout_s=timeout_s)
    if outcome is None:
        return rendering.page(
            request, "pending.html", who, status=202, card=views.card(value), event_id=f"{who.name}/{command_id}"
        )
    if was_refused(outcome):
        said = (outcome.get("error") or {}).get("message") or str(outcome.get("reason"))
        return await _form(request, who, decision_id, given, refused=said, status=409)
    return RedirectResponse(f"{HOME}/decisions/{outcome['decision_id']}", 303)


def _order(value: dict[str, Any], given: dict[str, str]) -> Order:
    """Return the order that a form describes. Raises Problem for a decision that has nothing to undo."""
    if value.get("namespace") is None:
        raise Problem(409, "refused", "this input was refused, and belongs to no namespace: there is nothing to undo")
    body: dict[str, Any] = {"decision_id": value["decision_id"]}
    if given.get("drop") == "yes":
        body["drop_newer"] = True
    if given.get("force") == "yes":
        body["force"] = True
    reason = given.get("reason", "").strip()
    if len(reason) > MAX_REASON_CHARS:
        raise Problem(
            422, "unusable_input", f"the reason has {len(reason)} characters: shorten it to {MAX_REASON_CHARS}"
        )
    return Order("revert", value["namespace"], body).with_reason(reason or None)
