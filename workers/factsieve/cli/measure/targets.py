"""What factsieve sets itself to reach on the public sets, as shares that can be measured."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from factsieve.core.outcomes import Share, Summary

PUBLIC: Final = (
    "sick_train",
    "sick_trial",
    "mrpc_train",
    "mrpc_val",
    "gptcache_mock",
    "antonym",
    "glue_negation",
    "situatedqa_dev",
    "locomo_labelled",
    "replace_or_both",
)
SWAPS: Final = "value_swaps"
"""Pairs made by rule, in which only a number, date, unit or identifier differs."""
TWINS: Final = "many_valued"
"""Questions with many right answers at a time, in the form of `situatedqa_dev`."""


class Target(msgspec.Struct, frozen=True):
    """A share of one set that must not be above (`at_most`) or below its `goal`. None: it is reported only."""

    about: str
    data: str
    goal: float | None
    at_most: bool
    share: Callable[[Summary], Share]

    def is_met(self, summary: Summary) -> bool | None:
        """Return whether the goal is reached; None where there is none, or nothing to measure it on."""
        found = self.share(summary)
        if self.goal is None or not found.whole:
            return None
        return found.rate <= self.goal if self.at_most else found.rate >= self.goal


def _both(summary: Summary) -> Share:
    one, other = summary.false_skips, summary.lost_distinct
    return Share(one.part + other.part, one.whole + other.whole)


FALSE_SKIPS: Final = "contradictions at or above the skip threshold that are skipped"
YIELD: Final = "duplicates at or above the skip threshold that are skipped"
RETIRED: Final = "distinct pairs and duplicates whose stored statement is retired"
LABELLED_STANDING: Final = (
    "sick_train",
    "sick_trial",
    "mrpc_train",
    "mrpc_val",
    "gptcache_mock",
    "antonym",
    "locomo_labelled",
)

TARGETS: Final = (
    *(
        Target(FALSE_SKIPS, data, 0.03, True, lambda s: s.false_skips)
        for data in ("glue_negation", "antonym", "situatedqa_dev", "sick_train")
    ),
    Target("pairs that differ in a value only and are skipped", SWAPS, 0.0, True, lambda s: s.any_skips),
    *(Target(YIELD, data, 0.9, False, lambda s: s.skipped_yield) for data in ("gptcache_mock", "sick_train")),
    Target(YIELD, "mrpc_train", None, False, lambda s: s.skipped_yield),
    *(Target(RETIRED, data, 0.01, True, lambda s: s.wrong_retirements) for data in (*LABELLED_STANDING, TWINS)),
    Target(
        "distinct pairs at or above the supersede threshold whose stored statement is retired",
        "replace_or_both",
        0.05,
        True,
        lambda s: s.near_wrong_retirements,
    ),
    Target(
        "contradictions whose stored statement is retired", "situatedqa_dev", 0.8, False, lambda s: s.right_retirements
    ),
    Target(
        "contradictions at or above the supersede threshold whose stored statement is retired",
        "replace_or_both",
        0.6,
        False,
        lambda s: s.near_right_retirements,
    ),
    Target(
        "contradictions and distinct pairs at or above the skip threshold that are skipped",
        "replace_or_both",
        0.02,
        True,
        _both,
    ),
    Target(
        "updates at or above the skip threshold that are skipped",
        "replace_or_both",
        0.3,
        True,
        lambda s: s.lost_updates,
    ),
    Target(YIELD, "replace_or_both", 0.7, False, lambda s: s.skipped_yield),
    Target(
        "distinct pairs at or above the skip threshold that are skipped",
        "locomo_labelled",
        0.15,
        True,
        lambda s: s.lost_distinct,
    ),
    Target(
        "updates at or above the skip threshold that are skipped",
        "locomo_labelled",
        0.5,
        True,
        lambda s: s.lost_updates,
    ),
    Target(YIELD, "locomo_labelled", 0.8, False, lambda s: s.skipped_yield),
)


def measured(summaries: Mapping[str, Summary]) -> list[tuple[Target, Share, bool | None]]:
    """Return every target whose set was measured, with the share reached and whether that is enough."""
    return [
        (target, target.share(summaries[target.data]), target.is_met(summaries[target.data]))
        for target in TARGETS
        if target.data in summaries
    ]
