"""Deciding anew about a fact that was stored with a review flag: by a person's choice, or by a judge that is asked now.

The fact is there already, so that each kind becomes a change of existing facts: `add` lets it stand, `supersede` lets it retire its
rivals, `skip`, `update` and `merge` fold it into another fact, which then says what both said. A flagged fact that was stated before
its rival never retires it: it becomes the rival's history.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from factsieve.core import timeline
from factsieve.core.case import Ruling
from factsieve.core.decision import Band, ChangeType, Replaced
from factsieve.core.facts import Fact, Kind, Status, remember_statement
from factsieve.core.plan import Draft, cut_history
from factsieve.core.undo.rows import COMPATIBLE_LIMIT, Held, Outcome, beside, statement


def chosen(flagged: Fact, kind: Kind, targets: Sequence[Fact], text: str | None) -> Ruling | Outcome:
    """Return a person's choice as a ruling, or why it can not be made so."""
    named = ", ".join(fact.fact_id for fact in targets) or "none"
    if kind is not Kind.ADD and not targets:
        return Outcome("refused", f"{kind} needs targets: the facts that it is about", flagged)
    if kind in (Kind.SKIP, Kind.UPDATE) and len(targets) > 1:
        return Outcome("refused", f"{kind} is about one fact: name one of {named} in targets", flagged)
    if kind is Kind.MERGE and text is None:
        return Outcome("refused", "merge needs a text that says what all of them say", flagged)
    folded = kind in (Kind.UPDATE, Kind.MERGE)
    return Ruling(
        kind=kind,
        reason="reviewed",
        resolved_at=flagged.last_stated_at,
        band=Band.NONE,
        matched=targets[0] if targets and kind is not Kind.ADD else None,
        targets=tuple(targets[1:]) if folded else tuple(targets) if kind is Kind.SUPERSEDE else (),
        text=(text or flagged.text) if folded else None,
        conflicts=tuple(fact.fact_id for fact in targets) if kind is Kind.ADD else (),
    )


class Review:
    """One review in the making. `held` has the flagged fact, the facts of the ruling, and those it may conflict with."""

    def __init__(
        self,
        draft: Draft,
        flagged: Fact,
        ruling: Ruling,
        held: Held,
        *,
        tolerance: timedelta,
        reason: str,
        decided_by: str,
    ) -> None:
        self.draft = draft
        self.flagged = flagged
        self.ruling = ruling
        self.held = held
        self.tolerance = tolerance
        self.reason = reason
        self.decided_by = decided_by

    def plan(self) -> Outcome:
        """Return the outcome; its effects are in the draft."""
        ruling = self.ruling
        match ruling.kind:
            case Kind.ADD if isinstance(ruling.placement, timeline.Insert):
                self._into_history(ruling.placement)
            case Kind.ADD:
                self._stand()
            case Kind.SUPERSEDE:
                return self._supersede()
            case _:
                return self._fold()
        return self._applied()

    def _applied(self, said: str = "") -> Outcome:
        return Outcome("applied", said or self.reason, self.flagged, judges=self.ruling.judges)

    def _rivals(self) -> list[Fact]:
        """Return the facts that the flagged one was noted to conflict with, as they are stored."""
        ids = dict.fromkeys([*self.flagged.conflicts_with, *self.ruling.conflicts])
        found = [self.held.points[one] for one in ids if one in self.held.points]
        return [fact for fact in found if fact.status in (Status.CURRENT, Status.PAST)]

    def _settle_notes(self, *, compatible: bool) -> None:
        """Take the conflict with the flagged fact from its rivals' notes; `compatible`: and remember that they stand beside it."""
        own = self.flagged.fact_id
        for rival in self._rivals():
            point = self.draft.points.get(rival.point_id)
            now = point or rival
            conflicts = tuple(one for one in now.conflicts_with if one != own)
            changes = beside(now, [own]) if compatible else {"conflicts_with": conflicts}
            if point is not None:
                self.draft.points[rival.point_id] = msgspec.structs.replace(point, **changes)
            elif compatible or conflicts != rival.conflicts_with:
                self.draft.revise(rival, **changes)

    def _stand(self) -> None:
        """The flagged fact stays as it is. A person's word is remembered: it is not asked about again."""
        by_person = not self.ruling.judges
        others = tuple(rival.fact_id for rival in self._rivals()) if by_person else ()
        compatible = tuple(dict.fromkeys([*self.flagged.compatible_with, *others]))[-COMPATIBLE_LIMIT:]
        self.draft.revise(self.flagged, review=None, conflicts_with=(), compatible_with=compatible)
        self._settle_notes(compatible=by_person)

    def _supersede(self) -> Outcome:
        targets = self.ruling.targets
        newer = [fact for fact in targets if timeline.is_late(self.flagged.last_stated_at, fact, self.tolerance)]
        if newer and len(targets) > 1:
            named = ", ".join(fact.fact_id for fact in newer)
            return Outcome("refused", f"stated after the flagged fact: {named}; name those that were not", self.flagged)
        if newer:
            self._become_history(newer[0])
            return self._applied(f"{self.reason} (the other was stated later: the flagged fact is its history now)")
        retired: list[Replaced] = []
        fact = self.draft.revise(
            self.flagged,
            review=None,
            conflicts_with=(),
            supersedes=tuple(dict.fromkeys([*self.flagged.supersedes, *(target.fact_id for target in targets)])),
        )
        for target in targets:
            ends = _first_after(self.flagged, target.valid_from)
            self._retire(target, fact.fact_id, ends, "supersede")
            retired.append(Replaced(target.fact_id, target.revision, target.text, target.valid_from, ends))
        self._settle_notes(compatible=False)
        self.draft.tell(ChangeType.SUPERSEDED, fact, retired)
        return self._applied()

    def _retire(self, fact: Fact, successor_id: str, ends: datetime, kind: str) -> Fact:
        past = self.draft.revise(
            fact,
            status=Status.PAST,
            valid_to=ends,
            superseded_by=successor_id,
            merged_into=successor_id if kind == "merge" else fact.merged_into,
            review=None,
            conflicts_with=(),
        )
        self.draft.record(kind, fact, successor_id, ends, self.decided_by, self.reason)
        return past

    def _become_history(self, successor: Fact) -> None:
        """The flagged fact was true until the other was stated."""
        ends = max(_first_after(successor, self.flagged.valid_from), self.flagged.valid_from)
        self._retire(self.flagged, successor.fact_id, ends, "late_history")
        links = tuple(dict.fromkeys([*successor.supersedes, self.flagged.fact_id]))
        after = self.draft.revise(successor, supersedes=links)
        self._settle_notes(compatible=False)
        self.draft.tell(ChangeType.SUPERSEDED, after, [statement(self.flagged)])

    def _into_history(self, placement: timeline.Insert) -> None:
        """The flagged fact has its place in the past of another."""
        at, successor = self.flagged.valid_from, placement.successor
        past = self.draft.revise(
            self.flagged,
            status=Status.PAST,
            valid_to=max(placement.valid_to, at),
            history=True,
            superseded_by=successor.fact_id,
            supersedes=(*self.flagged.supersedes, *([placement.cut.fact_id] if placement.cut is not None else [])),
            review=None,
            conflicts_with=(),
        )
        cut_history(self.draft, placement, past.fact_id, at, self.decided_by, self.reason)
        self.draft.record("late_history", self.flagged, successor.fact_id, past.valid_to, self.decided_by, self.reason)
        self._settle_notes(compatible=False)
        told = self.draft.points.get(successor.fact_id) or self.held.points.get(successor.fact_id, successor)
        self.draft.tell(ChangeType.SUPERSEDED, told, [statement(self.flagged)])

    def _fold(self) -> Outcome:
        """The flagged fact becomes part of another: it says the same (skip), or both are said in one wording (update, merge)."""
        ruling, flagged = self.ruling, self.flagged
        head = ruling.matched
        assert head is not None
        if ruling.kind is not Kind.SKIP and timeline.is_late(flagged.last_stated_at, head, self.tolerance):
            return Outcome(
                "refused", f"fact {head.fact_id} was stated after the flagged one, which can not rewrite it", flagged
            )
        at = _first_after(flagged, head.valid_from)
        instants = head.stated_at
        for instant in (*flagged.stated_at, flagged.last_stated_at):
            instants = remember_statement(instants, instant)
        changes: dict[str, object] = {
            "stated_count": head.stated_count + flagged.stated_count,
            "stated_at": instants,
            "last_stated_at": max(head.last_stated_at, flagged.last_stated_at),
            "absorbed": (*head.absorbed, flagged.fact_id, *(target.fact_id for target in ruling.targets)),
            "conflicts_with": tuple(one for one in head.conflicts_with if one != flagged.fact_id),
        }
        replaced = [statement(flagged)]
        if ruling.text is not None and ruling.text != head.text:
            if at > head.valid_from:
                self.draft.past_row(head, "former", valid_to=at)
            changes |= {
                "text": ruling.text,
                "valid_from": max(at, head.valid_from),
                "source": flagged.source,
                "slot": head.slot if flagged.slot is None else flagged.slot,
                "attributes": head.attributes if flagged.attributes is None else flagged.attributes,
                "embedded": False,
            }
            self.draft.reworded.append(head.point_id)
            self.draft.record("update", head, head.fact_id, at, self.decided_by, self.reason)
            replaced.insert(0, Replaced(head.fact_id, head.revision, head.text, head.valid_from, at))
        after = self.draft.revise(head, **changes)
        self._retire(
            flagged,
            head.fact_id,
            flagged.valid_from if ruling.kind is Kind.SKIP else max(at, flagged.valid_from),
            "merge",
        )
        for target in ruling.targets:
            self._retire(target, head.fact_id, max(at, target.valid_from), "merge")
            replaced.append(statement(target))
        self._settle_notes(compatible=False)
        told = ChangeType.UPDATED if ruling.kind is Kind.UPDATE else ChangeType.MERGED
        self.draft.tell(told, self.draft.points[after.point_id], replaced)
        return self._applied()


def _first_after(fact: Fact, instant: datetime) -> datetime:
    """Return when a fact was first stated at or after an instant; its last statement where that was earlier."""
    instants = [one for one in (*fact.stated_at, fact.valid_from, fact.last_stated_at) if one >= instant]
    return min(instants, default=max(instant, fact.last_stated_at))


def review(
    draft: Draft, flagged: Fact, ruling: Ruling, held: Held, *, tolerance: timedelta, reason: str, decided_by: str
) -> Outcome:
    """Decide anew about a flagged fact; see the module. Returns the outcome, the effects are in the draft."""
    return Review(draft, flagged, ruling, held, tolerance=tolerance, reason=reason, decided_by=decided_by).plan()
