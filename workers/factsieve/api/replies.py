"""Replies: values as JSON, the parts of the OpenAPI document that describe them, and parameters that several endpoints share."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final

import msgspec
from fastapi import Query, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import Request as StarletteRequest
from starlette.types import Receive, Scope, Send

from factsieve.api.access import known
from factsieve.api.context import current
from factsieve.api.problems import MEDIA_TYPE, Problem
from factsieve.core.errors import BadInput
from factsieve.wire import times
from factsieve.wire.document import parse_object
from factsieve.wire.topic_specs import schemas_folder

JSON: Final = "application/json"
_SCHEMAS: Final[Mapping[str, str]] = {
    "Fact": "fact.state.v1.json",
    "Decision": "fact.decision.v1.json",
    "Supersession": "fact.supersession.v1.json",
}
"""Components of the OpenAPI document that are the topics' own schemas."""

_STATUS_TEXT: Final[Mapping[int, str]] = {
    400: "The request is not what HTTP or JSON allows.",
    401: "No token, or none that is known.",
    403: "The token is not for that namespace, or lacks the scope.",
    404: "There is no such thing, or none that this token may see.",
    409: "The command was refused: `detail` says why.",
    413: "The body is too large.",
    422: "The request can not be used: `errors` lists what is wrong.",
    429: "Too many writes; `Retry-After` says when to come again.",
    501: "This process has no operator key to sign commands with.",
    503: "Too much is under way, or a service does not answer; `Retry-After` says when to come again.",
}

Namespace = Annotated[
    str | None, Query(min_length=1, max_length=1024, description="Of this namespace alone. Absent: all of the token's.")
]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=512, description="`next` of the page before.")]
Instant = Annotated[
    str | None,
    Query(
        max_length=64,
        description="A day (2026-03-04, its beginning in UTC) or an instant (2026-03-04T09:30:00Z).",
        examples=["2026-03-04", "2026-03-04T09:30:00Z"],
    ),
]


def reply(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, JSON)


def described(schema: Mapping[str, Any], text: str, example: object = None) -> dict[str, Any]:
    """Return the OpenAPI description of a reply."""
    content: dict[str, Any] = {"schema": dict(schema)}
    if example is not None:
        content["example"] = example
    return {"description": text, "content": {JSON: content}}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI descriptions of the problems that an endpoint may answer with; those of all endpoints are among them."""
    return {
        status: {"description": _STATUS_TEXT[status], "content": {MEDIA_TYPE: {"schema": ref("ProblemDocument")}}}
        for status in sorted({400, 401, 403, 422, 503, *statuses})
    }


def ref(name: str) -> dict[str, str]:
    """Return the reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(name: str, of: Mapping[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON Schema
    """Return the schema of a page: `name` is a list, `next` the cursor."""
    cursor = {"type": ["string", "null"], "description": "Cursor of the next page; null on the last one."}
    properties = {name: {"type": "array", "items": dict(of)}, "next": cursor, **more}
    return {"type": "object", "required": [name, "next"], "properties": properties}


@cache
def components() -> dict[str, Any]:
    """Return the topics' schemas as components."""
    names = {file: name for name, file in _SCHEMAS.items()}

    def moved(node: object) -> object:
        if isinstance(node, dict):
            return {
                key: f"#/components/schemas/{names[value]}" if key == "$ref" and value in names else moved(value)
                for key, value in node.items()
                if key not in ("$schema", "$id")
            }
        return [moved(item) for item in node] if isinstance(node, list) else node

    folder = schemas_folder()
    return {name: moved(json.loads((folder / file).read_text("utf-8"))) for name, file in _SCHEMAS.items()}


def instant(text: str | None, name: str) -> datetime | None:
    """Return an instant of a parameter. Raises Problem `unusable_input`."""
    if text is None:
        return None
    try:
        return times.parse_day_or_instant(text)
    except ValueError:
        message = f"{name} {text!r} is no time: write a day (2026-03-04) or an instant (2026-03-04T09:30:00Z)"
        offence = {"field": f"query.{name}", "message": message, "code": "bad_time"}
        raise Problem(422, "unusable_input", message, errors=[offence]) from None


def to_cursor(value: object) -> str:
    """Return a place in a list as opaque text."""
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode("ascii")


def from_cursor(text: str, kind: type[Any]) -> Any:  # noqa: ANN401 - of that kind
    """Return the place that a cursor stands for. Raises Problem `bad_request`."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=kind)
    except (ValueError, msgspec.DecodeError, msgspec.ValidationError):
        raise Problem(400, "bad_request", "cursor is none that this API gave: pass `next` as it came") from None


class StrictRequest(Request):
    """A request whose JSON is what a record's value may be: no NaN, no half surrogate pairs, bounded nesting."""

    async def json(self) -> Any:  # noqa: ANN401 - as declared upstream
        """Return the body. Raises Problem `bad_request`."""
        try:
            return parse_object(await self.body(), current(self).limits.max_nesting + 2)
        except BadInput as error:
            status = 422 if error.field is not None else 400
            raise Problem(status, "unusable_input" if status == 422 else "bad_request", str(error)) from None


class ApiRoute(APIRoute):
    """A route behind a token, which is looked at before the body is."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises Problem `unauthenticated`."""
        if not self.methods or scope["method"] in self.methods:
            known(StarletteRequest(scope))
        await super().handle(scope, receive, send)

    def get_route_handler(self) -> Any:  # noqa: ANN401 - as declared upstream
        """Return the handler, with requests that read JSON strictly."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict
