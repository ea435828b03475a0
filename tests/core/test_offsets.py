import zlib

import pytest
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.partitioner import murmur2 as reference_murmur2
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from factsieve.core.errors import Bug
from factsieve.core.offsets import OffsetTracker, murmur2, partition_for

ascending = st.lists(st.integers(1, 5), max_size=40).map(lambda gaps: [7 + sum(gaps[:i]) for i in range(len(gaps))])


class Tracking(RuleBasedStateMachine):
    """Against a model that remembers everything: whatever the order, no incomplete record is ever committed past."""

    @initialize(first=st.integers(0, 10_000))
    def begin(self, first):
        self.tracker = OffsetTracker()
        self.next_offset = first
        self.seen, self.finished = [], set()

    @rule(gap=st.integers(0, 4))
    def record_comes_in(self, gap):
        offset = self.next_offset + gap
        self.next_offset = offset + 1
        self.tracker.started(offset)
        self.seen.append(offset)

    @precondition(lambda self: len(self.seen) > len(self.finished))
    @rule(data=st.data())
    def record_is_done(self, data):
        offset = data.draw(st.sampled_from(sorted(set(self.seen) - self.finished)))
        self.tracker.done(offset)
        self.finished.add(offset)

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def what_came_before_may_not_come_again(self, data):
        with pytest.raises(Bug):
            self.tracker.started(data.draw(st.integers(0, self.seen[-1])))

    @precondition(lambda self: self.finished)
    @rule(data=st.data())
    def what_is_done_may_not_be_done_again(self, data):
        with pytest.raises(Bug):
            self.tracker.done(data.draw(st.sampled_from(sorted(self.finished))))

    @invariant()
    def it_says_what_the_model_says(self):
        if not hasattr(self, "tracker"):
            return
        incomplete = [offset for offset in self.seen if offset not in self.finished]
        before_head = [o for o in self.seen if not incomplete or o < incomplete[0]]
        assert self.tracker.committable() == (before_head[-1] + 1 if before_head else None)
        assert self.tracker.incomplete == len(incomplete)
        assert self.tracker.followed == len([o for o in self.seen if incomplete and o >= incomplete[0]])
        assert self.tracker.head == (incomplete[0] if incomplete else None)
        assert self.tracker.highest_seen == (self.seen[-1] if self.seen else None)
        assert self.tracker.highest_succeeded == (max(self.finished) if self.finished else None)
        assert self.tracker.incomplete_span == (self.seen[-1] - incomplete[0] + 1 if incomplete else 0)


TestTracking = Tracking.TestCase


@given(offsets=ascending, data=st.data())
def test_a_restart_from_the_committable_offset_brings_back_every_incomplete_record(offsets, data):
    """What is read again from there on contains all that was not done, and nothing before it is missing."""
    tracker = OffsetTracker()
    for offset in offsets:
        tracker.started(offset)
    done = data.draw(st.lists(st.sampled_from(offsets), unique=True)) if offsets else []
    for offset in done:
        tracker.done(offset)
    start = tracker.committable()
    again = [offset for offset in offsets if start is None or offset >= start]
    assert set(offsets) - set(done) <= set(again)


def test_a_fresh_group_commits_nothing_while_the_first_record_is_in_flight():
    """Without a committed offset there is no head to compare with; later records that finish must not become one."""
    tracker = OffsetTracker()
    for offset in range(5):
        tracker.started(offset)
    for offset in (1, 2, 3, 4):
        tracker.done(offset)
    assert tracker.committable() is None
    tracker.done(0)
    assert tracker.committable() == 5


def test_a_gap_is_not_waited_for():
    """Compaction and transaction markers leave offsets that never come."""
    tracker = OffsetTracker()
    for offset in (10, 17, 90):
        tracker.started(offset)
    tracker.done(10)
    assert tracker.committable() == 11
    tracker.done(90)
    assert tracker.committable() == 11
    tracker.done(17)
    assert tracker.committable() == 91


def test_the_same_record_can_not_come_in_twice():
    """The last offset again is as wrong as one before it, done or not."""
    tracker = OffsetTracker()
    tracker.started(3)
    with pytest.raises(Bug, match="offset 3 came after 3"):
        tracker.started(3)
    tracker.done(3)
    with pytest.raises(Bug, match="offset 3 came after 3"):
        tracker.started(3)
    assert tracker.committable() == 4


def test_a_record_that_never_came_in_can_not_be_done():
    tracker = OffsetTracker()
    with pytest.raises(Bug, match="offset 3"):
        tracker.done(3)


@given(key=st.binary(max_size=64), partitions=st.integers(1, 500))
def test_murmur2_agrees_with_the_client_library(key, partitions):
    """The same key goes where any Java or Python producer with default settings would send it."""
    assert murmur2(key) == reference_murmur2(key) & 0xFFFFFFFF
    assert partition_for(key, partitions) == DefaultPartitioner()(key, list(range(partitions)), list(range(partitions)))


@pytest.mark.parametrize(
    ("key", "digest"),
    # the values of Kafka's own UtilsTest, which are what makes clients of all languages agree
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536), (b"abc", 479470107)],
)
def test_murmur2_gives_the_published_values(key, digest):
    assert murmur2(key) == digest & 0xFFFFFFFF


@given(key=st.binary(min_size=1, max_size=64), partitions=st.integers(1, 500))
def test_crc32_is_that_of_librdkafka(key, partitions):
    assert partition_for(key, partitions, "crc32") == zlib.crc32(key) % partitions


def test_librdkafka_draws_a_partition_for_an_empty_key():
    assert partition_for(b"", 8, "crc32") is None
    assert partition_for(b"", 8, "murmur2") == partition_for(b"", 8)


def test_no_partition_is_refused():
    with pytest.raises(ValueError, match="not 0"):
        partition_for(b"k", 0)
