"""What can be asked of the facts: lists by page and time, the nearest to a text, one fact and its story."""

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Annotated, Final

import msgspec

from factsieve.core import timeline
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Fact, Status
from factsieve.ports import Embedder, FactStore, NeighbourQuery

MAX_NAMESPACES: Final = 64
"""In so many namespaces at most a text is searched for at once."""

AS_OF_SEARCH: Final = 256
"""So many neighbours are looked at for those that were true at a time."""

MAX_LINKED: Final = 200
"""So many facts of one story at most are fetched."""

UNSEEN: Final = frozenset({Status.ERASED, Status.ARCHIVED})
"""Not listed: rows without text, and former beliefs, which known-at and history tell."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which facts are wanted. `namespaces` None: of all. `every`: superseded, former and withdrawn ones too."""

    namespaces: frozenset[str] | None
    as_of: datetime | None = None
    known_at: datetime | None = None
    every: bool = False


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended: the last fact on it."""

    valid_from: Annotated[datetime, msgspec.Meta(tz=True)]
    point_id: str


class FactPage(msgspec.Struct, frozen=True):
    """Facts, those that became true last first; `next` None on the last page."""

    facts: list[Fact]
    next: Place | None


async def page(store: FactStore, wanted: Wanted, *, limit: int, before: Place | None = None) -> FactPage:
    """Return one page of facts, newest validity first. Raises Transient."""
    names: Sequence[str | None] = [None] if wanted.namespaces is None else sorted(wanted.namespaces)
    place = None if before is None else (before.valid_from, before.point_id)
    found = [fact for name in names for fact in await _latest(store, name, wanted, limit + 1, place)]
    found.sort(key=_order, reverse=True)
    shown = found[:limit]
    more = len(found) > len(shown)
    return FactPage(shown, Place(shown[-1].valid_from, shown[-1].point_id) if more else None)


async def _latest(
    store: FactStore, namespace: str | None, wanted: Wanted, limit: int, place: tuple[datetime, str] | None
) -> list[Fact]:
    """Return the latest facts of a namespace that may be listed."""
    found: list[Fact] = []
    while len(found) < limit:
        rows = await store.recent(
            namespace,
            as_of=wanted.as_of,
            known_at=wanted.known_at,
            current_only=not wanted.every,
            limit=limit,
            before=place,
        )
        found += [row for row in rows if wanted.known_at is not None or is_listed(row)]
        if len(rows) < limit:
            break
        place = _order(rows[-1])
    return found[:limit]


def is_listed(row: Fact) -> bool:
    """Return whether a row is shown in lists; of another time's beliefs all are: they may be former beliefs now."""
    withdrawn = row.status is Status.RETRACTED and not row.is_head  # only tells that its fact was withdrawn for a while
    return row.status not in UNSEEN and not withdrawn


def _order(fact: Fact) -> tuple[datetime, str]:
    return fact.valid_from, fact.point_id


async def nearest(
    store: FactStore,
    embedder: Embedder,
    text: str,
    namespaces: Collection[str] | None,
    *,
    as_of: datetime | None = None,
    limit: int,
) -> list[tuple[Fact, float]]:
    """Return the facts nearest to a text with their similarity, best first: current ones, or those true at `as_of`.

    Raises BadSettings where that would be of more than `MAX_NAMESPACES` namespaces, Transient.
    """
    if namespaces is None:
        namespaces = {fact.namespace for fact in await store.select(None)}
    if len(namespaces) > MAX_NAMESPACES:
        raise BadSettings(f"there are {len(namespaces)} namespaces: name one")
    (vector,) = await embedder.embed([text])
    past = [False] if as_of is None else [False, True]
    most = limit if as_of is None else max(limit, AS_OF_SEARCH)
    queries = [NeighbourQuery(name, vector, most, -1.0, old) for name in sorted(namespaces) for old in past]
    hits = [hit for near in await store.neighbours(queries) for hit in near if hit.fact is not None]
    hits.sort(key=lambda hit: (-hit.similarity, hit.point_id))
    return [
        (hit.fact, hit.similarity)
        for hit in hits
        if hit.fact is not None and (as_of is None or hit.fact.valid_from <= as_of < hit.fact.valid_to)
    ][:limit]


async def one(store: FactStore, fact_id: str, namespaces: Collection[str] | None) -> Fact | None:
    """Return a fact as it stands, or None: no such id, no fact, erased, or in none of these namespaces. Raises Transient."""
    try:
        wanted = str(uuid.UUID(fact_id))
    except ValueError:
        return None
    fact = (await store.get([wanted])).get(wanted)
    if fact is None or not fact.is_head or (namespaces is not None and fact.namespace not in namespaces):
        return None
    return fact


async def story(store: FactStore, head: Fact) -> tuple[list[Fact], list[Fact]]:
    """Return every row of a fact as it was recorded, and the chain of what was true when, its predecessors and successors with it.

    Raises Transient.
    """
    rows = await store.history(head.namespace, head.fact_id)
    related = list(rows)
    if head.slot is not None:
        related += (await store.by_slot([(head.namespace, head.slot)], past=True))[0]
    seen = {row.fact_id for row in related}
    todo = _links(related) - seen
    while todo and len(seen) < MAX_LINKED:
        seen |= todo
        fresh = [row for linked in sorted(todo) for row in await store.history(head.namespace, linked)]
        related += fresh
        todo = _links(fresh) - seen
    return rows, timeline.chain_of(head, [row for row in related if row.namespace == head.namespace])


def _links(rows: Sequence[Fact]) -> set[str]:
    linked = {fact_id for row in rows for fact_id in row.supersedes}
    return linked | {row.superseded_by for row in rows if row.superseded_by is not None}
