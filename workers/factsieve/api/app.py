"""The ASGI application: a function of its context."""

from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from factsieve import __version__
from factsieve.api import page, reference
from factsieve.api.border import Border
from factsieve.api.context import ApiContext
from factsieve.api.models import ProblemDocument
from factsieve.api.problems import MEDIA_TYPE, Problem, as_problem, problem_response
from factsieve.api.replies import components, problems
from factsieve.api.routes import candidates, decisions, dedup, facts, orders, probes
from factsieve.core.errors import BadInput

_ABOUT: Final = """Let candidate facts in, look at facts and decisions, undo.

Send `Authorization: Bearer TOKEN`. A token is bound to namespaces: what lies in others does not exist for it. Errors are
`application/problem+json` (RFC 9457) with a `code` and the request's id, which `X-Request-ID` carries too (yours, if you send one)."""

_TAGS: Final = [
    {"name": "dedup check", "description": "Is a statement news? Reads only."},
    {"name": "candidates", "description": "Statements in."},
    {"name": "facts", "description": "What is known, what was true then, what was believed then."},
    {"name": "decisions", "description": "What was decided, and why."},
    {"name": "commands", "description": "Undo, withdraw, erase, decide what was flagged."},
    {"name": "health", "description": "Of this process."},
]
_OPEN_PATHS: Final = ("/healthz", "/readyz")


def make_app(context: ApiContext) -> FastAPI:
    """Return the application. Its document is at `/openapi.json`, a page for people at `/docs`."""
    app = FastAPI(
        title="factsieve",
        version=__version__,
        description=_ABOUT,
        openapi_tags=_TAGS,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.context = context
    for module in (dedup, candidates, facts, decisions, orders, probes):
        app.include_router(module.router)
    app.include_router(reference.router)
    app.include_router(page.router)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    for kind in (HTTPException, RequestValidationError, BadInput):
        app.add_exception_handler(kind, _answer)
    app.add_middleware(Border, context=context)
    return app


async def _answer(request: Request, error: Exception) -> Response:
    problem = as_problem(error)
    assert isinstance(problem, Problem)
    return problem_response(request, problem)


def _document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once: with the topics' own schemas, and problems where FastAPI would put its errors."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        schemas["ProblemDocument"] = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= components()
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, operations in document["paths"].items():
            for operation in operations.values():
                operation["security"] = [] if path in _OPEN_PATHS else [{"token": []}]
                _problems_only(operation)
        app.openapi_schema = document
    return app.openapi_schema


def _problems_only(operation: dict[str, Any]) -> None:
    unusable = operation["responses"].get("422")
    if unusable is not None and MEDIA_TYPE not in unusable.get("content", {}):
        operation["responses"]["422"] = problems()[422]
