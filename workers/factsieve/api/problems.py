"""Errors as RFC 9457 has them: `application/problem+json`, with a code of a bounded vocabulary and what to do."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

import msgspec
from fastapi import Request, Response

MEDIA_TYPE: Final = "application/problem+json"

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
    "too_busy",
    "service_unreachable",
]
"""What went wrong; the last part of a problem's `type`."""


class Problem(Exception):
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
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})
        self.errors = list(errors)
        self.more = dict(more or {})


def problem_body(problem: Problem, request_id: str) -> bytes:
    """Return a problem as JSON."""
    document: dict[str, Any] = {
        "type": f"urn:factsieve:problem:{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        "request_id": request_id,
    }
    if problem.errors:
        document["errors"] = problem.errors
    return msgspec.json.encode(document | problem.more)


def problem_response(request: Request, problem: Problem) -> Response:
    """Return the response of a problem."""
    body = problem_body(problem, str(request.scope.get("factsieve.request_id", "")))
    return Response(body, problem.status, problem.headers, MEDIA_TYPE)
