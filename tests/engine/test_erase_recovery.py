"""An erase whose worker dies before it told of it."""

import asyncio
import json

import pytest

from factsieve.core.errors import Transient
from factsieve.core.facts import Kind, Status
from factsieve.engine.engine import Engine
from tests.engine.harness import World, always


class Away:
    """A Kafka that can not be reached."""

    async def send(self, _messages: object) -> None:
        raise Transient("kafka", "away")


def test_an_erase_that_died_before_it_told_is_told_by_the_next_worker() -> None:
    """Performed and scrubbed, but not told: when the command comes again, ingest hears of it and the compacted topic gets its tombstone."""
    world = World(always(Kind.ADD))
    world.run([world.record("the access code is 4711", event="e0")])
    [fact] = world.current()
    command = world.command("erase", {"fact_id": fact.fact_id})

    async def die_untold() -> None:
        engine = Engine(world.ports(outbox=Away()), world.settings)
        await engine.start()
        await engine.submit(command, lambda: pytest.fail("acknowledged"))
        for _ in range(10_000):
            if not await world.facts.select("team"):
                break
            await asyncio.sleep(0)
        assert not await engine.drain(None, 0.2)
        await engine.stop()

    asyncio.run(die_untold())
    stored = asyncio.run(world.facts.get([fact.fact_id]))[fact.fact_id]
    assert stored.status is Status.ERASED
    before = len(world.outbox.messages)
    world.run([command])
    told = world.outbox.messages[before:]
    changes = [json.loads(message.value or b"") for message in told if message.topic == "new-facts"]
    assert [(change["type"], change["fact"]["fact_id"]) for change in changes] == [("erased", fact.fact_id)]
    assert [(message.key, message.value) for message in told if message.topic == "facts"] == [
        (fact.fact_id.encode(), None)
    ]
    assert not any(b"4711" in (message.value or b"") for message in told)

    world.run([command])  # and once more: nothing else is told
    again = [json.loads(message.value or b"") for message in world.outbox.of("new-facts")]
    assert [change["type"] for change in again] == ["added", "erased", "erased"]
