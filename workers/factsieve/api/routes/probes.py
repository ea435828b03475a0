"""`/healthz`, `/readyz` and `/metrics`: of this process, with nothing of any fact in it."""

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from factsieve.api.access import Reader
from factsieve.api.context import current
from factsieve.api.problems import Problem
from factsieve.api.replies import described, problems, reply

router = APIRouter(tags=["health"])

_STATUS: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["status", "checks"],
    "properties": {
        "status": {"enum": ["ok", "unavailable"]},
        "checks": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["ok", "duration_ms"],
                "properties": {"ok": {"type": "boolean"}, "duration_ms": {"type": "number"}},
            },
        },
    },
}


@router.get("/healthz", summary="Does the process live?", responses={200: described(_STATUS, "It does.")})
async def healthz() -> Response:
    """Return 200: whoever answers lives."""
    return reply({"status": "ok", "checks": {}})


@router.get(
    "/readyz",
    summary="Can it do its work?",
    responses={200: described(_STATUS, "It can."), 503: described(_STATUS, "Something that it needs does not answer.")},
)
async def readyz(request: Request) -> Response:
    """Return whether stores and brokers answer, by name; what is wrong with one is in the log alone."""
    checks = await current(request).readiness.looked_at()
    ok = all(one["ok"] for one in checks.values())
    return reply({"status": "ok" if ok else "unavailable", "checks": checks}, 200 if ok else 503)


@router.get(
    "/metrics",
    summary="Prometheus metrics",
    responses={
        200: {"description": "Of this process.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(),
    },
)
async def metrics(request: Request, who: Reader) -> Response:
    """Return the metrics of this process: what all tenants do together, so a token for `*` is needed."""
    if who.namespaces is not None:
        raise Problem(403, "namespace_forbidden", "metrics are of all namespaces: use a token for `*`")
    return Response(generate_latest(current(request).metrics.registry), media_type=CONTENT_TYPE_LATEST)
