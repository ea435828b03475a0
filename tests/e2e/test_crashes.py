"""Workers that die, are stopped or fall asleep in the middle: the outcome is that of the undisturbed run."""

import os
import signal

import pytest
from e2e import streams
from e2e.harness import Room
from e2e.outcome import differences
from e2e.tollgate import Trap, tollgate

pytestmark = [pytest.mark.stack, pytest.mark.slow]


def finish(room: Room, calm, events: int) -> None:
    """Wait for the rest, and compare with the undisturbed run."""
    room.until_decided(events)
    room.until_committed()
    outcome = room.outcome()
    outcome.check()
    assert not outcome.dead_letters
    assert differences(outcome.comparable(), calm.first.comparable()) == []


def test_a_worker_killed_again_and_again_comes_to_the_same_end(site, calm):
    """SIGKILL at several numbers of decisions seen, a new worker each time."""
    with site.room() as room:
        messages = room.lines(streams.demo())
        room.send(messages)
        for seen in (1, 90, 200, 330):
            worker = room.worker(wait=False)
            room.until_decided(seen)
            worker.kill()
        room.worker(wait=False)
        finish(room, calm, len(messages))


@pytest.mark.parametrize(
    ("kind", "when"),
    [("record", "before"), ("record", "after"), ("pointer", "after"), ("facts", "before"), ("facts", "after")],
)
def test_a_worker_killed_between_two_writes_comes_to_the_same_end(site, calm, kind, when):
    """Before the ledger record, between it and the pointers, the facts, the telling: each half done wave is finished as decided."""
    with site.room() as room, tollgate(site.qdrant_url) as gate:
        messages = room.lines(streams.demo())
        room.send(messages)
        worker = room.worker(wait=False, qdrant__url=gate.url)
        pid = worker.pid
        trap = gate.set(Trap(kind, when, lambda: os.kill(pid, signal.SIGKILL), nth=6, dropped=True))
        room.until(trap.sprung.is_set, f"the sixth {kind} request", ends=True)
        worker.kill()
        trap.release()
        room.worker(wait=False)
        finish(room, calm, len(messages))
