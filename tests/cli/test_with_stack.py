"""Commands against a stack that `factsieve up` started, as a user would type them; and the demonstration itself."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from factsieve.localstack.stack import is_running, read_state

pytestmark = pytest.mark.stack

START_TIMEOUT_S = 120.0
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("FACTSIEVE_")} | {
    "COLUMNS": "160"
}


class Shell:
    """Types commands in the folder in which the stack runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str, given: str | None = None, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "factsieve", *words],
            cwd=self.folder,
            env=ENVIRONMENT,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )

    def json(self, *words: str, given: str | None = None) -> list[dict[str, Any]]:
        done = self.run(*words, "--json", given=given)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def up_in(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `factsieve up` in a folder, until it says that it is up."""
    log_path = folder / "up.log"
    with log_path.open("wb") as log:
        command = [sys.executable, "-m", "factsieve", "up"]
        up = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while "factsieve is up" not in log_path.read_text():
            assert up.poll() is None, log_path.read_text()
            assert time.monotonic() < deadline, log_path.read_text()
            time.sleep(0.1)
        yield up
    finally:
        up.send_signal(signal.SIGTERM)
        try:
            up.wait(90)
        finally:
            up.kill()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("up")
    with up_in(folder) as up:
        yield Shell(folder)
    assert up.returncode == 0, (folder / "up.log").read_text()


def test_a_statement_is_new_then_known_then_replaced(shell: Shell) -> None:
    """The summary line says each in its words."""
    words = ("remember", "--namespace", "story", "--slot", "api.port")
    first = shell.run(*words, "The API listens on port 8080")
    assert (first.returncode, first.stdout.splitlines()[-1]) == (0, "Remembered. (1 new)"), first.stderr
    again = shell.run(*words, "The API listens on port 8080")
    assert again.stdout.splitlines()[-1] == "Already known."
    both = shell.run(*words, "The API listens on port 8081", "The API listens on port 8081")
    assert both.stdout.splitlines()[-1] == "Remembered. (1 new, 1 already known)"
    assert both.stdout.startswith("supersede The API listens on port 8081 <- The API listens on port 8080")

    (current,) = shell.json("facts", "--namespace", "story")
    assert current["text"] == "The API listens on port 8081"
    everything = shell.json("facts", "--namespace", "story", "--all")
    assert {fact["status"] for fact in everything} == {"current", "past"}
    told = shell.run("history", current["fact_id"])
    assert told.returncode == 0
    assert "The API listens on port 8080" in told.stdout
    assert "superseded" in told.stdout
    assert shell.run("history", "01943a5c-3f80-7a1b-9c2d-0123456789ab").returncode == 1


def test_lines_with_ids_told_twice_get_the_same_decisions_and_change_nothing(shell: Shell) -> None:
    """A line's id names its event for good."""
    lines = [
        {"id": "1", "namespace": "twice", "text": "Ella plays the piano.", "occurred_at": "2025-03-01T10:00:00Z"},
        {"id": "2", "namespace": "twice", "text": "Max swims on Mondays.", "occurred_at": "2025-03-02T10:00:00Z"},
        {"id": "3", "namespace": "twice", "text": "Ella plays the piano.", "occurred_at": "2025-03-03T10:00:00Z"},
    ]
    given = "\n".join(json.dumps(line) for line in lines)
    first = shell.json("remember", "--file", "-", given=given)
    before = shell.json("facts", "--namespace", "twice", "--all")
    second = shell.json("remember", "--file", "-", given=given)
    assert [one["decision"] for one in first] == ["add", "add", "skip"]
    assert [one["decision_id"] for one in second] == [one["decision_id"] for one in first]
    assert shell.json("facts", "--namespace", "twice", "--all") == before


def test_a_refused_statement_is_reported_with_its_code(shell: Shell) -> None:
    """Exit code 1; the others are remembered all the same; a line that is no JSON and an id that stands twice never leave."""
    given = '{"id": "a", "text": "Bins on Friday"}\nno json\n{"id": "b", "text": " "}\n{"id": "a", "text": "Bins on Monday"}\n'
    done = shell.run("remember", "--namespace", "refused", "--file", "-", given=given)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "Remembered. (1 new, 3 refused)"
    for code in ("not_json: line 2", "empty_text", "event_id_conflict: line 4"):
        assert code in done.stdout


def test_the_log_shows_what_was_decided(shell: Shell) -> None:
    """The latest decisions, oldest first, of one namespace alone where it is named."""
    shell.run("remember", "--namespace", "logged", "The first one", "Something else entirely")
    rows = shell.json("activity", "--namespace", "logged", "--limit", "5")
    assert [row["text"] for row in rows] == ["The first one", "Something else entirely"]
    assert len(shell.json("activity", "--limit", "1")) == 1


def test_rubbish_on_the_log_stops_no_command(shell: Shell) -> None:
    """What somebody else wrote to `fact-decisions` is passed over with a warning on standard error; results are as ever."""
    kafka = read_state(shell.folder / ".factsieve").kafka_bootstrap

    async def litter() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=kafka)
        await producer.start()
        try:
            for value in (b"no json", None, b'{"order": "two teas"}', b"[" * 100_000):
                await producer.send_and_wait("fact-decisions", value, key=b"somebody")
        finally:
            await producer.stop()

    shell.run("remember", "--namespace", "littered", "One before the rubbish")
    asyncio.run(litter())
    done = shell.run("activity", "--namespace", "littered", "--json")
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["One before the rubbish"]
    assert "passed over fact-decisions, partition " in done.stderr
    assert done.stderr.splitlines()[-1].endswith("records of fact-decisions were passed over: they are no decisions")
    assert "Traceback" not in done.stderr
    replayed = shell.run("replay", "--namespace", "littered", "--json")
    assert (replayed.returncode, json.loads(replayed.stdout)["told_again"]) == (0, 1), replayed.stderr
    assert shell.run("whatif", "--namespace", "littered").returncode in (0, 1)
    assert shell.run("rebuild", "--dry-run", "--beside-workers").returncode == 0


def test_the_log_can_be_followed(shell: Shell) -> None:
    """What comes is printed as it comes, until Ctrl-C, which is no failure of the command."""
    command = [
        sys.executable,
        "-m",
        "factsieve",
        "activity",
        "--follow",
        "--limit",
        "0",
        "--namespace",
        "live",
        "--json",
    ]
    # The last decision so far is seen first, so that the reader surely stands at the end before the next statement is made.
    shell.run("remember", "--namespace", "live", "Before")
    command[command.index("--limit") + 1] = "1"
    with subprocess.Popen(command, cwd=shell.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        try:
            assert json.loads(following.stdout.readline())["text"] == "Before"
            shell.run("remember", "--namespace", "live", "Meanwhile, on another topic")
            assert json.loads(following.stdout.readline())["text"] == "Meanwhile, on another topic"
        finally:
            following.send_signal(signal.SIGINT)
        assert following.wait(30) == 130


def test_facts_are_found_by_meaning_and_by_time(shell: Shell) -> None:
    """--like puts the nearest first; --as-of shows what was true then."""
    lines = [
        {"text": "Sam works as a nurse.", "slot": "sam.job", "occurred_at": "2025-01-01T10:00:00Z"},
        {"text": "The garage door is green.", "occurred_at": "2025-01-02T10:00:00Z"},
        {"text": "Sam works as a pilot.", "slot": "sam.job", "occurred_at": "2025-03-01T10:00:00Z"},
    ]
    shell.run("remember", "--namespace", "found", "--file", "-", given="\n".join(map(json.dumps, lines)))
    nearest = shell.json("facts", "--namespace", "found", "--like", "what is Sam's profession")
    assert nearest[0]["text"] == "Sam works as a pilot."
    assert nearest[0]["similarity"] > nearest[1]["similarity"]
    then = shell.json("facts", "--namespace", "found", "--as-of", "2025-02-01")
    assert {fact["text"] for fact in then} == {"Sam works as a nurse.", "The garage door is green."}
    assert shell.json("facts", "--namespace", "found", "--known-at", "2025-02-01") == []


def test_the_topics_are_as_specified(shell: Shell) -> None:
    """`up` made them; making them again changes nothing; another number of partitions is a difference."""
    assert shell.run("topics", "check").returncode == 0
    made = shell.run("topics", "create")
    assert made.returncode == 0
    assert "created" not in made.stdout
    differs = shell.run("topics", "check", "--partitions", "7")
    assert differs.returncode == 1
    assert "7 are specified" in differs.stdout


def test_one_stack_a_folder(shell: Shell) -> None:
    """A second `up` says who runs already, and disturbs nothing."""
    second = shell.run("up")
    assert second.returncode == 3
    assert "already runs" in second.stderr
    assert shell.run("facts").returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demonstration_ends_well_and_leaves_nothing(tmp_path: Path) -> None:
    """A decision for every line, the same again for the same input, and no process of it is left."""
    lines = [
        {
            "id": "1",
            "namespace": "n",
            "text": "The API listens on port 8080.",
            "slot": "p",
            "occurred_at": "2025-01-01T09:00:00Z",
        },
        {
            "id": "2",
            "namespace": "n",
            "text": "The API listens on port 8081.",
            "slot": "p",
            "occurred_at": "2025-01-02T09:00:00Z",
        },
        {
            "id": "3",
            "namespace": "n",
            "text": "The API listens on port 8080.",
            "slot": "p",
            "occurred_at": "2025-01-03T09:00:00Z",
        },
        {"namespace": "n", "text": "Tea is in the cupboard.", "occurred_at": "2025-01-04T09:00:00Z"},
        {"namespace": "n", "text": "Tea is in the cupboard.", "occurred_at": "2025-01-05T09:00:00Z"},
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = Shell(tmp_path).run("demo", "in.jsonl", "--keep", "kept", timeout_s=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Remembered. (4 new, 1 already known)" in done.stdout
    assert "5 decisions for 5 statements; dead letters: 0." in done.stdout
    assert "and back again" in done.stdout
    assert (
        "5 of 5 statements got the very decision again that they had; new points: 0, changed points: 0." in done.stdout
    )
    assert read_state(tmp_path / "kept") is None


def test_down_stops_a_stack(tmp_path: Path) -> None:
    """From another shell, by the folder; `up` ends with 0 and its services are gone."""
    with up_in(tmp_path) as up:
        state = read_state(tmp_path / ".factsieve")
        assert state is not None
        assert Shell(tmp_path).run("down").stdout == "Stopped what ran in .factsieve.\n"
        assert up.wait(30) == 0
        assert not any(is_running(service) for service in state.services)
