"""Orders given through the desk: each is carried out once, and answered with the outcome of no other one."""

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from factsieve.assembly.settings import load_settings
from factsieve.core import ids
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Kafka
from factsieve.operations.desk import OrderDesk
from factsieve.operations.log import DecisionLog
from factsieve.operations.orders import CE_SOURCE, Order
from factsieve.operations.signing import was_refused
from factsieve.ports import Message
from factsieve.wire.topics import Topics
from tests.operations.decisions import decision_value, reject_value, uid

NAME = "ops/once"
TIMEOUT_S = 60.0


class Desk:
    """A desk on a log in memory; `answer` is what a worker would tell of a command."""

    def __init__(self, answer: Callable[[Message], dict[str, Any]]) -> None:
        self.sent: list[Message] = []
        self._answer = answer
        self.log = DecisionLog(Kafka(("127.0.0.1:1",)), Topics())
        settings = load_settings({"commands.keys": {"op": "ab" * 32}}, environ={})
        connected = cast(Connected, SimpleNamespace(settings=settings, topics=Topics()))
        self.desk = OrderDesk(connected, cast(Any, self), self.log)

    async def send(self, messages: Sequence[Message]) -> None:
        self.sent += messages
        await self.log._take_in([self._answer(one) for one in messages])

    def give(self, *bodies: dict[str, Any], before: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any] | None]:
        async def run() -> list[dict[str, Any] | None]:
            self.log._task = asyncio.create_task(asyncio.Event().wait())  # it reads nothing: what comes is put in here
            try:
                await self.log._take_in(before)
                orders = [Order("retract", "team", body) for body in bodies]
                return [await self.desk.give(one, command_id=NAME, timeout_s=TIMEOUT_S) for one in orders]
            finally:
                await self.log.stop()

        return asyncio.run(run())


def outcome(message: Message, name: str = NAME, **more: Any) -> dict[str, Any]:
    told = decision_value(name, decision=None, command="retract", outcome="applied", reason="done", **more)
    return {**told, "ce_source": CE_SOURCE, "body_hash": ids.body_hash(message.value or b"")}


def test_given_again_it_is_carried_out_once() -> None:
    """The same id and body: the outcome that is known, and nothing is sent."""
    desk = Desk(outcome)
    first, again = desk.give({"fact_id": uid("a")}, {"fact_id": uid("a")})
    assert first is not None
    assert again == first
    assert not was_refused(first)
    assert len(desk.sent) == 1


def test_another_command_under_the_same_id_is_not_told_to_be_done() -> None:
    """What was carried out was the first one: the second is refused, and says why."""
    desk = Desk(outcome)
    first, other = desk.give({"fact_id": uid("a")}, {"fact_id": uid("b")})
    assert first is not None
    assert other is not None
    assert was_refused(other)
    assert other["error"]["code"] == "event_id_conflict"
    assert NAME in other["error"]["message"]


def test_what_was_rejected_before_may_be_given_again() -> None:
    """A refusal for its age or its key is not the outcome of a command that comes later."""
    desk = Desk(outcome)
    rejected = {**reject_value(NAME), "ce_source": CE_SOURCE, "decision_id": uid("the rejection")}
    (told,) = desk.give({"fact_id": uid("a")}, before=[rejected])
    assert told is not None
    assert not was_refused(told)
    assert len(desk.sent) == 1


@pytest.mark.parametrize("at", ["before", "meanwhile"])
def test_a_statement_of_the_same_id_is_no_outcome(at: str) -> None:
    """Producers choose the ids of their statements; another source is another event."""
    statement = {**decision_value(NAME), "ce_source": "chat", "decision_id": uid("the statement")}
    desk = Desk(outcome)
    if at == "meanwhile":
        told_first = iter([statement])
        plain = desk.send

        async def send(messages: Sequence[Message]) -> None:
            await desk.log._take_in(list(told_first))
            await plain(messages)

        desk.send = send  # type: ignore[method-assign]
    (told,) = desk.give({"fact_id": uid("a")}, before=[statement] if at == "before" else [])
    assert told is not None
    assert told["outcome"] == "applied"
