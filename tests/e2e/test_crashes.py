"""Workers that die, are stopped or fall asleep in the middle: the outcome is that of the undisturbed run."""

import signal

import pytest

from e2e import streams
from e2e.harness import BOTH_SITES, PARTITIONS, Room, Worker
from e2e.outcome import differences
from e2e.tollgate import gates_of

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("site", BOTH_SITES, indirect=True)]


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
        for seen in (1, 170):
            worker = room.worker(wait=False)
            room.until_decided(seen)
            worker.kill()
        room.worker(wait=False)
        finish(room, calm, len(messages))


BETWEEN_WRITES = [
    ("record", "before"),
    ("record", "after"),
    ("pointer", "after"),
    ("facts", "before"),
    ("facts", "after"),
]


def test_a_worker_killed_between_two_writes_comes_to_the_same_end(site, calm):
    """Before the ledger record, between it and the pointers, the facts, the telling: each half done wave is finished as decided."""
    with site.room() as room, gates_of(room) as gates:
        messages = room.lines(streams.demo())
        room.send(messages)
        for kind, when in BETWEEN_WRITES:
            worker = gates.worker()
            trap = gates.set(kind, when, Worker.kill_now, nth=2, dropped=True)
            room.until(trap.sprung.is_set, f"the second {kind} request", ends=True)
            worker.kill()
        assert room.follower.decided < len(messages), "the last one died too late to prove anything"
        room.worker(wait=False)
        finish(room, calm, len(messages))


def test_one_of_two_workers_asked_to_end_then_the_other_killed(site, calm):
    """SIGTERM in the middle: it finishes what it has begun, commits and leaves; nothing is told twice, if there was time enough.

    Then SIGKILL: a third worker takes over what was left half done.
    """
    with site.room() as room:
        messages = room.lines(streams.demo())
        first, second = room.worker(wait=False), room.worker(wait=False)
        room.until_shared(first, second)
        room.send(messages)
        room.until_decided(60)
        assert first.terminate() == 0
        assert room.follower.decided < len(messages)
        third = room.worker(wait=False)
        if '"drained": false' not in first.log + second.log:
            told = [record.headers for record in room.follower.records[room.topics.decisions]]
            assert len(told) == len({dict(headers)["ce_id"] for headers in told})
        room.until_decided(min(200, room.follower.decided + 1))
        second.kill()
        finish(room, calm, len(messages))
        assert len(third.partitions()) == PARTITIONS


ASLEEP = {
    "tansu": [("record", "before"), ("standing", "after")],
    "apache": [("record", "after"), ("facts", "before")],
}
"""Where owners fall asleep; the broker does not matter to it, so that each kind of site has its share."""


def test_an_old_owner_that_wakes_changes_nothing(site, calm):
    """Stopped between two requests for longer than the session time-out, and woken when another has done its work.

    Its late write changes nothing, it tells nothing that is not so any more, and it goes on as a member.
    """
    with site.room() as room, gates_of(room) as gates:
        messages = room.lines(streams.demo())
        workers = gates.worker(), gates.worker()
        sent, places = 0, ASLEEP[site.kind]
        for number, (kind, when) in enumerate(places, start=1):
            room.until_shared(*workers)
            trap = gates.set(kind, when, Worker.sleep_now, nth=2)
            part = messages[sent : len(messages) * number // len(places)]
            room.send(part)
            sent += len(part)
            room.until(trap.sprung.is_set, f"the second {kind} request")
            room.until_decided(sent)
            trap.release()
            trap.caught.signal(signal.SIGCONT)
        room.until_shared(*workers)
        finish(room, calm, len(messages))
        assert [worker.terminate() for worker in workers] == [0, 0]
