"""`python -m chaos`: see `make chaos` and `make soak`. The last line is a summary; exit code 1 where something is not as it must be."""

import argparse
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

from chaos.outages import run_outages
from chaos.run import Plan, run_chaos
from chaos.soak import run_soak


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


def outages(args: argparse.Namespace) -> int:
    """Take services away for long."""
    report = run_outages(
        own_folder(args), say, broker=args.broker, seed=args.seed, lasting_s=args.lasting_s, events=args.events
    )
    say("the run compared with the state rebuilt from its input:")
    for line in report.comparison.lines:
        say(line)
    for failure in report.failures:
        say(f"FAILED: {failure}")
    gone = ", ".join(f"{one.service} (well again after {one.recovered_s:.1f} s)" for one in report.outages)
    say(
        f"outages: {args.lasting_s:g} s without each of {gone} on {args.broker}, commit {commit()}, {report.took_s:.0f} s: "
        f"{'nothing lost, nothing twice' if not report.failures else f'{len(report.failures)} failures'}"
    )
    return 1 if report.failures else 0


def soak(args: argparse.Namespace) -> int:
    """Work at a part of the capacity, and watch."""
    report = run_soak(own_folder(args), say, broker=args.broker, seed=args.seed, minutes=args.minutes)
    for line in report.lines:
        say(line)
    for failure in report.failures:
        say(f"FAILED: {failure}")
    say(
        f"soak: {args.minutes:g} minutes at {report.pace_per_s:.0f} of {report.capacity_per_s:.0f} events/s, {report.decided} records, "
        f"commit {commit()}, {report.took_s:.0f} s: {'flat' if not report.failures else f'{len(report.failures)} failures'}"
    )
    return 1 if report.failures else 0


SCENARIOS = {"faults": chaos, "outages": outages, "soak": soak}


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", choices=list(SCENARIOS))
    parser.add_argument("--folder", help="where services keep their data and logs; a temporary one otherwise")
    parser.add_argument("--broker", choices=["local", "apache"], default="local")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="of faults: how many run at once")
    parser.add_argument("--events", type=int, default=20_000, help="records in the stream")
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--lasting-s", type=float, default=120.0, help="of outages: how long each lasts")
    parser.add_argument("--minutes", type=float, default=15.0, help="of soak")
    args = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # a broker that is away is what this is about
    return SCENARIOS[args.scenario](args)


if __name__ == "__main__":
    sys.exit(main())
