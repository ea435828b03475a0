"""`python -m tests.simulation --seeds N [--first SEED]`: runs seeds on all cores; the last line is a summary."""

import argparse
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.simulator import simulate


def _block(seeds: range) -> list[tuple[int, str]]:
    failed = []
    for seed in seeds:
        try:
            simulate(seed)
        except BaseException as error:
            failed.append((seed, f"{type(error).__name__}: {error}"))
    return failed


def main() -> int:
    """Return 0 where every seed held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    began = time.monotonic()
    step = 50
    blocks = [
        range(i, min(i + step, args.first + args.seeds)) for i in range(args.first, args.first + args.seeds, step)
    ]
    failed: list[tuple[int, str]] = []
    with ProcessPoolExecutor() as pool:
        for found in pool.map(_block, blocks):
            for seed, error in found:
                print(f"seed {seed}: {error}", flush=True)
            failed += found
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    took_s = time.monotonic() - began
    print(
        f"simulated {args.seeds} seeds from {args.first} at commit {commit or 'unknown'} in {took_s:.0f} s: {len(failed)} failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
