"""Values on their way between the REST API and the engine: selectors, orders, points, settings, and the engine's errors."""

from __future__ import annotations  # several types of qdrant_edge exist in its stubs only

import math
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

import msgspec
import numpy as np
import qdrant_edge as edge

from factsieve.localstack import qdrant_wire as wire
from factsieve.localstack.qdrant_decode import ApiError, not_here

P = ParamSpec("P")
Value = TypeVar("Value")
Json = object
"""What orjson can write."""

LARGEST_VECTOR: Final = 65_536
LARGEST_FLOAT32: Final = 3.4028234663852886e38
UPDATE_MODES: Final = {
    "upsert": edge.UpdateMode.Upsert,
    "insert_only": edge.UpdateMode.InsertOnly,
    "update_only": edge.UpdateMode.UpdateOnly,
}
INDEX_PARAMS: Final[dict[str, tuple[Callable[..., edge.PayloadSchemaParams], frozenset[str]]]] = {
    "keyword": (edge.KeywordIndexParams, frozenset({"is_tenant", "on_disk"})),
    "uuid": (edge.UuidIndexParams, frozenset({"is_tenant", "on_disk"})),
    "integer": (edge.IntegerIndexParams, frozenset({"lookup", "range", "is_principal", "on_disk"})),
    "float": (edge.FloatIndexParams, frozenset({"is_principal", "on_disk"})),
    "datetime": (edge.DatetimeIndexParams, frozenset({"is_principal", "on_disk"})),
    "bool": (edge.BoolIndexParams, frozenset({"on_disk"})),
}
_FAULTS_OF_THE_CALLER: Final = (
    "Vector dimension error",
    "Not existing vector name error",
    "No range index for `order_by`",
    "Wrong input",
    "Bad request",
)


def engine_value(build: Callable[P, Value], *arguments: P.args, **named: P.kwargs) -> Value:
    """Make a value of the engine. Raises ApiError (400) with the engine's own words if it refuses the arguments."""
    try:
        return build(*arguments, **named)
    except (TypeError, ValueError, OverflowError) as error:
        raise ApiError(400, f"Wrong input: {str(error).splitlines()[0]}") from None


def call_engine(function: Callable[P, Value], *arguments: P.args, **named: P.kwargs) -> Value:
    """Call the engine. Raises ApiError: 400 for the caller's faults, 404 for an absent point, 500 for the engine's own."""
    try:
        return function(*arguments, **named)
    except (TypeError, ValueError, OverflowError) as error:
        raise ApiError(400, f"Wrong input: {str(error).splitlines()[0]}") from None
    except Exception as error:
        message = str(error)
        if message.startswith("No point with id"):
            raise ApiError(404, f"Not found: {message}") from None
        status = 400 if message.startswith(_FAULTS_OF_THE_CALLER) else 500
        raise ApiError(status, f"{'Wrong input' if status == 400 else 'Service internal error'}: {message}") from error


def checked_vectors(given: wire.VectorParams | None) -> wire.VectorParams | None:
    """Return the configuration of the vector, or None for a collection without vectors. Raises ApiError (400, 422)."""
    if given is None or given == wire.VectorParams():
        return None
    if not isinstance(given.size, int) or given.distance is msgspec.UNSET:
        raise ApiError(400, "Format error in JSON body: vectors needs size and distance")
    if not 1 <= given.size <= LARGEST_VECTOR:
        message = f"[vectors.size: value {given.size} invalid, must be from 1 to {LARGEST_VECTOR}]"
        raise ApiError(422, f"Validation error in JSON body: {message}")
    return given


def edge_vectors(given: wire.VectorParams) -> edge.EdgeVectorParams:
    """Return the engine's form of a checked configuration."""
    assert isinstance(given.size, int)
    return edge.EdgeVectorParams(size=given.size, distance=edge.Distance.Cosine, on_disk=given.on_disk or None)


def check_vector(vector: list[float] | dict[str, Any], size: int | None) -> None:
    """Check a vector against the size of its collection (None: no vectors). Raises ApiError (400, 501)."""
    if isinstance(vector, dict):
        if vector:
            raise not_here("named vectors")
        if size is not None:
            raise not_here("points without the collection's vector")
        return
    if size is None:
        raise ApiError(400, "Wrong input: Not existing vector name error: ")
    if len(vector) != size:
        raise ApiError(400, f"Wrong input: Vector dimension error: expected dim: {size}, got {len(vector)}")
    # JSON has no NaN and no infinity; a number beyond a 32-bit float would become infinite. The norm bounds every number.
    if not math.hypot(*vector) <= LARGEST_FLOAT32 and max(map(abs, vector)) > LARGEST_FLOAT32:
        raise ApiError(400, "Wrong input: a vector's numbers must be finite 32-bit floats")


def edge_point(point: wire.Point, size: int | None) -> edge.Point:
    """Return the engine's form of a point. Raises ApiError (400, 501)."""
    check_vector(point.vector, size)
    try:
        return edge.Point(point.id, point.vector, point.payload)
    except (TypeError, ValueError, OverflowError) as error:
        message = str(error).splitlines()[0]
        raise ApiError(400, f"Format error in JSON body: point {point.id!r}: {message}") from None


def selectors(
    payload: wire.WithPayload, vector: bool | None, *, default: bool
) -> tuple[bool | list[str] | edge.PayloadSelector, bool]:
    """Return what to answer of payload and vector; `default` is for a payload selector that is not given. Raises ApiError (400)."""
    with_vector = vector is True
    if payload is None:
        return default, with_vector
    if not isinstance(payload, wire.Selector):
        return payload, with_vector
    include, exclude = payload.include, payload.exclude
    if isinstance(include, list) and not isinstance(exclude, list):
        return engine_value(edge.PayloadSelector.Include, include), with_vector
    if isinstance(exclude, list) and not isinstance(include, list):
        return engine_value(edge.PayloadSelector.Exclude, exclude), with_vector
    raise ApiError(400, "Format error in JSON body: with_payload needs exactly one of include and exclude")


def order_by(given: str | wire.OrderBy | None) -> edge.OrderBy | None:
    """Return the engine's form of an order. Raises ApiError (400)."""
    if given is None:
        return None
    order = wire.OrderBy(key=given) if isinstance(given, str) else given
    direction = edge.Direction.Desc if order.direction == "desc" else edge.Direction.Asc
    return engine_value(edge.OrderBy, order.key, direction, order.start_from)


def edge_index(given: wire.IndexParams) -> edge.PayloadSchemaParams:
    """Return the engine's form of an index. Raises ApiError (400) for a parameter that its type does not have."""
    build, known = INDEX_PARAMS[given.type]
    params = {k: v for k, v in msgspec.structs.asdict(given).items() if k != "type" and v is not None}
    if foreign := sorted(set(params) - known):
        raise ApiError(400, f"Format error in JSON body: {given.type} index has no parameter {foreign[0]}")
    return build(**params)


def read_index(found: edge.PayloadIndexInfo) -> wire.IndexParams:
    """Return the API's form of an index of the engine."""
    kind = str(found.data_type).rpartition(".")[2].lower()
    params = {name: getattr(found.params, name, None) for name in INDEX_PARAMS[kind][1]}
    return msgspec.convert({"type": kind, **params}, wire.IndexParams)


def record(point: edge.Record, *, ordered: bool = False) -> dict[str, Json]:
    """Return the answer's form of a stored point."""
    made: dict[str, Json] = {"id": point.id}
    if (payload := point.payload) is not None:
        made["payload"] = payload
    if (vector := point.vector) is not None:
        made["vector"] = _vector(vector)
    if ordered:
        made["order_value"] = point.order_value
    return made


def scored(point: edge.ScoredPoint) -> dict[str, Json]:
    """Return the answer's form of a found point."""
    made: dict[str, Json] = {"id": point.id, "version": point.version, "score": point.score}
    if (payload := point.payload) is not None:
        made["payload"] = payload
    if (vector := point.vector) is not None:
        made["vector"] = _vector(vector)
    return made


def _vector(vector: edge.Vector) -> Json:
    # As 32-bit floats the numbers are written with no more digits than they have.
    return np.asarray(vector, dtype=np.float32) if isinstance(vector, list) else {}


def settings(config: wire.CreateCollection) -> dict[str, Json]:
    """Return `config` of GET /collections/{name}: what was set, and Qdrant's defaults for the rest."""
    hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, "max_indexing_threads": 0, "on_disk": False}
    optimizers = {
        "deleted_threshold": 0.2,
        "vacuum_min_vector_number": 1000,
        "default_segment_number": 1,
        "flush_interval_sec": 5,
    }
    return {
        "params": {
            "vectors": {} if config.vectors is None else msgspec.to_builtins(config.vectors),
            "shard_number": 1,
            "replication_factor": 1,
            "write_consistency_factor": 1,
            "on_disk_payload": config.on_disk_payload is not False,
        },
        "hnsw_config": hnsw | (msgspec.to_builtins(config.hnsw_config) or {}),
        "optimizer_config": optimizers | (msgspec.to_builtins(config.optimizers_config) or {}),
        "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        "quantization_config": None,
        "strict_mode_config": msgspec.to_builtins(config.strict_mode_config),
        "metadata": config.metadata,
    }
