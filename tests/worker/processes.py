"""Worker processes with a scripted engine, and their journals."""

import base64
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

SCRIPT = Path(__file__).with_name("scripted.py")

# A local broker answers the first JoinGroup after half a session time-out; short ones keep tests short.
QUICK = {
    "session_timeout_s": 3.0,
    "heartbeat_interval_s": 0.5,
    "rebalance_timeout_s": 8.0,
    "commit_interval_s": 0.2,
    "commit_timeout_s": 2.0,
    "drain_timeout_s": 3.0,
    "stop_deadline_s": 6.0,
    "health_port": 0,
}


UNTIDY = (
    "Traceback",
    "Unclosed",
    "ResourceWarning",
    "never awaited",
    "Task was destroyed",
    "never retrieved",
    "stop_timed_out",
)


def until(condition, timeout_s: float = 40.0, what: str = "the condition"):
    """Return the first true value of the condition; fails after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come true within {timeout_s:g} s"
        time.sleep(0.02)


class Journal:
    """What the engines that write to one file got and did."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self, what: str | None = None, pid: int | None = None) -> list[dict]:
        if not self.path.exists():
            return []
        whole = self.path.read_bytes().rpartition(b"\n")[0]
        found = [json.loads(line) for line in whole.splitlines()]
        return [line for line in found if what in (None, line["what"]) and pid in (None, line["pid"])]

    def places(self, what: str, pid: int | None = None) -> list[tuple[int, int]]:
        """Return (partition, offset) of what was got or done, in order."""
        return [(line["partition"], line["offset"]) for line in self.lines(what, pid)]

    def wait_for(self, what: str, places, timeout_s: float = 40.0, pid: int | None = None) -> None:
        wanted = set(places)
        until(lambda: wanted <= set(self.places(what, pid)), timeout_s, f"{what} of {len(wanted)} records")


class Worker:
    """One worker process."""

    def __init__(self, broker, topic: str, group: str, journal: Journal, *, bound: int = 500, **config) -> None:
        settings = {**QUICK, "bootstrap_servers": [broker.bootstrap], "topic": topic, "group_id": group, **config}
        self.journal = journal
        self.log_path = journal.path.with_suffix(f".{time.monotonic_ns()}.log")
        arguments = json.dumps({"config": settings, "journal": str(journal.path), "bound": bound})
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-W", "always::ResourceWarning", str(SCRIPT), arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_error) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(10)

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def wait_listening(self) -> int:
        return until(lambda: self.journal.lines("listening", self.pid), 40, "the health server")[0]["port"]

    def wait_assigned(self, partitions: int | None = None, timeout_s: float = 40.0) -> list[str]:
        """Wait until the worker has partitions (exactly so many, where it is told)."""
        port = self.wait_listening()

        def assigned():
            status, body = self.ask(port, "/readyz")
            names = body["checks"]["kafka"].get("detail", {}).get("partitions", []) if status == 200 else []
            return names if (names and partitions is None) or len(names) == partitions else None

        return until(assigned, timeout_s, f"assignment of {partitions or 'any'} partitions")

    def ask(self, port: int, path: str):
        """Return (status, body); body as JSON but for /metrics."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, body = error.code, error.read()
        return status, (body.decode() if path == "/metrics" else json.loads(body))

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self, timeout_s: float = 20.0) -> int:
        """Ask the process to end (SIGTERM) and return its exit code; it must leave nothing open and nothing running."""
        self.process.terminate()
        code = self.process.wait(timeout_s)
        for sign in UNTIDY:
            assert sign not in self.log, self.log[-4_000:]
        return code

    def kill(self) -> None:
        """End the process as a crash would (SIGKILL)."""
        self.process.kill()
        self.process.wait(10)


def text(encoded: str | None) -> bytes | None:
    """Return the bytes of a journal field."""
    return None if encoded is None else base64.b64decode(encoded)
