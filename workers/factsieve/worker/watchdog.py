"""Ends the process when it has work and gets nothing done: a restart is the cure for what nobody foresaw.

It runs in a thread of its own, so that a blocked event loop is noticed too.
"""

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from factsieve.core.errors import BadSettings

log = structlog.get_logger(__name__)

EXIT_STALLED: Final = 70
"""EX_SOFTWARE of sysexits.h."""

_SLEPT_FACTOR: Final = 3.0


class Progress(msgspec.Struct, frozen=True):
    """What the watchdog looks at.

    `done`: a count that grows with every offset done. `lag`: records of the assigned partitions that are not done. `excuse`: why
    nothing can get done just now (an outage that is being waited out), or None.
    """

    done: int
    lag: int
    excuse: str | None = None


class Watchdog(threading.Thread):
    """Calls `on_stall` when there was lag and no progress for `limit_s`, or the event loop did not run for `loop_limit_s`.

    A process that was asleep (SIGSTOP, a suspended machine) gets its whole time again when it wakes.

    Args:
        probe: read from this thread; must neither block nor raise.
        limit_s: how long lag without progress is put up with; above every wait that is meant, see `check_limits`.
        loop_limit_s: how long the event loop may be blocked; it shows that it runs by `beat`.
        on_stall: what to do; by default the process prints the stacks of all threads and exits with status 70.
    """

    def __init__(
        self,
        probe: Callable[[], Progress],
        *,
        limit_s: float,
        loop_limit_s: float = 60.0,
        interval_s: float = 1.0,
        on_stall: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._probe = probe
        self._limit_s = limit_s
        self._loop_limit_s = loop_limit_s
        self._interval_s = interval_s
        self._on_stall = on_stall or exit_stalled
        self._clock = clock
        self._ended = threading.Event()
        self._beat_at = clock()
        self._looked_at = clock()
        self._moved_at = clock()
        self._last_done: int | None = None

    def beat(self) -> None:
        """Show that the event loop runs; to be called from it about once a second."""
        self._beat_at = self._clock()

    def stop(self) -> None:
        """End the watch. Does not wait."""
        self._ended.set()

    @property
    def idle_s(self) -> float:
        """Return for how long there has been lag without progress (0: there is progress, or nothing to do)."""
        return max(0.0, self._clock() - self._moved_at - self._interval_s)

    @property
    def loop_lag_s(self) -> float:
        """Return how long ago the event loop last showed that it runs."""
        return self._clock() - self._beat_at

    def run(self) -> None:
        """Look every `interval_s`, until `stop` or a stall."""
        while not self._ended.wait(self._interval_s):
            reason = self.look()
            if reason is not None:
                self._on_stall(reason)
                return

    def look(self) -> str | None:
        """Look once; return what is wrong, or None."""
        now = self._clock()
        slept = now - self._looked_at > self._interval_s * _SLEPT_FACTOR
        self._looked_at = now
        if slept:
            self._moved_at = self._beat_at = now
            return None
        progress = self._probe()
        if progress.done != self._last_done or progress.lag <= 0 or progress.excuse is not None:
            self._last_done = progress.done
            self._moved_at = now
        if now - self._moved_at > self._limit_s:
            return f"{progress.lag} records wait and none was done for {self._limit_s:g} s"
        if now - self._beat_at > self._loop_limit_s:
            return f"the event loop did not run for {self._loop_limit_s:g} s"
        return None


def exit_stalled(reason: str) -> None:
    """Print the reason and the stacks of all threads, and end the process without further ado."""
    log.critical("worker_stalled", reason=reason, exit_code=EXIT_STALLED)
    faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    sys.stderr.flush()
    os._exit(EXIT_STALLED)


def check_limits(*, watchdog_s: float, meant_waits_s: dict[str, float], margin_s: float = 10.0) -> None:
    """Raise BadSettings unless the watchdog outlasts every wait that is meant, by `margin_s`."""
    for name, wait_s in meant_waits_s.items():
        if watchdog_s < wait_s + margin_s:
            raise BadSettings(
                f"watchdog_s = {watchdog_s:g} would end a worker that waits as it should: {name} = {wait_s:g}; "
                f"give the watchdog at least {wait_s + margin_s:g}"
            )
