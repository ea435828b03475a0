"""Templates to responses: everything is escaped, and the browser is told to load nothing from elsewhere."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from factsieve.api.access import Caller
from factsieve.api.page import charts, views
from factsieve.api.page.query import HOME
from factsieve.api.page.session import form_word
from factsieve.core import telling

HTML: Final = "text/html; charset=utf-8"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
STATIC: Final[Mapping[str, str]] = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@cache
def static_file(name: str) -> bytes:
    """Return a file that the page loads."""
    return files("factsieve.api.page").joinpath("static", name).read_bytes()


@cache
def _stamp(name: str) -> str:
    return sha256(static_file(name)).hexdigest()[:12]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("factsieve.api.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "home": HOME,
        "static": lambda name: f"{HOME}/static/{name}?v={_stamp(name)}",
        "chart_height": charts.HEIGHT,
        "words": views.KIND_WORDS,
        "band_words": telling.BANDS,
        "reason_words": telling.REASONS,
    }
    environment.filters["number"] = lambda number: f"{number:,}"
    return environment


def fragment(template: str, **values: Any) -> str:  # noqa: ANN401 - a template's own
    """Return a part of a page."""
    return _environment().get_template(template).render(**values)


def page(
    request: Request,
    template: str,
    who: Caller | None,
    *,
    status: int = 200,
    **values: Any,  # noqa: ANN401
) -> Response:
    """Return a whole page."""
    signed_in = who is not None and who.name != "anonymous"
    body = fragment(template, who=who, signed_in=signed_in, word=form_word(request), **values)
    return html(body, status)


def html(body: str, status: int = 200) -> Response:
    """Return a response of HTML that loads nothing from elsewhere and is not kept by caches."""
    headers = {
        "content-security-policy": _POLICY,
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "same-origin",
    }
    return Response(body, status, headers, HTML)
