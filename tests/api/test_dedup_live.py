"""The dedup check on a real stack: it says what the worker says, and leaves no trace."""

import asyncio
import json
import urllib.request
from collections import Counter
from importlib import resources
from typing import Any

import aiohttp
import httpx
import pytest
import redis
from aiokafka import AIOKafkaConsumer, TopicPartition
from api_stack import TOKENS, WAIT_S, Live

from factsieve.wire.topics import Topics

pytestmark = [pytest.mark.api, pytest.mark.stack]

FACTS = 500
LANES = 25
FLOOD = 400
"""Checks at once, where 64 may be under way."""


def demo_statements() -> list[dict[str, Any]]:
    """The demonstration's statements, and the first of them again, as 500 in 25 namespaces, in order."""
    raw = (resources.files("factsieve.cli") / "demo" / "facts.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in raw.splitlines()]
    lines = (lines + lines)[:FACTS]
    size = FACTS // LANES
    return [
        {name: line[name] for name in ("text", "slot", "source", "occurred_at") if name in line}
        | {"namespace": f"lane-{number // size}"}
        for number, line in enumerate(lines)
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_check_agrees_exactly_with_the_worker_on_500_facts(live: Live) -> None:
    """Asked just before a statement is made, the check gives the very signal that the statement's decision then has."""
    by_lane: dict[str, list[dict[str, Any]]] = {}
    for one in demo_statements():
        by_lane.setdefault(one["namespace"], []).append(one)
    kinds: Counter[str] = Counter()

    async def lane(client: httpx.AsyncClient, statements: list[dict[str, Any]]) -> int:
        for one in statements:
            checked = (await client.post("/v1/dedup-check", json=one)).json()
            sent = (await client.post("/v1/candidates", json=one)).json()
            key = sent["events"][0]["event_key"]
            found = await client.get("/v1/decisions", params={"event_key": key, "wait": 30})
            (decision,) = found.json()["decisions"]
            assert checked == decision["dedup_signal"], (one, decision["reason"], decision["via"])
            kinds[decision["via"] if decision["decision"] == "skip" else decision["decision"]] += 1
        return len(statements)

    async def run() -> int:
        headers = {"Authorization": f"Bearer {TOKENS['ops']}"}
        limits = httpx.Limits(max_connections=LANES)
        async with httpx.AsyncClient(base_url=live.url, headers=headers, timeout=WAIT_S, limits=limits) as client:
            return sum(await asyncio.gather(*(lane(client, one) for one in by_lane.values())))

    assert asyncio.run(run()) == FACTS
    assert {"add", "supersede", "rules"} <= set(kinds), "all kinds of decisions were compared"
    assert kinds["hash_window"] or kinds["text"]


def everything_stored(live: Live) -> dict[str, Any]:
    """Return what every store holds: points of every collection, keys of Redis with their values, ends of all topics."""
    return {"qdrant": _points(live), "redis": _keys(live), "kafka": asyncio.run(_ends(live))}


def _post(url: str, body: dict[str, Any] | None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return json.load(answer)["result"]


def _points(live: Live) -> dict[str, list[Any]]:
    base = live.state.qdrant_url
    found: dict[str, list[Any]] = {}
    for collection in _post(f"{base}/collections", None)["collections"]:
        name = collection["name"]
        points: list[Any] = []
        offset = None
        while True:
            body = {"limit": 1000, "with_payload": True, "with_vector": True, "offset": offset}
            page = _post(f"{base}/collections/{name}/points/scroll", {k: v for k, v in body.items() if v is not None})
            points += page["points"]
            offset = page["next_page_offset"]
            if offset is None:
                break
        found[name] = sorted(points, key=lambda point: str(point["id"]))
    return found


def _keys(live: Live) -> dict[bytes, bytes | None]:
    with redis.Redis.from_url(live.state.redis_url) as client:
        return {key: client.dump(key) for key in sorted(client.keys("*"))}


async def _ends(live: Live) -> dict[str, int]:
    names = Topics()
    consumer = AIOKafkaConsumer(bootstrap_servers=live.state.kafka_bootstrap, group_id=None)
    await consumer.start()
    try:
        ends: dict[str, int] = {}
        for topic in (names.candidates, *names.outputs):
            await consumer.topics()
            parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
            ends |= {f"{part.topic}/{part.partition}": end for part, end in (await consumer.end_offsets(parts)).items()}
        return ends
    finally:
        await consumer.stop()


def test_a_check_writes_nothing_anywhere(live: Live, ops: httpx.Client) -> None:
    """Points, ledger, Redis keys and topics are the same before and after, whatever is asked: known, new, late, unusable, explained."""
    namespace = live.fresh("quiet")
    live.remember(
        {"namespace": namespace, "text": "The Harbor API listens on port 8080.", "slot": "harbor.port"},
        {"namespace": namespace, "text": "The Harbor API listens on port 8081.", "slot": "harbor.port"},
        {"namespace": namespace, "text": "Tests passed: 412.", "source": "post_tool_use"},
    )
    before = everything_stored(live)
    assert all(before["qdrant"].values())
    assert before["redis"]
    for body in (
        {"text": "The Harbor API listens on port 8081."},
        {"text": "The Harbor API listens on port 8082.", "slot": "harbor.port"},
        {"text": "The Harbor API listens on port 7.", "slot": "harbor.port", "occurred_at": "2020-01-01T00:00:00Z"},
        {"text": "Tests passed: 412.", "source": "post_tool_use"},
        {"text": "Something that nobody ever said."},
        {"text": " "},
        {"text": "Tests passed: 412.", "embedding": [0.1, 0.2], "embedding_model": "other"},
    ):
        for params in ({}, {"explain": "true"}, {"explain": "true", "ask": "true"}):
            answer = ops.post("/v1/dedup-check", params=params, json={"namespace": namespace, **body})
            assert answer.status_code == 200, answer.text
    unknown = ops.post("/v1/dedup-check", json={"namespace": live.fresh("empty"), "text": "Nobody was ever here."})
    assert unknown.json() == {"is_update": False, "max_sim": 0.0, "matched_id": None}
    assert everything_stored(live) == before


def test_the_threshold_of_a_check_is_strict(live: Live, ops: httpx.Client) -> None:
    """`is_update` says whether the similarity is above the threshold, not whether it reaches it; nothing else is said."""
    namespace = live.fresh("strict")
    (known,) = live.remember({"namespace": namespace, "text": "The Harbor API listens on port 8080."})
    body = {"session_id": namespace, "text": "The Harbor API listens on port 8081."}
    plain = ops.post("/v1/dedup-check", json=body).json()
    assert set(plain) == {"is_update", "max_sim", "matched_id"}
    assert plain["matched_id"] == known["fact_id"]
    similarity = plain["max_sim"]
    at = ops.post("/v1/dedup-check", json={**body, "dedup_threshold": similarity}).json()
    below = ops.post("/v1/dedup-check", json={**body, "dedup_threshold": similarity - 1e-5}).json()
    assert (at["is_update"], below["is_update"]) == (False, True)
    same = ops.post(
        "/v1/dedup-check", json={**body, "text": "The Harbor API listens on port 8080.", "dedup_threshold": 1.0}
    )
    assert same.json() == {"is_update": False, "max_sim": 1.0, "matched_id": known["fact_id"]}


def test_an_explanation_is_what_the_worker_then_decides(live: Live, ops: httpx.Client) -> None:
    """Decision, reason, band, findings and who would be asked; the statement made afterwards is decided so."""
    namespace = live.fresh("explained")
    live.remember({"namespace": namespace, "text": "The Harbor API listens on port 8080.", "slot": "harbor.port"})
    body = {"namespace": namespace, "text": "The Harbor API listens on port 8081.", "slot": "harbor.port"}
    told = ops.post("/v1/dedup-check", params={"explain": "true"}, json=body).json()
    (decided,) = live.remember(body)
    explained = told.pop("explain")
    assert told == decided["dedup_signal"]
    for name in ("decision", "reason", "band", "via", "matched_id", "superseded_ids", "findings", "policy", "embedder"):
        assert explained[name] == decided[name], name
    (question,) = explained["asked"]
    assert (question["judge"], question["remote"], question["answered_by"]) == ("rules", False, "rules")
    unusable = ops.post("/v1/dedup-check", params={"explain": "true"}, json={"namespace": namespace, "text": ""}).json()
    assert (unusable["filtered"], unusable["explain"]["error"]["code"]) == (True, "empty_text")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_flood_is_answered_503_and_the_worker_goes_on(live: Live) -> None:
    """Far more checks at once than may be: each is answered, many with 503 at once; statements made meanwhile are decided."""
    namespace = live.fresh("flood")
    live.remember({"namespace": namespace, "text": "Before the flood."})

    async def run() -> tuple[Counter[int], list[str]]:
        headers = {"Authorization": f"Bearer {TOKENS['ops']}"}
        async with (
            aiohttp.ClientSession(live.url, headers=headers, connector=aiohttp.TCPConnector(limit=FLOOD)) as flood,
            httpx.AsyncClient(base_url=live.url, headers=headers, timeout=WAIT_S) as other,
        ):

            async def one(number: int) -> int:
                body = {"namespace": namespace, "text": f"Question {number} of the flood, never asked before."}
                async with flood.post("/v1/dedup-check", json=body) as answer:
                    if answer.status == 503:
                        assert answer.headers["Retry-After"] == "1"
                        assert (await answer.json(content_type=None))["code"] == "too_busy"
                    await answer.read()
                    return answer.status

            async def meanwhile() -> str:
                sent = await other.post(
                    "/v1/candidates", json={"namespace": namespace, "text": "Tea is in the cupboard."}
                )
                key = sent.json()["events"][0]["event_key"]
                found = await other.get("/v1/decisions", params={"event_key": key, "wait": 30})
                return str(found.json()["decisions"][0]["decision"])

            checks = asyncio.gather(*(one(number) for number in range(FLOOD)))
            decided = await meanwhile()
            statuses = await checks
            after = await other.post("/v1/dedup-check", json={"namespace": namespace, "text": "Before the flood."})
            return Counter(statuses), [decided, str(after.json()["max_sim"])]

    statuses, said = asyncio.run(run())
    assert set(statuses) == {200, 503}
    assert statuses.total() == FLOOD
    assert said == ["add", "1.0"]
    with httpx.Client(timeout=WAIT_S) as client:
        assert client.get(f"{live.url}/readyz").status_code == 200
