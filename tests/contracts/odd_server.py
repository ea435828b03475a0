"""A TCP server that answers as a test tells it, well or badly."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class OddServer:
    """What clients sent, over how many connections, and where it listens."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[bytes] = []
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def http(status: int, body: bytes, *headers: str) -> bytes:
    """Return an HTTP answer."""
    lines = [f"HTTP/1.1 {status} Said", f"content-length: {len(body)}", "content-type: application/json", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@asynccontextmanager
async def odd_server(answer: Callable[[bytes], bytes | None], *, is_http: bool = True) -> AsyncIterator[OddServer]:
    """Listen on loopback; `answer` gives the bytes for a request, b"" closes the connection, None never answers."""
    tasks: set[asyncio.Task[None]] = set()

    async def read(reader: asyncio.StreamReader) -> bytes:
        if not is_http:
            return await reader.read(65536)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        return head + (await reader.readexactly(length) if length else b"")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while request := await read(reader):
                server.requests.append(request)
                said = answer(request)
                if said is None:
                    await asyncio.Event().wait()
                if not said:
                    break
                writer.write(said)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    server = OddServer(listener.sockets[0].getsockname()[1])
    try:
        yield server
    finally:
        listener.close()
        waiting = list(tasks)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await listener.wait_closed()
