"""A foreign Qdrant collection, read only: found as its settings say, and done without in time where it can not be used."""

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from contract_stores import QDRANT_TIMEOUT_S
from odd_server import http, odd_server

from factsieve.adapters.downstream import DownstreamCollection, DownstreamCollections
from factsieve.adapters.qdrant_tools import Rest, connect
from factsieve.assembly.downstream import build_downstream
from factsieve.assembly.settings import load_settings
from factsieve.core.errors import BadSettings
from factsieve.ports import Coverage, Look, Vector, Wanted

SIZE = 4
AXES = np.eye(SIZE, dtype=np.float32)


class Letters:
    """An embedder of four numbers: how often a text has the letters a, b, c, d."""

    model = "letters"
    dimension = SIZE
    fingerprint = "letters-1"

    def __init__(self) -> None:
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.embedded += texts
        return [self.vector(text) for text in texts]

    @staticmethod
    def vector(text: str) -> Vector:
        counts = np.asarray([text.count(letter) for letter in "abcd"], dtype=np.float32) + 1e-6
        return (counts / np.linalg.norm(counts)).astype(np.float32)

    def coverage(self, text: str) -> Coverage:
        return Coverage(truncated=len(text) > 40, unknown_share=0.0)


@dataclass
class Foreign:
    """A collection that somebody else made: `points` are (text, vector, namespace)."""

    url: str
    name: str
    namespace_key: str = "meta.tenant"

    async def make(self, points: Sequence[tuple[str, Vector, str]], *, vectors: dict[str, Any], named: bool) -> None:
        client = connect(self.url, timeout_s=QDRANT_TIMEOUT_S)
        rest = Rest(client, self.name)
        try:
            await rest.call("PUT", "", {"vectors": vectors})
            index = {"field_name": self.namespace_key, "field_schema": "keyword"}
            await rest.call("PUT", "/index", index, {"wait": "true"})
            stored = [
                {
                    "id": str(uuid.uuid4()),
                    "vector": {"dense": vector} if named else vector,
                    "payload": {"doc": {"body": text}, "meta": {"tenant": tenant}, "chunk": 7},
                }
                for text, vector, tenant in points
            ]
            await rest.update([{"upsert": {"points": stored}}])
        finally:
            await client.close()

    async def drop(self) -> None:
        client = connect(self.url, timeout_s=QDRANT_TIMEOUT_S)
        try:
            await Rest(client, self.name).call("DELETE", "")
        finally:
            await client.close()

    async def everything(self) -> list[Any]:
        client = connect(self.url, timeout_s=QDRANT_TIMEOUT_S)
        try:
            body = {"limit": 100, "with_payload": True, "with_vector": True}
            found: list[Any] = (await Rest(client, self.name).call("POST", "/points/scroll", body))["points"]
            return found
        finally:
            await client.close()


TEXTS = [("aab", "team"), ("abb", "team"), ("ccd", "team"), ("aab for others", "other")]


@contextmanager
def foreign_collection(
    url: str, *, distance: str = "Cosine", named: bool = False, size: int = SIZE
) -> Iterator[Foreign]:
    """A foreign collection with a few texts, removed at the end."""
    foreign = Foreign(url, f"rag-{uuid.uuid4().hex[:12]}")
    config: dict[str, Any] = {"size": size, "distance": distance}
    padding = np.zeros(max(0, size - SIZE), dtype=np.float32)
    points = [(text, np.concatenate([Letters.vector(text), padding]), tenant) for text, tenant in TEXTS]
    asyncio.run(foreign.make(points, vectors={"dense": config} if named else config, named=named))
    try:
        yield foreign
    finally:
        asyncio.run(foreign.drop())


@pytest.fixture(scope="module", params=["local", pytest.param("real", marks=pytest.mark.stack)])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue("local_qdrant" if request.param == "local" else "real_qdrant")
    return found


pytestmark = pytest.mark.stack


def asked(foreign_url: str, collection: str, wanted: Sequence[Wanted], times: int = 1, **more: Any) -> list[Look]:
    """Return what is found, the last of some times."""
    options = {"text_key": "doc.body", "namespace_key": "meta.tenant", "same_embedder": True, "timeout_s": 30.0} | more

    async def run() -> list[Look]:
        client = connect(foreign_url, timeout_s=30.0)
        embedder = options.pop("embedder", None) or Letters()
        one = DownstreamCollection("rag", client, embedder, collection=collection, **options)
        several = DownstreamCollections([one])
        try:
            looks: list[Look] = []
            for _ in range(times):
                looks = await several.find(wanted)
            return looks
        finally:
            await several.close()

    return asyncio.run(run())


def wanting(text: str, namespace: str = "team", cut: float = 0.85) -> Wanted:
    return Wanted(namespace, text, Letters.vector(text), cut)


def test_what_is_near_enough_comes_best_first(url: str) -> None:
    """At or above the threshold, of the namespace alone, with the text from inside its payload; nothing there is changed."""
    with foreign_collection(url) as foreign:
        before = asyncio.run(foreign.everything())
        near, far, other = asked(
            url, foreign.name, [wanting("aab", cut=0.79), wanting("dddd"), wanting("aab", "other")]
        )
        assert [(hit.text, hit.similarity, hit.skip_threshold) for hit in near.hits] == [
            ("aab", 1.0, 0.79),
            ("abb", 0.8, 0.79),
        ]
        assert (far.hits, far.missing) == ((), ())
        assert [hit.text for hit in other.hits] == ["aab for others"]
        assert {hit.collection for hit in near.hits} == {"rag"}
        assert asyncio.run(foreign.everything()) == before


def test_named_vectors(url: str, request: pytest.FixtureRequest) -> None:
    """The vector is found by its name, and not without it."""
    if request.node.callspec.params["url"] == "local":
        pytest.skip("the local engine has no named vectors: see the test of what is sent for them")
    with foreign_collection(url, named=True) as foreign:
        [look] = asked(url, foreign.name, [wanting("aab", cut=0.1)], vector_name="dense", skip_threshold=0.9)
        assert [(hit.text, hit.skip_threshold) for hit in look.hits] == [("aab", 0.9)]
        [missing] = asked(url, foreign.name, [wanting("aab")])
        assert missing.missing == ("rag",), "its unnamed vector is not there"


def test_another_model_embeds_for_itself_and_says_what_it_trusts(url: str) -> None:
    """Each text once; a text that its model sees only part of is found and not trusted."""
    long = "aab " * 12
    with foreign_collection(url) as foreign:
        embedder = Letters()
        wrong = np.asarray([0, 0, 0, 1], dtype=np.float32)
        wanted = [Wanted("team", text, wrong, 0.85) for text in ("aab", "aab", long)]
        looks = asked(url, foreign.name, wanted, same_embedder=False, embedder=embedder)
        assert embedder.embedded == ["aab", long]
        assert [[(hit.text, hit.trusted) for hit in look.hits] for look in looks] == [
            [("aab", True)],
            [("aab", True)],
            [("aab", False)],
        ]


def test_a_threshold_of_its_own_stands_above_the_policys(url: str) -> None:
    """Higher or lower: it belongs to the model of that collection."""
    with foreign_collection(url) as foreign:
        [high] = asked(url, foreign.name, [wanting("aab", cut=0.1)], skip_threshold=0.9)
        assert [(hit.text, hit.skip_threshold) for hit in high.hits] == [("aab", 0.9)]
        [low] = asked(url, foreign.name, [wanting("aab", cut=1.0)], skip_threshold=0.7)
        assert [hit.text for hit in low.hits] == ["aab", "abb"]


def answering(vectors: dict[str, Any], points: list[dict[str, Any]]) -> Callable[[bytes], bytes]:
    """Return what a server says that holds a collection of these vectors, and finds these points."""

    def answer(request: bytes) -> bytes:
        info = {"config": {"params": {"vectors": vectors}}}
        result: Any = info if request.startswith(b"GET") else [{"points": points}]
        return http(200, json.dumps({"result": result, "status": "ok", "time": 0}).encode())

    return answer


def over_the_wire(vectors: dict[str, Any], points: list[dict[str, Any]], **options: Any) -> tuple[list[bytes], Look]:
    """Return what was sent to such a server, and what was made of its answers."""

    async def run() -> tuple[list[bytes], Look]:
        async with odd_server(answering(vectors, points)) as server:
            client = connect(server.url, timeout_s=30.0)
            told = {"same_embedder": True, "timeout_s": 30.0} | options
            one = DownstreamCollections([DownstreamCollection("rag", client, Letters(), collection="x", **told)])
            try:
                [look] = await one.find([wanting("aab")])
            finally:
                await one.close()
            return server.requests, look

    return asyncio.run(run())


def test_what_is_sent_for_a_named_vector() -> None:
    """Its name, the threshold, and that only the text is wanted."""
    sized = {"size": SIZE, "distance": "Cosine"}
    point = {"id": 7, "score": 0.9, "payload": {"text": "aab"}}
    requests, look = over_the_wire({"dense": sized}, [point], vector_name="dense")
    [search] = json.loads(requests[1].partition(b"\r\n\r\n")[2])["searches"]
    assert (search["using"], search["with_payload"], search["with_vector"]) == ("dense", ["text"], False)
    assert search["score_threshold"] == pytest.approx(0.85, abs=1e-4)
    assert [(hit.point_id, hit.text) for hit in look.hits] == [("7", "aab")]
    assert len(requests) == 2, "one look at the collection, one search"


@pytest.mark.parametrize(
    ("vectors", "points"),
    [
        ({"size": SIZE, "distance": "Dot"}, []),
        ({"dense": {"size": SIZE, "distance": "Cosine"}}, []),
        ({}, []),
        ({"size": SIZE, "distance": "Cosine"}, [{"id": 1}]),
        ({"size": SIZE, "distance": "Cosine"}, [{"id": 1, "score": "high"}]),
        ({"size": SIZE}, []),
        (["size"], []),
    ],
    ids=[
        "another measure",
        "named vectors",
        "no vectors",
        "no score",
        "a score that is no number",
        "no measure",
        "a list",
    ],
)
def test_odd_answers_are_done_without(vectors: dict[str, Any], points: list[dict[str, Any]]) -> None:
    """Whatever it says that can not be used: nothing is raised, and it is named as missing."""
    assert over_the_wire(vectors, points)[1] == Look(missing=("rag",))


@pytest.mark.parametrize(
    ("made", "options"),
    [
        ({"size": SIZE + 2}, {}),
        ({}, {"namespace_key": "nothing.indexed.here", "text_key": "doc"}),
        ({}, {"collection": "not-there"}),
    ],
    ids=["another size", "no text there", "no such collection"],
)
def test_what_can_not_be_used_is_done_without(url: str, made: dict[str, Any], options: dict[str, Any]) -> None:
    """Nothing is raised and nothing is found; what is wrong with the collection names it as missing."""
    with foreign_collection(url, **made) as foreign:
        options = dict(options)
        name = options.pop("collection", foreign.name)
        [look] = asked(url, name, [wanting("aab")], **options)
        assert look.hits == ()
        assert look.missing == (() if "text_key" in options else ("rag",))


def test_a_slow_one_costs_its_time_out_and_then_nothing() -> None:
    """It is asked until the breaker opens, then left alone; what comes meanwhile goes on without it."""

    async def run() -> tuple[int, list[Look]]:
        async with odd_server(lambda _request: None) as server:
            client = connect(server.url, timeout_s=5.0)
            one = DownstreamCollection(
                "slow", client, Letters(), collection="x", same_embedder=True, timeout_s=0.05, breaker_failures=2
            )
            several = DownstreamCollections([one])
            looks = [(await several.find([wanting("aab")]))[0] for _ in range(5)]
            await several.close()
            return len(server.requests), looks

    requests, looks = asyncio.run(run())
    assert requests == 2
    assert looks == [Look(missing=("slow",))] * 5


def test_one_that_is_down_does_not_hide_another(url: str) -> None:
    """What the other one holds is found, and the one that is down is named; namespaces that none covers are not asked about."""

    async def run(name: str) -> tuple[list[Look], bool, bool]:
        options: dict[str, Any] = {"same_embedder": True, "timeout_s": 30.0, "text_key": "doc.body"}
        up = DownstreamCollection(
            "up", connect(url, timeout_s=30.0), Letters(), collection=name, namespaces=frozenset({"team"}), **options
        )
        down = DownstreamCollection(
            "down", connect("http://127.0.0.1:9", timeout_s=5.0), Letters(), collection="x",
            namespaces=frozenset({"team", "more"}), **options,
        )  # fmt: skip
        several = DownstreamCollections([up, down])
        try:
            looks = await several.find([wanting("aab"), wanting("aab", "more")])
            return looks, several.covers("more"), several.covers("alien")
        finally:
            await several.close()

    with foreign_collection(url) as foreign:
        (first, second), covers, covers_alien = asyncio.run(run(foreign.name))
        assert (first.hits[0].collection, first.missing) == ("up", ("down",))
        assert (second.hits, second.missing) == ((), ("down",))
        assert (covers, covers_alien) == (True, False)


def test_settings_make_collections_and_hide_their_keys() -> None:
    """Without any there is none; one that may be anybody's has to say so; an API key never shows."""
    embedder = Letters()
    assert build_downstream(load_settings({}, environ={}), embedder) is None
    told = {"collection": "rag", "api_key": "very-secret-key", "namespace_key": "tenant", "skip_threshold": 0.9}
    settings = load_settings({"downstream.collections": {"docs": told}}, environ={})
    assert "very-secret-key" not in str(settings.shown()) + repr(settings)
    built = build_downstream(settings, embedder)
    assert built is not None
    assert built.covers("any")
    asyncio.run(built.close())
    with pytest.raises(BadSettings, match="namespace_key nor namespaces"):
        load_settings({"downstream.collections": {"docs": {"collection": "rag"}}}, environ={})
    stated = load_settings({"downstream.collections": {"docs": {"collection": "rag", "namespaces": ["*"]}}}, environ={})
    assert stated.downstream.collections["docs"].namespaces == ("*",)
