"""The compacted topic `facts` is compared with what stands, and mended where it stays behind."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from factsieve.core.errors import Transient
from factsieve.core.facts import Fact, Status
from factsieve.engine.standing import Standing
from factsieve.ports import FactWrite
from factsieve.wire import outbound
from factsieve.wire.topics import Topics
from tests.engine.harness import World

TOPICS = Topics()


class Stage:
    """A world with one fact, stated three times, and what was told of it."""

    def __init__(self) -> None:
        self.world = World()
        self.world.run([self.world.record("the api listens on 8080", at) for at in (0, 1000, 2000)])
        [self.fact] = self.world.current()
        self.standing = Standing(self.world.facts, self.world.outbox, TOPICS)
        self.world.outbox.messages.clear()

    def hear(self, *facts: Fact) -> None:
        for fact in facts:
            message = outbound.fact_message(TOPICS, fact)
            self.standing.heard(message.key, message.value)

    def at(self, version: int, status: Status = Status.CURRENT) -> Fact:
        return msgspec.structs.replace(self.fact, version=version, status=status)

    def look(self) -> list[tuple[bytes | None, bytes | None]]:
        """Look, and return what was told thereupon."""
        before = len(self.world.outbox.messages)
        asyncio.run(self.standing.look())
        return [(m.key, m.value) for m in self.world.outbox.messages[before:] if m.topic == TOPICS.facts]

    def stand(self, fact: Fact) -> None:
        vector = asyncio.run(self.world.facts.vectors([fact.point_id]))[fact.point_id]
        asyncio.run(self.world.facts.write([FactWrite(fact, vector, insert=False)]))

    def told(self, fact: Fact) -> list[tuple[bytes | None, bytes | None]]:
        message = outbound.fact_message(TOPICS, fact)
        return [(message.key, message.value)]


def test_what_stands_is_not_told_again() -> None:
    """Where the last record is what stands, nothing is sent, however often it is looked at."""
    stage = Stage()
    assert stage.fact.version == 3
    stage.hear(stage.at(1), stage.at(2), stage.fact)
    assert [stage.look() for _ in range(3)] == [[], [], []]
    assert stage.standing.restated_total == 0


def test_a_former_state_that_stays_is_followed_by_what_stands() -> None:
    """A record that falls behind is given one look's time; then the fact is told as it stands, once."""
    stage = Stage()
    stage.hear(stage.fact, stage.at(2))  # told too late
    assert [stage.look() for _ in range(3)] == [[], stage.told(stage.fact), []]
    assert stage.standing.restated_total == 1


def test_an_owner_that_tells_in_time_is_not_anticipated() -> None:
    """What was behind at one look and has been told before the next is not told again."""
    stage = Stage()
    stage.hear(stage.at(2))
    assert stage.look() == []
    stage.hear(stage.fact)
    assert [stage.look() for _ in range(2)] == [[], []]


def test_a_record_that_only_came_closer_is_behind_all_the_same() -> None:
    """A newer record that is still older than what stood a look ago does not count as told in time."""
    stage = Stage()
    stage.hear(stage.at(1))
    assert stage.look() == []
    stage.hear(stage.at(2))
    assert [stage.look() for _ in range(2)] == [stage.told(stage.fact), []]


def test_a_fact_that_goes_on_changing_is_told_by_its_owner() -> None:
    """Each look sees a record behind what stands by then, but never behind what stood a look before: nothing is sent."""
    stage = Stage()
    for version in range(3, 8):
        stage.stand(stage.at(version + 1))
        stage.hear(stage.at(version))
        assert stage.look() == []


def test_an_erased_text_that_came_back_is_taken_off_again() -> None:
    """A state that is told after the tombstone, whatever its version, is followed by a tombstone; a tombstone is never too old."""
    stage = Stage()
    gone = stage.at(2**40, Status.ERASED)
    stage.stand(gone)
    stage.hear(gone, stage.at(3))
    assert [stage.look() for _ in range(2)] == [[], [(gone.fact_id.encode(), None)]]
    stage.hear(gone)
    assert [stage.look() for _ in range(2)] == [[], []]


@pytest.mark.parametrize("value", [b"rubbish", b"[" * 5000, b'{"version": "x"}', b"{}", b"\xff"])
def test_rubbish_under_a_facts_key_is_followed_by_the_fact(value: bytes) -> None:
    """Whatever anybody wrote under the key of a fact does not stay the last word."""
    stage = Stage()
    stage.standing.heard(stage.fact.fact_id.encode(), value)
    assert [stage.look() for _ in range(2)] == [[], stage.told(stage.fact)]


@pytest.mark.parametrize("key", [None, b"", b"no-uuid", b"\xff", b"019e7de7-be00-711c-ac25-5d4ce680d2b7"])
def test_what_is_no_facts_is_passed_over(key: bytes | None) -> None:
    """Keys that name no fact of the store lead to nothing, whatever stands under them."""
    stage = Stage()
    for value in (b"rubbish", None, msgspec.json.encode({"version": 1})):
        stage.standing.heard(key, value)
        assert [stage.look() for _ in range(2)] == [[], []]


def test_a_look_that_failed_is_made_again() -> None:
    """Neither a store nor a broker that does not answer makes it forget what is behind."""
    stage = Stage()
    stage.hear(stage.at(1))

    def failing(call: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def fail(*_: Any) -> Any:
            raise Transient("test", "no answer")

        return fail

    facts, outbox = stage.world.facts, stage.world.outbox
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "get", failing(facts.get))
        with pytest.raises(Transient):
            stage.look()
    assert stage.look() == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outbox, "send", failing(outbox.send))
        with pytest.raises(Transient):
            stage.look()
    assert stage.standing.restated_total == 0
    assert stage.look() == stage.told(stage.fact)


def test_what_is_forgotten_is_not_told() -> None:
    """After `forget` nothing heard before counts."""
    stage = Stage()
    stage.hear(stage.at(1))
    assert stage.look() == []
    stage.standing.forget()
    assert stage.look() == []
