"""Whether the worker is well, over HTTP: `/healthz` for restarts, `/readyz` for operators and rollouts, `/metrics` for Prometheus."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

log = structlog.get_logger(__name__)

Check = Callable[[], Awaitable[object]]
"""Raises, or returns False, where something is not as it should be; anything else it returns is shown as a detail."""

_OK: Final = 200
_UNAVAILABLE: Final = 503
_HANDLER_STOP_S: Final = 1.0


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one check came to."""

    ok: bool
    duration_ms: float
    detail: Any = None
    error: str | None = None


class HealthServer:
    """A small HTTP server, on loopback unless told otherwise. It has no authentication and shows no content of facts.

    Args:
        host, port: where it listens; port 0 takes a free one, see `port` after `start`.
        alive: the checks of `/healthz`: only what a restart would cure.
        ready: the checks of `/readyz`: what this process needs to do its work now.
        registry: what `/metrics` shows.
        timeout_s: how long one check may take before it counts as failed; all run at once.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        alive: Mapping[str, Check],
        ready: Mapping[str, Check],
        registry: CollectorRegistry,
        timeout_s: float = 2.0,
    ) -> None:
        self.host = host
        self.port = port
        self._alive = dict(alive)
        self._ready = dict(ready)
        self._registry = registry
        self._timeout_s = timeout_s
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen. Raises OSError if the address can not be had."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=_HANDLER_STOP_S)
        await runner.setup()
        try:
            await web.TCPSite(runner, self.host, self.port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        self.port = runner.addresses[0][1]
        log.info("health_server_started", url=f"http://{self.host}:{self.port}")

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _healthz(self, _request: web.Request) -> web.Response:
        return await self._answer(self._alive)

    async def _readyz(self, _request: web.Request) -> web.Response:
        return await self._answer(self._ready)

    async def _metrics(self, _request: web.Request) -> web.Response:
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _answer(self, checks: Mapping[str, Check]) -> web.Response:
        results = await asyncio.gather(*(run_check(check, self._timeout_s) for check in checks.values()))
        by_name = dict(zip(checks, results, strict=True))
        ok = all(result.ok for result in results)
        body = msgspec.json.encode({"status": "ok" if ok else "unavailable", "checks": by_name})
        return web.Response(body=body, status=_OK if ok else _UNAVAILABLE, content_type="application/json")


async def run_check(check: Check, timeout_s: float) -> CheckResult:
    """Return what a check comes to within `timeout_s`; never raises."""
    began = time.monotonic()
    error: str | None = None
    detail: object = None
    try:
        detail = await asyncio.wait_for(check(), timeout_s)
    except TimeoutError:
        error = f"no answer within {timeout_s:g} s"
    except Exception as failure:  # a check says by any exception that something is wrong
        error = str(failure) or type(failure).__name__
    duration_ms = round((time.monotonic() - began) * 1000, 3)
    ok = error is None and detail is not False
    return CheckResult(ok=ok, duration_ms=duration_ms, detail=None if isinstance(detail, bool) else detail, error=error)
