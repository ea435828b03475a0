"""Memory does not grow with what waits, with how many namespaces there are, nor with one that floods: measured as ratios."""

import asyncio
import gc
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from factsieve.core.facts import Fact, Kind, Record
from factsieve.core.judging import Question, Verdict
from factsieve.engine.engine import Engine
from factsieve.engine.ports import HoldsAll, Ports
from factsieve.ports import Coverage, LedgerPointer, Message, Near, NeighbourQuery, Vector
from factsieve.telemetry.metrics import Metrics
from factsieve.wire.topics import Limits
from factsieve.worker.feeds import FeedLimits, Feeds
from tests.engine.harness import World

AT = b"2026-03-01T12:00:00Z"
PARTITIONS = 4


class Forgetful:
    """Stores that keep nothing, an embedder and a judge that answer at once: whatever grows is the engine's own."""

    model, dimension, fingerprint = "none", 4, "none-1"
    name, is_remote, confirms_skips = "none", False, False

    def __init__(self) -> None:
        self.vector = np.array([1, 0, 0, 0], dtype=np.float32)
        self.sent = 0
        self.gate = asyncio.Event()
        self.gate.set()

    # facts
    async def neighbours(self, queries: Sequence[NeighbourQuery]) -> list[list[Near]]:
        return [[] for _ in queries]

    async def by_slot(self, slots: Sequence[Any], *, past: bool = False) -> list[list[Fact]]:
        return [[] for _ in slots]

    async def by_text(self, keys: Sequence[Any]) -> list[list[Fact]]:
        return [[] for _ in keys]

    async def get(self, _ids: Any) -> dict[str, Any]:
        return {}

    async def vectors(self, _ids: Any) -> dict[str, Any]:
        return {}

    async def write(self, _writes: Any) -> None: ...

    # ledger
    async def lookup(self, _keys: Any) -> dict[str, LedgerPointer]:
        return {}

    async def records(self, _ids: Any) -> dict[str, bytes]:
        return {}

    async def insert(self, records: Any) -> dict[str, bytes]:
        return {record_id: body for record_id, (body, _fields) in records.items()}

    async def point(self, _pointers: Any) -> None: ...

    # window
    async def find(self, _namespace: str, texts: Sequence[Any]) -> list[None]:
        return [None] * len(texts)

    async def put(self, _namespace: str, _texts: Any) -> None: ...

    # embedder, judge, outbox, clock
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        await self.gate.wait()
        return [self.vector] * len(texts)

    def coverage(self, _text: str) -> Coverage:
        return Coverage(truncated=False, unknown_share=0.0)

    async def answer(self, _question: Question) -> Verdict:
        return Verdict(choice=Kind.ADD, judge="none")

    async def send(self, messages: Sequence[Message]) -> None:
        self.sent += len(messages)

    def now(self) -> datetime:
        return datetime(2026, 3, 1, 12, tzinfo=UTC)

    async def sleep(self, _duration_s: float) -> None:
        await asyncio.sleep(0)


def records(count: int, namespace: Callable[[int], str]) -> Iterator[Record]:
    """Yield records, each made when it is asked for, as a broker hands them out."""
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    for number in range(count):
        name = namespace(number)
        partition = zlib.crc32(name.encode()) % PARTITIONS
        # texts repeat, for the guard's memory of texts is bounded by its own number; in the stores nothing is known of any
        text = b"statement number %d" % (number % 97)
        body = b'{"text":"%s","source":"post_tool_use","occurred_at":"%s"}' % (text, AT)
        yield Record("t", partition, offsets[partition], 0, name.encode(), body)
        offsets[partition] += 1


class Rig:
    """An engine with real metrics behind real feeds, and a client that pulls as the consumer does: only what there is room for."""

    def __init__(self) -> None:
        self.stores = Forgetful()
        stores = self.stores
        settings = msgspec.structs.replace(
            World().settings, limits=Limits(), max_in_flight=256, max_lane_events=64, batch_items=64
        )
        ports = Ports(stores, stores, stores, stores, stores, stores, stores, stores, HoldsAll())
        self.bugs: list[BaseException] = []
        self.metrics = Metrics(CollectorRegistry())
        self.engine = Engine(ports, settings, self.metrics, on_failure=self.bugs.append)
        self.feeds = Feeds(self.engine, FeedLimits(max_records=100, max_span=1_000), self.bugs.append)
        self.most_waiting = self.most_blocks = 0

    async def _measure(self) -> None:
        """Look at what is held when nothing goes on and nothing more is taken in."""
        for _ in range(100):
            await asyncio.sleep(0)
        gc.collect()
        self.most_waiting = max(self.most_waiting, self.feeds.incomplete)
        self.most_blocks = max(self.most_blocks, sys.getallocatedblocks())

    async def stream(self, source: Iterator[Record], every: int) -> None:
        """Pull everything, and commit now and then, until all is done; jammed once in `every` records, to see what is held then."""
        names = [("t", number) for number in range(PARTITIONS)]
        self.feeds.open(names)
        for number, record in enumerate(source):
            name = record.topic, record.partition
            if number % every == every // 2:
                self.stores.gate.clear()  # from here on it jams
            if not self.feeds.has_room(name) and not self.stores.gate.is_set():
                await self._measure()
                self.stores.gate.set()
            while not self.feeds.has_room(name):
                await self.feeds.wait_for_room(0.05)
            self.feeds.expect(name, record.offset, len(record.value or b""), 0)
            self.feeds.offer(record)
            if number % 256 == 0:
                self.feeds.committed(self.feeds.committable())
                await asyncio.sleep(0)
        self.stores.gate.set()
        async with asyncio.timeout(3_000):
            while self.feeds.incomplete and not self.bugs:  # noqa: ASYNC110 - the end of thousands of tasks
                await asyncio.sleep(0)
        assert not self.bugs
        await self.feeds.settle(names, 1.0)
        await self.engine.stop()


def measure(count: int, namespace: Callable[[int], str]) -> tuple[int, int]:
    """Return how many blocks the interpreter holds more, at most while so many records go through, and in the end."""

    async def main() -> tuple[int, int]:
        rig = Rig()
        gc.collect()
        before = rig.most_blocks = sys.getallocatedblocks()
        await rig.stream(records(count, namespace), every=max(900, count // 10))
        assert rig.feeds.done_total == count
        assert 100 <= rig.most_waiting <= PARTITIONS * 1_000, "feeds fill, and no more than that"
        assert (rig.engine.in_flight, rig.engine.lanes) == (0, 0)
        gc.collect()
        return rig.most_blocks - before, sys.getallocatedblocks() - before

    return asyncio.run(main())


SHAPES: dict[str, Callable[[int], str]] = {
    "a few namespaces": lambda n: f"n{n % 16}",
    "a namespace each": lambda n: f"n{n}",
    "one with nine tenths": lambda n: "hot" if n % 10 else f"n{n}",
}


def compare(shape: str, few: int, many: int) -> None:
    """Many records have the peak of few, within a fifth; what is left does not depend on how many they were."""
    namespace = SHAPES[shape]
    measure(few, namespace)  # caches, and everything that is made once
    (peak_few, left_few), (peak_many, left_many) = measure(few, namespace), measure(many, namespace)
    assert peak_few > 3_000, "what waits is seen"
    assert peak_many < 1.2 * peak_few
    assert left_many - left_few < 0.2 * (many - few), "a record leaves nothing behind"


@pytest.mark.parametrize("shape", SHAPES)
def test_memory_does_not_grow_with_what_went_through(shape: str) -> None:
    """Four times as many records, and namespaces, have the same peak within a fifth, and nothing is left."""
    compare(shape, 900, 3_600)


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_memory_does_not_grow_up_to_a_million() -> None:
    """A million records waiting, a hundred thousand namespaces, one of them with nine tenths of all: the same peak within a fifth."""
    compare("one with nine tenths", 20_000, 1_000_000)


def test_a_held_head_does_not_gather_what_is_behind_it() -> None:
    """One event of a partition hangs, thousands behind it are done: what is kept of them is bounded, and other partitions go on."""

    async def main() -> None:
        rig = Rig()
        submit = rig.engine.submit

        async def hold(record: Record, done: Callable[[], None]) -> None:
            if (record.partition, record.offset) == (0, 0):
                held.append(done)
                return
            await submit(record, done)

        held: list[Callable[[], None]] = []
        rig.engine.submit = hold
        rig.feeds.open([("t", 0), ("t", 1)])
        fed = {0: 0, 1: 0}

        async def feed(partition: int, most: int) -> None:
            for offset in range(most):
                name = "t", partition
                while not rig.feeds.has_room(name):
                    await rig.feeds.wait_for_room(0.01)
                body = b'{"text":"statement %d","source":"remember","occurred_at":"%s"}' % (offset, AT)
                rig.feeds.expect(name, offset, len(body), 0)
                rig.feeds.offer(Record("t", partition, offset, 0, b"n%d" % (offset % 7), body))
                fed[partition] += 1
                await asyncio.sleep(0)

        stuck = asyncio.create_task(feed(0, 1_500))
        await feed(1, 1_200)
        async with asyncio.timeout(60):
            while fed[0] < 1_000 or rig.engine.in_flight:  # noqa: ASYNC110 - the end of many tasks
                await asyncio.sleep(0)
        assert fed == {0: 1_000, 1: 1_200}
        held[0]()
        await stuck
        assert fed[0] == 1_500
        await rig.feeds.settle([("t", 0), ("t", 1)], 5.0)
        await rig.engine.stop()

    asyncio.run(main())
