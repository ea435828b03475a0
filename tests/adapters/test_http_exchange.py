"""Requests over aiohttp as httpx's users know them: what goes out, what comes back, and the errors."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from aiohttp import web

from factsieve.adapters.http_exchange import Exchange, ExchangeTransport, Timeouts, goes_through_proxy
from factsieve.localstack.process import free_port

SHORT_S = 0.2
LONG_S = 60.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def told(request: web.Request) -> web.StreamResponse:
    """Answer with what was asked."""
    body = (await request.read()).decode()
    seen = {"method": request.method, "path": request.raw_path, "headers": dict(request.headers), "body": body}
    return web.json_response(seen, headers={"x-one": "1"})


def with_server(handler: Handler, use: Callable[[str, Exchange], Awaitable[Any]], connections: int = 4) -> Any:
    """Return what `use` returns of an exchange and the address of a server."""

    async def main() -> Any:
        runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        exchange = Exchange(context=None, max_connections=connections, keepalive_s=30.0)
        try:
            return await use(f"http://127.0.0.1:{port}", exchange)
        finally:
            await exchange.close()
            await runner.cleanup()

    return asyncio.run(main())


def test_a_request_goes_out_as_it_was_given() -> None:
    """Method, escaped path, parameters, headers and body arrive as given, and nothing is said that was not."""

    async def use(url: str, exchange: Exchange) -> Any:
        return await exchange.ask("POST", f"{url}/a%2Fb?c=%20d", {"api-key": "k"}, b"[1]", Timeouts(total=LONG_S))

    answer = with_server(told, use)
    seen = json.loads(answer.body)
    assert (answer.status, seen["method"], seen["path"], seen["body"]) == (200, "POST", "/a%2Fb?c=%20d", "[1]")
    assert {name.lower() for name in seen["headers"]} == {"host", "api-key", "content-length"}
    assert (b"x-one", b"1") in answer.headers


def test_a_large_body_arrives_whole() -> None:
    """Several megabytes, with their length, and without a warning."""
    body = b"x" * 3_000_000

    async def count(request: web.Request) -> web.StreamResponse:
        return web.json_response([request.content_length, len(await request.content.read())])

    async def use(url: str, exchange: Exchange) -> Any:
        return json.loads((await exchange.ask("POST", url, {}, body, Timeouts(total=LONG_S))).body)

    assert with_server(count, use) == [len(body), len(body)]


def test_httpx_asks_over_it() -> None:
    """A client of httpx gets the same answer over it, unpacked where it came packed."""

    async def packed(request: web.Request) -> web.StreamResponse:
        assert "gzip" in request.headers["accept-encoding"]
        return web.Response(status=203, body=gzip.compress(b"some text"), headers={"content-encoding": "gzip"})

    async def use(url: str, exchange: Exchange) -> Any:
        async with httpx.AsyncClient(transport=ExchangeTransport(exchange)) as client:
            answer = await client.put(f"{url}/x", content=b"1", params={"q": "ä"})
            return answer.status_code, answer.text

    assert with_server(packed, use) == (203, "some text")


def test_connections_are_kept_and_bounded() -> None:
    """Requests one after another share a connection; no more are open at once than may be."""
    ports: set[Any] = set()
    inside = most = 0

    async def count(request: web.Request) -> web.StreamResponse:
        nonlocal inside, most
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername")[1])
        inside += 1
        most = max(most, inside)
        for _ in range(20):
            await asyncio.sleep(0)
        inside -= 1
        return web.Response()

    async def use(url: str, exchange: Exchange) -> None:
        for _ in range(3):
            await exchange.ask("GET", url, {}, None, Timeouts(total=LONG_S))
        assert len(ports) == 1
        await asyncio.gather(*(exchange.ask("GET", url, {}, None, Timeouts(total=LONG_S)) for _ in range(12)))

    with_server(count, use, connections=2)
    assert most == 2
    assert len(ports) == 2


def test_a_redirect_is_an_answer() -> None:
    """Nobody is sent elsewhere."""

    async def away(_: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"location": "/elsewhere"})

    async def use(url: str, exchange: Exchange) -> Any:
        return (await exchange.ask("GET", url, {}, None, Timeouts())).status

    assert with_server(away, use) == 307


@pytest.mark.parametrize("timeouts", [Timeouts(total=SHORT_S), Timeouts(read=SHORT_S)])
def test_a_server_that_says_nothing(timeouts: Timeouts) -> None:
    """The time is bounded, and the error is httpx's."""

    async def silent(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(LONG_S)
        return web.Response()

    async def use(url: str, exchange: Exchange) -> None:
        with pytest.raises(httpx.TimeoutException):
            await exchange.ask("GET", url, {}, None, timeouts)

    with_server(silent, use)


def test_a_server_that_hangs_up() -> None:
    """A connection that ends before the answer is an error of the transport."""

    async def gone(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def use(url: str, exchange: Exchange) -> None:
        with pytest.raises(httpx.TransportError):
            await exchange.ask("POST", url, {}, b"1", Timeouts(total=LONG_S))

    with_server(gone, use)


def test_nobody_is_there() -> None:
    """A refused connection is httpx's ConnectError, with the system's error as its cause."""

    async def main() -> None:
        exchange = Exchange(context=None, max_connections=1, keepalive_s=1.0)
        try:
            with pytest.raises(httpx.ConnectError) as caught:
                await exchange.ask("GET", f"http://127.0.0.1:{free_port()}", {}, None, Timeouts(total=LONG_S))
            assert isinstance(caught.value.__cause__, ConnectionRefusedError)
        finally:
            await exchange.close()

    asyncio.run(main())


def test_proxies_of_the_environment_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address for which the environment names a proxy is told from one for which it names none."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert not goes_through_proxy("http://qdrant:6333")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    assert not goes_through_proxy("http://qdrant:6333")
    assert goes_through_proxy("https://qdrant:6333")
    monkeypatch.setenv("all_proxy", "http://proxy:1")
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    assert goes_through_proxy("http://qdrant:6333")
    assert not goes_through_proxy("http://127.0.0.1:6333")
