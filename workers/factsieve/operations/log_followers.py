"""Those who follow the decision log, each at its own pace, and who is told how the log fares."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

from factsieve.operations.log_ring import DecisionFilter, DecisionValue, Ring, Row, test_of

FOLLOWER_QUEUE: Final = 1_000
"""So many decisions wait for one follower; beyond that it misses the oldest, and is told how many."""

MISSED: Final = "missed"
"""The one key of what a follower gets in the place of decisions that it missed; the value is their number."""


class LogObserver(Protocol):
    """Who is told how the log fares: for metrics."""

    def log_read(self, decisions: int) -> None:
        """Take note of decisions that were read."""
        ...

    def log_unreadable(self) -> None:
        """Take note of a record that is no decision."""
        ...

    def log_disconnected(self) -> None:
        """Take note of a lost connection to Kafka."""
        ...

    def log_missed(self, decisions: int) -> None:
        """Take note of decisions that a slow follower missed."""
        ...


class QuietLogObserver:
    """Takes no note."""

    def log_read(self, decisions: int) -> None:
        """Take no note."""

    def log_unreadable(self) -> None:
        """Take no note."""

    def log_disconnected(self) -> None:
        """Take no note."""

    def log_missed(self, decisions: int) -> None:
        """Take no note."""


class Following:
    """One follower's decisions as they come (an async iterator): `{"missed": n}` stands where n were dropped.

    It is followed from the moment it is made, until `close`, or until nobody holds it any more.
    """

    def __init__(
        self, wanted: DecisionFilter, ring: Ring, backlog: Sequence[Row], observer: LogObserver, queue: int
    ) -> None:
        self._matches = test_of(wanted)
        self._ring = ring
        self._rows: deque[Row] = deque(row for row in backlog if self._matches(row))
        self._queue = queue
        self._missed = 0
        self._observer = observer
        self._news = asyncio.Event()
        self._closed = False
        self._trim()

    def offer(self, row: Row) -> None:
        """Take in a decision, if it is wanted; never waits."""
        if self._matches(row):
            self._rows.append(row)
            self._trim()
            self._news.set()

    def close(self) -> None:
        """End the iteration, once what waits is taken."""
        self._closed = True
        self._news.set()

    @property
    def closed(self) -> bool:
        """Return whether nothing more will come."""
        return self._closed

    def __aiter__(self) -> "Following":
        return self

    async def __anext__(self) -> DecisionValue:
        while not self._rows and not self._missed:
            if self._closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        if self._missed:
            missed, self._missed = self._missed, 0
            return {MISSED: missed}
        row = self._rows.popleft()
        return (self._ring.get(row.decision_id) or row).value  # its statement may have been erased while it waited

    def _trim(self) -> None:
        excess = len(self._rows) - self._queue
        if excess > 0:
            for _ in range(excess):
                self._rows.popleft()
            self._missed += excess
            self._observer.log_missed(excess)
