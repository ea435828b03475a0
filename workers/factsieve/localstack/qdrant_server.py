"""Qdrant's own engine behind the part of Qdrant's REST API that factsieve uses: `python -m factsieve.localstack.qdrant_server`.

For development and tests on one machine: loopback only, no authentication, one process, one thread. Every request runs to its end
before the next one starts. A write is in the write-ahead log before it is answered and survives a kill of the process; it is not
forced to the disk, so it need not survive a loss of power.
"""

import argparse
import asyncio
import contextlib
import gc
import ipaddress
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote

import msgspec
import orjson
import structlog
from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage

from factsieve.localstack import qdrant_wire as wire
from factsieve.localstack.qdrant_collection import Collection
from factsieve.localstack.qdrant_decode import ApiError, Decoder, decode_params, not_here
from factsieve.localstack.qdrant_engine import Engine, FolderInUse
from factsieve.localstack.qdrant_values import Json

VERSION: Final = "1.20.0"
"""The version of Qdrant whose API this follows (of the client package that it was checked against)."""

TITLE: Final = "factsieve local engine (qdrant-edge) with a part of Qdrant's REST API"
COMPACT: Final = ["factsieve", "compact"]
"""The path of the one request that Qdrant does not have: it rewrites all folders without what was overwritten, while others wait."""

FLUSH_LOOK_S: Final = 0.5
FLUSH_QUIET_S: Final = 1.0
"""Nobody has asked for so long: a flush holds nobody up. It takes 0.1 to 1 s, all of it on the event loop (the engine does not let go of
the interpreter), so flushing every few seconds of a busy stream is what one request in twenty would wait for."""
FLUSH_LATEST_S: Final = 60.0
"""After so long it is done come what may, so that the log to replay stays short."""
COLLECT_AFTER: Final = (20_000, 20, 50)
"""As workers do: requests leave nothing in a cycle, and looking for it took a fifteenth of the time."""
LARGEST_BODY_BYTES: Final = 32 * 1024 * 1024
SHUTDOWN_TIMEOUT_S: Final = 5.0
EXIT_USAGE: Final = 2
EXIT_ENGINE_PANIC: Final = 70

Handler = Callable[[str, list[str], bytes, dict[str, str]], Json]
"""Answers a request on a collection: its name, the path after it, the body and the query parameters."""

_log = structlog.get_logger(__name__)


class Api:
    """The requests, by method and path. A path is the one after `/collections/{name}`, with `*` for a name in it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._on_collection: dict[tuple[str, str], Handler] = {
            ("GET", ""): self._info,
            ("PUT", ""): self._create,
            ("PATCH", ""): self._reconfigure,
            ("DELETE", ""): self._delete,
            ("GET", "exists"): self._exists,
            ("PUT", "index"): self._create_index,
            ("DELETE", "index/*"): self._delete_index,
            ("PUT", "points"): self._write(Decoder(wire.Upsert), Collection.upsert),
            ("POST", "points"): self._read(Decoder(wire.Retrieve), Collection.retrieve),
            ("POST", "points/query"): self._read(Decoder(wire.Query), lambda found, query: found.query([query])[0]),
            ("POST", "points/query/batch"): self._read(
                Decoder(wire.QueryBatch), lambda found, batch: found.query(batch.searches)
            ),
            ("POST", "points/scroll"): self._read(Decoder(wire.Scroll), Collection.scroll),
            ("POST", "points/count"): self._read(Decoder(wire.Count), Collection.count),
            ("POST", "points/delete"): self._write(Decoder(wire.PointsSelector), Collection.delete),
            ("POST", "points/payload"): self._write(Decoder(wire.SetPayload), Collection.set_payload),
            ("PUT", "points/payload"): self._write(
                Decoder(wire.SetPayload), lambda found, given: found.set_payload(given, overwrite=True)
            ),
            ("POST", "points/payload/delete"): self._write(Decoder(wire.DeletePayload), Collection.delete_payload),
            ("POST", "points/batch"): self._batch,
        }
        self._decode_create = Decoder(wire.CreateCollection)
        self._decode_update = Decoder(wire.UpdateCollection)
        self._decode_index = Decoder(wire.CreateIndex)
        self._decode_batch = Decoder(wire.Batch)

    def answer(self, method: str, path: list[str], body: bytes, params: dict[str, str]) -> Json:
        """Return the result of a request on `/collections`, or of the one of our own. Raises ApiError."""
        if path == COMPACT:
            return self._compact(method, params)
        if len(path) == 1 and method == "GET":
            decode_params(wire.NoParams, params)
            return {"collections": [{"name": name} for name in self._engine.names()]}
        name, rest = path[1] if len(path) > 1 else "", path[2:]
        route = "index/*" if len(rest) == 2 and rest[0] == "index" else "/".join(rest)
        handler = self._on_collection.get((method, route))
        if handler is None or not name:
            raise not_here(f"{method} /{'/'.join(path)}")
        return handler(name, rest, body, params)

    def _compact(self, method: str, params: dict[str, str]) -> Json:
        if method != "POST":
            raise not_here(f"{method} /{'/'.join(COMPACT)}")
        decode_params(wire.NoParams, params)
        done = {name: self._engine.compact(name) for name in self._engine.names()}
        return {name: {"bytes_before": before, "bytes_after": after} for name, (before, after) in done.items()}

    def _read(self, decode: Decoder[Any], perform: Callable[[Collection, Any], Json]) -> Handler:
        def handle(name: str, _rest: list[str], body: bytes, params: dict[str, str]) -> Json:
            decode_params(wire.ReadParams, params)
            return perform(self._engine.collection(name), decode(body))

        return handle

    def _write(self, decode: Decoder[Any], check: Callable[[Collection, Any], Callable[[], int]]) -> Handler:
        def handle(name: str, _rest: list[str], body: bytes, params: dict[str, str]) -> Json:
            wait = decode_params(wire.WriteParams, params).wait
            return _written(check(self._engine.collection(name), decode(body))(), wait=wait)

        return handle

    def _batch(self, name: str, _rest: list[str], body: bytes, params: dict[str, str]) -> Json:
        wait = decode_params(wire.WriteParams, params).wait
        found = self._engine.collection(name)
        checked = [_checked(found, operation) for operation in self._decode_batch(body).operations]
        return [_written(perform(), wait=wait) for perform in checked]

    def _info(self, name: str, _rest: list[str], _body: bytes, params: dict[str, str]) -> Json:
        decode_params(wire.NoParams, params)
        return self._engine.collection(name).info()

    def _create(self, name: str, _rest: list[str], body: bytes, params: dict[str, str]) -> Json:
        decode_params(wire.AdminParams, params)
        self._engine.create(name, self._decode_create(body))
        return True

    def _reconfigure(self, name: str, _rest: list[str], body: bytes, params: dict[str, str]) -> Json:
        decode_params(wire.AdminParams, params)
        self._engine.collection(name).reconfigure(self._decode_update(body))
        return True

    def _delete(self, name: str, _rest: list[str], _body: bytes, params: dict[str, str]) -> Json:
        decode_params(wire.AdminParams, params)
        return self._engine.delete(name)

    def _exists(self, name: str, _rest: list[str], _body: bytes, params: dict[str, str]) -> Json:
        decode_params(wire.NoParams, params)
        return {"exists": name in self._engine}

    def _create_index(self, name: str, _rest: list[str], body: bytes, params: dict[str, str]) -> Json:
        wait = decode_params(wire.WriteParams, params).wait
        return _written(self._engine.collection(name).create_index(self._decode_index(body)), wait=wait)

    def _delete_index(self, name: str, rest: list[str], _body: bytes, params: dict[str, str]) -> Json:
        wait = decode_params(wire.WriteParams, params).wait
        return _written(self._engine.collection(name).delete_index(rest[1]), wait=wait)


def _written(number: int, *, wait: bool) -> dict[str, Any]:
    return {"operation_id": number, "status": "completed" if wait else "acknowledged"}


def _checked(found: Collection, operation: wire.Operation) -> Callable[[], int]:
    given = {name: value for name, value in msgspec.structs.asdict(operation).items() if value is not msgspec.UNSET}
    if len(given) != 1:
        raise ApiError(400, "Format error in JSON body: an operation has exactly one field")
    [(name, value)] = given.items()
    if name == "overwrite_payload":
        return found.set_payload(value, overwrite=True)
    return cast(Callable[[], int], getattr(found, name)(value))


class Server:
    """The HTTP side: reads a request, has it answered, writes the answer."""

    def __init__(self, engine: Engine) -> None:
        self._api = Api(engine)
        self.stopped = asyncio.Event()
        self.panicked = False
        self.asked_at = time.monotonic()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        started = time.perf_counter()
        self.asked_at = time.monotonic()
        path = [unquote(part) for part in request.rel_url.raw_path.strip("/").split("/")]
        if path[0] != "collections" and path != COMPACT:
            return _outside_collections(request.method, path)
        try:
            body = await _body(request)
            result = self._api.answer(request.method, path, body, dict(request.rel_url.query))
        except ApiError as error:
            if error.status >= 500 and error.status != 501:
                _log.error("RequestFailed", method=request.method, path=request.path, error=str(error))
            return _json(error.status, {"status": {"error": str(error)}, "time": time.perf_counter() - started})
        except BaseException as error:
            if (
                type(error).__name__ == "PanicException"
            ):  # of the engine: what it holds in memory can not be trusted any more
                self.panicked = True
                self.stopped.set()
            elif not isinstance(error, Exception):
                raise
            _log.exception("RequestFailed", method=request.method, path=request.path)
            return _json(
                500, {"status": {"error": f"Service internal error: {error!r}"}, "time": time.perf_counter() - started}
            )
        return _json(200, {"result": result, "status": "ok", "time": time.perf_counter() - started})


async def _body(request: web.BaseRequest) -> bytes:
    if request.method == "GET":
        return b""
    if request.content_length and request.content_length > LARGEST_BODY_BYTES:
        raise ApiError(
            413, f"JSON payload ({request.content_length} bytes) is larger than allowed ({LARGEST_BODY_BYTES} bytes)"
        )
    try:
        body = await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise ApiError(413, f"JSON payload is larger than allowed ({LARGEST_BODY_BYTES} bytes)") from None
    # A page in a browser can send other content types to a loopback port without being asked.
    if body and request.content_type != "application/json":
        raise ApiError(415, "Content type error: expected application/json")
    return body


def _outside_collections(method: str, path: list[str]) -> web.Response:
    if method == "GET" and path == [""]:
        return _json(200, {"title": TITLE, "version": VERSION})
    if method == "GET" and path in (["healthz"], ["livez"]):
        return web.Response(text="healthz check passed")
    if method == "GET" and path == ["readyz"]:
        return web.Response(text="all shards are ready")
    known = path[0] in {"aliases", "cluster", "snapshots", "telemetry", "metrics", "locks", "issues", "quotas"}
    return _json(
        501 if known else 404,
        {"status": {"error": f"Not part of the local Qdrant engine: {method} /{'/'.join(path)}"}, "time": 0.0},
    )


def _json(status: int, content: dict[str, Any]) -> web.Response:
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return web.Response(status=status, body=body, content_type="application/json")


async def serve(engine: Engine, host: str, port: int) -> int:
    """Serve until SIGTERM or SIGINT, flushing every few seconds; return the exit code. Raises OSError if the port is taken."""
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    server = Server(engine)
    loop = asyncio.get_running_loop()

    def make_request(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=LARGEST_BODY_BYTES)

    runner = web.ServerRunner(web.Server(server.handle, request_factory=make_request, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, host, port, shutdown_timeout=SHUTDOWN_TIMEOUT_S).start()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, server.stopped.set)
    _log.info("ServerStarted", host=host, port=port)
    flushed_at = time.monotonic()
    while not server.stopped.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(server.stopped.wait(), FLUSH_LOOK_S)
        now = time.monotonic()
        busy = now - server.asked_at < FLUSH_QUIET_S and now - flushed_at < FLUSH_LATEST_S
        if busy or server.asked_at < flushed_at:
            continue  # the engine holds everything up while it flushes, and its log has what was acknowledged
        if not server.panicked:
            engine.flush()
            flushed_at = time.monotonic()
    await runner.cleanup()
    return EXIT_ENGINE_PANIC if server.panicked else 0


def _run(serving: Coroutine[Any, Any, int]) -> int:
    try:
        import uvloop  # noqa: PLC0415 - faster, and not needed
    except ImportError:
        return asyncio.run(serving)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serving)


def main(arguments: list[str] | None = None) -> int:
    """Run the server; the exit code is 0 after a signal, 2 for wrong usage, 70 if the engine broke."""
    parser = argparse.ArgumentParser(
        prog="python -m factsieve.localstack.qdrant_server", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", type=Path, required=True, help="folder of the collections; made if absent")
    given = parser.parse_args(arguments)
    try:
        if not ipaddress.ip_address(given.host).is_loopback:
            parser.error(
                f"--host {given.host}: it has no authentication and serves loopback addresses only, such as 127.0.0.1"
            )
    except ValueError:
        parser.error(f"--host {given.host}: not an IP address; give 127.0.0.1")
    try:
        engine = Engine(given.path)
    except FolderInUse as error:
        print(error, file=sys.stderr)  # noqa: T201 - the answer to whoever started this
        return EXIT_USAGE
    status = EXIT_ENGINE_PANIC
    try:
        status = _run(serve(engine, given.host, given.port))
    except OSError as error:
        print(f"can not listen on {given.host}:{given.port}: {error}", file=sys.stderr)  # noqa: T201
        status = EXIT_USAGE
    finally:
        if status != EXIT_ENGINE_PANIC:
            engine.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
