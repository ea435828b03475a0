"""`/healthz`, `/readyz` and `/metrics`: of this process, with nothing of any fact in it."""

import asyncio
import time
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from factsieve.api.access import Caller, caller
from factsieve.api.context import ApiContext, current
from factsieve.api.problems import Problem
from factsieve.api.replies import described, problems, reply

router = APIRouter(tags=["health"])

CHECK_TIMEOUT_S: Final = 3.0
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
    context = current(request)
    results = await asyncio.gather(*(_checked(context, name) for name in context.ready))
    checks = dict(zip(context.ready, results, strict=True))
    ok = all(result["ok"] for result in results)
    return reply({"status": "ok" if ok else "unavailable", "checks": checks}, 200 if ok else 503)


async def _checked(context: ApiContext, name: str) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        ok = await asyncio.wait_for(context.ready[name](), CHECK_TIMEOUT_S) is not False
    except Exception:  # a check says by any exception that something is wrong
        ok = False
    return {"ok": ok, "duration_ms": round((time.perf_counter() - began) * 1000, 3)}


@router.get(
    "/metrics",
    summary="Prometheus metrics",
    responses={
        200: {"description": "Of this process.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(),
    },
)
async def metrics(request: Request, who: Annotated[Caller, Depends(caller)]) -> Response:
    """Return the metrics of this process: what all tenants do together, so a token for `*` is needed."""
    if who.namespaces is not None:
        raise Problem(403, "namespace_forbidden", "metrics are of all namespaces: use a token for `*`")
    return Response(generate_latest(current(request).metrics.registry), media_type=CONTENT_TYPE_LATEST)
