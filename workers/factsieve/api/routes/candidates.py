"""`POST /v1/candidates`: statements into the topic."""

from datetime import timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Request, Response

from factsieve.api.access import Writer
from factsieve.api.context import current
from factsieve.api.models import Accepted, Candidates, OneOrMore
from factsieve.api.problems import Problem
from factsieve.api.replies import ApiRoute, problems, reply
from factsieve.api.statements import Event, as_event, namespace_of
from factsieve.core.errors import BadInput
from factsieve.wire.headers import Headers

router = APIRouter(route_class=ApiRoute, tags=["candidates"])

_EXAMPLES: Final[dict[str, Any]] = {
    "one": {
        "summary": "One statement",
        "value": {
            "id": "4711",
            "namespace": "team-kestrel",
            "text": "The Harbor API listens on port 8081.",
            "source": "stop_hook",
            "occurred_at": "2026-03-04T09:30:00Z",
            "slot": "harbor-api.port",
        },
    },
    "several": {
        "summary": "Several statements",
        "value": {
            "candidates": [
                {"namespace": "team-kestrel", "text": "Ana leads the Harbor team."},
                {"namespace": "team-kestrel", "text": "Deploys happen on Tuesdays."},
            ]
        },
    },
}


@router.post(
    "/v1/candidates",
    status_code=202,
    summary="Send candidate facts",
    response_model=Accepted,
    response_description="They are on the topic. `GET /v1/decisions?event_key=...&wait=10` waits for what becomes of each.",
    responses=problems(413, 429),
)
async def send(
    body: Annotated[OneOrMore, Body(openapi_examples=_EXAMPLES)],
    request: Request,
    who: Writer,
) -> Response:
    """Take candidates in, all or none. Each is checked as a worker would; what one would refuse is answered 422.

    Sent again under the same id, a statement gets the very decision again that it had: after a time-out, send again.
    """
    context = current(request)
    several = isinstance(body, Candidates)
    bodies = body.candidates if isinstance(body, Candidates) else [body]
    most = context.settings.api.max_batch
    if len(bodies) > most:
        raise Problem(
            422, "unusable_input", f"{len(bodies)} candidates in one request, at most {most} are taken: split it"
        )
    now, traceparent = context.clock.now(), Headers(_trace(request)).traceparent
    events: list[Event] = []
    errors: list[dict[str, Any]] = []
    for number, one in enumerate(bodies):
        namespace = namespace_of(one, who)
        try:
            at = now + timedelta(microseconds=number)  # made one after the other, where they name no time of their own
            events.append(as_event(one, namespace, context.connected.topics, context.limits, at, traceparent))
        except BadInput as error:
            where = f"body.candidates.{number}" if several else "body"
            field = where if error.field is None else f"{where}.{error.field}"
            errors.append({"field": field, "message": str(error), "code": error.code})
    if errors:
        first = errors[0]
        said = f"{first['field']}: {first['message']}"
        raise Problem(422, "unusable_input", f"nothing was taken: {said}", errors=errors)
    context.writes.take(who.name, len(events))
    await context.outbox.send([event.message for event in events])
    context.metrics.took_candidates(len(events))
    told = [{"event_id": one.event_id, "event_key": one.event_key, "namespace": one.namespace} for one in events]
    return reply({"events": told}, 202)


def _trace(request: Request) -> list[tuple[str, bytes]]:
    given = request.headers.get("traceparent")
    return [] if given is None else [("traceparent", given.encode("utf-8", "replace"))]
