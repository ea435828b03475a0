"""What an API process does once, before its first request."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from factsieve.adapters.kafka_client import KafkaSecurity
from factsieve.api import serve
from factsieve.assembly import memory
from factsieve.assembly.settings import Settings
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Kafka


@pytest.mark.usefixtures("collector")
def test_memory_is_settled_before_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """When an API begins to listen, the collector passes over what stays for good, and looks at the rest less often."""
    seen: dict[str, Any] = {}

    @contextlib.asynccontextmanager
    async def context(_: Connected) -> AsyncIterator[None]:
        yield None

    async def nothing(*_: object) -> None:
        """No service is there to be asked."""

    class Server:
        config = SimpleNamespace(is_ssl=False, host="127.0.0.1", port=1)

        async def serve(self) -> None:
            """Note what the first request would meet."""
            seen.update(threshold=gc.get_threshold(), frozen=gc.get_freeze_count())

    monkeypatch.setattr(serve, "explain", nothing)
    monkeypatch.setattr(serve, "open_context", context)
    monkeypatch.setattr(serve, "make_app", lambda _context: None)
    monkeypatch.setattr(serve, "make_server", lambda _app, _context: Server())
    settings = Settings()
    connected = Connected(settings, Kafka(("127.0.0.1:1",), KafkaSecurity()), settings.topics, local=False)
    assert asyncio.run(serve._serve(connected)) == 0
    assert seen["threshold"] == memory.COLLECT_AFTER
    assert seen["frozen"] > 100_000, "the libraries alone are more"
