"""The scan of what stands: groups that say one thing, conflicts that both stand, and what a person decided is left alone."""

import asyncio
from collections.abc import Sequence
from typing import Any

from factsieve.adapters.rules_judge import RulesJudge
from factsieve.assembly.settings import load_settings
from factsieve.core.audit import FindingKind, Groups, rate
from factsieve.core.facts import Kind
from factsieve.core.policy import Policies, Policy
from factsieve.operations.audit import Audit, local_judge
from factsieve.ports import Near, NeighbourQuery
from tests.engine.harness import World, always

PORT = "The Harbor API listens on port 8080."
SAME = "The Harbor API is listening on port 8080."
OTHER = "The Harbor API listens on port 8081."


class CountingFacts:
    """A store that counts what it is asked for; all else is the inner one's."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.queries: list[NeighbourQuery] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def neighbours(self, queries: Sequence[NeighbourQuery]) -> list[list[Near]]:
        self.queries += queries
        return await self._inner.neighbours(queries)


def added(*texts: str, **more: Any) -> World:
    """Return a world in which a judge let everything through."""
    world = World(always(Kind.ADD), policy=Policy(skip_threshold=1.0, ambiguous_threshold=0.5, supersede_threshold=0.5))
    world.run([world.record(text, 60 * number, **more) for number, text in enumerate(texts)])
    return world


def audited(
    world: World, policy: Policy | None = None, namespace: str | None = None, **more: Any
) -> tuple[Audit, CountingFacts]:
    """Return the audit of a world, done."""
    facts = CountingFacts(world.facts)
    policies = Policies(policy or Policy(skip_threshold=0.8, ambiguous_threshold=0.7, supersede_threshold=0.5))
    scan = Audit(facts, policies, world.embedder, RulesJudge(), max_unknown_share=0.3, **more)
    asyncio.run(scan.scan(namespace))
    return scan, facts


def told(scan: Audit, world: World, limit: int = 10) -> dict[str, Any]:
    return asyncio.run(scan.value(world.ledger, limit))


def test_groups_and_conflicts_are_told_with_the_decision_that_let_them_through() -> None:
    """Two wordings of one thing are a group; another value is a conflict; each names decision, reason and judge."""
    world = added(PORT, SAME, "Couriers love mint tea.")
    scan, _ = audited(world)
    value = told(scan, world)
    [group] = value["duplicates"]["largest"]
    assert [fact["text"] for fact in group["facts"]] == [PORT, SAME]
    through = group["facts"][1]["let_through"]
    assert (through["decision"], through["reason"], through["judges"][0]["judge"]) == ("add", "judged_new", "scripted")
    assert (value["facts"], value["duplicates"]["surplus"], value["conflicts"]["groups"]) == (3, 1, 0)
    assert value["rate_per_1000"] == scan.rate == 333.333

    world = added(PORT, OTHER)
    scan, _ = audited(world)
    value = told(scan, world)
    [group] = value["conflicts"]["largest"]
    assert [fact["text"] for fact in group["facts"]] == [PORT, OTHER]
    assert group["pairs"][0]["reason"]
    assert value["duplicates"]["groups"] == 0


def test_the_largest_group_comes_first() -> None:
    """Three of a kind before two of a kind; what is not shown is counted."""
    world = added(
        PORT,
        SAME,
        "the Harbor API listens on port 8080",
        "The old clock ticks on wall 7.",
        "The old clock is ticking on wall 7.",
    )
    scan, _ = audited(world)
    value = told(scan, world, limit=1)
    assert [group["size"] for group in value["duplicates"]["largest"]] == [3]
    assert (value["duplicates"]["groups"], value["duplicates"]["surplus"]) == (2, 3)


def test_facts_of_one_slot_are_compared_whatever_their_similarity() -> None:
    """Two values of one slot can not both stand, though the sentences share no word."""
    world = added("Harbor: 8080", "listening on 9090", slot="harbor.port")
    scan, _ = audited(world, Policy(second_look_floor=0.7, supersede_threshold=0.72))
    [found] = scan.found[FindingKind.CONFLICT].values()
    assert found.pair.via == "slot"


def test_what_waits_for_review_is_told_as_such() -> None:
    """A pair that was flagged when the later one came is a conflict that both stand, and says that it waits."""
    world = World(always(Kind.ADD, review="conflict", conflicts=(0,)), policy=Policy(supersede_threshold=0.5))
    world.run([world.record(PORT), world.record("The Harbor API logs on standard error.", 60)])
    assert len(world.judge.questions) == 1, "the texts have to lie near each other"
    scan, _ = audited(world)
    [found] = scan.found[FindingKind.CONFLICT].values()
    assert found.flagged


def test_pairs_that_may_stand_together_are_passed_over() -> None:
    """After a revert of a retirement both stand, and nobody is told of it again."""
    world = World(always(Kind.SUPERSEDE), policy=Policy(supersede_threshold=0.5))
    world.run([world.record(PORT), world.record(OTHER, 60)])
    [decision] = [one for one in world.decisions() if one["decision"] == "supersede"]
    world.run([world.command("revert", {"decision_id": decision["decision_id"]})])
    assert {fact.text for fact in world.current()} == {PORT, OTHER}
    scan, _ = audited(world)
    assert (scan.pairs, scan.surplus, scan.rate) == (0, 0, 0.0)


def test_namespaces_never_meet_and_past_facts_do_not_count() -> None:
    """The same statement in two namespaces is two facts; one that was retired is no rival any more."""
    world = World(always(Kind.SUPERSEDE), policy=Policy(supersede_threshold=0.5))
    world.run([world.record(PORT), world.record(OTHER, 60), world.record(OTHER, namespace="other")])
    scan, _ = audited(world)
    assert (scan.facts, scan.namespaces, scan.pairs, scan.surplus) == (2, {"team", "other"}, 0, 0)
    alone, _ = audited(world, namespace="other")
    assert alone.facts == 1


def test_each_fact_costs_one_bounded_query() -> None:
    """So many queries as facts, each for as many neighbours as the policy says and the fact itself."""
    world = added(*(f"fact number {number} about gate{number}" for number in range(150)))
    scan, facts = audited(world, Policy(supersede_scan_limit=3))
    assert len(facts.queries) == scan.facts == 150
    assert {query.limit for query in facts.queries} == {4}


def test_findings_are_kept_up_to_a_bound_and_counted_beyond() -> None:
    """The rate still tells of those that are not kept."""
    world = added(*[PORT, SAME, "the Harbor API listens on port 8080", "Harbor API listens on port 8080"])
    whole, _ = audited(world)
    bounded, _ = audited(world, found_kept=1)
    assert bounded.left_out > 0
    assert sum(map(len, bounded.found.values())) == 1
    assert bounded.rate >= whole.rate > 0


def test_groups_are_what_hangs_together() -> None:
    """Joined by whatever chain; the largest first; surplus is all but one of each."""
    groups = Groups()
    for one, other in [("a", "b"), ("d", "c"), ("b", "c"), ("x", "y")]:
        groups.join(one, other)
    assert groups.groups() == [["a", "b", "c", "d"], ["x", "y"]]
    assert groups.surplus == 4
    assert (rate(1, 0), rate(3, 2000)) == (0.0, 1.5)


def test_no_language_model_is_asked() -> None:
    """Where one is configured the rules look alone, and no key for it is needed."""

    async def name(judge: str, **more: Any) -> tuple[str, bool]:
        settings = load_settings({"judge.name": judge, **more}, environ={})
        async with local_judge(settings) as opened:
            return opened.name, opened.is_remote

    assert asyncio.run(name("openai:some")) == ("rules", False)
    assert asyncio.run(name("cascade", **{"judge.model": "openai:some"}))[1] is False
    assert asyncio.run(name("rules")) == ("rules", False)
