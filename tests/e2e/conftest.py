"""Sites: the local stack, and a real Apache Kafka with the rest of the local stack."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from kafka.apache import ApacheKafka
from kafka.brokers import require_kafka

from e2e import streams
from e2e.harness import Room, Site
from e2e.outcome import Outcome
from factsieve.localstack.broker import Broker


@pytest.fixture(scope="session")
def local_site(tmp_path_factory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with Site(folder, Broker(folder=folder / "broker", log_path=folder / "broker.log"), kind="tansu") as site:
        yield site


@pytest.fixture(scope="session")
def apache_site(tmp_path_factory) -> Iterator[Site]:
    """A broker of these tests' own: they kill it."""
    require_kafka()
    folder = tmp_path_factory.mktemp("apache-site")
    broker = ApacheKafka(folder=folder / "kafka", log_path=folder / "kafka.log")
    with Site(folder, broker, kind="apache") as site:
        yield site


DEFAULT_KIND = os.environ.get("FACTSIEVE_TEST_BROKER", "tansu")
SITES = {"tansu": "local_site", "apache": "apache_site"}


def site_of(request, kind: str) -> Site:
    if kind not in SITES:
        pytest.fail(f"FACTSIEVE_TEST_BROKER={kind}: expected tansu or apache")
    return request.getfixturevalue(SITES[kind])


@pytest.fixture
def site(request) -> Site:
    """The site that FACTSIEVE_TEST_BROKER names: tansu, the default, or apache. A test may ask for one by a parameter."""
    return site_of(request, getattr(request, "param", DEFAULT_KIND))


@pytest.fixture(scope="module")
def quiet(request) -> Iterator[Room]:
    """A room with one worker, for tests of a module that disturb nothing; each keeps to namespaces of its own."""
    with site_of(request, DEFAULT_KIND).room() as room:
        worker = room.worker()
        yield room
        room.outcome().check()
        assert worker.terminate() == 0


@dataclass(frozen=True)
class Calm:
    """What an undisturbed run of the demonstration's input came to, and what the same input once more came to.

    It is sent once more on the default kind of site only.
    """

    first: Outcome
    second: Outcome | None


@pytest.fixture(scope="session")
def calm_runs() -> dict[str, Calm]:
    """The undisturbed runs so far, by kind of site."""
    return {}


@pytest.fixture
def calm(site, calm_runs) -> Calm:
    """One worker, nothing goes wrong; run once on each kind of site."""
    if site.kind not in calm_runs:
        calm_runs[site.kind] = calm_run(site)
    return calm_runs[site.kind]


def calm_run(site: Site) -> Calm:
    with site.room() as room:
        messages = room.lines(streams.demo())
        worker = room.worker()
        room.send(messages)
        room.until_decided(len(messages))
        room.until_committed()
        first, second = room.outcome(), None
        if site.kind == DEFAULT_KIND:
            room.send(messages)
            room.until_committed()
            second = room.outcome()
        assert worker.terminate() == 0
        return Calm(first, second)


@pytest.fixture(scope="session")
def offline_decisions(tmp_path_factory) -> list[dict[str, Any]]:
    """What `factsieve decide` says about the demonstration's input, in a process of its own."""
    folder = tmp_path_factory.mktemp("decide")
    given, said = folder / "in.jsonl", folder / "out.jsonl"
    given.write_text("".join(json.dumps(line) + "\n" for line in streams.demo()))
    command = [sys.executable, "-m", "factsieve", "decide", "--input", str(given), "--output", str(said)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in said.read_text().splitlines()]
