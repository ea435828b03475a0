import subprocess
import sys
import threading

import pytest

from factsieve.core.errors import BadSettings
from factsieve.worker.watchdog import EXIT_STALLED, Progress, Watchdog, check_limits


class Scene:
    """A watchdog on a clock of ours, that is looked at once a second."""

    def __init__(self, **limits):
        self.now = 0.0
        self.progress = Progress(done=0, lag=0)
        self.dog = Watchdog(
            lambda: self.progress, clock=lambda: self.now, **{"limit_s": 30.0, "loop_limit_s": 20.0, **limits}
        )

    def seconds(self, count, *, beating=True):
        for _ in range(count):
            self.now += 1.0
            if beating:
                self.dog.beat()
            reason = self.dog.look()
            if reason is not None:
                return reason
        return None


def test_an_idle_worker_is_left_alone():
    assert Scene().seconds(10_000) is None


def test_lag_without_progress_is_a_stall_after_the_limit():
    scene = Scene()
    scene.progress = Progress(done=5, lag=3)
    assert scene.seconds(30) is None
    assert "3 records wait" in scene.seconds(3)


def test_any_offset_done_is_progress():
    scene = Scene()
    for done in range(20):
        scene.progress = Progress(done=done, lag=1_000)
        assert scene.seconds(29) is None


def test_an_outage_that_is_waited_out_is_no_stall():
    """And its end starts the clock anew."""
    scene = Scene()
    scene.progress = Progress(done=5, lag=3, excuse="qdrant does not answer")
    assert scene.seconds(1_000) is None
    scene.progress = Progress(done=5, lag=3)
    assert scene.seconds(29) is None
    assert scene.seconds(3) is not None


def test_a_blocked_event_loop_is_a_stall_even_without_lag():
    scene = Scene()
    assert scene.seconds(5) is None
    assert "event loop" in scene.seconds(30, beating=False)


def test_a_process_that_slept_gets_its_whole_time_again():
    """A stop of minutes is not a stall of minutes."""
    scene = Scene()
    scene.progress = Progress(done=5, lag=3)
    assert scene.seconds(20) is None
    scene.now += 600
    assert scene.dog.look() is None
    assert scene.seconds(29) is None
    assert scene.seconds(3) is not None


def test_the_thread_reports_a_stall_once_and_ends():
    reasons, told = [], threading.Event()

    def on_stall(reason):
        reasons.append(reason)
        told.set()

    dog = Watchdog(lambda: Progress(done=0, lag=1), limit_s=0.05, interval_s=0.02, on_stall=on_stall)
    dog.start()
    assert told.wait(10)
    dog.join(10)
    assert (len(reasons), dog.is_alive()) == (1, False)


def test_a_stopped_watchdog_ends():
    dog = Watchdog(lambda: Progress(done=0, lag=1), limit_s=1_000, interval_s=0.01)
    dog.start()
    dog.stop()
    dog.join(10)
    assert not dog.is_alive()


def test_the_default_ends_the_process_with_the_stacks_of_all_threads():
    """Although the event loop is blocked and the main thread does not listen."""
    code = (
        "import time\n"
        "from factsieve.worker.watchdog import Progress, Watchdog\n"
        "dog = Watchdog(lambda: Progress(done=0, lag=1), limit_s=0.05, interval_s=0.02)\n"
        "dog.start()\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == EXIT_STALLED
    assert "Thread 0x" in done.stderr
    assert "1 records wait" in done.stdout + done.stderr


def test_the_watchdog_must_outlast_what_is_meant_to_take_long():
    check_limits(watchdog_s=70, meant_waits_s={"judge_hold_s": 60})
    with pytest.raises(BadSettings, match=r"judge_hold_s = 60.*at least 70"):
        check_limits(watchdog_s=69, meant_waits_s={"judge_hold_s": 60})
