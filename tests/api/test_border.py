"""What every request passes: id, bounds, headers, problems; without any store behind it."""

import asyncio
import contextlib
import hashlib
import io
import json
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.exposition import generate_latest

from factsieve.api import serve
from factsieve.api.app import make_app
from factsieve.api.border import kind_of
from factsieve.api.context import ApiContext, Gates
from factsieve.api.limits import Gate, TokenBuckets, TooBusy
from factsieve.api.problems import Problem
from factsieve.api.readiness import Readiness
from factsieve.api.replies import from_cursor, to_cursor
from factsieve.assembly.settings import Settings
from factsieve.assembly.settings_groups import ApiSettings
from factsieve.core.errors import BadInput, Transient
from factsieve.operations import asking
from factsieve.telemetry.metrics import make_metrics
from factsieve.wire.topics import Limits

pytestmark = pytest.mark.api


def bare_context(**api: Any) -> ApiContext:
    """Return a context with bounds and nothing behind it."""
    from factsieve.api.access import Tokens

    settings = Settings(api=ApiSettings(**{"open": "tokens" not in api, **api}))
    gates = Gates(Gate(settings.api.max_checks), Gate(settings.api.max_requests), Gate(settings.api.max_streams))
    return cast(
        ApiContext,
        SimpleNamespace(
            settings=settings,
            gates=gates,
            tokens=Tokens(settings.api),
            metrics=make_metrics(),
            limits=Limits(),
            writes=TokenBuckets(per_s=1.0, burst=10, now_s=lambda: 0.0),
            closing=asyncio.Event(),
        ),
    )


def app_with(context: ApiContext) -> tuple[FastAPI, asyncio.Event]:
    """Return the real app with endpoints besides that fail, or wait, as told."""
    app = make_app(context)
    go = asyncio.Event()

    @app.get("/fails/{how}")
    async def fails(how: str) -> None:
        errors: dict[str, Exception] = {
            "bug": RuntimeError("the secret reason"),
            "transient": Transient("qdrant", "http://user:secret@host is away"),
            "input": BadInput("bad_slot", "slot is odd", field="slot"),
        }
        raise errors[how]

    @app.get("/waits")
    async def waits() -> None:
        await go.wait()

    return app, go


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8080")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/fails/bug", 500, "internal_error"),
        ("/fails/transient", 503, "service_unreachable"),
        ("/fails/input", 422, "unusable_input"),
        ("/nowhere", 404, "not_found"),
    ],
)
def test_every_failure_is_a_problem_document_and_tells_no_secret(path: str, status: int, code: str) -> None:
    """RFC 9457, with the request's id; what went wrong inside is in the log alone."""

    async def run() -> None:
        app, _ = app_with(bare_context())
        async with client_of(app) as client:
            answer = await client.get(path, headers={"X-Request-ID": "mine-1"})
        body = answer.json()
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert (body["code"], body["status"], body["type"]) == (code, status, f"urn:factsieve:problem:{code}")
        assert body["request_id"] == answer.headers["x-request-id"] == "mine-1"
        assert "secret" not in answer.text
        assert ("retry-after" in answer.headers) == (status == 503)

    asyncio.run(run())


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "<script>", "ü"])
def test_a_request_id_that_is_none_is_replaced(given: str) -> None:
    """An id of our own stands in for one that could do harm in a log."""

    async def run() -> None:
        app, _ = app_with(bare_context())
        async with client_of(app) as client:
            headers = httpx.Headers({"X-Request-ID": given}, encoding="latin-1")
            answer = await client.get("/healthz", headers=headers)
        made = answer.headers["x-request-id"]
        assert made != given
        assert len(made) == 32

    asyncio.run(run())


def test_security_headers_are_on_every_answer() -> None:
    """Whatever is answered: no sniffing, no framing, no caching, nothing loaded."""

    async def run() -> None:
        app, _ = app_with(bare_context())
        async with client_of(app) as client:
            for path in ("/healthz", "/nowhere", "/fails/bug", "/openapi.json"):
                headers = (await client.get(path)).headers
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["x-frame-options"] == "DENY"
                assert headers["cache-control"] == "no-store"
                assert "default-src 'none'" in headers["content-security-policy"]

    asyncio.run(run())


@pytest.mark.parametrize("stated", [True, False])
def test_a_body_above_the_limit_is_refused(stated: bool) -> None:
    """413, by the stated length before a byte is read, or by counting where none is stated."""

    async def body() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100

    async def run() -> None:
        app, _ = app_with(bare_context(max_body_bytes=1024))
        async with client_of(app) as client:
            content: Any = b" " * 2000 if stated else body()
            answer = await client.post("/v1/dedup-check", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")

    asyncio.run(run())


def test_beyond_its_bound_a_request_is_refused_at_once_and_others_are_not() -> None:
    """503 with Retry-After while as many are under way as may be; probes and other kinds still pass; then there is room again."""

    async def run() -> None:
        context = bare_context(max_requests=2)
        app, go = app_with(context)
        async with client_of(app) as client:
            waiting = [asyncio.create_task(client.get("/waits")) for _ in range(2)]
            while context.gates.requests.inside < 2:  # noqa: ASYNC110 - the gate has no event to wait for
                await asyncio.sleep(0)
            refused = await client.get("/waits")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert refused.json()["code"] == "too_busy"
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.post("/v1/dedup-check", json={})).status_code == 422
            go.set()
            assert [(await one).status_code for one in waiting] == [200, 200]
            assert context.gates.requests.inside == 0

    asyncio.run(run())


def test_what_takes_too_long_is_answered_503() -> None:
    """The bound of time holds whatever an endpoint waits for."""

    async def run() -> None:
        app, _ = app_with(bare_context(request_timeout_s=0.05))
        async with client_of(app) as client:
            assert (await client.get("/waits")).status_code == 503

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "query", "kind"),
    [
        ("/v1/dedup-check", b"", "check"),
        ("/v1/decisions", b"", "request"),
        ("/v1/decisions", b"event_id=1&wait=5", "stream"),
        ("/v1/decisions/stream", b"", "stream"),
        ("/activity/stream", b"", "stream"),
        ("/v1/facts/1/retract", b"", "stream"),
        ("/v1/decisions/1/revert", b"", "stream"),
        ("/v1/facts", b"", "request"),
        ("/readyz", b"", "probe"),
    ],
)
def test_what_waits_does_not_hold_up_what_does_not(path: str, query: bytes, kind: str) -> None:
    """Each request counts against the bound of its kind."""
    assert kind_of(path, query) == kind


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"text": NaN, "namespace": "a"}', "NaN"),
        (b'{"text": "\\ud800", "namespace": "a"}', "surrogate"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 5000, "nested"),
        (b'{"text"', "not JSON"),
        (b"[]", "array"),
    ],
)
def test_json_that_is_none_is_refused(body: bytes, said: str) -> None:
    """400 with what is wrong; what no record could hold is not taken here either."""

    async def run() -> None:
        app, _ = app_with(bare_context())
        async with client_of(app) as client:
            answer = await client.post("/v1/dedup-check", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400
        assert said in answer.json()["detail"]

    asyncio.run(run())


def test_answers_are_counted_by_route_and_never_by_what_a_client_makes_up() -> None:
    """Unknown addresses and methods share one name each, so that nobody can fill the registry."""

    async def run() -> None:
        context = bare_context()
        app, _ = app_with(context)
        async with client_of(app) as client:
            await client.get("/nowhere/1")
            await client.get("/nowhere/2")
            await client.request("FROB", "/nowhere/3")
        told = generate_latest(context.metrics.registry).decode()
        assert 'factsieve_http_requests_total{method="GET",route="unmatched",status="404"} 2.0' in told
        assert 'factsieve_http_requests_total{method="OTHER",route="unmatched",status="404"} 1.0' in told
        assert "nowhere" not in told

    asyncio.run(run())


def test_requests_are_logged_without_what_they_say() -> None:
    """Method, route, status, duration, who and the id; no token, no text, no query."""
    from factsieve.telemetry import log as telemetry_log

    root = logging.getLogger()
    before = list(root.handlers), root.level
    stream = io.StringIO()
    telemetry_log.configure(format="json", level="info", stream=stream)

    async def run() -> None:
        app, _ = app_with(bare_context())
        async with client_of(app) as client:
            headers = {"Authorization": "Bearer very-secret", "X-Request-ID": "logged-1"}
            await client.post("/v1/dedup-check?explain=maybe", json={"text": "Ella's secret"}, headers=headers)

    try:
        asyncio.run(run())
    finally:
        root.handlers, root.level = before
    (entry,) = [json.loads(line) for line in stream.getvalue().splitlines() if "request_answered" in line]
    assert (entry["method"], entry["route"], entry["status"]) == ("POST", "/v1/dedup-check", 422)
    assert (entry["request_id"], entry["caller"]) == ("logged-1", "anonymous")
    assert "secret" not in stream.getvalue()


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, 404),
        ("GET", {"Host": "localhost:8080"}, 404),
        ("GET", {"Host": "[::1]:8080"}, 404),
        ("GET", {"Host": "evil.test:8080"}, 403),
        ("GET", {"Host": "127.0.0.1.evil.test"}, 403),
        ("GET", {"Host": ""}, 403),
        ("GET", {"Host": "[::1"}, 403),
        ("POST", {}, 404),
        ("POST", {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}, 404),
        ("POST", {"Origin": "https://evil.test"}, 403),
        ("POST", {"Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403),
        ("POST", {"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_without_tokens_no_other_site_gets_through(method: str, headers: dict[str, str], status: int) -> None:
    """A page elsewhere that names this machine as its own, or sends what it needs no answer to, is refused."""

    async def run() -> None:
        app, _ = app_with(bare_context())
        async with client_of(app) as client:
            assert (await client.request(method, "/nowhere", headers=headers)).status_code == status

    asyncio.run(run())


def test_with_tokens_any_name_will_do() -> None:
    """Behind a proxy or under a name of its own: the token says who asks."""

    async def run() -> None:
        app, _ = app_with(bare_context(tokens={"a": {"sha256": "0" * 64, "namespaces": ("*",)}}))
        async with client_of(app) as client:
            assert (await client.get("/nowhere", headers={"Host": "facts.example"})).status_code == 404

    asyncio.run(run())


def test_one_token_does_not_keep_the_others_out() -> None:
    """It takes its share of a bound and no more; those without a token share one share, too."""
    named = {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), "namespaces": ("*",)} for name in ("a", "b")}

    async def run() -> None:
        context = bare_context(tokens=named, max_requests=4)
        context.gates.requests = Gate(4, 2)
        app, go = app_with(context)
        async with client_of(app) as client:

            def ask(who: str | None) -> "asyncio.Task[httpx.Response]":
                headers = {} if who is None else {"Authorization": f"Bearer {who}"}
                return asyncio.create_task(client.get("/waits", headers=headers))

            for who in ("a", "b"):
                waiting = [ask(who) for _ in range(2)]
                inside = context.gates.requests.inside
                while context.gates.requests.inside < inside + 2:  # noqa: ASYNC110 - the gate has no event to wait for
                    await asyncio.sleep(0)
                assert (await ask(who)).status_code == 503
            go.set()
            assert [(await one).status_code for one in waiting] == [200, 200]

    asyncio.run(run())


def test_a_token_s_share_is_a_setting() -> None:
    """Half of each bound by default, at least one; where there are no tokens everybody is one, and takes all."""
    one = {"a": {"sha256": "0" * 64, "namespaces": ("*",)}}
    cases = [
        (ApiSettings(tokens=one), 64, 32),
        (ApiSettings(tokens=one, token_share=0.1), 4, 1),
        (ApiSettings(open=True), 3, 3),
    ]
    for api, most, each in cases:
        gate = serve._gate(api, most)
        with contextlib.ExitStack() as inside:
            for _ in range(each):
                inside.enter_context(gate.entered("a"))
            with pytest.raises(TooBusy):
                inside.enter_context(gate.entered("a"))


def test_however_many_ask_whether_it_is_ready_the_stores_are_asked_once() -> None:
    """Everybody may ask without a token: a flood costs one look a second, and who goes away takes nobody along."""

    async def run() -> None:
        now_s, looks, go = [0.0], [0], asyncio.Event()

        async def slow() -> None:
            looks[0] += 1
            await go.wait()

        readiness = Readiness(now_s=lambda: now_s[0])
        readiness.checks["qdrant"] = slow
        asking = [asyncio.create_task(readiness.looked_at()) for _ in range(50)]
        while not looks[0]:  # noqa: ASYNC110 - the check has no other sign
            await asyncio.sleep(0)
        asking.pop().cancel()
        go.set()
        assert all(found["qdrant"]["ok"] for found in await asyncio.gather(*asking))
        assert looks[0] == 1
        now_s[0] = 0.9
        await readiness.looked_at()
        assert looks[0] == 1
        now_s[0] = 1.1
        await readiness.looked_at()
        assert looks[0] == 2

    asyncio.run(run())


@pytest.mark.parametrize("place", [["2026-03-04T00:00:00", "x"], ["2026-03-04T00:00:00Z"], "x", [1, 2]])
def test_a_cursor_that_is_none_of_ours_is_refused(place: object) -> None:
    """400, also for a time without a zone, which could be compared with nothing."""
    with pytest.raises(Problem) as refused:
        from_cursor(to_cursor(place), asking.Place)
    assert (refused.value.status_code, refused.value.code) == (400, "bad_request")
    place_of_ours = asking.Place(datetime(2026, 3, 4, tzinfo=UTC), "x")
    assert from_cursor(to_cursor(place_of_ours), asking.Place) == place_of_ours
