"""What many past decisions would be, counted, with examples: the answer to `factsieve whatif`."""

from collections import Counter
from typing import Any, Final

import msgspec

from factsieve.core.decision import Entry
from factsieve.core.facts import Kind
from factsieve.core.whatif import STATES, Foreseen, State, Told, is_told

EXAMPLES: Final = 3
CHANGES_KEPT: Final = 10_000
"""So many changes are told one by one at most; all are counted."""


class Step(msgspec.Struct, frozen=True):
    """From which decision to which: `after` None where a judge's answer is missing."""

    before: Kind
    after: Kind | None


class Foresight:
    """Counts what is foreseen. Bounded: of changes the first `CHANGES_KEPT` are kept."""

    def __init__(self, *, changes_kept: int = CHANGES_KEPT, examples: int = EXAMPLES) -> None:
        self._changes_kept = changes_kept
        self._examples = examples
        self.states: Counter[State] = Counter()
        self.certain: Counter[Step] = Counter()
        self.likely: Counter[Step] = Counter()
        self.examples: dict[Step, list[Foreseen]] = {}
        self.changes: list[Foreseen] = []
        self.signals: Counter[bool] = Counter()
        self.questions_before = 0
        self.questions_after = 0
        self.calls_before = 0
        self.calls_after = 0
        self.unanswered = 0
        self.namespaces: set[str] = set()
        self.changed_namespaces: set[str] = set()
        self.erased = 0
        self.orders_left_out = 0

    def meet(self, entry: Entry) -> None:
        """Notice an entry of the log, also one that can not be decided again."""
        if entry.decision.decision is not None and not is_told(entry):
            self.erased += 1

    def count(self, seen: Foreseen) -> None:
        """Take up one decision."""
        self.states[seen.state] += 1
        self.namespaces.add(seen.namespace)
        self.questions_before += seen.questions_before
        self.questions_after += seen.questions_after
        self.calls_before += seen.model_calls_before
        self.calls_after += seen.model_calls_after
        self.unanswered += seen.unanswered
        if seen.after is not None and seen.after.is_update != seen.before.is_update:
            self.signals[seen.after.is_update] += 1
        if seen.state not in ("changed", "needs_judge"):
            return
        self.changed_namespaces.add(seen.namespace)
        step = Step(seen.before.decision, None if seen.after is None else seen.after.decision)
        (self.certain if seen.certain else self.likely)[step] += 1
        kept = self.examples.setdefault(step, [])
        if len(kept) < self._examples:
            kept.append(seen)
        if len(self.changes) < self._changes_kept:
            self.changes.append(seen)

    @property
    def decisions(self) -> int:
        """Return how many decisions were looked at."""
        return sum(self.states.values())

    @property
    def steps(self) -> list[Step]:
        """Return the kinds of change, the most frequent first."""
        both = self.certain + self.likely
        return sorted(both, key=lambda step: (-both[step], step.before, step.after or ""))

    def value(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {
            "decisions": self.decisions,
            "namespaces": len(self.namespaces),
            "namespaces_changed": len(self.changed_namespaces),
            **{state: self.states[state] for state in STATES},
            "steps": [
                {
                    "from": step.before,
                    "to": step.after,
                    "certain": self.certain[step],
                    "likely": self.likely[step],
                }
                for step in self.steps
            ],
            "is_update": {"to_true": self.signals[True], "to_false": self.signals[False]},
            "questions": {"before": self.questions_before, "after": self.questions_after},
            "model_calls": {
                "before": self.calls_before,
                "after_at_least": self.calls_after,
                "after_at_most": self.calls_after + self.unanswered,
            },
            "examples": [change_value(seen) for step in self.steps for seen in self.examples[step]],
            "changes": [change_value(seen) for seen in self.changes],
            "changes_left_out": self.states["changed"] + self.states["needs_judge"] - len(self.changes),
            "orders_left_out": self.orders_left_out,
            "erased": self.erased,
        }


def change_value(seen: Foreseen) -> dict[str, Any]:
    """Return one change as JSON has it."""
    return {
        "namespace": seen.namespace,
        "event_id": seen.event_id,
        "event_key": seen.event_key,
        "decision_id": seen.decision_id,
        "text": seen.text,
        "similarity": seen.similarity,
        "occurred_at": seen.occurred_at.isoformat(),
        "state": seen.state,
        "certain": seen.certain,
        "from": _told(seen.before),
        "to": None if seen.after is None else _told(seen.after),
        "why": seen.why or None,
    }


def _told(told: Told) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.to_builtins(told)
    return value
