"""The ports that an engine drives, gathered for lanes: every call of many lanes becomes one."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

import numpy as np

from factsieve.core.decision import Decision
from factsieve.core.facts import Fact
from factsieve.engine.batcher import Batcher
from factsieve.ports import (
    Clock,
    Downstream,
    Embedder,
    FactStore,
    FactWrite,
    Fence,
    HashWindow,
    Judge,
    Ledger,
    LedgerPointer,
    Message,
    Near,
    NeighbourQuery,
    Outbox,
    Risk,
    Vector,
)

K = TypeVar("K")
V = TypeVar("V")


_EMBEDDING: Final = 2
"""Batches that are with the embedder: the next one is at hand when it is done with one, whatever the event loop is busy with."""


_AHEAD: Final = 1024
"""Texts whose vectors are computed ahead and were not asked for yet, at most: beyond it the oldest are forgotten."""


class Observer(Protocol):
    """What the engine reports of its work; telemetry implements it."""

    def decided(self, decision: Decision, *, replayed: bool) -> None:
        """An event has its decision, and everything that follows from it has happened."""
        ...

    def rejected(self, code: str) -> None:
        """An input was put into the dead letter topic."""
        ...

    def waited(self, service: str, error: str) -> None:
        """A service did not answer; the call is repeated."""
        ...

    def degraded(self, service: str, error: str) -> None:
        """A service that can be done without did not answer; it was done without."""
        ...

    def searched(self, embeddings: int, queries: int) -> None:
        """Texts were handed to the embedder, and neighbours were asked for."""
        ...

    def recorded(self, events: int) -> None:
        """A lane's wave of so many events was recorded."""
        ...

    def fenced(self, events: int) -> None:
        """Decided events were dropped, since another worker had recorded them first or the partition was lost."""
        ...

    def redelivered(self, events: int) -> None:
        """So many events came again, and their stored decisions were performed again."""
        ...

    def reverted(self, decision: str) -> None:
        """An operator took back a decision of this kind."""
        ...

    def called(self, call: str, duration_s: float) -> None:
        """A batched call of a port answered or failed after so long."""
        ...

    def changed(self, change_type: str) -> None:
        """A change went to new-facts."""
        ...

    def ignored_foreign_embedding(self) -> None:
        """A vector that came along was left out."""
        ...

    def distrusted(self, cause: str) -> None:
        """A vector stands for too little of its text: `truncated` or `unknown_tokens`."""
        ...

    def saw_wrong_partition(self) -> None:
        """An event's key belongs to another partition."""
        ...

    def failed(self, error: str) -> None:
        """A try of an event ended with an error that no event should cause; `error` is its class."""
        ...

    def probe_failed(self, error: str) -> None:
        """After that a known-good statement failed too: the event is not to blame, and waits."""
        ...


class QuietObserver:
    """An observer that keeps nothing."""

    def decided(self, decision: Decision, *, replayed: bool) -> None:
        """Keep nothing."""

    def rejected(self, code: str) -> None:
        """Keep nothing."""

    def waited(self, service: str, error: str) -> None:
        """Keep nothing."""

    def degraded(self, service: str, error: str) -> None:
        """Keep nothing."""

    def searched(self, embeddings: int, queries: int) -> None:
        """Keep nothing."""

    def recorded(self, events: int) -> None:
        """Keep nothing."""

    def fenced(self, events: int) -> None:
        """Keep nothing."""

    def redelivered(self, events: int) -> None:
        """Keep nothing."""

    def reverted(self, decision: str) -> None:
        """Keep nothing."""

    def called(self, call: str, duration_s: float) -> None:
        """Keep nothing."""

    def changed(self, change_type: str) -> None:
        """Keep nothing."""

    def ignored_foreign_embedding(self) -> None:
        """Keep nothing."""

    def distrusted(self, cause: str) -> None:
        """Keep nothing."""

    def saw_wrong_partition(self) -> None:
        """Keep nothing."""

    def failed(self, error: str) -> None:
        """Keep nothing."""

    def probe_failed(self, error: str) -> None:
        """Keep nothing."""


class HoldsAll:
    """A fence for a process that shares its input with nobody."""

    def holds(self, topic: str, partition: int) -> bool:
        """Return True."""
        return True


class NoRisk:
    """Keeps no marks: for processes that nobody starts again."""

    def is_suspect(self, content: str | bytes) -> bool:
        """Return False."""
        return False

    @asynccontextmanager
    async def running(self, *contents: str | bytes) -> AsyncIterator[None]:
        """Do nothing."""
        yield

    def survived(self, contents: Iterable[str | bytes]) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class Ports:
    """What the engine is given. `local_judge` answers where no remote judge may be asked, and confirms skips; `downstream` may be none."""

    facts: FactStore
    ledger: Ledger
    window: HashWindow
    embedder: Embedder
    judge: Judge
    local_judge: Judge
    outbox: Outbox
    clock: Clock
    fence: Fence
    risk: Risk = field(default_factory=NoRisk)
    downstream: Downstream | None = None


class Gathered:
    """The same ports with the calls of concurrent lanes gathered into batches."""

    def __init__(self, ports: Ports, observer: Observer, *, batch_items: int) -> None:
        facts, ledger = ports.facts, ports.ledger
        self._observer = observer

        async def get(ids: list[str]) -> list[Fact | None]:
            found = await facts.get(list(dict.fromkeys(ids)))
            return [found.get(point_id) for point_id in ids]

        async def lookup(keys: list[str]) -> list[LedgerPointer | None]:
            found = await ledger.lookup(keys)
            return [found.get(key) for key in keys]

        async def records(ids: list[str]) -> list[bytes | None]:
            found = await ledger.records(list(dict.fromkeys(ids)))
            return [found.get(record_id) for record_id in ids]

        async def insert(records: list[tuple[str, bytes, Mapping[str, object]]]) -> list[bytes]:
            stored = await ledger.insert({record_id: (body, fields) for record_id, body, fields in records})
            return [stored[record_id] for record_id, _, _ in records]

        async def point(pointers: list[tuple[str, LedgerPointer]]) -> list[None]:
            await ledger.point(dict(pointers))
            return [None] * len(pointers)

        async def write(writes: list[FactWrite]) -> list[None]:
            await facts.write(writes)
            return [None] * len(writes)

        async def send(messages: list[Message]) -> list[None]:
            await ports.outbox.send(messages)
            return [None] * len(messages)

        async def embed(texts: list[str]) -> list[Vector]:
            unique = list(dict.fromkeys(texts))
            alone = [text for text in unique if ports.risk.is_suspect(text)]
            vectors: dict[str, Vector] = {}
            if together := [text for text in unique if text not in set(alone)] if alone else unique:
                async with ports.risk.running(*together):
                    vectors = dict(zip(together, await ports.embedder.embed(together), strict=True))
            for text in alone:
                async with ports.risk.running(text):
                    [vectors[text]] = await ports.embedder.embed([text])
            return [vectors[text] for text in texts]

        def batched(
            name: str,
            call: Callable[[list[K]], Awaitable[Sequence[V]]],
            max_items: int = batch_items,
            concurrency: int = 1,
        ) -> Batcher[K, V]:
            async def timed(items: list[K]) -> Sequence[V]:
                started_s = time.perf_counter()
                try:
                    return await call(items)
                finally:
                    observer.called(name, time.perf_counter() - started_s)

            return Batcher(timed, max_items=max_items, concurrency=concurrency)

        self.get: Batcher[str, Fact | None] = batched("get", get)
        self.lookup: Batcher[str, LedgerPointer | None] = batched("ledger_lookup", lookup, 4 * batch_items)
        self.records: Batcher[str, bytes | None] = batched("ledger_records", records)
        self.insert: Batcher[tuple[str, bytes, Mapping[str, object]], bytes] = batched("ledger_insert", insert)
        self.point: Batcher[tuple[str, LedgerPointer], None] = batched("ledger_point", point, 4 * batch_items)
        self.write: Batcher[FactWrite, None] = batched("write", write)
        self.send: Batcher[Message, None] = batched("send", send, 4 * batch_items)
        self.by_text: Batcher[tuple[str, str], list[Fact]] = batched("by_text", facts.by_text)
        self.by_slot: Batcher[tuple[str, str], list[Fact]] = batched("by_slot", facts.by_slot)
        self._ahead: dict[str, tuple[asyncio.Task[list[Vector]], int]] = {}
        self._risk = ports.risk
        self._embed: Batcher[str, Vector] = batched("embed", embed, concurrency=_EMBEDDING)
        self._neighbours: Batcher[NeighbourQuery, list[Near]] = batched("neighbours", facts.neighbours)

    def embed_ahead(self, texts: Iterable[str]) -> None:
        """Have vectors computed that `embed` will soon be asked for. Whatever goes wrong here goes wrong there again."""
        new = [text for text in dict.fromkeys(texts) if text not in self._ahead and not self._risk.is_suspect(text)]
        if not new:
            return
        task = asyncio.ensure_future(self._embed.many(new))
        task.add_done_callback(_retrieve)
        self._ahead |= {text: (task, index) for index, text in enumerate(new)}
        for text in list(self._ahead)[:-_AHEAD]:
            del self._ahead[text]

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text."""
        self._observer.searched(len(texts), 0)
        ahead = {text: self._ahead.pop(text) for text in dict.fromkeys(texts) if text in self._ahead}
        wanted = [text for text in texts if text not in ahead]
        vectors = dict(zip(wanted, await self._embed.many(wanted), strict=True))
        if ahead:
            await asyncio.wait({task for task, _ in ahead.values()})
            vectors |= {text: task.result()[index] for text, (task, index) in ahead.items() if _succeeded(task)}
            lost = [text for text in ahead if text not in vectors]
            vectors |= zip(lost, await self._embed.many(lost), strict=True)
        return [np.asarray(vectors[text]) for text in texts]

    async def neighbours(self, queries: Sequence[NeighbourQuery]) -> list[list[Near]]:
        """Return the nearest facts of each query."""
        self._observer.searched(0, len(queries))
        return await self._neighbours.many(queries)


def _succeeded(task: "asyncio.Task[list[Vector]]") -> bool:
    return not task.cancelled() and task.exception() is None


def _retrieve(task: "asyncio.Task[list[Vector]]") -> None:
    """Look at what became of a task that may not be waited for any more, so that it is not reported as forgotten."""
    _succeeded(task)
