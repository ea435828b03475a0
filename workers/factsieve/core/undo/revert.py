"""Reverting a decision (DESIGN section 4).

What it put out of force comes back. The statement that did it stays beside what comes back, as a fact of its own, unless it is to be
dropped; the two are remembered as compatible. What changed since is not overrun: then the revert is refused, naming the decision to
revert first, or with `force` done for all that is still as the decision left it.
"""

from functools import cached_property

import msgspec

from factsieve.core import ids
from factsieve.core.decision import Entry
from factsieve.core.facts import FOREVER, Fact, Kind, Source, Status
from factsieve.core.plan import Draft
from factsieve.core.undo.rows import (
    CORE,
    ERASED,
    Held,
    Outcome,
    Part,
    beside,
    drop_idle,
    link_again,
    mend_links,
    parts_of,
    same,
    statement,
    tell_changes,
    undone,
    withdraw,
)


def stored_id(entry: Entry) -> str | None:
    """Return the id of the fact that a statement gets which became none of its own when it was decided about."""
    decision = entry.decision
    if decision.decision not in (Kind.SKIP, Kind.UPDATE, Kind.MERGE) or not decision.text:
        return None
    return ids.fact_id(decision.resolved_at, decision.event_key)


class Revert:
    """One revert in the making. `held`: every row that the entry wrote, the fact of `stored_id`, and of made facts all rows."""

    def __init__(
        self, draft: Draft, entry: Entry, held: Held, *, drop: bool, force: bool, reason: str, decided_by: str
    ) -> None:
        self.draft = draft
        self.entry = entry
        self.held = held
        self.force = force
        self.reason = reason
        self.decided_by = decided_by
        self.drop = drop or entry.decision.command is not None  # a command brought no statement that could stay
        self.parts = parts_of(entry, held)
        self.left: dict[str, None] = {}
        self.back: dict[str, None] = {}

    def plan(self) -> Outcome:
        """Return the outcome; its effects are in the draft."""
        refusal = self._refusal()
        if refusal is not None:
            return refusal
        newer = next((part for part in self.parts if part.made and part.now.is_head), None)
        for part in self.parts:
            if part.before is not None:
                self._give_back(part)
        for part in self.parts:
            if part.made and not part.now.is_head and part.now.status is Status.PAST:
                self._withdraw_row(part)
        if self.entry.decision.decision in (Kind.SKIP, Kind.ADD):
            self._correct_notes(newer)
        dropped = self._settle(newer)
        for part in self.parts:
            if part.before is not None and part.now.is_head:
                link_again(self.draft, part.now, part.before, part.after)
        mend_links(self.draft, self.held)
        drop_idle(self.draft, self.held)
        about = self.held.points.get(self.entry.decision.fact_id or self.entry.decision.matched_id or "")
        if not self.draft.points:
            return Outcome("no_op", "nothing of it is in force any more", about)
        tell_changes(self.draft, self.held, [statement(self.held.points[one]) for one in dropped])
        said = self.reason
        if self.left:
            said += f" (in part: changed since and left as it is: {', '.join(self.left)})"
        return Outcome("applied", said, about, tuple(dropped))

    # What forbids it

    def _refusal(self) -> Outcome | None:
        decision = self.entry.decision
        if decision.decision is Kind.SKIP and decision.reason == ERASED:
            return Outcome("refused", "the statement was erased")
        if decision.command is not None:
            if decision.outcome != "applied":
                return Outcome("no_op", f"the command was {decision.outcome}: nothing followed from it")
            if decision.command == "erase":
                return Outcome("refused", "an erase can not be undone: the text is gone")
        if decision.decision is Kind.ADD and decision.reason != "late_history" and not self.drop:
            return Outcome(
                "refused", "an add put nothing out of force: revert it with drop, or retract the fact, to withdraw it"
            )
        if decision.decision is Kind.SKIP and self.drop:
            return Outcome("refused", "a revert stores the statement that was skipped: there is nothing to drop")
        gone = set(decision.superseded_ids) - {part.now.fact_id for part in self.parts}
        if (gone and not self.force) or (not self.parts and decision.decision not in (None, Kind.SKIP)):
            named = ", ".join(sorted(gone)) or "what it changed"
            return Outcome("refused", f"{named}: erased, and can not come back")
        changed = [part for part in self.parts if self._changed_since(part)]
        if changed and not self.force:
            named = "; ".join(dict.fromkeys(_change(part) for part in changed[:3]))
            return Outcome("refused", f"{named}: revert that first, or force", changed[0].now)
        return None

    def _changed_since(self, part: Part) -> bool:
        """Return whether a row is neither as the decision left it nor as the revert would leave it."""
        now = part.now
        if part.untouched:
            return False
        if part.made and now.is_head:
            if now.status in (Status.RETRACTED, Status.ERASED):
                return False
            return self.drop or now.status is not Status.CURRENT
        if part.made:
            return now.status is Status.PAST
        if part.before is None:
            return False  # counts and notes are corrected whatever happened since
        return not same(now, part.before, CORE)

    # What follows

    def _give_back(self, part: Part) -> None:
        """Give a row back what it was before, or leave it where it changed since."""
        now, after, before = part.now, part.after, part.before
        assert before is not None
        if now.decision_id in self.held.reverts:
            if not same(now, before, CORE):
                self.left[now.fact_id] = None
            return
        if same(before, after, CORE) and self._came_back:
            return  # only counts and links were changed, and that was undone together with what was changed besides
        if not part.untouched and same(now, before, CORE):
            return  # it has come back already
        standing = part.untouched or same(now, after, ("status", "valid_from", *CORE[3:]))
        retires = now.status is Status.CURRENT and before.status is Status.PAST
        if retires and self._is_withdrawn(before.superseded_by):
            standing = False  # nothing would be in force in its place
        gone = now.status in (Status.RETRACTED, Status.ERASED) and not part.untouched
        if not standing or gone:
            self.left[now.fact_id] = None
        if gone:
            return
        changes = undone(part, standing=standing, wording=True)
        if not changes:
            return
        point = self.draft.revise(now, **changes)
        if point.text != now.text:
            self.draft.reworded.append(point.point_id)
        if not same(now, point, CORE):
            self.back[point.fact_id] = None
            successor = self.entry.decision.fact_id
            self.draft.record("revert", now, successor, after.valid_from, self.decided_by, self.reason)

    @cached_property
    def _came_back(self) -> bool:
        """Return whether the facts that the entry made, or put in or out of force, are as they would be after the revert."""
        leading = [
            part
            for part in self.parts
            if part.now.is_head and (part.made or (part.before and not same(part.before, part.after, CORE)))
        ]
        return bool(leading) and all(
            part.now.status in (Status.RETRACTED, Status.ERASED)
            if part.before is None
            else not part.untouched and same(part.now, part.before, CORE)
            for part in leading
        )

    def _is_withdrawn(self, fact_id: str | None) -> bool:
        """Return whether a fact is withdrawn, and stays so."""
        fact = self.held.points.get(fact_id or "")
        if fact is None or fact.status not in (Status.RETRACTED, Status.ERASED):
            return False
        return not any(part.now.point_id == fact_id and part.untouched and part.before for part in self.parts)

    def _withdraw_row(self, part: Part) -> None:
        if part.untouched and part.now.fact_id not in self.left:
            withdraw(self.draft, part.now)
        else:
            self.left[part.now.fact_id] = None

    def _correct_notes(self, newer: Part | None) -> None:
        """Take back a count (of a skip) or a note of conflict (of an add)."""
        decision = self.entry.decision
        for part in self.parts:
            row = self.draft.points.get(part.now.point_id, part.now)
            if part.made or part.before is not None or row.status in (Status.RETRACTED, Status.ERASED):
                continue
            if decision.decision is Kind.SKIP:
                self._uncount(part)
            elif newer is not None and newer.now.fact_id in row.conflicts_with:
                rest = tuple(one for one in row.conflicts_with if one != newer.now.fact_id)
                self.draft.revise(row, conflicts_with=rest)

    def _uncount(self, part: Part) -> None:
        stored = self.held.points.get(stored_id(self.entry) or "")
        if stored is not None and stored.status is not Status.RETRACTED:
            return  # it was reverted before
        if part.now.decision_id in self.held.reverts:
            return
        now, at = part.now, self.entry.decision.resolved_at
        count = now.stated_count - 1
        if count < 1:
            return
        instants = now.stated_at
        if at in instants[1:] and count < len(instants):
            instants = tuple(one for one in instants if one != at)
        last = now.last_stated_at
        if last == at and at not in instants:
            last = max(instants, default=now.valid_from)
        self.draft.revise(now, stated_count=count, stated_at=instants, last_stated_at=last)

    def _settle(self, newer: Part | None) -> list[str]:
        """Let the newer statement stand beside what came back, or drop it; return the facts dropped."""
        others = [one for one in self.back if newer is None or one != newer.now.fact_id]
        if newer is not None:
            if self.drop:
                return self._drop(newer.now)
            if newer.now.status not in (Status.RETRACTED, Status.ERASED):
                self._pair(newer.now, others)
            elif others:
                self._unlink(newer.now, others)
            return []
        if not self.drop:
            self._store()
        return []

    def _drop(self, fact: Fact) -> list[str]:
        if fact.status in (Status.RETRACTED, Status.ERASED):
            if self.back and fact.status is Status.RETRACTED:
                self._unlink(fact, [*self.back])
            return []
        links = tuple(one for one in fact.supersedes if one not in self.back)
        self.draft.revise(fact, status=Status.RETRACTED, retired_at=self.draft.now, supersedes=links)
        for row in self.held.rows.get(fact.fact_id, ()):
            if row.status is Status.PAST and not row.is_head and row.point_id not in self.draft.points:
                withdraw(self.draft, row)
        self.draft.record("revert", fact, None, fact.valid_from, self.decided_by, self.reason)
        return [fact.fact_id]

    def _unlink(self, fact: Fact, others: list[str]) -> None:
        links = tuple(one for one in fact.supersedes if one not in others)
        if links != fact.supersedes:
            self.draft.revise(fact, supersedes=links)

    def _pair(self, fact: Fact, others: list[str]) -> None:
        """Remember that a fact stands beside others."""
        if not others:
            return
        links = {
            "supersedes": tuple(one for one in fact.supersedes if one not in others),
            "absorbed": tuple(one for one in fact.absorbed if one not in others),
        }
        self.draft.revise(fact, **beside(fact, others), **links)
        for other in others:
            self._note_beside(other, fact.fact_id)

    def _note_beside(self, fact_id: str, other: str) -> None:
        point = self.draft.points.get(fact_id)
        if point is not None:
            self.draft.points[fact_id] = msgspec.structs.replace(point, **beside(point, [other]))
        elif (held := self.held.points.get(fact_id)) is not None:
            self.draft.revise(held, **beside(held, [other]))

    def _store(self) -> None:
        """Store the statement that was skipped, or taken up by another fact, as a fact of its own."""
        decision = self.entry.decision
        fact_id = stored_id(self.entry)
        if fact_id is None:
            return
        stored = self.held.points.get(fact_id)
        matched = decision.fact_id or decision.matched_id
        if stored is not None and stored.status is not Status.RETRACTED:
            return
        others = [matched] if matched is not None and self._stands(matched) else []
        if stored is not None:
            fact = self.draft.revise(stored, retired_at=FOREVER, **self._as_it_was(stored), **beside(stored, others))
        else:
            at = decision.resolved_at
            fact = self.draft.insert(
                Fact(
                    point_id=fact_id,
                    fact_id=fact_id,
                    namespace=decision.namespace,
                    text=decision.text,
                    status=Status.CURRENT,
                    revision=1,
                    version=1,
                    valid_from=at,
                    recorded_at=self.draft.now,
                    last_stated_at=at,
                    source=decision.source or Source.REMEMBER,
                    event_key=self.draft.event_key,
                    decision_id=self.draft.decision_id,
                    slot=decision.slot,
                    stated_at=(at,),
                    compatible_with=tuple(others),
                    session_id=decision.session_id,
                    attributes=self.entry.attributes,
                )
            )
        for other in others:
            self._note_beside(other, fact.fact_id)

    def _as_it_was(self, withdrawn: Fact) -> dict[str, object]:
        """Return how a withdrawn statement comes back: out of force where another took its place before, and still has it."""
        if withdrawn.valid_to == FOREVER:
            return {"status": Status.CURRENT}
        if withdrawn.superseded_by is not None and not self._is_withdrawn(withdrawn.superseded_by):
            return {"status": Status.PAST}
        return {"status": Status.CURRENT, "valid_to": FOREVER, "superseded_by": None, "merged_into": None}

    def _stands(self, fact_id: str) -> bool:
        fact = self.draft.points.get(fact_id) or self.held.points.get(fact_id)
        return fact is not None and fact.status is Status.CURRENT


def _change(part: Part) -> str:
    now = part.now
    if now.status is Status.ERASED:
        return f"fact {now.fact_id} was erased"
    return f"fact {now.fact_id} was changed since, by decision {now.decision_id}"


def revert(draft: Draft, entry: Entry, held: Held, *, drop: bool, force: bool, reason: str, decided_by: str) -> Outcome:
    """Undo a decision or a command; see the module. Returns the outcome, the effects are in the draft."""
    return Revert(draft, entry, held, drop=drop, force=force, reason=reason, decided_by=decided_by).plan()
