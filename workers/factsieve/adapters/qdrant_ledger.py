"""The ledger in Qdrant: records and pointers as points without vectors, insert-only."""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from qdrant_client import AsyncQdrantClient

from factsieve.adapters.qdrant_tools import (
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
from factsieve.core.errors import Bug, Transient
from factsieve.core.ids import decision_id
from factsieve.ports import LedgerPointer

_SCHEMA: Final = 1
_POINTS_PER_REQUEST: Final = 512
_BYTES_PER_REQUEST: Final = 8 << 20
_BODIES_PER_REQUEST: Final = 16
_MAJORITY: Final = "majority"
_INDEXES: Final[Mapping[str, str | Body]] = {
    "namespace": {"type": "keyword", "is_tenant": True},
    "kind": "keyword",
    "fact_ids": "keyword",
    "skips_only": "bool",
    "recorded_at": "datetime",
    "scrubs": "integer",
}
_OWN_FIELDS: Final = frozenset({"kind", "body", "digest", "scrubs", "event_key", "record_id", "index"})


class QdrantLedger:
    """A `Ledger` in the Qdrant collection `ledger`.

    `client` comes from `qdrant_tools.connect` and stays the caller's to close. `prefix` goes before the collection's name. Writes are
    ordered strongly and reads ask a majority of the replicas, so that two writers agree on who came first. Call `prepare` first.
    """

    def __init__(self, client: AsyncQdrantClient, *, prefix: str = "") -> None:
        self._client = client
        self._rest = Rest(client, collection_name(f"{prefix}ledger"))

    @property
    def collection(self) -> str:
        """Return the collection's name."""
        return self._rest.collection

    async def prepare(self, *, accept_old_server: bool = False) -> None:
        """Check the server, and create or check the collection. Raises `BadSettings` (says what to do), `Transient`."""
        await check_server(self._client, accept_old_server=accept_old_server)
        plan = CollectionPlan(self.collection, None, _INDEXES, {"schema": _SCHEMA}, {"on_disk_payload": True})
        await ensure_collection(self._client, plan)

    async def check(self) -> None:
        """Return if the collection answers. Raises `Transient` if not."""
        await self._rest.call("GET", "")

    async def lookup(self, event_keys: Sequence[str]) -> dict[str, LedgerPointer]:
        """Return the pointers of those events that have a decision. Raises `Transient`."""
        points = {_pointer_id(key): key for key in event_keys}
        rows = await self._rest.retrieve(list(points), ["event_key", "record_id", "index"], consistency=_MAJORITY)
        found = {}
        for point_id, row in rows.items():
            key = points[point_id]
            if row["event_key"] != key:
                raise Bug(f"events {row['event_key']} and {key} share the pointer {point_id}")
            found[key] = LedgerPointer(row["record_id"], row["index"])
        return found

    async def records(self, record_ids: Sequence[str]) -> dict[str, bytes]:
        """Return the stored records that exist. Raises `Transient`."""
        rows = await self._rest.retrieve(record_ids, ["body"], consistency=_MAJORITY)
        return {record_id: row["body"].encode() for record_id, row in rows.items()}

    async def insert(self, records: Mapping[str, tuple[bytes, Mapping[str, object]]]) -> dict[str, bytes]:
        """Insert records, leave existing ones alone, and return what is stored now under each id. Raises `Transient`.

        Read back are digests; the bodies only of those records that another writer had inserted before.
        """
        digests = {record_id: _digest(body) for record_id, (body, _) in records.items()}
        points = [_record(record_id, body, digests[record_id], fields) for record_id, (body, fields) in records.items()]
        await self._insert(points)
        stored = await self._rest.retrieve(list(records), ["digest"], consistency=_MAJORITY)
        if len(stored) != len(records):
            raise Bug(
                f"records {sorted(records.keys() - stored.keys())} were inserted into {self.collection} and are not there"
            )
        others = [record_id for record_id, row in stored.items() if row["digest"] != digests[record_id]]
        return {record_id: body for record_id, (body, _) in records.items()} | await self.records(others)

    async def point(self, pointers: Mapping[str, LedgerPointer]) -> None:
        """Insert pointers, leaving existing ones alone. Raises `Transient`."""
        await self._insert(
            [
                {
                    "id": _pointer_id(key),
                    "vector": {},
                    "payload": {
                        "kind": "pointer",
                        "event_key": key,
                        "record_id": pointer.record_id,
                        "index": pointer.index,
                    },
                }
                for key, pointer in pointers.items()
            ]
        )

    async def decided(self, decision_ids: Sequence[str]) -> dict[str, LedgerPointer]:
        """Return the pointers of those decisions that exist, by decision id. Raises `Transient`."""
        fields = ["kind", "record_id", "index"]
        rows = await self._rest.retrieve(decision_ids, fields, consistency=_MAJORITY)
        return {
            point_id: LedgerPointer(row["record_id"], row["index"])
            for point_id, row in rows.items()
            if row["kind"] == "pointer"
        }

    async def holding(self, namespace: str, fact_ids: Sequence[str]) -> AsyncIterator[tuple[str, bytes]]:
        """Yield id and body of every record that holds a text of one of these facts. Raises `Transient`."""
        if not fact_ids:
            return
        must = [matches("kind", "record"), matches("namespace", namespace), matches_any("fact_ids", fact_ids)]
        async for page in self._rest.scroll({"must": must}, ["record_id"], consistency=_MAJORITY):
            for start in range(0, len(page), _BODIES_PER_REQUEST):
                ids = [row["record_id"] for row in page[start : start + _BODIES_PER_REQUEST]]
                for record_id, body in (await self.records(ids)).items():
                    yield record_id, body

    async def scrub(self, records: Mapping[str, tuple[bytes, bytes]]) -> None:
        """Put other bodies in the place of stored ones. Raises `Transient`, also where a record is not as it was read.

        Each record counts how often it was scrubbed: only the next count may replace it, so that two writers can not undo each other.
        """
        stored = await self._rest.retrieve(list(records), True, consistency=_MAJORITY)
        operations: list[Body] = []
        for record_id, (read, body) in records.items():
            payload = stored[record_id]
            if payload["digest"] == _digest(body):
                continue
            if payload["digest"] != _digest(read):
                raise _moved(record_id)
            count = payload["scrubs"] + 1
            new = {**payload, "body": body.decode(), "digest": _digest(body), "scrubs": count, "skips_only": False}
            older = {"must": [{"key": "scrubs", "range": {"lt": count}}]}
            point = {"id": record_id, "vector": {}, "payload": new}
            operations.append({"upsert": {"points": [point], "update_mode": "update_only", "update_filter": older}})
        for operation in operations:  # one a request: each may be as large as a record can be
            await self._rest.update([operation], ordering="strong")
        written = await self._rest.retrieve(list(records), ["digest"], consistency=_MAJORITY)
        for record_id, (_, body) in records.items():
            if written[record_id]["digest"] != _digest(body):
                raise _moved(record_id)

    async def scan(self, namespace: str | None) -> AsyncIterator[bytes]:
        """Yield the bodies of all records, of one namespace or of all, in no particular order. Raises `Transient`."""
        async for page in self._rest.scroll(_records_of(namespace), ["body"], consistency=_MAJORITY):
            for row in page:
                yield row["body"].encode()

    async def count(self, namespace: str | None) -> int:
        """Return how many records there are, of one namespace or of all. Raises `Transient`."""
        return await self._rest.count(_records_of(namespace))

    async def pages(self, namespace: str | None) -> AsyncIterator[list[tuple[str, bytes, Mapping[str, object]]]]:
        """Yield id, body and indexed fields of every record, a page at a time. Raises `Transient`."""
        pages = self._rest.points(_records_of(namespace), _BODIES_PER_REQUEST, with_vector=False, consistency=_MAJORITY)
        async for page in pages:
            rows = [point["payload"] for point in page]
            yield [
                (row["record_id"], row["body"].encode(), {k: v for k, v in row.items() if k not in _OWN_FIELDS})
                for row in rows
            ]

    async def _insert(self, points: Sequence[Body]) -> None:
        for part in _parts(points):
            await self._rest.update([{"upsert": {"points": part, "update_mode": "insert_only"}}], ordering="strong")


def _records_of(namespace: str | None) -> Body:
    must = [matches("kind", "record")]
    if namespace is not None:
        must.append(matches("namespace", namespace))
    return {"must": must}


def _pointer_id(event_key: str) -> str:
    """Return the id of an event's pointer: that of its decision, so that one look-up serves both."""
    return decision_id(event_key)


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _moved(record_id: str) -> Transient:
    return Transient(SERVICE, f"ledger record {record_id} was changed meanwhile: read it again")


def _record(record_id: str, body: bytes, digest: str, fields: Mapping[str, object]) -> Body:
    if taken := _OWN_FIELDS & fields.keys():
        raise Bug(f"fields {sorted(taken)} of ledger record {record_id} are the ledger's own")
    return {
        "id": record_id,
        "vector": {},
        "payload": {
            **fields,
            "kind": "record",
            "record_id": record_id,
            "body": body.decode(),
            "digest": digest,
            "scrubs": 0,
        },
    }


def _parts(points: Sequence[Body]) -> list[list[Body]]:
    """Return the points in requests of bounded count and size (one point may be larger: the server has the last word)."""
    parts: list[list[Body]] = []
    size = 0
    for point in points:
        length = len(point["payload"].get("body", ""))
        if not parts or len(parts[-1]) == _POINTS_PER_REQUEST or size + length > _BYTES_PER_REQUEST:
            parts.append([])
            size = 0
        parts[-1].append(point)
        size += length
    return parts
