"""A server on loopback that speaks the OpenAI API (chat completions, embeddings) and misbehaves on command.

Every request is kept as it came. What is answered comes from a script: one step a request, the last one for ever. A step is a
`Step`, or a function from the request's body to one.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Step:
    """One response. `content` is what the model says; `body` replaces the whole HTTP body. `hang` never answers, `drop` cuts the line."""

    content: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    usage: dict[str, int] | None = field(
        default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    )
    vectors: list[list[float]] | None = None
    hang: bool = False
    drop: bool = False
    trickle: bool = False
    gate: asyncio.Event | None = None


Script = Step | Callable[[dict[str, Any]], Step]


def says(decision: str, targets: tuple[int, ...] = (), text: str | None = None, reason: str = "because") -> Step:
    """Return a well-formed reply."""
    return Step(json.dumps({"decision": decision, "targets": list(targets), "text": text, "reason": reason}))


def fails(status: int, message: str = "no", *, code: str | None = None, **headers: str) -> Step:
    """Return an error of the API."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return Step(status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class Request:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def document(self) -> dict[str, Any]:
        """Return the JSON document of a judge's question."""
        return json.loads(self.body["messages"][1]["content"])


class FakeOpenAI:
    """Serves a script: `async with FakeOpenAI(step, step) as server`, then `server.url`, `server.requests`, `server.most_at_once`."""

    def __init__(self, *script: Script) -> None:
        self.script = list(script)
        self.requests: list[Request] = []
        self.at_once = 0
        self.most_at_once = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self._came = asyncio.Event()

    async def reached(self, *, requests: int = 0, at_once: int = 0) -> None:
        """Wait until so many requests came in all, and so many are being answered."""
        while len(self.requests) < requests or self.at_once < at_once:
            self._came.clear()
            await self._came.wait()

    async def __aenter__(self) -> "FakeOpenAI":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                self._came.set()
                try:
                    step = self.script[min(len(self.requests), len(self.script)) - 1]
                    step = step if isinstance(step, Step) else step(request.body)
                    if step.gate is not None:
                        await step.gate.wait()
                    if step.hang:
                        await self._closing.wait()
                    if step.drop:
                        return
                    await self._respond(writer, request, step)
                finally:
                    self.at_once -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _respond(self, writer: asyncio.StreamWriter, request: Request, step: Step) -> None:
        body = step.body if step.body is not None else json.dumps(_payload(request, step)).encode()
        head = [f"HTTP/1.1 {step.status} X", "content-type: application/json", f"content-length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in step.headers.items()]
        writer.write("\r\n".join([*head, "", ""]).encode())
        if step.trickle:  # bytes keep coming, so that no read ever times out, but the reply never ends
            writer.write(body[:1])
            await writer.drain()
            await self._closing.wait()
        writer.write(body)
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    line = await reader.readline()
    if not line:
        return None
    headers = {}
    while (header := (await reader.readline()).decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(line.decode().split()[1], headers, json.loads(raw) if raw else {})


def _payload(request: Request, step: Step) -> dict[str, Any]:
    if request.path.endswith("/embeddings"):
        vectors = step.vectors if step.vectors is not None else []
        data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        return {
            "object": "list",
            "data": data,
            "model": request.body["model"],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
    message = {"role": "assistant", "content": step.content, "refusal": step.refusal}
    completion = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": request.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": step.finish_reason}],
    }
    return completion if step.usage is None else {**completion, "usage": step.usage}
