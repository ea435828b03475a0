"""What every request passes, in and out: its id, the bounds of its size, time and number, headers, what is counted and logged.

As an ASGI middleware of its own, so that a flood is refused before anything is parsed.
"""

import asyncio
import re
import time
import uuid
from contextlib import ExitStack
from typing import Final, Literal

import structlog
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from factsieve.api.access import is_from_elsewhere, presented_token
from factsieve.api.context import ApiContext
from factsieve.api.limits import Gate, TooBusy
from factsieve.api.problems import REQUEST_ID, Problem, as_problem, problem_response

log = structlog.get_logger(__name__)

Kind = Literal["check", "request", "stream", "probe"]

CALLER: Final = "factsieve.caller"
"""Where a request's scope holds the name of the token that it came with."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_WAITING: Final = re.compile(r"/stream$|^/(v1|activity)/(facts|decisions)/[^/]+/(retract|erase|revert|review)$")
_PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_CHECK: Final = "/v1/dedup-check"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}


def kind_of(path: str, query: bytes) -> Kind:
    """Return which bound a request counts against: those that wait for something are not to hold up the others."""
    if path in _PROBES:
        return "probe"
    if path == _CHECK:
        return "check"
    return "stream" if _WAITING.search(path) or b"wait=" in query else "request"


class Border:
    """The middleware. `context` is that of the process."""

    def __init__(self, app: ASGIApp, context: ApiContext) -> None:
        self._app = app
        self._context = context
        self._secure = context.settings.api.tls_cert_file is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises nothing but cancellation."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        scope[REQUEST_ID] = request_id
        structlog.contextvars.bind_contextvars(request_id=request_id)
        passage = _Passage(scope, receive, send, self._headers(request_id), self._context.settings.api.max_body_bytes)
        began = time.perf_counter()
        kind = kind_of(scope["path"], scope.get("query_string", b""))
        try:
            await self._guarded(passage, headers, kind)
        except Exception as error:
            await self._answer(passage, error)
        finally:
            self._note(passage, kind, time.perf_counter() - began)

    async def _guarded(self, passage: "_Passage", headers: Headers, kind: Kind) -> None:
        passage.check_length(headers.get("content-length"))
        if self._context.settings.api.open and is_from_elsewhere(passage.scope["method"], headers):
            raise Problem(
                403,
                "bad_request",
                "without tokens this API answers to programs and pages of this machine alone: address it as 127.0.0.1 or localhost",
            )
        with ExitStack() as inside:
            gate = self._gate(kind)
            if gate is not None:
                inside.enter_context(gate.entered(self._name_of(passage.scope)))
            async with asyncio.timeout(self._limit_s(kind, passage.scope["path"])):
                await self._app(passage.scope, passage.receive, passage.send)

    def _name_of(self, scope: Scope) -> str:
        """Return the name of the token that a request came with; all those without a known one are one caller."""
        found = self._context.tokens.caller_of(presented_token(Request(scope)))
        return "" if found is None else found.name

    def _limit_s(self, kind: Kind, path: str) -> float | None:
        api = self._context.settings.api
        if path.endswith("/stream"):
            return None
        return api.request_timeout_s + (api.wait_limit_s if kind == "stream" else 0.0)

    def _gate(self, kind: Kind) -> Gate | None:
        gates = self._context.gates
        return {"check": gates.checks, "request": gates.requests, "stream": gates.streams}.get(kind)

    async def _answer(self, passage: "_Passage", error: Exception) -> None:
        if isinstance(error, TooBusy):
            problem: Problem | None = Problem(
                503,
                "too_busy",
                "as many requests are under way as may be: try again shortly",
                headers={"Retry-After": "1"},
            )
        else:
            problem = as_problem(error)
        if problem is None:
            log.error("request_failed", exc_info=error)
            problem = Problem(
                500, "internal_error", "something went wrong here: the log says what, under this request id"
            )
        elif problem.status_code >= 500 and not isinstance(error, TooBusy):
            log.warning("service_unreachable", error=str(error) or type(error).__name__)
        if passage.status is None:
            await problem_response(Request(passage.scope), problem)(passage.scope, passage.receive, passage.send)

    def _headers(self, request_id: str) -> dict[str, str]:
        more = {"strict-transport-security": "max-age=31536000"} if self._secure else {}
        return {**_HEADERS, **more, "x-request-id": request_id}

    def _note(self, passage: "_Passage", kind: Kind, took_s: float) -> None:
        scope = passage.scope
        route = getattr(scope.get("route"), "path", None) or "unmatched"
        status = passage.status or 499  # the client went away before it was answered
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"  # anybody may invent methods
        self._context.metrics.answered(method, route, status, None if kind == "stream" else took_s)
        if kind != "probe":
            log.info(
                "request_answered",
                method=method,
                route=route,
                status=status,
                duration_ms=round(took_s * 1000, 2),
                caller=scope.get(CALLER),
            )


class _Passage:
    """One request on its way: bounds what comes in, and adds headers to what goes out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, headers: dict[str, str], max_bytes: int) -> None:
        self.scope = scope
        self.status: int | None = None
        self._receive = receive
        self._send = send
        self._headers = headers
        self._max_bytes = max_bytes
        self._taken = 0

    def check_length(self, stated: str | None) -> None:
        """Raise Problem `body_too_large` where the stated length of the body is above the limit."""
        if stated is not None and stated.isdecimal() and int(stated[:18]) > self._max_bytes:
            raise self._too_large()

    async def receive(self) -> Message:
        """Return the next message in. Raises Problem `body_too_large`."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._taken += len(message.get("body", b""))
            if self._taken > self._max_bytes:
                raise self._too_large()
        return message

    async def send(self, message: Message) -> None:
        """Pass a message out."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        await self._send(message)

    def _too_large(self) -> Problem:
        return Problem(
            413,
            "body_too_large",
            f"the body has more than {self._max_bytes} bytes: send fewer statements at a time",
            headers={"Connection": "close"},
        )
