"""Which decisions of a run tell most: one or two of each kind, found by what happened and not by their texts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from factsieve.core.facts import Kind

Decision = dict[str, Any]
MOST_TELLING: Final = frozenset({"new value", "alike, kept apart", "tool loop"})
"""Two of these are shown, one of every other kind."""


class Told(msgspec.Struct, frozen=True):
    """One row of the table: what kind of case, the statement, what was stored, and the decision itself.

    `times` counts statements of a tool loop, `first` is true where the row opens its kind.
    """

    case: str
    decision: Decision
    times: int = 1
    first: bool = True


def telling(decisions: Sequence[Decision]) -> list[Told]:
    """Return the most telling decisions, in order of kind. `decisions` must be in the order in which they were made."""
    back = _choose([(_similarity(one), one) for one in _returned(decisions)], 1)
    taken = {one["decision_id"] for one in back}
    rows: list[Told] = []
    for case, rank in CASES:
        fits = [
            (score, one) for one in decisions if (score := rank(one)) is not None and one["decision_id"] not in taken
        ]
        chosen = _choose(fits, 2 if case in MOST_TELLING else 1)
        taken.update(one["decision_id"] for one in chosen)
        rows += _rows(case, chosen)
        if case == "new value":
            rows += _rows("and back again", back)
    return rows + _loops(decisions)


def _rows(case: str, decisions: Sequence[Decision]) -> list[Told]:
    return [Told(case, one, first=number == 0) for number, one in enumerate(decisions)]


def _choose(fits: Iterable[tuple[float, Decision]], most: int) -> list[Decision]:
    """Return up to `most` decisions, the best first, the second of another namespace where there is one."""
    ranked = [one for _, one in sorted(fits, key=lambda fit: -fit[0])]
    others = [one for one in ranked[1:] if one["namespace"] != ranked[0]["namespace"]]
    return [*ranked[:1], *(others or ranked[1:])[: most - 1]]


def _similarity(decision: Decision) -> float:
    return float(decision["dedup_signal"]["max_sim"])


def _where(decision: Decision, *kinds: Kind) -> bool:
    return decision.get("decision") in kinds


def _reworded(decision: Decision) -> float | None:
    fits = decision.get("reason") == "similar" and decision.get("matched_text") != decision.get("text")
    return -_similarity(decision) if fits else None  # the less alike the words, the more there is to tell


def _judged_the_same(decision: Decision) -> float | None:
    fits = decision.get("reason") == "judged_same" and decision.get("matched_text") != decision.get("text")
    return _similarity(decision) if fits else None


def _exact(decision: Decision) -> float | None:
    fits = decision.get("reason") == "exact_duplicate" and decision.get("via") != "hash_window"
    return 0.0 if fits else None


def _more_detail(decision: Decision) -> float | None:
    return _similarity(decision) if _where(decision, Kind.UPDATE, Kind.MERGE) else None


def _new_value(decision: Decision) -> float | None:
    return _similarity(decision) if _where(decision, Kind.SUPERSEDE) and not _is_late(decision) else None


def _kept_apart(decision: Decision) -> float | None:
    near = _similarity(decision) >= decision["thresholds"]["skip"] if "thresholds" in decision else False
    fits = _where(decision, Kind.ADD) and near and decision.get("findings") and not _is_late(decision)
    return _similarity(decision) if fits else None


def _another_day(decision: Decision) -> float | None:
    fits = _where(decision, Kind.ADD, Kind.UPDATE, Kind.SUPERSEDE) and decision.get("matched_text") == decision.get(
        "text"
    )
    return 0.0 if fits and not _is_late(decision) else None


def _late_history(decision: Decision) -> float | None:
    return _similarity(decision) if decision.get("reason") == "late_history" else None


def _late_repeat(decision: Decision) -> float | None:
    return 0.0 if _is_late(decision) and _where(decision, Kind.SKIP) else None


def _for_review(decision: Decision) -> float | None:
    return _similarity(decision) if decision.get("review") and _where(decision, Kind.ADD) else None


def _is_late(decision: Decision) -> bool:
    return str(decision.get("reason", "")).startswith("late_")


CASES: Final[tuple[tuple[str, Callable[[Decision], float | None]], ...]] = (
    ("exact repeat", _exact),
    ("reworded repeat", _reworded),
    ("judged the same", _judged_the_same),
    ("more detail", _more_detail),
    ("same words, another day", _another_day),
    ("new value", _new_value),
    ("told late", _late_history),
    ("told late, known", _late_repeat),
    ("alike, kept apart", _kept_apart),
    ("left for a person", _for_review),
)
"""Kinds of telling decisions, each with its rank (None: not of this kind; the higher the more telling)."""


def _returned(decisions: Sequence[Decision]) -> list[Decision]:
    """Return those that re-assert a statement which had been stored before and was replaced in between."""
    said: dict[tuple[str, str, str | None], int] = {}
    last: dict[tuple[str, str], str] = {}
    found = []
    for number, one in enumerate(decisions):
        slot = one.get("slot")
        if slot is None or one.get("decision") is None or _is_late(one):
            continue
        key = (one["namespace"], one["text"], slot)
        between = last.get((one["namespace"], slot))
        if key in said and between != one["text"] and not _where(one, Kind.SKIP):
            found.append(one)
        said[key] = number
        last[one["namespace"], slot] = one["text"]
    return found


def _loops(decisions: Sequence[Decision]) -> list[Told]:
    """Return the statements that the hash window held back most often."""
    counts: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], Decision] = defaultdict(dict)
    for one in decisions:
        if one.get("via") == "hash_window":
            key = (one["namespace"], one["text"])
            counts[key] += 1
            example[key] = one
    most = counts.most_common(2)
    return [Told("tool loop", example[key], times, first=number == 0) for number, (key, times) in enumerate(most)]
