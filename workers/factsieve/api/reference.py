"""`/docs`: the OpenAPI document as a page for people, made on the server; nothing is loaded from elsewhere."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from fastapi import APIRouter, Request, Response

router = APIRouter(include_in_schema=False)

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --ink: light-dark(#1b1f24, #e6e9ee); --dim: light-dark(#57606a, #9aa4b1);
  --link: light-dark(#0b57d0, #8ab4f8); }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; } h2 { margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin: 1.8rem 0 .3rem; font-size: 1.05rem; } h4 { margin: 1rem 0 .3rem; font-size: .95rem; } a { color: var(--link); }
code, pre { font: .88em/1.5 ui-monospace, monospace; } pre { background: var(--soft); padding: .8rem; overflow: auto; border-radius: 6px; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
  border-top: 1px solid var(--line); } .verb { font-weight: 700; } .dim { color: var(--dim); } nav li { margin: .15rem 0; }
"""
_SECURITY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Return the page."""
    page = "".join(render(request.app.openapi()))
    return Response(page, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": _SECURITY})


def render(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the page of an OpenAPI document."""
    info = document["info"]
    yield '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    yield f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style><main>"
    yield f"<h1>{escape(info['title'])} API <span class=dim>{escape(info['version'])}</span></h1>"
    for paragraph in str(info["description"]).split("\n\n"):
        yield f"<p>{_prose(paragraph)}</p>"
    yield '<p>For programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>'
    by_tag = _by_tag(document)
    yield '<nav aria-label="Endpoints"><ul>'
    for operations in by_tag.values():
        for verb, path, operation in operations:
            yield f'<li><a href="#{_anchor(verb, path)}"><code>{verb} {escape(path)}</code></a> {escape(operation["summary"])}'
    yield "</ul></nav>"
    for tag in document["tags"]:
        yield f"<h2>{escape(tag['name'].capitalize())}</h2><p>{_prose(tag['description'])}</p>"
        for verb, path, operation in by_tag.get(tag["name"], ()):
            yield from _operation(document, verb, path, operation)
    yield "</main></html>"


def _by_tag(document: Mapping[str, Any]) -> dict[str, list[tuple[str, str, dict[str, Any]]]]:
    found: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            found.setdefault(operation["tags"][0], []).append((verb.upper(), path, operation))
    return found


def _operation(document: Mapping[str, Any], verb: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f'<h3 id="{_anchor(verb, path)}"><code><span class=verb>{verb}</span> {escape(path)}</code></h3>'
    yield f"<p>{_prose(operation.get('description', operation['summary']))}</p>"
    body = operation.get("requestBody")
    rows = [(one["name"], one["in"], one.get("description", "")) for one in operation.get("parameters", ())]
    if body is not None:
        media = next(iter(body["content"].values()))
        rows += _fields(document, media["schema"])
    if rows:
        yield "<table><thead><tr><th scope=col>name<th scope=col>in<th scope=col>is</thead><tbody>"
        for name, where, text in rows:
            yield f"<tr><td><code>{escape(name)}</code><td class=dim>{where}<td>{_prose(text)}"
        yield "</tbody></table>"
    if body is not None:
        for example in _examples(document, media):
            yield f"<h4>Example body</h4><pre>{escape(json.dumps(example, indent=2, ensure_ascii=False))}</pre>"
    for status, response in operation["responses"].items():
        for media in response.get("content", {}).values():
            if "example" in media:
                yield f"<h4>Answer {status}</h4><pre>{escape(json.dumps(media['example'], indent=2))}</pre>"
    answers = "; ".join(
        f"<b>{status}</b> {_prose(one['description'])}" for status, one in operation["responses"].items()
    )
    yield f"<p class=dim>{answers}</p>"


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the object schemas that a schema stands for."""
    if "$ref" in schema:
        return [document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]]
    return [one for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) for one in _resolved(document, part)]


def _fields(document: Mapping[str, Any], schema: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows: dict[str, str] = {}
    for one in _resolved(document, schema):
        for name, field in one.get("properties", {}).items():
            rows.setdefault(name, field.get("description", ""))
    return [(name, "body", text) for name, text in rows.items()]


def _examples(document: Mapping[str, Any], media: Mapping[str, Any]) -> list[object]:
    if "examples" in media:
        return [one["value"] for one in media["examples"].values()]
    return [example for one in _resolved(document, media["schema"]) for example in one.get("examples", ())]


def _anchor(verb: str, path: str) -> str:
    return escape(f"{verb.lower()}{path.replace('/', '-').replace('{', '').replace('}', '')}", quote=True)


def _prose(text: str) -> str:
    """Return a text with its `code` marked."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
