"""The wrapper around one child process: readiness, failures, ports, the end."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import pytest

from factsieve.localstack import process
from factsieve.localstack.process import LocalStackError, Service, ask, free_port, process_identity

ECHO = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = server.accept()
    connection.sendall(connection.recv(100))
    connection.close()
"""
STUBBORN = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.argv[1:]\n" + ECHO
SILENT = "import time; print('waiting', flush=True); time.sleep(60)"
BROKEN = "import sys; print('no such setting', file=sys.stderr); sys.exit(3)"


class Program(Service):
    """A small Python program as a service."""

    name: ClassVar[str] = "program"

    def __init__(self, text: str, folder: Path, port: int = 0) -> None:
        super().__init__(folder=folder / "state", log_path=folder / "program.log", port=port)
        self.text = text

    def command(self) -> list[str]:
        return [sys.executable, "-c", self.text, str(self.port)]

    def answers(self) -> bool:
        return ask(self.port, b"ping") == b"ping"


def test_start_returns_when_the_service_answers(tmp_path: Path) -> None:
    """After `start` the port answers; after `stop` and `kill` the process is gone; the port stays the same."""
    service = Program(ECHO, tmp_path)
    service.start()
    port, pid = service.port, service.pid
    assert ask(port, b"ping") == b"ping"
    assert pid is not None
    with pytest.raises(LocalStackError, match=f"already runs with process id {pid}"):
        service.start()
    service.stop()
    assert process_identity(pid) is None
    service.start()
    assert service.port == port
    service.restart()
    assert service.running
    service.kill()
    assert service.pid is None
    service.stop()
    service.kill()


def test_a_child_that_will_not_end_is_killed(tmp_path: Path) -> None:
    """SIGTERM is ignored: after the bound comes SIGKILL."""
    service = Program(STUBBORN, tmp_path)
    service.start()
    pid = service.pid
    assert pid is not None
    service.stop(timeout_s=0.2)
    assert process_identity(pid) is None


def test_a_child_that_ends_is_reported_with_its_log(tmp_path: Path) -> None:
    """The error gives status, address and the end of the log, and does not wait for the time-out."""
    service = Program(BROKEN, tmp_path)
    with pytest.raises(LocalStackError, match="ended with status 3") as error:
        service.start(timeout_s=300)
    assert "no such setting" in str(error.value)
    assert str(service.log_path) in str(error.value)


def test_a_child_that_does_not_answer_is_ended_and_reported(tmp_path: Path) -> None:
    """No answer within the bound: the child is killed, the error says so."""
    service = Program(SILENT, tmp_path)
    with pytest.raises(LocalStackError, match="did not answer within"):
        service.start(timeout_s=0.4)
    assert not service.running


def test_a_given_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    """A port that was asked for is never exchanged for another."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(LocalStackError, match=f"port {port} for program is in use"):
            Program(ECHO, tmp_path, port=port).start()


def test_a_free_port_that_is_snatched_is_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program takes the port between our choice and the child's start: another port is tried."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        ports = iter([other.getsockname()[1], free_port()])
        monkeypatch.setattr(process, "free_port", lambda: next(ports))
        service = Program(ECHO, tmp_path)
        service.start()
        assert service.port != other.getsockname()[1]
        service.stop()


def test_free_ports_lie_below_those_of_clients() -> None:
    """No port comes from the range from which the kernel gives ports to clients."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(port < lowest for port in (free_port() for _ in range(50)))


def test_child_started_from_a_short_lived_thread_lives_on(tmp_path: Path) -> None:
    """The death signal is bound to our process, not to the thread that happened to call `start`."""
    service = Program(ECHO, tmp_path)
    thread = threading.Thread(target=service.start)
    thread.start()
    thread.join()
    assert ask(service.port, b"ping") == b"ping"
    assert service._child is not None
    with pytest.raises(Exception, match="timed out"):
        service._child.wait(timeout=0.3)
    service.stop()


def test_ctrl_c_does_not_reach_the_child(tmp_path: Path) -> None:
    """The child is in a session of its own, so an interrupt from the terminal is for its parent only."""
    service = Program(ECHO, tmp_path)
    service.start()
    assert service.pid is not None
    assert os.getsid(service.pid) == service.pid != os.getsid(0)
    service.stop()


def test_log_is_moved_aside_when_it_has_grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is bounded: a start finds it too long and begins a new one."""
    monkeypatch.setattr(process, "LOG_LIMIT_BYTES", 10)
    service = Program(ECHO, tmp_path)
    service.log_path.write_text("old " * 10)
    service.start()
    service.stop()
    assert (tmp_path / "program.log.1").read_text().startswith("old")
    assert "old" not in service.log_path.read_text()


def test_identity_tells_processes_apart() -> None:
    """The identity of a process is stable, and None once it is gone or only waits to be reaped."""
    assert process_identity(os.getpid()) == process_identity(os.getpid()) is not None
    child = subprocess.Popen([sys.executable, "-c", ""])
    deadline = time.monotonic() + 10
    while process_identity(child.pid) is not None:  # ended, and not yet waited for
        assert time.monotonic() < deadline
    assert child.wait(10) == 0
    assert process_identity(child.pid) is None
