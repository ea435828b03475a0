"""Requests over aiohttp for clients that speak through httpx: the same requests, answers and errors, at a third of the processor time.

httpx's own transport parses HTTP in Python, and looks through its whole pool for every request. On an event loop that asks hundreds of
times a second that is half of all it does.
"""

import io
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
import msgspec
from yarl import URL

_NOT_ADDED: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""What aiohttp would say of itself: whoever asks has said what there is to say."""

_LARGE_BYTES: Final = 64 * 1024
"""A larger body is handed over as a file, which is sent in parts: the event loop goes on in between."""

RawHeaders = tuple[tuple[bytes, bytes], ...]


class Answer(msgspec.Struct, frozen=True):
    """An answer, read whole; `body` as it came over the wire."""

    status: int
    reason: str
    headers: RawHeaders
    body: bytes


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds that parts of a request may take, and all of it; None: for ever. `pool`: until a connection is free."""

    total: float | None = None
    pool: float | None = None
    connect: float | None = None
    read: float | None = None


class Exchange:
    """Asks over at most `max_connections` connections to one server at once, idle ones kept for `keepalive_s` seconds.

    `context` is for https (None: the system's authorities). For one event loop, that of the first request. Close it with `close`.
    """

    def __init__(self, *, context: ssl.SSLContext | None, max_connections: int, keepalive_s: float) -> None:
        self._context = context
        self._max_connections = max_connections
        self._keepalive_s = keepalive_s
        self._session: aiohttp.ClientSession | None = None

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeouts: Timeouts
    ) -> Answer:
        """Return the answer to a request. `url` is sent as it is. Redirects are not followed. Raises httpx.TransportError."""
        session = self._session or self._open()
        data = body if body is None or len(body) <= _LARGE_BYTES else io.BytesIO(body)
        bounds = aiohttp.ClientTimeout(
            total=timeouts.total, connect=timeouts.pool, sock_connect=timeouts.connect, sock_read=timeouts.read
        )
        with _border():
            async with session.request(
                method, URL(url, encoded=True), data=data, headers=headers, allow_redirects=False, timeout=bounds
            ) as answer:
                return Answer(answer.status, answer.reason or "", answer.raw_headers, await answer.read())

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        tls: dict[str, Any] = {} if self._context is None else {"ssl": self._context}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._max_connections, keepalive_timeout=self._keepalive_s, **tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NOT_ADDED,
            auto_decompress=False,
        )
        return self._session


class ExchangeTransport(httpx.AsyncBaseTransport):
    """An exchange as httpx's transport."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer. Raises httpx.TransportError."""
        said = request.extensions.get("timeout") or {}
        timeouts = Timeouts(pool=said.get("pool"), connect=said.get("connect"), read=said.get("read"))
        body = await request.aread()
        answer = await self._exchange.ask(request.method, str(request.url), request.headers, body or None, timeouts)
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body, request=request)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._exchange.close()


@contextmanager
def _border() -> Iterator[None]:
    """Turn aiohttp's errors into httpx's, which those who ask know."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx.ConnectTimeout(_said(error)) from error
    except TimeoutError as error:
        raise httpx.ReadTimeout(_said(error)) from error
    except aiohttp.ClientConnectorCertificateError as error:  # a TLS error by its class, without anything of one
        raise httpx.ConnectError(_said(error)) from error.certificate_error
    except aiohttp.ClientConnectorError as error:
        raise httpx.ConnectError(_said(error)) from error.os_error
    except aiohttp.ServerDisconnectedError as error:
        raise httpx.RemoteProtocolError(_said(error)) from error
    except aiohttp.InvalidURL as error:
        raise httpx.UnsupportedProtocol(_said(error)) from error
    except (aiohttp.ClientError, OSError) as error:
        raise httpx.ReadError(_said(error)) from error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def goes_through_proxy(url: str) -> bool:
    """Return whether the environment names a proxy for this address, which httpx's own transport knows how to use."""
    address = urlsplit(url)
    proxies = getproxies()
    return (address.scheme in proxies or "all" in proxies) and not proxy_bypass(address.hostname or "")
