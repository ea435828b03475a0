"""Every port in memory, with the exact meaning of the real stores: for `factsieve decide`, simulations and tests."""

import asyncio
import heapq
import itertools
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from factsieve.adapters.checks import checked_queries, checked_writes
from factsieve.adapters.clock import SystemClock
from factsieve.adapters.rows import by_record, by_validity, latest_of_slot, searched_by, selection
from factsieve.adapters.window import Entry, bucket_of, merge_entries, microseconds, nearest_hit
from factsieve.core.errors import Transient
from factsieve.core.facts import Fact, Status, round_similarity
from factsieve.core.ids import decision_id, text_hash
from factsieve.ports import FactWrite, LedgerPointer, Message, Near, NeighbourQuery, Vector, WindowHit

_FLOAT32_STEP: Final = float(np.finfo(np.float32).eps)
_ROUNDING_STEP: Final = 1e-5
_PAGE_POINTS: Final = 256
_SEARCHED: Final = {Status.CURRENT: 1, Status.PAST: 2, Status.ARCHIVED: 3, Status.RETRACTED: 4}


class _Namespace:
    """The rows of one namespace: a float32 matrix that grows by doubling, and look-ups by slot, text and fact."""

    def __init__(self, dimension: int) -> None:
        self.facts: list[Fact | None] = []
        self.matrix: NDArray[np.float32] = np.zeros((64, dimension), dtype=np.float32)
        self.searched: NDArray[np.int8] = np.zeros(64, dtype=np.int8)
        self.slots: dict[str, set[int]] = {}
        self.texts: dict[str, set[int]] = {}
        self.stories: dict[str, set[int]] = {}

    def append(self, fact: Fact, vector: NDArray[np.float32]) -> int:
        """Store a new row and return its number."""
        row = len(self.facts)
        if row == len(self.matrix):
            self.matrix = np.concatenate([self.matrix, np.zeros_like(self.matrix)])
            self.searched = np.concatenate([self.searched, np.zeros_like(self.searched)])
        self.facts.append(None)
        self.put(row, fact, vector)
        return row

    def put(self, row: int, fact: Fact | None, vector: NDArray[np.float32] | None) -> None:
        """Replace a row; without a fact it is emptied and stays so."""
        old = self.facts[row]
        if old is not None:
            for index, key in self._keys(old):
                index[key].discard(row)
        self.facts[row] = fact
        if fact is None or vector is None:
            self.searched[row] = 0
            return
        self.matrix[row] = vector
        self.searched[row] = _SEARCHED.get(fact.status, 0)
        for index, key in self._keys(fact):
            index.setdefault(key, set()).add(row)

    def _keys(self, fact: Fact) -> list[tuple[dict[str, set[int]], str]]:
        keys = [(self.stories, fact.fact_id), (self.texts, text_hash(fact.text, fact.slot))]
        return keys if fact.slot is None else [*keys, (self.slots, fact.slot)]

    def rows(self, numbers: set[int] | None) -> list[Fact]:
        """Return the facts of these rows."""
        return [fact for number in numbers or () if (fact := self.facts[number]) is not None]

    def nearest(self, vector: NDArray[np.float32], limit: int, statuses: Sequence[Status]) -> list[tuple[float, Fact]]:
        """Return the nearest rows of some statuses: a float32 scan proposes, float64 cosines decide and order."""
        searched = self.searched[: len(self.facts)]
        wanted = searched == _SEARCHED[statuses[0]]
        for status in statuses[1:]:
            wanted |= searched == _SEARCHED[status]
        rows = np.flatnonzero(wanted)
        if not rows.size:
            return []
        # A scan of the whole matrix costs less than copying the rows of one status out of it.
        rough = (self.matrix[: len(self.facts)] @ vector)[rows]
        if rows.size > limit:
            slack = 2 * _ROUNDING_STEP + 2 * len(vector) * _FLOAT32_STEP
            kept = rough >= np.partition(rough, rows.size - limit)[rows.size - limit] - slack
            rows = rows[kept]
        exact = self.matrix[rows].astype(np.float64)
        query = vector.astype(np.float64)
        # Sums along rows and not a matrix product: a pair's cosine must not depend on which rows stand beside it.
        norms = np.sqrt((exact * exact).sum(axis=1) * (query * query).sum())
        cosines = np.einsum("ij,j->i", exact, query) / norms
        hits = [
            (round_similarity(cosine), fact)
            for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
            if (fact := self.facts[row]) is not None
        ]
        return heapq.nsmallest(limit, hits, key=lambda hit: (-hit[0], hit[1].point_id))


class MemoryFacts:
    """A `FactStore` in memory; exact search, made for some ten thousand facts a namespace.

    `dimension` is the length of the vectors; None takes that of the first vector seen.
    """

    def __init__(self, dimension: int | None = None) -> None:
        self._dimension = dimension
        self._namespaces: dict[str, _Namespace] = {}
        self._places: dict[str, tuple[str, int]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def _size_of(self, vectors: Sequence[NDArray[np.float32]]) -> int:
        if self._dimension is None:
            self._dimension = int(vectors[0].shape[0]) if vectors else None
        return self._dimension or 0

    async def neighbours(self, queries: Sequence[NeighbourQuery]) -> list[list[Near]]:
        """Return for each query, in order, its nearest facts. Raises `Bug` for a bad vector."""
        matrix = checked_queries(queries, self._size_of([query.vector for query in queries]))
        return [self._neighbours(query, vector) for query, vector in zip(queries, matrix, strict=True)]

    def _neighbours(self, query: NeighbourQuery, vector: NDArray[np.float32]) -> list[Near]:
        space = self._namespaces.get(query.namespace)
        if space is None:
            return []
        hits = space.nearest(vector, query.limit, searched_by(query))
        return [
            Near(fact.point_id, similarity, fact if similarity >= query.payload_floor else None)
            for similarity, fact in hits
        ]

    async def by_slot(self, slots: Sequence[tuple[str, str]], *, past: bool = False) -> list[list[Fact]]:
        """Return for each (namespace, slot) its current facts, with `past` the past rows too."""
        wanted = {Status.CURRENT, Status.PAST} if past else {Status.CURRENT}
        found = []
        for namespace, slot in slots:
            space = self._namespaces.get(namespace)
            rows = space.rows(space.slots.get(slot)) if space else []
            found.append(latest_of_slot(fact for fact in rows if fact.status in wanted))
        return found

    async def by_text(self, keys: Sequence[tuple[str, str]]) -> list[list[Fact]]:
        """Return for each (namespace, text hash) the current facts that say exactly this, by point id."""
        found = []
        for namespace, key in keys:
            space = self._namespaces.get(namespace)
            rows = space.rows(space.texts.get(key)) if space else []
            current = [fact for fact in rows if fact.status is Status.CURRENT]
            found.append(sorted(current, key=lambda fact: fact.point_id))
        return found

    async def get(self, point_ids: Sequence[str]) -> dict[str, Fact]:
        """Return the points that exist, whatever their status."""
        return {point_id: fact for point_id in point_ids if (fact := self._point(point_id)) is not None}

    def _point(self, point_id: str) -> Fact | None:
        place = self._places.get(point_id)
        return None if place is None else self._namespaces[place[0]].facts[place[1]]

    async def vectors(self, point_ids: Sequence[str]) -> dict[str, Vector]:
        """Return the stored vectors of the points that exist."""
        places = {point_id: self._places[point_id] for point_id in point_ids if point_id in self._places}
        return {point_id: self._namespaces[name].matrix[row].copy() for point_id, (name, row) in places.items()}

    async def history(self, namespace: str, fact_id: str) -> list[Fact]:
        """Return every row of a fact, in order of `recorded_at`, then revision."""
        space = self._namespaces.get(namespace)
        return sorted(space.rows(space.stories.get(fact_id)), key=by_record) if space else []

    async def select(
        self,
        namespace: str | None,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        current_only: bool = True,
        limit: int | None = None,
    ) -> list[Fact]:
        """Return facts in order of `valid_from`, then point id."""
        wanted = selection(as_of, known_at, current_only)
        spaces = self._namespaces.values() if namespace is None else [self._namespaces.get(namespace)]
        facts = (fact for space in spaces if space for fact in space.facts if fact is not None and wanted(fact))
        return sorted(facts, key=by_validity)[:limit]

    async def recent(
        self,
        namespace: str | None,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        current_only: bool = True,
        limit: int,
        before: tuple[datetime, str] | None = None,
    ) -> list[Fact]:
        """Return the latest facts by `valid_from`, then point id, latest first; with `before` those in front of that place."""
        facts = await self.select(namespace, as_of=as_of, known_at=known_at, current_only=current_only)
        return [fact for fact in reversed(facts) if before is None or by_validity(fact) < before][: max(0, limit)]

    async def count(self, namespace: str | None) -> int:
        """Return how many points there are, of one namespace or of all."""
        return sum(1 for name, _ in self._places.values() if namespace in (None, name))

    async def pages(self, namespace: str | None) -> AsyncIterator[list[tuple[Fact, Vector]]]:
        """Yield every point with its vector, a page at a time, in order of point id."""
        ids = sorted(point_id for point_id, (name, _) in self._places.items() if namespace in (None, name))
        for start in range(0, len(ids), _PAGE_POINTS):
            page = ids[start : start + _PAGE_POINTS]
            vectors = await self.vectors(page)
            yield [(fact, vectors[one]) for one in page if (fact := self._point(one)) is not None]

    async def write(self, writes: Sequence[FactWrite]) -> None:
        """Perform absolute writes. Raises `Bug` for a bad vector or a point that is written twice; then nothing is written."""
        matrix = checked_writes(writes, self._size_of([write.vector for write in writes]))
        for write, vector in zip(writes, matrix, strict=True):
            self._write(write, vector)

    def _write(self, write: FactWrite, vector: NDArray[np.float32]) -> None:
        fact = write.fact
        stored = self._point(fact.point_id)
        if write.insert:
            if stored is not None:
                return
        elif stored is None or stored.version >= fact.version:
            return
        space = self._namespaces.get(fact.namespace)
        if space is None:
            space = self._namespaces[fact.namespace] = _Namespace(len(vector))
        if stored is not None and stored.namespace == fact.namespace:
            space.put(self._places[fact.point_id][1], fact, vector)
            return
        if stored is not None:
            former, row = self._places[fact.point_id]
            self._namespaces[former].put(row, None, None)
        self._places[fact.point_id] = (fact.namespace, space.append(fact, vector))


class MemoryLedger:
    """A `Ledger` in memory."""

    def __init__(self) -> None:
        self._records: dict[str, tuple[bytes, dict[str, object]]] = {}
        self._pointers: dict[str, LedgerPointer] = {}
        self._decisions: dict[str, LedgerPointer] = {}

    async def lookup(self, event_keys: Sequence[str]) -> dict[str, LedgerPointer]:
        """Return the pointers of those events that have a decision."""
        return {key: self._pointers[key] for key in event_keys if key in self._pointers}

    async def records(self, record_ids: Sequence[str]) -> dict[str, bytes]:
        """Return the stored records that exist."""
        return {record_id: self._records[record_id][0] for record_id in record_ids if record_id in self._records}

    async def insert(self, records: Mapping[str, tuple[bytes, Mapping[str, object]]]) -> dict[str, bytes]:
        """Insert records, leave existing ones alone, and return what is stored now under each id."""
        for record_id, (body, fields) in records.items():
            self._records.setdefault(record_id, (bytes(body), dict(fields)))
        return {record_id: self._records[record_id][0] for record_id in records}

    async def point(self, pointers: Mapping[str, LedgerPointer]) -> None:
        """Insert pointers, leaving existing ones alone."""
        for key, pointer in pointers.items():
            self._decisions.setdefault(decision_id(key), self._pointers.setdefault(key, pointer))

    async def decided(self, decision_ids: Sequence[str]) -> dict[str, LedgerPointer]:
        """Return the pointers of those decisions that exist, by decision id."""
        return {one: self._decisions[one] for one in decision_ids if one in self._decisions}

    async def holding(self, namespace: str, fact_ids: Sequence[str]) -> AsyncIterator[tuple[str, bytes]]:
        """Yield id and body of every record that holds a text of one of these facts."""
        wanted = set(fact_ids)
        for record_id, (_, fields) in list(self._records.items()):
            held = fields.get("fact_ids")
            if fields.get("namespace") == namespace and isinstance(held, list) and wanted.intersection(held):
                yield record_id, self._records[record_id][0]

    async def scrub(self, records: Mapping[str, tuple[bytes, bytes]]) -> None:
        """Put other bodies in the place of stored ones. Raises `Transient` where a record is not as it was read."""
        for record_id, (read, body) in records.items():
            stored, fields = self._records[record_id]
            if stored not in (read, body):
                raise Transient("memory", f"ledger record {record_id} was changed meanwhile: read it again")
            self._records[record_id] = (bytes(body), {**fields, "skips_only": False})

    async def count(self, namespace: str | None) -> int:
        """Return how many records there are, of one namespace or of all."""
        return sum(1 for _, fields in self._records.values() if namespace in (None, fields.get("namespace")))

    async def pages(self, namespace: str | None) -> AsyncIterator[list[tuple[str, bytes, Mapping[str, object]]]]:
        """Yield id, body and indexed fields of every record, a page at a time."""
        rows = [
            (record_id, body, fields)
            for record_id, (body, fields) in sorted(self._records.items())
            if namespace in (None, fields.get("namespace"))
        ]
        for start in range(0, len(rows), _PAGE_POINTS):
            yield list(rows[start : start + _PAGE_POINTS])

    async def scan(self, namespace: str | None) -> AsyncIterator[bytes]:
        """Yield the bodies of all records, of one namespace or of all, in no particular order."""
        for body, fields in list(self._records.values()):
            if namespace is None or fields.get("namespace") == namespace:
                yield body


class MemoryWindow:
    """A `HashWindow` in memory: of each text and bucket of event time, the earliest and the latest entry.

    `window_s` is the window to either side, in seconds of event time; beyond `max_buckets` the longest untouched are forgotten.
    """

    def __init__(self, window_s: int = 300, max_buckets: int = 200_000) -> None:
        self._window_us = window_s * 1_000_000
        self._max_buckets = max_buckets
        self._buckets: OrderedDict[tuple[str, str, int], tuple[Entry, Entry]] = OrderedDict()

    async def find(self, namespace: str, texts: Sequence[tuple[str, datetime]]) -> list[WindowHit | None]:
        """Return for each (text hash, event time) the nearest entry within the window around that time."""
        return [self._find(namespace, key, microseconds(at)) for key, at in texts]

    def _find(self, namespace: str, key: str, at_us: int) -> WindowHit | None:
        bucket = bucket_of(at_us, self._window_us)
        found = (self._buckets.get((namespace, key, number)) for number in (bucket - 1, bucket, bucket + 1))
        return nearest_hit(itertools.chain.from_iterable(pair for pair in found if pair), at_us, self._window_us)

    async def put(self, namespace: str, texts: Sequence[tuple[str, datetime, WindowHit]]) -> None:
        """Write what decided events led to."""
        for key, at, hit in texts:
            entry = Entry(hit.fact_id, hit.revision, microseconds(at))
            place = (namespace, key, bucket_of(entry.at_us, self._window_us))
            self._buckets[place] = merge_entries(self._buckets.get(place), entry)
            self._buckets.move_to_end(place)
        while len(self._buckets) > self._max_buckets:
            self._buckets.popitem(last=False)


class MemoryOutbox:
    """An `Outbox` that collects what is sent, in order, in `messages`."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def send(self, messages: Sequence[Message]) -> None:
        """Collect the messages."""
        self.messages.extend(messages)

    def of(self, topic: str) -> list[Message]:
        """Return the messages of a topic, in the order sent."""
        return [message for message in self.messages if message.topic == topic]

    def latest(self, topic: str) -> dict[bytes | None, bytes | None]:
        """Return what a compacted topic would hold: each key's last value, tombstones (None) included."""
        return {message.key: message.value for message in self.of(topic)}

    def clear(self) -> None:
        """Forget everything sent so far."""
        self.messages.clear()


class ManualClock:
    """A clock that stands still until it is told.

    `start` is an aware datetime. With `auto_advance`, a sleep moves the time itself and returns at once, sleepers in order of their
    wake-up times; without, it waits for `advance`.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC), *, auto_advance: bool = False) -> None:
        self._now = start.astimezone(UTC)
        self._auto_advance = auto_advance
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def now(self) -> datetime:
        """Return the time shown, UTC."""
        return self._now

    @property
    def sleepers(self) -> int:
        """Return how many are waiting."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, duration_s: float) -> None:
        """Wait until the clock shows a time `duration_s` seconds from now."""
        until = self._now + timedelta(seconds=max(0.0, duration_s))
        if self._auto_advance:
            await asyncio.sleep(0)  # whoever is ready runs first, as in a real wait
            self._now = max(self._now, until)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (until, next(self._numbers), future))
        if until <= self._now:
            self.advance(0.0)
        await future

    def advance(self, duration_s: float) -> None:
        """Move the time on by `duration_s` seconds and wake whoever waited for it."""
        self._now += timedelta(seconds=duration_s)
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    def set(self, now: datetime) -> None:
        """Show another time, which may lie before the present one: clocks do that."""
        self._now = now.astimezone(UTC)
        self.advance(0.0)


__all__ = [
    "ManualClock",
    "MemoryFacts",
    "MemoryLedger",
    "MemoryOutbox",
    "MemoryWindow",
    "SystemClock",
]
