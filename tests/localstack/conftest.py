"""The services under test: one local Qdrant engine for the whole folder, and a real server besides where QDRANT_URL is set."""

import os
import uuid
from collections.abc import Iterator

import httpx
import pytest
from qdrant_client import QdrantClient

from factsieve.localstack.qdrant import Qdrant


@pytest.fixture(scope="session")
def local_qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Qdrant]:
    folder = tmp_path_factory.mktemp("qdrant")
    service = Qdrant(folder=folder / "data", log_path=folder / "qdrant.log")
    service.start()
    yield service
    service.stop()


SERVERS = ["local", "server"] if os.environ.get("QDRANT_URL") else ["local"]


@pytest.fixture(scope="session", params=SERVERS)
def qdrant_url(request: pytest.FixtureRequest) -> str:
    """The same tests run against the local engine and, where QDRANT_URL names one, against a Qdrant server."""
    if request.param == "server":
        return os.environ["QDRANT_URL"]
    return request.getfixturevalue("local_qdrant").url


@pytest.fixture(scope="session")
def client(qdrant_url: str) -> Iterator[QdrantClient]:
    limits = httpx.Limits(max_connections=4, max_keepalive_connections=4)
    client = QdrantClient(url=qdrant_url, limits=limits, check_compatibility=False, timeout=30)
    yield client
    client.close()


@pytest.fixture
def name(client: QdrantClient) -> Iterator[str]:
    """A collection name that is free, and is freed again."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield name
    client.delete_collection(name)


@pytest.fixture
def http(local_qdrant: Qdrant) -> Iterator[httpx.Client]:
    """Plain HTTP to the local engine, for what the client would not send."""
    with httpx.Client(base_url=local_qdrant.url, headers={"content-type": "application/json"}) as client:
        yield client
