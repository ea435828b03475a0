"""Candidates over HTTP, up to the messages that would be sent: without a broker behind it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factsieve.adapters.clock import SystemClock
from factsieve.api.access import Tokens
from factsieve.api.app import make_app
from factsieve.api.context import ApiContext, Gates
from factsieve.api.limits import Gate, TokenBuckets
from factsieve.assembly.settings import Settings
from factsieve.assembly.settings_groups import ApiSettings
from factsieve.core.errors import Transient
from factsieve.core.facts import Candidate, Record
from factsieve.ports import Message
from factsieve.telemetry.metrics import make_metrics
from factsieve.wire.inbound import decode
from factsieve.wire.topics import Limits, Topics

pytestmark = pytest.mark.api


class Kept:
    """An outbox that keeps what is sent, or fails."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.away = False

    async def send(self, messages: Sequence[Message]) -> None:
        if self.away:
            raise Transient("kafka", "no broker answers")
        self.sent.extend(messages)


def asked(ask: Callable[[httpx.AsyncClient, Kept], Awaitable[Any]], **api: Any) -> Any:
    """Ask an app whose outbox is kept."""
    outbox = Kept()
    own = ApiSettings(open=True, **api)
    context = SimpleNamespace(
        settings=Settings(api=own),
        connected=SimpleNamespace(topics=Topics()),
        gates=Gates(Gate(9), Gate(9), Gate(9)),
        tokens=Tokens(own),
        metrics=make_metrics(),
        limits=Limits(),
        clock=SystemClock(),
        outbox=outbox,
        writes=TokenBuckets(per_s=2.0, burst=10, now_s=lambda: 0.0),
    )
    transport = httpx.ASGITransport(make_app(cast(ApiContext, context)))

    async def run() -> Any:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            return await ask(client, outbox)

    return asyncio.run(run())


def statements(count: int) -> dict[str, Any]:
    return {"candidates": [{"namespace": "n", "text": f"Fact {number}."} for number in range(count)]}


def test_writes_beyond_the_rate_are_refused_and_not_sent() -> None:
    """429 with when it fits; what was refused counts for nothing."""

    async def ask(client: httpx.AsyncClient, outbox: Kept) -> None:
        assert (await client.post("/v1/candidates", json=statements(8))).status_code == 202
        refused = await client.post("/v1/candidates", json=statements(5))
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
        assert refused.json()["code"] == "too_many_writes"
        assert (await client.post("/v1/candidates", json=statements(2))).status_code == 202
        assert len(outbox.sent) == 10

    asked(ask)


def test_more_than_a_request_may_hold_is_refused() -> None:
    """422 with the bound; nothing is sent."""

    async def ask(client: httpx.AsyncClient, outbox: Kept) -> None:
        refused = await client.post("/v1/candidates", json=statements(4))
        assert refused.status_code == 422
        assert "at most 3" in refused.json()["detail"]
        assert (await client.post("/v1/candidates", json={"candidates": []})).status_code == 422
        assert outbox.sent == []

    asked(ask, max_batch=3)


def test_a_broker_that_is_away_is_told_as_such() -> None:
    """503 with Retry-After: sent again later under the same id, it is one event."""

    async def ask(client: httpx.AsyncClient, outbox: Kept) -> None:
        outbox.away = True
        answer = await client.post("/v1/candidates", json=statements(1))
        assert (answer.status_code, answer.json()["code"]) == (503, "service_unreachable")
        assert answer.headers["retry-after"]

    asked(ask)


def test_the_same_statement_sent_again_is_the_same_event_byte_by_byte() -> None:
    """Whenever it is sent: its body holds no time of ours, so that the worker does not take it for another one."""

    async def ask(client: httpx.AsyncClient, outbox: Kept) -> None:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        body = {"id": "1", "namespace": "n", "text": "Tea.", "ce_source": "me", "embedding": None}
        for _ in range(2):
            sent = await client.post("/v1/candidates", json=body, headers={"traceparent": trace})
            assert sent.status_code == 202
        first, second = outbox.sent
        assert (first.key, first.value) == (second.key, second.value) == (b"n", first.value)
        headers = dict(first.headers)
        assert (headers["ce_id"], headers["ce_source"], headers["traceparent"]) == (b"1", b"me", trace.encode())
        assert msgspec.json.decode(first.value or b"") == {"namespace": "n", "text": "Tea.", "source": "remember"}

    asked(ask)


TEXTS = st.text(max_size=40)


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        {"text": TEXTS, "namespace": TEXTS | st.just("n")},
        optional={
            "id": TEXTS,
            "slot": TEXTS,
            "session_id": TEXTS,
            "source": st.sampled_from(["remember", "ingest", "nobody", 3]),
            "dedup_threshold": st.floats(-2, 2) | st.none(),
            "attributes": st.dictionaries(TEXTS, st.integers() | st.none() | TEXTS, max_size=3),
            "occurred_at": st.sampled_from(["2026-03-04T09:30:00Z", "2026-03-04", "soon", None]),
        },
    )
)
def test_what_is_taken_is_what_a_worker_takes(body: dict[str, Any]) -> None:
    """Whatever is sent, either it is refused as unusable, or the worker's codec reads from the topic what was said."""

    async def ask(client: httpx.AsyncClient, outbox: Kept) -> None:
        answer = await client.post("/v1/candidates", json=body)
        assert answer.status_code in (202, 422), answer.text
        assert len(outbox.sent) == (answer.status_code == 202)
        for message in outbox.sent:
            record = Record(message.topic, 0, 0, 0, message.key, message.value, message.headers)
            candidate = decode(record, Limits(), SystemClock().now())
            assert isinstance(candidate, Candidate)
            (event,) = answer.json()["events"]
            assert (candidate.text, candidate.event_key) == (body["text"], event["event_key"])
            assert candidate.event_id == event["event_id"]
            assert candidate.attributes == body.get("attributes")

    asked(ask)
