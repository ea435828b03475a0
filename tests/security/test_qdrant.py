"""A Qdrant that demands TLS and an API key: a terminating proxy before the local engine, which itself knows neither."""

import asyncio
import hmac
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web
from security.conftest import Certificates

from factsieve.adapters.qdrant_ledger import QdrantLedger
from factsieve.adapters.qdrant_tools import check_server, connect
from factsieve.assembly.settings import load_settings
from factsieve.assembly.wiring import qdrant_client_of
from factsieve.core.errors import BadSettings, Transient
from factsieve.localstack.qdrant import Qdrant

KEY = "hush-qdrant-4711"
OPEN_PATHS = {"/", "/healthz", "/livez", "/readyz"}
"""What a real server shows without a key."""


class Gate:
    """Terminates TLS, asks for the key as Qdrant does, and passes everything on."""

    def __init__(self, upstream: str, context: ssl.SSLContext) -> None:
        self._upstream = upstream
        self._context = context
        self._ready, self._stop = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> "Gate":
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_raised: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        async with ClientSession() as self._session:
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._context)
            await site.start()
            self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
            self._ready.set()
            await self._stop.wait()
            await runner.cleanup()

    async def _pass_on(self, request: web.Request) -> web.Response:
        given = request.headers.get("api-key", "")
        if request.path not in OPEN_PATHS and not hmac.compare_digest(given, KEY):
            return web.Response(status=401, text="Must provide an API key or an Authorization bearer token")
        headers = {"content-type": request.headers["content-type"]} if "content-type" in request.headers else {}
        body = await request.read()
        async with self._session.request(
            request.method, self._upstream + request.path_qs, data=body, headers=headers
        ) as answer:
            return web.Response(status=answer.status, body=await answer.read(), content_type="application/json")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qdrant]:
    folder = tmp_path_factory.mktemp("qdrant")
    service = Qdrant(folder=folder / "data", log_path=folder / "qdrant.log")
    service.start(timeout_s=90)
    yield service
    service.stop()


def context_of(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


@pytest.fixture(scope="module")
def gate(engine: Qdrant, certificates: Certificates) -> Iterator[Gate]:
    with Gate(engine.url, context_of(certificates.server, certificates.server_key)) as gate:
        yield gate


def use(**settings: object) -> bool:
    """Open a ledger under these settings, as a worker does, and say whether it answers."""

    async def main() -> bool:
        overrides = {f"qdrant.{name}": str(v) if isinstance(v, Path) else v for name, v in settings.items()}
        client = qdrant_client_of(load_settings({"qdrant.timeout_s": 20, **overrides}, environ={}))
        try:
            ledger = QdrantLedger(client, prefix="secured-")
            await ledger.prepare(accept_old_server=False)
            stored = await ledger.insert({"6dd3bc3e-5d1f-8a3e-9d9a-0123456789ab": (b"body", {"namespace": "n"})})
            return list(stored.values()) == [b"body"]
        finally:
            await client.close()

    return asyncio.run(main())


def refused(kind: type[Exception] = BadSettings, **settings: object) -> str:
    with pytest.raises(kind) as caught:
        use(**settings)
    said = repr(caught.value) + str(caught.value)
    assert "hush" not in said
    return str(caught.value)


@pytest.mark.stack
def test_tls_and_a_key(gate: Gate, certificates: Certificates) -> None:
    """With the right authority and key everything works as without."""
    assert use(url=f"https://127.0.0.1:{gate.port}", api_key=KEY, ssl_ca_file=certificates.ca)


@pytest.mark.stack
@pytest.mark.parametrize("key", [None, "hush-wrong"])
def test_a_wrong_key_or_none(gate: Gate, certificates: Certificates, key: str | None) -> None:
    """The setting is named, the key is not shown."""
    said = refused(url=f"https://127.0.0.1:{gate.port}", api_key=key, ssl_ca_file=certificates.ca)
    assert "qdrant.api_key" in said


@pytest.mark.stack
def test_an_authority_that_signed_nothing_here(gate: Gate, certificates: Certificates) -> None:
    """Neither with the wrong file nor with the system's authorities."""
    url = f"https://127.0.0.1:{gate.port}"
    for files in ({"ssl_ca_file": certificates.wrong_ca}, {}):
        said = refused(url=url, api_key=KEY, **files)
        assert "qdrant.ssl_ca_file" in said
        assert str(gate.port) in said


@pytest.mark.stack
def test_a_certificate_of_another_name(engine: Qdrant, certificates: Certificates) -> None:
    """Trusted, and yet for another server."""
    with Gate(engine.url, context_of(certificates.elsewhere, certificates.elsewhere_key)) as other:
        said = refused(url=f"https://127.0.0.1:{other.port}", api_key=KEY, ssl_ca_file=certificates.ca)
    assert "another name" in said


@pytest.mark.stack
def test_the_wrong_scheme_either_way(gate: Gate, engine: Qdrant, certificates: Certificates) -> None:
    """A plain client of a listener with TLS, and the other way round."""
    assert "qdrant.url should begin with https://" in refused(url=f"http://127.0.0.1:{gate.port}", api_key=KEY)
    secured = {"api_key": KEY, "ssl_ca_file": certificates.ca}
    assert "qdrant.url should begin with http://" in refused(url=engine.url.replace("http:", "https:"), **secured)


def test_files_that_can_not_be_used(tmp_path: Path, certificates: Certificates) -> None:
    """Before anything is connected."""
    assert "qdrant.ssl_ca_file" in refused(url="https://127.0.0.1:1", ssl_ca_file=tmp_path / "absent.pem")
    assert "https://" in refused(url="http://127.0.0.1:1", ssl_ca_file=certificates.ca)


def test_nobody_there_is_an_outage_and_no_wrong_setting() -> None:
    """It may come back."""
    refused(Transient, url="https://127.0.0.1:1", api_key=KEY)
    refused(Transient, url="http://127.0.0.1:1", api_key=KEY)


def test_the_client_itself_warns_of_nothing() -> None:
    """A key over http is said by us, once and in words (`config check`); the library's own warning would go to standard error."""

    async def main() -> Any:
        client = connect("http://elsewhere.example:6333", api_key=KEY, timeout_s=1)
        await client.close()
        return check_server

    assert asyncio.run(main()) is check_server
