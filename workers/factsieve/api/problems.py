"""Errors as RFC 9457 has them: `application/problem+json`, with a code of a bounded vocabulary and what to do."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

import msgspec
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from factsieve.api.limits import TooFast
from factsieve.core.errors import BadInput, Transient

MEDIA_TYPE: Final = "application/problem+json"
REQUEST_ID: Final = "factsieve.request_id"
"""Where a request's scope holds its id."""
MAX_ERRORS: Final = 20

Code = Literal[
    "bad_request",
    "unauthenticated",
    "scope_missing",
    "namespace_forbidden",
    "not_found",
    "method_not_allowed",
    "refused",
    "body_too_large",
    "unusable_input",
    "too_many_writes",
    "internal_error",
    "commands_unavailable",
    "too_busy",
    "service_unreachable",
]
"""What went wrong; the last part of a problem's `type`."""


class Problem(HTTPException):
    """An answer other than the one that was asked for. `detail` names the offending value and the fix, `errors` each offence."""

    def __init__(
        self,
        status: int,
        code: Code,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code
        self.errors = list(errors)
        self.more = dict(more or {})


def problem_body(problem: Problem, request_id: str) -> bytes:
    """Return a problem as JSON."""
    document: dict[str, Any] = {
        "type": f"urn:factsieve:problem:{problem.code}",
        "title": HTTPStatus(problem.status_code).phrase,
        "status": problem.status_code,
        "detail": problem.detail,
        "code": problem.code,
        "request_id": request_id,
    }
    if problem.errors:
        document["errors"] = problem.errors
    return msgspec.json.encode(document | problem.more)


def problem_response(request: Request, problem: Problem) -> Response:
    """Return the response of a problem."""
    body = problem_body(problem, str(request.scope.get(REQUEST_ID, "")))
    return Response(body, problem.status_code, problem.headers, MEDIA_TYPE)


_OF_STATUS: Final[Mapping[int, Code]] = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}
_SAID: Final[Mapping[int, str]] = {
    404: "there is nothing at this address: /docs lists what there is",
    405: "this address does not take this method: the header Allow says which it takes",
}


def as_problem(error: Exception) -> Problem | None:
    """Return the problem that an error is answered with, or None for one that should not have happened."""
    match error:
        case Problem():
            return error
        case RequestValidationError():
            errors = [_offence(one) for one in error.errors()[:MAX_ERRORS]]
            told = "; ".join(f"{one['field']}: {one['message']}" for one in errors[:3])
            return Problem(422, "unusable_input", f"the request can not be used: {told}", errors=errors)
        case HTTPException():
            status = error.status_code
            code = _OF_STATUS.get(status, "bad_request")
            return Problem(status, code, _SAID.get(status, str(error.detail)), headers=error.headers)
        case TooFast():
            return Problem(429, "too_many_writes", str(error), headers={"Retry-After": str(error.retry_after_s)})
        case BadInput():
            return unusable(error)
        case Transient() | TimeoutError():
            service = error.service if isinstance(error, Transient) else "the service behind it"
            return Problem(
                503,
                "service_unreachable",
                f"{service} does not answer in time: the same request may succeed later",
                headers={"Retry-After": "5"},
            )
    return None


def unusable(error: BadInput, *, within: str = "body") -> Problem:
    """Return the problem of input that can not be used, with the code that a worker would refuse it with."""
    offence = {"field": within if error.field is None else f"{within}.{error.field}", "message": str(error)}
    return Problem(422, "unusable_input", str(error), errors=[{**offence, "code": error.code}])


def _offence(error: Mapping[str, Any]) -> dict[str, str]:
    return {"field": ".".join(map(str, error["loc"])), "message": str(error["msg"]), "code": str(error["type"])}
