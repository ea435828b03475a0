"""The local engine ignores no field and is never more lenient than Qdrant: what it does not honour, it answers with 501."""

from collections.abc import Iterator
from typing import Any, get_args

import httpx
import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter
from qdrant_client.http import models

from factsieve.localstack import qdrant_wire as wire
from factsieve.localstack.qdrant_decode import CLIENT_MODELS, ApiError, decode_params
from factsieve.localstack.qdrant_engine import Engine
from factsieve.localstack.qdrant_server import Api

VECTOR = [1.0, 0.0, 0.0]
SEARCH = {"query": VECTOR}
POINT = {"id": 1, "vector": VECTOR}


REQUESTS = {
    wire.Upsert: ("PUT", "c", "points"),
    wire.PointsSelector: ("POST", "c", "points", "delete"),
    wire.SetPayload: ("POST", "c", "points", "payload"),
    wire.DeletePayload: ("POST", "c", "points", "payload", "delete"),
    wire.Batch: ("POST", "c", "points", "batch"),
    wire.Retrieve: ("POST", "c", "points"),
    wire.Query: ("POST", "c", "points", "query"),
    wire.QueryBatch: ("POST", "c", "points", "query", "batch"),
    wire.Scroll: ("POST", "c", "points", "scroll"),
    wire.Count: ("POST", "c", "points", "count"),
    wire.CreateCollection: ("PUT", "new"),
    wire.UpdateCollection: ("PATCH", "other"),
    wire.CreateIndex: ("PUT", "other", "index"),
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The server's answers without HTTP, over an engine of its own."""
    engine = Engine(tmp_path_factory.mktemp("engine"))
    api = Api(engine)
    for name in ("c", "other"):
        answer(api, wire.CreateCollection, {"vectors": {"size": 3, "distance": "Cosine"}}, ("PUT", name))
    yield api
    engine.close()


def answer(api: Api, kind: type, body: Any, request: tuple[str, ...] | None = None) -> Any:
    method, *path = request or REQUESTS[kind]
    return api.answer(method, ["collections", *path], orjson.dumps(body), {})


@pytest.fixture
def collection(http: httpx.Client, request: pytest.FixtureRequest):
    name = f"strict-{abs(hash(request.node.name))}"
    assert http.put(f"/collections/{name}", json={"vectors": {"size": 3, "distance": "Cosine"}}).status_code == 200
    yield f"/collections/{name}"
    http.delete(f"/collections/{name}")


@pytest.mark.stack
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        # known to Qdrant, not honoured here
        ("POST", "/points/query", {**SEARCH, "prefetch": []}),
        ("POST", "/points/query", {**SEARCH, "using": "text"}),
        ("POST", "/points/query", {**SEARCH, "lookup_from": {"collection": "x"}}),
        ("POST", "/points/query", {**SEARCH, "shard_key": "a"}),
        ("POST", "/points/query", {**SEARCH, "with_vector": ["text"]}),
        ("POST", "/points/query", {**SEARCH, "params": {"quantization": {"ignore": True}}}),
        ("POST", "/points/query", {**SEARCH, "params": {"indexed_only": True}}),
        ("POST", "/points/query", {"query": 7}),
        ("POST", "/points/query", {"query": {"fusion": "rrf"}}),
        ("POST", "/points/query", {"query": {"nearest": VECTOR, "mmr": {"diversity": 0.5}}}),
        ("POST", "/points/query", {"query": {"indices": [1], "values": [1.0]}}),
        ("POST", "/points/query", {}),
        ("POST", "/points/query", {**SEARCH, "filter": {"must": [{"key": "a", "match": {"text": "x"}}]}}),
        ("POST", "/points/query", {**SEARCH, "filter": {"must": [{"key": "a", "values_count": {"gt": 1}}]}}),
        ("POST", "/points/query", {**SEARCH, "filter": {"must": [{"nested": {"key": "a", "filter": {}}}]}}),
        ("POST", "/points/query", {**SEARCH, "filter": {"must": [{"has_vector": "x"}]}}),
        ("POST", "/points/query", {**SEARCH, "filter": {"must": [{"key": "a", "match": {"value": 1}, "is_null": False}]}}),
        ("PUT", "/points", {"batch": {"ids": [1], "vectors": [VECTOR]}}),
        ("PUT", "/points", {"points": [POINT], "shard_key": "a"}),
        ("PUT", "/points", {"points": [{"id": 1, "vector": {"text": VECTOR}}]}),
        ("PUT", "/points", {"points": [{"id": 1, "vector": {}}]}),
        ("PUT", "/points", {"points": [{"id": 1, "vector": [VECTOR]}]}),
        ("PUT", "/index", {"field_name": "a", "field_schema": "text"}),
        ("PUT", "/index", {"field_name": "a", "field_schema": "geo"}),
        ("PUT", "/index", {"field_name": "a", "field_schema": {"type": "keyword", "enable_hnsw": False}}),
        ("PUT", "/index", {"field_name": "a"}),
        ("PATCH", "", {"optimizers_config": {"indexing_threshold": 1}}),
        ("PATCH", "", {"strict_mode_config": {"read_rate_limit": 1}}),
        ("POST", "/points/batch", {"operations": [{"clear_payload": {"points": [1]}}]}),
        ("POST", "/points/payload/clear", {"points": [1]}),
        ("POST", "/points/query/groups", {**SEARCH, "group_by": "a"}),
        ("POST", "/facet", {"key": "a"}),
        ("GET", "/points/1", None),
        ("GET", "/snapshots", None),
        # unknown to anybody
        ("POST", "/points/query", {**SEARCH, "limmit": 3}),
        ("POST", "/points/query", {**SEARCH, "filter": {"musst": []}}),
        ("POST", "/points/query", {**SEARCH, "filter": {"must": [{"key": "a", "match": {"value": 1, "valu": 2}}]}}),
        ("PUT", "/points", {"points": [{**POINT, "payloads": {}}]}),
        ("PUT", "/points", {"points": [POINT], "update_condition": {}}),
        ("POST", "/points/scroll", {"order": "id"}),
        ("POST", "/points", {"ids": [1], "with_vectors": True}),
        ("POST", "/points/delete", {"points": [1], "when": {}}),
    ],
)  # fmt: skip
def test_what_is_not_honoured_is_said(
    http: httpx.Client, collection: str, method: str, path: str, body: dict[str, Any] | None
) -> None:
    """A field, value or request that the engine does not honour is answered 501, and nothing is done."""
    answer = http.request(method, collection + path, content=None if body is None else orjson.dumps(body))
    assert answer.status_code == 501, answer.text
    assert "Not part of the local Qdrant engine" in answer.json()["status"]["error"]
    assert http.post(f"{collection}/points/count", json={}).json()["result"] == {"count": 0}


@pytest.mark.stack
@pytest.mark.parametrize(
    "body",
    [
        {"vectors": {"size": 3, "distance": "Dot"}},
        {"vectors": {"text": {"size": 3, "distance": "Cosine"}}},
        {"vectors": {"size": 3, "distance": "Cosine", "multivector_config": {"comparator": "max_sim"}}},
        {"vectors": {"size": 3, "distance": "Cosine", "datatype": "float16"}},
        {"sparse_vectors": {"text": {}}},
        {"quantization_config": {"scalar": {"type": "int8"}}},
        {"shard_number": 2},
        {"replication_factor": 2},
        {"sharding_method": "custom"},
        {"strict_mode_config": {"max_points_count": 5}},
        {"optimizers_config": {"prevent_unoptimized": True}},
        {"wal_config": {"wal_capacity_mb": 1}},
        {"vektors": {}},
    ],
)
def test_collections_that_can_not_be_made_are_not_made(http: httpx.Client, body: dict[str, Any]) -> None:
    """A configuration that would not be honoured makes no collection."""
    answer = http.put("/collections/never", json=body)
    assert answer.status_code == 501, answer.text
    assert http.get("/collections/never/exists").json()["result"] == {"exists": False}


@pytest.mark.stack
def test_other_refusals(http: httpx.Client, collection: str) -> None:
    """Unknown query parameters, other content types, impossible names and oversized bodies are refused."""
    points = {"points": [POINT]}
    assert http.put(f"{collection}/points?wait=true&durable=yes", json=points).status_code == 501
    assert http.put(f"{collection}/points?wait=perhaps", json=points).status_code == 400
    assert (
        http.put(f"{collection}/points?ordering=strong&timeout=3", json=points).json()["result"]["status"]
        == "acknowledged"
    )
    assert http.post(f"{collection}/points?consistency=majority", json={"ids": [1]}).status_code == 200
    assert http.post(f"{collection}/points?consistency=2", json={"ids": [1]}).status_code == 200
    assert http.post(f"{collection}/points?consistency=most", json={"ids": [1]}).status_code == 400
    text = http.post(f"{collection}/points", content=b'{"ids": [1]}', headers={"content-type": "text/plain"})
    assert text.status_code == 415
    for name in ("a%2Fb", "a%3Ab", "..%2F..%2Fetc", "x" * 256):
        assert http.put(f"/collections/{name}", json={}).status_code == 422
    assert http.put(f"{collection}/points", content=b" " * (32 * 1024 * 1024 + 1)).status_code == 413
    assert http.get("/telemetry").status_code == 501
    assert http.get("/nothing").status_code == 404


@pytest.mark.stack
def test_hostile_json_is_refused_and_survived(http: httpx.Client, collection: str) -> None:
    """Deep nesting, broken Unicode and numbers beyond a 32-bit float are refused; the server goes on."""
    deep = b'{"points": [{"id": 1, "vector": [1, 2, 3], "payload": {"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}]}"
    for body in (
        deep,
        b"[" * 100_000,
        b'{"points": [{"id": 1, "vector": [1, 2, 3], "payload": {"a": "\xff"}}]}',
        b'{"points": [{"id": 1, "vector": [1, 2, 3], "payload": {"a": "\\ud800"}}]}',
        b'{"points": [{"id": 1, "vector": [1, 2, 1e39]}]}',
        b'{"points": [{"id": 1, "vector": [1, 2, 1e999]}]}',
    ):
        assert http.put(f"{collection}/points", content=body).status_code == 400, body[:80]
    largest = {"points": [{"id": 1, "vector": [3.4e38, -3.4e38, 3.4e38]}]}
    assert http.put(f"{collection}/points", json=largest).status_code == 200
    assert http.post(f"{collection}/points/count", json={}).json()["result"] == {"count": 1}


def model_of(kind: type) -> type[BaseModel]:
    return getattr(models, CLIENT_MODELS[kind])


@pytest.mark.parametrize("kind", [kind for kind in CLIENT_MODELS if isinstance(model_of(kind), type)])
def test_every_honoured_field_is_a_field_of_qdrant(kind: type) -> None:
    """No type knows a field that qdrant-client's model of the same body does not."""
    fields = {field.encode_name for field in msgspec.structs.fields(kind)}
    known = {found.alias or name for name, found in model_of(kind).model_fields.items()}
    assert fields <= known | ({"upsert", "delete"} if kind is wire.Operation else set())


def test_every_mode_and_type_is_one_of_qdrant() -> None:
    """The values of enumerations are Qdrant's, all of them where the engine can do all."""
    assert set(get_args(wire.UpdateMode)) == {mode.value for mode in models.UpdateMode}
    assert set(get_args(wire.IndexType)) < {kind.value for kind in models.PayloadSchemaType}


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["a", "", "2026-01-01T00:00:00Z", "asc", "upsert", "keyword", "Cosine", "00000000-0000-0000-0000-000000000001"]),
)  # fmt: skip
KINDS = [kind for kind in vars(wire).values() if isinstance(kind, type) and issubclass(kind, wire.Strict)]
FIELDS = {field.encode_name for kind in KINDS for field in msgspec.structs.fields(kind)}
NAMES = st.sampled_from([*sorted(FIELDS), "nested", "prefetch"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)
LIKELY = {
    "Query": {"query": VECTOR, "filter": {"must": [{"key": "a", "match": {"value": 1}}]}, "limit": 3, "with_payload": ["a"]},
    "QueryBatch": {"searches": [{"query": VECTOR, "score_threshold": 0.5}]},
    "Upsert": {"points": [POINT], "update_filter": {"must": [{"key": "v", "range": {"lt": 3}}]}, "update_mode": "update_only"},
    "PointsSelector": {"points": [1]},
    "SetPayload": {"payload": {"a": 1}, "points": [1]},
    "DeletePayload": {"keys": ["a"], "points": [1]},
    "Batch": {"operations": [{"upsert": {"points": [POINT]}}, {"delete": {"points": [1]}}]},
    "Retrieve": {"ids": [1], "with_payload": {"include": ["a"]}},
    "Scroll": {"filter": {"should": {"is_null": {"key": "a"}}}, "order_by": {"key": "a", "direction": "asc"}, "limit": 1},
    "Count": {"filter": {"min_should": {"conditions": [{"has_id": [1]}], "min_count": 1}}, "exact": True},
    "CreateCollection": {"vectors": {"size": 3, "distance": "Cosine"}, "strict_mode_config": {"enabled": True}},
    "UpdateCollection": {"strict_mode_config": {"max_query_limit": 3}},
    "CreateIndex": {"field_name": "a", "field_schema": {"type": "keyword", "is_tenant": True}},
}  # fmt: skip


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of everything inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    return [at, *(path for key, one in inner for path in paths(one, (*at, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@settings(max_examples=500, deadline=None)
@given(data=st.data())
def test_never_more_lenient_than_the_models_of_the_client(api: Api, data: st.DataObject) -> None:
    """Whatever body is answered, qdrant-client's own model takes too; whatever is refused is refused with a reason, never by accident."""
    kind = data.draw(st.sampled_from(list(CLIENT_MODELS)))
    body = LIKELY[kind.__name__]
    for _ in range(data.draw(st.integers(0, 3))):
        path = data.draw(st.sampled_from(paths(body)))
        body = changed(body, path, data.draw(JSON))
    try:
        answer(api, kind, body)
    except ApiError as error:
        if error.status not in (400, 404, 422, 501):
            raise
        return
    finally:
        api.answer("DELETE", ["collections", "new"], b"", {})
    TypeAdapter(getattr(models, CLIENT_MODELS[kind])).validate_python(orjson.loads(orjson.dumps(body)))


def test_likely_bodies_are_taken(api: Api) -> None:
    """The starting points of the property above are bodies that the engine honours."""
    for kind in CLIENT_MODELS:
        answer(api, wire.CreateIndex, {"field_name": "a", "field_schema": "integer"}, ("PUT", "c", "index"))
        answer(api, wire.Upsert, {"points": [POINT]})
        answer(api, kind, LIKELY[kind.__name__])
        api.answer("DELETE", ["collections", "new"], b"", {})


def test_query_parameters() -> None:
    """Query parameters are read as strictly as bodies."""
    assert decode_params(wire.WriteParams, {"wait": "true"}).wait is True
    assert decode_params(wire.WriteParams, {}).wait is False
    for kind, given_, status in (
        (wire.WriteParams, {"wait": "maybe"}, 400),
        (wire.WriteParams, {"timeout": "0"}, 400),
        (wire.WriteParams, {"consistency": "all"}, 501),
        (wire.NoParams, {"x": "1"}, 501),
    ):
        with pytest.raises(ApiError) as error:
            decode_params(kind, given_)
        assert error.value.status == status
