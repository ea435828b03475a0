"""What a lane has decided but the store may not show yet: neighbours are read through it.

It keeps the latest state of every point that the wave changed, and the vectors of those that are new or reworded. A look-up's
result, taken from the store at any time since the wave began, becomes what the store would have answered had every decision been
performed at once.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from factsieve.core.decision import Entry
from factsieve.core.facts import Fact, Scored, Status, round_similarity
from factsieve.core.ids import text_hash
from factsieve.ports import Near, NeighbourQuery, Vector, WindowHit

_RETIRED: Final = frozenset({Status.PAST, Status.ARCHIVED, Status.RETRACTED})


class _Matrix:
    """The vectors of changed points, made exactly unit, as one float64 array that grows by doubling."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._array: NDArray[np.float64] = np.empty((0, 0))

    def put(self, point_id: str, vector: Vector) -> None:
        """Add or replace a point's vector."""
        row = self._rows.get(point_id)
        if row is None:
            row = self._rows[point_id] = len(self.ids)
            self.ids.append(point_id)
        if row >= len(self._array):
            array = np.empty((max(16, 2 * row), len(vector)))
            if row:
                array[:row] = self._array
            self._array = array
        self._array[row] = _exactly_unit(vector)

    def nearest(self, vector: Vector, limit: int, floor: float | None) -> list[tuple[str, float]]:
        """Return at least the `limit` nearest points, those below a `floor` left out, with their rounded cosines, in no order."""
        count = len(self.ids)
        # Row by row, where a matrix product would not: a pair's cosine must not depend on what stands beside it.
        cosines = np.vecdot(self._array[:count], _exactly_unit(vector))
        rows: Iterable[int] = range(count)
        if floor is None and count > limit:
            floor = np.partition(cosines, count - limit)[count - limit]
        if floor is not None:
            [near] = (cosines >= floor - 2e-5).nonzero()  # what rounding may still reorder stays
            rows = near.tolist()
        return [(self.ids[row], round_similarity(float(cosines[row]))) for row in rows]


def _exactly_unit(vector: Vector) -> NDArray[np.float64]:
    """Return a vector of norm 1 in double precision: those of an embedder are so in single precision only."""
    exact = vector.astype(np.float64)
    return exact / math.sqrt(exact @ exact)


class Overlay:
    """The changes of one lane's wave, in order of decision."""

    def __init__(self) -> None:
        self._points: dict[str, Fact] = {}
        self._vectors: dict[str, Vector] = {}
        self._hashes: dict[str, str] = {}
        self._matrices = {Status.CURRENT: _Matrix(), Status.PAST: _Matrix()}
        self._window: dict[str, list[tuple[datetime, WindowHit]]] = {}

    def apply(self, entry: Entry, vectors: Mapping[str, Vector], window_hit: WindowHit | None, at: datetime) -> None:
        """Take up a decision: its effects, the vectors of new and reworded points, and what the hash window will hold of it."""
        for fact in entry.effects:
            former = self._points.get(fact.point_id)
            if former is None or (former.text, former.slot) != (fact.text, fact.slot):
                self._hashes[fact.point_id] = text_hash(fact.text, fact.slot)
            self._points[fact.point_id] = fact
        self._vectors.update(vectors)
        for fact in entry.effects:
            self._place(fact.point_id)
        if window_hit is not None:
            self._window.setdefault(entry.text_hash, []).append((at, window_hit))

    def latest(self, fact: Fact) -> Fact:
        """Return a point as it stands now."""
        return self._points.get(fact.point_id, fact)

    def get(self, point_id: str) -> Fact | None:
        """Return a changed point, or None where the wave did not change it."""
        return self._points.get(point_id)

    def window(self, key: str, at: datetime, width: timedelta) -> WindowHit | None:
        """Return the wave's own latest entry of a text within the window around `at`."""
        hits = [hit for stated_at, hit in self._window.get(key, ()) if abs(stated_at - at) <= width]
        return hits[-1] if hits else None

    def exact(self, key: str, stored: Iterable[Fact]) -> tuple[Fact, ...]:
        """Return the current facts that say exactly this, by point id."""
        merged = {fact.point_id: fact for fact in stored if fact.point_id not in self._points}
        merged |= {point_id: self._points[point_id] for point_id, its in self._hashes.items() if its == key}
        return tuple(fact for _, fact in sorted(merged.items()) if fact.status is Status.CURRENT)

    def of_slot(self, slot: str, stored: Iterable[Fact], statuses: frozenset[Status]) -> list[Fact]:
        """Return the facts of a slot that have one of the statuses, by point id."""
        merged = {fact.point_id: fact for fact in stored}
        merged |= {point_id: fact for point_id, fact in self._points.items() if fact.slot == slot or point_id in merged}
        return [fact for _, fact in sorted(merged.items()) if fact.slot == slot and fact.status in statuses]

    def neighbours(self, hits: Sequence[Near], query: NeighbourQuery, limit: int) -> tuple[list[Near], bool]:
        """Return the nearest facts as they stand now, and whether that is certain.

        `hits` is the store's answer to `query`, of which the first `limit` are wanted. It is not certain where so many of them
        changed that others, which the store did not name, may belong to the first `limit`.
        """
        status = Status.PAST if query.past else Status.CURRENT
        kept = [hit for hit in map(self._latest, hits) if self._stays(hit, status)]
        complete = len(hits) < query.limit or len(kept) >= limit
        matrix = self._matrices[status]
        if matrix.ids:
            # Points that left this status stay in the matrix: they are asked for besides, and passed over.
            enough = len(kept) >= limit
            gone = 0 if enough else sum(self._points[point_id].status is not status for point_id in matrix.ids)
            floor = kept[limit - 1].similarity if enough else None
            for point_id, similarity in matrix.nearest(query.vector, limit + gone, floor):
                fact = self._points[point_id]
                if fact.status is status:
                    kept.append(Near(point_id, similarity, fact if similarity >= query.payload_floor else None))
        kept.sort(key=lambda hit: (-hit.similarity, hit.point_id))
        return kept[:limit], complete

    def _latest(self, hit: Near) -> Near:
        fact = self._points.get(hit.point_id)
        return hit if fact is None else Near(hit.point_id, hit.similarity, None if hit.fact is None else fact)

    def _stays(self, hit: Near, status: Status) -> bool:
        """Return whether the store's similarity of a hit still holds: its point keeps status and vector."""
        fact = self._points.get(hit.point_id)
        return fact is None or (fact.status is status and hit.point_id not in self._vectors)

    def retired(self) -> list[Fact]:
        """Return the changed points that say what does not hold any more, by point id."""
        return [fact for _, fact in sorted(self._points.items()) if fact.status in _RETIRED]

    def without_vector(self, status: Status) -> list[str]:
        """Return the changed points of a status whose vectors are not known here."""
        return [p for p, fact in self._points.items() if fact.status is status and p not in self._vectors]

    def learn(self, vectors: Mapping[str, Vector]) -> None:
        """Take up vectors of changed points, as the store holds them."""
        for point_id, vector in vectors.items():
            if point_id in self._points:
                self._vectors[point_id] = vector
                self._place(point_id)

    def _place(self, point_id: str) -> None:
        matrix = self._matrices.get(self._points[point_id].status)
        vector = self._vectors.get(point_id)
        if matrix is not None and vector is not None:
            matrix.put(point_id, vector)

    def vector(self, point_id: str) -> Vector | None:
        """Return the vector of a changed point, where it is known here."""
        return self._vectors.get(point_id)


def cosine(a: Vector, b: Vector) -> float:
    """Return the cosine of two vectors, rounded as everywhere."""
    left, right = a.astype(np.float64), b.astype(np.float64)
    return round_similarity(float((left * right).sum() / np.sqrt((left * left).sum() * (right * right).sum())))


def scored(hits: Iterable[Near]) -> list[Scored]:
    """Return those hits whose text is at hand."""
    return [Scored(hit.fact, hit.similarity) for hit in hits if hit.fact is not None]
