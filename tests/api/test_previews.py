"""Previews of commands that would ask a judge: by the process's own, however workers' settings name it."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from factsieve.adapters.memory import MemoryFacts, MemoryLedger
from factsieve.adapters.rules_judge import RulesJudge
from factsieve.api.access import Tokens
from factsieve.api.app import make_app
from factsieve.api.context import ApiContext, Gates
from factsieve.api.limits import Gate, TokenBuckets
from factsieve.assembly.judges import Judges
from factsieve.assembly.settings import load_settings
from factsieve.telemetry.metrics import make_metrics
from factsieve.wire.topics import Limits
from tests.engine.harness import ToyEmbedder
from tests.operations.decisions import decision_value

pytestmark = pytest.mark.api


def test_a_preview_that_asks_needs_no_judge_of_its_own() -> None:
    """The language model's key may be the workers' alone, and a local model is not loaded anew for each request."""
    settings = load_settings({"api.open": True, "judge.name": "nli:there-is-no-such-folder"}, environ={})
    told = decision_value("1", review={"reason": "judge_failed"})
    context = SimpleNamespace(
        settings=settings,
        gates=Gates(Gate(9), Gate(9), Gate(9)),
        tokens=Tokens(settings.api),
        metrics=make_metrics(),
        limits=Limits(),
        writes=TokenBuckets(per_s=1.0, burst=10, now_s=lambda: 0.0),
        log=SimpleNamespace(get=lambda _decision_id: told),
        stores=SimpleNamespace(facts=MemoryFacts(), ledger=MemoryLedger(), embedder=ToyEmbedder()),
        judges=Judges(RulesJudge(), RulesJudge()),
    )

    async def ask() -> Any:
        transport = httpx.ASGITransport(make_app(cast(ApiContext, context)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            url = f"/v1/decisions/{told['decision_id']}/review"
            return await client.post(url, params={"dry_run": "true"}, json={"ask": True})

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["outcome"]) == (200, "refused"), answer.text
    assert "in the ledger" in answer.json()["reason"]
