"""How a worker is put together, as far as no service is needed for it."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from factsieve.adapters.memory import MemoryFacts, MemoryLedger
from factsieve.assembly import memory
from factsieve.assembly.settings import Settings
from factsieve.assembly.wiring import Stores
from factsieve.core.guard import thesaurus
from factsieve.worker import serve
from factsieve.worker.run import RunOptions
from tests.engine.harness import ToyEmbedder


@pytest.mark.usefixtures("collector")
def test_memory_is_settled_before_the_first_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a worker begins to read, what the first statement waits for is loaded, and the collector passes over what stays for good."""
    seen: dict[str, Any] = {}
    loaded: list[str] = []

    class Checked(MemoryFacts):
        async def check(self) -> None:
            """Say nothing against it."""

    class Ledger(MemoryLedger):
        check = Checked.check

    @contextlib.asynccontextmanager
    async def stores(_: Settings, *, niceness: int) -> AsyncIterator[Any]:
        seen["niceness"] = niceness
        yield Stores(Checked(), Ledger(), ToyEmbedder())  # type: ignore[arg-type]

    async def nothing(*_: Any) -> None:
        """No service is there to be asked or left."""

    async def begin(_: Any, options: RunOptions) -> int:
        seen.update(loaded=list(loaded), threshold=gc.get_threshold(), frozen=gc.get_freeze_count())
        for close in options.closers:
            await close()
        return 0

    monkeypatch.setattr(serve, "open_stores", stores)
    monkeypatch.setattr(serve, "explain", nothing)
    monkeypatch.setattr(serve, "run_worker", begin)
    monkeypatch.setattr(serve.FactsWatch, "start", nothing)
    monkeypatch.setattr(thesaurus, "warm", lambda: loaded.append("thesaurus"))
    monkeypatch.chdir(tmp_path)
    settings = Settings.model_validate(
        {"worker": {"state_dir": str(tmp_path), "model_niceness": 7}, "redis": {"url": "redis://127.0.0.1:9/0"}}
    )
    assert gc.get_freeze_count() == 0
    assert asyncio.run(serve._serve(settings)) == 0
    assert seen["loaded"] == ["thesaurus"]
    assert seen["niceness"] == 7, "its models are to give way"
    assert seen["threshold"] == memory.COLLECT_AFTER
    assert seen["frozen"] > 100_000
