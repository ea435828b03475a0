"""Withdrawing a fact: it was never right, or is not wanted."""

from factsieve.core.facts import Fact, Status
from factsieve.core.plan import Draft
from factsieve.core.undo.rows import Held, Outcome, tell_changes, withdraw


def retract(draft: Draft, fact: Fact | None, held: Held, reason: str, decided_by: str) -> Outcome:
    """Withdraw a fact, its past wordings too. It keeps text and history; it is just not believed any more.

    `held` has all its rows. What it once superseded stays past: `revert` of the supersede brings that back.
    """
    if fact is None:
        return Outcome("refused", "no such fact in this namespace: `factsieve facts --all` shows the ids")
    if fact.status is Status.RETRACTED:
        return Outcome("no_op", "the fact is retracted already", fact)
    if fact.status is Status.ERASED:
        return Outcome("refused", "the fact was erased", fact)
    withdraw(draft, fact)
    for row in held.rows.get(fact.fact_id, ()):
        if row.status is Status.PAST and not row.is_head:
            withdraw(draft, row)
    draft.record("retract", fact, None, draft.now, decided_by, reason)
    tell_changes(draft, held)
    return Outcome("applied", reason, fact, (fact.fact_id,))
