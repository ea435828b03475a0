"""`/v1/decisions`: what was decided, the latest at hand, older ones by id; and as it happens."""

import uuid
from typing import Annotated, Final, Literal

import msgspec
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from factsieve.api.access import Caller, Reader
from factsieve.api.context import ApiContext, current
from factsieve.api.live import Value, live_response
from factsieve.api.problems import Problem
from factsieve.api.replies import (
    ApiRoute,
    Cursor,
    Instant,
    Limit,
    Namespace,
    described,
    instant,
    listed,
    problems,
    ref,
    reply,
)
from factsieve.api.statements import CE_SOURCE
from factsieve.core import ids
from factsieve.core.decision import Band
from factsieve.operations.log import MISSED, DecisionFilter
from factsieve.operations.recorded import recorded
from factsieve.wire import times

router = APIRouter(route_class=ApiRoute, tags=["decisions"])

Kind = Literal["add", "update", "supersede", "merge", "skip", "revert", "retract", "erase", "review", "refused"]

UNDER_WAY_S: Final = 60.0
"""A decision that the ledger has and the log does not tell within this time is told from the ledger."""

DecisionId = Annotated[
    str,
    Path(
        description="Id of the decision, or the key of its event (64 hexadecimal digits).",
        examples=["6dd3bc3e-5d1f-8a3e-9d9a-0123456789ab"],
    ),
]
_SINCE: Final = {
    "complete_since": {
        "type": ["string", "null"],
        "format": "date-time",
        "description": "Decisions up to this instant may be missing from lists; one by one they are found by id. Null: none is missing.",
    }
}


async def _filter(  # noqa: PLR0917 - FastAPI calls it by name
    who: Reader,
    namespace: Namespace = None,
    decision: Annotated[Kind | None, Query(description="A decision, a command, or `refused` input.")] = None,
    band: Annotated[Band | None, Query(description="Where the best similarity lay.")] = None,
    reason: Annotated[
        str | None, Query(max_length=256, description="Which rule decided, or why input was refused.")
    ] = None,
    event_id: Annotated[str | None, Query(max_length=1024, description="About this event (`ce_id`).")] = None,
    event_key: Annotated[str | None, Query(max_length=64, description="About the event of this key.")] = None,
    fact_id: Annotated[
        str | None, Query(max_length=64, description="That made, matched, retired or changed it.")
    ] = None,
    review: Annotated[bool | None, Query(description="Flagged for review, or not.")] = None,
    text: Annotated[str | None, Query(max_length=1024, description="Occurs in the statement or its match.")] = None,
    since: Instant = None,
    until: Instant = None,
) -> DecisionFilter:
    return DecisionFilter(
        namespaces=who.within(namespace),
        decision=decision,
        band=None if band is None else band.value,
        reason=reason,
        event_id=event_id,
        event_key=event_key,
        fact_id=fact_id,
        review=review,
        text=text,
        since=instant(since, "since"),
        until=instant(until, "until"),
    )


Filter = Annotated[DecisionFilter, Depends(_filter)]


@router.get(
    "/v1/decisions",
    summary="List decisions, or wait for one",
    responses={
        200: described(listed("decisions", ref("Decision"), **_SINCE), "Decisions, newest first."),
        **problems(),
    },
)
async def decisions(
    request: Request,
    wanted: Filter,
    limit: Limit = 50,
    cursor: Cursor = None,
    wait: Annotated[float, Query(ge=0, le=300, description="Seconds to wait until there is one at least.")] = 0.0,
    ce_source: Annotated[
        str,
        Query(
            min_length=1, max_length=1024, description="With `event_id` and `namespace`: finds it however old it is."
        ),
    ] = CE_SOURCE,
) -> Response:
    """Return the latest decisions that match; one event's however old it is.

    With `wait`, an answer without any is held back until the first one comes, or the time is over.
    """
    context = current(request)
    page = context.log.find(wanted, limit=limit, before=cursor)
    items, following = page.items, page.next
    if not items and cursor is None:
        recorded_one = await _one_event(context, wanted, ce_source)
        if recorded_one is not None and not _is_under_way(context, recorded_one):
            items = [recorded_one]
        elif wait:
            told = await context.log.wait_for(wanted, min(wait, context.settings.api.wait_limit_s))
            items = [] if told is None else [told]
    return reply({"decisions": items, "next": following, "complete_since": _complete_since(context)})


async def _one_event(context: ApiContext, wanted: DecisionFilter, ce_source: str) -> Value | None:
    """Return the decision about the one event that is asked for, from the ledger, if nothing else is asked for."""
    key = wanted.event_key
    if key is None and wanted.event_id is not None and wanted.namespaces is not None and len(wanted.namespaces) == 1:
        [namespace] = wanted.namespaces
        key = ids.event_key(namespace, ce_source, wanted.event_id)
    alone = msgspec.structs.replace(wanted, event_key=None, event_id=None) == DecisionFilter(
        namespaces=wanted.namespaces
    )
    if key is None or not alone:
        return None
    found = await recorded(context.stores.ledger, context.connected.topics, ids.decision_id(key))
    return found if found is not None and _seen(found, wanted.namespaces) else None


def _is_under_way(context: ApiContext, value: Value) -> bool:
    """Return whether a decision was recorded so lately that its effects may not be there yet; the log tells it when they are."""
    decided_at = times.parse_rfc3339(value["decided_at"])
    forgotten = context.log.complete_since
    if forgotten is not None and decided_at.timestamp() <= forgotten:
        return False
    return (context.clock.now() - decided_at).total_seconds() < UNDER_WAY_S


def _complete_since(context: ApiContext) -> str | None:
    forgotten = context.log.complete_since
    return None if forgotten is None else times.format_rfc3339(times.from_ms(int(forgotten * 1000)))


def _seen(value: Value, namespaces: frozenset[str] | None) -> bool:
    return namespaces is None or value.get("namespace") in namespaces


@router.get(
    "/v1/decisions/stream",
    summary="Follow decisions as they are made",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events: `decision` (a Decision, under its id), `missed` (how many a slow reader missed).",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        **problems(),
    },
)
async def stream(
    request: Request,
    wanted: Filter,
    last_event_id: Annotated[
        str | None, Header(max_length=64, description="What came after this one comes first.")
    ] = None,
) -> StreamingResponse:
    """Return a live stream of the decisions that match, until the client goes away."""
    return live_response(current(request), wanted, last_event_id, opening=b": following\n\n", written=_event)


def _event(value: Value) -> bytes:
    if MISSED in value:
        return b"event: missed\ndata: " + msgspec.json.encode(value[MISSED]) + b"\n\n"
    identity = str(value["decision_id"]).encode()
    return b"event: decision\nid: " + identity + b"\ndata: " + msgspec.json.encode(value) + b"\n\n"


@router.get(
    "/v1/decisions/{decision_id}",
    summary="One decision",
    responses={200: described(ref("Decision"), "The decision, and its whole effect."), **problems(404)},
)
async def decision(decision_id: DecisionId, request: Request, who: Reader) -> Response:
    """Return one decision, however old it is."""
    return reply(await visible_decision(request, decision_id, who))


async def visible_decision(request: Request, name: str, who: Caller) -> Value:
    """Return a decision that the caller may see. Raises Problem `not_found` alike where there is none and where it is another's."""
    context = current(request)
    wanted = _decision_id(name)
    found = None
    if wanted is not None:
        found = context.log.get(wanted) or await recorded(context.stores.ledger, context.connected.topics, wanted)
    if found is None or not _seen(found, who.namespaces):
        raise Problem(404, "not_found", f"there is no decision {name[:80]!r} here")
    return found


def _decision_id(name: str) -> str | None:
    if len(name) == 64 and all(char in "0123456789abcdef" for char in name):
        return ids.decision_id(name)
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return None
