"""Tries mutants: each in a process of its own, against the tests that concern its file, with a limit of time and memory."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from mutation.mutants import Mutant
from mutation.warm import ENGINE

ROOT: Final = Path(__file__).resolve().parents[2]
_TIMES: Final = 2.5
_LEAST_LIMIT_S: Final = 10.0
_PASSED, _FAILED, _INTERRUPTED, _INTERNAL, _NOT_FOUND = 0, 1, 2, 3, 4
_OPTIONS: Final = (
    *("-p", "mutation.planting", "-p", "_hypothesis_pytestplugin", "-p", "pytest_timeout", "-p", "no:cacheprovider"),
    *("-x", "-q", "--tb=line", "--assert=plain", "--timeout=0"),  # its processor time is bounded instead
)


@dataclass(frozen=True)
class Target:
    """A module, its file, and the tests that must notice: those first that fail soonest."""

    module: str
    path: str
    tests: tuple[str, ...]


class Verdict(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


class TrialError(Exception):
    """The trial itself did not work: nothing can be said of the mutant."""


def measure(target: Target, folder: Path = ROOT) -> float:
    """Return how much processor time a trial may take (seconds), by what the tests take on the file as it is.

    Raises TrialError where they fail on it.
    """
    code, said, took_s = _warmed.run(target, (folder / target.path).read_text(encoding="utf-8"), None, folder)
    if code != _PASSED:
        raise TrialError(f"the tests of {target.path} fail as it is:\n{said[-2000:]}")
    return max(_LEAST_LIMIT_S, _TIMES * took_s)


def attempt(target: Target, mutant: Mutant, limit_s: float, folder: Path = ROOT) -> Verdict:
    """Return whether the tests notice a mutant. One that uses up its time, or stands still, counts as noticed, and is told apart."""
    source = (folder / target.path).read_text(encoding="utf-8")
    code, said, _ = _warmed.run(target, mutant.applied(source), limit_s, folder)
    if code is None:
        return Verdict.TIMED_OUT
    if code == _PASSED:
        return Verdict.SURVIVED
    # Unbroken, all tests were found: one that is not is in a file that can not be imported any more. Below 0: ended by a signal.
    if code in (_FAILED, _INTERRUPTED, _INTERNAL, _NOT_FOUND) or code < 0:
        return Verdict.KILLED
    raise TrialError(f"pytest ended with {code} for {mutant.name}:\n{said[-2000:]}")


@cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for what is compiled, in common: a third of the time of a trial that soon fails. A mutant is not kept there."""
    return tempfile.TemporaryDirectory(prefix="factsieve-compiled-")


class _Warm:
    """A process that forks for each trial of one module; taken by one thread at a time."""

    def __init__(self, module: str, folder: Path) -> None:
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHONDONTWRITE"))}
        environment = (
            mine
            | {
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # those of other tests take half of the time; those named below suffice
                "PYTHONPYCACHEPREFIX": _compiled().name,
                "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "workers", ROOT / "tests", ROOT, folder))),
            }
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mutation.warm", module],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def trial(self, **job: object) -> tuple[int | None, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise TrialError(f"the process that forks for trials ended with {self._process.wait()}")
        code, took_s = json.loads(answer)
        return code, took_s

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # it ends with its input
        self._process.wait()


class Warmed:
    """The processes that trials fork from, kept for the next trial of the same module or of the engine; ended at the end."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, Path], list[_Warm]] = {}

    def run(self, target: Target, source: str, limit_s: float | None, folder: Path) -> tuple[int | None, str, float]:
        """Return the exit code (None where it was stopped), what was said, and the processor time (seconds)."""
        room = target.module.rpartition(".")[0] if target.module.startswith(ENGINE) else target.module
        idle = self._idle.setdefault((room, folder), [])
        process = idle.pop() if idle else _Warm(target.module, folder)
        with tempfile.TemporaryDirectory(prefix="factsieve-mutant-") as own:
            mutated, output = Path(own) / "mutated.py", Path(own) / "output"
            mutated.write_text(source, encoding="utf-8")
            code, took_s = process.trial(
                module=target.module,
                mutated=str(mutated),
                output=str(output),
                own=own,
                folder=str(folder),
                limit_s=limit_s,
                arguments=[*_OPTIONS, *target.tests],
            )
            idle.append(process)
            said = output.read_text(encoding="utf-8", errors="replace")
            if code in (_PASSED, _FAILED) and not mutated.with_suffix(".planted").exists():
                raise TrialError(f"the tests {', '.join(target.tests)} do not import {target.module}")
            return code, said, took_s

    def close(self) -> None:
        """End all of them."""
        for processes in self._idle.values():
            for process in processes:
                process.close()
        self._idle.clear()


_warmed = Warmed()
atexit.register(_warmed.close)
