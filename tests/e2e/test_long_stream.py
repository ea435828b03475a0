"""2,541 facts about people in ten namespaces: the whole stream once, once more, and with workers killed in the middle."""

from collections import Counter

import pytest

from e2e import streams
from e2e.outcome import differences

pytestmark = [pytest.mark.stack, pytest.mark.long, pytest.mark.shared]

AT_FULL_SPEED = {"engine__wave_size": 64, "embedder__threads": 0}
KILLED_AT = [150, 900, 1600, 2300]
"""So many decisions were seen when one of two workers died; the other one takes over, and a new one joins."""


@pytest.mark.timeout(600)
def test_the_whole_stream_twice_and_with_workers_that_die(site, shared):
    """One decision per event, counts add up, nothing is dead-lettered; again: no new point, no changed point, the same decision ids.

    With two workers, of which one after the other is killed, the outcome is that of the undisturbed run.
    """
    lines = streams.locomo(shared)
    with site.room(**AT_FULL_SPEED) as room:
        messages = room.lines(lines)
        worker = room.worker(wait=False)
        room.send(messages)
        room.until_decided(len(lines), timeout_s=200)
        room.until_committed()
        first = room.outcome()
        first.check()
        kinds = Counter(one["decision"] for one in first.decisions.values())
        assert kinds.total() == len(lines) == 2541
        assert len(first.records[first.topics.decisions]) == len(lines)
        assert not first.dead_letters
        heads = [fact for fact in first.facts.values() if fact.is_head]
        assert len(heads) == kinds["add"] + kinds["supersede"]
        room.send(messages)
        room.until_committed(timeout_s=120)
        second = room.outcome()
        assert worker.terminate() == 0
    assert second.facts == first.facts
    assert second.vectors == first.vectors
    again = [one for one in second.values(second.topics.decisions) if one["replayed"]]
    assert Counter(one["decision_id"] for one in again) == Counter(
        one["decision_id"] for one in first.decisions.values()
    )
    assert len(second.records[second.topics.new_facts]) == len(first.records[first.topics.new_facts])

    with site.room(**AT_FULL_SPEED) as room:
        workers = [room.worker(wait=False), room.worker(wait=False)]
        room.until_shared(*workers)
        room.send(room.lines(lines))
        for seen in KILLED_AT:
            room.until_decided(seen, timeout_s=200)
            workers[0].kill()
            workers = [workers[1], room.worker(wait=False)]
        room.until_decided(len(lines), timeout_s=200)
        room.until_committed(timeout_s=60)
        torn = room.outcome()
    torn.check()
    assert not torn.dead_letters
    assert differences(torn.comparable(), first.comparable()) == []
