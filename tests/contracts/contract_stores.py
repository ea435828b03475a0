"""How adapters are opened, and what they leave behind removed."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

from contract_values import DIMENSION

from factsieve.adapters.qdrant_facts import QdrantFacts
from factsieve.adapters.qdrant_tools import Rest, connect

QDRANT_TIMEOUT_S = 60.0  # creating an index takes a while on a busy machine


@contextmanager
def qdrant_prefix(url: str) -> Iterator[str]:
    """A prefix for collections that nothing else has; they are deleted at the end."""
    prefix = f"test-{uuid.uuid4().hex[:12]}-"

    async def remove() -> None:
        client = connect(url, api_key=os.environ.get("QDRANT_API_KEY"), timeout_s=QDRANT_TIMEOUT_S)
        try:
            names = [found.name for found in (await client.get_collections()).collections]
            for name in names:
                if name.startswith(prefix):
                    await Rest(client, name).call("DELETE", "")
        finally:
            await client.close()

    try:
        yield prefix
    finally:
        asyncio.run(remove())


def qdrant_opener(url: str, prefix: str, make: Callable[..., Any]) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """Return what opens an adapter over a new client, prepared."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        client = connect(url, api_key=os.environ.get("QDRANT_API_KEY"), timeout_s=QDRANT_TIMEOUT_S)
        try:
            adapter = make(client, prefix=prefix)
            await adapter.prepare(accept_old_server=True)
            yield adapter
        finally:
            await client.close()

    return opened


def memory_opener(adapter: Any) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """Return what gives the same adapter again and again."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield adapter

    return opened


def qdrant_facts(client: Any, *, prefix: str) -> QdrantFacts:
    return QdrantFacts(client, model="unit/test", dimension=DIMENSION, fingerprint="abc123", prefix=prefix)
