"""Feeds without Kafka: order, bounds, what a given-up partition may still do."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factsieve.core.errors import Bug
from factsieve.core.facts import Record
from factsieve.worker.feeds import FeedLimits, Feeds

A, B = ("t", 0), ("t", 1)


def record(name, offset, value=b"v"):
    return Record(topic=name[0], partition=name[1], offset=offset, timestamp_ms=0, key=b"k", value=value)


class Pipeline:
    """Holds what it is given until it is told to finish it; `room` says how much it takes."""

    def __init__(self, room=10_000):
        self.taken, self.dones, self.discarded = [], {}, []
        self.slots = asyncio.Semaphore(room)
        self.drain_answer = True
        self.fails_with = None

    async def submit(self, record, done):
        await self.slots.acquire()
        if self.fails_with is not None:
            raise self.fails_with
        self.taken.append((record.partition, record.offset))
        self.dones[record.partition, record.offset] = done

    def finish(self, name, offset):
        self.slots.release()
        self.dones[name[1], offset]()

    def discard(self, partitions):
        self.discarded += partitions

    async def drain(self, partitions, timeout_s):
        if self.drain_answer is None:
            await asyncio.Event().wait()
        return self.drain_answer

    async def start(self): ...
    async def stop(self): ...

    @property
    def in_flight(self):
        return len(self.dones)


class Rig:
    def __init__(self, room=10_000, limits=None):
        self.pipeline = Pipeline(room)
        self.bugs = []
        self.feeds = Feeds(self.pipeline, limits or FeedLimits(), self.bugs.append)

    async def __aenter__(self):
        self.feeds.open([A, B])
        return self

    async def __aexit__(self, *_error):
        await self.feeds.settle([A, B], 0.1)
        self.feeds.close([A, B])

    def bring(self, name, *offsets, size=10):
        for offset in offsets:
            self.feeds.expect(name, offset, size, 1_000 * offset)
        for offset in offsets:
            self.feeds.offer(record(name, offset))

    async def settled(self):
        for _ in range(50):
            await asyncio.sleep(0)


def scenario(body, **rig):
    async def main():
        async with Rig(**rig) as made:
            await body(made)
        return made

    return asyncio.run(main())


def test_a_fetched_record_is_incomplete_before_it_reaches_the_engine():
    """Whatever becomes of it on its way, nothing behind it is committed."""

    async def body(rig):
        rig.feeds.expect(A, 5, 10, 0)
        assert rig.feeds.incomplete == 1
        assert rig.feeds.committable() == {}
        assert rig.feeds.states()[0].waiting == 1

    scenario(body)


def test_a_record_lost_on_the_way_is_noticed_by_the_next_one():
    """Going on would decide a namespace's statements in another order than they were made."""

    async def body(rig):
        for offset in (5, 6):
            rig.feeds.expect(A, offset, 10, 0)
        with pytest.raises(Bug, match=r"offset 6 of .* out of order"):
            rig.feeds.offer(record(A, 6))

    scenario(body)


def test_a_record_that_was_never_fetched_is_refused():
    async def body(rig):
        with pytest.raises(Bug, match="offset 9"):
            rig.feeds.offer(record(A, 9))

    scenario(body)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), counts=st.tuples(st.integers(0, 25), st.integers(0, 25)))
def test_records_enter_in_order_and_only_a_done_prefix_is_committable(data, counts):
    """For any interleaving of two partitions and any order of completion."""
    finishing = data.draw(st.permutations([(A, n) for n in range(counts[0])] + [(B, n) for n in range(counts[1])]))

    async def body(rig):
        rig.bring(A, *range(counts[0]))
        rig.bring(B, *range(counts[1]))
        await rig.settled()
        for partition, count in enumerate(counts):
            assert [offset for number, offset in rig.pipeline.taken if number == partition] == list(range(count))
        finished = set()
        for name, offset in finishing:
            rig.pipeline.finish(name, offset)
            finished.add((name, offset))
            committable = rig.feeds.committable()
            for known, count in zip((A, B), counts, strict=True):
                prefix = next((n for n in range(count) if (known, n) not in finished), count)
                assert committable.get(known) == (prefix or None)
        assert rig.feeds.done_total == sum(counts)
        assert rig.bugs == []

    scenario(body)


def test_what_was_committed_is_not_offered_again():
    async def body(rig):
        rig.bring(A, 3)
        await rig.settled()
        rig.pipeline.finish(A, 3)
        assert rig.feeds.committable() == {A: 4}
        rig.feeds.committed({A: 4})
        assert rig.feeds.committable() == {}

    scenario(body)


def test_a_full_feed_has_no_room_and_gets_it_back():
    """By number of records and by their bytes; what the engine took no longer counts."""

    async def body(rig):
        rig.bring(A, *range(4), size=10)
        assert not rig.feeds.has_room(A)
        assert rig.feeds.has_room(B)
        rig.bring(B, 0, size=5_000)
        assert not rig.feeds.has_room(B)
        await rig.settled()  # the engine takes two of all
        rig.pipeline.slots.release()
        rig.pipeline.slots.release()
        async with asyncio.timeout(10):
            await rig.feeds.wait_for_room(30)
        await rig.settled()
        assert rig.feeds.has_room(A)

    scenario(body, room=2, limits=FeedLimits(max_records=4, max_bytes=1_000))


def test_an_engine_that_is_full_in_one_partition_does_not_stop_another():
    """Each partition waits for itself."""

    class Partial(Pipeline):
        async def submit(self, record, done):
            if record.partition == 0:
                await asyncio.Event().wait()
            await super().submit(record, done)

    async def main():
        rig = Rig()
        rig.pipeline = Partial()
        rig.feeds = Feeds(rig.pipeline, FeedLimits(), rig.bugs.append)
        async with rig:
            rig.bring(A, 0, 1)
            rig.bring(B, 0, 1)
            await rig.settled()
            assert rig.pipeline.taken == [(1, 0), (1, 1)]

    asyncio.run(main())


def test_giving_up_drops_what_waits_and_counts_what_finishes_meanwhile():
    """Between `settle` and `close` a record that ends still moves the committable offset; afterwards it does not."""

    async def body(rig):
        rig.bring(A, 0, 1, 2)
        await rig.settled()
        rig.pipeline.finish(A, 0)
        assert rig.pipeline.taken == [(0, 0), (0, 1), (0, 2)]
        assert await rig.feeds.settle([A], 0.1)
        assert rig.pipeline.discarded == [A]
        rig.pipeline.finish(A, 1)
        assert rig.feeds.committable() == {A: 2}
        assert rig.feeds.close([A]) == 1
        rig.pipeline.finish(A, 2)
        assert (rig.feeds.late_total, rig.bugs) == (1, [])
        assert rig.feeds.committable() == {}

    scenario(body)


def test_nothing_more_enters_after_giving_up():
    """Neither what waited in the feed nor what is offered late, nor what was stuck at the engine's door."""

    async def body(rig):
        rig.bring(A, 0, 1, 2, 3)
        await rig.settled()
        assert rig.pipeline.taken == [(0, 0)]
        rig.feeds.expect(A, 4, 10, 0)
        await rig.feeds.settle([A], 0.1)
        rig.feeds.offer(record(A, 4))
        rig.feeds.close([A])
        rig.feeds.offer(record(A, 4))
        for _ in range(5):
            rig.pipeline.slots.release()
        await rig.settled()
        assert rig.pipeline.taken == [(0, 0)]

    scenario(body, room=1)


def test_a_partition_that_comes_back_knows_nothing_of_before():
    """What the first assignment's record does in the end is ignored, even though the offset is in flight again."""

    async def body(rig):
        rig.bring(A, 7)
        await rig.settled()
        first_done = rig.pipeline.dones[0, 7]
        await rig.feeds.settle([A], 0.1)
        rig.feeds.close([A])
        rig.feeds.open([A])
        rig.bring(A, 7, 8)
        await rig.settled()
        first_done()
        assert rig.feeds.committable() == {}
        rig.pipeline.finish(A, 7)
        assert rig.feeds.committable() == {A: 8}

    scenario(body)


def test_an_engine_that_does_not_drain_is_not_waited_for_longer_than_agreed():
    async def body(rig):
        rig.pipeline.drain_answer = None
        assert await asyncio.wait_for(rig.feeds.settle([A], 0.05), 10) is False
        rig.pipeline.drain_answer = True

    scenario(body)


def test_done_twice_is_a_bug():
    async def body(rig):
        rig.bring(A, 0)
        await rig.settled()
        rig.pipeline.finish(A, 0)
        rig.pipeline.finish(A, 0)
        assert isinstance(rig.bugs[0], Bug)

    scenario(body)


def test_what_the_engine_raises_is_reported_and_the_record_stays_incomplete():
    async def body(rig):
        rig.pipeline.fails_with = RuntimeError("boom")
        rig.bring(A, 0)
        await rig.settled()
        assert [str(bug) for bug in rig.bugs] == ["boom"]
        assert rig.feeds.incomplete == 1

    scenario(body)


def test_assigning_a_partition_twice_is_a_bug():
    async def body(rig):
        with pytest.raises(Bug, match="assigned twice"):
            rig.feeds.open([A])

    scenario(body)


def test_the_age_of_a_partition_is_that_of_its_first_record_that_is_not_done():
    """Whatever is done behind it; once all is done it is the last one's, and before the first fetch there is none."""

    async def body(rig):
        assert rig.feeds.oldest_ms(A) is None
        rig.bring(A, 5, 6, 7)
        await rig.settled()
        assert rig.feeds.oldest_ms(A) == 5_000
        rig.pipeline.finish(A, 6)
        assert rig.feeds.oldest_ms(A) == 5_000
        rig.pipeline.finish(A, 5)
        assert rig.feeds.oldest_ms(A) == 7_000
        rig.pipeline.finish(A, 7)
        assert rig.feeds.oldest_ms(A) == 7_000
        assert rig.feeds.oldest_ms(("elsewhere", 0)) is None

    scenario(body)
