"""Compacting the local engine: overwritten texts leave the folder, everything else stays, whenever it is interrupted."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from qdrant_client import QdrantClient
from qdrant_client import models as m

from factsieve.localstack import qdrant_engine
from factsieve.localstack.qdrant import Qdrant
from factsieve.localstack.qdrant_collection import CONFIG_FILE
from factsieve.localstack.qdrant_engine import COPY, Engine

pytestmark = pytest.mark.stack
SECRET = "the vault code is 4711-unforgettable"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Qdrant]:
    service = Qdrant(folder=tmp_path / "data", log_path=tmp_path / "log")
    service.start()
    yield service
    service.stop()


@pytest.fixture
def client(service: Qdrant) -> Iterator[QdrantClient]:
    client = QdrantClient(url=service.url, check_compatibility=False, timeout=30)
    yield client
    client.close()


def found(folder: Path, text: str) -> list[str]:
    """Return the files below a folder whose bytes hold a text."""
    return [one.name for one in folder.rglob("*") if one.is_file() and text.encode() in one.read_bytes()]


def filled(client: QdrantClient) -> None:
    """Make two collections, of which one holds a text that is then overwritten, and one that is deleted."""
    client.create_collection(
        "facts é!x",
        vectors_config=m.VectorParams(size=4, distance=m.Distance.COSINE),
        strict_mode_config=m.StrictModeConfig(enabled=True, unindexed_filtering_retrieve=False),
        metadata={"k": 1},
    )
    client.create_collection("ledger", vectors_config={})
    client.create_payload_index("facts é!x", "namespace", m.KeywordIndexParams(type="keyword", is_tenant=True))
    points = [
        m.PointStruct(id=n, vector=[1.0, n, n % 7, 1], payload={"namespace": f"n{n % 3}", "text": f"text {n}"})
        for n in range(1200)
    ]
    client.upsert("facts é!x", points)
    client.upsert("facts é!x", [m.PointStruct(id=5, vector=[1, 1, 1, 1], payload={"text": SECRET})])
    client.upsert("facts é!x", [points[5]])
    client.upsert("ledger", [m.PointStruct(id=n, vector={}, payload={"body": SECRET}) for n in (1, 2)])
    client.delete("ledger", [2])
    client.overwrite_payload("ledger", {"body": "kept"}, [1])


def whole(client: QdrantClient) -> dict[str, object]:
    """Return everything that the collections answer."""
    return {
        name: (
            client.get_collection(name).config.model_dump(),
            client.get_collection(name).payload_schema,
            client.scroll(name, limit=2000, with_vectors=True)[0],
        )
        for name in ("facts é!x", "ledger")
    }


def test_what_was_overwritten_is_gone_and_the_rest_is_as_it_was(service: Qdrant, client: QdrantClient) -> None:
    """Before, the folder still holds the text; afterwards no file does. All else is the same, also after a kill."""
    filled(client)
    before = whole(client)
    assert found(service.folder, SECRET)
    answer = httpx.post(f"{service.url}/factsieve/compact", timeout=60).json()["result"]
    assert set(answer) == {"facts é!x", "ledger"}
    assert all(one["bytes_after"] > 0 for one in answer.values())
    assert found(service.folder, SECRET) == []
    assert found(service.folder, "text 7")
    assert whole(client) == before
    service.kill()
    service.start()
    assert whole(client) == before
    assert found(service.folder, SECRET) == []
    hits = client.query_points(
        "facts é!x",
        [1, 1, 1, 1],
        limit=3,
        query_filter=m.Filter(must=[m.FieldCondition(key="namespace", match=m.MatchValue(value="n1"))]),
    )
    assert len(hits.points) == 3
    client.upsert("facts é!x", [m.PointStruct(id=5000, vector=[1, 1, 1, 1], payload={"namespace": "n"})])


def test_only_post_compacts(service: Qdrant) -> None:
    """Any other request on that path is not there."""
    assert httpx.get(f"{service.url}/factsieve/compact").status_code == 501
    assert httpx.post(f"{service.url}/factsieve/other", json={}).status_code == 404


@pytest.mark.parametrize("at", ["copying", "removing", "renaming"])
def test_an_interruption_loses_nothing(
    at: str, service: Qdrant, client: QdrantClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it copies, while it removes the old folder or before it renames the new one: the collection is whole afterwards."""
    filled(client)
    before = whole(client)
    service.stop()

    class Killed(BaseException):
        pass

    def killed(*_given: object, **_more: object) -> None:
        raise Killed

    def half_removed(place: Path) -> None:
        (place / CONFIG_FILE).unlink()
        raise Killed

    engine = Engine(service.folder)
    with monkeypatch.context() as patched:
        if at == "copying":
            patched.setattr("factsieve.localstack.qdrant_collection.Collection._write_config", killed)
        elif at == "removing":
            patched.setattr(qdrant_engine.shutil, "rmtree", half_removed)
        else:
            patched.setattr(Path, "rename", killed)
        with pytest.raises(Killed):
            engine.compact("facts é!x")
    engine.close()
    service.start()
    assert whole(client) == before
    left = [one.name for one in (service.folder / "collections").iterdir() if one.name.endswith(COPY)]
    assert left == []
