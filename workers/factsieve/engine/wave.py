"""One lane's wave: what is looked up for its candidates at once, and the decisions one after another through the overlay."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec
import numpy as np

from factsieve.core.case import Answer, Ask, Case, LookBack, Ruling
from factsieve.core.decide import decide, recognise
from factsieve.core.decision import Entry
from factsieve.core.errors import Bug, Transient
from factsieve.core.facts import Candidate, Fact, Kind, Scored, Source, Status
from factsieve.core.ids import text_hash
from factsieve.core.memo import names_relative_time
from factsieve.core.plan import plan
from factsieve.core.policy import Policies
from factsieve.engine.crosscheck import CrossCheck
from factsieve.engine.desk import JudgeDesk
from factsieve.engine.items import Item, Prepared
from factsieve.engine.overlay import Overlay, cosine, scored
from factsieve.engine.ports import Gathered, Observer, Ports
from factsieve.ports import Near, NeighbourQuery, Vector, WindowHit

_CURRENT: Final = frozenset({Status.CURRENT})
_BELIEVED: Final = frozenset({Status.CURRENT, Status.PAST})
_STEP_LIMIT: Final = 8
"""A case is decided after at most one look back and two questions; more steps than this mean a loop."""


class WaveSettings(msgspec.Struct, frozen=True):
    """How a wave is decided: `slack` further neighbours are asked for, `window_s` is the hash window in seconds of event time.

    Above `max_unknown_share` of unknown tokens a vector says too little about its text to skip on it.
    """

    slack: int = 8
    window_s: float = 300.0
    window_sources: frozenset[Source] = frozenset({Source.POST_TOOL_USE})
    max_unknown_share: float = 0.3


class Flush(Exception):
    """What is decided must be performed before the next decision can be made."""


class Wave:
    """Decides a lane's candidates in order. `flush` of the caller may come in between; the overlay stays true all along."""

    def __init__(
        self,
        ports: Ports,
        gathered: Gathered,
        desk: JudgeDesk,
        policies: Policies,
        settings: WaveSettings,
        observer: Observer,
    ) -> None:
        self._ports = ports
        self._gathered = gathered
        self._desk = desk
        self._policies = policies
        self._settings = settings
        self._observer = observer
        self._overlay = Overlay()
        self._cross_check = CrossCheck(ports, gathered, desk, observer)

    # Looking up, for all candidates at once

    async def prepare(self, items: Sequence[tuple[Item, Candidate]]) -> list[Prepared]:
        """Return the candidates with what the store, the window and the embedder know of them."""
        prepared = [Prepared(item, c, text_hash(c.text, c.slot)) for item, c in items]
        await self._find_in_window(prepared)
        await self._find_exact([p for p in prepared if p.window is None])
        seen: set[str] = set()
        wanting = []
        for p in prepared:
            if p.window is None and not p.exact and p.text_hash not in seen:
                wanting.append(p)
            seen.add(p.text_hash)
        await self._find_near(wanting)
        return prepared

    async def _find_in_window(self, prepared: Sequence[Prepared]) -> None:
        asking = []
        for p in prepared:
            if p.candidate.source in self._settings.window_sources:
                async with self._ports.risk.running(p.candidate.text):
                    is_relative = names_relative_time(p.candidate.text)
                if not is_relative:
                    asking.append(p)
        if not asking:
            return
        namespace = asking[0].candidate.namespace
        try:
            hits = await self._ports.window.find(namespace, [(p.text_hash, p.candidate.occurred_at) for p in asking])
        except Transient as error:
            self._observer.degraded("redis", str(error))
            return
        wanted = list(dict.fromkeys(hit.fact_id for hit in hits if hit is not None))
        facts = {fact.point_id: fact for fact in await self._gathered.get.many(wanted) if fact is not None}
        for p, hit in zip(asking, hits, strict=True):
            fact = facts.get(hit.fact_id) if hit is not None else None
            if fact is not None and hit is not None and _still(fact, hit, namespace):
                p.window = fact

    async def _find_exact(self, prepared: Sequence[Prepared]) -> None:
        keys = list(dict.fromkeys((p.candidate.namespace, p.text_hash) for p in prepared))
        found = dict(zip(keys, await self._gathered.by_text.many(keys), strict=True))
        for p in prepared:
            p.exact = found[p.candidate.namespace, p.text_hash]

    async def _find_near(self, prepared: Sequence[Prepared]) -> None:
        """Find vectors, neighbours and the facts of the slot."""
        await self._find_vectors(prepared)
        hits = await self._gathered.neighbours([self._query(p) for p in prepared])
        slots = [p for p in prepared if p.candidate.slot is not None]
        keys = [(p.candidate.namespace, p.candidate.slot or "") for p in slots]
        for p, facts in zip(slots, await self._gathered.by_slot.many(keys), strict=True):
            p.slot_facts = facts
        for p, near in zip(prepared, hits, strict=True):
            p.hits = near
        await self._cross_check.look_ahead(prepared, self._policies)

    async def _find_vectors(self, prepared: Sequence[Prepared]) -> None:
        texts = list(dict.fromkeys(p.candidate.text for p in prepared if p.candidate.embedding is None))
        vectors = dict(zip(texts, await self._gathered.embed(texts), strict=True)) if texts else {}
        for p in prepared:
            if p.candidate.embedding is None and p.candidate.embedding_model is not None:
                self._observer.ignored_foreign_embedding()
            given = p.candidate.embedding
            p.vector = vectors[p.candidate.text] if given is None else unit(given)

    def _query(self, p: Prepared, *, past: bool = False) -> NeighbourQuery:
        assert p.vector is not None
        policy = self._policies.of(p.candidate.namespace)
        limit = policy.supersede_scan_limit + self._settings.slack
        return NeighbourQuery(p.candidate.namespace, p.vector, limit, policy.second_look_floor, past)

    # Deciding, one at a time

    async def decide(self, p: Prepared, *, pending: bool) -> Entry:
        """Return the entry of the next candidate, and take it up in the overlay.

        With `pending` decisions that are not performed yet, raises Flush where they would have to wait for a remote judge, or where
        so much changed that the store must be asked again.
        """
        case, ruling = await self._recognised(p)
        if ruling is None:
            case, ruling = await self._rule(p, case, pending=pending)
            ruling = await self._cross_check.checked(p, case, ruling, self._overlay)
        entry = plan(
            case,
            ruling,
            now=self._ports.clock.now(),
            policy=case.policy.fingerprint,
            embedder=self._ports.embedder.fingerprint,
        )
        known = {p.candidate.text: p.vector} if p.vector is not None and p.candidate.embedding is None else {}
        return await self.take_up(entry, known)

    async def take_up(self, entry: Entry, known: Mapping[str, Vector] | None = None) -> Entry:
        """Take up an entry in the overlay, and return it with the vectors that its points need. `known`: vectors by text."""
        entry = await self._with_given_vectors(entry)
        vectors = await new_vectors(self._gathered, [entry], known)
        self._overlay.apply(entry, vectors, window_hit(entry, self._settings), entry.decision.occurred_at)
        return entry

    async def take_up_command(self, entry: Entry) -> Entry:
        """Take up a command's entry. Facts that came back into force keep their vectors, which the overlay then has to know."""
        entry = await self.take_up(entry)
        searched = [fact.point_id for fact in entry.effects if fact.status in _BELIEVED]
        missing = [point_id for point_id in searched if self._overlay.vector(point_id) is None]
        if missing:
            self._overlay.learn(await self._ports.facts.vectors(missing))
        return entry

    def new_vectors(self, entries: Sequence[Entry]) -> dict[str, Vector]:
        """Return the vectors of new and reworded points of entries of this wave, by point id."""
        ids = [point_id for entry in entries for point_id in (*entry.inserts, *entry.reworded)]
        return {point_id: v for point_id in ids if (v := self._overlay.vector(point_id)) is not None}

    async def _rule(self, p: Prepared, known: Case, *, pending: bool) -> tuple[Case, Ruling]:
        """Return the ruling that needs neighbours, and the case that it was made on; `known` is the case without them."""
        if p.hits is None:
            await self._find_near([p])
        case = await self._full_case(p, known, pending=pending)
        for _ in range(_STEP_LIMIT):
            async with self._ports.risk.running(p.candidate.text):
                step = decide(case)
            match step:
                case Ruling() as ruling:
                    return case, ruling
                case LookBack():
                    await self._look_back(p)
                    case = await self._full_case(p, known, pending=pending)
                case Ask() as ask:
                    if pending and self._desk.is_remote(ask):
                        raise Flush
                    case = case.answered(Answer(ask, await self._desk.ask(ask)))
        raise Bug(f"no ruling for event {p.candidate.event_key} within {_STEP_LIMIT} steps")

    async def _recognised(self, p: Prepared) -> tuple[Case, Ruling | None]:
        """Return the case without neighbours, and the ruling where it needs none."""
        case = self._case(p)
        async with self._ports.risk.running(p.candidate.text):
            ruling = recognise(case)
        if ruling is None and p.exact is None:  # the window named a fact that has changed since
            await self._find_exact([p])
            case = self._case(p)
            ruling = recognise(case)
        return case, ruling

    def _case(self, p: Prepared) -> Case:
        c = p.candidate
        window = p.window
        if c.source in self._settings.window_sources:
            hit = self._overlay.window(p.text_hash, c.occurred_at, timedelta(seconds=self._settings.window_s))
            own = self._overlay.get(hit.fact_id) if hit is not None else None
            if own is not None and hit is not None and _still(own, hit, c.namespace):
                window = own
        if window is not None:
            latest = self._overlay.latest(window)
            window = latest if _still(latest, WindowHit(window.fact_id, window.revision), c.namespace) else None
        return Case(
            candidate=c,
            policy=self._policies.of(c.namespace),
            exact=self._overlay.exact(p.text_hash, p.exact or ()),
            window=window,
            confirms_skips=self._desk.confirms_skips,
        )

    async def _full_case(self, p: Prepared, case: Case, *, pending: bool) -> Case:
        limit = case.policy.supersede_scan_limit
        near = await self._merged(p, limit, past=False, pending=pending)
        current = scored(near)
        current += await self._by_slot(p, p.slot_facts, _CURRENT, known={s.fact.point_id for s in current})
        past: tuple[Scored, ...] | None = None
        if p.past is not None:
            rows = scored(await self._merged(p, limit, past=True, pending=pending))
            rows += await self._by_slot(p, p.past_slot, _BELIEVED, known={s.fact.point_id for s in (*rows, *current)})
            past = tuple(rows)
        return msgspec.structs.replace(
            case,
            current=tuple(current),
            best=(near[0].point_id, near[0].similarity) if near else None,
            past=past,
            resolved=True,
            trusted=self._is_trusted(p.candidate, near, case.policy.skip_threshold),
        )

    def _is_trusted(self, candidate: Candidate, near: Sequence[Near], skip_threshold: float) -> bool:
        """Return whether the vector stands for the whole text; only asked where it might lead to a skip."""
        if candidate.embedding is not None or not near or near[0].similarity < skip_threshold:
            return True
        coverage = self._ports.embedder.coverage(candidate.text)
        if coverage.truncated:
            self._observer.distrusted("truncated")
        elif coverage.unknown_share > self._settings.max_unknown_share:
            self._observer.distrusted("unknown_tokens")
        else:
            return True
        return False

    async def _merged(self, p: Prepared, limit: int, *, past: bool, pending: bool) -> list[Near]:
        hits = p.past if past else p.hits
        query = self._query(p, past=past)
        if past and (missing := self._overlay.without_vector(Status.PAST)):
            self._overlay.learn(await self._ports.facts.vectors(missing))
        near, complete = self._overlay.neighbours(hits or (), query, limit)
        if not complete:
            if pending:
                raise Flush
            hits = (await self._gathered.neighbours([query]))[0]
            if past:
                p.past = hits
            else:
                p.hits = hits
            near, _ = self._overlay.neighbours(hits, query, limit)
        return near

    async def _by_slot(
        self, p: Prepared, stored: Sequence[Fact], statuses: frozenset[Status], known: set[str]
    ) -> list[Scored]:
        slot = p.candidate.slot
        if slot is None:
            return []
        facts = [f for f in self._overlay.of_slot(slot, stored, statuses) if f.point_id not in known]
        if not facts:
            return []
        vectors = await self._vectors_of([fact.point_id for fact in facts])
        assert p.vector is not None
        found = [Scored(fact, cosine(p.vector, vectors[fact.point_id]), "slot") for fact in facts]
        return sorted(found, key=lambda s: (-s.similarity, s.fact.point_id))

    async def _look_back(self, p: Prepared) -> None:
        p.past = (await self._gathered.neighbours([self._query(p, past=True)]))[0]
        if p.candidate.slot is not None:
            p.past_slot = (await self._ports.facts.by_slot([(p.candidate.namespace, p.candidate.slot)], past=True))[0]

    async def _vectors_of(self, point_ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of points as they stand: from the overlay, or from the store."""
        known = {point_id: v for point_id in point_ids if (v := self._overlay.vector(point_id)) is not None}
        missing = [point_id for point_id in point_ids if point_id not in known]
        return known | (await self._ports.facts.vectors(missing) if missing else {})

    async def _with_given_vectors(self, entry: Entry) -> Entry:
        """Return the entry with the vectors of new history rows whose fact's embedding once came along."""
        rows = [
            f for f in entry.effects if f.embedded and f.point_id in entry.inserts and f.point_id not in entry.vectors
        ]
        if not rows:
            return entry
        found = await self._vectors_of([row.fact_id for row in rows])
        given = {row.point_id: tuple(map(float, found[row.fact_id])) for row in rows if row.fact_id in found}
        return msgspec.structs.replace(entry, vectors={**entry.vectors, **given})


async def new_vectors(
    gathered: Gathered, entries: Sequence[Entry], known: Mapping[str, Vector] | None = None
) -> dict[str, Vector]:
    """Return the vectors of new and reworded points by id: given ones as they came, the others embedded (`known`: by text)."""
    vectors = {point_id: unit(vector) for entry in entries for point_id, vector in entry.vectors.items()}
    texts = {
        fact.point_id: fact.text
        for entry in entries
        for fact in entry.effects
        if fact.point_id not in vectors and (fact.point_id in entry.inserts or fact.point_id in entry.reworded)
    }
    by_text = dict(known or {})
    missing = [text for text in dict.fromkeys(texts.values()) if text not in by_text]
    if missing:
        by_text |= dict(zip(missing, await gathered.embed(missing), strict=True))
    return vectors | {point_id: by_text[text] for point_id, text in texts.items()}


def unit(values: Sequence[float]) -> Vector:
    """Return a given embedding as a float32 vector of norm 1."""
    vector = np.asarray(values, dtype=np.float64)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def window_hit(entry: Entry, settings: WaveSettings) -> WindowHit | None:
    """Return what the hash window is to hold of a decision, or None where its source does not pass the window."""
    decision = entry.decision
    if decision.source is None or decision.source not in settings.window_sources or names_relative_time(decision.text):
        return None
    fact_id = decision.fact_id if decision.decision is not Kind.SKIP else decision.matched_id
    if fact_id is None or decision.revision is None:
        return None
    return WindowHit(fact_id, decision.revision)


def _still(fact: Fact, hit: WindowHit, namespace: str) -> bool:
    return fact.status is Status.CURRENT and fact.revision == hit.revision and fact.namespace == namespace
