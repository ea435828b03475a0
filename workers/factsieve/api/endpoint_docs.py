"""Prints the table of endpoints in `docs/api.md`: `python -m factsieve.api.endpoint_docs`."""

import sys
from types import SimpleNamespace
from typing import cast

from factsieve.api.app import make_app
from factsieve.api.context import ApiContext
from factsieve.api.routes import orders


def render() -> str:
    """Return the table, made of the OpenAPI document."""
    document = make_app(cast(ApiContext, SimpleNamespace())).openapi()
    rows = ["| endpoint | scope | does |", "|---|---|---|"]
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            told = operation["description"].split("\n\n")[0].replace("\n", " ")
            rows.append(f"| `{verb.upper()} {path}` | {_scope(verb, path)} | {told} |")
    return "\n".join(rows) + "\n"


def _scope(verb: str, path: str) -> str:
    if path in ("/healthz", "/readyz"):
        return "none"
    if path == "/metrics":
        return "read, for `*`"
    writes = {route.path for route in orders.router.routes if hasattr(route, "path")} | {"/v1/candidates"}
    return "write" if verb == "post" and path in writes else "read"


if __name__ == "__main__":
    sys.stdout.write(render())
