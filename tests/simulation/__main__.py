"""`python -m tests.simulation --seeds N [--first SEED]`: runs seeds on all cores; the last line is a summary.

A seed that fails is made small and printed with the commit and the command that replays it. `--events` and `--faults` replay such a run.
"""

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.shrink import shrink
from tests.simulation.simulator import simulate
from tests.simulation.world import Only

BLOCK = 50
SHRUNK_LIMIT = 5
"""So many failing seeds are made small; the others are named."""


def _block(seeds: range) -> tuple[list[tuple[int, str]], Counter[str]]:
    failed, met = [], Counter()
    for seed in seeds:
        try:
            met.update(kind.partition(":")[0].partition(" before")[0] for kind in simulate(seed).met)
        except Exception as error:
            failed.append((seed, f"{type(error).__name__}: {error}"))
    return failed, met


def _numbers(text: str | None) -> frozenset[int] | None:
    if text is None:
        return None
    return frozenset(() if text == "none" else map(int, text.split(",")))


def main() -> int:
    """Return 0 where every seed held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--events", help="numbers joined by commas, or none: only these events of the one seed")
    parser.add_argument("--faults", help="the same of its faults")
    args = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    commit = commit or "unknown"
    only = Only(_numbers(args.events), _numbers(args.faults))
    if only != Only():
        return _replay(args.first, only, commit)
    began = time.monotonic()
    end = args.first + args.seeds
    blocks = [range(start, min(start + BLOCK, end)) for start in range(args.first, end, BLOCK)]
    failed: list[tuple[int, str]] = []
    met: Counter[str] = Counter()
    with ProcessPoolExecutor(args.processes) as pool:
        for found, faults in pool.map(_block, blocks):
            met += faults
            for seed, error in found:
                print(f"seed {seed}: {error}", flush=True)
            failed += found
    for seed, _ in failed[:SHRUNK_LIMIT]:
        _show(seed, commit)
    took_s = time.monotonic() - began
    print("faults met: " + ", ".join(f"{count} {kind}" for kind, count in sorted(met.items())))
    print(f"simulated {args.seeds} seeds from {args.first} at commit {commit} in {took_s:.0f} s: {len(failed)} failed")
    return 1 if failed else 0


def _show(seed: int, commit: str) -> None:
    small = shrink(seed)
    if small is None:
        print(f"seed {seed} does not fail again: something outside of the seed changed it")
        return
    print(f"seed {seed} at commit {commit}, made small: {small.error}")
    print(
        f"  events {sorted(small.only.events) if small.only.events is not None else 'all'}, faults: {list(small.faults)}"
    )
    print(f"  replay: {small.command(seed)}", flush=True)


def _replay(seed: int, only: Only, commit: str) -> int:
    try:
        shared = simulate(seed, only=only)
    except Exception as error:
        print(f"seed {seed} at commit {commit}: {type(error).__name__}: {error}")
        return 1
    print(f"seed {seed} at commit {commit} held, with {len(shared.met)} faults drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
