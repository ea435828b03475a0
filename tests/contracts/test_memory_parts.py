"""The clock and the outbox in memory, and how the memory stores hold many facts."""

import asyncio
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from contract_values import T0, hits, insert, make_fact, new_id

from factsieve.adapters.memory import ManualClock, MemoryFacts, MemoryOutbox, MemoryWindow, SystemClock
from factsieve.core.ids import text_hash
from factsieve.ports import Message, NeighbourQuery, WindowHit


class TestManualClock:
    def test_it_stands_still(self):
        """Without being told, it shows the time it was given, in UTC."""
        assert ManualClock(T0).now() == T0
        assert ManualClock(T0).now().tzinfo is UTC

    def test_sleepers_wake_when_their_time_has_come(self):
        """Each sleeper wakes in the advance that reaches its time, not before, in order of times."""
        woken = []

        async def sleeper(clock, duration_s):
            await clock.sleep(duration_s)
            woken.append((duration_s, clock.now()))

        async def scenario():
            clock = ManualClock(T0)
            tasks = [asyncio.ensure_future(sleeper(clock, duration_s)) for duration_s in (3.0, 1.0, 2.0, 0.0, -1.0)]
            await settle()
            assert sorted(duration_s for duration_s, _ in woken) == [-1.0, 0.0]
            assert clock.sleepers == 3
            clock.advance(0.999)
            await settle()
            assert len(woken) == 2
            clock.advance(1.001)
            await settle()
            assert woken[2:] == [(1.0, T0 + timedelta(seconds=2)), (2.0, T0 + timedelta(seconds=2))]
            clock.set(T0 + timedelta(seconds=3))
            await asyncio.gather(*tasks)
            assert clock.sleepers == 0

        asyncio.run(scenario())

    def test_a_sleeper_may_be_cancelled(self):
        """A cancelled sleeper is forgotten, and the others still wake."""

        async def scenario():
            clock = ManualClock(T0)
            tasks = [asyncio.ensure_future(clock.sleep(1.0)) for _ in range(2)]
            await settle()
            tasks[0].cancel()
            await settle()
            assert clock.sleepers == 1
            clock.advance(1.0)
            await tasks[1]

        asyncio.run(scenario())

    def test_a_clock_that_moves_by_itself(self):
        """With `auto_advance` a sleep takes no real time and the clock shows its end; going back is possible by `set`."""

        async def scenario():
            clock = ManualClock(T0, auto_advance=True)
            await clock.sleep(3600.0)
            assert clock.now() == T0 + timedelta(hours=1)
            clock.set(T0)
            assert clock.now() == T0

        asyncio.run(scenario())


def test_the_system_clock_shows_utc():
    """The system clock shows the system time, aware and in UTC, and waits at least as long as it was told."""

    async def scenario():
        clock = SystemClock()
        before = clock.now()
        await clock.sleep(0.001)
        return before, clock.now()

    before, after = asyncio.run(scenario())
    assert before.tzinfo is UTC
    assert before < after
    assert abs(after - datetime.now(UTC)) < timedelta(minutes=1)


def test_the_outbox_collects():
    """Messages are kept in order, by topic, and as a compacted topic would hold them."""

    async def scenario():
        outbox = MemoryOutbox()
        sent = [
            Message("facts", b"a", b"1", ()),
            Message("new-facts", b"n", b"x", ()),
            Message("facts", b"b", b"2", ()),
            Message("facts", b"a", b"3", (("h", b"v"), ("h", b"w"))),
            Message("facts", b"b", None, ()),
        ]
        await outbox.send(sent[:2])
        await outbox.send(sent[2:])
        assert outbox.messages == sent
        assert outbox.of("facts") == [sent[0], *sent[2:]]
        assert outbox.of("absent") == []
        assert outbox.latest("facts") == {b"a": b"3", b"b": None}
        outbox.clear()
        assert outbox.messages == []

    asyncio.run(scenario())


def test_the_window_in_memory_is_bounded():
    """Beyond its bound the window forgets the longest untouched texts, and keeps the others."""

    async def scenario():
        window = MemoryWindow(max_buckets=10)
        hit = WindowHit(new_id(), 1)
        texts = [text_hash(f"{number}", None) for number in range(25)]
        for text in texts:
            await window.put("n", [(text, T0, hit)])
        return await window.find("n", [(text, T0) for text in texts])

    found = asyncio.run(scenario())
    assert [hit is not None for hit in found] == [False] * 15 + [True] * 10


@pytest.mark.parametrize("count", [63, 64, 65, 3000])
def test_many_facts_of_many_numbers(count):
    """Growing keeps every vector: each fact is its own nearest one, and the best eight are those of a plain computation."""
    random = np.random.default_rng(7)
    vectors = random.standard_normal((count, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored = [make_fact("n", f"{number}") for number in range(count)]
    asked = range(0, count, max(1, count // 50))

    async def scenario():
        store = MemoryFacts()
        for start in range(0, count, 100):
            part = slice(start, start + 100)
            await store.write([insert(fact, vector) for fact, vector in zip(stored[part], vectors[part], strict=True)])
        assert len(store) == count
        return await store.neighbours([NeighbourQuery("n", vectors[number], 8, 2.0) for number in asked])

    exact = np.einsum("id,jd->ij", vectors[list(asked)].astype(np.float64), vectors.astype(np.float64))
    names = [fact.point_id for fact in stored]
    for number, row, near in zip(asked, exact, asyncio.run(scenario()), strict=True):
        best = sorted(((-round(cosine, 5), name) for cosine, name in zip(row.tolist(), names, strict=True)))[:8]
        assert near[0].point_id == names[number]
        assert hits(near) == [(name, -cosine if cosine else 0.0) for cosine, name in best]


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)
