"""The facts' store and the embedder, opened as the settings say."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from factsieve.adapters.qdrant_facts import QdrantFacts
    from factsieve.ports import Embedder
    from factsieve.worker.settings import Settings


@asynccontextmanager
async def open_facts(settings: "Settings") -> "AsyncIterator[tuple[QdrantFacts, Embedder]]":
    """Open the collection of the configured embedder, for reading. Raises BadSettings, Transient."""

    raise SystemExit
    yield
