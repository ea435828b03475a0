"""Marks of what is being worked on: what they tell after a death, and what they do not hold against anybody."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import pytest

from factsieve.core.errors import BadInput, Transient
from factsieve.worker.suspects import KEPT_S, SLOTS, Suspects


class Host:
    """A folder of marks, a clock, and a known-good statement that works unless told otherwise."""

    def __init__(self, folder):
        self.folder = folder
        self.now = time.time()
        self.probes = 0
        self.trouble = None

    async def probe(self):
        self.probes += 1
        if self.trouble is not None:
            raise self.trouble

    def process(self, by="1/model", deaths=2):
        return Suspects(self.folder, by=by, deaths=deaths, probe=self.probe, now=lambda: self.now)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path / "marks")


def die(process):
    """Let go of the file as the kernel does for a process that died: nothing is unmarked."""
    process._marks.close()
    os.close(process._file)


async def work(process, *contents, dies=False):
    async with process.running(*contents):
        if dies:
            die(process)


@asynccontextmanager
async def held(process, *contents):
    """Work on contents in a task of its own, meanwhile."""
    go = asyncio.Event()
    entered = asyncio.Event()

    async def hold():
        async with process.running(*contents):
            entered.set()
            await go.wait()

    task = asyncio.create_task(hold())
    await entered.wait()
    try:
        yield
    finally:
        go.set()
        await task


CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from factsieve.worker.suspects import Suspects

async def probe():
    if sys.argv[2] == "probe":
        os._exit(9)

async def main():
    marks = Suspects(Path(sys.argv[1]), by="1/model", deaths=2, probe=probe)
    async with marks.running("innocent, done before"):
        pass
    async with marks.running("the bad one"):
        os.kill(os.getpid(), getattr(signal, sys.argv[2])) if sys.argv[2].startswith("SIG") else os._exit(0)

asyncio.run(main())
"""


def run_child(host, how):
    return subprocess.run([sys.executable, "-c", CHILD, str(host.folder), how], check=False, timeout=60).returncode


def test_what_a_process_was_working_on_when_it_died_is_known_to_the_next_one(host):
    """Killed, faulted or gone by itself: what was under way is suspected, what was done before is not; alone twice, it is refused."""
    host.folder.mkdir()
    assert run_child(host, "SIGKILL") == -signal.SIGKILL
    first = host.process()
    assert (first.is_suspect("the bad one"), first.is_suspect("innocent, done before")) == (True, False)
    first.close()
    assert run_child(host, "SIGSEGV") == -signal.SIGSEGV  # alone, for the first time
    assert run_child(host, "_exit") == 0  # and for the second
    last = host.process()
    with pytest.raises(BadInput, match="2 processes died") as refused:
        asyncio.run(work(last, "the bad one"))
    assert refused.value.code == "unprocessable"
    asyncio.run(work(last, "innocent, done before"))
    last.close()


def test_a_death_at_the_known_good_statement_is_not_held_against_the_suspect(host):
    """However often: a broken model is no statement's fault."""
    host.folder.mkdir()
    run_child(host, "SIGKILL")
    for _ in range(4):
        assert run_child(host, "probe") == 9
    process = host.process()
    asyncio.run(work(process, "the bad one"))
    assert host.probes == 1
    process.close()


def test_a_process_that_lives_is_not_looked_at(host):
    """Two workers share a folder: what the one works on is no suspect of the other."""

    async def main():
        one, other = host.process(), host.process()
        async with held(one, "under way"):
            other.absorb()
            assert not other.is_suspect("under way")
            assert one.path.exists()
        one.close()
        other.close()

    asyncio.run(main())


def test_one_that_takes_over_learns_of_another_that_died_here(host):
    """Also later than at its own start: when it gets the partitions."""

    async def main():
        one, other = host.process(), host.process()
        await asyncio.gather(work(one, "under way", dies=True))
        assert not other.is_suspect("under way")
        other.absorb()
        assert other.is_suspect("under way")
        assert not one.path.exists()
        other.close()

    asyncio.run(main())


def test_an_orderly_end_leaves_nothing_but_what_hangs(host):
    """A stop is no crash; what did not come back from a model by then is suspected."""

    async def main():
        one = host.process()
        await work(one, "done")
        one.close()
        assert [path.name for path in host.folder.iterdir()] == ["lock"]
        two = host.process()
        async with held(two, "hangs"):
            two.close()
        three = host.process()
        assert (three.is_suspect("hangs"), three.is_suspect("done")) == (True, False)
        three.close()

    asyncio.run(main())


def test_a_suspect_is_worked_on_alone_after_a_known_good_one(host):
    """It waits for what is under way, and holds up what comes, so that a death can have one cause only."""

    async def main():
        await work(host.process(), "suspect", dies=True)
        process = host.process()
        order = []

        async def note(name, *contents):
            async with process.running(*contents):
                order.append(name)
                await asyncio.sleep(0)
                order.append(name)

        async with held(process, "before"):
            alone = asyncio.create_task(note("suspect", "suspect"))
            await asyncio.sleep(0)
            others = [asyncio.create_task(note(f"other {n}", f"other {n}")) for n in range(3)]
            for _ in range(20):
                await asyncio.sleep(0)
            assert (order, host.probes) == ([], 0)
        await asyncio.gather(alone, *others)
        assert order[:2] == ["suspect", "suspect"]
        assert host.probes == 1
        assert len(order) == 8
        process.close()

    asyncio.run(main())


def test_a_known_good_statement_that_fails_is_an_outage(host):
    """The suspect waits, and is worked on when the outage is over."""
    asyncio.run(work(host.process(), "suspect", dies=True))
    process = host.process()
    host.trouble = ZeroDivisionError("no memory")
    for _ in range(5):
        with pytest.raises(Transient, match="no memory"):
            asyncio.run(work(process, "suspect"))
    host.trouble = None
    asyncio.run(work(process, "suspect"))
    asyncio.run(work(process, "anything else"))
    process.close()


def test_what_survived_is_no_suspect_any_more_here_and_after_a_restart(host):
    """It was decided: whatever killed that process, it was something else. What was refused stays so."""
    asyncio.run(work(host.process(), "suspect", "bad", dies=True))
    asyncio.run(work(host.process(), "bad", dies=True))
    asyncio.run(work(host.process(), "bad", dies=True))
    process = host.process()
    assert process.count == 2
    process.survived(["suspect", "bad", "never seen"])
    process.close()
    again = host.process()
    assert (again.is_suspect("suspect"), again.is_suspect("bad")) == (False, True)
    with pytest.raises(BadInput):
        asyncio.run(work(again, "bad"))
    again.close()


def test_other_models_and_other_days_begin_anew(host):
    """What killed one version need not kill the next; but workers of both may share the folder."""
    for _ in range(2):
        asyncio.run(work(host.process(), "bad", dies=True))
        host.process().close()
    other = host.process(by="2/model")
    assert not other.is_suspect("bad")
    asyncio.run(work(other, "bad too", dies=True))
    host.process(by="2/model").close()
    same = host.process()
    assert same.is_suspect("bad")
    same.close()
    host.now += KEPT_S + 1
    later = host.process()
    assert later.count == 0
    later.close()


def test_a_text_and_a_value_of_the_same_bytes_are_two_things(host):
    """A record whose value killed the decoder does not cast suspicion on a statement."""
    asyncio.run(work(host.process(), b"same", dies=True))
    process = host.process()
    assert (process.is_suspect(b"same"), process.is_suspect("same")) == (True, False)
    assert process.is_suspect(b"same \xff") is False
    process.close()


def test_spoilt_files_cost_what_they_said_and_nothing_else(host):
    """A file that another program wrote, or half of one, stops no worker."""
    asyncio.run(work(host.process(), "suspect", dies=True))
    host.process().close()
    (host.folder / "suspects.json").write_text('{"half')
    (host.folder / "1-odd.marks").write_bytes(b"\x01" * 25)
    (host.folder / "2-empty.marks").write_bytes(b"")
    process = host.process()
    assert process.count == 1  # the one whole mark in the odd file
    asyncio.run(work(process, "suspect"))
    process.close()


def test_more_than_can_be_marked_goes_unmarked(host):
    """The file is of a fixed size; what does not fit is worked on all the same, and the slots come back."""
    process = host.process()
    many = [f"text {n}" for n in range(SLOTS + 10)]
    asyncio.run(work(process, *many))
    asyncio.run(work(process, "one more", dies=True))
    last = host.process()
    assert last.is_suspect("one more")
    last.close()


def test_a_folder_that_can_not_be_made_is_told(tmp_path):
    """The worker goes on without marks then, and says so."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        Host(tmp_path / "file" / "marks").process()


def test_one_death_counts_once_for_a_text_that_is_worked_on_with_itself(host):
    """Two texts that are compared may be the same: a process that dies then died once."""
    for _ in range(2):
        process = host.process(deaths=2)
        asyncio.run(work(process, "the same", "the same", dies=True))
    last = host.process(deaths=2)
    assert last.is_suspect("the same")
    asyncio.run(work(last, "the same", "the same"))  # alone for the second time, and not refused
    last.close()
