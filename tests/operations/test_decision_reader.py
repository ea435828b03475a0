"""What somebody else wrote to `fact-decisions` is passed over by all who read it, told of and counted."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from kafka.brokers import TestBroker

from factsieve.adapters.kafka_client import FETCH_LATER_MS, FETCH_SOON_MS
from factsieve.adapters.kafka_outbox import OutboxOptions
from factsieve.operations.conversation import Conversation, DecisionReader, Kafka
from factsieve.operations.log import latest
from factsieve.ports import Message
from factsieve.wire.recorded import NotADecision, decided_entry, outline, told
from factsieve.wire.topics import Topics
from tests.operations.decisions import decision_value, reject_value

RUBBISH: dict[str, bytes | None] = {
    "null": None,
    "empty": b"",
    "no json": b"no json",
    "no utf-8": b'{"decision_id": "\xff"}',
    "nested": b"[" * 100_000,
    "nested objects": b'{"a":' * 100_000,
    "a number": b"17",
    "a list": b"[]",
    "null as json": b"null",
    "an empty object": b"{}",
    "another schema": b'{"decision_id": 4, "order": "two teas"}',
    "no instant": msgspec.json.encode(decision_value("x") | {"decided_at": "yesterday"}),
    "no zone": msgspec.json.encode(decision_value("x") | {"decided_at": "2026-03-04T09:00:00"}),
    "no such decision": msgspec.json.encode(decision_value("x") | {"decision": "shrug"}),
    "findings of another kind": msgspec.json.encode(decision_value("x") | {"findings": [{"kind": 3}]}),
    "erases what is no fact": msgspec.json.encode(decision_value("x") | {"erases": {"facts": 5}}),
}


@pytest.mark.parametrize("name", RUBBISH)
def test_what_is_no_decision_is_named(name: str) -> None:
    """It is no decision, and never an error that ends who reads it."""
    with pytest.raises(NotADecision):
        told(RUBBISH[name])


@pytest.mark.parametrize("name", ["null", "empty", "no json", "no utf-8", "nested", "a number", "a list"])
def test_what_is_no_object_at_all_is_passed_over_by_a_rebuild(name: str) -> None:
    """Nothing of ours is lost with it. An object that can not be read stops a rebuild: it may be a decision of another version."""
    for read in (outline, decided_entry):
        with pytest.raises(NotADecision):
            read(RUBBISH[name])


def test_decisions_and_rejects_are_read_as_they_are() -> None:
    """Fields that nobody counts on may be anything; what is there is kept."""
    for value in (decision_value("1"), reject_value("2"), decision_value("3") | {"later": {"field": [1]}}):
        assert told(msgspec.json.encode(value)) == msgspec.json.decode(msgspec.json.encode(value))


def reported(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("factsieve")]


async def produce(broker: TestBroker, topic: str, *values: bytes | None) -> None:
    await broker.produce(topic, [{"key": b"k", "value": value} for value in values])


@pytest.mark.stack
def test_the_latest_are_read_past_rubbish(tansu: TestBroker, caplog: pytest.LogCaptureFixture) -> None:
    """The first is told of by topic, partition and offset, how many there were at the end; every decision between them comes."""

    async def run() -> tuple[str, list[Any]]:
        topic = await tansu.create(tansu.name("decisions"), 1)
        values: list[bytes | None] = [msgspec.json.encode(decision_value("first", at=1))]
        for number, rubbish in enumerate(RUBBISH.values()):
            values += [rubbish, msgspec.json.encode(decision_value(f"e{number}", at=2 + number))]
        await produce(tansu, topic, *values)
        async with DecisionReader(Kafka((tansu.bootstrap,)), Topics(decisions=topic)) as reader:
            return topic, await latest(reader, 100, None)

    with caplog.at_level(logging.WARNING):
        topic, found = asyncio.run(run())
    assert [one["event_id"] for one in found] == ["first", *(f"e{number}" for number in range(len(RUBBISH)))]
    first, last = reported(caplog)
    assert first == f"passed over {topic}, partition 0, offset 1, which is no decision: it has no value"
    assert last == f"{len(RUBBISH)} records of {topic} were passed over: they are no decisions"


@pytest.mark.stack
def test_an_answer_is_heard_through_rubbish(tansu: TestBroker, caplog: pytest.LogCaptureFixture) -> None:
    """Who waits for decisions goes on waiting, and gets them; one record passed over is told of once."""

    async def run() -> dict[Any, Any]:
        decisions = await tansu.create(tansu.name("decisions"), 1)
        candidates = await tansu.create(tansu.name("candidates"), 1)
        topics = Topics(decisions=decisions, candidates=candidates)
        answer = decision_value("e1") | {"namespace": "team", "ce_source": "s", "ce_id": "1"}
        kafka = Kafka((tansu.bootstrap,), producing=OutboxOptions(enable_idempotence=False))
        async with Conversation(kafka, topics) as conversation:
            await produce(tansu, decisions, b"no json", msgspec.json.encode(answer))
            said = Message(candidates, b"team", b"{}", ())
            return await conversation.tell([(("team", "s", "1"), said)], idle_timeout_s=60)

    with caplog.at_level(logging.WARNING):
        answered = asyncio.run(run())
    assert [one["event_id"] for one in answered.values()] == ["e1"]
    assert len(reported(caplog)) == 1


@pytest.mark.stack
def test_the_last_answers_are_heard_of_soon(tansu: TestBroker) -> None:
    """While many are unanswered the broker may keep a fetch for longer: nobody waits for each of them."""
    waits: list[tuple[int, int]] = []

    async def run() -> int:
        decisions = await tansu.create(tansu.name("decisions"), 1)
        candidates = await tansu.create(tansu.name("candidates"), 1)
        kafka = Kafka((tansu.bootstrap,), producing=OutboxOptions(enable_idempotence=False))
        names = [("team", "s", str(number)) for number in range(300)]
        async with Conversation(kafka, Topics(decisions=decisions, candidates=candidates)) as conversation:

            def heard(_name: Any, _decision: Any) -> None:
                waits.append((len(conversation._pending), conversation._fetch_wait_ms()))

            asked = asyncio.Event()

            def said() -> Iterator[tuple[tuple[str, str, str], Message]]:
                for name in names:
                    yield name, Message(candidates, b"team", b"{}", ())
                asked.set()

            async def answer() -> None:
                await asked.wait()
                for name in names:
                    told_of = {"namespace": name[0], "ce_source": name[1], "ce_id": name[2]}
                    await produce(tansu, decisions, msgspec.json.encode(decision_value(name[2]) | told_of))

            answering = asyncio.create_task(answer())
            answered = await conversation.tell(said(), idle_timeout_s=60, on_decision=heard)
            await answering
            return len(answered)

    assert asyncio.run(run()) == 300
    assert waits == [(left, FETCH_LATER_MS if left > 256 else FETCH_SOON_MS) for left in range(299, -1, -1)]
