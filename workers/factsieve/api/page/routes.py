"""The page's addresses: `/activity` and what is below it."""

from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from factsieve.api.access import Caller, maybe_caller
from factsieve.api.context import ApiContext, current
from factsieve.api.live import live_response
from factsieve.api.page import charts, rendering, session, undoing, views
from factsieve.api.page.query import BANDS, DECISIONS, HOME, PAGE_SIZE, Asked, asked
from factsieve.api.page.route import PageRoute, reader
from factsieve.api.problems import Problem
from factsieve.core.errors import Transient
from factsieve.core.facts import Status
from factsieve.core.telling import REASONS
from factsieve.operations import asking
from factsieve.operations.log import MISSED, DecisionFilter
from factsieve.operations.log_ring import instant
from factsieve.operations.story import tell_story

router = APIRouter(route_class=PageRoute, prefix=HOME, include_in_schema=False)
router.include_router(undoing.router)

_ASSET_CACHE: Final = "public, max-age=31536000, immutable"


@router.get("")
async def activity(request: Request) -> Response:
    """Show decisions, newest first, with filters and charts."""
    who = reader(request)
    context, wanted = current(request), asked(request.query_params)
    found = context.log.find(wanted.wanted(who), limit=PAGE_SIZE, before=wanted.before)
    everything = await context.log.counts(DecisionFilter(namespaces=who.namespaces))
    return rendering.page(
        request,
        "activity.html",
        who,
        asked=wanted,
        cards=[views.card(value) for value in found.items],
        next=None if found.next is None else wanted.url(before=found.next),
        first=wanted.url(),
        stream=wanted.url(f"{HOME}/stream"),
        charts_url=wanted.url(f"{HOME}/charts"),
        ready=context.log.ready,
        behind_s=context.log.behind_s,
        complete_since=_complete_since(context),
        choices={
            "namespaces": everything.namespaces,
            "decisions": DECISIONS,
            "bands": BANDS,
            "reasons": [reason for reason in REASONS if reason in everything.reasons]
            + [reason for reason in everything.reasons if reason not in REASONS],
        },
        **await _charts(context, wanted, who),
    )


@router.get("/charts")
async def charts_alone(request: Request) -> Response:
    """Return the charts as a part of the page, for the page to renew them."""
    who = reader(request)
    values = await _charts(current(request), asked(request.query_params), who)
    return rendering.html(rendering.fragment("charts.html", **values))


async def _charts(context: ApiContext, wanted: Asked, who: Caller) -> dict[str, Any]:
    counts = await context.log.counts(wanted.wanted(who))
    return {
        "counts": counts,
        "summary": charts.grouped(counts.kinds),
        "times": charts.over_time(counts),
        "similarities": charts.by_similarity(counts),
        "deciders": charts.deciders(counts),
        "saved": max(0, counts.reached - counts.asked),
    }


def _complete_since(context: ApiContext) -> views.Moment | None:
    forgotten = context.log.complete_since
    return None if forgotten is None else views.moment(instant(forgotten))


@router.get("/stream")
async def stream(request: Request) -> StreamingResponse:
    """Stream decisions as parts of the page (server-sent events) until the browser goes away."""
    who = reader(request)
    wanted = asked(request.query_params).wanted(who)
    after = request.headers.get("last-event-id") or request.query_params.get("after")
    written = partial(_event, may_write=who.may_write)
    return live_response(current(request), wanted, after, opening=b"retry: 2000\n\n", written=written)


def _event(value: dict[str, Any], *, may_write: bool) -> bytes:
    if MISSED in value:
        return f"event: missed\ndata: {value[MISSED]}\n\n".encode()
    shown = rendering.fragment("live.html", card=views.card(value), may_write=may_write, fresh=True)
    # A text's line breaks end no line of the stream: U+0085 and the like do not count as such, CR and LF become lines of `data`.
    lines = shown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    data = "".join(f"data: {line}\n" for line in lines)
    return f"id: {value['decision_id']}\nevent: decision\n{data}\n".encode()


@router.get("/decisions/{decision_id}")
async def decision(request: Request, decision_id: str) -> Response:
    """Show one decision, however old, with everything that explains it."""
    who = reader(request)
    value = await undoing.visible(request, decision_id, who)
    near = [one["fact_id"] for one in value.get("neighbours") or ()]
    try:
        facts = await current(request).stores.facts.get(near) if near else {}
    except Transient:
        facts = {}  # what was decided can be told without what is stored now
    facts = {fact_id: fact for fact_id, fact in facts.items() if fact.namespace == value["namespace"]}
    return rendering.page(request, "decision.html", who, card=views.card(value, facts))


@router.get("/facts/{fact_id}")
async def fact(request: Request, fact_id: str) -> Response:
    """Show one fact's story."""
    who = reader(request)
    context = current(request)
    head = await asking.one(context.stores.facts, fact_id, who.namespaces)
    if head is None or head.status is Status.ERASED:
        raise Problem(404, "not_found", "there is no such fact, or none that this token may see")
    story = await tell_story(context.stores, head)
    return rendering.page(
        request,
        "fact.html",
        who,
        head=head,
        text=views.visible(head.text),
        stated=views.moment(head.last_stated_at),
        review=head.review,
        chain=[views.era(row, head.fact_id) for row in story.chain],
        rows=[views.era(row, head.fact_id) for row in story.rows if row.status is not Status.ERASED],
        chapters=views.chapters(story.steps),
        shortened=story.shortened,
        cost=views.story_cost(story.cost),
    )


@router.get("/login")
async def login(request: Request) -> Response:
    """Show the form for the token."""
    target = session.own_path(request.query_params.get("next"))
    return rendering.page(request, "login.html", maybe_caller(request), target=target, wrong=False)


@router.post("/login")
async def sign_in(request: Request) -> Response:
    """Take a token, and go where the visitor wanted to go."""
    form = await session.read_form(request, with_word=False)
    token, target = form.get("token", "").strip(), session.own_path(form.get("next"))
    who = current(request).tokens.caller_of(token) if session.is_sendable(token) else None
    if who is None or not who.may_read:
        return rendering.page(request, "login.html", maybe_caller(request), status=401, target=target, wrong=True)
    response = RedirectResponse(target, 303)
    session.remember(request, response, token)
    return response


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    """Forget the token."""
    await session.read_form(request)
    response = RedirectResponse(f"{HOME}/login", 303)
    session.forget(request, response)
    return response


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Return style, script and icon; for everybody."""
    if name not in rendering.STATIC:
        raise Problem(404, "not_found", "there is no such file")
    return Response(
        rendering.static_file(name),
        200,
        {"cache-control": _ASSET_CACHE, "x-content-type-options": "nosniff"},
        rendering.STATIC[name],
    )
