"""Stands between one worker and Qdrant, and does something to the worker at an exact place of its work.

A worker that is killed by the number of decisions seen dies somewhere. Here it dies, or is stopped, between two requests: before its
ledger record is written or after, before the facts are changed or after.
"""

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import ClientSession, ClientTimeout, web

from factsieve.localstack.process import LOOPBACK, free_port

Kind = Literal["record", "pointer", "facts", "standing", "other"]
"""Writes of ledger records, of pointers and of facts; `standing`: facts that were just written are read to be told as they stand."""

When = Literal["before", "after"]


@dataclass
class Trap:
    """The `nth` request of a kind from now on. `spring` is called before it is passed on, or after it was performed.

    The worker gets no answer until `release` is called. With `before` and `dropped` the request is not passed on at all.
    """

    kind: Kind
    when: When
    spring: Callable[[], None]
    nth: int = 1
    dropped: bool = False
    sprung: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    seen: int = 0

    def release(self) -> None:
        self.released.set()


class Tollgate:
    """A proxy in a thread of its own."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._traps: list[Trap] = []
        self._written: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._closed = asyncio.Event()
        self.port = free_port()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def set(self, trap: Trap) -> Trap:
        self._traps.append(trap)
        return trap

    def close(self) -> None:
        for trap in self._traps:
            trap.release()
        self._loop.call_soon_threadsafe(self._closed.set)
        self._thread.join(15)
        assert not self._thread.is_alive(), "the tollgate does not close"
        self._loop.close()

    async def _serve(self) -> None:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._pass)
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, LOOPBACK, self.port).start()
        async with ClientSession(timeout=ClientTimeout(total=60)) as session:
            self._session = session
            self._ready.set()
            await self._closed.wait()
            await runner.cleanup()

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        kind = self._kind(request.path, body)
        trap = self._caught(kind)
        if trap is not None and trap.when == "before":
            await self._hold(trap)
            if trap.dropped:
                if request.transport is not None:
                    request.transport.abort()
                return web.Response()
        async with self._session.request(
            request.method, self._target + request.path_qs, data=body, headers={"content-type": "application/json"}
        ) as answer:
            content = await answer.read()
            if trap is not None and trap.when == "after":
                await self._hold(trap)
            return web.Response(status=answer.status, body=content, content_type="application/json")

    def _kind(self, path: str, body: bytes) -> Kind:
        if path.endswith("/points/batch"):
            if "-facts-" not in path:
                return "record" if b'"kind":"record"' in body else "pointer"
            for operation in json.loads(body)["operations"]:
                self._written |= {point["id"] for point in operation["upsert"]["points"]}
            return "facts"
        if path.endswith("/points") and "-facts-" in path:
            asked = json.loads(body)
            if asked["with_payload"] is True and set(asked["ids"]) <= self._written:
                return "standing"
        return "other"

    def _caught(self, kind: Kind) -> Trap | None:
        for trap in self._traps:
            if trap.kind == kind and not trap.sprung.is_set():
                trap.seen += 1
                if trap.seen == trap.nth:
                    return trap
        return None

    async def _hold(self, trap: Trap) -> None:
        trap.spring()
        trap.sprung.set()
        while not trap.released.is_set():
            await asyncio.sleep(0.005)


@contextlib.contextmanager
def tollgate(target: str) -> Iterator[Tollgate]:
    gate = Tollgate(target)
    try:
        yield gate
    finally:
        gate.close()
