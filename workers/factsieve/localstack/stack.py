"""The whole local stack: started together, addressed by URLs, stopped together, found again by its state file."""

import asyncio
import contextlib
import fcntl
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self, TypeVar

import msgspec

from factsieve.localstack.broker import Broker
from factsieve.localstack.process import LocalStackError, Service, process_identity
from factsieve.localstack.qdrant import Qdrant
from factsieve.localstack.redis import Redis

STATE_FILE: Final = "stack.json"
LOCK_FILE: Final = "stack.lock"
_POLL_S: Final = 0.02
ServiceKind = TypeVar("ServiceKind", bound=Service)


@dataclass(frozen=True, slots=True)
class StackConfig:
    """What to start, and where.

    Args:
        state_dir: holds the collections, the logs and the state file; made if absent. One stack at a time may use it.
        kafka_port, redis_port, qdrant_port: loopback ports; 0 takes a free one.
        start_timeout_s: how long all services together may take until they answer.
        stop_timeout_s: how long each service may take to end before it is killed.
    """

    state_dir: Path = field(default_factory=lambda: Path(".factsieve"))
    kafka_port: int = 0
    redis_port: int = 0
    qdrant_port: int = 0
    start_timeout_s: float = 30.0
    stop_timeout_s: float = 10.0


class RunningService(msgspec.Struct, frozen=True):
    """A process of a running stack; `identity` tells it from a later process with the same id."""

    name: str
    pid: int
    identity: str
    port: int | None = None


class StackState(msgspec.Struct, frozen=True):
    """Content of the state file: the addresses, the process that owns the stack, and the services."""

    kafka_bootstrap: str
    redis_url: str
    qdrant_url: str
    owner: RunningService
    services: list[RunningService]


class LocalStack:
    """Broker, Redis and Qdrant's engine on loopback ports: a context manager, in `with` and in `async with`.

    Each of `broker`, `redis` and `qdrant` can be stopped, killed and started again alone, always on its port. The services end
    with the process that started them, even if that one is killed (on Linux). It is a development and test stack: the broker and
    Redis keep everything in memory.
    """

    def __init__(self, config: StackConfig | None = None) -> None:
        self.config = config or StackConfig()
        self.state_dir = self.config.state_dir.absolute()
        self.broker = self._make(Broker, self.config.kafka_port)
        self.redis = self._make(Redis, self.config.redis_port)
        self.qdrant = self._make(Qdrant, self.config.qdrant_port)
        self._lock: IO[str] | None = None

    def _make(self, kind: type[ServiceKind], port: int) -> ServiceKind:
        log_path = self.state_dir / "logs" / f"{kind.name}.log"
        return kind(folder=self.state_dir / kind.name, log_path=log_path, port=port, on_spawn=self._write_state)

    @property
    def services(self) -> tuple[Service, ...]:
        """All services, in the order in which they are started."""
        return (self.broker, self.redis, self.qdrant)

    @property
    def kafka_bootstrap(self) -> str:
        """The bootstrap servers for a Kafka client; the port is known from the first start on."""
        return self.broker.bootstrap

    @property
    def redis_url(self) -> str:
        """The URL for a Redis client."""
        return self.redis.url

    @property
    def qdrant_url(self) -> str:
        """The URL for a Qdrant client."""
        return self.qdrant.url

    def start(self) -> None:
        """Start every service and return when all answer.

        Raises:
            LocalStackError: a service is not installed or did not start, or another stack uses the folder. Nothing is left running.
        """
        self._take_folder()
        try:
            for service in self.services:
                service.launch()
            deadline = time.monotonic() + self.config.start_timeout_s
            for service in self.services:
                service.await_ready(timeout_s=max(0.1, deadline - time.monotonic()))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop every service, the last started first, and remove the state file. Does nothing if nothing runs."""
        with contextlib.ExitStack() as ending:  # one that resists does not keep the others alive
            ending.callback(self._free_folder)
            for service in self.services:
                ending.callback(service.stop, timeout_s=self.config.stop_timeout_s)

    def _free_folder(self) -> None:
        if self._lock is not None:
            (self.state_dir / STATE_FILE).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await asyncio.shield(asyncio.to_thread(self.stop))

    def _take_folder(self) -> None:
        if self._lock is not None:
            raise LocalStackError("this local stack is already started")
        self.state_dir.mkdir(parents=True, exist_ok=True)
        lock = (self.state_dir / LOCK_FILE).open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            state = read_state(self.state_dir)
            owner = f" (process id {state.owner.pid})" if state is not None else ""
            raise LocalStackError(
                f"a local stack already runs in {self.state_dir}{owner}: `factsieve down` stops it, or give another folder"
            ) from None
        self._lock = lock
        stop_leftovers(self.state_dir, timeout_s=self.config.stop_timeout_s)

    def _write_state(self) -> None:
        if self._lock is None:
            return
        owner = _describe("owner", os.getpid(), None)
        services = [_describe(one.name, one.pid, one.port) for one in self.services if one.pid is not None]
        state = StackState(
            kafka_bootstrap=self.kafka_bootstrap,
            redis_url=self.redis_url,
            qdrant_url=self.qdrant_url,
            owner=owner,
            services=services,
        )
        fresh = self.state_dir / f"{STATE_FILE}.new"
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
        fresh.replace(self.state_dir / STATE_FILE)


def _describe(name: str, pid: int, port: int | None) -> RunningService:
    return RunningService(name=name, pid=pid, identity=process_identity(pid) or "gone", port=port)


def read_state(state_dir: Path) -> StackState | None:
    """Return what the state file in `state_dir` says, or None if there is none. The processes in it may have ended.

    Raises:
        LocalStackError: the file is not a state file.
    """
    path = state_dir / STATE_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=StackState)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LocalStackError(f"{path} is not a state file of a local stack ({error}): remove it") from None


def is_running(service: RunningService) -> bool:
    """Tell whether this very process still runs."""
    return process_identity(service.pid) == service.identity


def stop_running(state_dir: Path, *, timeout_s: float = 60.0) -> list[str]:
    """Stop the stack that runs in `state_dir`: its owner by SIGTERM, which stops the services, then whatever is left.

    Returns the names of the processes that were running, the owner as `owner`; an empty list if none was.

    Raises:
        LocalStackError: the owner does not end within `timeout_s`, or the state file can not be read.
    """
    state = read_state(state_dir)
    if state is None:
        return []
    found = [one.name for one in (state.owner, *state.services) if is_running(one)]
    if state.owner.pid != os.getpid() and is_running(state.owner):
        _signal(state.owner, signal.SIGTERM)
        if not _await_end([state.owner], timeout_s):
            raise LocalStackError(
                f"the owner of the stack in {state_dir} (process id {state.owner.pid}) did not end within {timeout_s:g} s "
                "after SIGTERM: look at what it does, or kill it"
            )
    stop_leftovers(state_dir)
    return found


def stop_leftovers(state_dir: Path, *, timeout_s: float = 10.0) -> None:
    """Stop the services that the state file names and that still run, and remove the file."""
    state = read_state(state_dir)
    if state is None:
        return
    for one in state.services:
        _signal(one, signal.SIGTERM)
    if not _await_end(state.services, timeout_s):
        for one in state.services:
            _signal(one, signal.SIGKILL)
        _await_end(state.services, timeout_s)
    (state_dir / STATE_FILE).unlink(missing_ok=True)


def _signal(service: RunningService, number: signal.Signals) -> None:
    if is_running(service):
        with contextlib.suppress(ProcessLookupError):
            os.kill(service.pid, number)


def _await_end(services: list[RunningService], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while any(is_running(one) for one in services):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
