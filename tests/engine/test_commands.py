"""Operators' commands: what each does to the facts, what it reports, and that saying it again changes nothing."""

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from factsieve.core.facts import FOREVER, Fact, Kind, Record, Status
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policy
from factsieve.wire.ledger import decode_record
from tests.engine.harness import World, always

WIDE = Policy(skip_guard="off", skip_threshold=0.995)
"""Puts near texts before the judge, with all five choices."""
ASKING = Policy(skip_threshold=0.995)
"""The same, with the guard: wordings are checked."""


def world_of(kind: Kind, **more: Any) -> World:
    return World(always(kind, **more), policy=WIDE)


def decision_of(world: World, event: str) -> dict[str, Any]:
    return next(d for d in world.decisions() if d["event_id"] == event)


def say(world: World, kind: Kind, *texts: str, start_s: float = 0, **more: Any) -> None:
    """Make statements a minute apart, the judge answering each with one kind."""
    world.judge.script = always(kind, **more)
    world.run([world.record(text, start_s + 120 * i) for i, text in enumerate(texts)])


def order(world: World, kind: str, **body: Any) -> dict[str, Any]:
    """Give a command and return what became of it."""
    world.run([world.command(kind, body)])
    return world.decisions()[-1]


def revert(world: World, event: str, **body: Any) -> dict[str, Any]:
    return order(world, "revert", decision_id=decision_of(world, event)["decision_id"], **body)


def texts(world: World) -> list[str]:
    return sorted(fact.text for fact in world.current())


def believed(world: World) -> list[Any]:
    """Return every row that is believed, apart from versions, counters and system times."""
    rows = asyncio.run(world.facts.select(None, current_only=False))
    found = [
        (row.fact_id, row.text, row.status, row.valid_from, row.valid_to, row.slot, row.supersedes, row.superseded_by,
         row.absorbed, row.merged_into, row.compatible_with, row.conflicts_with, row.review, row.stated_at, row.source)
        for row in rows
        if row.status in (Status.CURRENT, Status.PAST)
    ]  # fmt: skip
    return sorted(found, key=repr)


def told(world: World) -> list[tuple[str, str]]:
    """Return what new-facts was told: type and text."""
    return [
        (dict(m.headers)["ce_type"].decode().split(".")[1], json.loads(m.value or b"")["fact"]["text"])
        for m in world.outbox.of("new-facts")
    ]


def fact(world: World, text: str) -> Fact:
    rows = asyncio.run(world.facts.select(None, current_only=False))
    return next(row for row in rows if row.is_head and row.text == text)


class TestRetract:
    def test_a_fact_is_withdrawn_and_what_it_superseded_stays_past(self) -> None:
        """Retracting a successor withdraws it alone; saying it again is a no-op, of an unknown fact a refusal."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081")
        newer = fact(world, "the api port is now 8081")
        done = order(world, "retract", fact_id=newer.fact_id)
        assert (done["command"], done["outcome"], done["decision"]) == ("retract", "applied", None)
        assert texts(world) == []
        assert fact(world, "the api port is now 8080").status is Status.PAST
        assert told(world)[-1] == ("retracted", "the api port is now 8081")
        again = order(world, "retract", fact_id=newer.fact_id)
        assert (again["outcome"], again["effects"]) == ("no_op", [])
        assert order(world, "retract", fact_id="01943a5c-3f80-7a1b-9c2d-0123456789ab")["outcome"] == "refused"

    def test_former_wordings_go_with_it(self) -> None:
        """A fact that was never right is not believed of any time, nor at any later look; a revert brings all of it back."""
        world = world_of(Kind.ADD)
        say(world, Kind.UPDATE, "the api port is 8080", "the api port is 8080 today")
        before = believed(world)
        done = order(world, "retract", fact_id=world.current()[0].fact_id)
        assert believed(world) == []
        assert order(world, "revert", decision_id=done["decision_id"])["outcome"] == "applied"
        assert believed(world) == before
        now = world.clock.now()
        assert len(asyncio.run(world.facts.select("team", known_at=now))) == 1


class TestRevert:
    def test_of_a_supersede_both_stand(self) -> None:
        """The retired fact comes back with an open end, the newer one stays, and the pair is remembered on both."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081")
        done = revert(world, "e1")
        assert done["outcome"] == "applied"
        assert done["about_decision_id"] == decision_of(world, "e1")["decision_id"]
        old, new = fact(world, "the api port is now 8080"), fact(world, "the api port is now 8081")
        assert (old.status, old.valid_to, old.superseded_by) == (Status.CURRENT, FOREVER, None)
        assert (new.status, new.supersedes) == (Status.CURRENT, ())
        assert old.compatible_with == (new.fact_id,)
        assert new.compatible_with == (old.fact_id,)
        assert told(world)[-1] == ("reverted", "the api port is now 8080")
        assert [line["kind"] for line in done["supersessions"]] == ["revert"]
        assert revert(world, "e1")["outcome"] == "no_op"

    def test_a_pair_that_stands_is_not_asked_about_again(self) -> None:
        """A statement near both is put to the judge with the nearer one alone: the other is never retired by it."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081")
        revert(world, "e1")
        world.judge.questions.clear()
        everything = lambda q: Verdict(choice=Kind.SUPERSEDE, judge="x", targets=tuple(range(len(q.neighbours))))  # noqa: E731
        world.judge.script = everything
        world.run([world.record("the api port is now 8081 again", 500)])
        [question] = world.judge.questions
        assert [choice.text for choice in question.neighbours] == ["the api port is now 8081"]
        assert texts(world) == ["the api port is now 8080", "the api port is now 8081 again"]

    def test_of_a_supersede_with_drop(self) -> None:
        """The newer fact is withdrawn; what is believed is what was believed before it."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the api port is now 8080")
        before = believed(world)
        say(world, Kind.SUPERSEDE, "the api port is now 8081", start_s=120)
        done = revert(world, "e1", drop_newer=True)
        assert done["superseded_ids"] == [fact(world, "the api port is now 8081").fact_id]
        assert believed(world) == before
        assert [kind for kind, _ in told(world)[-2:]] == ["reverted", "retracted"]
        assert revert(world, "e1", drop_newer=True)["outcome"] == "no_op"

    def test_of_several_retired_facts(self) -> None:
        """All of them come back, each remembered beside the newer one."""
        world = world_of(Kind.ADD)
        say(world, Kind.ADD, "the port is now 8080", "the port is now 8081")
        world.judge.script = lambda q: Verdict(choice=Kind.SUPERSEDE, judge="x", targets=(0, 1))
        world.run([world.record("the port is now 8082", 600)])
        revert(world, "e2")
        assert texts(world) == ["the port is now 8080", "the port is now 8081", "the port is now 8082"]
        assert len(fact(world, "the port is now 8082").compatible_with) == 2
        assert len(fact(world, "the port is now 8080").compatible_with) == 1

    def test_of_an_update(self) -> None:
        """The former wording comes back as the next revision of the same fact; the statement stays as a fact of its own."""
        world = world_of(Kind.ADD)
        say(world, Kind.UPDATE, "the api port is 8080", "the api port is 8080 behind nginx")
        head = world.current()[0]
        revert(world, "e1")
        old, own = fact(world, "the api port is 8080"), fact(world, "the api port is 8080 behind nginx")
        assert (old.fact_id, old.revision, old.status) == (head.fact_id, head.revision + 1, Status.CURRENT)
        assert own.fact_id != head.fact_id
        assert texts(world) == ["the api port is 8080", "the api port is 8080 behind nginx"]
        assert world.timeline()[0][1] == FOREVER
        assert revert(world, "e1")["outcome"] == "no_op"
        # the wording's vector came back with it
        world.judge.questions.clear()
        world.run([world.record("the api port is 8080", 900)])
        assert world.decisions()[-1]["reason"] == "exact_duplicate"

    @pytest.mark.parametrize("kind", [Kind.UPDATE, Kind.MERGE, Kind.SUPERSEDE, Kind.ADD])
    def test_with_drop_nothing_of_it_is_left(self, kind: Kind) -> None:
        """Two facts, a decision about one or both, its revert with drop: what is believed is what was believed before."""
        world = world_of(Kind.ADD)
        say(world, Kind.ADD, "the port is now 8080", "the port is now 8081")
        before = believed(world)
        several = kind in (Kind.MERGE, Kind.SUPERSEDE)
        text = "the port is 8080 and 8081" if kind is Kind.MERGE else None
        world.judge.script = lambda q: Verdict(
            choice=kind, judge="x", targets=(0, 1) if several else (0,), text=text, conflicts=(0,), review="conflict"
        )
        world.run([world.record("the port is now 8080 8081", 600)])
        assert world.decisions()[-1]["decision"] == kind
        assert believed(world) != before
        assert revert(world, "e2", drop_newer=True)["outcome"] == "applied"
        assert believed(world) == before

    def test_of_a_merge_all_three_stand(self) -> None:
        """Absorbed facts come back, the head gets its former wording, the statement is stored on its own."""
        world = world_of(Kind.ADD)
        say(world, Kind.ADD, "the port is now 8080", "the port is now 8081")
        world.judge.script = lambda q: Verdict(
            choice=Kind.MERGE, judge="x", targets=(0, 1), text="the port is 8080 and 8081"
        )
        world.run([world.record("the port is now 8080 8081", 600)])
        assert texts(world) == ["the port is 8080 and 8081"]
        revert(world, "e2")
        assert texts(world) == ["the port is now 8080", "the port is now 8080 8081", "the port is now 8081"]

    def test_of_a_skip_the_candidate_is_stored_after_all(self) -> None:
        """It becomes a fact of its own, with its attributes; the statement is not counted on the other any more."""
        world = world_of(Kind.ADD)
        say(world, Kind.SKIP, "the owner of the billing service is ana")
        world.run([world.record("the owner of the billing service is ben", 300, attributes={"by": "chat"}, slot="x")])
        assert decision_of(world, "e1")["decision"] == "skip"
        assert world.current()[0].stated_count == 2
        done = revert(world, "e1")
        stored = fact(world, "the owner of the billing service is ben")
        assert (stored.status, stored.attributes, stored.slot) == (Status.CURRENT, {"by": "chat"}, "x")
        assert stored.stated_at == (decision_time(world, "e1"),)
        assert fact(world, "the owner of the billing service is ana").stated_count == 1
        assert told(world)[-1] == ("added", "the owner of the billing service is ben")
        assert revert(world, "e1")["outcome"] == "no_op"
        assert order(world, "revert", decision_id=done["decision_id"])["outcome"] == "applied"
        assert texts(world) == ["the owner of the billing service is ana"]
        assert fact(world, "the owner of the billing service is ana").stated_count == 2
        assert order(world, "revert", decision_id=done["decision_id"])["outcome"] == "no_op"
        assert fact(world, "the owner of the billing service is ana").stated_count == 2

    def test_of_a_skip_by_the_hash_window(self) -> None:
        """What the window knew of a text does not hide the fact that was stored after all."""
        world = World(policy=Policy(skip_guard="off"))
        world.run([world.record("ran the tests", i, source="post_tool_use") for i in range(2)])
        assert decision_of(world, "e1")["via"] in ("hash_window", "text")
        revert(world, "e1")
        assert texts(world) == ["ran the tests"] * 2
        world.run([world.record("ran the tests", 3, source="post_tool_use")])
        assert world.decisions()[-1]["decision"] == "skip"
        assert len(world.current()) == 2

    def test_of_an_add_needs_drop(self) -> None:
        """Nothing was put out of force: without drop there is nothing to bring back."""
        world = world_of(Kind.ADD)
        say(world, Kind.ADD, "redis is the cache")
        assert revert(world, "e0")["outcome"] == "refused"
        assert revert(world, "e0", drop_newer=True)["outcome"] == "applied"
        assert texts(world) == []

    def test_of_late_history(self) -> None:
        """A late statement's place in a timeline is given back to what was taken to be true."""
        world = world_of(Kind.SUPERSEDE)
        world.run([world.record(f"port {t}", at, slot="user.port") for t, at in (("8080", 0), ("8082", 4000))])
        before = believed(world)
        world.run([world.record("port 8081", 2000, slot="user.port")])
        assert world.decisions()[-1]["reason"] == "late_history"
        assert revert(world, "e2")["outcome"] == "applied"
        assert [row[2] for row in world.timeline()].count("port 8080") == 1
        assert fact(world, "port 8080").valid_to == fact(world, "port 8082").valid_from
        assert revert(world, "e2", drop_newer=True)["outcome"] == "applied"
        assert [row[:8] for row in believed(world)] == [row[:8] for row in before]

    def test_of_a_revert(self) -> None:
        """A revert is undone like anything else, and that again."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081")
        after = believed(world)
        first = revert(world, "e1")
        both = believed(world)
        second = order(world, "revert", decision_id=first["decision_id"])
        assert second["outcome"] == "applied"
        assert believed(world) == after
        assert order(world, "revert", decision_id=second["decision_id"])["outcome"] == "applied"
        assert believed(world) == both

    def test_in_a_chain_the_newest_goes_first(self) -> None:
        """What changed since is not overrun: the refusal names the decision to revert first. In that order all of it comes back."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081", "the api port is now 8082")
        refused = revert(world, "e1")
        assert refused["outcome"] == "refused"
        assert decision_of(world, "e2")["decision_id"] in refused["reason"]
        assert texts(world) == ["the api port is now 8082"]
        assert revert(world, "e2")["outcome"] == "applied"
        assert revert(world, "e1")["outcome"] == "applied"
        assert len(world.current()) == 3

    def test_with_force_despite_later_changes(self) -> None:
        """The retired fact comes back, its successors stay as they are, and the outcome says what was left."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081", "the api port is now 8082")
        done = revert(world, "e1", force=True)
        assert done["outcome"] == "applied"
        assert texts(world) == ["the api port is now 8080", "the api port is now 8082"]
        assert fact(world, "the api port is now 8081").supersedes == ()

    def test_force_brings_a_wording_back_over_later_ones(self) -> None:
        """Forced, an update's former wording holds from now on; what was believed of the time before stays."""
        world = world_of(Kind.ADD)
        say(world, Kind.UPDATE, "the port is 8080", "the port is 8080 ok", "the port is 8080 ok now")
        assert revert(world, "e1", drop_newer=True)["outcome"] == "refused"
        done = revert(world, "e1", drop_newer=True, force=True)
        assert done["outcome"] == "applied"
        assert "left as it is" in done["reason"]
        assert texts(world) == ["the port is 8080"]

    def test_by_any_name(self) -> None:
        """A decision is found by its id, its event's key, and its event's id, with or without the source; in no other namespace."""
        for name in ("decision_id", "event_key", "event_id", "ce"):
            world = world_of(Kind.ADD)
            say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081")
            found = decision_of(world, "e1")
            body = {"event_id": "e1", "ce_source": "test"} if name == "ce" else {name: found[name]}
            world.run([world.command("revert", body, namespace="other")])
            assert world.decisions()[-1]["outcome"] == "refused"
            assert order(world, "revert", **body)["outcome"] == "applied"

    def test_given_embeddings_come_back_with_their_wording(self) -> None:
        """A wording whose vector came along is searched by that vector again."""
        world = world_of(Kind.ADD)
        vector = [float(x) for x in world.embedder.vector("entirely other words")]
        world.judge.script = always(Kind.UPDATE)
        world.run([world.record("port 8080", embedding=vector, embedding_model="toy", slot="p")])
        world.run([world.record("port 8080 today", 300, slot="p")])
        head = world.current()[0]
        revert(world, "e1", drop_newer=True)
        stored = asyncio.run(world.facts.vectors([head.fact_id]))[head.fact_id]
        assert [round(float(x), 5) for x in stored] == [round(x, 5) for x in vector]


def decision_time(world: World, event: str) -> Any:
    from factsieve.wire.times import parse_rfc3339

    return parse_rfc3339(decision_of(world, event)["resolved_at"])


def flagged(world: World, first: str, second: str, **more: Any) -> None:
    world.judge.script = always(Kind.ADD, conflicts=(0,), review="conflict")
    world.run([world.record(first, 0), world.record(second, 600)])
    assert decision_of(world, "e1")["review"] == "conflict"


def review(world: World, event: str, **body: Any) -> dict[str, Any]:
    return order(world, "review", decision_id=decision_of(world, event)["decision_id"], **body)


class TestReview:
    FIRST, SECOND = "the api port is now 8080", "the api port is now 8081"

    def world(self) -> World:
        world = world_of(Kind.ADD)
        flagged(world, self.FIRST, self.SECOND)
        return world

    def test_add_lets_both_stand(self) -> None:
        """The flag and the conflict are gone, the pair is remembered; a second review is a no-op."""
        world = self.world()
        assert review(world, "e1", decision="add")["outcome"] == "applied"
        old, new = fact(world, self.FIRST), fact(world, self.SECOND)
        assert (new.review, new.conflicts_with, old.conflicts_with) == (None, (), ())
        assert new.compatible_with == (old.fact_id,)
        assert old.compatible_with == (new.fact_id,)
        assert review(world, "e1", decision="supersede")["outcome"] == "no_op"

    def test_supersede_retires_the_rival_at_the_flagged_facts_time(self) -> None:
        """The flagged fact becomes the successor, as if it had been decided so at once."""
        world = self.world()
        direct = world_of(Kind.SUPERSEDE)
        direct.run([direct.record(self.FIRST, 0), direct.record(self.SECOND, 600)])
        done = review(world, "e1", decision="supersede")
        assert done["outcome"] == "applied"
        assert believed(world) == believed(direct)
        assert told(world)[-1] == ("superseded", self.SECOND)
        assert [line["kind"] for line in done["supersessions"]] == ["supersede"]
        undone = order(world, "revert", decision_id=done["decision_id"])
        assert undone["outcome"] == "applied"
        assert fact(world, self.SECOND).review == "conflict"
        assert texts(world) == [self.FIRST, self.SECOND]

    def test_a_flagged_fact_that_was_stated_first_becomes_history(self) -> None:
        """A statement never retires what was stated after it."""
        world = self.world()
        world.run([world.record(self.FIRST, 1200)])
        rival = fact(world, self.FIRST)
        if rival.last_stated_at <= fact(world, self.SECOND).last_stated_at:
            rival = next(f for f in world.current() if f.valid_from > fact(world, self.SECOND).valid_from)
        done = review(world, "e1", decision="supersede", targets=[rival.fact_id])
        assert done["outcome"] == "applied"
        assert fact(world, self.SECOND).status is Status.PAST

    def test_skip_folds_it_into_the_other(self) -> None:
        """Both statements are counted on the one that stays."""
        world = self.world()
        assert review(world, "e1", decision="skip")["outcome"] == "applied"
        old, new = fact(world, self.FIRST), fact(world, self.SECOND)
        assert (old.status, old.stated_count, old.absorbed) == (Status.CURRENT, 2, (new.fact_id,))
        assert (new.status, new.merged_into, new.valid_to) == (Status.PAST, old.fact_id, new.valid_from)
        assert told(world)[-1] == ("merged", self.FIRST)

    def test_update_gives_the_other_its_wording(self) -> None:
        """The rival says what the flagged fact said, as its next revision."""
        world = self.world()
        old = fact(world, self.FIRST)
        assert review(world, "e1", decision="update")["outcome"] == "applied"
        [now] = world.current()
        assert (now.fact_id, now.text, now.revision) == (old.fact_id, self.SECOND, old.revision + 1)
        assert [text for _, _, text in world.timeline()] == [self.FIRST, self.SECOND]

    def test_merge_needs_a_text(self) -> None:
        """One statement made of several is worded by whoever decides."""
        world = self.world()
        assert review(world, "e1", decision="merge")["outcome"] == "refused"
        assert review(world, "e1", decision="merge", text="the ports are 8080 and 8081")["outcome"] == "applied"
        assert texts(world) == ["the ports are 8080 and 8081"]

    def test_targets_must_be_current_facts(self) -> None:
        """What can not be decided so is refused by name, and nothing changes."""
        world = self.world()
        before = world.state()
        absent = "01943a5c-3f80-7a1b-9c2d-0123456789ab"
        refused = review(world, "e1", decision="supersede", targets=[absent])
        assert refused["outcome"] == "refused"
        assert absent in refused["reason"]
        assert review(world, "e0", decision="add")["outcome"] == "no_op"
        assert world.state() == before

    @pytest.mark.parametrize("kind", list(Kind))
    def test_the_judge_is_asked_now(self, kind: Kind) -> None:
        """A judge that did not answer then is asked with the facts that were there then; each answer has its effect."""
        world = world_of(Kind.ADD)
        world.judge.script = lambda q: Verdict(choice=None, judge="llm", failure="timeout")
        world.run(
            [
                world.record(self.FIRST, 0),
                world.record(self.SECOND, 600),
                world.record("the api port is now 8082", 1200),
            ]
        )
        assert [d["reason"] for d in world.decisions()][1:] == ["no_answer", "no_answer"]
        left = review(world, "e1", ask=True)
        assert (left["outcome"], fact(world, self.SECOND).review is not None) == ("no_op", True)
        world.judge.questions.clear()
        world.judge.script = always(kind, text=None if kind is not Kind.MERGE else self.SECOND)
        done = review(world, "e1", ask=True)
        assert done["outcome"] == "applied"
        assert done["judges"][0]["choice"] == kind
        [question] = world.judge.questions
        assert [choice.text for choice in question.neighbours] == [self.FIRST]
        left_texts = {
            Kind.ADD: [self.FIRST, self.SECOND],
            Kind.SUPERSEDE: [self.SECOND],
            Kind.UPDATE: [self.SECOND],
            Kind.MERGE: [self.SECOND],
            Kind.SKIP: [self.FIRST],
        }
        assert texts(world) == sorted([*left_texts[kind], "the api port is now 8082"])
        assert world.decisions()[-1]["outcome"] == "applied"


def raising(_: Question) -> Verdict:
    raise RuntimeError("the model fell over")


FAILURES: dict[str, Callable[[Question], Verdict]] = {
    "timeout": lambda q: Verdict(choice=None, judge="llm", failure="timeout"),
    "exception": raising,
    "no target": lambda q: Verdict(choice=Kind.SUPERSEDE, judge="llm"),
    "target out of range": lambda q: Verdict(choice=Kind.SKIP, judge="llm", targets=(9,)),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_ten_failures_of_a_model_are_made_up_for_by_review(failure: str) -> None:
    """Nothing is skipped or retired meanwhile; asked again oldest first, it ends as if the model had answered at once."""
    said = [f"the api port is now {8080 + n}" for n in range(11)]
    answering = World(always(Kind.SUPERSEDE), policy=ASKING)
    answering.run([answering.record(text, 600 * n) for n, text in enumerate(said)])
    world = World(FAILURES[failure], policy=ASKING)
    world.run([world.record(text, 600 * n) for n, text in enumerate(said)])
    assert [d["decision"] for d in world.decisions()] == ["add"] * 11
    assert all(d["review"] for d in world.decisions()[1:])
    assert texts(world) == sorted(said)
    world.judge.script = always(Kind.SUPERSEDE)
    flagged = [fact for fact in world.current() if fact.review is not None]
    assert len(flagged) == 10
    for one in flagged:
        assert order(world, "review", fact_id=one.fact_id, ask=True)["outcome"] == "applied"
    assert texts(world) == [said[-1]]
    assert world.timeline() == answering.timeline()
    assert [fact for fact in world.current() if fact.review is not None] == []


def test_commands_are_signed() -> None:
    """An unsigned or wrongly signed command changes nothing and goes to the dead letters."""
    world = world_of(Kind.ADD)
    say(world, Kind.ADD, "redis is the cache")
    body = {"fact_id": world.current()[0].fact_id}
    world.run([world.command("retract", body, key=b"another")])
    assert texts(world) == ["redis is the cache"]
    assert world.decisions()[-1]["error"]["code"] == "command_unauthorised"


def test_a_command_again_is_told_again_and_does_nothing() -> None:
    """The same event twice: one effect, the same outcome reported."""
    world = world_of(Kind.ADD)
    say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081")
    record = world.command("revert", {"decision_id": decision_of(world, "e1")["decision_id"]})
    world.run([record])
    state, first = world.state(), world.decisions()[-1]
    world.run([record])
    assert world.state() == state
    assert world.decisions()[-1] == first


def everything_stored(world: World) -> str:
    """Return all that the stores hold, as text."""
    rows = asyncio.run(world.facts.select(None, current_only=False))
    records = [body for body, _ in world.ledger._records.values()]
    return "\n".join([*map(repr, rows), *(body.decode() for body in records)])


def vectors_of(world: World, fact_id: str) -> list[Any]:
    rows = asyncio.run(world.facts.history("team", fact_id))
    return list(asyncio.run(world.facts.vectors([row.point_id for row in rows])).values())


class TestErase:
    SECRET = "ana has the access code 4711"

    def test_nothing_of_a_fact_is_left(self) -> None:
        """Text, history, vectors and ledger: gone; others' texts stay; the compacted topic gets a tombstone."""
        world = world_of(Kind.ADD)
        say(world, Kind.ADD, "the api port is now 8080")
        world.judge.script = always(Kind.UPDATE, reason="says code 4711")
        records = [
            world.record(self.SECRET, 10),
            world.record(self.SECRET + " now", 200, slot=None),
            world.record(self.SECRET + " now", 300),
        ]
        world.run(records)
        secret = fact(world, self.SECRET + " now")
        done = order(world, "erase", fact_id=secret.fact_id)
        assert (done["outcome"], done["text"], done["fact_id"]) == ("applied", "", secret.fact_id)
        assert "4711" not in everything_stored(world)
        assert "the api port is now 8080" in everything_stored(world)
        assert {tuple(vector) for vector in vectors_of(world, secret.fact_id)} == {(1.0, *[0.0] * 63)}
        assert "4711" not in json.dumps(done)
        assert told(world)[-1] == ("erased", "")
        assert world.outbox.latest("facts")[secret.fact_id.encode()] is None
        state = world.state()
        assert order(world, "erase", fact_id=secret.fact_id)["outcome"] == "no_op"
        assert world.state() == state
        # again, at the same place and by a replay: nothing comes back, nothing is told
        world.outbox.clear()
        world.run(records)
        world.run([world.record(self.SECRET, 10, event=f"e{records[0].offset}", replay="r1")])
        assert world.state() == state
        assert {(d["decision"], d["reason"], d["text"]) for d in world.decisions()} == {("skip", "erased", "")}
        assert "4711" not in repr(world.outbox.messages)
        # a new statement is a new fact
        world.run([world.record(self.SECRET, 900, event="new")])
        assert self.SECRET in texts(world)

    def test_of_a_statement_that_was_skipped(self) -> None:
        """A repeat's own words are in the ledger alone, and go; the fact stays."""
        world = world_of(Kind.ADD)
        say(world, Kind.SKIP, "the access code of the door is 4711")
        world.run([world.record("the access code of the door is 0815", 300)])
        assert decision_of(world, "e1")["decision"] == "skip"
        done = order(world, "erase", event_id="e1", ce_source="test")
        assert (done["outcome"], done["about_decision_id"]) == ("applied", decision_of(world, "e1")["decision_id"])
        assert "0815" not in everything_stored(world)
        assert texts(world) == ["the access code of the door is 4711"]
        assert order(world, "erase", event_id="e1", ce_source="test")["outcome"] == "no_op"
        assert revert(world, "e1")["outcome"] == "refused"

    def test_of_a_statement_that_reworded_a_fact(self) -> None:
        """The fact gets its former wording back, the erased one is in none of its rows."""
        world = world_of(Kind.ADD)
        say(world, Kind.UPDATE, "the access code is secret", "the access code is secret 4711")
        head = world.current()[0]
        assert order(world, "erase", event_id="e1")["outcome"] == "applied"
        assert texts(world) == ["the access code is secret"]
        assert world.current()[0].fact_id == head.fact_id
        assert world.current()[0].revision > head.revision
        assert "4711" not in everything_stored(world)
        assert told(world)[-1] == ("reverted", "the access code is secret")
        world.run([world.record("the access code is secret", 900)])
        assert world.decisions()[-1]["reason"] == "exact_duplicate"

    def test_of_a_statement_that_was_added(self) -> None:
        """The fact that it made goes; what it superseded stays past."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the access code is 0815", "the access code is 4711")
        assert order(world, "erase", event_key=decision_of(world, "e1")["event_key"])["outcome"] == "applied"
        assert "4711" not in everything_stored(world)
        assert fact(world, "the access code is 0815").status is Status.PAST

    def test_a_merged_wording_that_rests_on_it_goes_too(self) -> None:
        """The fact that took it up gets its former wording back, what it took up besides is current again."""
        world = world_of(Kind.ADD)
        say(world, Kind.ADD, "the code is now 4711", "the code is now 8081", "the code is now 8082")
        world.judge.script = lambda q: Verdict(
            choice=Kind.MERGE, judge="x", targets=(1, 0, 2), text="the code is now 8081 4711 8082"
        )
        world.run([world.record("the code is now 9", 900)])
        assert texts(world) == ["the code is now 8081 4711 8082"]
        world.run([world.record("the code is now 8081 4711 8082", 1500)])
        absorbed = fact(world, "the code is now 4711")
        done = order(world, "erase", fact_id=absorbed.fact_id)
        assert done["outcome"] == "applied"
        assert "4711" not in everything_stored(world)
        assert texts(world) == ["the code is now 8081", "the code is now 8082"]

    def test_an_erased_fact_answers_no_command(self) -> None:
        """What is gone can not be brought back, withdrawn or decided about; nor can an erase be undone."""
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, "the access code is 0815", "the access code is 4711")
        old = fact(world, "the access code is 0815")
        done = order(world, "erase", fact_id=old.fact_id)
        assert order(world, "revert", decision_id=done["decision_id"])["outcome"] == "refused"
        assert order(world, "retract", fact_id=old.fact_id)["outcome"] == "refused"
        assert revert(world, "e1")["outcome"] == "refused"
        assert revert(world, "e0", drop_newer=True)["outcome"] == "refused"
        assert texts(world) == ["the access code is 4711"]
        assert order(world, "erase", fact_id="01943a5c-3f80-7a1b-9c2d-0123456789ab")["outcome"] == "refused"

    def test_of_a_whole_namespace_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each command erases what one record can hold and says what is left; the last one is a no-op; others' facts stay."""
        monkeypatch.setattr("factsieve.engine.erasures.FACTS_PER_COMMAND", 4)
        world = world_of(Kind.ADD)
        say(world, Kind.SUPERSEDE, *[f"the access code is {n} 4711" for n in range(10)])
        world.run([world.record("the access code is 4711", namespace="other")])
        outcomes = [order(world, "erase", whole_namespace=True)["outcome"] for _ in range(8)]
        assert outcomes[:3] == ["applied"] * 3
        assert outcomes[-1] == "no_op"
        rows = asyncio.run(world.facts.select("team", current_only=False))
        assert {row.text for row in rows} == {""}
        assert texts_of(world, "other") == ["the access code is 4711"]
        assert everything_stored(world).count("4711") == everything_stored_of(world, "other").count("4711")

    def test_in_parts_where_a_fact_has_too_many_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The fact itself goes last; the outcome says how many rows are left."""
        monkeypatch.setattr("factsieve.engine.commands.POINTS_LIMIT", 4)
        world = world_of(Kind.ADD)
        say(world, Kind.UPDATE, *[f"the access code is {n} 4711" for n in range(4)])
        fact_id = world.current()[0].fact_id
        first = order(world, "erase", fact_id=fact_id)
        assert (first["outcome"], "are left" in first["reason"]) == ("applied", True)
        assert world.current()[0].fact_id == fact_id
        order(world, "erase", fact_id=fact_id)
        assert "4711" not in everything_stored(world)
        assert order(world, "erase", fact_id=fact_id)["outcome"] == "no_op"


def texts_of(world: World, namespace: str) -> list[str]:
    return [fact.text for fact in world.current(namespace)]


def everything_stored_of(world: World, namespace: str) -> str:
    rows = asyncio.run(world.facts.select(namespace, current_only=False))
    records = [body.decode() for body, fields in world.ledger._records.values() if fields["namespace"] == namespace]
    return "\n".join([*map(repr, rows), *records])


def test_a_command_that_changes_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that would be too large for one record changes nothing, and says what to do."""
    monkeypatch.setattr("factsieve.engine.commands.POINTS_LIMIT", 3)
    world = world_of(Kind.ADD)
    say(world, Kind.SUPERSEDE, "the api port is now 8080", "the api port is now 8081")
    state = world.state()
    done = revert(world, "e1")
    assert (done["outcome"], "one by one" in done["reason"]) == ("refused", True)
    assert world.state() == state


def test_a_recorded_command_is_carried_out_however_old_it_is_by_now() -> None:
    """Its worker died between record and pointers and came back late: what is recorded counts, not the age of the signature."""
    world = world_of(Kind.ADD)
    say(world, Kind.ADD, "redis is the cache")
    command = world.command("retract", {"fact_id": world.current()[0].fact_id})
    before = world.facts
    world.facts = copy.deepcopy(before)
    world.run([command])
    assert world.decisions()[-1]["outcome"] == "applied"
    world.facts = before  # the effects and the pointer were not written
    lost = [key for key, at in world.ledger._pointers.items() if at.record_id in _records_of(world, command)]
    for key in lost:
        del world.ledger._pointers[key]
    assert lost
    assert texts(world) == ["redis is the cache"]
    world.clock.advance(2 * world.settings.command_max_age_s)
    world.run([command])
    assert texts(world) == []
    assert world.decisions()[-1]["outcome"] == "applied"
    assert world.outbox.of("candidate-facts-dlt") == []


def _records_of(world: World, command: Record) -> set[str]:
    """Return the ledger records of a command's event."""
    name = dict(command.headers)["ce_id"].decode()
    found = {record_id: decode_record(body) for record_id, (body, _) in world.ledger._records.items()}
    return {one for one, record in found.items() if any(e.decision.event_id == name for e in record.entries)}
