"""The adapters that every contract suite runs against."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from contract_stores import memory_opener, qdrant_facts, qdrant_opener, qdrant_prefix
from contract_values import DIMENSION, Box

from factsieve.adapters.memory import MemoryFacts, MemoryLedger, MemoryWindow
from factsieve.adapters.qdrant_ledger import QdrantLedger
from factsieve.adapters.redis_window import RedisWindow
from factsieve.localstack.qdrant import Qdrant
from factsieve.localstack.redis import Redis
from factsieve.ports import FactStore, HashWindow, Ledger

STORES = [
    "memory",
    pytest.param("local_qdrant", marks=pytest.mark.stack),
    pytest.param("real_qdrant", marks=pytest.mark.stack),
]


@pytest.fixture(scope="session")
def local_qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the local stack's Qdrant engine, started for this run."""
    folder: Path = tmp_path_factory.mktemp("qdrant")
    service = Qdrant(folder=folder / "data", log_path=folder / "qdrant.log")
    service.start(timeout_s=60)
    yield service.url
    service.stop()


@pytest.fixture(scope="session")
def real_qdrant() -> str:
    """The URL of a Qdrant server that runs elsewhere."""
    url = os.environ.get("QDRANT_URL")
    if not url:
        pytest.skip("QDRANT_URL names no Qdrant server")
    return url


@pytest.fixture(scope="session")
def local_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a redis-server, started for this run."""
    folder: Path = tmp_path_factory.mktemp("redis")
    service = Redis(folder=folder / "data", log_path=folder / "redis.log")
    service.start(timeout_s=60)
    yield service.url
    service.stop()


@contextmanager
def _box(request: pytest.FixtureRequest, memory: Callable[[], Any], make: Callable[..., Any]) -> Iterator[Box[Any]]:
    if request.param == "memory":
        yield Box(memory_opener(memory()), asyncio.run)
        return
    url = request.getfixturevalue(request.param)
    with qdrant_prefix(url) as prefix:
        yield Box(qdrant_opener(url, prefix, make), asyncio.run)


@pytest.fixture(scope="session", params=STORES)
def facts(request: pytest.FixtureRequest) -> Iterator[Box[FactStore]]:
    """A fact store, shared by all tests: each uses namespaces of its own."""
    with _box(request, lambda: MemoryFacts(DIMENSION), qdrant_facts) as box:
        yield box


@pytest.fixture(scope="module", params=STORES)
def own_facts(request: pytest.FixtureRequest) -> Iterator[Box[FactStore]]:
    """A fact store that only the tests of one module use."""
    with _box(request, lambda: MemoryFacts(DIMENSION), qdrant_facts) as box:
        yield box


@pytest.fixture(scope="session", params=STORES)
def ledger(request: pytest.FixtureRequest) -> Iterator[Box[Ledger]]:
    """A ledger, shared by all tests."""
    with _box(request, MemoryLedger, QdrantLedger) as box:
        yield box


@pytest.fixture(scope="session", params=["memory", pytest.param("redis", marks=pytest.mark.stack)])
def window(request: pytest.FixtureRequest) -> Box[HashWindow]:
    """A hash window of 300 seconds, shared by all tests."""
    if request.param == "memory":
        return Box(memory_opener(MemoryWindow()), asyncio.run)
    url = request.getfixturevalue("local_redis")

    @asynccontextmanager
    async def opened() -> AsyncIterator[RedisWindow]:
        adapter = RedisWindow(url, timeout_s=30)
        try:
            await adapter.check()
            yield adapter
        finally:
            await adapter.close()

    return Box(opened, asyncio.run)
