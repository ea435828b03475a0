"""What the engine reports of its work, as the metrics show it."""

import asyncio

import pytest

from factsieve.core.errors import Transient
from factsieve.core.facts import Kind
from factsieve.core.judging import Verdict
from factsieve.core.policy import Policy
from factsieve.engine.desk import HoldSettings
from factsieve.engine.engine import Engine
from factsieve.telemetry.declared import PREFIX
from factsieve.telemetry.metrics import Metrics, make_metrics
from tests.engine.harness import World, always

WIDE = Policy(skip_guard="off", skip_threshold=0.995)


def value(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(PREFIX + name, labels) or 0.0


@pytest.mark.parametrize("kind", [Kind.SUPERSEDE, Kind.UPDATE, Kind.SKIP])
def test_a_revert_is_counted_by_what_it_takes_back(kind):
    """Once where it is applied, by the kind of the decision; a second one has nothing to do and counts nothing."""
    world = World(always(kind), policy=WIDE)
    world.observer = metrics = make_metrics()
    world.run(
        [world.record("the api port is 8080", event="e0"), world.record("the api port is now 8081", 600, event="e1")]
    )
    decision = next(d for d in world.decisions() if d["event_id"] == "e1")
    assert decision["decision"] == kind
    for applied in (1, 1):
        world.run([world.command("revert", {"decision_id": decision["decision_id"]})])
        assert value(metrics, "decisions_reverted_total", decision=kind.value) == applied
    assert world.decisions()[-1]["outcome"] == "no_op"
    assert value(metrics, "commands_decided_total", kind="revert", outcome="applied") == 1


def test_a_retraction_is_no_revert():
    """Only reverts of decisions say that a decision was wrong."""
    world = World(policy=WIDE)
    world.observer = metrics = make_metrics()
    world.run([world.record("the api port is 8080")])
    world.run([world.command("retract", {"fact_id": world.current()[0].fact_id})])
    assert value(metrics, "commands_decided_total", kind="retract", outcome="applied") == 1
    assert value(metrics, "decisions_reverted_total", decision="add") == 0


def test_every_call_of_a_port_is_timed():
    """What the embedder, the stores and the brokers take is told apart."""
    world = World(policy=WIDE)
    world.observer = metrics = make_metrics()
    world.run([world.record("the api port is 8080", slot="api.port")])
    for call in (
        "embed",
        "neighbours",
        "by_text",
        "by_slot",
        "ledger_lookup",
        "ledger_insert",
        "ledger_point",
        "write",
        "send",
    ):
        assert value(metrics, "call_duration_seconds_count", call=call) >= 1, call
    assert value(metrics, "wave_events_count") == 1


def test_a_call_that_fails_is_timed_too():
    """A store that times out is slow, not absent from the measure."""

    class Failing:
        def __init__(self, inner):
            self.inner, self.failures = inner, 1

        def __getattr__(self, name):
            return getattr(self.inner, name)

        async def lookup(self, keys):
            if self.failures:
                self.failures -= 1
                raise Transient("qdrant", "gone")
            return await self.inner.lookup(keys)

    world = World(policy=WIDE)
    world.observer = metrics = make_metrics()
    world.run([world.record("the api port is 8080")], ledger=Failing(world.ledger))
    assert value(metrics, "call_duration_seconds_count", call="ledger_lookup") == 2
    assert value(metrics, "services_awaited_total", service="qdrant") == 1


def test_holds_are_counted_once_an_outage():
    """The lanes that wait are a gauge; a hold that ends unanswered is one, and until an answer comes nobody is held again."""
    silent = {"is": True}

    def script(question):
        if silent["is"]:
            return Verdict(choice=None, judge="scripted", failure="time_out")
        return Verdict(choice=Kind.ADD, judge="scripted", targets=(0,))

    world = World(script, policy=WIDE, remote=True, hold=HoldSettings(hold_s=10, retry_s=2))
    texts = ["the api port is 8080", "the api port is now 8081", "the api port is now 8082"]

    async def main():
        engine = Engine(world.ports(), world.settings, world.observer)
        seen = []
        answer = world.judge.answer

        async def watched(question):
            seen.append(engine.desk.held)
            return await answer(question)

        world.judge.answer = watched
        for index, text in enumerate(texts):
            await engine.submit(world.record(text, 600 * index), lambda: None)
            assert await engine.drain(None, 60.0)
        await engine.stop()
        return engine.desk, seen

    desk, seen = asyncio.run(main())
    assert (desk.held, desk.holds_total, desk.given_up_total) == (0, 1, 1)
    assert seen == [0, 1, 1, 1, 1, 1, 0]
