"""Lanes: threads in which a local model computes, with batches shared by overlapping calls and a cache of repeated keys.

A model's run holds no lock of the interpreter, so each lane keeps one core busy while the event loop goes on. Single-threaded runs
side by side do more work per core than one run that is spread over threads: nothing waits for its other half.

A run takes a core for many milliseconds. Where it is nobody's answer that waits, `niceness` lets whatever has less to do go first: the
event loop that feeds the lanes, the store that it asks, a process beside this one that answers people.
"""

import asyncio
import contextlib
import os
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

import structlog

from factsieve.core.errors import Bug

log = structlog.get_logger(__name__)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_WINDOW: Final = 128  # keys sorted by size together: enough for even batches, short enough that a late key waits little
_LANE_LIMIT: Final = 64


class _Job:
    """One call: counts the distinct keys that it still waits for."""

    __slots__ = ("future", "loop", "remaining")

    def __init__(self, remaining: int) -> None:
        self.remaining = remaining
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()

    def settle(self, error: BaseException | None) -> None:
        """Wake the waiting call from a lane's thread."""
        with contextlib.suppress(RuntimeError):  # its event loop has been closed meanwhile: nobody waits
            self.loop.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)


class _Pending(Generic[K, V]):
    """A key on its way through the model, and the calls that wait for it."""

    __slots__ = ("jobs", "key", "values")

    def __init__(self, key: K) -> None:
        self.key = key
        self.jobs: list[_Job] = []
        self.values: list[V] = []  # empty, then the one result: results may be of any type


class ModelLanes(Generic[K, V]):
    """Runs `run(keys) -> values` in up to `lanes` threads, on batches of at most `batch_size` keys of similar `size_of`.

    `run` must give each key the same value whatever else is in the batch. Results of the latest `cache_size` keys are kept.
    Overlapping calls share batches, and a key that several of them want is computed once. The keys under way are those of the
    calls that wait, so callers bound the queue. A call that is cancelled leaves the others alone. `computed_total` and `cached_total`
    count keys that went through the model, and keys whose value was kept. `niceness` is added to that of the process for the lanes'
    threads (Linux, where threads have their own).
    """

    def __init__(
        self,
        run: Callable[[list[K]], list[V]],
        *,
        name: str,
        lanes: int,
        batch_size: int,
        cache_size: int,
        size_of: Callable[[K], int],
        niceness: int = 0,
    ) -> None:
        self._run = run
        self._name = name
        self._lanes = min(lanes, _LANE_LIMIT)
        self._batch_size = batch_size
        self._cache_size = cache_size
        self._size_of = size_of
        self._executor = ThreadPoolExecutor(
            self._lanes, thread_name_prefix="factsieve-model", initializer=_give_way, initargs=(niceness,)
        )
        self._lock = threading.Lock()
        self._running_lanes = 0
        self._waiting: deque[_Pending[K, V]] = deque()
        self._batches: deque[list[_Pending[K, V]]] = deque()
        self._under_way: dict[K, _Pending[K, V]] = {}
        self._cache: OrderedDict[K, V] = OrderedDict()
        self.computed_total = 0
        self.cached_total = 0

    async def results(self, keys: Sequence[K]) -> list[V]:
        """Return one value per key, in order; raises Bug where the model's run failed."""
        results: dict[K, V] = {}
        wanted: list[_Pending[K, V]] = []
        with self._lock:
            for key in dict.fromkeys(keys):
                if key in self._cache:
                    self._cache.move_to_end(key)
                    results[key] = self._cache[key]
                    self.cached_total += 1
                    continue
                pending = self._under_way.get(key)
                if pending is None:
                    pending = self._under_way[key] = _Pending(key)
                    self._waiting.append(pending)
                wanted.append(pending)
            if wanted:
                job = _Job(len(wanted))
                for pending in wanted:
                    pending.jobs.append(job)
                self._start_lanes()
        if wanted:
            await job.future
            for pending in wanted:
                results[pending.key] = pending.values[0]
        return [results[key] for key in keys]

    def close(self) -> None:
        """Finish what is under way and end the threads."""
        self._executor.shutdown(wait=True)

    def _start_lanes(self) -> None:
        """Start as many idle lanes as there is work for; the lock is held."""
        useful = min(self._lanes, len(self._batches) + len(self._waiting))
        while self._running_lanes < useful:
            self._executor.submit(self._lane)
            self._running_lanes += 1

    def _lane(self) -> None:
        while True:
            with self._lock:
                batch = self._next_batch()
                if batch is None:
                    self._running_lanes -= 1
                    return
            try:
                values = self._run([pending.key for pending in batch])
            except (
                Exception
            ) as error:  # whatever the runtime raises must reach the calls that wait, or they wait for ever
                log.exception("model_run_failed", model=self._name, keys=len(batch))
                failure = Bug(f"{self._name}: {error}")
                failure.__cause__ = error
                self._finish(batch, [], failure)
            else:
                self._finish(batch, values, None)

    def _next_batch(self) -> list[_Pending[K, V]] | None:
        """Return the next batch of keys of similar size; the lock is held."""
        if not self._batches and self._waiting:
            window = [self._waiting.popleft() for _ in range(min(_WINDOW, len(self._waiting)))]
            window.sort(key=lambda pending: self._size_of(pending.key))
            # few keys are spread over the lanes, so that none idles; the largest batch goes first, so that none is left over
            size = min(self._batch_size, -(-len(window) // self._lanes))
            self._batches.extendleft(window[start : start + size] for start in range(0, len(window), size))
        return self._batches.popleft() if self._batches else None

    def _finish(self, batch: list[_Pending[K, V]], values: list[V], error: Bug | None) -> None:
        settled: list[_Job] = []
        with self._lock:
            for index, pending in enumerate(batch):
                del self._under_way[pending.key]
                if error is None:
                    self.computed_total += 1
                    pending.values.append(values[index])
                    self._cache[pending.key] = values[index]
                for job in pending.jobs:
                    job.remaining -= 1
                    if job.remaining == 0 or error is not None:
                        settled.append(job)
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)
        for job in settled:
            job.settle(error)


def _give_way(niceness: int) -> None:
    """Add to the niceness of the calling thread, which by POSIX would be the whole process's."""
    if niceness and sys.platform == "linux":
        os.nice(niceness)
