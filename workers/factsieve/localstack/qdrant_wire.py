"""The part of Qdrant's REST API that the local engine honours, as types: exactly the fields that are honoured, and no other.

Names and meanings: https://api.qdrant.tech. `qdrant_decode` says what happens to everything else.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

PointId = int | str
Payload = dict[str, Any]


class Strict(Struct, forbid_unknown_fields=True, gc=False):
    """Base of every request type: a field that is not declared is refused."""


class KeyOnly(Strict):
    """The field that `is_empty` or `is_null` asks about."""

    key: str


class Match(Strict):
    """`value`, `any` or `except`: exactly one."""

    value: str | int | bool | UnsetType = UNSET
    any: list[str | int] | UnsetType = UNSET
    except_: list[str | int] | UnsetType = msgspec.field(name="except", default=UNSET)


class Range(Strict):
    """Bounds of one kind: all numbers, or all date-times (RFC 3339)."""

    gt: float | str | None = None
    gte: float | str | None = None
    lt: float | str | None = None
    lte: float | str | None = None


class MinShould(Strict):
    """At least `min_count` of the conditions hold."""

    conditions: list["Condition"]
    min_count: Annotated[int, Meta(ge=0)]


class Filter(Strict):
    """A filter; a clause may hold one condition or a list of them."""

    must: "list[Condition] | Condition | None" = None
    should: "list[Condition] | Condition | None" = None
    must_not: "list[Condition] | Condition | None" = None
    min_should: MinShould | None = None


class Condition(Filter):
    """Any condition: on a field (`key`), on the id, on emptiness, or a nested filter. Which one it is, its fields tell."""

    key: str | UnsetType = UNSET
    match: Match | None = None
    range: Range | None = None
    has_id: list[PointId] | UnsetType = UNSET
    is_empty: bool | KeyOnly | None = None
    is_null: bool | KeyOnly | None = None


class Selector(Strict):
    """`include` or `exclude`: exactly one."""

    include: list[str] | UnsetType = UNSET
    exclude: list[str] | UnsetType = UNSET


WithPayload = bool | list[str] | Selector | None


class Point(Strict):
    """A point to store. `vector` is a list of numbers, or `{}` where the collection has no vectors."""

    id: PointId
    vector: list[float] | dict[str, Any]
    payload: Payload | None = None


UpdateMode = Literal["upsert", "insert_only", "update_only"]


class Upsert(Strict):
    """Body of PUT /points."""

    points: list[Point]
    update_filter: Filter | None = None
    update_mode: UpdateMode | None = None


class PointsSelector(Strict):
    """`points` or `filter`: exactly one."""

    points: list[PointId] | None = None
    filter: Filter | None = None


class SetPayload(Strict):
    """Body of POST and PUT /points/payload."""

    payload: Payload
    points: list[PointId] | None = None
    filter: Filter | None = None
    key: str | None = None


class DeletePayload(Strict):
    """Body of POST /points/payload/delete."""

    keys: list[str]
    points: list[PointId] | None = None
    filter: Filter | None = None


class Operation(Strict):
    """One operation of POST /points/batch: exactly one of the fields."""

    upsert: Upsert | UnsetType = UNSET
    delete: PointsSelector | UnsetType = UNSET
    set_payload: SetPayload | UnsetType = UNSET
    overwrite_payload: SetPayload | UnsetType = UNSET
    delete_payload: DeletePayload | UnsetType = UNSET


class Batch(Strict):
    """Body of POST /points/batch."""

    operations: list[Operation]


class Retrieve(Strict):
    """Body of POST /points."""

    ids: list[PointId]
    with_payload: WithPayload = None
    with_vector: bool | None = None


class Nearest(Strict):
    """The query by a vector."""

    nearest: list[float]


class SearchParams(Strict):
    """Search is always exact here, so these hints are taken and change nothing."""

    exact: bool | None = None
    hnsw_ef: int | None = None


class Query(Strict):
    """Body of POST /points/query."""

    query: list[float] | Nearest
    filter: Filter | None = None
    limit: int | None = None
    offset: int | None = None
    score_threshold: float | None = None
    with_payload: WithPayload = None
    with_vector: bool | None = None
    params: SearchParams | None = None


class QueryBatch(Strict):
    """Body of POST /points/query/batch."""

    searches: list[Query]


class OrderBy(Strict):
    """The order of a scroll; the field needs an index."""

    key: str
    direction: Literal["asc", "desc"] | None = None
    start_from: int | float | str | None = None


class Scroll(Strict):
    """Body of POST /points/scroll."""

    filter: Filter | None = None
    limit: int | None = None
    offset: PointId | None = None
    with_payload: WithPayload = None
    with_vector: bool | None = None
    order_by: str | OrderBy | None = None


class Count(Strict):
    """Body of POST /points/count."""

    filter: Filter | None = None
    exact: bool | None = None


class VectorParams(Strict, omit_defaults=True):
    """The one unnamed vector of a collection; nothing set (`vectors: {}`) means a collection without vectors."""

    size: int | UnsetType = UNSET
    distance: Literal["Cosine"] | UnsetType = UNSET
    on_disk: bool | UnsetType | None = UNSET
    datatype: Literal["float32"] | UnsetType | None = UNSET


class StrictMode(Strict, omit_defaults=True):
    """The limits of strict mode that are kept here."""

    enabled: bool | None = None
    max_query_limit: int | None = None
    unindexed_filtering_retrieve: bool | None = None
    unindexed_filtering_update: bool | None = None
    upsert_max_batchsize: int | None = None
    search_max_batchsize: int | None = None


class HnswConfig(Strict, omit_defaults=True):
    """Kept and reported; search is exact here, so it has nothing to tune."""

    m: int | None = None
    ef_construct: int | None = None
    full_scan_threshold: int | None = None
    max_indexing_threads: int | None = None
    on_disk: bool | None = None
    payload_m: int | None = None


class OptimizersConfig(Strict, omit_defaults=True):
    """Kept and reported; segments are not optimised here, which no answer shows."""

    deleted_threshold: float | None = None
    vacuum_min_vector_number: int | None = None
    default_segment_number: int | None = None
    max_segment_size: int | None = None
    memmap_threshold: int | None = None
    indexing_threshold: int | None = None
    flush_interval_sec: int | None = None


class CreateCollection(Strict, omit_defaults=True):
    """Body of PUT /collections/{name}. One shard, one replica."""

    vectors: VectorParams | None = None
    shard_number: Literal[1] | None = None
    replication_factor: Literal[1] | None = None
    write_consistency_factor: Literal[1] | None = None
    on_disk_payload: bool | None = None
    hnsw_config: HnswConfig | None = None
    optimizers_config: OptimizersConfig | None = None
    strict_mode_config: StrictMode | None = None
    metadata: Payload | None = None


class UpdateCollection(Strict):
    """Body of PATCH /collections/{name}."""

    strict_mode_config: StrictMode | None = None
    metadata: Payload | None = None


IndexType = Literal["keyword", "integer", "bool", "datetime", "float", "uuid"]


class IndexParams(Strict, omit_defaults=True):
    """The parameters of a payload index; which of them a type takes, `qdrant_engine` checks."""

    type: IndexType
    is_tenant: bool | None = None
    is_principal: bool | None = None
    lookup: bool | None = None
    range: bool | None = None
    on_disk: bool | None = None


class CreateIndex(Strict):
    """Body of PUT /index."""

    field_name: str
    field_schema: IndexType | IndexParams


class WriteParams(Strict):
    """Query parameters of a write. One node does all, so every ordering holds."""

    wait: bool = False
    ordering: Literal["weak", "medium", "strong"] | None = None
    timeout: Annotated[int, Meta(ge=1)] | None = None


class ReadParams(Strict):
    """Query parameters of a read. One node answers, so every consistency holds."""

    consistency: Annotated[int, Meta(ge=1)] | Literal["majority", "quorum", "all"] | None = None
    timeout: Annotated[int, Meta(ge=1)] | None = None


class AdminParams(Strict):
    """Query parameters of a request on a whole collection."""

    timeout: Annotated[int, Meta(ge=1)] | None = None


class NoParams(Strict):
    """No query parameters."""
