"""A small TCP proxy that cuts, delays, half-opens and swallows replies, one mode for each (service, worker).

A cut aborts what is open and refuses what is new. *Half-open*: both ends believe in a connection over which nothing moves any more.
*Deaf*: requests arrive and are performed, replies are lost. *Slow*: every piece waits. A connection that lived through one of the
middle two is aborted at its end, as by a gateway that forgot it: the two ends may not be in step any more.
"""

import asyncio
import contextlib
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from factsieve.localstack.process import LOOPBACK, free_port

Mode = Literal["open", "cut", "half-open", "deaf", "slow"]

SLOW_S = 0.15
_PIECE = 256 * 1024
_SOMEBODY = "?"


class _Connection:
    def __init__(self, service: str, worker: str, client: asyncio.StreamWriter) -> None:
        self.service = service
        self.worker = worker
        self.client = client
        self.server: asyncio.StreamWriter | None = None
        self.is_torn = False

    def abort(self) -> None:
        for end in (self.client, self.server):
            if end is not None:
                end.transport.abort()


class Wires:
    """All the wires of a run, in a thread of its own: `with Wires() as wires`."""

    def __init__(self) -> None:
        self._modes: dict[tuple[str, str], Mode] = {}
        self._connections: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._changed = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wires", daemon=True)

    def __enter__(self) -> "Wires":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ask(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(15)
        assert not self._thread.is_alive(), "the wires do not end"
        self._loop.close()

    def lay(self, service: str, worker: str | None, target: Callable[[], int], port: int = 0) -> int:
        """Listen for a service and return the port. Whose wire it is, a Kafka client says itself where `worker` is None."""
        port = port or free_port()
        self._ask(self._listen(service, worker, target, port))
        return port

    def set(self, service: str, worker: str, mode: Mode) -> None:
        """Put a wire into a mode."""
        self._ask(self._set(service, worker, mode))

    def _ask(self, question: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(question, self._loop).result(30)

    async def _listen(self, service: str, worker: str | None, target: Callable[[], int], port: int) -> None:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._carry(service, worker, target, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._servers.append(await asyncio.start_server(accept, LOOPBACK, port))

    async def _set(self, service: str, worker: str, mode: Mode) -> None:
        self._modes[service, worker] = mode
        for one in list(self._connections):
            if (one.service, one.worker) == (service, worker) and (mode == "cut" or (mode == "open" and one.is_torn)):
                one.abort()
        self._changed.set()
        self._changed = asyncio.Event()

    def _mode(self, one: _Connection) -> Mode:
        return self._modes.get((one.service, one.worker), "open")

    async def _carry(
        self,
        service: str,
        worker: str | None,
        target: Callable[[], int],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        one = _Connection(service, worker or _SOMEBODY, writer)
        self._connections.add(one)
        first = b""
        try:
            if worker is None:
                first, one.worker = await _client_id(reader)
            if self._mode(one) == "cut":
                return
            await self._pass(one)
            back, one.server = await asyncio.open_connection(LOOPBACK, target())
            one.server.write(first)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pipe(one, reader, one.server, replies=False))
                both.create_task(self._pipe(one, back, writer, replies=True))
        except (OSError, EOFError, ExceptionGroup):
            pass  # the other end is told by the abort below
        finally:
            self._connections.discard(one)
            one.abort()

    async def _pass(self, one: _Connection) -> None:
        """Wait until something may move."""
        while self._mode(one) == "half-open":
            one.is_torn = True
            await self._changed.wait()

    async def _pipe(
        self, one: _Connection, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, replies: bool
    ) -> None:
        while piece := await source.read(_PIECE):
            await self._pass(one)
            mode = self._mode(one)
            if mode == "slow":
                await asyncio.sleep(SLOW_S)
            elif mode == "deaf" and replies:
                one.is_torn = True
                continue
            target.write(piece)
            await target.drain()
        raise EOFError

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for one in list(self._connections):
            one.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self._servers:
            with contextlib.suppress(OSError):
                await server.wait_closed()


async def _client_id(reader: asyncio.StreamReader) -> tuple[bytes, str]:
    """Return the first bytes of a Kafka connection and the client id in them (request header: size, key, version, correlation id, id).

    Workers name themselves `<worker>` and `<worker>-outbox`.
    """
    head = await reader.readexactly(14)
    [length] = struct.unpack_from(">h", head, 12)
    name = await reader.readexactly(max(0, length))
    return head + name, name.decode("utf-8", "replace").removesuffix("-outbox") or _SOMEBODY
