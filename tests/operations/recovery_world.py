"""A world on memory stores whose stores are lost, and the topic that is left of it."""

import asyncio
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec

from factsieve.adapters.memory import MemoryFacts, MemoryLedger
from factsieve.core.decision import Entry, Erasure
from factsieve.core.facts import Record
from factsieve.core.recovery import NOTHING_ERASED, erasures_by_namespace
from factsieve.core.undo import scrub
from factsieve.ports import Message
from factsieve.wire.ledger import decode_record
from tests.engine.harness import World

PARTITIONS = 3


class ToldTopic:
    """What `Scan` gives, over messages in memory: partitions by key, batches of a few records."""

    def __init__(self, messages: Sequence[Message], *, batch: int = 7, removed: int = 0) -> None:
        self.partitions: list[list[Record]] = [[] for _ in range(PARTITIONS)]
        for message in messages:
            number = sum(message.key or b"") % PARTITIONS
            offset = len(self.partitions[number])
            value = None if message.value is None else bytes(message.value)
            self.partitions[number].append(
                Record(message.topic, number, offset, 0, message.key, value, tuple(message.headers))
            )
        self.begins = {number: min(removed, len(one)) for number, one in enumerate(self.partitions)}
        self.ends = {number: len(one) for number, one in enumerate(self.partitions)}
        self._batch = batch

    async def read(self, starts: dict[int, int], ends: dict[int, int]) -> Any:
        for number, start in starts.items():
            for at in range(start, ends[number], self._batch):
                upto = min(at + self._batch, ends[number])
                yield self.partitions[number][at:upto], {number: upto}


def stores_of(world: World) -> Any:
    return SimpleNamespace(facts=world.facts, ledger=world.ledger, embedder=world.embedder)


def empty_stores(world: World) -> Any:
    return SimpleNamespace(facts=MemoryFacts(), ledger=MemoryLedger(), embedder=type(world.embedder)())


def topic_of(world: World, **more: Any) -> ToldTopic:
    return ToldTopic(world.outbox.of("fact-decisions"), **more)


def points(stores: Any) -> dict[str, dict[str, Any]]:
    """Return every field of every point, and its vector to five places."""

    async def read() -> dict[str, dict[str, Any]]:
        found = {}
        async for page in stores.facts.pages(None):
            for fact, vector in page:
                found[fact.point_id] = {
                    **msgspec.structs.asdict(fact),
                    "vector": [round(float(one), 5) + 0.0 for one in vector],
                }
        return found

    return asyncio.run(read())


def entries(stores: Any) -> dict[str, Entry]:
    """Return the ledger's entries by event key, each found through its pointer."""

    async def read() -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        async for body in stores.ledger.scan(None):
            record = decode_record(body)
            for index, entry in enumerate(record.entries):
                key = entry.decision.event_key
                pointer = (await stores.ledger.lookup([key]))[key]
                if (pointer.record_id, pointer.index) == (record.record_id, index):
                    found[key] = entry
        return found

    return asyncio.run(read())


def scrubbed_alike(world: World, found: dict[str, Entry]) -> dict[str, Entry]:
    """Return entries without all that was ever erased: the ledger scrubs whole records, of which a rebuild does not know the cut."""
    told = [(d["namespace"], msgspec.convert(d["erases"], Erasure)) for d in world.decisions() if d.get("erases")]
    erasures = erasures_by_namespace(told)
    return {key: scrub(e, erasures.get(e.decision.namespace, NOTHING_ERASED)) for key, e in found.items()}


def ledger_differences(world: World, one: Any, other: Any) -> list[str]:
    """Return what differs between two ledgers, apart from what was erased."""
    return differences(scrubbed_alike(world, entries(one)), scrubbed_alike(world, entries(other)))


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return what differs between two mappings, a line each."""
    lines = [f"{key} is missing" for key in one.keys() - other.keys()]
    lines += [f"{key} is there" for key in other.keys() - one.keys()]
    for key in one.keys() & other.keys():
        if one[key] != other[key]:
            ours, theirs = msgspec.to_builtins(one[key]), msgspec.to_builtins(other[key])
            fields = [name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)]
            lines.append(f"{key}: " + "; ".join(f"{n}: {ours.get(n)!r} became {theirs.get(n)!r}" for n in fields))
    return lines


def redelivered(world: World, stores: Any, records: Iterable[Record]) -> World:
    """Feed all records again to an engine over other stores, with a judge that would answer differently and must not be asked."""
    again = World(world.judge.script, policy=world.policy)
    again.facts, again.ledger, again.clock = stores.facts, stores.ledger, world.clock
    again.run(list(records))
    return again
