"""A running `factsieve up` with tokens of two tenants, as tests of the API and of its pages speak to it."""

import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from factsieve.localstack.stack import StackState, read_state

START_TIMEOUT_S = 240.0
WAIT_S = 60.0
TOKENS = {
    "ops": "token-of-ops",
    "alpha": "token-of-alpha",
    "beta": "token-of-beta",
    "reader": "token-of-a-reader",
    "fuzz": "token-of-fuzz",
}
GRANTS: dict[str, dict[str, Any]] = {
    "ops": {"namespaces": ["*"], "scopes": ["read", "write"]},
    "alpha": {"namespaces": ["alpha"], "scopes": ["read", "write"]},
    "beta": {"namespaces": ["beta"], "scopes": ["read", "write"]},
    "reader": {"namespaces": ["alpha"], "scopes": ["read"]},
    "fuzz": {"namespaces": ["fuzz"], "scopes": ["read", "write"]},
}


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Live:
    """A running stack: its API's address, clients with a tenant's token, and its state."""

    def __init__(self, folder: Path, url: str, state: StackState) -> None:
        self.folder = folder
        self.url = url
        self.state = state
        self._numbers = itertools.count()

    def client(self, who: str | None = "ops") -> httpx.Client:
        headers = {} if who is None else {"Authorization": f"Bearer {TOKENS[who]}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=WAIT_S)

    def fresh(self, name: str) -> str:
        """Return a namespace that no other test uses."""
        return f"{name}-{next(self._numbers)}"

    def remember(self, *statements: dict[str, Any], who: str = "ops") -> list[dict[str, Any]]:
        """Send candidates and return their decisions, in order."""
        with self.client(who) as client:
            sent = client.post("/v1/candidates", json={"candidates": list(statements)})
            assert sent.status_code == 202, sent.text
            return [self.decision(client, event["event_key"]) for event in sent.json()["events"]]

    @staticmethod
    def decision(client: httpx.Client, event_key: str) -> dict[str, Any]:
        """Wait for the decision about an event."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            found = client.get("/v1/decisions", params={"event_key": event_key, "wait": 20}).json()["decisions"]
            if found:
                return dict(found[0])
        raise AssertionError(f"no decision about {event_key}")


@contextmanager
def started(folder: Path, *words: str, more: Mapping[str, str] | None = None) -> Iterator[Live]:
    """Start everything as a user would, and stop it; `words` go behind `up`, `more` into its environment."""
    tokens = {name: {"sha256": digest(TOKENS[name]), **grant} for name, grant in GRANTS.items()}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FACTSIEVE_")} | {
        "FACTSIEVE_API__TOKENS": json.dumps(tokens),
        "FACTSIEVE_API__WRITES_PER_S": "1000",
        "FACTSIEVE_API__WRITE_BURST": "5000",
        "COLUMNS": "160",
        **(more or {}),
    }
    log_path = folder / "up.log"
    with log_path.open("wb") as log:
        command = [sys.executable, "-m", "factsieve", "up", *words]
        up = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while "factsieve is up" not in log_path.read_text() or "Try:" not in log_path.read_text():
            assert up.poll() is None, log_path.read_text()
            assert time.monotonic() < deadline, log_path.read_text()
            time.sleep(0.1)
        line = next(line for line in log_path.read_text().splitlines() if line.split()[:1] == ["api"])
        state = read_state(folder / ".factsieve")
        assert state is not None
        yield Live(folder, line.split()[1].removesuffix("/activity"), state)
    finally:
        up.send_signal(signal.SIGTERM)
        try:
            up.wait(90)
        finally:
            up.kill()
            up.wait(10)
    assert up.returncode == 0, log_path.read_text()
