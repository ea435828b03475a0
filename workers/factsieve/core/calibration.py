"""The sweep of thresholds over labelled pairs: values in, a table out.

The positive case is a duplicate that is skipped. A false skip is a pair of two statements that is skipped; its rate is over all such
pairs of the data (or of a group), whatever their similarity, so that it only falls as a threshold rises.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from factsieve.core.profile import Gate, Pick

GATES: Final[tuple[Gate, ...]] = ("number", "guard", "judge")

LEAST_PAIRS: Final = 10
"""A group of fewer pairs says little."""


class Trial(msgspec.Struct, frozen=True):
    """One labelled pair as the way to a skip sees it.

    `duplicate`: the candidate says nothing that the stored text does not. `clear`: the guard has nothing against a skip and the vector
    stands for the whole text. `contradiction` is an NLI model's greater score of both directions, `entailment` its smaller one; None where
    no model was asked, or tells none.
    """

    group: str
    duplicate: bool
    similarity: float
    clear: bool
    contradiction: float | None = None
    entailment: float | None = None


class Cuts(msgspec.Struct, frozen=True):
    """The numbers that are swept: the skip threshold and the NLI model's cut-offs."""

    threshold: float
    veto: float = 0.8
    entailment: float = 0.5


class Point(msgspec.Struct, frozen=True):
    """What one set of cut-offs does behind one gate; counts of pairs. `groups` holds (false skips, pairs of two statements) by group."""

    cuts: Cuts
    gate: Gate
    true_skips: int
    duplicates: int
    false_skips: int
    others: int
    groups: dict[str, tuple[int, int]]

    @property
    def precision(self) -> float:
        """Return the share of skips that are right; 1.0 where nothing is skipped."""
        skips = self.true_skips + self.false_skips
        return self.true_skips / skips if skips else 1.0

    @property
    def recall(self) -> float:
        """Return the share of duplicates that are skipped; 0.0 without duplicates."""
        return self.true_skips / self.duplicates if self.duplicates else 0.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both and self.true_skips else 0.0

    @property
    def false_skip_rate(self) -> float:
        """Return the share of pairs of two statements that are skipped; 0.0 without such pairs."""
        return self.false_skips / self.others if self.others else 0.0

    def rate_of(self, group: str) -> float:
        """Return the false-skip rate of a group."""
        false, count = self.groups[group]
        return false / count if count else 0.0

    @property
    def worst_group(self) -> tuple[str, float] | None:
        """Return the group with the highest false-skip rate, of those that are large enough to tell (if none is: of all)."""
        large = [name for name, (_, count) in self.groups.items() if count >= LEAST_PAIRS]
        worst = max(large or self.groups, key=lambda name: (self.rate_of(name), name), default=None)
        return None if worst is None else (worst, self.rate_of(worst))


def grid(first: float, last: float, step: float) -> list[float]:
    """Return `first`, `first + step`, ... up to `last` inclusive, free of the drift of repeated sums. Raises ValueError."""
    if not (step > 0 and -1.0 <= first <= last <= 1.0):
        raise ValueError(f"from {first} to {last} by {step} is no range within [-1, 1]")
    count = int((last - first) / step + 1e-9) + 1
    return [round(first + index * step, 6) for index in range(count)]


def is_skipped(trial: Trial, cuts: Cuts, gate: Gate) -> bool:
    """Return whether a pair is skipped behind a gate."""
    if trial.similarity < cuts.threshold:
        return False
    if gate == "number":
        return True
    if not trial.clear or gate == "guard":
        return trial.clear
    against = trial.contradiction is not None and trial.contradiction > cuts.veto
    lacking = trial.entailment is not None and trial.entailment < cuts.entailment
    return not against and not lacking


def measure(trials: Sequence[Trial], cuts: Cuts, gate: Gate) -> Point:
    """Return what one set of cut-offs does behind a gate."""
    return _measure(trials, _Totals.of(trials), cuts, gate)


class _Totals(msgspec.Struct, frozen=True):
    duplicates: int
    others: dict[str, int]

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> "_Totals":
        others = Counter(trial.group for trial in trials if not trial.duplicate)
        return cls(sum(trial.duplicate for trial in trials), dict(sorted(others.items())))


def _measure(candidates: Sequence[Trial], totals: _Totals, cuts: Cuts, gate: Gate) -> Point:
    """Return the same, looking only at those trials that may be skipped at all."""
    true_skips = 0
    false_skips: Counter[str] = Counter()
    for trial in candidates:
        if is_skipped(trial, cuts, gate):
            if trial.duplicate:
                true_skips += 1
            else:
                false_skips[trial.group] += 1
    return Point(
        cuts=cuts,
        gate=gate,
        true_skips=true_skips,
        duplicates=totals.duplicates,
        false_skips=false_skips.total(),
        others=sum(totals.others.values()),
        groups={name: (false_skips[name], count) for name, count in totals.others.items()},
    )


def sweep(
    trials: Sequence[Trial],
    thresholds: Sequence[float],
    gates: Sequence[Gate],
    *,
    vetoes: Sequence[float] = (),
    entailments: Sequence[float] = (),
    cuts: Cuts | None = None,
) -> list[Point]:
    """Return a point for every gate and threshold, in this order.

    Behind the judge there is one for every veto and every least entailment too; where none are given, that of `cuts` is taken.
    """
    base = cuts or Cuts(0.0)
    totals = _Totals.of(trials)
    points = []
    for gate in gates:
        near = [t for t in trials if t.similarity >= min(thresholds) and (t.clear or gate == "number")]
        tried = [
            msgspec.structs.replace(base, veto=veto, entailment=entailment)
            for entailment in (entailments if gate == "judge" and entailments else (base.entailment,))
            for veto in (vetoes if gate == "judge" and vetoes else (base.veto,))
        ]
        points += [
            _measure(near, totals, msgspec.structs.replace(one, threshold=threshold), gate)
            for one in tried
            for threshold in thresholds
        ]
    return points


def pick(points: Sequence[Point], by: Pick, wanted: float | None = None) -> Point | None:
    """Return the point to choose, or None where none reaches what is wanted.

    `f1`: the highest F1. `recall`: of those that reach the recall `wanted`, the one with the lowest false-skip rate. `false-skip`: of those
    within the false-skip budget `wanted`, the one with the highest recall. Ties go to the more careful: higher threshold, lower veto, more
    entailment.
    """
    if by == "f1":
        fit = list(points)
    elif wanted is None:
        raise ValueError(f"picking by {by} needs to know how much")
    elif by == "recall":
        fit = [point for point in points if point.recall >= wanted]
    else:
        fit = [point for point in points if point.false_skip_rate <= wanted]

    def worth(point: Point) -> tuple[float, ...]:
        careful = (point.cuts.threshold, -point.cuts.veto, point.cuts.entailment)
        match by:
            case "f1":
                return (point.f1, -point.false_skip_rate, *careful)
            case "recall":
                return (-point.false_skip_rate, point.recall, *careful)
            case _:
                return (point.recall, -point.false_skip_rate, *careful)

    return max(fit, key=worth, default=None)
