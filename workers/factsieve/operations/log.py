"""The decision log, as it stands on `fact-decisions`: the latest once, or followed for as long as a process lives."""

import asyncio
import contextlib
import time
import weakref
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import structlog

from factsieve.core.errors import Transient
from factsieve.operations.conversation import DecisionReader, Kafka, Reader
from factsieve.operations.log_counts import Counts, count_rows
from factsieve.operations.log_followers import FOLLOWER_QUEUE, MISSED, Following, LogObserver, QuietLogObserver
from factsieve.operations.log_ring import (
    DecisionFilter,
    DecisionValue,
    Page,
    Ring,
    in_order,
    instant_of,
)
from factsieve.wire.recorded import NotADecision, told
from factsieve.wire.topics import Topics

__all__ = [
    "MISSED",
    "Counts",
    "DecisionFilter",
    "DecisionLog",
    "Following",
    "LogObserver",
    "Page",
    "QuietLogObserver",
    "latest",
]

log = structlog.get_logger(__name__)

DEFAULT_RECORDS: Final = 50_000
"""So many of the latest decisions are kept."""

_SCAN_LIMIT: Final = 20_000
"""So many records back, per partition, are read at most to find the latest that match."""

_CATCH_UP_SHARE: Final = 4
"""At the start each partition gives at most so many times its even share of the log."""

_PAUSE_FIRST_S: Final = 0.2
_PAUSE_MOST_S: Final = 10.0
_COUNTS_HOLD_S: Final = 1.0
_COUNTS_KEPT: Final = 32
_SPARE_SHARE: Final = 4
"""While what is there is read, a quarter more than what is kept is held before the oldest are let go."""

_UNLIKE_A_DECISION: Final = (KeyError, TypeError, ValueError, AttributeError)
"""What reading raises where a JSON value is no decision."""

_YIELD_EVERY: Final = 200
"""After so many decisions taken in, others get their turn on the loop."""


async def latest(reader: DecisionReader, limit: int, namespace: str | None) -> list[dict[str, Any]]:
    """Return the latest decisions, oldest first. Without a namespace the last `limit` of each partition hold them all."""
    depth = _SCAN_LIMIT if namespace is not None else limit
    starts = {part: max(reader.begins[part], end - depth) for part, end in reader.ends.items()}
    if not limit:
        return []
    reader.seek(starts)
    found: list[tuple[str, dict[str, Any]]] = []
    while not await reader.reached(reader.ends):
        for part, offset, decision in await reader.decisions():
            if offset < reader.ends[part] and namespace in (None, decision.get("namespace")):
                found.append((decision["decided_at"], decision))
    found.sort(key=lambda seen: seen[0])
    return [decision for _, decision in found[-limit:]]


class DecisionLog:
    """Follows `fact-decisions` in one task and holds the latest `records` decisions; connects anew by itself.

    Everything is answered from memory, for many callers at once; all methods are for the event loop that `start` was called on.
    Decisions whose statement was erased are held without it.
    """

    def __init__(
        self,
        kafka: Kafka,
        topics: Topics,
        *,
        records: int = DEFAULT_RECORDS,
        observer: LogObserver | None = None,
        follower_queue: int = FOLLOWER_QUEUE,
    ) -> None:
        self._kafka = kafka
        self._topic = topics.decisions
        self._records = records
        self._ring = Ring(records)
        self._observer = observer or QuietLogObserver()
        self._follower_queue = follower_queue
        self._followers: weakref.WeakSet[Following] = weakref.WeakSet()
        self._positions: dict[int, int] = {}  # by partition: the next offset to read
        self._ready = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._counted: dict[tuple[DecisionFilter, int], tuple[int, float, Counts]] = {}
        self._caught_up_at: float | None = None  # system time at which nothing was unread

    # Life

    async def start(self) -> None:
        """Begin to read; returns at once. `ready` tells when the log has what was there at the start."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="decision log")

    async def stop(self) -> None:
        """Stop reading and end every follower's iteration."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for follower in list(self._followers):
            follower.close()

    @property
    def ready(self) -> bool:
        """Return whether everything was read that was there at the start."""
        return self._ready.is_set()

    async def until_ready(self, timeout_s: float) -> bool:
        """Wait until `ready`; return whether it is."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ready.wait(), timeout_s)
        return self.ready

    @property
    def behind_s(self) -> float | None:
        """Return for how many seconds the log has not surely been complete; None: never yet."""
        return None if self._caught_up_at is None else max(0.0, time.time() - self._caught_up_at)

    @property
    def complete_since(self) -> float | None:
        """Return the instant (seconds since the epoch) after which no decision is missing; None: none is missing at all."""
        return self._ring.forgotten_until

    def __len__(self) -> int:
        return len(self._ring)

    # Answers

    def find(self, wanted: DecisionFilter, *, limit: int, before: str | None = None) -> Page:
        """Return the decisions that match, newest first, at most `limit`. `before` is `next` of the page before."""
        rows, cursor = self._ring.select(wanted, limit=limit, before=before)
        return Page([row.value for row in rows], cursor)

    def get(self, decision_id: str) -> DecisionValue | None:
        """Return a decision, or None where it is not among the latest."""
        row = self._ring.get(decision_id)
        return None if row is None else row.value

    async def wait_for(self, wanted: DecisionFilter, timeout_s: float) -> DecisionValue | None:
        """Return the latest decision that matches, or the first one to come; None where none did in time."""
        following = self.follow(wanted)
        try:
            rows, _ = self._ring.select(wanted, limit=1)
            if rows:
                return rows[0].value
            async with asyncio.timeout(timeout_s):
                async for value in following:
                    if MISSED not in value:
                        return value
        except TimeoutError:
            pass
        finally:
            self.unfollow(following)
        return None

    def follow(self, wanted: DecisionFilter, *, after: str | None = None) -> Following:
        """Return the decisions that match as they come. `after`: a decision id; what came since then (and is here still) comes first.

        A follower has a bounded queue: where it is slow it misses the oldest and gets `{"missed": n}` in their place. Others are not
        held up. Give it back with `unfollow`.
        """
        backlog = [] if after is None else self._ring.after(after, self._follower_queue)
        following = Following(wanted, self._ring, backlog, self._observer, self._follower_queue)
        if self._task is None:
            following.close()
        self._followers.add(following)
        return following

    def unfollow(self, following: Following) -> None:
        """Send a follower nothing more."""
        following.close()
        self._followers.discard(following)

    async def counts(self, wanted: DecisionFilter, *, buckets: int = 48) -> Counts:
        """Return what charts need of the decisions that match; counted beside the loop, and at most once a second for one filter."""
        now = time.monotonic()
        known = self._counted.get((wanted, buckets))
        if known is not None and (known[0] == self._ring.version or now - known[1] < _COUNTS_HOLD_S):
            return known[2]
        version = self._ring.version
        found = await asyncio.to_thread(count_rows, self._ring.rows(), wanted, buckets)
        self._counted.pop((wanted, buckets), None)
        self._counted[wanted, buckets] = (version, now, found)
        while len(self._counted) > _COUNTS_KEPT:
            del self._counted[next(iter(self._counted))]
        return found

    # Reading

    async def _run(self) -> None:
        pause_s = _PAUSE_FIRST_S
        while True:
            try:
                async with Reader(self._kafka, self._topic) as reader:
                    pause_s = _PAUSE_FIRST_S
                    await self._read(reader)
            except Transient as error:
                self._observer.log_disconnected()
                log.warning("decision log disconnected", error=str(error), again_in_s=pause_s)
            except Exception:  # a log that stands still unnoticed would be worse than one that starts again
                self._observer.log_disconnected()
                log.exception("decision log failed", again_in_s=pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _PAUSE_MOST_S)

    async def _read(self, reader: Reader) -> None:
        first = not self._ready.is_set() and not self._positions
        starts = {}
        share = max(1, self._records // len(reader.ends)) * _CATCH_UP_SHARE
        for part, end in reader.ends.items():
            begin = reader.begins[part]
            kept = max(begin, end - min(self._records, share))
            known = self._positions.get(part.partition)
            starts[part] = kept if known is None or known > end else max(begin, known)
        reader.seek(starts)
        self._positions |= {part.partition: start for part, start in starts.items()}
        if first:
            await self._take_in_what_is_there(reader)
        self._ready.set()
        while True:
            values = [self._decoded(part.partition, offset, raw) for part, offset, raw in await reader.poll()]
            await self._take_in(in_order(value for value in values if value is not None))
            unread, heard_at = await reader.standing()
            if not unread and heard_at > 0:
                self._caught_up_at = max(self._caught_up_at or 0.0, heard_at)

    async def _take_in_what_is_there(self, reader: Reader) -> None:
        """Read up to the ends of all partitions, and only then put the decisions in, in the order in which they were made."""
        found: list[tuple[float, bytes]] = []  # as they came: taken apart they are several times as large
        cut = {part.partition for part in reader.ends if self._positions[part.partition] > reader.begins[part]}
        forgotten: float | None = None
        most = self._records + self._records // _SPARE_SHARE + 1
        while not await reader.reached(reader.ends):
            for part, offset, raw in await reader.poll():
                value = self._decoded(part.partition, offset, raw)
                if value is None:
                    continue
                at = instant_of(value)
                if part.partition in cut:  # the first of a partition that was not read from its beginning
                    cut.discard(part.partition)
                    forgotten = max(forgotten or at, at)
                found.append((at, raw))
            if len(found) > most:
                found.sort(key=lambda seen: seen[0])
                forgotten = max(forgotten or 0.0, found[-self._records - 1][0])
                del found[: -self._records]
            await asyncio.sleep(0)
        found.sort(key=lambda seen: seen[0])
        self._ring.forgotten_until = forgotten
        for start in range(0, len(found), _YIELD_EVERY):
            await self._take_in([msgspec.json.decode(raw) for _, raw in found[start : start + _YIELD_EVERY]])
            await asyncio.sleep(0)

    def _decoded(self, partition: int, offset: int, raw: bytes) -> DecisionValue | None:
        self._positions[partition] = offset + 1
        try:
            return told(raw)
        except NotADecision as error:
            self._pass_over(f"{self._topic}/{partition}@{offset}", error)
            return None

    def _pass_over(self, which: str, error: Exception) -> None:
        self._observer.log_unreadable()
        log.warning("record is no decision", record=which, error=repr(error))

    async def _take_in(self, values: Sequence[DecisionValue]) -> None:
        read = 0
        for number, value in enumerate(values, 1):
            try:
                row = self._ring.add(value)
            except _UNLIKE_A_DECISION as error:
                self._pass_over(str(value.get("decision_id")), error)
                continue
            read += 1
            if row is not None:
                for follower in list(self._followers):
                    follower.offer(row)
            if number % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
        if read:
            self._observer.log_read(read)
