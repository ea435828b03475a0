"""The examples as a user runs them: against the local stack, a worker, and a scripted language model."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from adapters.fake_openai import FakeOpenAI, Step, says
from examples.conftest import EXAMPLES
from qdrant_client import AsyncQdrantClient, QdrantClient

from factsieve.cli.connect import connect
from factsieve.cli.local import running
from factsieve.core.facts import Source
from factsieve.localstack.stack import LocalStack, StackConfig
from factsieve.operations.conversation import Conversation
from factsieve.operations.orders import Order, Orders
from factsieve.telemetry.declared import DECLARED, PREFIX
from factsieve.wire.producing import candidate_message

pytestmark = pytest.mark.stack

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("FACTSIEVE_")}
LIMIT_S = 90.0
DIMENSION = 16
START = datetime(2026, 3, 1, 10, tzinfo=UTC)

EVERYWHERE = "The Harbor API listens on port 8080 in every environment."
MOVED = "The Harbor API listens on port 8081 in every environment."
JSON_LOG = "The Harbor API writes its log as JSON."
MERGED = "The Harbor API writes its log to standard output as JSON."
ANSWERS = {
    EVERYWHERE: says("update", (0,), EVERYWHERE),
    MOVED: says("supersede", (0,)),
    JSON_LOG: says("merge", (0,), MERGED),
}


def scripted(body: dict[str, Any]) -> Step:
    document = json.loads(body["messages"][1]["content"])
    return ANSWERS.get(document["candidate"]["text"], says("add"))


async def toy_embed(texts: Sequence[str]) -> list[list[float]]:
    """Return a vector per text: enough where no search is asked for, and quick."""
    return [np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIMENSION).tolist() for text in texts]


class Desk:
    """A folder in which the stack runs, and what is done there."""

    def __init__(self, folder: Path, stack: LocalStack, worker_address: str) -> None:
        self.folder = folder
        self.stack = stack
        self.worker_address = worker_address
        self.connected = connect(folder / ".factsieve", None)

    def remember(self, namespace: str, texts: Sequence[str]) -> list[dict[str, Any]]:
        """State texts, a day apart, and return their decisions."""
        topics, now = self.connected.topics, datetime.now(UTC)
        statements = [
            (
                (namespace, "tests", f"{number}"),
                candidate_message(
                    topics, namespace=namespace, text=text, source=Source.REMEMBER, ce_source="tests", ce_id=f"{number}",
                    occurred_at=START + timedelta(days=number), now=now,
                ),
            )
            for number, text in enumerate(texts)
        ]  # fmt: skip

        async def tell() -> list[dict[str, Any]]:
            async with Conversation(self.connected.kafka, topics) as conversation:
                told = await conversation.tell(statements, idle_timeout_s=LIMIT_S)
            return [told[name] for name, _ in statements]

        return asyncio.run(tell())

    def order(self, *orders: Order) -> None:
        async def give() -> list[Any]:
            async with Orders(self.connected, timeout_s=LIMIT_S) as desk:
                return [(await desk.give(order))["outcome"] for order in orders]

        assert asyncio.run(give()) == ["applied"] * len(orders)

    def example(self, name: str, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(EXAMPLES / f"{name}.py"), *words]
        done = subprocess.run(
            command, cwd=self.folder, env=ENVIRONMENT, input=given, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    def ingest(self, ingesting: ModuleType, collection: str, group: str, *, bootstrap: bool = False) -> Any:
        """Ingest to the end of the topic, as the example does, with a quick embedder; return its counts."""

        ingesting.SESSION_MS = 1_500  # a local broker answers the first member after half of it

        async def run() -> Any:
            client = AsyncQdrantClient(url=self.stack.qdrant_url, check_compatibility=False)
            try:
                index = ingesting.Index(client, collection, toy_embed, DIMENSION)
                await index.prepare()
                ingest = ingesting.Ingest(index)
                if bootstrap:
                    await ingesting.bootstrap(self.stack.kafka_bootstrap, ingest)
                await ingesting.follow(self.stack.kafka_bootstrap, ingest, group=group, once=True)
                return ingest
            finally:
                await client.close()

        return asyncio.run(run())

    def points(self, name: str, namespace: str) -> list[dict[str, Any]]:
        client = QdrantClient(url=self.stack.qdrant_url, check_compatibility=False)
        try:
            points, _ = client.scroll(name, limit=10_000, with_payload=True)
        finally:
            client.close()
        return [point.payload for point in points if point.payload and point.payload["namespace"] == namespace]

    def collection(self, name: str, namespace: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return what is held of a namespace in an example's collection: texts by fact id, by heads and by chunks."""
        payloads = self.points(name, namespace)
        heads = {p["fact_id"]: p["text"] for p in payloads if p["kind"] == "head" and p["text"] is not None}
        return heads, {p["fact_id"]: p["chunk"] for p in payloads if p["kind"] == "chunk"}

    def in_force(self, namespace: str) -> dict[str, str]:
        """Return the current facts of the worker's own store."""
        client = QdrantClient(url=self.stack.qdrant_url, check_compatibility=False)
        try:
            [name] = [one.name for one in client.get_collections().collections if one.name.startswith("facts-")]
        finally:
            client.close()
        return {p["fact_id"]: p["text"] for p in self.points(name, namespace) if p["status"] == "current"}


@pytest.fixture(scope="module")
def judge_url() -> Iterator[str]:
    """A language model's endpoint, served from a thread of its own."""
    ready, stop = threading.Event(), asyncio.Event()
    told: dict[str, Any] = {}

    async def serve() -> None:
        async with FakeOpenAI(scripted) as server:
            told.update(url=server.url, loop=asyncio.get_running_loop())
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(30)
    yield told["url"]
    told["loop"].call_soon_threadsafe(stop.set)
    thread.join()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, judge_url: str) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("examples")
    overrides = {"judge.name": f"{judge_url}#scripted", "policy.ambiguous_threshold": 0.73, "embedder.threads": 1}
    with running(StackConfig(state_dir=folder / ".factsieve"), overrides, config=None) as (stack, worker):
        yield Desk(folder, stack, worker.address)


def until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + LIMIT_S
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {LIMIT_S:g} s for {what}"
        time.sleep(0.02)


def test_all_seven_operations_reach_the_collection(desk: Desk, ingesting: ModuleType) -> None:
    """Added, updated, superseded, merged, reverted, retracted, erased, decided by a worker: the collection holds what is in force."""
    said = [
        "The Harbor API listens on port 8080.", EVERYWHERE, MOVED, "The Harbor API writes its log to standard output.", JSON_LOG,
        "Priya waters the plants on Mondays.", "The recycling is collected on Thursdays.",
    ]  # fmt: skip
    told = desk.remember("ops", said)
    assert [one["decision"] for one in told] == ["add", "update", "supersede", "add", "merge", "add", "add"]
    desk.order(
        Order("revert", "ops", {"decision_id": told[2]["decision_id"]}),
        Order("retract", "ops", {"fact_id": told[5]["fact_id"]}),
        Order("erase", "ops", {"fact_id": told[6]["fact_id"]}),
    )

    desk.ingest(ingesting, "ops", "ops")
    heads, chunks = desk.collection("ops", "ops")
    assert heads == chunks == desk.in_force("ops")
    assert set(heads.values()) == {EVERYWHERE, MOVED, MERGED}

    again = desk.ingest(ingesting, "ops", "ops-again")
    assert again.passed_over > 0
    assert desk.collection("ops", "ops") == (heads, chunks)
    desk.ingest(ingesting, "fresh", "fresh", bootstrap=True)
    assert desk.collection("fresh", "ops") == (heads, chunks)

    words = (
        "--once",
        "--collection",
        "asked",
        "--group",
        "asked",
        "--namespace",
        "ops",
        "--ask",
        "how does the API log?",
    )
    assert desk.example("ingest_new_facts", *words).stdout.splitlines()[0].endswith(MERGED)
    assert desk.collection("asked", "ops") == (heads, chunks)


CHILD = """
import asyncio, importlib.util, sys
spec = importlib.util.spec_from_file_location("example", sys.argv[1])
example = sys.modules["example"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)

async def slow(texts):
    await asyncio.sleep(0.05)
    return [[1.0] * {dimension} for _ in texts]

example.SESSION_MS = 1500
example.shipped_embedder = lambda: (slow, {dimension}, lambda: None)
asyncio.run(example.run(example.parse(["--collection", "kills", "--group", "kills"])))
"""


def test_a_consumer_that_is_killed_loses_nothing(desk: Desk, ingesting: ModuleType) -> None:
    """SIGKILL while it ingests, twice: in the end the collection is what is in force."""
    for start in (0, 30):
        desk.remember(
            f"kills-{start}", [f"Ticket {n} is about gate {n} of the harbour." for n in range(start, start + 30)]
        )
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD.format(dimension=DIMENSION), str(EXAMPLES / "ingest_new_facts.py")],
            cwd=desk.folder,
            env=ENVIRONMENT,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda start=start: _held(desk, "kills") > start, f"more than {start} points in the collection")
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(30)
    desk.ingest(ingesting, "kills", "kills")
    for namespace in ("kills-0", "kills-30"):
        heads, chunks = desk.collection("kills", namespace)
        assert heads == chunks == desk.in_force(namespace)
        assert heads


def _held(desk: Desk, name: str) -> int:
    client = QdrantClient(url=desk.stack.qdrant_url, check_compatibility=False)
    try:
        return client.count(name).count if client.collection_exists(name) else 0
    finally:
        client.close()


def test_a_chat_remembers_what_is_stated_and_says_what_became_of_it(desk: Desk) -> None:
    """Statements only; a repeat is known; the same conversation told again decides nothing anew."""
    talk = "Hello!\nI moved to Utrecht. Where do you live?\nI moved to Utrecht.\n"
    words = ("--user", "ada", "--conversation", "c1")
    said = desk.example("chat_loop", *words, given=talk).stdout.splitlines()
    assert [line.strip() for line in said] == [
        "I moved to Utrecht. -> remembered",
        "I moved to Utrecht. -> known already (I moved to Utrecht.)",
    ]
    assert desk.example("chat_loop", *words, given=talk).stdout.splitlines() == said
    assert list(desk.in_force("ada").values()) == ["I moved to Utrecht."]


def test_every_metric_is_served_by_the_worker(desk: Desk) -> None:
    """What is declared for workers is there, and what was observed elsewhere has a source; the API's are its own."""
    desk.remember("metrics", ["Otto prunes the roses in March."])
    with urllib.request.urlopen(f"http://{desk.worker_address}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    served = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    of_the_api = {"http_requests_in_flight", "decision_log_behind_seconds"}
    missing = {declared.name for declared in DECLARED if PREFIX + declared.name not in served} - of_the_api
    assert missing == set()
    samples = dict(re.findall(r"^(\w+)(?:\{[^}]*\})? ([0-9.e+-]+)$", text, re.MULTILINE))
    for name in ("factsieve_embeddings_computed_total", "process_resident_memory_bytes", "factsieve_events_done_total"):
        assert float(samples[name]) > 0, name
    assert re.search(r'^factsieve_call_duration_seconds_count\{call="embed"\} [1-9]', text, re.MULTILINE)
    assert "\nfactsieve_judge_breaker_state 0.0\n" in text
    assert 'factsieve_decisions_reverted_total{decision="supersede"}' in text


@pytest.mark.parametrize("name", ["ingest_new_facts", "chat_loop"])
def test_without_a_stack_the_examples_say_what_to_do(name: str, tmp_path: Path) -> None:
    """The error names the command; the help has an example."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 2
    assert "factsieve up" in done.stderr


def test_the_help_has_an_example(
    ingesting: ModuleType, chatting: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that can be typed."""
    for module in (ingesting, chatting):
        with pytest.raises(SystemExit):
            module.parse(["--help"])
        assert f"example: {module.__name__}.py" in capsys.readouterr().out
