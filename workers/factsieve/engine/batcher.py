"""Calls of many lanes made as one: while one batch is under way, the next one gathers.

This is how "one batched look-up per wave" comes about without lanes having to know of each other, and why a lane that waits for a judge
holds nobody up.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from factsieve.core.errors import Transient

K = TypeVar("K")
V = TypeVar("V")


class Batcher(Generic[K, V]):
    """Gathers items of concurrent callers into calls of at most `max_items` (a single larger request is never split).

    `call` takes a list of items and returns as many results, in order. What it raises reaches the callers of that batch; where that is
    not `Transient` and several callers share the batch, each is tried alone, so that one bad item fails only its own caller.
    """

    def __init__(
        self, call: Callable[[list[K]], Awaitable[Sequence[V]]], *, max_items: int, concurrency: int = 1
    ) -> None:
        self._call = call
        self._max_items = max_items
        self._slots = concurrency
        self._working = 0
        self._waiting: deque[tuple[list[K], asyncio.Future[list[V]]]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    async def many(self, items: Sequence[K]) -> list[V]:
        """Return one result per item, in order. Raises whatever the call raises."""
        if not items:
            return []
        future: asyncio.Future[list[V]] = asyncio.get_running_loop().create_future()
        self._waiting.append((list(items), future))
        if self._working < self._slots:
            self._working += 1
            task = asyncio.create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _work(self) -> None:
        try:
            await asyncio.sleep(0)  # whoever is ready joins the first batch
            while self._waiting:
                await self._answer(self._next_batch())
        finally:
            self._working -= (
                1  # at once, and not when the task is seen to be done: a call in between would wait for ever
            )

    def _next_batch(self) -> list[tuple[list[K], asyncio.Future[list[V]]]]:
        batch: list[tuple[list[K], asyncio.Future[list[V]]]] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0][0]) <= self._max_items):
            request = self._waiting.popleft()
            if not request[1].cancelled():
                batch.append(request)
                size += len(request[0])
        return batch

    async def _answer(self, batch: list[tuple[list[K], asyncio.Future[list[V]]]]) -> None:
        try:
            results = list(await self._call([item for items, _ in batch for item in items]))
        except Transient as error:
            _fail(batch, error)
        except Exception as error:
            if len(batch) == 1:
                _fail(batch, error)
                return
            for request in batch:
                await self._answer([request])
        else:
            start = 0
            for items, future in batch:
                if not future.done():
                    future.set_result(results[start : start + len(items)])
                start += len(items)


def _fail(batch: list[tuple[list[K], asyncio.Future[list[V]]]], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
