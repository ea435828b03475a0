"""Statements that take worker processes down, on real ones: in the end they are dead letters, and nobody else is blamed."""

import signal
from pathlib import Path

import pytest

from e2e.harness import BOTH_SITES, Room, Worker
from factsieve.core.facts import Record
from factsieve.wire.deadletters import DeadLetter, read_dead_letter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.parametrize("site", BOTH_SITES, indirect=True)]

PATCH = """
# Read by every Python process that finds it on its path: the worker's embedding model gets weak spots.
import os, signal
from factsieve.adapters import onnx_embedder

whole = onnx_embedder.OnnxEmbedder._run

def run(self, texts):
    for text in texts:
        if "leave" in text:
            os._exit(0)
        if "fault" in text:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "raise" in text:
            raise RuntimeError("a weak spot")
    return whole(self, texts)

onnx_embedder.OnnxEmbedder._run = run
"""


@pytest.fixture(autouse=True)
def weak_spots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(PATCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def letters(room: Room) -> list[DeadLetter]:
    found = room.follower.records[room.topics.dead_letters]
    return [
        read_dead_letter(Record(r.topic, r.partition, r.offset, r.timestamp, r.key, r.value, r.headers)) for r in found
    ]


def supervise(room: Room, worker: Worker, events: int) -> list[int]:
    """Start a worker again whenever it has ended, until so many events are decided; return the exit codes."""
    codes: list[int] = []

    def step() -> bool:
        child = worker._child
        if child is not None and child.poll() is not None:
            codes.append(child.returncode)
            assert len(codes) < 10, room.state()
            worker.launch()
        return room.follower.decided >= events

    room.until(step, f"{events} decisions", 280, ends=True)
    return codes


def test_what_takes_the_process_down_becomes_a_dead_letter(site) -> None:
    """One death with others beside it, one alone, then it is refused: its copies in other namespaces cost no death more.

    What is behind it in the partition is decided, an exception costs no process at all, and the bytes are in the dead letter.
    """
    word, code = ("leave", 0) if site.kind == "tansu" else ("fault", -signal.SIGSEGV)
    with site.room(worker__poison_deaths=1) as room:
        good = [room.candidate(f"Fact number {n} is about {n * 17}.", namespace=f"n{n % 3}") for n in range(12)]
        bad = [room.candidate(f"Please {word} at once.", namespace=name) for name in ("n0", "n1")]
        odd = room.candidate("Please raise at once.", namespace="n2")
        sent = [*good[:6], *bad, odd, *good[6:]]
        room.send(sent)
        codes = supervise(room, room.worker(wait=False), len(sent))
        assert codes == [code] * 2
        room.until_committed()
        room.until(lambda: len(letters(room)) == 3, "three dead letters")
        assert {letter.code for letter in letters(room)} == {"unprocessable"}
        assert sorted(letter.value for letter in letters(room)) == sorted(one.value for one in (*bad, odd))
        assert {letter.key for letter in letters(room)} == {b"n0", b"n1", b"n2"}
        raised = next(letter for letter in letters(room) if letter.value == odd.value)
        assert "a weak spot" in raised.message
        outcome = room.outcome()
        outcome.check()
        assert len(outcome.entries()) == len(good)
        [worker] = room.workers
        assert worker.terminate() == 0
