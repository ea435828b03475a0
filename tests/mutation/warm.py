"""A process that has imported whatever does not depend on a mutant, and forks for each trial: most end before such imports would have.

It reads one line of JSON for each trial from its standard input, and writes one with the exit code and the processor time.
"""

import importlib
import json
import os
import pkgutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from mutation import planting

ENGINE: Final = "factsieve.engine."
_IDLE_S: Final = 10.0
"""A process that waits so long without doing anything waits for ever: no test pauses for seconds."""
_LOOK_S: Final = 0.02
_WARM: Final = (
    "numpy",
    "prometheus_client",
    "structlog.dev",
    "_hypothesis_pytestplugin",
    "pytest_timeout",
    "hypothesis.strategies",
)
_ROOMS: Final = ("factsieve.core", "factsieve.wire", "factsieve.adapters.memory", "factsieve.telemetry.metrics")


def warm(mutated: str) -> None:
    """Import what tests of the engine need, unless the module that is to be broken, or whatever imports it, comes with it."""
    for name in _WARM:
        importlib.import_module(name)
    if mutated.startswith(ENGINE):
        for room in _ROOMS:
            module = importlib.import_module(room)
            for one in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{room}."):
                importlib.import_module(one.name)


def trial(job: dict[str, Any]) -> tuple[int | None, float]:
    """Run one trial in a process of its own; return its exit code (None where it was stopped) and its processor time (seconds)."""
    child = os.fork()
    if not child:
        _run(job)
    return _wait(child, job["limit_s"])


def _run(job: dict[str, Any]) -> None:
    code = 3
    try:
        os.setsid()
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(job["folder"])
        sys.path.insert(0, job["folder"])
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = job["own"]
        planting.ready(job["module"], Path(job["mutated"]))
        code = int(pytest.main(job["arguments"]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _wait(child: int, limit_s: float | None) -> tuple[int | None, float]:
    """Wait for an end, or make one where time ran out or nothing moves: then nothing is left of the child's group.

    Time on the clock says nothing on a machine that has much else to do.
    """
    watched = psutil.Process(child)
    took_s, last_at = 0.0, time.monotonic()
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        times = watched.cpu_times()
        now_s = times.user + times.system
        if now_s > took_s or watched.status() == psutil.STATUS_RUNNING:
            took_s, last_at = now_s, time.monotonic()
        if limit_s is not None and (took_s > limit_s or time.monotonic() - last_at > _IDLE_S):
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None, took_s
        time.sleep(_LOOK_S)


def main() -> None:
    """Serve trials until the input ends."""
    warm(sys.argv[1])
    for line in sys.stdin:
        code, took_s = trial(json.loads(line))
        print(json.dumps([code, took_s]), flush=True)


if __name__ == "__main__":
    main()
