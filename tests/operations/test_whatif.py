"""Past decisions under other thresholds: what is foreseen is what a second run decides, and what can not be told is not told."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from factsieve.assembly.settings import load_settings
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Kind
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policies, Policy
from factsieve.core.whatif import Foreseen
from factsieve.engine.desk import HoldSettings
from factsieve.engine.wave import WaveSettings
from factsieve.operations.foresight import Foresight
from factsieve.operations.rerun import Parts, Rerun
from factsieve.operations.whatif import Askers, Foreseer, Logbook, policies_under, question_of
from tests.engine.harness import World, always, by_digest

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"]
TOLD = ("decision", "reason", "band", "matched_id", "matched_text", "fact_id", "review")


def statements(seed: int, count: int = 60) -> list[tuple[str, int, str, dict[str, Any]]]:
    """Return statements of two namespaces in any order of time, some with slots and thresholds of their own."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        more: dict[str, Any] = {"slot": f"s{chance.randint(0, 2)}"} if chance.random() < 0.3 else {}
        if chance.random() < 0.1:
            more["dedup_threshold"] = 0.4
        text = " ".join(chance.sample(WORDS, chance.randint(2, 4)))
        made.append((text, chance.randint(0, 5000), chance.choice("ab"), more))
    return made


def decided(policy: Policy, seed: int, script: Callable[[Question], Verdict] = by_digest) -> World:
    """Return a world in which the statements of a seed were decided under a policy."""
    world = World(script, policy=policy)
    world.run([world.record(text, at, namespace=name, **more) for text, at, name, more in statements(seed)])
    return world


def foreseen(world: World, then: Policy, *, simulate: bool, asking: Askers | None = None) -> list[Foreseen]:
    """Return what all decisions of a world would be under another policy."""
    now, other = Policies(world.policy), Policies(then)
    judge = world.judge

    async def run() -> list[Foreseen]:
        logbook = await Logbook.open(world.ledger, None)
        foreseer = Foreseer(
            now=now,
            then=other,
            embedder=world.embedder,
            max_unknown_share=0.3,
            asking=asking or Askers(judge, judge, False),
        )
        parts = Parts(world.embedder, judge, judge, WaveSettings(), HoldSettings())
        seen = []
        for name in logbook.namespaces:
            entries = logbook.entries(name)
            if simulate:
                seen += [one async for one in Rerun(name, parts, now=now, then=other).run(entries)]
            else:
                seen += [one async for one in foreseer.foresee(name, entries)]
        return seen

    return asyncio.run(run())


def is_as_decided(seen: Foreseen, decision: dict[str, Any]) -> bool:
    """Return whether what is foreseen is what another run decided about the same event."""
    after = seen.after
    return (
        after is not None
        and all(getattr(after, field) == decision[field] for field in TOLD)
        and list(after.superseded_ids) == decision["superseded_ids"]
        and after.is_update == decision["dedup_signal"]["is_update"]
    )


OTHERS = [
    {"skip_threshold": 0.95},
    {"skip_threshold": 0.8, "ambiguous_threshold": 0.75},
    {"supersede_threshold": 0.6, "dedup_update_threshold": 0.5},
    {"skip_guard": "ask"},
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("changes", OTHERS, ids="-".join)
def test_a_second_run_decides_what_was_foreseen(seed: int, changes: dict[str, Any]) -> None:
    """Up to and including the first change of each namespace without, wholly with a rerun of everything."""
    first = decided(Policy(skip_guard="off"), seed)
    then = Policy(**{**msgspec.structs.asdict(first.policy), **changes})
    second = {decision["event_key"]: decision for decision in decided(then, seed).decisions()}
    told = foreseen(first, then, simulate=False)
    assert [seen for seen in told if seen.certain and not is_as_decided(seen, second[seen.event_key])] == []
    rerun = foreseen(first, then, simulate=True)
    assert len(rerun) == len(told) == len(second)
    assert [seen for seen in rerun if not is_as_decided(seen, second[seen.event_key])] == []
    surely = {seen.event_key: seen.state for seen in told if seen.certain}
    assert surely == {seen.event_key: seen.state for seen in rerun if seen.event_key in surely}


def test_something_changes_in_these_streams() -> None:
    """The test above would pass on streams in which nothing is ever different."""
    policy = Policy(skip_guard="off")
    world = decided(policy, 1)
    told = foreseen(world, Policy(skip_guard="off", skip_threshold=0.95), simulate=False)
    certain = [seen for seen in told if seen.certain and seen.state == "changed"]
    assert certain
    assert {seen.namespace for seen in certain} <= {"a", "b"}
    assert len({seen.namespace for seen in certain}) == len(certain)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("simulate", [False, True])
def test_with_the_policy_in_force_nothing_changes(seed: int, simulate: bool) -> None:
    """Every decision, late ones, revisions and judged ones too, comes out as it was recorded."""
    world = decided(Policy(), seed)
    states = {seen.state for seen in foreseen(world, world.policy, simulate=simulate)}
    assert states == {"same"}


def test_an_answer_that_was_not_recorded_is_missing_until_somebody_is_asked() -> None:
    """A statement that nobody was asked about, and about which a judge would be asked: nobody knows what that one would say."""
    world = World(always(Kind.SKIP), policy=Policy(skip_guard="off"))
    world.run([world.record("alpha beta gamma delta"), world.record("alpha beta", 60)])
    similarity = world.decisions()[1]["dedup_signal"]["max_sim"]
    assert 0.5 < similarity < 0.72, "the texts have to lie in the new band"
    assert world.judge.questions == []
    lower, nobody = Policy(skip_guard="off", supersede_threshold=similarity), Askers(None, None, False)
    missing = foreseen(world, lower, simulate=False, asking=nobody)
    assert [seen.state for seen in missing] == ["same", "needs_judge"]
    assert "a judge would be asked among add, supersede" in missing[-1].why
    assert (missing[-1].questions_before, missing[-1].questions_after, missing[-1].unanswered) == (0, 1, 1)
    assert world.judge.questions == []
    answered = foreseen(world, lower, simulate=False)
    assert len(world.judge.questions) == 1
    assert answered[-1].after is not None
    assert answered[-1].after.reason == "no_answer", "a skip is not allowed here: the answer counts as none"


def test_since_takes_the_decisions_before_as_they_are() -> None:
    """As if the threshold had been changed then: what was decided before stays, and is not reported."""
    world = decided(Policy(skip_guard="off"), 1)
    log = world.decisions()
    then = Policies(Policy(skip_guard="off", skip_threshold=0.95))

    async def run(since: Any) -> int:
        logbook = await Logbook.open(world.ledger, "a")
        asking = Askers(world.judge, world.judge, False)
        foreseer = Foreseer(
            now=Policies(world.policy), then=then, embedder=world.embedder, max_unknown_share=0.3, asking=asking
        )
        return len([seen async for seen in foreseer.foresee("a", logbook.entries("a"), since=since)])

    decided_at = world.clock.now()
    everything = sum(decision["namespace"] == "a" for decision in log)
    assert asyncio.run(run(None)) == asyncio.run(run(decided_at)) == everything
    world.clock.advance(60)
    assert asyncio.run(run(world.clock.now())) == 0


def test_counts_add_up() -> None:
    """Every decision has one state; what changes is counted as sure or likely; changes told one by one are bounded."""
    world = decided(Policy(skip_guard="off"), 1)
    foresight = Foresight(changes_kept=2, examples=1)
    for seen in foreseen(world, Policy(skip_guard="off", supersede_threshold=0.6), simulate=False):
        foresight.count(seen)
    value = foresight.value()
    states = sum(value[state] for state in ("same", "another_way", "changed", "needs_judge", "unclear"))
    assert states == value["decisions"] == 60
    assert sum(step["certain"] + step["likely"] for step in value["steps"]) == value["changed"] > 2
    assert len(value["changes"]) == 2
    assert value["changes_left_out"] == value["changed"] - 2
    assert sum(step["certain"] for step in value["steps"]) == value["namespaces_changed"] == 2
    assert msgspec.json.encode(value)


def test_thresholds_out_of_order_and_models_unasked_are_refused() -> None:
    """The error says what to do."""
    settings = load_settings({}, environ={})
    with pytest.raises(BadSettings, match="raise the later or lower the earlier"):
        policies_under(settings, {"skip_threshold": 0.5})
    asked = load_settings({"judge.name": "ollama:some"}, environ={})
    with pytest.raises(BadSettings, match="--ask"):
        question_of(asked, asked.policies(), since=None, ask=False, simulate=True)
    own = load_settings({"policy.namespaces": {"team": {"skip_threshold": 0.95}}}, environ={})
    then = policies_under(own, {"skip_threshold": 0.9})
    assert (then.default.skip_threshold, then.of("team").skip_threshold) == (0.9, 0.9)


@pytest.mark.parametrize("simulate", [False, True])
def test_what_operators_ordered_is_part_of_the_world(simulate: bool) -> None:
    """Decisions after a revert and a withdrawal are made again in the world that these left, and come out as they were."""
    world = World(always(Kind.SUPERSEDE), policy=Policy(skip_guard="off", supersede_threshold=0.6))
    world.run([world.record("alpha beta gamma one two"), world.record("alpha beta delta one two", 60)])
    replaced = world.decisions()[1]
    assert replaced["decision"] == "supersede"
    world.run([world.command("revert", {"decision_id": replaced["decision_id"]})])
    world.run([world.record("alpha beta gamma one two", 120), world.record("zeta eta", 180)])
    withdrawn = world.decisions()[-1]["fact_id"]
    world.run([world.command("retract", {"fact_id": withdrawn}), world.record("zeta eta", 240)])
    seen = foreseen(world, world.policy, simulate=simulate)
    assert [one.state for one in seen] == ["same"] * 5
    assert [one.before.decision for one in seen] == ["add", "supersede", "skip", "add", "add"]


def test_what_was_erased_is_left_out_and_counted() -> None:
    """Its text is gone from the ledger: nobody can decide about it again."""
    world = World(policy=Policy(skip_guard="off"))
    world.run([world.record("alpha beta gamma"), world.record("zeta eta", 60)])
    erased = world.decisions()[0]["fact_id"]
    world.run([world.command("erase", {"fact_id": erased})])
    foresight = Foresight()

    async def meet() -> None:
        logbook = await Logbook.open(world.ledger, None)
        async for entry in logbook.entries("team"):
            foresight.meet(entry)

    asyncio.run(meet())
    assert foresight.erased == 1
    assert [one.text for one in foreseen(world, world.policy, simulate=False)] == ["zeta eta"]
