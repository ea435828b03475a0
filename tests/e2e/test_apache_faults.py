"""What only a broker that keeps its data can show: it dies and comes back, for everybody at once."""

import os
import signal

import pytest

from e2e import streams
from e2e.harness import Room, Worker
from e2e.test_crashes import finish

pytestmark = [
    pytest.mark.stack,
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.parametrize("site", ["apache"], indirect=True),
]


def says(worker: Worker) -> tuple[int, int]:
    """Return the statuses of `/healthz` and `/readyz`."""
    return worker.ask("/healthz")[0], worker.ask("/readyz")[0]


def share(room: Room, *workers: Worker) -> None:
    room.until_shared(*workers)
    room.until_ready(*workers)


def test_two_workers_a_third_that_joins_and_a_broker_that_dies(site, calm):
    """One rebalance and one SIGKILL of the broker while events flow; it starts again on its data: same outcome.

    While it is away, workers say that they are not ready but alive, and go on by themselves when it is back.
    """
    with site.room() as room:
        messages = room.lines(streams.demo())
        workers = [room.worker(wait=False), room.worker(wait=False)]
        share(room, *workers)
        room.send(messages[:120])
        room.until_decided(30)
        workers.append(room.worker(wait=False))
        room.send(messages[120:240])
        share(room, *workers)
        room.send(messages[240:])
        room.until_decided(245)
        site.broker.kill()
        room.until(lambda: all(says(one) == (200, 503) for one in workers), "all workers noticing")
        site.broker.start()
        share(room, *workers)
        finish(room, calm, len(messages))
        assert [one.terminate() for one in workers] == [0, 0, 0]


def test_a_broker_that_stands_still_for_longer_than_the_session(site, calm):
    """SIGSTOP of the broker, then SIGCONT: all heartbeats were missed, all members are expelled or not, and nothing is lost."""
    with site.room() as room:
        messages = room.lines(streams.demo())
        workers = [room.worker(wait=False), room.worker(wait=False)]
        share(room, *workers)
        room.send(messages)
        room.until_decided(60)
        os.kill(site.broker.pid, signal.SIGSTOP)
        try:
            room.until(lambda: all(says(one) == (200, 503) for one in workers), "all workers noticing")
        finally:
            os.kill(site.broker.pid, signal.SIGCONT)
        share(room, *workers)
        finish(room, calm, len(messages))
