"""`/v1/facts`: what is known, what was true then, what was believed then."""

from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response

from factsieve.api.access import Caller, Reader
from factsieve.api.context import current
from factsieve.api.problems import Problem
from factsieve.api.replies import (
    ApiRoute,
    Cursor,
    Instant,
    Limit,
    Namespace,
    described,
    from_cursor,
    instant,
    listed,
    problems,
    ref,
    reply,
    to_cursor,
)
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Fact, Status
from factsieve.operations import asking
from factsieve.wire.values import fact_value

router = APIRouter(route_class=ApiRoute, tags=["facts"])

FactId = Annotated[str, Path(description="A fact's id.", examples=["01943a5c-3f80-7a1b-9c2d-0123456789ab"])]

_HIT: Final = {
    "allOf": [
        ref("Fact"),
        {
            "type": "object",
            "properties": {"similarity": {"type": "number", "description": "Only with `like`: the cosine similarity."}},
        },
    ]
}
_STORY: Final = {
    "type": "object",
    "required": ["fact", "rows", "timeline"],
    "properties": {
        "fact": ref("Fact"),
        "rows": {
            "type": "array",
            "items": ref("Fact"),
            "description": "Every row of this fact, as they were recorded: what was believed when.",
        },
        "timeline": {
            "type": "array",
            "items": ref("Fact"),
            "description": "What was true when, predecessors and successors with it, oldest first.",
        },
    },
}


@router.get(
    "/v1/facts",
    summary="List or search facts",
    responses={200: described(listed("facts", _HIT), "Facts, those that became true last first."), **problems()},
)
async def facts(
    request: Request,
    who: Reader,
    namespace: Namespace = None,
    like: Annotated[str | None, Query(max_length=8192, description="Those nearest to this text, best first.")] = None,
    as_of: Instant = None,
    known_at: Instant = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: Annotated[bool, Query(alias="all", description="Superseded, former and withdrawn ones too.")] = False,
) -> Response:
    """Return current facts, or those that were true (`as_of`), or were believed (`known_at`), at another time."""
    context = current(request)
    wanted = asking.Wanted(
        namespaces=who.within(namespace),
        as_of=instant(as_of, "as_of"),
        known_at=instant(known_at, "known_at"),
        every=every,
    )
    if like is not None:
        return await _nearest(request, like, wanted, limit, cursor)
    before = None if cursor is None else from_cursor(cursor, asking.Place)
    page = await asking.page(context.stores.facts, wanted, limit=limit, before=before)
    return reply(
        {
            "facts": [fact_value(fact) for fact in page.facts],
            "next": None if page.next is None else to_cursor(page.next),
        }
    )


async def _nearest(request: Request, like: str, wanted: asking.Wanted, limit: int, cursor: str | None) -> Response:
    if wanted.known_at is not None or wanted.every or cursor is not None:
        raise Problem(
            422, "unusable_input", "like searches what is believed now: use it without known_at, all and cursor"
        )
    if not like.strip():
        raise Problem(422, "unusable_input", "like is empty: give the text that facts are to be near to")
    if wanted.namespaces is None:
        raise Problem(
            422, "unusable_input", "like is searched for in one namespace, and this token is for all: name one"
        )
    stores = current(request).stores
    try:
        found = await asking.nearest(
            stores.facts, stores.embedder, like, wanted.namespaces, as_of=wanted.as_of, limit=limit
        )
    except BadSettings as error:
        raise Problem(422, "unusable_input", str(error)) from error
    return reply({"facts": [_as_json(fact) | {"similarity": similarity} for fact, similarity in found], "next": None})


def _as_json(fact: Fact) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.to_builtins(fact_value(fact))
    return value


@router.get(
    "/v1/facts/{fact_id}",
    summary="One fact as it stands",
    responses={200: described(ref("Fact"), "The fact."), **problems(404)},
)
async def fact(fact_id: FactId, request: Request, who: Reader) -> Response:
    """Return one fact, whatever its status; an erased one is gone."""
    return reply(fact_value(await visible_fact(request, fact_id, who)))


@router.get(
    "/v1/facts/{fact_id}/history",
    summary="One fact's whole story",
    responses={200: described(_STORY, "Its rows, and the chain that it belongs to."), **problems(404)},
)
async def history(fact_id: FactId, request: Request, who: Reader) -> Response:
    """Return what was believed of a fact when, and what was true before and after it."""
    head = await visible_fact(request, fact_id, who)
    rows, chain = await asking.story(current(request).stores.facts, head)
    return reply(
        {
            "fact": fact_value(head),
            "rows": [fact_value(row) for row in rows],
            "timeline": [fact_value(row) for row in chain],
        }
    )


async def visible_fact(request: Request, fact_id: str, who: Caller) -> Fact:
    """Return a fact that the caller may see. Raises Problem `not_found` alike where there is none and where it is another's."""
    found = await asking.one(current(request).stores.facts, fact_id, who.namespaces)
    if found is None or found.status is Status.ERASED:
        raise Problem(404, "not_found", f"there is no fact {fact_id[:80]!r} here")
    return found
