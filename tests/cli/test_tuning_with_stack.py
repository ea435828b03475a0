"""whatif, audit and the tuning guide on a stack that holds the demonstration's statements."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_with_stack import ENVIRONMENT, Shell, up_in

from factsieve.cli import main

pytestmark = pytest.mark.stack

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "workers" / "factsieve" / "cli" / "demo" / "facts.jsonl"
PAGE = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
TRANSCRIPTS = re.findall(r"<!-- transcript: (.*?) -->\n```console\n\$ .*?\n(.*?)```", PAGE, re.DOTALL)
HOME = "home-birchwood"
OTHER = {"skip_threshold": 0.8, "ambiguous_threshold": 0.75}


class Desk(Shell):
    """Types commands in the stack's folder, in this process: they are many."""

    def run(self, *words: str, given: str | None = None, timeout_s: float = 120.0) -> Any:
        said, complained = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patched, contextlib.chdir(self.folder):
            for name in [name for name in os.environ if name.startswith("FACTSIEVE_")]:
                patched.delenv(name)
            for name, value in ENVIRONMENT.items():
                patched.setenv(name, value)
            with (
                contextlib.redirect_stdout(said),
                contextlib.redirect_stderr(complained),
                pytest.raises(SystemExit) as ended,
            ):
                main.run(list(words))
        code = int(ended.value.code or 0)
        return subprocess.CompletedProcess(words, code, said.getvalue(), complained.getvalue())


@contextlib.contextmanager
def desk_with(folder: Path, statements: Path) -> Iterator[Desk]:
    with up_in(folder):
        desk = Desk(folder)
        fed = desk.run("remember", "--file", str(statements))
        assert fed.returncode == 0, fed.stderr
        yield desk


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The statements of the demonstration's household, a file of their own."""
    path = tmp_path_factory.mktemp("input") / "household.jsonl"
    lines = DEMO.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if json.loads(line)["namespace"] == HOME), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, household: Path) -> Iterator[Desk]:
    with desk_with(tmp_path_factory.mktemp("tuning"), household) as desk:
        yield desk


@pytest.fixture(scope="module")
def whole_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk_with(tmp_path_factory.mktemp("tuning-whole"), DEMO) as desk:
        yield desk


def found(desk: Desk, *words: str) -> dict[str, Any]:
    done = desk.run(*words, "--json")
    assert done.returncode in (0, 1), done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def second_run(tmp_path_factory: pytest.TempPathFactory, household: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What the same statements are under other thresholds, decided from an empty store on."""
    target = tmp_path_factory.mktemp("second") / "decisions.jsonl"
    settings = [word for name, value in OTHER.items() for word in ("--set", f"policy.{name}={value}")]
    words = ["decide", "--input", str(household), "--output", str(target), *settings]
    done = subprocess.run(
        [sys.executable, "-m", "factsieve", *words], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    decisions = [json.loads(line) for line in target.read_text().splitlines()]
    return {(one["namespace"], one["event_id"]): one for one in decisions}


def short(told: dict[str, Any]) -> tuple[Any, ...]:
    return told["decision"], told["reason"], told["band"], told["matched_text"], len(told["superseded_ids"])


def test_with_the_thresholds_in_force_nothing_would_change(desk: Desk) -> None:
    """Every decision of a real worker comes out as it was."""
    told = found(desk, "whatif")
    assert told["decisions"] == told["same"] > 50, told["changes"]
    assert told["questions"]["before"] == told["questions"]["after"] > 0


def test_a_second_run_is_as_it_was_foreseen(desk: Desk, second_run: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Up to and including the first change of each namespace; a simulation wholly."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in OTHER.items()]
    told = found(desk, "whatif", *words)
    first = [one for one in told["changes"] if one["certain"]]
    assert len({one["namespace"] for one in first}) == len(first) == told["namespaces_changed"] > 0
    for one in first:
        assert short(one["to"]) == short(second_run[one["namespace"], one["event_id"]])
    simulated = found(desk, "whatif", *words, "--simulate")
    changed = {(one["namespace"], one["event_id"]): short(one["to"]) for one in simulated["changes"]}
    assert {key: short(second_run[key]) for key in changed} == changed
    assert changed, "something has to change for this to say anything"
    log = {(one["namespace"], one["event_id"]): one["decision"] for one in desk.json("activity", "--limit", "400")}
    differing = {key for key, one in second_run.items() if one["decision"] != log[key]}
    assert differing <= changed.keys()
    assert len(second_run) == simulated["decisions"]


def test_the_audit_fails_where_it_should(desk: Desk) -> None:
    """Exit code 1 for what was found, 0 below the rate that is allowed; every group names its decisions; nothing is changed."""
    before = desk.json("facts", "--limit", "1000", "--all")
    done = desk.run("audit", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["facts"] == sum(fact["status"] == "current" for fact in before)
    assert told["conflicts"]["groups"] > 0
    assert all(fact["let_through"] for group in told["conflicts"]["largest"] for fact in group["facts"])
    assert desk.run("audit", "--max-rate", "1000").returncode == 0
    assert desk.run("audit", "--namespace", "nobody-is-here").returncode == 0
    assert desk.json("facts", "--limit", "1000", "--all") == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("whatif", "--skip-threshold", "0.5"), "raise the later or lower the earlier"),
        (("whatif", "--skip-guard", "never"), "is none of ask, local, off"),
        (("whatif", "--since", "yesterday"), "write a day"),
        (("whatif", "--simulate", "--set", "judge.name=ollama:x"), "add --ask"),
    ],
)
def test_wrong_usage_says_what_to_do(desk: Desk, words: tuple[str, ...], said: str) -> None:
    """Exit code 2, and one line."""
    done = desk.run(*words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def shape(line: str) -> str:
    """Return a line without what differs between runs of other rules: numbers, and in which grammatical number."""
    return re.sub(r"[0-9][0-9.,]*", "#", line)


@pytest.mark.long
@pytest.mark.parametrize(("command", "shown"), TRANSCRIPTS, ids=[command for command, _ in TRANSCRIPTS])
def test_the_guide_shows_what_its_commands_say(whole_desk: Desk, command: str, shown: str) -> None:
    """Each command of docs/tuning.md runs, and its first and last lines are as the page shows them, numbers apart."""
    done = whole_desk.run(*shlex.split(command)[1:])
    assert done.returncode in (0, 1), done.stderr
    ours = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    theirs = shown.rstrip("\n").splitlines()
    assert shape(ours[0]).split()[:3] == shape(theirs[0]).split()[:3]
    assert shape(ours[-1]).split()[:3] == shape(theirs[-1]).split()[:3]


def test_the_guide_has_transcripts() -> None:
    """The test above would pass on a page without any."""
    assert len(TRANSCRIPTS) >= 8
