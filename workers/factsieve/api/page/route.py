"""What all addresses of the page have in common: who looks, and errors as pages for people."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from factsieve.api.access import Caller, caller, maybe_caller
from factsieve.api.page import rendering
from factsieve.api.page.query import HOME
from factsieve.api.problems import Problem, as_problem


def reader(request: Request) -> Caller:
    """Return who looks. Raises Problem `unauthenticated` or `scope_missing`."""
    return caller(request)


class PageRoute(APIRoute):
    """A route whose errors are pages: without a token the form for it, else what went wrong and what to do."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the handler."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except Exception as error:
                problem = as_problem(error)
                if problem is None:
                    raise
                return _as_page(request, problem)

        return answer


def _as_page(request: Request, problem: Problem) -> Response:
    wants_page = "text/html" in request.headers.get("accept", "")
    if problem.status_code == 401 and request.method == "GET" and wants_page:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{HOME}/login?next={quote(path, safe='')}", 303)
    if not wants_page:
        raise problem
    title = HTTPStatus(problem.status_code).phrase
    return rendering.page(
        request, "problem.html", maybe_caller(request), status=problem.status_code, title=title, detail=problem.detail
    )
