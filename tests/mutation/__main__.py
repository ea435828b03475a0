"""`python -m mutation`: see `make mutate`. The last line is a summary; exit code 1 where a mutant survived that nobody has explained."""

import argparse
import difflib
import os
import random
import re
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from mutation.mutants import Mutant, mutants_of
from mutation.targets import TARGETS, THOROUGH
from mutation.trial import ROOT, Target, TrialError, Verdict, attempt, measure

EXPLAINED = Path(__file__).with_name("explained.toml")


def explained() -> dict[str, str]:
    """Return why mutants survive that are known to, by path and name."""
    told = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))
    return {f"{one['path']}: {name}": one["why"] for one in told.get("survivors", []) for name in one["names"]}


def sample(mutants: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return `count` mutants (0: all of them), the same ones for the same seed, in the order of their places."""
    every = sorted(mutants)
    return sorted(random.Random(seed).sample(every, count)) if 0 < count < len(every) else every


def survivors(output: str) -> set[str]:
    """Return path and name of each mutant that survived, by the output of a run."""
    found = re.findall(r"^(?:\d+/\d+ )?survived: ([^:]+):\d+: (.+)$", output, re.MULTILINE)
    return {f"{path}: {name}" for path, name in found}


def diff(mutant: Mutant, source: str) -> str:
    """Return the lines that a mutant changes, as a diff without its head."""
    before, after = source.splitlines(), mutant.applied(source).splitlines()
    return "\n".join(f"  {line}" for line in list(difflib.unified_diff(before, after, lineterm="", n=0))[3:])


def say(line: str) -> None:
    print(line, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 where every mutant was noticed or is explained, 1 where one was not, 2 where the tests fail unbroken."""
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("--mutants", type=int, default=100, help="so many, drawn by the seed; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", default="all", help=f"of {', '.join(TARGETS)}, joined by commas; all")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--again", type=Path, help="only those that survived by the output of a former run, in this file"
    )
    parser.add_argument("--quick", action="store_true", help="leave out the tests that take half of the time")
    parser.add_argument("--list", action="store_true", help="name the mutants, and try none")
    args = parser.parse_args(arguments)
    wanted = list(TARGETS) if args.files == "all" else args.files.split(",")
    if unknown := [name for name in wanted if name not in TARGETS]:
        parser.error(f"no such file: {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    targets = {TARGETS[name].path: _quick(TARGETS[name]) if args.quick else TARGETS[name] for name in wanted}
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path in targets}
    every = [mutant for path, source in sources.items() for mutant in mutants_of(source, path)]
    if args.again is not None:
        left = survivors(args.again.read_text(encoding="utf-8"))
        every = [mutant for mutant in every if f"{mutant.path}: {mutant.name}" in left]
    drawn = sample(every, args.mutants, args.seed)
    if args.list:
        for mutant in drawn:
            say(f"{mutant.path}:{mutant.line}: {mutant.name}")
        return 0
    began = time.monotonic()
    try:
        verdicts = _try(drawn, targets, args.processes)
    except TrialError as error:
        print(error, file=sys.stderr)
        return 2
    unexplained = _report(verdicts, sources)
    count = Counter(verdict for _, verdict in verdicts)
    survived = count[Verdict.SURVIVED]
    say(
        f"tried {len(drawn)} of {len(every)} mutants with seed {args.seed} in {time.monotonic() - began:.0f} s: "
        f"{count[Verdict.KILLED]} killed, {count[Verdict.TIMED_OUT]} timed out, {survived} survived, "
        f"{survived - unexplained} of them explained"
    )
    return 1 if unexplained else 0


def _quick(target: Target) -> Target:
    return replace(target, tests=tuple(test for test in target.tests if test not in THOROUGH))


def _try(drawn: Sequence[Mutant], targets: dict[str, Target], processes: int) -> list[tuple[Mutant, Verdict]]:
    concerned = [targets[path] for path in dict.fromkeys(mutant.path for mutant in drawn)]
    with ThreadPoolExecutor(processes) as pool:
        unlike = {
            frozenset(target.tests): target for target in concerned
        }  # the same tests of unbroken code are run once
        took = dict(zip(unlike, pool.map(measure, unlike.values()), strict=True))
        limits = {target.path: took[frozenset(target.tests)] for target in concerned}
        say("the tests hold unbroken; limits: " + ", ".join(f"{path} {limit:.0f} s" for path, limit in limits.items()))
        done = 0

        def one(mutant: Mutant) -> Verdict:
            nonlocal done
            verdict = attempt(targets[mutant.path], mutant, limits[mutant.path])
            done += 1
            say(f"{done}/{len(drawn)} {verdict}: {mutant.path}:{mutant.line}: {mutant.name}")
            return verdict

        return list(zip(drawn, pool.map(one, drawn), strict=True))


def _report(verdicts: Sequence[tuple[Mutant, Verdict]], sources: dict[str, str]) -> int:
    """Print the survivors; return how many of them nobody has explained."""
    known = explained()
    unexplained = 0
    for mutant, verdict in verdicts:
        if verdict is not Verdict.SURVIVED:
            continue
        why = known.get(f"{mutant.path}: {mutant.name}")
        unexplained += why is None
        say(f"survived: {mutant.path}:{mutant.line}: {mutant.name}")
        say(diff(mutant, sources[mutant.path]) if why is None else f"  explained: {why}")
    return unexplained


if __name__ == "__main__":
    sys.exit(main())
