"""Tries mutants: each in a process of its own, against the tests that concern its file, with a limit of time and memory."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from mutation.mutants import Mutant
from mutation.planting import MODULE, SOURCE

ROOT: Final = Path(__file__).resolve().parents[2]
_TIMES: Final = 5
_LEAST_LIMIT_S: Final = 60.0
_PASSED, _FAILED, _INTERRUPTED, _INTERNAL = 0, 1, 2, 3


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
    """Return how long a trial may take (seconds), by how long the tests take on the file as it is.

    Raises TrialError where they fail on it.
    """
    began = time.monotonic()
    code, said = _run(target, (folder / target.path).read_text(encoding="utf-8"), None, folder)
    if code != _PASSED:
        raise TrialError(f"the tests of {target.path} fail as it is:\n{said[-2000:]}")
    return max(_LEAST_LIMIT_S, _TIMES * (time.monotonic() - began))


def attempt(target: Target, mutant: Mutant, limit_s: float, folder: Path = ROOT) -> Verdict:
    """Return whether the tests notice a mutant. One that runs out of time counts as noticed, and is told apart."""
    source = (folder / target.path).read_text(encoding="utf-8")
    code, said = _run(target, mutant.applied(source), limit_s, folder)
    if code is None:
        return Verdict.TIMED_OUT
    if code == _PASSED:
        return Verdict.SURVIVED
    if code in (_FAILED, _INTERRUPTED, _INTERNAL) or code < 0:  # below 0: ended by a signal
        return Verdict.KILLED
    raise TrialError(f"pytest ended with {code} for {mutant.name}:\n{said[-2000:]}")


def _run(target: Target, source: str, limit_s: float | None, folder: Path) -> tuple[int | None, str]:
    with tempfile.TemporaryDirectory(prefix="factsieve-mutant-") as own:
        mutated, output = Path(own) / "mutated.py", Path(own) / "output"
        mutated.write_text(source, encoding="utf-8")
        mine = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        environment = (
            mine
            | {
                MODULE: target.module,
                SOURCE: str(mutated),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # those of other tests take half of the time; those named below suffice
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT), str(folder)]),
                "HYPOTHESIS_STORAGE_DIRECTORY": own,
            }
        )
        options = [
            "-p",
            "mutation.planting",
            "-p",
            "_hypothesis_pytestplugin",
            "-p",
            "pytest_timeout",
            "-p",
            "no:cacheprovider",
            "-x",
            "-q",
            "--tb=line",
        ]
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *target.tests],
                cwd=folder, env=environment, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            code = _wait(process, limit_s)
        said = output.read_text(encoding="utf-8", errors="replace")
        if code in (_PASSED, _FAILED) and not mutated.with_suffix(".planted").exists():
            raise TrialError(f"the tests {', '.join(target.tests)} do not import {target.module}")
        return code, said


def _wait(process: subprocess.Popen[bytes], limit_s: float | None) -> int | None:
    """Return the exit code, None where the time ran out: then nothing of the process's group is left."""
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:  # its group is its own, and stays until it is waited for
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
