"""Services, wires and workers of a run: every worker reaches Kafka, Qdrant and Redis over wires of its own that can be cut."""

import contextlib
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from aiokafka.errors import KafkaError
from kafka.apache import ApacheKafka

from chaos.judge import JudgeServer
from chaos.model import write_model
from chaos.stream import KEY, KEY_ID, Stream
from chaos.wires import Wires
from e2e.harness import Room, Site, Worker
from factsieve.localstack.broker import Broker, find_broker
from factsieve.localstack.process import LOOPBACK, Service, free_port

TERMINATED_WITHIN_S = 60.0
"""Far above a worker's own deadline: how long it takes is for other tests, on quieter machines."""

SETTINGS = {
    # Long enough that a machine with much else to do does not expel its members all the time.
    "kafka.session_timeout_s": 6.0,
    "kafka.heartbeat_interval_s": 1.0,
    "kafka.rebalance_timeout_s": 12.0,
    "kafka.request_timeout_s": 15.0,
    "kafka.commit_timeout_s": 2.0,
    "worker.drain_timeout_s": 3.0,
    "worker.stop_deadline_s": 10.0,
    "judge.timeout_s": 30.0,
    # A judge that is late must not change what is decided here: it is waited for, whatever happens.
    "judge.hold_s": 900.0,
    "judge.hold_retry_s": 0.5,
    "judge.calls_per_minute": 1_000_000,
    "judge.namespace_calls_per_minute": 1_000_000,
    "judge.concurrency": 64,
    "judge.breaker_failures": 1_000,
    "worker.watchdog_timeout_s": 1_800.0,
    "qdrant.timeout_s": 3.0,
    "redis.timeout_s": 0.5,
    "engine.wave_size": 16,
    "commands.max_age_s": 86_400.0,
    "commands.keys": {KEY_ID: KEY},
    "log.level": "warning",
}


class WiredBroker(Broker):
    """The local stack's broker, which tells clients to come over a wire."""

    advertised_port = 0

    def command(self) -> list[str]:
        """See `Service.command`."""
        ours, wire = f"tcp://{self.address}", f"tcp://{LOOPBACK}:{self.advertised_port}"
        listener = ["--listener-url", ours, "--advertised-listener-url", wire]
        return [find_broker(), "broker", *listener, "--storage-engine", "memory://tansu/"]


class Stage:
    """A site with a room, and the workers that run now, by name."""

    def __init__(self, room: Room, wires: Wires, judge: JudgeServer) -> None:
        self.room = room
        self.wires = wires
        self.judge = judge
        self.live: dict[str, Worker] = {}
        self.killed: list[Worker] = []

    def start_worker(self, *, wait: bool = False) -> str:
        """Start a worker with wires of its own and return its name."""
        name = f"w{len(self.room.workers)}"
        site = self.room.site
        qdrant = self.wires.lay("qdrant", name, lambda: site.qdrant.port)
        redis = self.wires.lay("redis", name, lambda: site.redis.port)
        self.live[name] = self.room.worker(
            wait=wait,
            kafka__client_id=name,
            qdrant__url=f"http://{LOOPBACK}:{qdrant}",
            redis__url=f"redis://{LOOPBACK}:{redis}/{self.room.database}",
        )
        return name

    def kill_worker(self, name: str) -> None:
        self.live.pop(name).kill()

    def end_worker(self, name: str) -> tuple[int, bool]:
        """Ask a worker to end; return its exit code, and whether it was up to hear that."""
        worker = self.live.pop(name)
        with contextlib.suppress(AssertionError):
            worker.signal(signal.SIGCONT)
        try:
            is_up = worker.ask("/healthz")[0] > 0
        except OSError:
            is_up = False
        return worker.terminate(TERMINATED_WITHIN_S), is_up

    def ended_by_itself(self) -> list[str]:
        """Return the workers that ended though nobody asked."""
        return [name for name, worker in self.live.items() if not worker.running]


@contextlib.contextmanager
def open_stage(folder: Path, *, broker: str, partitions: int = 4, **overrides: object) -> Iterator[Stage]:
    """Start services on `broker` (local or apache); at the end nothing of it runs, and the folder is gone unless something failed."""
    folder.mkdir(parents=True, exist_ok=True)
    with Wires() as wires, JudgeServer() as judge:
        service = _broker(folder, broker, wires)
        with Site(folder, service, kind="tansu" if broker == "local" else "apache") as site:
            settings = {
                **SETTINGS,
                # what rules are sure of they answer, the model the rest: as where a model is configured
                "judge.name": "cascade",
                "judge.model": f"{judge.url}#chaos",
                "embedder.kind": "folder",
                "embedder.path": str(write_model(folder / "words")),
                **overrides,
            }
            with site.room(partitions=partitions, **settings) as room:
                yield Stage(room, wires, judge)
    shutil.rmtree(folder, ignore_errors=True)


def _broker(folder: Path, kind: str, wires: Wires) -> Service:
    port = free_port()
    wire = wires.lay("kafka", None, lambda: port)
    if kind == "local":
        local = WiredBroker(folder=folder / "broker", log_path=folder / "broker.log", port=port)
        local.advertised_port = wire
        return local
    internal = free_port()
    advertised = f"CLIENT://{LOOPBACK}:{wire},INTERNAL://{LOOPBACK}:{internal}"
    apache = ApacheKafka(
        folder=folder / "kafka",
        log_path=folder / "kafka.log",
        port=port,
        properties={"advertised.listeners": advertised},
    )
    apache._internal_port = internal
    return apache


class Feeder:
    """Sends a stream in a thread of its own, always some way ahead of what is decided, so that there is load all along.

    Of the stream, `share` is sent: less than 1 where a part of it is meant for later.
    """

    def __init__(self, room: Room, stream: Stream, *, ahead: int, block: int = 200, share: float = 1.0) -> None:
        self.sent = 0
        self.share = share
        self.failure: BaseException | None = None
        self._room = room
        self._messages: Sequence[object] = stream.messages
        self._ahead = ahead
        self._block = block
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    def __enter__(self) -> "Feeder":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(90)
        assert not self._thread.is_alive(), "the feeder does not end"

    @property
    def is_done(self) -> bool:
        if self.failure is not None:
            raise AssertionError("the feeder failed") from self.failure
        return self.sent == len(self._messages)

    def _run(self) -> None:
        try:
            while self.sent < len(self._messages) and not self._stopping.is_set():
                due = int(self.share * len(self._messages))
                if self.sent >= due or self.sent > self._room.follower.decided + self._ahead:
                    self._stopping.wait(0.02)
                    continue
                block = self._messages[self.sent : min(due, self.sent + self._block)]
                try:
                    self._room.send(block)
                except KafkaError:  # the broker is away: all of it once more, as a producer does
                    time.sleep(0.2)
                    continue
                self.sent += len(block)
        except BaseException as error:
            self.failure = error
