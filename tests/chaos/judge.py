"""A language model that is none: speaks the OpenAI API, and answers by what the texts say, whoever asks and how often.

Only so can a run full of faults be compared with one without. How long it takes to answer is for a fault to set.
"""

import asyncio
import json
import re
import threading
from typing import Any

from chaos import stream
from tests.adapters.fake_openai import FakeOpenAI, Step, says

_PATTERNS = [
    (kind, re.compile("^" + re.escape(text[:-1]).replace(r"\{who\}", r"(?P<who>\w+)").replace(r"\{value\}", r"(?P<value>\w+)")
                      + r"(?:, because of (?P<reason>\w+))?\.$"))
    for kind, (texts, _, _) in stream.ATTRIBUTES.items()
    for text in texts
]  # fmt: skip


def parse(text: str) -> tuple[str, str, str, str | None] | None:
    """Return kind, subject, value and reason of a statement of the stream's, None for any other."""
    for kind, pattern in _PATTERNS:
        if found := pattern.match(text):
            return kind, found["who"], found["value"], found["reason"]
    return None


def answer(document: dict[str, Any]) -> Step:
    """Return the reply to a question. It depends on its texts alone, not on order, similarities or the number of tries."""
    allowed = document["allowed"]
    said = parse(document["candidate"]["text"])
    stored = sorted(document["stored"], key=lambda one: (one["text"], one["stated_at"], one.get("slot") or ""))
    same, others = [], []
    for one in stored:
        other = parse(one["text"])
        if said is None or other is None or said[:2] != other[:2]:
            continue
        (same if said[2] == other[2] else others).append((one, other))
    if said is None:
        return says("add")
    for one, other in same:
        if said[3] in (None, other[3]) and "skip" in allowed:
            return says("skip", (one["index"],))
    for one, other in same:
        if other[3] is None and "update" in allowed:
            return says("update", (one["index"],), document["candidate"]["text"])
    if others and said[0] in stream.SINGLE and "supersede" in allowed:
        return says("supersede", tuple(sorted(one["index"] for one, _ in others)))
    if others and said[0] == "like" and "merge" in allowed:
        one, other = others[0]
        if other[3] is None and said[3] is None:
            return says("merge", (one["index"],), f"{said[1]} likes {other[2]} and {said[2]} very much.")
    return says("add")


class JudgeServer:
    """The model's server, in a thread of its own: `with JudgeServer() as judge`, then `judge.url` and `judge.delay_s`."""

    def __init__(self) -> None:
        self.delay_s = 0.0
        self.hanging = False
        self.asked = 0
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def __enter__(self) -> "JudgeServer":
        self._thread.start()
        assert self._ready.wait(10), "the judge does not listen"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(15)
        assert not self._thread.is_alive(), "the judge does not end"
        self._loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def _reply(self, body: dict[str, Any]) -> Step:
        self.asked += 1
        self._server.requests.clear()  # a long run asks very often
        step = answer(json.loads(body["messages"][1]["content"]))
        step.hang = self.hanging
        if self.delay_s > 0:
            step.gate = asyncio.Event()
            self._loop.call_later(self.delay_s, step.gate.set)
        return step

    async def _serve(self) -> None:
        async with FakeOpenAI(self._reply) as self._server:
            self._port = self._server.port
            self._ready.set()
            await self._stopping.wait()
