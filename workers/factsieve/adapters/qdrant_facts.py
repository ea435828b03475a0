"""Facts in Qdrant: one collection per embedder, one point per row of a fact's story."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient

from factsieve.adapters.checks import checked_queries, checked_writes
from factsieve.adapters.qdrant_tools import (
    PAGE_SIZE,
    SERVICE,
    Body,
    CollectionPlan,
    Rest,
    check_server,
    collection_name,
    ensure_collection,
    matches,
    matches_any,
)
from factsieve.adapters.rows import BELIEVED, SLOT_LIMIT, by_record, by_validity, latest_of_slot, searched_by
from factsieve.core.errors import Bug, Transient
from factsieve.core.facts import FOREVER, Fact, Status, round_similarity
from factsieve.core.ids import text_hash
from factsieve.ports import FactWrite, Near, NeighbourQuery, Vector

_SCHEMA: Final = 1
_TIE_MARGIN: Final = 2
_MAX_HITS: Final = 1024
_QUERIES_PER_REQUEST: Final = 512
_POINTS_PER_REQUEST: Final = 256
_PAGE_POINTS: Final = 256
_BYTES_PER_REQUEST: Final = 16 << 20
"""Servers refuse requests above 32 MB (unless told otherwise); sizes are estimated with room to spare."""
_NUMBER_BYTES: Final = 14
_FIELDS_BYTES: Final = 4096
_ESCAPED_BYTES: Final = 6
_CURRENT: Final = matches("status", Status.CURRENT)
_INDEXES: Final[Mapping[str, str | Body]] = {
    "namespace": {"type": "keyword", "is_tenant": True},
    "status": "keyword",
    "slot": "keyword",
    "text_hash": "keyword",
    "fact_id": "keyword",
    "valid_from": "datetime",
    "valid_to": "datetime",
    "recorded_at": "datetime",
    "retired_at": "datetime",
    "version": "integer",
}

_SETTINGS: Final[Mapping[str, object]] = {"hnsw_config": {"m": 0, "payload_m": 16}}
"""Every query names its namespace, so graphs are built per namespace (those that are large enough) and none over all of them."""

Found = list[tuple[str, float]]


class QdrantFacts:
    """A `FactStore` in a Qdrant collection named `facts-<model>-<dimension>-<fingerprint>`.

    `client` comes from `qdrant_tools.connect` and stays the caller's to close. `model`, `dimension` and `fingerprint` are the
    embedder's. `prefix` goes before the collection's name. `exact` asks for exhaustive search instead of the HNSW graph.
    `read_consistency` (a number of replicas, "majority", "quorum" or "all") is for replicated clusters. Call `prepare` first.
    """

    def __init__(
        self,
        client: AsyncQdrantClient,
        *,
        model: str,
        dimension: int,
        fingerprint: str,
        prefix: str = "",
        exact: bool = False,
        read_consistency: str | int | None = None,
    ) -> None:
        self._client = client
        self._identity = {"schema": _SCHEMA, "model": model, "dimension": dimension, "fingerprint": fingerprint}
        self._dimension = dimension
        self._exact = exact
        self._reading = read_consistency
        self._rest = Rest(client, collection_name(f"{prefix}facts", model, dimension, fingerprint))

    @property
    def collection(self) -> str:
        """Return the collection's name."""
        return self._rest.collection

    async def prepare(self, *, accept_old_server: bool = False) -> None:
        """Check the server, and create or check the collection. Raises `BadSettings` (says what to do), `Transient`."""
        await check_server(self._client, accept_old_server=accept_old_server)
        plan = CollectionPlan(self.collection, self._dimension, _INDEXES, self._identity, _SETTINGS)
        await ensure_collection(self._client, plan)

    async def check(self) -> None:
        """Return if the collection answers. Raises `Transient` if not."""
        await self._rest.call("GET", "")

    async def neighbours(self, queries: Sequence[NeighbourQuery]) -> list[list[Near]]:
        """Return for each query, in order, its nearest facts. Raises `Bug` for a bad vector, `Transient`.

        Ids and scores come in one request for all queries, the payloads of the hits at or above the floors in a second one.
        """
        vectors = checked_queries(queries, self._dimension)
        found = await self._found(queries, vectors)
        floors = [query.payload_floor for query in queries]
        wanted = {point for hits, floor in zip(found, floors, strict=True) for point, score in hits if score >= floor}
        facts = await self.get(sorted(wanted))
        return [self._near(query, hits, facts) for query, hits in zip(queries, found, strict=True)]

    def _near(self, query: NeighbourQuery, hits: Found, facts: Mapping[str, Fact]) -> list[Near]:
        statuses = searched_by(query)
        near = []
        for point_id, similarity in hits:
            fact = facts.get(point_id) if similarity >= query.payload_floor else None
            if fact is None and similarity >= query.payload_floor:
                raise Transient(SERVICE, f"point {point_id} was found and is not there: a replica lags behind")
            if fact is not None and (fact.status not in statuses or fact.namespace != query.namespace):
                continue  # another writer changed it between the two requests
            near.append(Near(point_id, similarity, fact))
        return near

    async def _found(self, queries: Sequence[NeighbourQuery], vectors: NDArray[np.float32]) -> list[Found]:
        """Return ids and similarities, best first; where a tie runs over the limit more is asked for, until it is settled."""
        found: list[Found] = [[] for _ in queries]
        asked = {number: query.limit + _TIE_MARGIN for number, query in enumerate(queries)}
        while asked:
            numbers = list(asked)
            searches = [self._search(queries[number], vectors[number], asked[number]) for number in numbers]
            for number, hits in zip(numbers, await self._searched(searches), strict=True):
                limit = queries[number].limit
                found[number] = hits[:limit]
                tied = len(hits) >= asked[number] > limit and hits[-1][1] == hits[limit - 1][1]
                if tied and asked[number] < max(_MAX_HITS, 2 * limit):
                    asked[number] *= 4
                else:
                    del asked[number]
        return found

    def _search(self, query: NeighbourQuery, vector: NDArray[np.float32], limit: int) -> Body:
        condition = {"must": [matches("namespace", query.namespace), matches_any("status", searched_by(query))]}
        search: Body = {
            "query": vector,
            "filter": condition,
            "limit": limit,
            "with_payload": False,
            "with_vector": False,
        }
        if self._exact:
            search["params"] = {"exact": True}
        return search

    async def _searched(self, searches: Sequence[Body]) -> list[Found]:
        answers: list[Any] = []
        most = max(1, min(_QUERIES_PER_REQUEST, _BYTES_PER_REQUEST // (self._dimension * _NUMBER_BYTES)))
        for start in range(0, len(searches), most):
            body = {"searches": searches[start : start + most]}
            answers += await self._rest.call("POST", "/points/query/batch", body, {"consistency": self._reading})
        return [_best_first(answer["points"]) for answer in answers]

    async def by_slot(self, slots: Sequence[tuple[str, str]], *, past: bool = False) -> list[list[Fact]]:
        """Return for each (namespace, slot) its current facts, with `past` the past rows too. Raises `Transient`."""
        if not slots:
            return []
        statuses = matches_any("status", [Status.CURRENT, Status.PAST] if past else [Status.CURRENT])
        pages = self._rest.scroll(_pairs("slot", slots, statuses), consistency=self._reading)
        found: dict[tuple[str, str], list[Fact]] = {pair: [] for pair in slots}
        count = 0
        async for page in pages:
            for fact in _facts(page):
                found[fact.namespace, fact.slot or ""].append(fact)
            count += len(page)
            if count > 4 * SLOT_LIMIT * len(found):  # one of them holds far more than anybody may see
                return await self._by_long_slot(slots, statuses)
        return [latest_of_slot(found[pair]) for pair in slots]

    async def _by_long_slot(self, slots: Sequence[tuple[str, str]], statuses: Body) -> list[list[Fact]]:
        found = []
        for pair in slots:
            condition = _pairs("slot", [pair], statuses)
            rows = await self._rest.ordered(condition, "valid_from", SLOT_LIMIT, latest=True, consistency=self._reading)
            found.append(latest_of_slot(_facts(rows)))
        return found

    async def by_text(self, keys: Sequence[tuple[str, str]]) -> list[list[Fact]]:
        """Return for each (namespace, text hash) the current facts that say exactly this, by point id. Raises `Transient`."""
        if not keys:
            return []
        found: dict[tuple[str, str], list[Fact]] = {key: [] for key in keys}
        pages = self._rest.scroll(_pairs("text_hash", keys, _CURRENT), consistency=self._reading)
        async for page in pages:
            for fact, payload in zip(_facts(page), page, strict=True):
                found[fact.namespace, payload["text_hash"]].append(fact)
        return [found[key] for key in keys]

    async def get(self, point_ids: Sequence[str]) -> dict[str, Fact]:
        """Return the points that exist, whatever their status. Raises `Transient`."""
        rows = await self._rest.retrieve(point_ids, True, consistency=self._reading)
        return {point_id: _fact(payload) for point_id, payload in rows.items()}

    async def vectors(self, point_ids: Sequence[str]) -> dict[str, Vector]:
        """Return the stored vectors of the points that exist. Raises `Transient`."""
        found: dict[str, Vector] = {}
        for start in range(0, len(point_ids), PAGE_SIZE):
            body: Body = {
                "ids": list(point_ids[start : start + PAGE_SIZE]),
                "with_payload": False,
                "with_vector": True,
            }
            for point in await self._rest.call("POST", "/points", body, {"consistency": self._reading}):
                found[point["id"]] = np.asarray(point["vector"], dtype=np.float32)
        return found

    async def history(self, namespace: str, fact_id: str) -> list[Fact]:
        """Return every row of a fact, in order of `recorded_at`, then revision. Raises `Transient`."""
        return sorted(await self._all([matches("namespace", namespace), matches("fact_id", fact_id)]), key=by_record)

    async def select(
        self,
        namespace: str | None,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        current_only: bool = True,
        limit: int | None = None,
    ) -> list[Fact]:
        """Return facts in order of `valid_from`, then point id. Raises `Transient`."""
        must = _of_namespace(namespace)
        must += _selection(as_of, known_at, current_only)
        if limit is not None and limit < 1:
            return []
        if limit is None:
            return sorted(await self._all(must), key=by_validity)
        rows = await self._rest.ordered({"must": must}, "valid_from", limit, latest=False, consistency=self._reading)
        facts = {fact.point_id: fact for fact in _facts(rows)}
        if len(facts) == limit:  # of several that became true at the last instant, the first by id belong to the answer
            last = max(fact.valid_from for fact in facts.values())
            tied = await self._all([*must, _between("valid_from", gte=last, lte=last)])
            facts |= {fact.point_id: fact for fact in tied}
        return sorted(facts.values(), key=by_validity)[:limit]

    async def count(self, namespace: str | None) -> int:
        """Return how many points there are, of one namespace or of all. Raises `Transient`."""
        return await self._rest.count({"must": _of_namespace(namespace)})

    async def pages(self, namespace: str | None) -> AsyncIterator[list[tuple[Fact, Vector]]]:
        """Yield every point with its vector, a page at a time, in order of point id. Raises `Transient`."""
        condition = {"must": _of_namespace(namespace)}
        async for page in self._rest.points(condition, _PAGE_POINTS, with_vector=True, consistency=self._reading):
            yield [(_fact(point["payload"]), np.asarray(point["vector"], dtype=np.float32)) for point in page]

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
        """Return the latest facts by `valid_from`, then point id, latest first; with `before` those in front of that place.

        Reads no more than the page, and those that became true at its very ends. Raises `Transient`.
        """
        must = [] if namespace is None else [matches("namespace", namespace)]
        must += _selection(as_of, known_at, current_only)
        if limit < 1:
            return []
        upto = [] if before is None else [_between("valid_from", lt=before[0])]
        rows = await self._rest.ordered(
            {"must": [*must, *upto]}, "valid_from", limit, latest=True, consistency=self._reading
        )
        facts = {fact.point_id: fact for fact in _facts(rows)}
        ends = set() if before is None else {before[0]}
        if len(facts) == limit:
            ends.add(min(fact.valid_from for fact in facts.values()))
        for end in ends:  # the order among those of one instant is ours
            tied = await self._all([*must, _between("valid_from", gte=end, lte=end)])
            facts |= {fact.point_id: fact for fact in tied}
        found = [fact for fact in facts.values() if before is None or by_validity(fact) < before]
        return sorted(found, key=by_validity, reverse=True)[:limit]

    async def _all(self, must: list[Body]) -> list[Fact]:
        return [
            fact async for page in self._rest.scroll({"must": must}, consistency=self._reading) for fact in _facts(page)
        ]

    async def write(self, writes: Sequence[FactWrite]) -> None:
        """Perform absolute writes. Raises `Bug` for a bad vector or a point that is written twice, `Transient`."""
        vectors = checked_writes(writes, self._dimension)
        for part in _parts(writes, self._dimension):
            await self._rest.update(_operations(writes[part], vectors[part]))


def _best_first(points: Sequence[Body]) -> Found:
    ordered = sorted([(-round_similarity(point["score"]), point["id"]) for point in points])
    return [(point_id, -negated) for negated, point_id in ordered]


def _parts(writes: Sequence[FactWrite], dimension: int) -> Iterator[slice]:
    """Yield the slices of the writes that go into one request each."""
    start = size = 0
    for number, write in enumerate(writes):
        fact = write.fact
        attributes = 0 if fact.attributes is None else len(msgspec.json.encode(fact.attributes))
        text = _ESCAPED_BYTES * len(fact.text)
        length = dimension * _NUMBER_BYTES + text + attributes + _FIELDS_BYTES
        if number > start and (number - start == _POINTS_PER_REQUEST or size + length > _BYTES_PER_REQUEST):
            yield slice(start, number)
            start, size = number, 0
        size += length
    if start < len(writes):
        yield slice(start, len(writes))


def _operations(writes: Sequence[FactWrite], vectors: NDArray[np.float32]) -> list[Body]:
    """Return one operation for the inserts, and one for the updates of each target version."""
    inserts: list[Body] = []
    updates: dict[int, list[Body]] = {}
    for write, vector in zip(writes, vectors, strict=True):
        point = {"id": write.fact.point_id, "vector": vector, "payload": _payload(write.fact)}
        (inserts if write.insert else updates.setdefault(write.fact.version, [])).append(point)
    operations: list[Body] = [{"upsert": {"points": inserts, "update_mode": "insert_only"}}] if inserts else []
    for version, points in updates.items():
        older = {"must": [{"key": "version", "range": {"lt": version}}]}
        operations.append({"upsert": {"points": points, "update_mode": "update_only", "update_filter": older}})
    return operations


def _payload(fact: Fact) -> Body:
    payload: Body = msgspec.to_builtins(fact)
    # Filters and orders need these, whether or not they have their default value.
    payload["valid_to"] = fact.valid_to
    payload["retired_at"] = fact.retired_at
    payload["text_hash"] = text_hash(fact.text, fact.slot)
    return payload


def _of_namespace(namespace: str | None) -> list[Body]:
    return [] if namespace is None else [matches("namespace", namespace)]


def _facts(payloads: Iterable[Body]) -> list[Fact]:
    return [_fact(payload) for payload in payloads]


def _fact(payload: Body) -> Fact:
    try:
        return msgspec.convert(payload, Fact)
    except msgspec.ValidationError as error:
        raise Bug(f"point {payload.get('point_id')!r} holds no fact that this version can read: {error}") from error


def _pairs(key: str, pairs: Sequence[tuple[str, str]], *also: Body) -> Body:
    """Return the filter for any of the (namespace, value) pairs, grouped by namespace."""
    groups: dict[str, set[str]] = {}
    for namespace, value in pairs:
        groups.setdefault(namespace, set()).add(value)
    should = [
        {"must": [matches("namespace", namespace), matches_any(key, sorted(values))]}
        for namespace, values in groups.items()
    ]
    return {"must": [*also, *should[0]["must"]]} if len(should) == 1 else {"must": list(also), "should": should}


def _between(key: str, **bounds: datetime) -> Body:
    return {"key": key, "range": bounds}


def _selection(as_of: datetime | None, known_at: datetime | None, current_only: bool) -> list[Body]:
    """Return the conditions of `rows.selection`, as filters."""
    if as_of is None and known_at is None:
        return [_CURRENT] if current_only else []
    if known_at is None:
        must = [matches_any("status", sorted(BELIEVED))]
    else:
        told = sorted(set(Status) - {Status.ERASED})
        must = [matches_any("status", told), _between("recorded_at", lte=known_at), _between("retired_at", gt=known_at)]
    if as_of is None:
        return [*must, _between("valid_to", gte=FOREVER)]
    return [*must, _between("valid_from", lte=as_of), _between("valid_to", gt=as_of)]
