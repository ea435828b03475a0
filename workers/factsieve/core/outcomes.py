"""Whole decisions on labelled pairs, counted: what was skipped, retired or kept that should not have been, and what was missed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from factsieve.core.facts import Kind

DUPLICATE: Final = "duplicate"
UPDATE: Final = "update"
CONTRADICTION: Final = "contradiction"
DISTINCT: Final = "distinct"
LABELS: Final = (DUPLICATE, UPDATE, CONTRADICTION, DISTINCT)


class Outcome(msgspec.Struct, frozen=True):
    """What became of one labelled pair: `a` stored first, `b` a day later.

    `stored_stands`: `a`'s wording is still current afterwards. `asked`: a judge was asked to choose.
    """

    data: str
    pair_id: str
    label: str
    category: str
    similarity: float
    decision: Kind
    reason: str
    stored_stands: bool
    asked: bool
    review: str | None = None


class Share(msgspec.Struct, frozen=True):
    """So many of so many."""

    part: int
    whole: int

    @property
    def rate(self) -> float:
        """Return the share, 0.0 of nothing."""
        return self.part / self.whole if self.whole else 0.0


def share(outcomes: Iterable[Outcome], of: Callable[[Outcome], bool], among: Callable[[Outcome], bool]) -> Share:
    """Return how many of the outcomes `among` which something is looked for have it."""
    looked_at = [outcome for outcome in outcomes if among(outcome)]
    return Share(sum(map(of, looked_at)), len(looked_at))


def is_skip(outcome: Outcome) -> bool:
    """Return whether the incoming statement was skipped."""
    return outcome.decision is Kind.SKIP


def is_retirement(outcome: Outcome) -> bool:
    """Return whether the stored statement was retired for the incoming one."""
    return outcome.decision is Kind.SUPERSEDE


def is_revision(outcome: Outcome) -> bool:
    """Return whether the stored statement was reworded: its old wording is history."""
    return outcome.decision in (Kind.UPDATE, Kind.MERGE)


def confusion(outcomes: Sequence[Outcome], least: float = -1.0) -> dict[str, dict[Kind, int]]:
    """Return for each label that occurs how often each decision came, of the pairs at or above a similarity."""
    table: dict[str, dict[Kind, int]] = {}
    for outcome in outcomes:
        row = table.setdefault(outcome.label, dict.fromkeys(Kind, 0))
        if outcome.similarity >= least:
            row[outcome.decision] += 1
    return {label: table[label] for label in LABELS if label in table}


class Summary(msgspec.Struct, frozen=True):
    """The rates by which a set of labelled pairs is judged.

    `false_skips`: contradictions at or above the skip threshold that were skipped; `lost_distinct` and `lost_updates` the same of those
    labels. `skipped_yield`: duplicates at or above it that were skipped. `wrong_retirements`: distinct pairs and duplicates of any
    similarity whose stored statement was retired; `wrong_revisions` distinct pairs whose stored statement was reworded.
    `right_retirements`: contradictions of any similarity whose stored statement was retired, and `replaced` those of which it is at
    least no longer current. The `near_` ones are of pairs at or above the supersede threshold. `any_skips` are contradictions and
    distinct pairs of any similarity that were skipped.
    """

    pairs: int
    false_skips: Share
    lost_distinct: Share
    lost_updates: Share
    skipped_yield: Share
    wrong_retirements: Share
    near_wrong_retirements: Share
    wrong_revisions: Share
    right_retirements: Share
    near_right_retirements: Share
    replaced: Share
    any_skips: Share


def summarise(outcomes: Sequence[Outcome], *, skip_threshold: float, supersede_threshold: float) -> Summary:
    """Return the rates of one set."""

    def of(label: str, least: float = -1.0) -> Callable[[Outcome], bool]:
        return lambda outcome: outcome.label == label and outcome.similarity >= least

    return Summary(
        pairs=len(outcomes),
        false_skips=share(outcomes, is_skip, of(CONTRADICTION, skip_threshold)),
        lost_distinct=share(outcomes, is_skip, of(DISTINCT, skip_threshold)),
        lost_updates=share(outcomes, is_skip, of(UPDATE, skip_threshold)),
        skipped_yield=share(outcomes, is_skip, of(DUPLICATE, skip_threshold)),
        wrong_retirements=share(outcomes, is_retirement, lambda o: o.label in (DISTINCT, DUPLICATE)),
        near_wrong_retirements=share(outcomes, is_retirement, of(DISTINCT, supersede_threshold)),
        wrong_revisions=share(outcomes, lambda o: is_revision(o) and not o.stored_stands, of(DISTINCT)),
        right_retirements=share(outcomes, is_retirement, of(CONTRADICTION)),
        near_right_retirements=share(outcomes, is_retirement, of(CONTRADICTION, supersede_threshold)),
        replaced=share(outcomes, lambda o: not o.stored_stands, of(CONTRADICTION)),
        any_skips=share(outcomes, is_skip, lambda o: o.label in (CONTRADICTION, DISTINCT)),
    )


def misses(outcomes: Iterable[Outcome]) -> list[tuple[str, Outcome]]:
    """Return what went wrong, worst first: a false skip, a wrong retirement, a lost wording, then what was missed."""
    ranked: list[tuple[int, str, Outcome]] = []
    for outcome in outcomes:
        found = _miss(outcome)
        if found is not None:
            ranked.append((*found, outcome))
    ranked.sort(key=lambda one: (one[0], -one[2].similarity, one[2].data, one[2].pair_id))
    return [(name, outcome) for _, name, outcome in ranked]


def _miss(outcome: Outcome) -> tuple[int, str] | None:
    label = outcome.label
    if is_skip(outcome) and label != DUPLICATE:
        return 0, "false skip"
    if is_retirement(outcome) and label in (DISTINCT, DUPLICATE):
        return 1, "wrong retirement"
    if is_revision(outcome) and label == DISTINCT and not outcome.stored_stands:
        return 2, "wrong revision"
    if label == CONTRADICTION and outcome.stored_stands:
        return 3, "missed retirement"
    if label == DUPLICATE and not is_skip(outcome):
        return 4, "missed skip"
    return None
