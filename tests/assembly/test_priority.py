"""Background processes make way: their own niceness, and that of the session that they lead."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from factsieve.assembly import priority

_TELL = """
import json, os, sys
from pathlib import Path
from factsieve.assembly.priority import make_way
def group():
    try: content = Path("/proc/self/autogroup").read_text()
    except OSError: return None
    return content.split()[-1] if content.strip() else None
before = os.nice(0), group()
make_way(int(sys.argv[1]))
print(json.dumps([before, (os.nice(0), group())]))
"""


def told(niceness: int, *, leads_its_session: bool) -> tuple[tuple[int, str | None], tuple[int, str | None]]:
    """Return a new process's niceness and its group's, before and after it made way."""
    done = subprocess.run(
        [sys.executable, "-c", _TELL, str(niceness)],
        start_new_session=leads_its_session,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    before, after = json.loads(done.stdout)
    return (before[0], before[1]), (after[0], after[1])


def test_a_process_of_its_own_session_makes_way_with_its_group() -> None:
    """Where the system schedules sessions as groups, its own niceness alone would count for nothing beside other sessions."""
    before, after = told(3, leads_its_session=True)
    assert after[0] == min(19, before[0] + 3)
    if before[1] is not None:
        assert int(after[1] or "0") == min(19, int(before[1]) + 3)


def test_somebody_elses_session_is_left_alone() -> None:
    """A worker started from a shell does not slow down what else that shell runs."""
    before, after = told(3, leads_its_session=False)
    assert after[0] == min(19, before[0] + 3)
    assert after[1] == before[1]


def test_nothing_is_asked_for_and_nothing_changes() -> None:
    """With a niceness of 0 a worker runs as it was started."""
    before, after = told(0, leads_its_session=True)
    assert after == before


class Refusing:
    """Stands for the group's file; refuses so many writes with one error."""

    def __init__(self, content: str, *, refusals: int = 0, error: int = errno.EAGAIN) -> None:
        self.content, self.refusals, self.error = content, refusals, error
        self.written: list[str] = []

    def exists(self) -> bool:
        return True

    def read_text(self, *, encoding: str) -> str:
        return self.content.encode(encoding).decode(encoding)

    def write_text(self, text: str, *, encoding: str) -> None:
        assert text.encode(encoding)
        if self.refusals:
            self.refusals -= 1
            raise OSError(self.error, os.strerror(self.error))
        self.written.append(text)


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process takes itself for the leader of its session, changes nothing and does not wait."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "getsid", lambda _: os.getpid())
    monkeypatch.setattr(os, "nice", lambda _: 0)
    monkeypatch.setattr(priority, "_PAUSE_S", 0.0)


@pytest.mark.usefixtures("leader")
@pytest.mark.parametrize(
    ("group", "written"),
    [
        (Refusing("/autogroup-7 nice 0\n"), ["5"]),
        (Refusing("/autogroup-7 nice 17\n"), ["19"]),
        (Refusing("/autogroup-7 nice -3\n"), ["2"]),
        (Refusing("/autogroup-7 nice 0\n", refusals=3), ["5"]),
    ],
    ids=["added", "no more than there is", "to what somebody else set", "changed too often a moment ago"],
)
def test_the_group_gets_nicer_by_as_much(monkeypatch: pytest.MonkeyPatch, group: Refusing, written: list[str]) -> None:
    """Niceness is added to what it was, within what the system knows; a refusal for now is no refusal."""
    monkeypatch.setattr(priority, "_GROUP", group)
    with capture_logs() as logs:
        priority.make_way(5)
    assert group.written == written
    assert not logs


@pytest.mark.usefixtures("leader")
@pytest.mark.parametrize(
    "group",
    [
        Refusing("/autogroup-7 nice 0\n", refusals=99),
        Refusing("/autogroup-7 nice 0\n", refusals=1, error=errno.EROFS),
        Refusing("something else\n"),
        Refusing("/autogroup-7 nice much\n"),
    ],
    ids=["for ever", "read-only", "another form", "no number"],
)
def test_what_the_system_refuses_is_told_and_nothing_else(monkeypatch: pytest.MonkeyPatch, group: Refusing) -> None:
    """Only speed depends on it: the process goes on."""
    monkeypatch.setattr(priority, "_GROUP", group)
    with capture_logs() as logs:
        priority.make_way(5)
    assert [entry["event"] for entry in logs] == ["niceness_refused"]
    assert not group.written


@pytest.mark.usefixtures("leader")
def test_a_system_without_groups_is_none_to_ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel built without them has no such file."""
    monkeypatch.setattr(priority, "_GROUP", tmp_path / "none")
    with capture_logs() as logs:
        priority.make_way(5)
    assert not logs


@pytest.mark.usefixtures("leader")
def test_a_process_in_no_group_has_none_to_make_nicer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a process in the system's own group the file says nothing: its own niceness counts."""
    group = Refusing("")
    monkeypatch.setattr(priority, "_GROUP", group)
    with capture_logs() as logs:
        priority.make_way(5)
    assert not logs
    assert not group.written
