"""The operators' commands against a stack that `factsieve up` started: previewed, given, undone; nothing has to be set up for them."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_with_stack import ENVIRONMENT, Shell, up_in

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("orders")
    with up_in(folder):
        yield Shell(folder)


def told(shell: Shell, namespace: str, *texts: str, slot: str = "api.port") -> list[dict[str, Any]]:
    return shell.json("remember", "--namespace", namespace, "--slot", slot, *texts)


def current(shell: Shell, namespace: str) -> list[str]:
    return sorted(fact["text"] for fact in shell.json("facts", "--namespace", namespace))


def test_a_supersede_is_previewed_reverted_and_reverted_again(shell: Shell) -> None:
    """A dry run says what a revert does and changes nothing; the revert does it; its own revert undoes it."""
    old, new = "The API listens on port 8080", "The API listens on port 8081"
    told(shell, "undo", old)
    [second] = told(shell, "undo", new)
    assert second["decision"] == "supersede"
    [would] = shell.json("revert", second["decision_id"], "--dry-run")
    assert (would["outcome"], [c["fact"]["text"] for c in would["changes"]]) == ("applied", [old])
    assert current(shell, "undo") == [new]

    done = shell.run("revert", second["event_id"], "--namespace", "undo", "--reason", "both are open")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "applied both are open"), done.stderr
    assert current(shell, "undo") == [old, new]
    [again] = shell.json("revert", second["event_key"])
    assert again["outcome"] == "no_op"
    [last] = [row for row in shell.json("activity", "--namespace", "undo") if row["outcome"] == "applied"]
    [undone] = shell.json("revert", last["decision_id"])
    assert undone["outcome"] == "applied"
    assert current(shell, "undo") == [new]


def test_what_is_refused_says_why_and_ends_with_1(shell: Shell) -> None:
    """A chain is undone newest first; unknown names are wrong usage."""
    told(shell, "chain", "The API listens on port 1")
    [middle] = told(shell, "chain", "The API listens on port 2")
    [last] = told(shell, "chain", "The API listens on port 3")
    refused = shell.run("revert", middle["decision_id"])
    assert refused.returncode == 1
    assert last["decision_id"] in refused.stdout
    assert shell.run("revert", "01943a5c-3f80-7a1b-9c2d-0123456789ab").returncode == 2
    fact = shell.run("revert", last["fact_id"])
    assert fact.returncode == 2
    assert last["decision_id"] in fact.stderr
    assert shell.run("retract", "nobody").returncode == 2


def test_a_fact_is_retracted(shell: Shell) -> None:
    """It is current no more; doing it again is a no-op."""
    [one] = told(shell, "withdrawn", "The API listens on port 9")
    done = shell.run("retract", one["fact_id"], "--reason", "said in jest")
    assert done.returncode == 0
    assert "withdrawn" in done.stdout
    assert current(shell, "withdrawn") == []
    assert shell.json("retract", one["fact_id"])[0]["outcome"] == "no_op"


def test_what_is_flagged_is_listed_and_decided(shell: Shell) -> None:
    """Oldest first; by the command line or by a file; afterwards nothing is flagged."""
    lines = [
        {"id": str(n), "text": text, "namespace": "flags", "occurred_at": f"2025-01-0{n + 1}T09:00:00Z"}
        for n, text in enumerate(FLAGGED)
    ]
    given = "\n".join(map(json.dumps, lines))
    decisions = shell.json("remember", "--file", "-", given=given)
    open_ones = shell.json("review", "--namespace", "flags")
    assert [fact["text"] for fact in open_ones] == [d["text"] for d in decisions if d["review"]]
    assert len(open_ones) >= 2, decisions
    shown = shell.run("review", "--list", "--namespace", "flags")
    assert "flagged:" in shown.stdout
    [first] = shell.json("review", open_ones[0]["fact_id"], "--decision", "supersede", "--dry-run")
    assert first["outcome"] == "applied"
    [first] = shell.json("review", open_ones[0]["fact_id"], "--decision", "supersede")
    assert first["outcome"] == "applied"
    assert open_ones[0]["conflicts_with"][0] in {one["retired_id"] for one in first["supersessions"]}
    bad = shell.run("review", "--file", "-", given='{"fact_id": "x"}\n')
    assert (bad.returncode, "line 1" in bad.stderr) == (2, True)
    rest = [json.dumps({"fact_id": fact["fact_id"], "decision": "add"}) for fact in open_ones[1:]]
    done = shell.run("review", "--file", "-", given="\n".join(rest))
    assert done.returncode == 0, done.stdout + done.stderr
    assert shell.run("review", "--namespace", "flags").stdout == "Nothing is flagged.\n"
    assert shell.run("review", "--ask", "--namespace", "flags").returncode == 0


FLAGGED = (
    "Deploys happen on Tuesday.",
    "Deploys happen on Thursday.",
    "The customer Acme pays by invoice.",
    "The customer Acme pays by card.",
    "We use Redis for caching.",
    "We use Memcached for caching.",
)


def test_an_erase_leaves_nothing(shell: Shell) -> None:
    """It asks first, and where nobody can be asked wants --yes; what was said is in no store and in no compacted topic."""
    secret = "The door code is 4711-unforgettable"
    [one] = told(shell, "gone", secret, slot="door")
    told(shell, "gone", secret, slot="door")
    asked = shell.run("erase", one["fact_id"])
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert shell.json("erase", one["fact_id"], "--dry-run")[0]["outcome"] == "applied"
    assert current(shell, "gone") == [secret]
    done = shell.run("erase", one["fact_id"], "--yes")
    assert done.returncode == 0, done.stderr
    assert "4711" not in done.stdout
    assert current(shell, "gone") == []
    assert shell.json("erase", one["fact_id"], "--yes")[0]["outcome"] == "no_op"
    assert shell.run("history", one["fact_id"]).returncode == 1


def test_a_whole_namespace_is_erased(shell: Shell) -> None:
    """The command is repeated until nothing is left of it; other namespaces are untouched."""
    told(shell, "all", *[f"Room {n} is painted in colour {n * 7}" for n in range(8)], slot="none")
    told(shell, "other", "Room 1 is painted")
    outcomes = shell.json("erase", "--everything-in", "all", "--yes")
    assert [one["outcome"] for one in outcomes][-1] == "no_op"
    assert current(shell, "all") == []
    assert current(shell, "other") == ["Room 1 is painted"]


def test_the_key_is_made_once_and_for_this_user_alone(shell: Shell) -> None:
    """A command signed with another key is refused by name; the key's file is private."""
    path = Path(shell.folder) / ".factsieve" / "operator.key"
    assert path.stat().st_mode & 0o077 == 0
    [one] = told(shell, "signed", "The API listens on port 7")
    other = "0" * 64
    (Path(shell.folder) / "other.toml").write_text(f'[commands]\nkey_id = "local"\nkeys = {{ local = "{other}" }}\n')
    refused = shell.run("retract", one["fact_id"], "--config", "other.toml")
    assert refused.returncode == 1
    assert "command_unauthorised" in refused.stdout
    (Path(shell.folder) / "none.toml").write_text('[kafka]\nbootstrap = "localhost:1"\n')
    unsigned = shell.run("retract", one["fact_id"], "--config", "none.toml")
    assert unsigned.returncode == 2
    assert "commands.keys" in unsigned.stderr


def test_a_person_is_asked_one_by_one(shell: Shell) -> None:
    """On a terminal each flagged fact is shown with its rival; a key decides it, and the next one comes."""
    lines = [
        {"id": str(n), "text": text, "namespace": "person", "occurred_at": f"2025-02-0{n + 1}T09:00:00Z"}
        for n, text in enumerate(FLAGGED)
    ]
    shell.json("remember", "--file", "-", given="\n".join(map(json.dumps, lines)))
    said, code = typed(shell, "review", "--namespace", "person", keys="x\ns\nn\nq\n")
    assert code == 0, said
    assert said.count("keep both") == 3
    assert "superseded" in said or "in force" in said
    left = [fact["text"] for fact in shell.json("review", "--namespace", "person")]
    assert left == ["The customer Acme pays by card.", "We use Memcached for caching."]
    said, code = typed(shell, "review", "--namespace", "person", keys="k\nu\n")
    assert code == 0, said
    assert shell.json("review", "--namespace", "person") == []
    assert "We use Redis for caching." not in current(shell, "person")


def typed(shell: Shell, *words: str, keys: str) -> tuple[str, int]:
    """Run a command on a terminal of its own, type keys, and return what it showed and its exit code."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "factsieve", *words]
    with subprocess.Popen(
        command, cwd=shell.folder, env=ENVIRONMENT | {"TERM": "dumb"}, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        os.write(ours, keys.encode())
        shown = bytearray()
        with contextlib.suppress(OSError):  # the other end is closed when the command has ended
            while part := os.read(ours, 4096):
                shown += part
        code = process.wait(60)
    os.close(ours)
    return shown.decode(), code
