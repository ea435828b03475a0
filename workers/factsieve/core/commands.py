"""Operators' commands as plans: each outcome is a value, and repeating a command changes nothing more (DESIGN sections 4 and 7)."""

from factsieve.core.decision import ChangeType, Replaced
from factsieve.core.facts import Fact, Status
from factsieve.core.plan import Draft


def retract(draft: Draft, fact: Fact | None, reason: str, decided_by: str) -> tuple[str, str]:
    """Withdraw a fact; returns outcome and reason. The fact keeps its text and history, it is just not believed any more."""
    if fact is None:
        return "refused", "no such fact in this namespace"
    if fact.status is Status.RETRACTED:
        return "no_op", "the fact is retracted already"
    if fact.status is Status.ERASED:
        return "refused", "the fact was erased"
    retracted = draft.revise(fact, status=Status.RETRACTED, retired_at=draft.now)
    draft.record("retract", fact, None, draft.now, decided_by, reason)
    draft.tell(
        ChangeType.RETRACTED,
        retracted,
        [Replaced(fact.fact_id, fact.revision, fact.text, fact.valid_from, fact.valid_to)],
    )
    return "applied", reason
