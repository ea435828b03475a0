"""An empty store filled from the last export and from what `fact-decisions` has told since: nothing is decided, no judge is asked.

Two passes over the topic. The first collects what was erased, so that no erased text is written at all; the second performs and records
what was told. Points are absolute states with versions and events have their keys, so that a rebuild may be interrupted and repeated.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from factsieve.core.decision import Entry, Erasure
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Record
from factsieve.core.recovery import NOTHING_ERASED, erasures_by_namespace, merged
from factsieve.engine.perform import scrub_ledger
from factsieve.operations.backup import Export, check_embedder, import_lines, name_of
from factsieve.operations.conversation import tell_passed_over
from factsieve.operations.refill import Filled, Refill, Stores
from factsieve.operations.scan import Positions, Scan, read_length
from factsieve.wire.recorded import NotADecision, decided_entry, outline

OnSteps = Callable[[int], None]


class Rebuilt(msgspec.Struct):
    """What a rebuild did: of the export, of the topic, and how many events and facts are erased.

    `passed_over`: records of the topic that are no JSON objects, so that nothing of ours is lost with them.
    """

    imported: Filled = msgspec.field(default_factory=Filled)
    told: Filled = msgspec.field(default_factory=Filled)
    messages: int = 0
    rejects: int = 0
    incomplete: int = 0
    erased_facts: int = 0
    other_embedder: int = 0
    passed_over: int = 0


def start_of(scan: Scan, export: Export | None, topic: str, *, accept_gap: bool) -> dict[int, int]:
    """Return from where on the topic is read: from where it stood when the export was made, else from its beginning.

    Raises BadSettings where the export is of another topic, or where messages that would be needed are not there any more, unless
    `accept_gap`.
    """
    if export is None:
        gone = {number: (0, begin) for number, begin in scan.begins.items() if begin > 0}
        starts = dict(scan.begins)
    else:
        header = export.header
        if header.topic != topic:
            raise BadSettings(f"the export goes with the topic {header.topic}, the settings name {topic}")
        wanted = {int(number): offset for number, offset in header.positions.items()}
        ahead = {number: offset for number, offset in wanted.items() if offset > scan.ends.get(number, 0)}
        if ahead:
            raise BadSettings(
                f"{topic} ends before the export was made (partitions {', '.join(map(str, sorted(ahead)))}): it is another topic of "
                "the same name, or was made anew. `factsieve import` takes the export by itself"
            )
        gone = {n: (wanted.get(n, 0), begin) for n, begin in scan.begins.items() if begin > wanted.get(n, 0)}
        starts = {number: max(begin, wanted.get(number, 0)) for number, begin in scan.begins.items()}
    if gone and not accept_gap:
        missing = ", ".join(f"{number}: {start} to {begin}" for number, (start, begin) in sorted(gone.items()))
        raise BadSettings(
            f"{topic} has lost messages that are needed (partition and offsets: {missing}), since its retention is over: take a later "
            "export, or go on without them with --accept-gap"
        )
    return starts


async def check_target(stores: Stores, *, go_on: bool) -> None:
    """Raise BadSettings where there is something in the stores, unless an interrupted rebuild is to `go_on`. Raises Transient."""
    facts, records = await stores.facts.count(None), await stores.ledger.count(None)
    if (facts or records) and not go_on:
        raise BadSettings(
            f"the store is not empty: it holds {facts} facts and {records} ledger records. A rebuild fills an empty one: remove its "
            "collections, choose another qdrant.collection_prefix, or go on with an interrupted rebuild with --continue"
        )


class Erased(msgspec.Struct, frozen=True):
    """What one message of an erase takes, and where it lies."""

    namespace: str
    partition: int
    offset: int
    erasure: Erasure


async def find_erasures(
    scan: Scan, starts: Positions, done: Rebuilt, on_steps: OnSteps = lambda _count: None
) -> list[Erased]:
    """Return what was erased since; `done` is told how many messages there are. Raises Transient."""
    found: list[Erased] = []
    async for records, _ in scan.read(starts, scan.ends):
        done.messages += len(records)
        for record in records:
            try:
                told = outline(record.value)
            except NotADecision as error:
                done.passed_over += 1
                if done.passed_over == 1:
                    tell_passed_over(record.topic, record.partition, record.offset, error)
                continue
            if told.erases is not None and told.namespace is not None:
                found.append(Erased(told.namespace, record.partition, record.offset, told.erases))
        on_steps(len(records))
    return found


def _together(found: Sequence[Erased]) -> Mapping[str, Erasure]:
    return erasures_by_namespace((one.namespace, one.erasure) for one in found)


def _after(found: Sequence[Erased], namespace: str, record: Record) -> Erasure:
    """Return what was erased by this message or a later one: an erase never reaches into what is decided after it."""
    later = NOTHING_ERASED
    for one in found:
        if one.namespace == namespace and (one.partition != record.partition or one.offset >= record.offset):
            later = merged(later, one.erasure)
    return later


async def outlook(
    scan: Scan, starts: Positions, export: Export | None, on_steps: OnSteps = lambda _count: None
) -> Rebuilt:
    """Return what a rebuild would read, without any store. Raises Transient."""
    would = Rebuilt()
    found = await find_erasures(scan, starts, would, on_steps)
    would.erased_facts = sum(len(erasure.facts) for erasure in _together(found).values())
    if export is not None:
        would.imported = Filled(facts=export.end.facts, decisions=export.end.records)
    return would


async def rebuild(
    stores: Stores,
    scan: Scan,
    starts: Positions,
    *,
    export: Export | None = None,
    re_embed: bool = False,
    go_on: bool = False,
    on_steps: OnSteps = lambda _count: None,
) -> Rebuilt:
    """Fill the stores, and return what was done.

    `on_steps` is told of lines of the export and messages of the topic, each twice over for the topic's two passes: `steps` counts them.
    Raises BadSettings where decisions were made with another embedder than the configured one and vectors are not made anew; Transient.
    """
    done = Rebuilt()
    if export is not None:
        check_embedder(export.header, stores.embedder, re_embed=re_embed)
    found = await find_erasures(scan, starts, done, on_steps)
    erasures = _together(found)
    by_namespace: dict[str, list[Erased]] = {}
    for one in found:
        by_namespace.setdefault(one.namespace, []).append(one)
    done.erased_facts = sum(len(erasure.facts) for erasure in erasures.values())
    if export is not None:
        _, done.imported = await import_lines(
            stores, export.lines(), re_embed=re_embed, erasures=erasures, on_steps=on_steps
        )
    refill = Refill(stores, erasures, re_embed=re_embed)
    ours = name_of(stores.embedder).fingerprint
    async for records, _ in scan.read(starts, scan.ends):
        told = _entries(records, done, ours, re_embed=re_embed)
        later: dict[str, Erasure] = {}
        for entry, record in told:
            namespace = entry.decision.namespace
            if namespace in by_namespace:
                later.setdefault(entry.decision.event_key, _after(by_namespace[namespace], namespace, record))
        await refill.put_entries([entry for entry, _ in told], later)
        on_steps(len(records))
    if go_on:  # what an interrupted run had written before a later erase
        for namespace, erasure in erasures.items():
            await scrub_ledger(stores.ledger, namespace, erasure)
    done.told = refill.filled
    return done


def _entries(records: Sequence[Record], done: Rebuilt, ours: str, *, re_embed: bool) -> list[tuple[Entry, Record]]:
    entries = []
    for record in records:
        try:
            entry = decided_entry(record.value)
        except NotADecision:  # counted in the first pass
            continue
        if entry is None:
            done.rejects += 1
            continue
        if entry.decision.embedder != ours and entry.effects:
            done.other_embedder += 1
            if not re_embed:
                raise BadSettings(
                    f"decision {entry.decision.decision_id} was made with the embedder {entry.decision.embedder}, configured is {ours}: "
                    "configure that one, or make all vectors anew with --re-embed"
                )
        done.incomplete += bool(not entry.body_hash and entry.decision.text)
        entries.append((entry, record))
    return entries


def steps(scan: Scan, starts: Positions, export: Export | None) -> int:
    """Return how many steps a rebuild is told to have."""
    lines = 0 if export is None else export.end.facts + export.end.records
    return 2 * read_length(starts, scan.ends) + lines
