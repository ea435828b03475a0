"""What an erase concerns, read from the stores: the facts with all their rows, and whatever took up their texts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from factsieve.core import undo
from factsieve.core.decision import Decision, Entry
from factsieve.core.facts import Fact, Kind, Status
from factsieve.core.plan import Draft
from factsieve.core.undo import Outcome, Story
from factsieve.ports import FactStore, Ledger
from factsieve.wire.ledger import decode_record

FACTS_PER_COMMAND: Final = 256
"""So many facts of a namespace are erased by one command; whoever gives it repeats it until nothing is left."""

ABSORBERS_LIMIT: Final = 256
"""Through so many facts the text of one may have gone."""

FindEntry = Callable[[str, Mapping[str, Any]], Awaitable[Entry | Outcome]]


class Eraser:
    """Plans erases over the stores, reading only."""

    def __init__(self, facts: FactStore, ledger: Ledger, find: FindEntry) -> None:
        self._facts = facts
        self._ledger = ledger
        self._find = find

    async def plan(
        self, draft: Draft, body: Mapping[str, Any], *, limit: int, reason: str, decided_by: str
    ) -> tuple[Outcome, Decision | None]:
        """Return the outcome of an erase and the decision that it is about, if it is about one. Raises Transient."""
        about: Decision | None = None
        keys: tuple[str, ...] = ()
        if body.get("whole_namespace"):
            stories: dict[str, Story] | Outcome = await self._of_namespace(draft.namespace)
        elif body.get("fact_id") is not None:
            stories = await self._of_fact(draft.namespace, body["fact_id"])
        else:
            entry = await self._find(draft.namespace, body)
            if isinstance(entry, Outcome):
                return entry, None
            about, keys = entry.decision, (entry.decision.event_key,)
            stories = await self._of_event(entry)
        if isinstance(stories, Outcome):
            return stories, about
        wanted = {one for story in stories.values() if not story.whole for row in story.rows for one in row.absorbed}
        others = await self._facts.get(sorted(wanted - stories.keys())) if wanted else {}
        outcome = undo.erase(draft, stories, keys, others, limit=limit, reason=reason, decided_by=decided_by)
        return outcome, about

    async def _of_fact(self, namespace: str, fact_id: str) -> dict[str, Story] | Outcome:
        rows = await self._facts.history(namespace, fact_id)
        if not rows:
            return Outcome("refused", "no such fact in this namespace: `factsieve facts --all` shows the ids")
        return await self._with_absorbers(namespace, {fact_id: undo.whole(rows)}, ())

    async def _of_event(self, entry: Entry) -> dict[str, Story] | Outcome:
        """Return what the statement of one event went into."""
        decision = entry.decision
        if decision.command is not None:
            return Outcome("refused", "a command makes no statement: erase the fact, or the event that stated it")
        if decision.reason == undo.ERASED:
            return Outcome("no_op", "the statement was erased already")
        stories: dict[str, Story] = {}
        if decision.decision in (Kind.ADD, Kind.SUPERSEDE) and decision.fact_id is not None:
            stories[decision.fact_id] = undo.whole(await self._facts.history(decision.namespace, decision.fact_id))
        elif decision.decision in (Kind.UPDATE, Kind.MERGE) and decision.fact_id is not None:
            rows = await self._facts.history(decision.namespace, decision.fact_id)
            own = await self._said(rows, besides={decision.event_key})
            stories[decision.fact_id] = undo.since_revision(rows, decision.revision or 1, own)
        stored = undo.stored_id(entry)
        if stored is not None and (rows := await self._facts.history(decision.namespace, stored)):
            stories[stored] = undo.whole(rows)
        return await self._with_absorbers(decision.namespace, stories, {decision.event_key})

    async def _of_namespace(self, namespace: str) -> dict[str, Story]:
        current = await self._facts.select(namespace, limit=FACTS_PER_COMMAND)
        if not current:
            every = await self._facts.select(namespace, current_only=False)
            current = [row for row in every if row.status is not Status.ERASED]
        ids = list(dict.fromkeys(row.fact_id for row in current))[:FACTS_PER_COMMAND]
        return {fact_id: undo.whole(await self._facts.history(namespace, fact_id)) for fact_id in ids}

    async def _with_absorbers(
        self, namespace: str, stories: dict[str, Story], besides: Sequence[str] | set[str]
    ) -> dict[str, Story] | Outcome:
        """Return the stories with those of all facts whose wording rests on an erased one, through any number of merges."""
        todo = list(stories)
        seen: set[str] = set()
        while todo:
            gone = {fact_id for fact_id, story in stories.items() if story.tainted}
            rows = stories[todo.pop()].rows
            for absorber in sorted({row.merged_into for row in rows if row.merged_into is not None} - seen):
                seen.add(absorber)
                if absorber in stories:
                    continue
                if len(seen) > ABSORBERS_LIMIT:
                    return Outcome(
                        "refused", f"its text went into more than {ABSORBERS_LIMIT} facts: erase those first"
                    )
                theirs = await self._facts.history(namespace, absorber)
                story = undo.resting_on(theirs, gone, await self._said(theirs, besides))
                if story.tainted:
                    stories[absorber] = story
                    todo.append(absorber)
        return stories

    async def _said(self, rows: Sequence[Fact], besides: Sequence[str] | set[str]) -> dict[str, str]:
        """Return by decision id what the events said that gave rows their wording, apart from the events `besides`."""
        pointers = await self._ledger.decided(sorted({row.decision_id for row in rows}))
        said: dict[str, str] = {}
        for decision_id, pointer in pointers.items():
            for body in (await self._ledger.records([pointer.record_id])).values():
                decision = decode_record(body).entries[pointer.index].decision
                if decision.decision is not None and decision.text and decision.event_key not in besides:
                    said[decision_id] = decision.text
        return said
