"""What factsieve needs of Qdrant, through the ordinary client: points, conditions, filters, search, pages, collections."""

import asyncio
import math
import uuid
from datetime import UTC, datetime, timedelta, timezone

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient, QdrantClient
from qdrant_client import models as m
from qdrant_client.http.exceptions import UnexpectedResponse

pytestmark = pytest.mark.stack

A, B, C, D = (str(uuid.UUID(int=n)) for n in (1, 2, 3, 4))
SPACE = m.VectorParams(size=3, distance=m.Distance.COSINE)


def status_of(error: pytest.ExceptionInfo[UnexpectedResponse]) -> int | None:
    return error.value.status_code


def key(field: str, **condition: object) -> m.FieldCondition:
    return m.FieldCondition(key=field, **condition)


def value(field: str, wanted: str | int | bool) -> m.FieldCondition:
    return key(field, match=m.MatchValue(value=wanted))


def payloads(client: QdrantClient, name: str, ids: list[str]) -> dict[str, dict | None]:
    return {str(record.id): record.payload for record in client.retrieve(name, ids)}


def put(client: QdrantClient, name: str, *points: m.PointStruct, **how: object) -> None:
    result = client.upsert(name, list(points), wait=True, **how)
    assert result.status == m.UpdateStatus.COMPLETED


def point(id_: str | int, vector: list[float] | None = None, **payload: object) -> m.PointStruct:
    return m.PointStruct(id=id_, vector=vector if vector is not None else [1.0, 0.0, 0.0], payload=payload)


def test_server_is_compatible_with_the_installed_client(qdrant_url: str) -> None:
    """The client's own check of versions is content (it warns otherwise, and warnings are errors here)."""
    from importlib.metadata import version

    from qdrant_client.common.version_check import is_compatible

    found = httpx.get(qdrant_url).json()["version"]
    assert is_compatible(version("qdrant-client"), found)
    assert tuple(int(part) for part in found.split(".")[:2]) >= (1, 19)
    for path in ("healthz", "readyz", "livez"):
        assert httpx.get(f"{qdrant_url}/{path}").status_code == 200


def test_points_come_back_as_they_were_stored(client: QdrantClient, name: str) -> None:
    """Payloads of any JSON come back equal, vectors normalised, absent ids not at all."""
    client.create_collection(name, vectors_config=SPACE)
    payload = {
        "text": "naïve café \U0001f600 \u202eرَحمة",
        "none": None,
        "deep": {"list": [1, 2.5, None, [], {}, "x"], "flag": True},
        "big": 2**63,
        "negative": -(2**63),
        "small": 1e-300,
    }
    put(
        client,
        name,
        m.PointStruct(id=A, vector=[3.0, 0.0, 4.0], payload=payload),
        m.PointStruct(id=7, vector=[0.0, 0.0, 0.0]),
    )
    [seven, first] = client.retrieve(name, [7, A, B], with_vectors=True)
    assert (seven.id, seven.payload, seven.vector) == (7, {}, [0.0, 0.0, 0.0])
    assert (first.id, first.payload) == (A, payload)
    assert first.vector == pytest.approx([0.6, 0.0, 0.8])


def test_payload_selectors(client: QdrantClient, name: str) -> None:
    """Fields can be included and excluded, in retrieval, search and scroll alike."""
    client.create_collection(name, vectors_config=SPACE)
    put(client, name, point(A, a=1, b={"x": 1, "y": 2}, c=3))
    cases = [
        (True, {"a": 1, "b": {"x": 1, "y": 2}, "c": 3}),
        (["a", "b.x"], {"a": 1, "b": {"x": 1}}),
        (m.PayloadSelectorInclude(include=["c"]), {"c": 3}),
        (m.PayloadSelectorExclude(exclude=["b", "c"]), {"a": 1}),
    ]
    for selector, expected in cases:
        assert client.retrieve(name, [A], with_payload=selector)[0].payload == expected
        assert client.scroll(name, with_payload=selector)[0][0].payload == expected
        assert client.query_points(name, [1.0, 0.0, 0.0], with_payload=selector).points[0].payload == expected
    assert client.retrieve(name, [A], with_payload=False)[0].payload is None
    assert client.query_points(name, [1.0, 0.0, 0.0], with_payload=False).points[0].payload is None


def test_insert_only_keeps_the_first(client: QdrantClient, name: str) -> None:
    """Two writers of the same id: the first one's point stays whole, the second's is dropped, others of its batch are stored."""
    client.create_collection(name, vectors_config=SPACE)
    put(client, name, point(A, [1.0, 0.0, 0.0], who=1), update_mode=m.UpdateMode.INSERT_ONLY)
    put(client, name, point(A, [0.0, 1.0, 0.0], who=2, more=1), point(B, who=2), update_mode=m.UpdateMode.INSERT_ONLY)
    assert payloads(client, name, [A, B]) == {A: {"who": 1}, B: {"who": 2}}
    assert client.retrieve(name, [A], with_vectors=True)[0].vector == [1.0, 0.0, 0.0]


def test_update_only_under_a_condition(client: QdrantClient, name: str) -> None:
    """`update_only` with `version < n` writes an older point, leaves an equal or newer one, and makes no new one."""
    client.create_collection(name, vectors_config=SPACE)
    put(client, name, point(A, version=1), point(B, version=5), point(C, version=3))

    def older(than: int) -> m.Filter:
        return m.Filter(must=[key("version", range=m.Range(lt=than))])

    new = [point(one, [0.0, 1.0, 0.0], version=3, new=True) for one in (A, B, C, D)]
    put(client, name, *new, update_mode=m.UpdateMode.UPDATE_ONLY, update_filter=older(3))
    assert payloads(client, name, [A, B, C, D]) == {
        A: {"version": 3, "new": True},
        B: {"version": 5},
        C: {"version": 3},
    }
    put(client, name, *new, update_mode=m.UpdateMode.UPDATE_ONLY)
    assert payloads(client, name, [B, D]) == {B: {"version": 3, "new": True}}


def test_condition_of_a_plain_upsert_binds_existing_points_only(client: QdrantClient, name: str) -> None:
    """With `upsert` and a condition, a new point is stored, an existing one only if it meets the condition."""
    client.create_collection(name, vectors_config=SPACE)
    put(client, name, point(A, version=1), point(B, version=9))
    older = m.Filter(must=[key("version", range=m.Range(lt=2))])
    put(client, name, *(point(one, version=2) for one in (A, B, C)), update_filter=older)
    assert payloads(client, name, [A, B, C]) == {A: {"version": 2}, B: {"version": 9}, C: {"version": 2}}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(st.tuples(st.sampled_from([A, B]), st.integers(1, 6)), min_size=1, max_size=12))
def test_conditional_writes_in_any_order_end_at_the_highest_version(
    client: QdrantClient, writes: list[tuple[str, int]]
) -> None:
    """Whatever the order and the repetition, `version < target` never lets an older write win."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    client.create_collection(name, vectors_config={})
    try:
        put(client, name, *(m.PointStruct(id=one, vector={}, payload={"version": 0}) for one in (A, B)))
        for one, version in writes:
            condition = m.Filter(must=[key("version", range=m.Range(lt=version))])
            written = m.PointStruct(id=one, vector={}, payload={"version": version})
            put(client, name, written, update_mode=m.UpdateMode.UPDATE_ONLY, update_filter=condition)
        highest = {one: max([version for of, version in writes if of == one], default=0) for one in (A, B)}
        assert payloads(client, name, [A, B]) == {one: {"version": version} for one, version in highest.items()}
    finally:
        client.delete_collection(name)


def test_collection_without_vectors(client: QdrantClient, name: str) -> None:
    """A collection of payloads alone: points with an empty vector, no search, everything else."""
    client.create_collection(name, vectors_config={})
    put(client, name, m.PointStruct(id=A, vector={}, payload={"n": 1}), update_mode=m.UpdateMode.INSERT_ONLY)
    assert client.retrieve(name, [A], with_vectors=True)[0].vector == {}
    assert client.count(name, m.Filter(must=[value("n", 1)])).count == 1
    assert client.get_collection(name).config.params.vectors == {}
    with pytest.raises(UnexpectedResponse) as error:
        put(client, name, point(B))
    assert status_of(error) == 400
    with pytest.raises(UnexpectedResponse) as error:
        client.query_points(name, [1.0, 0.0])
    assert status_of(error) == 400
    assert client.count(name).count == 1


def test_search_equals_brute_force(client: QdrantClient, name: str) -> None:
    """A batch of searches, over all and under filters, gives the brute-force cosine within 1e-5, ties included."""
    random = np.random.default_rng(7)
    vectors = random.normal(size=(300, 24)).astype(np.float32)
    vectors[100:110] = vectors[5]  # ties
    vectors[200] = 0.0
    owner = [f"n{i % 3}" for i in range(300)]
    client.create_collection(name, vectors_config=m.VectorParams(size=24, distance=m.Distance.COSINE))
    client.create_payload_index(name, "owner", m.KeywordIndexParams(type="keyword", is_tenant=True))
    put(client, name, *(point(i, vectors[i].tolist(), owner=owner[i]) for i in range(300)))
    queries = random.normal(size=(40, 24)).astype(np.float32)
    queries[0] = vectors[5]
    filters = [None if i % 4 == 3 else m.Filter(must=[value("owner", f"n{i % 4}")]) for i in range(40)]
    searches = [m.QueryRequest(query=q.tolist(), filter=f, limit=16) for q, f in zip(queries, filters, strict=True)]
    norms = np.linalg.norm(vectors, axis=1)
    unit = vectors / np.where(norms == 0, 1, norms)[:, None]
    for i, answer in enumerate(client.query_batch_points(name, searches)):
        scores = unit @ (queries[i] / np.linalg.norm(queries[i]))
        allowed = [j for j in range(300) if i % 4 == 3 or owner[j] == f"n{i % 4}"]
        best = sorted((float(scores[j]) for j in allowed), reverse=True)[:16]
        assert [p.score for p in answer.points] == pytest.approx(best, abs=1e-5)
        assert all(p.score == pytest.approx(float(scores[int(p.id)]), abs=1e-5) for p in answer.points)
        assert {int(p.id) for p in answer.points} <= set(allowed)
        assert len({p.id for p in answer.points}) == 16
        alone = client.query_points(name, queries[i].tolist(), query_filter=filters[i], limit=16).points
        assert [p.score for p in alone] == pytest.approx([p.score for p in answer.points], abs=1e-6)


def test_search_limits_thresholds_and_offsets(client: QdrantClient, name: str) -> None:
    """`limit`, `offset` and `score_threshold` cut the sorted list where they say; the defaults are Qdrant's."""
    client.create_collection(name, vectors_config=SPACE)
    angles = [i / 20 for i in range(20)]
    put(client, name, *(point(i, [math.cos(a), math.sin(a), 0.0], n=i) for i, a in enumerate(angles)))
    ask = [1.0, 0.0, 0.0]
    assert [p.id for p in client.query_points(name, ask).points] == list(range(10))
    assert [p.id for p in client.query_points(name, ask, limit=3, offset=4).points] == [4, 5, 6]
    cut = math.cos(0.225)
    assert [p.id for p in client.query_points(name, ask, score_threshold=cut).points] == [0, 1, 2, 3, 4]
    assert client.query_points(name, ask, search_params=m.SearchParams(exact=True), with_vectors=True).points[
        0
    ].vector == [1.0, 0.0, 0.0]
    empty = m.QueryRequest(query=ask, filter=m.Filter(must=[value("n", 999)]), limit=1)
    mixed = [
        empty,
        m.QueryRequest(query=ask, limit=1),
        m.QueryRequest(query=[0.0, 1.0, 0.0], limit=1, with_payload=True),
        empty,
    ]
    found = [[p.id for p in one.points] for one in client.query_batch_points(name, mixed)]
    assert found == [[], [0], [19], []]


NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
STORED = {
    1: {"kind": "a", "n": 1, "on": True, "tags": ["x", "y"], "at": "2026-03-04T12:00:00Z", "maybe": None},
    2: {"kind": "b", "n": 5, "on": False, "tags": [], "at": "2026-03-04T14:00:00.5+02:00", "maybe": 1},
    3: {"kind": "a", "n": 9, "on": True, "tags": ["y"], "at": "9999-12-31T23:59:59Z"},
    4: {"kind": "c", "n": 1, "on": 1, "at": "2026-03-04T11:59:59.999999Z", "maybe": []},
}
FILTERS: list[tuple[str, m.Filter, set[int]]] = [
    ("nothing", m.Filter(), {1, 2, 3, 4}),
    ("must", m.Filter(must=[value("kind", "a"), value("n", 1)]), {1}),
    ("one condition, no list", m.Filter(must=value("kind", "a")), {1, 3}),
    ("should", m.Filter(should=[value("kind", "b"), value("n", 9)]), {2, 3}),
    ("must_not", m.Filter(must_not=[value("kind", "a")]), {2, 4}),
    ("all three", m.Filter(must=[value("n", 1)], should=[value("kind", "c"), value("kind", "b")], must_not=[value("on", True)]), {4}),
    ("min_should", m.Filter(min_should=m.MinShould(conditions=[value("n", 1), value("kind", "a")], min_count=2)), {1}),
    ("nested filter", m.Filter(must=[m.Filter(should=[value("n", 5), value("n", 9)]), value("kind", "a")]), {3}),
    ("any string", m.Filter(must=[key("kind", match=m.MatchAny(any=["b", "c"]))]), {2, 4}),
    ("any integer", m.Filter(must=[key("n", match=m.MatchAny(any=[5, 9]))]), {2, 3}),
    ("any of none", m.Filter(must=[key("kind", match=m.MatchAny(any=[]))]), set()),
    ("except", m.Filter(must=[key("kind", match=m.MatchExcept(**{"except": ["a"]}))]), {2, 4}),
    ("element of a list", m.Filter(must=[value("tags", "y")]), {1, 3}),
    ("a bool is no number", m.Filter(must=[value("on", True)]), {1, 3}),
    ("a number is no bool", m.Filter(must=[value("on", 1)]), {4}),
    ("false", m.Filter(must=[value("on", False)]), {2}),
    ("range", m.Filter(must=[key("n", range=m.Range(gt=1, lte=9))]), {2, 3}),
    ("float bounds", m.Filter(must=[key("n", range=m.Range(gte=4.5, lt=9.0))]), {2}),
    ("instants, not texts", m.Filter(must=[key("at", range=m.DatetimeRange(gte=NOON, lt=NOON + timedelta(seconds=1)))]), {1, 2}),
    ("another zone", m.Filter(must=[key("at", range=m.DatetimeRange(lt=NOON.astimezone(timezone(timedelta(hours=5)))))]), {4}),
    ("open end", m.Filter(must=[key("at", range=m.DatetimeRange(gt=datetime(2100, 1, 1, tzinfo=UTC)))]), {3}),
    ("ids", m.Filter(must=[m.HasIdCondition(has_id=[2, 4, 99])]), {2, 4}),
    ("not these ids", m.Filter(must_not=[m.HasIdCondition(has_id=[2, 4])]), {1, 3}),
    ("is_null", m.Filter(must=[m.IsNullCondition(is_null=m.PayloadField(key="maybe"))]), {1}),
    ("is_empty", m.Filter(must=[m.IsEmptyCondition(is_empty=m.PayloadField(key="maybe"))]), {1, 3, 4}),
    ("is_empty of a field", m.Filter(must=[key("tags", is_empty=True)]), {2, 4}),
    ("is_null of a field", m.Filter(must=[key("maybe", is_null=False)]), {2, 3, 4}),
    ("absent field", m.Filter(must=[value("nowhere", "x")]), set()),
]  # fmt: skip


@pytest.fixture(scope="module", params=["indexed", "unindexed"])
def stored(request: pytest.FixtureRequest, client: QdrantClient):
    """The four points above, with and without indexes."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    client.create_collection(name, vectors_config=SPACE)
    if request.param == "indexed":
        schemas = {"kind": "keyword", "n": "integer", "tags": "keyword", "at": "datetime"}
        for field, schema in schemas.items():
            client.create_payload_index(name, field, schema)
    put(client, name, *(point(i, **payload) for i, payload in STORED.items()))
    yield name
    client.delete_collection(name)


@pytest.mark.parametrize(("filter_", "expected"), [pytest.param(f, e, id=i) for i, f, e in FILTERS])
def test_filters(client: QdrantClient, stored: str, filter_: m.Filter, expected: set[int]) -> None:
    """A filter selects the same points in search, scroll and count, with an index and without."""
    assert {p.id for p in client.scroll(stored, filter_)[0]} == expected
    assert client.count(stored, filter_).count == len(expected)
    assert {p.id for p in client.query_points(stored, [1.0, 0.0, 0.0], query_filter=filter_).points} == expected


def test_scroll_pages_and_order(client: QdrantClient, name: str) -> None:
    """Pages in order of id cover every point once; an order by an indexed field sorts, both ways."""
    client.create_collection(name, vectors_config=SPACE)
    client.create_payload_index(name, "at", m.PayloadSchemaType.DATETIME)
    day = datetime(2026, 1, 1, tzinfo=UTC)
    put(client, name, *(point(i, at=(day + timedelta(days=(i * 7) % 25)).isoformat(), odd=i % 2) for i in range(25)))
    odd, seen, offset = m.Filter(must=[value("odd", 1)]), [], None
    while True:
        page, offset = client.scroll(name, odd, limit=5, offset=offset)
        seen += [p.id for p in page]
        if offset is None:
            break
    assert seen == list(range(1, 25, 2))
    ordered = [p.id for p in client.scroll(name, odd, limit=4, order_by="at")[0]]
    assert ordered == sorted(range(1, 25, 2), key=lambda i: (i * 7) % 25)[:4]
    latest = m.OrderBy(key="at", direction=m.Direction.DESC)
    page, following = client.scroll(name, limit=3, order_by=latest)
    assert [p.id for p in page] == sorted(range(25), key=lambda i: -((i * 7) % 25))[:3]
    assert following is None
    with pytest.raises(UnexpectedResponse) as error:
        client.scroll(name, order_by="odd")
    assert status_of(error) == 400


def test_payload_changes_and_deletions(client: QdrantClient, name: str) -> None:
    """Payload is merged, replaced and cut, points are deleted, by id and by filter."""
    client.create_collection(name, vectors_config=SPACE)
    put(client, name, point(1, a=1, b=1), point(2, a=1), point(3, a=2))
    client.set_payload(name, {"b": 2}, points=[1])
    client.set_payload(name, {"c": 3}, points=m.Filter(must=[value("a", 1)]))
    assert {p.id: p.payload for p in client.retrieve(name, [1, 2, 3])} == {
        1: {"a": 1, "b": 2, "c": 3},
        2: {"a": 1, "c": 3},
        3: {"a": 2},
    }
    client.overwrite_payload(name, {"z": 1}, points=[3])
    client.delete_payload(name, ["c"], points=[1])
    assert {p.id: p.payload for p in client.retrieve(name, [1, 3])} == {1: {"a": 1, "b": 2}, 3: {"z": 1}}
    with pytest.raises(UnexpectedResponse) as error:
        client.set_payload(name, {"b": 3}, points=[404])
    assert status_of(error) == 404
    client.delete(name, [1, 404])
    client.delete(name, m.FilterSelector(filter=m.Filter(must=[value("a", 1)])))
    assert [p.id for p in client.scroll(name)[0]] == [3]


def test_batch_of_operations(client: QdrantClient, name: str) -> None:
    """Operations of one request take effect in their order, each with its own mode and condition."""
    client.create_collection(name, vectors_config=SPACE)
    first = m.PointsList(points=[point(1, v=1), point(2, v=1)], update_mode=m.UpdateMode.INSERT_ONLY)
    older = m.Filter(must=[key("v", range=m.Range(lt=2))])
    second = m.PointsList(
        points=[point(1, v=2), point(9, v=2)], update_mode=m.UpdateMode.UPDATE_ONLY, update_filter=older
    )
    operations = [
        m.UpsertOperation(upsert=first),
        m.UpsertOperation(upsert=second),
        m.SetPayloadOperation(set_payload=m.SetPayload(payload={"s": 1}, points=[2])),
        m.DeletePayloadOperation(delete_payload=m.DeletePayload(keys=["v"], points=[2])),
        m.UpsertOperation(upsert=m.PointsList(points=[point(3, v=3)])),
        m.DeleteOperation(delete=m.PointIdsList(points=[3])),
    ]
    results = client.batch_update_points(name, operations, wait=True)
    assert [r.status for r in results] == [m.UpdateStatus.COMPLETED] * 6
    assert {p.id: p.payload for p in client.scroll(name)[0]} == {1: {"v": 2}, 2: {"s": 1}}


def test_collections_are_made_listed_described_and_deleted(client: QdrantClient, name: str) -> None:
    """A collection's description says how it was made; a second creation is a conflict, an unknown one is not found."""
    assert client.collection_exists(name) is False
    client.create_collection(
        name,
        vectors_config=m.VectorParams(size=5, distance=m.Distance.COSINE),
        on_disk_payload=True,
        hnsw_config=m.HnswConfigDiff(m=0, payload_m=16),
        metadata={"factsieve": {"fingerprint": "abc"}},
    )
    assert client.collection_exists(name) is True
    assert name in [one.name for one in client.get_collections().collections]
    client.create_payload_index(name, "namespace", m.KeywordIndexParams(type="keyword", is_tenant=True))
    client.create_payload_index(name, "version", m.PayloadSchemaType.INTEGER)
    put(client, name, point(1, [1.0] * 5, namespace="a", version=1))
    info = client.get_collection(name)
    assert isinstance(info.config.params.vectors, m.VectorParams)
    assert (info.config.params.vectors.size, info.config.params.vectors.distance) == (5, m.Distance.COSINE)
    assert (info.config.hnsw_config.m, info.config.hnsw_config.payload_m) == (0, 16)
    assert info.config.metadata == {"factsieve": {"fingerprint": "abc"}}
    assert (info.points_count, info.status) == (1, m.CollectionStatus.GREEN)
    assert {field: found.data_type for field, found in info.payload_schema.items()} == {
        "namespace": m.PayloadSchemaType.KEYWORD,
        "version": m.PayloadSchemaType.INTEGER,
    }
    assert info.payload_schema["namespace"].params.is_tenant is True
    client.delete_payload_index(name, "version")
    assert set(client.get_collection(name).payload_schema) == {"namespace"}
    with pytest.raises(UnexpectedResponse) as error:
        client.create_collection(name, vectors_config=SPACE)
    assert status_of(error) == 409
    assert client.delete_collection(name) is True
    for call in (client.get_collection, client.count):
        with pytest.raises(UnexpectedResponse) as error:
            call(name)
        assert status_of(error) == 404


def test_strict_mode_refuses_unindexed_filters(client: QdrantClient, name: str) -> None:
    """With strict mode a filter on a field without an index of the right type is refused, in reads and in conditions of writes."""
    strict = m.StrictModeConfig(enabled=True, unindexed_filtering_retrieve=False, unindexed_filtering_update=False)
    client.create_collection(name, vectors_config=SPACE, strict_mode_config=strict)
    client.create_payload_index(name, "kind", "keyword")
    client.create_payload_index(name, "version", "integer")
    put(client, name, point(1, kind="a", version=1))
    allowed = m.Filter(must=[value("kind", "a"), m.HasIdCondition(has_id=[1]), key("version", range=m.Range(lt=2))])
    refused = [
        m.Filter(must=[value("other", "a")]),
        m.Filter(must=[value("kind", "a")], should=[m.Filter(must_not=[value("other", 1)])]),
        m.Filter(must=[value("kind", 1)]),
        m.Filter(must=[key("kind", range=m.Range(lt=2))]),
    ]
    put(client, name, point(1, kind="a", version=2), update_mode=m.UpdateMode.UPDATE_ONLY, update_filter=allowed)
    allowed = m.Filter(must=[value("kind", "a"), value("version", 2)])
    assert client.count(name, allowed).count == 1
    for filter_ in refused:
        for call in (
            lambda f=filter_: client.count(name, f),
            lambda f=filter_: client.scroll(name, f),
            lambda f=filter_: client.query_points(name, [1.0, 0.0, 0.0], query_filter=f),
            lambda f=filter_: client.delete(name, m.FilterSelector(filter=f)),
            lambda f=filter_: client.upsert(name, [point(1)], update_filter=f),
        ):
            with pytest.raises(UnexpectedResponse) as error:
                call()
            assert status_of(error) == 400
            assert b"Index required but not found" in error.value.content
    client.create_payload_index(name, "other", "keyword")
    assert client.count(name, refused[0]).count == 0
    assert client.retrieve(name, [1])[0].payload == {"kind": "a", "version": 2}


def test_strict_mode_can_be_changed(client: QdrantClient, name: str) -> None:
    """Strict mode can be switched on afterwards, and its limits are kept."""
    client.create_collection(name, vectors_config=SPACE)
    put(client, name, point(1, kind="a"), point(2))
    assert client.count(name, m.Filter(must=[value("kind", "a")])).count == 1
    client.update_collection(
        name, strict_mode_config=m.StrictModeConfig(enabled=True, max_query_limit=5, upsert_max_batchsize=2)
    )
    for call in (
        lambda: client.query_points(name, [1.0, 0.0, 0.0], limit=6),
        lambda: client.scroll(name, limit=6),
        lambda: client.upsert(name, [point(i) for i in range(3)]),
    ):
        with pytest.raises(UnexpectedResponse) as error:
            call()
        assert status_of(error) == 400
    assert client.count(name, m.Filter(must=[value("kind", "a")])).count == 1
    assert client.get_collection(name).config.strict_mode_config.max_query_limit == 5


def test_asynchronous_client(qdrant_url: str, client: QdrantClient, name: str) -> None:
    """Concurrent insert-only writers of one id through the asynchronous client: exactly one wins, and it wins whole."""
    client.create_collection(name, vectors_config=SPACE)

    async def run() -> None:
        limits = httpx.Limits(max_connections=8, max_keepalive_connections=8)
        many = AsyncQdrantClient(url=qdrant_url, limits=limits, check_compatibility=False, timeout=30)

        async def write(writer: int) -> None:
            points = [point(one, writer=writer) for one in (A, B, C)]
            await many.upsert(name, points, update_mode=m.UpdateMode.INSERT_ONLY)

        await asyncio.gather(*(write(writer) for writer in range(16)))
        found = await many.retrieve(name, [A, B, C])
        assert len({record.payload["writer"] for record in found}) == 1
        assert len(found) == 3
        answers = await many.query_batch_points(name, [m.QueryRequest(query=[1.0, 0.0, 0.0], limit=2)] * 3)
        assert [len(answer.points) for answer in answers] == [2, 2, 2]
        await many.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "points", '{"points": [{"id": 1, "vector": [1, 2]}]}', 400),
        ("PUT", "points", '{"points": [{"id": 1, "vector": [1, 2, null]}]}', 400),
        ("PUT", "points", '{"points": [{"id": 1, "vector": [1, 2, NaN]}]}', 400),
        ("PUT", "points", '{"points": [{"id": 1, "vector": [1, 2, Infinity]}]}', 400),
        ("PUT", "points", '{"points": [{"id": 1, "vector": [1, 2, "3"]}]}', 400),
        ("PUT", "points", '{"points": [{"id": -1, "vector": [1, 2, 3]}]}', 400),
        ("PUT", "points", '{"points": [{"id": 18446744073709551616, "vector": [1, 2, 3]}]}', 400),
        ("PUT", "points", '{"points": [{"id": "not a uuid", "vector": [1, 2, 3]}]}', 400),
        ("PUT", "points", '{"points": [{"vector": [1, 2, 3]}]}', 400),
        ("PUT", "points", '{"points": [{"id": 1, "vector": [1, 2, 3], "payload": 5}]}', 400),
        ("PUT", "points", '{"points": [{"id": 1, "vector": [1, 2, 3]}], "update_mode": "sometimes"}', 400),
        ("PUT", "points", '{"points": [', 400),
        ("POST", "points/query", '{"query": [1, 2]}', 400),
        ("POST", "points/query", '{"query": [1, 2, 3], "limit": 0}', 422),
        ("POST", "points/query", '{"query": [1, 2, 3], "limit": -1}', 400),
        ("POST", "points/query", '{"query": [1, 2, 3], "filter": {"must": [{"key": "a", "match": {"value": 1.5}}]}}', 400),
        ("POST", "points/query", '{"query": [1, 2, 3], "filter": {"must": [{"key": "a", "match": {"any": [1, "a"]}}]}}', 400),
        ("POST", "points/query", '{"query": [1, 2, 3], "filter": {"must": [{"key": "a", "range": {"lt": "soon"}}]}}', 400),
        ("POST", "points/query", '{"query": [1, 2, 3], "filter": {"must": [{"has_id": ["x"]}]}}', 400),
        ("POST", "points/scroll", '{"limit": 0}', 422),
        ("POST", "points/delete", "{}", 400),
        ("POST", "points", '{"ids": ["x"]}', 400),
        ("PUT", "index", '{"field_name": "a", "field_schema": "nonsense"}', 400),
    ],
)  # fmt: skip
def test_what_qdrant_refuses_is_refused(
    client: QdrantClient, qdrant_url: str, name: str, method: str, path: str, body: str, status: int
) -> None:
    """Bad requests get Qdrant's status and its form of an error, and change nothing."""
    client.create_collection(name, vectors_config=SPACE)
    url = f"{qdrant_url}/collections/{name}/{path}"
    answer = httpx.request(method, url, content=body, headers={"content-type": "application/json"})
    assert answer.status_code in ({status, 422} if status == 400 else {status}), answer.text
    assert answer.json()["status"]["error"]
    assert client.count(name).count == 0
