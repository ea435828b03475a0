"""Points and ledger records into stores, as they are: shared by imports and rebuilds. All of it is harmless to repeat."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from factsieve.core.decision import Entry, Erasure, LedgerRecord
from factsieve.core.errors import Transient
from factsieve.core.facts import Fact, Status
from factsieve.core.recovery import NOTHING_ERASED, is_gone, last_states, not_embedded, without_given_vectors
from factsieve.core.undo import scrub
from factsieve.engine.perform import blank_vector, ledger_fields, record_id_of, scrubbed_record
from factsieve.engine.wave import unit
from factsieve.ports import Embedder, FactPages, FactWrite, LedgerPages, LedgerPointer, Vector
from factsieve.wire.ledger import decode_record, encode_record

RECORD_ENTRIES: int = 64
_INSERT_ROUNDS: int = 8


class Stores(Protocol):
    """What is filled. `assembly.wiring.Stores` is one."""

    @property
    def facts(self) -> FactPages:
        """Return the facts."""
        ...

    @property
    def ledger(self) -> LedgerPages:
        """Return the ledger."""
        ...

    @property
    def embedder(self) -> Embedder:
        """Return the embedder of the facts' vectors."""
        ...


class Filled(msgspec.Struct):
    """What was written, and what was there already (at this version or a later one)."""

    facts: int = 0
    facts_there: int = 0
    decisions: int = 0
    decisions_there: int = 0
    embedded: int = 0


class Refill:
    """Writes points and records into stores. `erasures`: by namespace, what must not be written any more.

    `re_embed`: vectors of another model came along, and none of them is used.
    """

    def __init__(
        self, stores: Stores, erasures: Mapping[str, Erasure] | None = None, *, re_embed: bool = False
    ) -> None:
        self._facts = stores.facts
        self._ledger = stores.ledger
        self._embedder = stores.embedder
        self._erasures = erasures or {}
        self._re_embed = re_embed
        self.filled = Filled()

    def erasure_of(self, namespace: str) -> Erasure:
        """Return what is erased in a namespace."""
        return self._erasures.get(namespace, NOTHING_ERASED)

    # Points

    async def put(self, points: Sequence[Fact], given: Mapping[str, Vector]) -> None:
        """Write those points that are not there at this version or a later one. `given`: vectors by point id. Raises Transient."""
        wanted = {fact.point_id: fact for fact in points if not is_gone(self.erasure_of(fact.namespace), fact)}
        stored = await self._facts.get(list(wanted))
        todo = [fact for one, fact in wanted.items() if (old := stored.get(one)) is None or old.version < fact.version]
        self.filled.facts += len(todo)
        self.filled.facts_there += len(wanted) - len(todo)
        if todo:
            vectors = await self._vectors(todo, stored, {} if self._re_embed else given)
            writes = [
                FactWrite(
                    not_embedded(fact) if self._re_embed else fact, vectors[fact.point_id], fact.point_id not in stored
                )
                for fact in todo
            ]
            await self._facts.write(writes)

    async def _vectors(
        self, todo: Sequence[Fact], stored: Mapping[str, Fact], given: Mapping[str, Vector]
    ) -> dict[str, Vector]:
        """Return a vector for each point: none for erased ones, the given one, the stored one of the same text, or a new one."""
        vectors: dict[str, Vector] = {}
        same: list[str] = []
        texts: dict[str, str] = {}
        for fact in todo:
            old = stored.get(fact.point_id)
            if fact.status is Status.ERASED:
                vectors[fact.point_id] = blank_vector(self._embedder.dimension)
            elif fact.point_id in given:
                vectors[fact.point_id] = given[fact.point_id]
            elif old is not None and old.text == fact.text and old.embedded == fact.embedded and not self._re_embed:
                same.append(fact.point_id)
            else:
                texts[fact.point_id] = fact.text
        if same:
            vectors |= await self._facts.vectors(same)
        if texts:
            unique = list(dict.fromkeys(texts.values()))
            made = dict(zip(unique, await self._embedder.embed(unique), strict=True))
            self.filled.embedded += len(unique)
            vectors |= {point_id: np.asarray(made[text]) for point_id, text in texts.items()}
        return vectors

    # Ledger records as they were

    async def put_records(self, records: Sequence[tuple[str, bytes, Mapping[str, object]]]) -> None:
        """Insert records that are not there, and the pointers of what is then stored. Raises Transient."""
        bodies: dict[str, tuple[bytes, Mapping[str, object]]] = {}
        for record_id, body, fields in records:
            record = decode_record(body)
            clean = scrubbed_record(record, self.erasure_of(record.namespace))
            kept_for_good = {"skips_only": False} if clean is not record else {}
            if self._re_embed:
                clean = msgspec.structs.replace(clean, entries=tuple(map(without_given_vectors, clean.entries)))
            bodies[record_id] = (body if clean is record else encode_record(clean), {**fields, **kept_for_good})
        there = await self._ledger.records(list(bodies))
        stored = await self._ledger.insert(bodies)
        for record_id, body in stored.items():
            record = decode_record(body)
            if record_id in there:
                self.filled.decisions_there += len(record.entries)
            else:
                self.filled.decisions += len(record.entries)
            await self._point(record_id, record)

    async def _point(self, record_id: str, record: LedgerRecord) -> None:
        await self._ledger.point(
            {entry.decision.event_key: LedgerPointer(record_id, index) for index, entry in enumerate(record.entries)}
        )

    # Entries as they were told

    async def put_entries(self, entries: Sequence[Entry], later: Mapping[str, Erasure]) -> None:
        """Perform what entries did, then record them, each event once.

        `later`: by event key, what was erased after the entry was told; it is scrubbed from what is recorded. Raises Transient.
        """
        if self._re_embed:
            entries = [without_given_vectors(entry) for entry in entries]
        by_namespace: dict[str, list[Entry]] = {}
        for entry in entries:
            by_namespace.setdefault(entry.decision.namespace, []).append(entry)
        points: dict[str, Fact] = {}
        for namespace, own in by_namespace.items():
            points |= last_states(own, self.erasure_of(namespace))
        await self.put(list(points.values()), _given(entries, points))
        for namespace, own in by_namespace.items():
            await self._record(namespace, own, later)

    async def _record(self, namespace: str, entries: Sequence[Entry], later: Mapping[str, Erasure]) -> None:
        """Record those events that the ledger does not know, as waves of their own."""
        unique = {entry.decision.event_key: entry for entry in reversed(entries)}  # the first one told counts
        waiting = [unique[key] for key in dict.fromkeys(entry.decision.event_key for entry in entries)]
        known = await self._ledger.lookup([entry.decision.event_key for entry in waiting])
        self.filled.decisions_there += len(known)
        waiting = [entry for entry in waiting if entry.decision.event_key not in known]
        self.filled.decisions += len(waiting)
        for _ in range(_INSERT_ROUNDS + len(waiting) // RECORD_ENTRIES):
            if not waiting:
                return
            batch = waiting[:RECORD_ENTRIES]
            stored = await self._insert(namespace, batch, later)
            recorded = {entry.decision.event_key for entry in stored.entries}
            waiting = [entry for entry in waiting if entry.decision.event_key not in recorded]
        raise Transient(
            "qdrant", f"ledger records of {namespace} are written by somebody else meanwhile: stop the workers"
        )

    async def _insert(self, namespace: str, entries: Sequence[Entry], later: Mapping[str, Erasure]) -> LedgerRecord:
        """Insert one record and its pointers, and return what is stored: an interrupted run may have stored a shorter or longer one."""
        clean = tuple(scrub(entry, later.get(entry.decision.event_key, NOTHING_ERASED)) for entry in entries)
        record_id = record_id_of(namespace, entries[0].decision.event_key)
        whole = LedgerRecord(
            record_id=record_id,
            namespace=namespace,
            attempt=uuid.uuid4().hex,
            recorded_at=max(entry.decision.decided_at for entry in entries),
            entries=tuple(entries),
        )
        fields = ledger_fields(whole)
        if any(new is not old for new, old in zip(clean, entries, strict=True)):
            fields["skips_only"] = False
        body = encode_record(msgspec.structs.replace(whole, entries=clean))
        record = decode_record((await self._ledger.insert({record_id: (body, fields)}))[record_id])
        await self._point(record_id, record)
        return record


def _given(entries: Iterable[Entry], points: Mapping[str, Fact]) -> dict[str, Vector]:
    """Return the vectors that came along with the wordings that points have in the end."""
    given: dict[str, Vector] = {}
    texts: dict[str, str] = {}
    for entry in entries:
        states = {fact.point_id: fact for fact in entry.effects}
        for point_id, vector in entry.vectors.items():
            if point_id in states:
                given[point_id], texts[point_id] = unit(vector), states[point_id].text
    return {one: vector for one, vector in given.items() if one in points and points[one].text == texts[one]}
