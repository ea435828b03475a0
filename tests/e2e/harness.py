"""Services, workers and what they left behind, for tests on real processes.

A `Site` is a broker, a Redis and a Qdrant. A `Room` is a place of its own on a site (topics, collections, a Redis database, a consumer
group), in which a test starts workers, sends candidates and reads what comes out. `Room.outcome` is everything that a run came to, and
`comparable` reduces it to what must be the same however the run went.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import httpx
import msgspec
import pytest
import redis
from aiokafka import AIOKafkaProducer
from qdrant_client import QdrantClient

from e2e.follower import Follower
from e2e.outcome import Outcome
from factsieve.assembly.settings import Settings, load_settings
from factsieve.assembly.wiring import open_stores
from factsieve.cli.connect import local_overrides
from factsieve.cli.local import environment_of
from factsieve.cli.statements import CE_SOURCE
from factsieve.cli.topics import create_topics
from factsieve.cli.worker_service import WorkerService
from factsieve.core.facts import Fact, Source
from factsieve.localstack.process import Service
from factsieve.localstack.qdrant import Qdrant
from factsieve.localstack.redis import Redis
from factsieve.operations.connected import connected_to
from factsieve.wire import times
from factsieve.wire.producing import candidate_message

PARTITIONS = 4
PRODUCER = CE_SOURCE  # so that `factsieve decide` gives the same events the same keys
SENT_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""`ce_time` of what is sent, the same in all runs."""

BOTH_SITES = [
    pytest.param("tansu", marks=pytest.mark.stack),
    pytest.param("apache", marks=[pytest.mark.stack, pytest.mark.kafka]),
]
"""For tests that prove something about the broker too: `@pytest.mark.parametrize("site", BOTH_SITES, indirect=True)`."""

QUICK: Mapping[str, object] = {
    # A local broker answers the first JoinGroup after half a session time-out; short ones keep tests short.
    "kafka.session_timeout_s": 3.0,
    "kafka.heartbeat_interval_s": 0.5,
    "kafka.rebalance_timeout_s": 9.0,
    "kafka.request_timeout_s": 10.0,
    "kafka.commit_interval_s": 0.3,
    "kafka.commit_timeout_s": 2.0,
    "worker.drain_timeout_s": 3.0,
    "worker.stop_deadline_s": 8.0,
    "engine.wave_size": 8,  # many small waves: more places at which a run can be torn apart
    "engine.retry_most_s": 0.5,
    "embedder.threads": 1,
}


class Site:
    """A broker, a Redis and a Qdrant, each of which can be killed and started again."""

    def __init__(self, folder: Path, broker: Service, *, kind: str) -> None:
        self.folder = folder
        self.kind = kind
        self.broker = broker
        self.redis = Redis(folder=folder / "redis", log_path=folder / "redis.log")
        self.qdrant = Qdrant(folder=folder / "qdrant", log_path=folder / "qdrant.log")
        self._rooms = itertools.count(1)

    kafka_bootstrap = property(lambda self: self.broker.address)
    redis_url = property(lambda self: self.redis.url)
    qdrant_url = property(lambda self: self.qdrant.url)

    def __enter__(self) -> Self:
        try:
            self.ensure_running()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def ensure_running(self) -> None:
        """Start what does not run: a test may have failed while a service was away."""
        for service in (self.broker, self.redis, self.qdrant):
            if not service.running:
                service.start()

    def stop(self) -> None:
        with contextlib.ExitStack() as ending:
            for service in (self.broker, self.redis, self.qdrant):
                ending.callback(service.kill)

    @contextlib.contextmanager
    def room(self, *, partitions: int = PARTITIONS, **overrides: object) -> Iterator["Room"]:
        """Make a room; at the end its workers are gone, and so are its collections."""
        self.ensure_running()
        room = Room(self, next(self._rooms), partitions, {name.replace("__", "."): v for name, v in overrides.items()})
        try:
            yield room
        finally:
            room.close()
            self.ensure_running()
            room.remove()


class Worker(WorkerService):
    """A worker process that can also be stopped and woken, and asked how it is."""

    def signal(self, number: signal.Signals) -> None:
        assert self.pid is not None, f"{self.log_path} ended by itself"
        os.kill(self.pid, number)

    def kill_now(self) -> None:
        """Send SIGKILL, from any thread; `kill` clears up later."""
        self.signal(signal.SIGKILL)

    def sleep_now(self) -> None:
        """Stop the process where it stands, from any thread."""
        self.signal(signal.SIGSTOP)

    def terminate(self, timeout_s: float = 25.0) -> int:
        """Ask it to end and return its exit code."""
        child = self._child
        assert child is not None
        child.terminate()
        code = child.wait(timeout_s)
        self._child = None
        return code

    def ask(self, path: str) -> tuple[int, Any]:
        """Return status and body of an endpoint; the body as JSON, but for /metrics."""
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=5) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, body = error.code, error.read()
        return status, (body.decode() if path == "/metrics" else msgspec.json.decode(body))

    def partitions(self) -> list[str]:
        """Return what is assigned to it, as `/readyz` says."""
        try:
            kafka = self.ask("/readyz")[1]["checks"]["kafka"]
        except OSError:
            return []
        return list((kafka.get("detail") or {}).get("partitions", ()))

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")


class Room:
    """Topics, collections, a Redis database and a consumer group of its own."""

    def __init__(self, site: Site, number: int, partitions: int, overrides: Mapping[str, object]) -> None:
        self.site = site
        self.name = f"r{number}"
        self.folder = site.folder / self.name
        self.folder.mkdir()
        self.database = number % 16
        self.workers: list[Worker] = []
        topics = {f"kafka.topics.{field}": f"{self.name}.{name}" for field, name in _TOPICS.items()}
        self.overrides: dict[str, object] = {
            **QUICK,
            **local_overrides(site),
            "kafka.idempotence": site.kind == "apache",
            "kafka.group": self.name,
            "worker.state_dir": str(self.folder / "state"),  # what other rooms' workers died of is no business of these
            "qdrant.collection_prefix": f"{self.name}-",
            "redis.url": f"{site.redis.url.rpartition('/')[0]}/{self.database}",
            **topics,
            **overrides,
        }
        self.settings: Settings = load_settings(self.overrides, environ={})
        self.topics = self.settings.topics
        create_topics(connected_to(self.settings, local=True), partitions=partitions)
        with redis.Redis.from_url(str(self.overrides["redis.url"])) as client:
            client.flushdb()
        self.follower = Follower(site.kafka_bootstrap, self.topics)

    # Workers

    def worker(self, *, wait: bool = True, **overrides: object) -> Worker:
        """Start a worker; `wait` until it has its partitions and reaches its stores."""
        more = {name.replace("__", "."): value for name, value in overrides.items()}
        number = len(self.workers)
        worker = Worker(
            folder=self.folder / f"worker-{number}",
            log_path=self.folder / f"worker-{number}.log",
            environment=environment_of({**self.overrides, **more}, None),
        )
        self.workers.append(worker)
        worker.launch()
        if wait:
            self.until_ready(worker)
        return worker

    def until_ready(self, *workers: Worker, timeout_s: float = 60.0) -> None:
        for worker in workers:
            self.until(lambda w=worker: _answers(w), f"{worker.log_path.stem} being ready", timeout_s)

    def until_shared(self, *workers: Worker, timeout_s: float = 60.0) -> None:
        """Wait until each of these workers has partitions, and all of them are given out."""

        def shared() -> bool:
            held = [worker.partitions() for worker in workers]
            return all(held) and sum(map(len, held)) == PARTITIONS

        self.until(shared, f"{len(workers)} workers sharing {PARTITIONS} partitions", timeout_s)

    # Input

    def send(self, messages: Sequence[Any]) -> None:
        """Produce records (`Message`, or keyword arguments of a producer's `send`) in order, and wait for every acknowledgement."""
        asyncio.run(self._send(messages))

    async def _send(self, messages: Sequence[Any]) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.site.kafka_bootstrap,
            acks="all",
            enable_idempotence=self.site.kind == "apache",
            max_request_size=4_000_000,
            linger_ms=2,
        )
        await producer.start()
        try:
            sent = []
            for one in messages:
                given = one if isinstance(one, dict) else _send_arguments(one)
                sent.append(await producer.send(self.topics.candidates, **given))
            for future in sent:
                await future
        finally:
            await producer.stop()

    def candidate(self, text: str, **fields: Any) -> Any:
        """Return a candidate's message: of namespace `team`, stated now, with an id of its own, unless told otherwise."""
        now = datetime.now(UTC)
        named = {
            "namespace": "team",
            "source": Source.REMEMBER,
            "occurred_at": now,
            "ce_source": PRODUCER,
            "ce_id": f"e{next(_IDS)}",
            "now": SENT_AT,
        }
        extra = {name: value for name, value in fields.items() if name not in named}
        return candidate_message(self.topics, text=text, extra=extra, **(named | _without(fields, extra)))

    def lines(self, lines: Iterable[Mapping[str, Any]]) -> list[Any]:
        """Return the messages of JSON lines as the demonstration and the data sets have them, each with something attached."""
        return [
            self.candidate(
                line["text"],
                **{
                    **_without(line, ("id", "text")),
                    "ce_id": str(line["id"]),
                    "attributes": {"line": line["id"], "nested": {"tags": ["a", 1, None]}},
                    "source": Source(line["source"]),
                    "occurred_at": times.parse_rfc3339(line["occurred_at"]),
                    "now": SENT_AT,
                },
            )
            for line in lines
        ]

    # Waiting

    def until(self, condition: Callable[[], Any], what: str, timeout_s: float = 60.0, *, ends: bool = False) -> Any:
        """Return the first true value of the condition. Fails after `timeout_s`, and at once when a worker has ended by itself."""
        deadline = time.monotonic() + timeout_s
        while True:
            value = condition()
            if value:
                return value
            dead = [] if ends else [w for w in self.workers if w._child is not None and w._child.poll() is not None]
            if dead or time.monotonic() > deadline or self.follower.failure is not None:
                why = f"{dead[0].log_path.stem} ended" if dead else f"{timeout_s:g} s are over"
                raise AssertionError(f"waiting for {what}: {why}\n{self.state()}") from self.follower.failure
            time.sleep(0.01)

    def until_decided(self, count: int, timeout_s: float = 120.0) -> None:
        """Wait until so many different events have a decision or a refusal that was told."""
        self.until(lambda: self.follower.decided >= count, f"{count} decisions", timeout_s)

    def until_committed(self, timeout_s: float = 30.0) -> None:
        """Wait until all input is done and committed: nothing of it comes again."""
        self.until(lambda: self.follower.lag(self.settings.kafka.group) == 0, "all offsets being committed", timeout_s)

    def state(self) -> str:
        """Return what a reader of a failed test wants to see."""
        seen = {topic: len(records) for topic, records in self.follower.records.items()}
        tails = [f"--- {w.log_path.name} ({'runs' if w.running else 'ended'})\n{w.log[-3000:]}" for w in self.workers]
        return "\n".join([f"{self.follower.decided} events decided, records read: {seen}", *tails])

    # Results

    def outcome(self) -> Outcome:
        """Return everything that is there now: points with vectors, ledger, and all records of the output topics."""
        self.until(self.follower.caught_up, "the output topics being read to their ends", 30)
        return asyncio.run(self._outcome())

    async def _outcome(self) -> Outcome:
        async with open_stores(self.settings) as stores:
            facts = await stores.facts.select(None, current_only=False)
            vectors = await stores.facts.vectors([fact.point_id for fact in facts])
            with self._qdrant() as client:
                ledger = _scan(client, stores.ledger.collection)
        return Outcome(
            room=self.name,
            topics=self.topics,
            facts={fact.point_id: fact for fact in facts},
            vectors={point_id: vector.tobytes() for point_id, vector in vectors.items()},
            ledger=ledger,
            records={topic: list(records) for topic, records in self.follower.records.items()},
        )

    def facts(self, namespace: str | None = None, **selection: Any) -> list[Fact]:
        """Return facts as the store selects them."""

        async def select() -> list[Fact]:
            async with open_stores(self.settings) as stores:
                return await stores.facts.select(namespace, **selection)

        return asyncio.run(select())

    def _qdrant(self) -> contextlib.AbstractContextManager[QdrantClient]:
        limits = httpx.Limits(max_connections=2)
        return contextlib.closing(
            QdrantClient(url=self.site.qdrant_url, limits=limits, check_compatibility=False, timeout=30)
        )

    # The end

    def close(self) -> None:
        """Kill what still runs."""
        with contextlib.ExitStack() as ending:
            ending.callback(self.follower.stop)
            for worker in self.workers:
                ending.callback(worker.kill)

    def remove(self) -> None:
        with self._qdrant() as client:
            for found in client.get_collections().collections:
                if found.name.startswith(f"{self.name}-"):
                    client.delete_collection(found.name)


_TOPICS = msgspec.structs.asdict(load_settings({}, environ={}, path=Path(os.devnull)).topics)
_IDS = itertools.count(1)


def _answers(worker: Worker) -> bool:
    try:
        return worker.answers()
    except OSError:
        return False


def _without(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    left_out = set(names)
    return {name: value for name, value in given.items() if name not in left_out}


def _send_arguments(message: Any) -> dict[str, Any]:
    return {
        "key": message.key,
        "value": message.value,
        "headers": list(message.headers),
        "timestamp_ms": message.timestamp_ms,
    }


def _scan(client: QdrantClient, collection: str) -> list[dict[str, Any]]:
    """Return every payload of a collection."""
    found: list[dict[str, Any]] = []
    offset: Any = None
    while True:
        page, offset = client.scroll(collection, limit=1000, offset=offset, with_payload=True)
        found += [point.payload or {} for point in page]
        if offset is None:
            return found
