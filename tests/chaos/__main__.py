"""`python -m chaos`: see `make chaos` and `make soak`. The last line is a summary; exit code 1 where something is not as it must be."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from chaos.run import Plan, run_chaos


def commit() -> str:
    """Return the commit that is tried."""
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def say(line: str) -> None:
    print(line, flush=True)


def own_folder(args: argparse.Namespace) -> Path:
    """Return a new folder for a run. It stays where something failed."""
    if args.folder is not None:
        Path(args.folder).mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="factsieve-chaos-", dir=args.folder))


def chaos(args: argparse.Namespace) -> int:
    """Run scheduled faults, and compare."""
    plan = Plan(args.events, args.faults, args.seed, args.broker, args.workers)
    report = run_chaos(plan, own_folder(args), say)
    say("the run compared with the state rebuilt from its input:")
    for line in report.comparison.lines:
        say(line)
    say("faults: " + ", ".join(f"{count} {kind}" for kind, count in sorted(report.happened.items())))
    for failure in report.failures:
        say(f"FAILED: {failure}")
    say(
        f"chaos: {sum(report.happened.values())} faults over {args.events} records on {args.broker}, seed {args.seed}, commit {commit()}, "
        f"{report.took_s:.0f} s: {'equal to the rebuilt state' if not report.failures else f'{len(report.failures)} failures'}"
    )
    return 1 if report.failures else 0


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where services keep their data and logs; a temporary one otherwise")
    parser.add_argument("--broker", choices=["local", "apache"], default="local")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--faults", type=int, default=50)
    args = parser.parse_args()
    return chaos(args)


if __name__ == "__main__":
    sys.exit(main())
