"""Any sequence of statements and commands leaves one consistent story, in waves as one at a time, whatever dies in between."""

import asyncio
import hashlib
import random
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from factsieve.core import ids
from factsieve.core.facts import FOREVER, Fact, Kind, Status
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policy
from factsieve.wire.ledger import decode_record
from tests.engine.harness import START, World, stripped
from tests.engine.test_recovery import Life, decided, run_until_dead

BELIEVED = (Status.CURRENT, Status.PAST)
MANY = settings(
    max_examples=150, deadline=None, phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck)
)
FEWER = settings(MANY, max_examples=60)

NEAR = Policy(
    skip_guard="off",
    skip_threshold=0.999,
    ambiguous_threshold=0.6,
    supersede_threshold=0.3,
    second_look_floor=0.2,
    supersede_scan_limit=3,
)
"""Puts nearly every statement before the judge, with all five choices."""


def statement_of(chance: random.Random) -> dict[str, Any]:
    """Return a statement, most of them in order of time (`at_s` None)."""
    return {
        "text": f"the api port is now {8080 + chance.randrange(6)}",
        "at_s": chance.choice([None, None, None, chance.randrange(-20, 60) * 50]),
        "slot": chance.choice([None, None, "user.port"]),
        "source": chance.choice(["remember", "remember", "post_tool_use"]),
    }


def command_of(chance: random.Random) -> dict[str, Any]:
    """Return a command about one of the last few events."""
    kind = chance.choice(["revert", "revert", "revert", "revert", "revert", "retract", "review", "review", "erase"])
    command: dict[str, Any] = {"command": kind, "back": chance.choice([1, 1, 2, 2, 3, 4, 5])}
    if kind == "revert":
        command |= {"drop_newer": chance.random() < 0.4, "force": chance.random() < 0.3}
    elif kind == "erase":
        command["of"] = chance.choice(["fact", "event"])
    elif kind == "review":
        command |= chance.choice([{"ask": True}, {"decision": chance.choice(list(Kind)), "text": "the port is any"}])
    return command


def stream_of(seed: int, most: int = 20) -> list[dict[str, Any]]:
    """Return a stream that begins with statements and goes on with both."""
    chance = random.Random(seed)
    length = chance.randrange(4, most)
    return [
        statement_of(chance) if number < 3 or chance.random() < 0.55 else command_of(chance) for number in range(length)
    ]


def forced_of(seed: int) -> list[dict[str, Any]]:
    """Return a stream with many reverts of reverts, most of them forced."""
    chance = random.Random(seed)
    stream = [statement_of(chance) for _ in range(chance.randrange(2, 5))]
    for _ in range(chance.randrange(3, 12)):
        command = {
            "command": "revert",
            "back": chance.choice([1, 1, 2, 2, 3, 4, 5]),
            "drop_newer": chance.random() < 0.3,
        }
        forced = {**command, "force": chance.random() < 0.8}
        stream.append(chance.choice([statement_of(chance), forced, forced, forced, command_of(chance)]))
    return stream


def tangled_of(seed: int) -> list[dict[str, Any]]:
    """Return a stream of reverts, nearly all of them forced and many of reverts, with new statements in between."""
    chance = random.Random(f"t{seed}")
    stream = [statement_of(chance) for _ in range(chance.randrange(2, 4))]
    for _ in range(chance.randrange(6, 16)):
        if chance.random() >= 0.65:
            stream.append(statement_of(chance))
            continue
        revert = {"command": "revert", "back": chance.choice([1, 2, 2, 3, 3, 4, 5, 6])}
        stream.append({**revert, "drop_newer": chance.random() < 0.3, "force": chance.random() < 0.85})
    return stream


seeds = st.integers(0, 2**48)
streams = seeds.map(stream_of)
spoken = seeds.map(lambda seed: [statement_of(random.Random(f"{seed}/{n}")) for n in range(3 + seed % 9)])


def varied(question: Question) -> Verdict:
    """Return an arbitrary but reproducible verdict of every kind; some leave the choice to a person."""
    neighbours = question.neighbours
    digest = hashlib.sha256("|".join([question.text, *(choice.text for choice in neighbours)]).encode()).digest()
    allowed = sorted(question.allowed)
    kind = allowed[digest[0] % len(allowed)]
    targets = tuple(range(len(neighbours)))[: 1 + digest[1] % 3]
    match kind:
        case Kind.ADD if digest[2] % 2:
            return Verdict(choice=kind, judge="digest", review="conflict", conflicts=targets)
        case Kind.MERGE:
            words = dict.fromkeys(word for choice in neighbours for word in choice.text.split())
            return Verdict(choice=kind, judge="digest", targets=targets, text=" ".join(words))
        case Kind.SKIP | Kind.UPDATE:
            return Verdict(choice=kind, judge="digest", targets=targets[:1])
        case _:
            return Verdict(choice=kind, judge="digest", targets=targets, reason="by digest")


def records_of(world: World, stream: list[dict[str, Any]], start: int = 0) -> list[Any]:
    """Return the records of a stream; a command is about the event so many places `back`, which may be a command too."""
    records = []
    keys = [
        ids.event_key("team", "desk" if "command" in event else "test", f"e{number}")
        for number, event in enumerate(stream)
    ]
    times = [2000 + 100 * n if (at := event.get("at_s")) is None else at for n, event in enumerate(stream)]
    for number, event in enumerate(stream):
        if number < start:
            continue
        if "command" not in event:
            records.append(world.record(event=f"e{number}", **{**event, "at_s": times[number]}))
            continue
        body = {field: value for field, value in event.items() if field not in ("command", "back", "of")}
        to = max(0, number - event["back"])
        if event["command"] == "retract" or event.get("of") == "fact":
            body["fact_id"] = ids.fact_id(START + timedelta(seconds=times[to]), keys[to])
        else:
            body["decision_id"] = ids.decision_id(keys[to])
        records.append(world.command(event["command"], body, event=f"e{number}"))
    return records


def every_row(world: World) -> list[Fact]:
    return asyncio.run(world.facts.select(None, current_only=False))


def check_erased(world: World) -> None:
    """Events whose statement was erased decide nothing any more, and no erased row has a text."""
    for row in every_row(world):
        assert (row.text == "") == (row.status is Status.ERASED)


def check_consistent(world: World) -> None:
    """What is current is open and retired by nobody; links lead to facts that exist, and forward only."""
    rows = every_row(world)
    heads = {row.fact_id: row for row in rows if row.is_head}
    for row in rows:
        assert row.fact_id in heads
        for other in (*row.supersedes, *row.absorbed, *row.compatible_with, *row.conflicts_with):
            assert other in heads, (row, other)
        for successor in (row.superseded_by, row.merged_into):
            assert successor is None or successor in heads
        if row.status not in BELIEVED:
            continue
        assert row.valid_from <= row.valid_to
        assert row.stated_count >= 1
        if row.status is Status.CURRENT:
            assert row.is_head
            assert (row.valid_to, row.superseded_by, row.merged_into) == (FOREVER, None, None), row
            for one in row.compatible_with:
                if heads[one].status is Status.CURRENT:
                    assert row.fact_id not in heads[one].supersedes
        else:
            assert row.valid_to < FOREVER
        for one in row.supersedes if row.is_head else ():
            current = heads[one].status is Status.CURRENT
            former = [r for r in rows if r.fact_id == one and r.status in (Status.PAST, Status.ERASED)]
            cut = any(r.superseded_by is not None for r in former)  # by a late one
            assert not current or cut, f"{one} is current and superseded by {row.fact_id}"
        assert not any(heads[one].status is Status.CURRENT for one in row.absorbed) or not row.is_head
        seen: set[str] = set()
        step = row
        while step.superseded_by is not None:
            assert step.point_id not in seen, f"a cycle through {step.point_id}"
            seen.add(step.point_id)
            step = heads[step.superseded_by]


def strays(world: World) -> set[tuple[str, str, str]]:
    """Return links of facts to such as are not out of force through them, be it by way of others, and links that are missing.

    Statements that come late may leave some: they come between a fact and its successor.
    """
    rows = [row for row in every_row(world) if row.status is not Status.ARCHIVED]
    heads = {row.fact_id: row for row in rows if row.is_head}
    found: set[tuple[str, str, str]] = set()

    def leads_to(row: Fact, successor: str) -> bool:
        seen: set[str] = set()
        while row.superseded_by is not None and row.superseded_by not in seen:
            if successor in (row.superseded_by, row.merged_into):
                return True
            seen.add(row.superseded_by)
            row = heads[row.superseded_by]
        return False

    for head in heads.values():
        for one in (*head.supersedes, *head.absorbed) if head.status in BELIEVED else ():
            its = [row for row in rows if row.fact_id == one]
            if not any(row.status is Status.ERASED or leads_to(row, head.fact_id) for row in its):
                found.add(("too many", head.fact_id, one))
        if head.status is Status.PAST and head.superseded_by is not None and not head.history:
            successor = [r for r in rows if r.fact_id == head.superseded_by and r.status in BELIEVED]
            if successor and not any(head.fact_id in (*row.supersedes, *row.absorbed) for row in successor):
                found.add(("too few", head.superseded_by, head.fact_id))
    return found


def story(world: World) -> list[Any]:
    """Return what is believed, apart from versions, counters and system times."""
    return sorted(
        (row.fact_id, row.text, row.status, row.valid_from, row.valid_to, row.slot, sorted(row.supersedes),
         row.superseded_by, sorted(row.absorbed), row.merged_into, sorted(row.conflicts_with), row.review, row.history)
        for row in every_row(world)
        if row.status in BELIEVED
    )  # fmt: skip


def world_of(**more: int) -> World:
    return World(varied, policy=NEAR, **more)


@MANY
@given(stream=streams)
def test_any_sequence_of_decisions_and_commands_leaves_one_consistent_chain(stream: list[dict[str, Any]]) -> None:
    """No cycle, no dangling id, no fact both current and superseded; and each command again is a no-op or refused."""
    world = world_of()
    records = records_of(world, stream)
    for record in records:
        world.run([record])
        check_consistent(world)
        check_erased(world)
        last = world.decisions()[-1]
        assert last.get("error") is None, last
        if last["command"] == "revert" and last["outcome"] == "applied":
            number = int(last["event_id"][1:])
            body = {f: v for f, v in stream[number].items() if f not in ("command", "back")}
            before = world.state()
            world.run([world.command("revert", {**body, "decision_id": last["about_decision_id"]})])
            again = world.decisions()[-1]
            assert (again["outcome"], world.state()) == ("no_op", before), again


def test_what_is_forced_is_done_for_all_that_it_can_be_done_for() -> None:
    """Reverts of reverts, however tangled and forced, leave one consistent chain, and none is refused for what it would tear."""
    for seed in range(1, 101):
        world = world_of()
        for record in records_of(world, forced_of(seed)):
            world.run([record])
            check_consistent(world)
            last = world.decisions()[-1]
            assert "contradicts" not in str(last["reason"]), last


def test_reverts_leave_no_link_too_many_and_none_too_few() -> None:
    """Forced reverts of reverts, with statements in between: who replaced whom is told by both sides alike.

    The last six seeds once left one each.
    """
    for seed in (*range(12), 88, 148, 161, 313, 1052, 2192):
        world = world_of()
        before: set[tuple[str, str, str]] = set()
        for event, record in zip(stream := tangled_of(seed), records_of(world, stream), strict=True):
            world.run([record])
            check_consistent(world)
            after = strays(world)
            assert "command" not in event or after <= before, (seed, world.decisions()[-1]["event_id"], after - before)
            before = after


class Told:
    """A world that does what a test says: statements are letters, each with what it does to which others."""

    def __init__(self) -> None:
        self.world = World(self._answer, policy=NEAR)
        self._wanted: tuple[Kind, str] = (Kind.ADD, "")
        self.at_s = 0

    def _answer(self, question: Question) -> Verdict:
        kind, about = self._wanted
        targets = [n for n, choice in enumerate(question.neighbours) if choice.text[-1] in about]
        if kind is Kind.ADD:
            return Verdict(choice=kind, judge="told")
        assert len(targets) == len(about), [choice.text for choice in question.neighbours]
        return Verdict(choice=kind, judge="told", targets=tuple(targets), text=question.text)

    def say(self, letter: str, kind: Kind = Kind.ADD, about: str = "") -> str:
        self._wanted = kind, about
        self.at_s += 100
        return self._done(self.world.record(f"the api port is now {letter}", self.at_s))

    def revert(self, about: str, *, drop: bool = False, force: bool = True) -> str:
        return self._done(self.world.command("revert", {"decision_id": about, "drop_newer": drop, "force": force}))

    def _done(self, record: Any) -> str:
        self.world.run([record])
        last = self.world.decisions()[-1]
        assert last["outcome"] in (None, "applied"), last["reason"]
        check_consistent(self.world)
        assert strays(self.world) == set()
        return str(last["decision_id"])

    def links(self) -> dict[str, str]:
        """Return which letters each believed letter replaced."""
        heads = {row.fact_id: row for row in every_row(self.world) if row.is_head}
        return {
            row.text[-1]: "".join(sorted(heads[one].text[-1] for one in (*row.supersedes, *row.absorbed)))
            for row in heads.values()
            if row.status in BELIEVED
        }


def test_a_fact_that_another_one_replaced_in_between_is_not_linked_to_again() -> None:
    """C replaces A and B, not any more, D replaces B; C replaces A again, and B is D's, also when D's is undone."""
    told = Told()
    told.say("a")
    told.say("b")
    first = told.revert(told.say("c", Kind.SUPERSEDE, "ab"))
    later = told.say("d", Kind.SUPERSEDE, "b")
    told.revert(first)
    assert told.links() == {"a": "", "b": "", "c": "a", "d": "b"}
    told.revert(later)
    assert told.links() == {"a": "", "b": "", "c": "a", "d": ""}


def test_a_fact_that_was_withdrawn_in_between_is_not_linked_to_again() -> None:
    """B replaces A, not any more, A is withdrawn; B replaces nothing again, and A may come back beside it."""
    told = Told()
    said = told.say("a")
    first = told.revert(told.say("b", Kind.SUPERSEDE, "a"))
    withdrawn = told.revert(said, drop=True)
    told.revert(first)
    assert told.links() == {"b": ""}
    told.revert(withdrawn)
    assert told.links() == {"a": "", "b": ""}


def test_a_fact_that_gives_way_only_at_a_second_try_is_linked_to_then() -> None:
    """B replaces A, not any more, C rewords A, B can not replace it; when the rewording is undone it can, and the link is there."""
    told = Told()
    told.say("a")
    first = told.revert(told.say("b", Kind.SUPERSEDE, "a"))
    reworded = told.say("c", Kind.UPDATE, "a")
    told.revert(first)
    told.revert(reworded, drop=True)
    told.revert(first)
    assert told.links() == {"a": "", "b": "a"}


def test_a_link_stays_that_was_made_anew_since() -> None:
    """A takes B up for C, not any more, and takes it up again for D: to undo the first once more takes nothing from the second."""
    told = Told()
    told.say("a")
    told.say("b")
    merged = told.say("c", Kind.MERGE, "ab")
    told.revert(merged)
    told.say("d", Kind.MERGE, "ab")
    told.revert(merged)
    [links] = [replaced for replaced in told.links().values() if replaced]
    assert links == "b"


def test_a_statement_that_comes_back_after_it_was_replaced_stays_replaced() -> None:
    """A merge is reverted, the statement that stands by itself then is superseded, the revert is reverted by force, and reverted again."""
    world = World(policy=NEAR)
    script: dict[str, Verdict] = {
        "8083": Verdict(choice=Kind.MERGE, judge="told", targets=(0,), text="the api port is now 8083"),
        "8080": Verdict(choice=Kind.SUPERSEDE, judge="told", targets=(0,)),
    }

    def told(question: Question) -> Verdict:
        return script.get(question.text[-4:], Verdict(choice=Kind.ADD, judge="told"))

    world.judge.script = told

    def revert(about: str) -> dict[str, Any]:
        body = {"decision_id": about, "force": True}
        world.run([world.command("revert", body)])
        check_consistent(world)
        return world.decisions()[-1]

    world.run([world.record("the api port is now 8084", 100), world.record("the api port is now 8083", 200)])
    merge = world.decisions()[-1]
    assert merge["decision"] == Kind.MERGE
    first = revert(merge["decision_id"])
    own = next(fact for fact in world.current() if fact.text.endswith("8083"))
    world.run([world.record("the api port is now 8080", 300)])
    replacing = world.decisions()[-1]
    assert own.fact_id in replacing["superseded_ids"]
    revert(first["decision_id"])
    again = revert(merge["decision_id"])
    assert again["outcome"] == "applied", again["reason"]
    [head] = [row for row in every_row(world) if row.point_id == own.fact_id]
    assert (head.status, head.superseded_by) == (Status.PAST, replacing["fact_id"])


@MANY
@given(stream=spoken)
def test_reverting_all_newest_first_restores_each_state_before(stream: list[dict[str, Any]]) -> None:
    """With drop, what is believed after each revert is what was believed before the decision; skips apart."""
    world = world_of()
    before: list[tuple[str, list[Any]]] = []
    for record in records_of(world, stream):
        state = story(world)
        world.run([record])
        last = world.decisions()[-1]
        if last["decision"] == Kind.SKIP:
            assume(not last["inserts"])  # a repeat that came late and moved a beginning is a change that stays
        else:
            before.append((last["decision_id"], state))
    for decision_id, state in reversed(before):
        world.run([world.command("revert", {"decision_id": decision_id, "drop_newer": True})])
        last = world.decisions()[-1]
        assert last["outcome"] == "applied", last["reason"]
        assert story(world) == state
    assert story(world) == []


@MANY
@given(stream=streams, more=seeds)
def test_a_revert_of_a_command_restores_the_state_before_it(stream: list[dict[str, Any]], more: int) -> None:
    """Whatever a command changed, its revert gives back."""
    world = world_of()
    records = records_of(world, stream)
    world.run(records)
    command = command_of(random.Random(more))
    before = story(world)
    world.run(records_of(world, [*stream, command], start=len(stream)))
    last = world.decisions()[-1]
    assume(last["outcome"] == "applied" and last["command"] != "erase")
    world.run([world.command("revert", {"decision_id": last["decision_id"]})])
    undone = world.decisions()[-1]
    assert undone["outcome"] == "applied", undone["reason"]
    assert story(world) == before
    check_consistent(world)


@FEWER
@given(
    stream=streams,
    wave_events=st.integers(2, 14),
    slack=st.integers(0, 3),
    remote=st.booleans(),
)
def test_waves_with_commands_equal_one_at_a_time(
    stream: list[dict[str, Any]], wave_events: int, slack: int, remote: bool
) -> None:
    """Commands keep their place: any batching gives the decisions, outcomes and facts of one event after the other."""
    waves = world_of(wave_events=wave_events, slack=slack, remote=remote)
    single = world_of(wave_events=1, slack=slack)
    for world in (waves, single):
        world.run(records_of(world, stream))
    assert outcomes(waves) == outcomes(single)
    assert waves.state() == single.state()
    assert spoken_in(waves) == spoken_in(single)


def spoken_in(world: World) -> dict[str, str]:
    """Return what the ledger still holds of each event's statement."""
    records = [decode_record(body) for body, _ in world.ledger._records.values()]
    return {entry.decision.event_key: entry.decision.text for record in records for entry in record.entries}


def outcomes(world: World) -> dict[str, Any]:
    """Return what was decided; which of two ways found an exact repeat (window or text) is of no consequence."""
    return {
        d["event_id"]: ({**stripped(d), "via": None}, d["command"], d["outcome"], d["reason"])
        for d in world.decisions()
    }


@FEWER
@given(
    stream=streams,
    deaths=st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=4),
    wave_events=st.integers(1, 6),
)
def test_any_death_with_commands_ends_in_the_undisturbed_state(
    stream: list[dict[str, Any]], deaths: list[tuple[int, bool]], wave_events: int
) -> None:
    """Killed before or after any call, and started again with what was not acknowledged: facts and outcomes are the same."""
    undisturbed = world_of(wave_events=wave_events)
    undisturbed.run(records_of(undisturbed, stream))
    world = world_of(wave_events=wave_events)
    records = records_of(world, stream)
    for dies_at, after in deaths:
        acked = {offset for _, _, offset in world.done}
        head = next((r.offset for r in records if r.offset not in acked), len(records))
        world.done = [d for d in world.done if d[2] < head]
        asyncio.run(run_until_dead(world, records[head:], Life(dies_at, after=after)))
    acked = {offset for _, _, offset in world.done}
    world.run([r for r in records if r.offset not in acked])
    assert world.state() == undisturbed.state()
    assert spoken_in(world) == spoken_in(undisturbed)
    if not any(
        event.get("command") == "erase" for event in stream
    ):  # what is told again of an erased event is another thing
        assert decided(world) == decided(undisturbed)
