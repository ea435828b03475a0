"""Stands between a worker and Qdrant, and does something to the worker at an exact place of its work.

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

from e2e.harness import Room, Worker
from factsieve.localstack.process import LOOPBACK, free_port

Kind = Literal["record", "pointer", "facts", "standing", "other"]
"""Writes of ledger records, of pointers and of facts; `standing`: facts that were just written are read to be told as they stand."""

When = Literal["before", "after"]
HOLD_LIMIT_S = 120.0


@dataclass
class Trap:
    """The `nth` request of a kind from now on, whichever worker sends it: `spring` is called with that worker.

    That is before the request is passed on, or after it was performed. The worker gets no answer until `release` is called. With
    `before` and `dropped` the request is not passed on at all.
    """

    kind: Kind
    when: When
    spring: Callable[[Worker], None]
    nth: int = 1
    caught: Worker | None = None
    dropped: bool = False
    sprung: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    seen: int = 0

    def release(self) -> None:
        self.released.set()


class Tollgate:
    """A proxy for one worker, in a thread of its own. Several may share their traps."""

    def __init__(self, target: str, traps: list[Trap]) -> None:
        self.worker: Worker | None = None
        self._target = target
        self._traps = traps
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

    def close(self) -> None:
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
                with trap.lock:
                    trap.seen += 1
                    if trap.seen == trap.nth:
                        trap.caught = self.worker
                        return trap
        return None

    async def _hold(self, trap: Trap) -> None:
        assert trap.caught is not None
        trap.spring(trap.caught)
        trap.sprung.set()
        await asyncio.to_thread(trap.released.wait, HOLD_LIMIT_S)


class Gates:
    """The tollgates of a room's workers, with traps in common."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._traps: list[Trap] = []
        self._gates: list[Tollgate] = []

    def worker(self) -> Worker:
        """Start a worker behind a gate of its own."""
        gate = Tollgate(self._room.site.qdrant_url, self._traps)
        self._gates.append(gate)
        gate.worker = self._room.worker(wait=False, qdrant__url=gate.url)
        return gate.worker

    def set(self, kind: Kind, when: When, spring: Callable[[Worker], None], *, nth: int, dropped: bool = False) -> Trap:
        trap = Trap(kind, when, spring, nth=nth, dropped=dropped)
        self._traps.append(trap)
        return trap

    def close(self) -> None:
        for trap in self._traps:
            trap.release()
        with contextlib.ExitStack() as closing:
            for gate in self._gates:
                closing.callback(gate.close)


@contextlib.contextmanager
def gates_of(room: Room) -> Iterator[Gates]:
    gates = Gates(room)
    try:
        yield gates
    finally:
        gates.close()
