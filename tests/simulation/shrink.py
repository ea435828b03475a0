"""A run that failed, made small: fewer events, fewer faults, as long as it still fails."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.simulator import simulate
from tests.simulation.world import Only

RUNS_LIMIT = 400
"""Runs at most that are tried to make one small."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest run found that still fails: its error, its events and faults by number, and the faults in words."""

    error: str
    only: Only
    faults: tuple[str, ...]

    def command(self, seed: int) -> str:
        """Return the command that replays it."""
        parts = [f"python -m tests.simulation --first {seed} --seeds 1"]
        for option, chosen in (("--events", self.only.events), ("--faults", self.only.faults)):
            if chosen is not None:
                parts.append(f"{option} {','.join(map(str, sorted(chosen))) or 'none'}")
        return " ".join(parts)


Run = Callable[[int, Only], object]


def _simulate(seed: int, only: Only) -> object:
    return simulate(seed, only=only)


def shrink(seed: int, run: Run = _simulate) -> Shrunk | None:
    """Return a failing seed's smallest run, None where the seed does not fail. Greedy, and bounded: not the smallest there is.

    A part is left out if the run fails without it with an error of the same class.
    """
    first = _failure(run, seed, Only())
    if first is None:
        return None
    error, shared = first
    events, faults = frozenset(range(shared.events)), frozenset(range(len(shared.met)))
    left = RUNS_LIMIT

    def fails(only: Only) -> bool:
        nonlocal left
        left -= 1
        found = _failure(run, seed, only)
        return found is not None and type(found[0]) is type(error)

    if fails(
        Only(events, faults)
    ):  # later faults of its later course may have been needed: then those stay as they are
        faults = _fewer(faults, lambda some: left > 0 and fails(Only(events, some)))
        events = _fewer(events, lambda some: left > 0 and fails(Only(some, faults)))
        faults = _fewer(faults, lambda some: left > 0 and fails(Only(events, some)))
        only = Only(events, faults)
    else:
        only = Only(_fewer(events, lambda some: left > 0 and fails(Only(some, None))), None)
    last = _failure(run, seed, only)
    assert last is not None, "a run that failed does not fail again: something is left to chance"
    error, shared = last
    kinds = tuple(kind for n, kind in enumerate(shared.met) if only.faults is None or n in only.faults)
    return Shrunk(f"{type(error).__name__}: {error}", only, kinds)


def _fewer(parts: frozenset[int], holds: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """Leave out what can be left out, halves first, then ever smaller pieces."""
    size = max(1, len(parts) // 2)
    while parts:
        ordered = sorted(parts)
        for start in range(0, len(ordered), size):
            smaller = parts - frozenset(ordered[start : start + size])
            if smaller != parts and holds(smaller):
                parts = smaller
        if size == 1:
            return parts
        size = max(1, size // 2)
    return parts


def _failure(run: Run, seed: int, only: Only):
    try:
        run(seed, only)
    except Exception as error:
        return error, error.shared
    return None
