"""Services that go away while events flow, and come back."""

import pytest

from e2e import streams
from e2e.harness import Room, Worker
from e2e.outcome import differences
from e2e.test_crashes import finish

pytestmark = [pytest.mark.stack, pytest.mark.slow]

FIRST = 100
"""Events before the outage; the others come while it lasts."""


def failing(worker: Worker) -> set[str]:
    """Return the checks of `/readyz` that say no."""
    status, body = worker.ask("/readyz")
    bad = {name for name, check in body["checks"].items() if not check["ok"]}
    assert (status == 503) == bool(bad)
    return bad


def until_failing(room: Room, worker: Worker, checks: set[str]) -> None:
    room.until(lambda: failing(worker) == checks, f"/readyz complaining of {checks or 'nothing'}", 40)


def test_without_redis_decisions_stay_right(site, calm):
    """Redis killed and started again, empty: only the cheap filter is gone; `/readyz` says so, and is right again afterwards."""
    with site.room() as room:
        messages = room.lines(streams.demo())
        worker = room.worker()
        room.send(messages[:FIRST])
        room.until_decided(20)
        site.redis.kill()
        room.send(messages[FIRST:])
        until_failing(room, worker, {"redis"})
        room.until_decided(len(messages))
        assert worker.ask("/healthz")[0] == 200
        site.redis.start()
        until_failing(room, worker, set())
        room.until_committed()
        outcome = room.outcome()
        outcome.check()
        assert not outcome.dead_letters
        assert differences(without_via(outcome.comparable()), without_via(calm.first.comparable())) == []
        assert worker.terminate() == 0


def test_without_qdrant_the_worker_waits(site, calm):
    """Qdrant killed and started again on its data: nothing is decided meanwhile, nothing is lost, the outcome is the same."""
    with site.room() as room:
        messages = room.lines(streams.demo())
        worker = room.worker()
        room.send(messages[:FIRST])
        room.until_decided(20)
        site.qdrant.kill()
        room.send(messages[FIRST:])
        until_failing(room, worker, {"qdrant", "ledger"})
        assert room.follower.decided < len(messages)
        assert worker.ask("/healthz")[0] == 200
        site.qdrant.start()
        until_failing(room, worker, set())
        finish(room, calm, len(messages))
        assert worker.terminate() == 0


def without_via(found: dict) -> dict:
    """Leave out by which way a repeat was found: the window finds what the store would have found."""
    stripped = {**found, "decisions": {key: {**one, "via": None} for key, one in found["decisions"].items()}}
    stripped["ledger"] = {
        key: {**entry, "decision": {**entry["decision"], "via": None}} for key, entry in found["ledger"].items()
    }
    return stripped
