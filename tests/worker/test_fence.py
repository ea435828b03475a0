import time

from factsieve.ports import Fence
from factsieve.worker.fence import LeaseFence, uptime_s


class Hands:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


def fence_of(session_timeout_s=10.0):
    clock = Hands()
    return LeaseFence(session_timeout_s, clock=clock), clock


def test_a_fence_holds_what_is_assigned_while_the_lease_runs():
    fence, clock = fence_of()
    as_port: Fence = fence
    fence.assign([("t", 0), ("t", 1)])
    assert not as_port.holds("t", 0), "no heartbeat was answered yet"
    fence.renew(clock.now)
    assert as_port.holds("t", 0)
    assert not as_port.holds("t", 2)
    assert not as_port.holds("u", 0)


def test_a_process_that_slept_holds_nothing_until_it_was_heard_again():
    """The lease counts from when the heartbeat was sent, so an answer that lay in the socket while it slept does not revive it."""
    fence, clock = fence_of(10.0)
    fence.assign([("t", 0)])
    sent_at = fence.now()
    clock.now += 9.9
    fence.renew(sent_at)
    assert fence.holds("t", 0)
    clock.now += 0.1
    assert not fence.holds("t", 0)
    fence.renew(sent_at)
    assert not fence.holds("t", 0)
    fence.renew(fence.now())
    assert fence.holds("t", 0)


def test_answers_that_overtake_each_other_do_not_shorten_the_lease():
    fence, clock = fence_of(10.0)
    fence.assign([("t", 0)])
    fence.renew(clock.now)
    fence.renew(clock.now - 20)
    assert fence.holds("t", 0)


def test_a_member_that_the_group_expelled_holds_nothing():
    fence, clock = fence_of()
    fence.assign([("t", 0)])
    fence.renew(clock.now)
    fence.revoke()
    assert not fence.holds("t", 0)
    assert not fence.is_alive


def test_released_partitions_are_not_held_and_a_new_assignment_replaces_the_old():
    fence, clock = fence_of()
    fence.renew(clock.now)
    fence.assign([("t", 0), ("t", 1)])
    fence.release([("t", 0)])
    assert fence.held == {("t", 1)}
    fence.assign([("t", 5)])
    assert fence.held == {("t", 5)}


def test_the_clock_goes_forward():
    first = uptime_s()
    assert uptime_s() >= first
    assert first >= time.monotonic() - 1
