"""Lanes: the threads that a local model runs in."""

import asyncio
import os
import sys
import threading

import pytest

from factsieve.adapters.model_lanes import ModelLanes

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="threads have a niceness of their own on Linux alone")


def niceness_seen(niceness: int) -> tuple[set[int], int]:
    """Return the niceness of the threads that computed, and that of this one afterwards."""
    seen: set[int] = set()
    both = threading.Barrier(2, timeout=60)

    def run(keys: list[str]) -> list[str]:
        both.wait()
        seen.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return keys

    lanes: ModelLanes[str, str] = ModelLanes(
        run, name="m", lanes=2, batch_size=1, cache_size=0, size_of=len, niceness=niceness
    )
    try:
        assert asyncio.run(lanes.results(["a", "b"])) == ["a", "b"]
    finally:
        lanes.close()
    return seen, os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@linux_only
def test_lanes_give_way_and_nobody_else_does() -> None:
    """Niceness is added for the lanes' threads, all of them, and the rest of the process keeps its own."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness_seen(3) == ({min(own + 3, 19)}, own)


@linux_only
def test_lanes_are_as_others_where_nothing_is_said() -> None:
    """Without niceness a lane's thread is like any other of the process."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness_seen(0) == ({own}, own)


@linux_only
def test_no_more_niceness_than_there_is() -> None:
    """A process that is as nice as can be has lanes all the same."""
    assert niceness_seen(40)[0] == {19}
