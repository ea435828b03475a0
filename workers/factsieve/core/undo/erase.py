"""Erasing texts for good (DESIGN section 8).

No point is deleted, for a late write could bring it back: its text is overwritten under the highest version there can be. Where the
text of an erased statement went into the wording of another fact (merge, update), that fact gets the latest wording back which does not
rest on it. `scrub` does the same for ledger entries: the events whose statements are gone decide `skip`, reason `erased`, ever after.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

import msgspec

from factsieve.core.decision import Band, Change, ChangeType, Decision, Entry, Erasure, JudgeNote, Replaced
from factsieve.core.facts import FOREVER, NO_SIGNAL, Fact, Kind, Status
from factsieve.core.plan import Draft
from factsieve.core.undo.rows import ERASED, Outcome

ERASED_VERSION: Final = 2**53 - 1
"""Above every version that a write can have, and still a whole number for every reader of JSON."""

AGAIN: Final = "give the command again"
"""Part of the reason of an erase that could not write everything at once."""

SCRUBBED_HASH: Final = ""
"""What stands in the place of the hash of an erased statement: any body of its event is taken for it."""


class Story(msgspec.Struct, frozen=True):
    """A fact with all its rows. `tainted`: those whose wording rests on an erased statement (all, if `whole`)."""

    rows: tuple[Fact, ...]
    tainted: tuple[Fact, ...]
    whole: bool

    @property
    def head(self) -> Fact | None:
        """Return the fact itself."""
        return next((row for row in self.rows if row.is_head), None)


def whole(rows: Sequence[Fact]) -> Story:
    """Return the story of a fact that is to be erased as such."""
    return Story(tuple(rows), tuple(rows), whole=True)


def resting_on(rows: Sequence[Fact], gone: Set[str], own: Mapping[str, str]) -> Story:
    """Return the story of a fact that absorbed others which are to be erased (ids `gone`).

    A row rests on them where it absorbed one and says something that no row without them says, and that is no statement of another
    event's own. `own`: by decision id, what the decision's event itself said.
    """
    clean = {row.text for row in rows if not gone & set(row.absorbed)}
    tainted = [row for row in rows if gone & set(row.absorbed) and _rests(row, clean, own)]
    return _partly(rows, tainted)


def since_revision(rows: Sequence[Fact], revision: int, own: Mapping[str, str]) -> Story:
    """Return the story of a fact whose wording of a revision (and what may have been made of it later) is to be erased."""
    clean = {row.text for row in rows if row.revision < revision}
    return _partly(rows, [row for row in rows if row.revision >= revision and _rests(row, clean, own)])


def _rests(row: Fact, clean: Set[str], own: Mapping[str, str]) -> bool:
    return row.status is not Status.ERASED and row.text not in clean and own.get(row.decision_id) != row.text


def _partly(rows: Sequence[Fact], tainted: Sequence[Fact]) -> Story:
    """Return the story; a fact of which no clean wording is left is erased whole."""
    ids = {row.point_id for row in tainted}
    clean = [row for row in rows if row.point_id not in ids and row.status is not Status.ERASED]
    return Story(tuple(rows), tuple(tainted), whole=False) if clean or not tainted else whole(rows)


def erase(
    draft: Draft,
    stories: Mapping[str, Story],
    event_keys: Sequence[str],
    others: Mapping[str, Fact],
    *,
    limit: int,
    reason: str,
    decided_by: str,
) -> Outcome:
    """Overwrite the texts of these facts, and have the ledger scrubbed of them and of the statements of these events.

    At most `limit` points are written, heads last; the outcome says how many are left: give the command again. With nothing left to
    overwrite the ledger is scrubbed all the same, and the outcome is a no-op. `others`: facts that were absorbed together with an erased
    one; they come back where the wording that took them up is gone.
    """
    todo = [(story, row) for story in stories.values() for row in story.tainted if row.status is not Status.ERASED]
    todo.sort(key=lambda one: (one[1].is_head, one[1].fact_id, one[1].point_id))
    for story, row in todo[:limit]:
        if row.is_head:
            _erase_head(draft, story, row, others, decided_by, reason)
        else:
            draft.points[row.point_id] = blank(row)
    facts = {
        fact_id: () if story.whole else tuple(sorted({row.revision for row in story.tainted}))
        for fact_id, story in stories.items()
        if story.tainted
    }
    erases = Erasure(facts=facts, event_keys=tuple(event_keys))
    head = next((story.head for story in stories.values() if story.head is not None), None)
    about = None if head is None else blank(head)
    if not todo and not event_keys:
        return Outcome("no_op", "erased already: nothing is left of it", about, erases=erases)
    left = len(todo) - len(todo[:limit])
    if left:
        return Outcome("applied", f"{reason} ({left} rows are left: {AGAIN})", about, erases=erases)
    kept = [fact_id for fact_id, story in stories.items() if not story.whole and story.tainted]
    if kept:
        return Outcome(
            "applied",
            f"{reason} (wordings that rested on it went back to former ones: {', '.join(kept)})",
            about,
            erases=erases,
        )
    return Outcome("applied", reason, about, erases=erases)


def _erase_head(
    draft: Draft, story: Story, head: Fact, others: Mapping[str, Fact], decided_by: str, reason: str
) -> None:
    marks = {
        "revision": head.revision + 1,
        "recorded_at": draft.now,
        "event_key": draft.event_key,
        "decision_id": draft.decision_id,
    }
    if story.whole:
        gone = msgspec.structs.replace(blank(head), retired_at=draft.now, **marks)
        draft.points[head.point_id] = gone
        draft.tell(ChangeType.ERASED, gone)
    else:
        former = max(_clean(story), key=lambda row: (row.revision, row.recorded_at, row.point_id))
        back = draft.touch(
            head,
            text=former.text,
            slot=former.slot,
            source=former.source,
            attributes=former.attributes,
            embedded=former.embedded,
            session_id=former.session_id,
            absorbed=former.absorbed,
            **marks,
        )
        draft.reworded.append(head.point_id)
        draft.tell(ChangeType.REVERTED, back)
        for one in head.absorbed:
            other = others.get(one)
            if one in former.absorbed or other is None or other.merged_into != head.fact_id:
                continue
            if other.status is Status.PAST and head.status is Status.CURRENT:
                open_again = {"valid_to": FOREVER, "superseded_by": None, "merged_into": None}
                draft.tell(ChangeType.REVERTED, draft.revise(other, status=Status.CURRENT, **open_again))
    draft.record("erase", head, None, draft.now, decided_by, reason)


def _clean(story: Story) -> Iterable[Fact]:
    ids = {row.point_id for row in story.tainted}
    return (row for row in story.rows if row.point_id not in ids and row.status is not Status.ERASED)


def blank(row: Fact) -> Fact:
    """Return what is left of a row: that it was there, and when; under a version that no write can exceed."""
    return Fact(
        point_id=row.point_id,
        fact_id=row.fact_id,
        namespace=row.namespace,
        text="",
        status=Status.ERASED,
        revision=row.revision,
        version=ERASED_VERSION,
        valid_from=row.valid_from,
        recorded_at=row.recorded_at,
        last_stated_at=row.last_stated_at,
        source=row.source,
        event_key=row.event_key,
        decision_id=row.decision_id,
        valid_to=row.valid_to,
        retired_at=row.retired_at if row.retired_at != FOREVER else row.recorded_at,
        stated_count=row.stated_count,
        superseded_by=row.superseded_by,
        merged_into=row.merged_into,  # where else its text went
    )


def scrub(entry: Entry, erasure: Erasure) -> Entry:
    """Return a ledger entry without the erased texts; unchanged where it holds none.

    What else it did is long performed: rows, changes and vectors of erased texts are left out of it. What an erasing command wrote and
    tells has no text and stays: it may have died before it told that.
    """
    decision = entry.decision
    if decision.reason == ERASED and decision.decision is Kind.SKIP:
        return entry
    if decision.event_key in erasure.event_keys or (decision.decision is not None and _is_spoken(decision, erasure)):
        return Entry(decision=erased_decision(decision), body_hash=SCRUBBED_HASH)
    dropped = {
        fact.point_id
        for fact in entry.effects
        if fact.status is not Status.ERASED and _holds(erasure, fact.fact_id, fact.revision)
    }
    quoted = _quotes(entry, erasure)
    if not dropped and not quoted:
        return entry
    return msgspec.structs.replace(
        entry,
        decision=_unquoted(decision, erasure) if quoted else decision,
        effects=tuple(fact for fact in entry.effects if fact.point_id not in dropped),
        inserts=tuple(one for one in entry.inserts if one not in dropped),
        reworded=tuple(one for one in entry.reworded if one not in dropped),
        vectors={one: vector for one, vector in entry.vectors.items() if one not in dropped},
        changes=tuple(
            _without(change, erasure)
            for change in entry.changes
            if change.fact.status is Status.ERASED or not _holds(erasure, change.fact.fact_id, change.fact.revision)
        ),
        supersessions=tuple(
            msgspec.structs.replace(line, reason=ERASED) if decision.command is None else line
            for line in entry.supersessions
        ),
    )


def erased_decision(decision: Decision) -> Decision:
    """Return what an event decides whose statement was erased: `skip`, reason `erased`."""
    return msgspec.structs.replace(
        decision,
        decision=Kind.SKIP,
        reason=ERASED,
        fact_id=None,
        matched_id=None,
        dedup_signal=NO_SIGNAL,
        band=Band.NONE,
        text="",
        superseded_ids=(),
        matched_text=None,
        neighbours=(),
        findings=(),
        judges=(),
        review=None,
        conflicts_with=(),
        revision=None,
        slot=None,
        session_id=None,
    )


def _holds(erasure: Erasure, fact_id: str | None, revision: int | None) -> bool:
    """Return whether a fact's wording of a revision is erased."""
    revisions = erasure.facts.get(fact_id or "")
    return revisions is not None and (not revisions or revision is None or revision in revisions)


def _is_spoken(decision: Decision, erasure: Erasure) -> bool:
    """Return whether an event's own statement is one of the erased: it made or repeated the fact."""
    if decision.decision is Kind.SKIP:
        return _holds(erasure, decision.matched_id, decision.revision)
    return erasure.facts.get(decision.fact_id or "") == ()


def _quotes(entry: Entry, erasure: Erasure) -> bool:
    """Return whether a decision may quote an erased text: of a neighbour, of what it matched or retired, or as what it is about."""
    decision = entry.decision
    if decision.command is not None:
        return _holds(erasure, decision.fact_id, None)
    replaced = [one for change in entry.changes for one in change.replaced]
    return (
        any(_holds(erasure, note.fact_id, note.revision) for note in decision.neighbours)
        or any(_holds(erasure, one, None) for one in (decision.matched_id, *decision.superseded_ids))
        or any(_holds(erasure, one.fact_id, one.revision) for one in replaced)
    )


def _unquoted(decision: Decision, erasure: Erasure) -> Decision:
    if decision.command is not None:
        return msgspec.structs.replace(decision, text="", judges=_silent(decision))
    known = {note.fact_id: note.revision for note in decision.neighbours}
    matched = _holds(erasure, decision.matched_id, known.get(decision.matched_id or ""))
    return msgspec.structs.replace(
        decision, matched_text=None if matched else decision.matched_text, findings=(), judges=_silent(decision)
    )


def _silent(decision: Decision) -> tuple[JudgeNote, ...]:
    return tuple(msgspec.structs.replace(note, reason="") for note in decision.judges)


def _without(change: Change, erasure: Erasure) -> Change:
    replaced: list[Replaced] = [one for one in change.replaced if not _holds(erasure, one.fact_id, one.revision)]
    return msgspec.structs.replace(change, replaced=tuple(replaced))
