"""Every limit that `docs/limits.md` states, at its border: what is at it is taken, what is one beyond is not."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from factsieve.adapters.model_lanes import ModelLanes
from factsieve.assembly.limits_docs import LIMITS, render
from factsieve.core.errors import BadInput
from factsieve.core.facts import Kind, Record
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policy
from factsieve.engine.desk import HoldSettings
from factsieve.engine.engine import Engine
from factsieve.engine.lane import LaneSettings
from factsieve.engine.poison import PoisonSettings
from factsieve.ports import Vector
from factsieve.wire import signing
from factsieve.wire.headers import MAX_HEADER_BYTES
from factsieve.wire.inbound import decode
from factsieve.wire.topics import Limits
from factsieve.worker.feeds import FeedLimits, Feeds
from tests.engine.harness import START, ToyEmbedder, World, always

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"


# What a record may be


def refused(record: Record, limits: Limits) -> str | None:
    """Return the code with which a record is refused, or None."""
    try:
        decode(record, limits, START)
    except BadInput as error:
        return error.code
    return None


def record(key: str = "team", headers: Sequence[tuple[str, bytes]] = (), pad: str = "", **fields: Any) -> Record:
    value = {"text": "The api listens.", "source": "remember", "occurred_at": START.isoformat(), **fields}
    return Record("t", 0, 0, 0, key.encode(), json.dumps(value).encode() + pad.encode(), tuple(headers))


SIZED: dict[str, tuple[str, Callable[[int], Record], str]] = {
    "limits.max_text_chars": ("max_text_chars", lambda n: record(text="é" * n), "text_too_long"),
    "limits.max_value_bytes": (
        "max_value_bytes",
        lambda n: record(pad=" " * (n - len(record().value or b""))),
        "record_too_large",
    ),
    "limits.max_attributes_bytes": (
        "max_attributes_bytes",
        lambda n: record(attributes={"a": "x" * (n - len('{"a":""}'))}),
        "attributes_too_large",
    ),
    "limits.max_namespace_chars": ("max_namespace_chars", lambda n: record(key="ß" * n), "bad_namespace"),
    "limits.max_slot_chars": ("max_slot_chars", lambda n: record(slot="s" * n), "bad_slot"),
    "limits.max_nesting": (
        "max_nesting",
        lambda n: record(attributes=json.loads('{"a":' * (n - 1) + "1" + "}" * (n - 1))),
        "not_json",
    ),
}


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("limit", ["default", "smaller"])
def test_sizes(name: str, limit: str) -> None:
    """At the limit a record is taken, one beyond it is refused with the code of that limit; by default and as set."""
    field, make, code = SIZED[name]
    most = getattr(Limits(), field)
    if limit == "smaller":
        most = most // 2
    limits = msgspec.structs.replace(Limits(), **{field: most})
    assert refused(make(most), limits) is None
    assert refused(make(most + 1), limits) == code


def test_a_session_id_is_as_long_as_a_namespace() -> None:
    """It stands in for one."""
    limits = Limits(max_namespace_chars=5)
    assert refused(record(key="abcde", session_id="abcde"), limits) is None
    assert refused(record(key="abcde", namespace="abcde", session_id="abcdef"), limits) == "bad_namespace"


@pytest.mark.parametrize("bad", ["", " ", "\u3000", "a\nb", "a\tb", "a\x00b", "a\x7fb", "a\u2028b", "a\x85b"])
def test_characters_of_names(bad: str) -> None:
    """A namespace and a slot hold no control characters and no line breaks, and are not blank."""
    assert refused(record(key=bad), Limits()) == "bad_namespace"
    assert refused(record(slot=bad), Limits()) == "bad_slot"


@pytest.mark.parametrize("good", ["a", "team/kestrel:7", "部署", "مرحبا", "a b", "👩‍👩‍👧", "Ünï-9"])
def test_other_characters_of_names(good: str) -> None:
    """Any other text is a name, in any script."""
    assert refused(record(key=good, slot=good), Limits()) is None


def test_headers() -> None:
    """A header that is read has its bound; one that is not read has none."""
    named = [("ce_source", b"s")]
    assert refused(record(headers=[*named, ("ce_id", b"i" * MAX_HEADER_BYTES)]), Limits()) is None
    assert refused(record(headers=[*named, ("ce_id", b"i" * (MAX_HEADER_BYTES + 1))]), Limits()) == "record_too_large"
    assert refused(record(headers=[("other", b"i" * 100_000)]), Limits()) is None


def test_future() -> None:
    """Exactly so far ahead is taken, a microsecond further is not."""
    limits = Limits(future_limit_s=60)
    at = START + timedelta(seconds=60)
    assert refused(record(occurred_at=at.isoformat()), limits) is None
    assert refused(record(occurred_at=(at + timedelta(microseconds=1)).isoformat()), limits) == "future_time"


def test_age_of_commands() -> None:
    """Exactly so old is taken, a microsecond older is not."""
    world = World()
    command = decode(world.command("retract", {"fact_id": "0195f0c8-1111-7222-8333-444455556666"}), Limits(), START)
    issued = world.clock.now()
    signing.authorise(command, world.settings.command_keys, 60, issued + timedelta(seconds=60))
    with pytest.raises(BadInput, match="more than 60 s ago"):
        signing.authorise(command, world.settings.command_keys, 60, issued + timedelta(seconds=60, microseconds=1))


# How much is taken in, and done at once


class Gated(ToyEmbedder):
    """Answers when it is let; keeps the sizes of what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.sizes: list[int] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.sizes.append(len(texts))
        await self.go.wait()
        return await super().embed(texts)


async def settle() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


def taken(world: World, records: Sequence[Record], **settings: Any) -> tuple[int, Gated]:
    """Return how many records an engine takes in while nothing gets done; then all are."""

    async def main() -> tuple[int, Gated]:
        world.embedder = Gated()
        engine = Engine(world.ports(), msgspec.structs.replace(world.settings, **settings))
        count = 0

        async def feed() -> None:
            nonlocal count
            for one in records:
                await engine.submit(one, lambda: world.done.append(("", 0, 0)))
                count += 1

        feeding = asyncio.create_task(feed())
        await settle()
        stuck_at = count
        world.embedder.go.set()
        await feeding
        assert await engine.drain(None, 60.0)
        assert len(world.done) == len(records)
        await engine.stop()
        return stuck_at, world.embedder

    return asyncio.run(main())


@pytest.mark.parametrize(("events", "most"), [(5, 5), (6, 5), (20, 5)])
def test_events_in_flight(events: int, most: int) -> None:
    """So many are taken in and not one more."""
    world = World()
    records = [world.record(f"statement {n}", namespace=f"n{n}") for n in range(events)]
    assert taken(world, records, max_in_flight=5)[0] == most


@pytest.mark.parametrize(("events", "most"), [(5, 5), (6, 5)])
def test_events_of_a_lane(events: int, most: int) -> None:
    """One namespace takes so many and not one more, though there is room in the engine."""
    world = World(wave_events=2)
    records = [world.record(f"statement {n}") for n in range(events)]
    assert taken(world, records, max_lane_events=5, max_in_flight=100)[0] == most


def test_a_full_lane_leaves_other_partitions_alone() -> None:
    """A namespace that floods, or waits for a judge, holds up its own partition only."""

    async def main() -> None:
        world = World(embedder=Gated())
        engine = Engine(world.ports(), msgspec.structs.replace(world.settings, max_lane_events=3, max_in_flight=100))
        flood = [world.record(f"flood {n}") for n in range(10)]
        other = [msgspec.structs.replace(world.record(f"other {n}", namespace=f"o{n}"), partition=1) for n in range(10)]
        counts = {0: 0, 1: 0}

        async def feed(records: list[Record]) -> None:
            for one in records:
                await engine.submit(one, lambda: None)
                counts[one.partition] += 1

        feeding = [asyncio.create_task(feed(records)) for records in (flood, other)]
        await settle()
        assert counts == {0: 3, 1: 10}
        assert engine.in_flight == 14, "the one that waits for its lane is held, too"
        feeding[0].cancel()
        await asyncio.gather(*feeding, return_exceptions=True)
        assert engine.in_flight == 13, "given up while it waited, it is let go"
        world.embedder.go.set()
        assert await engine.drain(None, 60.0)
        assert engine.in_flight == 0
        await engine.stop()

    asyncio.run(main())


@pytest.mark.parametrize(("events", "waves"), [(4, [4]), (5, [4, 1])])
def test_events_of_a_wave(events: int, waves: list[int]) -> None:
    """So many events of a namespace become one ledger record, one more another."""
    world = World(wave_events=4)
    recorded: list[int] = []
    world.observer.recorded = recorded.append
    taken(world, [world.record(f"statement {n}") for n in range(events)])
    first = recorded if len(recorded) <= len(waves) else []

    async def main() -> None:
        engine = Engine(
            world.ports(), msgspec.structs.replace(world.settings, lane=LaneSettings(wave_events=4)), world.observer
        )
        recorded.clear()
        for n in range(events):
            await engine.submit(world.record(f"further {n}"), lambda: None)
        assert await engine.drain(None, 60.0)
        await engine.stop()

    asyncio.run(main())
    assert recorded == waves, first


def test_items_of_a_batch() -> None:
    """Many lanes' texts are embedded so many at a time."""
    world = World()
    records = [world.record(f"statement {n}", namespace=f"n{n}") for n in range(25)]
    _, embedder = taken(world, records, batch_items=10)
    assert sum(embedder.sizes) >= 25
    assert max(embedder.sizes) == 10


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_neighbours(limit: int) -> None:
    """The judge sees so many and not one more, though more are near enough."""
    policy = Policy(
        skip_guard="off", skip_threshold=0.999, ambiguous_threshold=0.2, supersede_threshold=0.1, second_look_floor=0.1,
        supersede_scan_limit=limit,
    )  # fmt: skip
    world = World(always(Kind.ADD), policy=policy)
    world.run([world.record(f"the port of the api is {n}") for n in range(10)])
    world.judge.questions.clear()
    world.run([world.record("the port of the api is what", 60_000)])
    [question] = world.judge.questions
    assert len(question.neighbours) == limit


@pytest.mark.parametrize(("over", "decision"), [(0, "merge"), (1, "add")])
def test_length_of_a_merged_text(over: int, decision: str) -> None:
    """A judge's wording of exactly so many characters is used, one more is not."""
    wording = "the api port is 8080 and the api host is kestrel"
    policy = Policy(
        skip_guard="off", skip_threshold=0.999, ambiguous_threshold=0.2, supersede_threshold=0.1, second_look_floor=0.1,
        merge_text_limit=len(wording) - over,
    )  # fmt: skip

    def merge(question: Question) -> Verdict:
        return Verdict(choice=Kind.MERGE, judge="scripted", targets=(0,), text=wording)

    world = World(merge, policy=policy)
    world.run([world.record("the api port is 8080"), world.record("the api host is kestrel", 60_000)])
    last = world.decisions()[-1]
    if decision == "merge":
        assert (last["decision"], [fact.text for fact in world.current()]) == ("merge", [wording])
    else:
        assert wording not in {fact.text for fact in world.current()}


@pytest.mark.parametrize(("hold_s", "asked"), [(4.0, 3), (3.9, 3), (4.1, 4), (0.0, 1)])
def test_how_long_a_lane_is_held(hold_s: float, asked: int) -> None:
    """Asked every two seconds until the hold is over, then added for review."""

    def silent(_question: Question) -> Verdict:
        return Verdict(choice=None, judge="scripted", failure="silence")

    world = World(
        silent, policy=Policy(skip_guard="off", skip_threshold=0.999), remote=True, hold=HoldSettings(hold_s, 2.0)
    )
    world.run([world.record("the api port is now 8080"), world.record("the api port is now 8081", 60_000)])
    assert len(world.judge.questions) == asked
    assert world.decisions()[-1]["review"]


def test_vectors_that_are_kept() -> None:
    """So many keys are remembered; one more, and the one not asked for longest is computed again."""

    async def main() -> list[str]:
        ran: list[str] = []

        def run(keys: list[str]) -> list[str]:
            ran.extend(keys)
            return keys

        lanes: ModelLanes[str, str] = ModelLanes(run, name="m", lanes=1, batch_size=1, cache_size=2, size_of=len)
        for key in ("a", "b", "a", "b", "c", "b", "c", "a"):
            await lanes.results([key])
        lanes.close()
        return ran

    assert asyncio.run(main()) == ["a", "b", "c", "a"]


def feeds(limits: FeedLimits) -> Feeds:
    """Return feeds whose engine takes nothing."""

    class Full:
        async def submit(self, record: Record, done: Callable[[], None]) -> None:
            await asyncio.Event().wait()

        def discard(self, partitions: Any) -> None: ...

        async def drain(self, partitions: Any, timeout_s: float) -> bool:
            return True

    return Feeds(Full(), limits, lambda _error: None)


@pytest.mark.parametrize(("limits", "sizes"), [
    (FeedLimits(max_records=3), [1, 1, 1]), (FeedLimits(max_bytes=300), [100, 100, 100]),
    (FeedLimits(max_span=3), [1, 1, 1]),
])  # fmt: skip
def test_what_waits_of_a_partition(limits: FeedLimits, sizes: list[int]) -> None:
    """Below the bound there is room, at it there is none."""

    async def main() -> None:
        made = feeds(limits)
        made.open([("t", 0), ("t", 1)])
        for offset, size in enumerate(sizes):
            assert made.has_room(("t", 0))
            made.expect(("t", 0), offset, size, 0)
        assert not made.has_room(("t", 0))
        assert made.has_room(("t", 1))
        await made.settle([("t", 0), ("t", 1)], 1.0)

    asyncio.run(main())


def test_the_span_counts_what_is_done_behind_a_head() -> None:
    """Records that are done but may not be committed yet are kept account of, and bounded; when the head is done there is room."""

    class Held:
        def __init__(self) -> None:
            self.dones: dict[int, Callable[[], None]] = {}

        async def submit(self, record: Record, done: Callable[[], None]) -> None:
            self.dones[record.offset] = done

        def discard(self, partitions: Any) -> None: ...

        async def drain(self, partitions: Any, timeout_s: float) -> bool:
            return True

    async def main() -> None:
        held = Held()
        made = Feeds(held, FeedLimits(max_span=4), lambda _error: None)
        made.open([("t", 0)])
        for offset in range(4):
            made.expect(("t", 0), offset, 1, 0)
        for offset in range(4):
            made.offer(Record("t", 0, offset, 0, b"k", b"v"))
        await settle()
        for offset in (1, 2, 3):
            held.dones[offset]()
        assert (made.incomplete, made.has_room(("t", 0))) == (1, False)
        held.dones[0]()
        assert made.has_room(("t", 0))
        await made.settle([("t", 0)], 1.0)

    asyncio.run(main())


@pytest.mark.parametrize("tries", [1, 2, 5])
def test_tries_of_an_event(tries: int) -> None:
    """So many and not one more."""

    class Touchy(ToyEmbedder):
        tries = 0

        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            if any("bad" in text for text in texts):
                self.tries += 1
                raise ZeroDivisionError
            return await super().embed(texts)

    world = World(embedder=Touchy())
    world.settings = msgspec.structs.replace(world.settings, poison=PoisonSettings(tries=tries))
    world.run([world.record("bad")])
    assert world.embedder.tries == tries
    assert len(world.outbox.of("candidate-facts-dlt")) == 1


# The page


BORDERS: dict[str, str] = {
    **dict.fromkeys(SIZED, "engine/test_limits.py::test_sizes"),
    "policy.future_limit_s": "engine/test_limits.py::test_future",
    "commands.max_age_s": "engine/test_limits.py::test_age_of_commands",
    "engine.max_in_flight": "engine/test_limits.py::test_events_in_flight",
    "engine.max_lane_events": "engine/test_limits.py::test_events_of_a_lane",
    "kafka.partition_buffer_records": "engine/test_limits.py::test_what_waits_of_a_partition",
    "kafka.partition_buffer_bytes": "engine/test_limits.py::test_what_waits_of_a_partition",
    "kafka.partition_span_records": "engine/test_limits.py::test_the_span_counts_what_is_done_behind_a_head",
    "engine.wave_size": "engine/test_limits.py::test_events_of_a_wave",
    "engine.batch_items": "engine/test_limits.py::test_items_of_a_batch",
    "policy.supersede_scan_limit": "engine/test_limits.py::test_neighbours",
    "policy.merge_text_limit": "engine/test_limits.py::test_length_of_a_merged_text",
    "judge.hold_s": "engine/test_limits.py::test_how_long_a_lane_is_held",
    "embedder.cache_size": "engine/test_limits.py::test_vectors_that_are_kept",
    "engine.poison_tries": "engine/test_limits.py::test_tries_of_an_event",
    "engine.poison_in_a_row": "engine/test_poison.py::test_too_many_in_a_row_are_no_fault_of_theirs",
    "worker.poison_deaths": "worker/test_suspects.py::test_what_a_process_was_working_on_when_it_died_is_known_to_the_next_one",
    "worker.drain_timeout_s": "worker/test_consumer.py::test_a_hung_record_holds_a_rebalance_up_only_for_the_drain_timeout",
    "worker.stop_deadline_s": "worker/test_consumer.py::test_sigterm_with_a_hung_record_ends_in_time_and_leaves_the_right_lag",
    "worker.watchdog_timeout_s": "worker/test_watchdog.py::test_lag_without_progress_is_a_stall_after_the_limit",
}


def test_every_stated_limit_has_its_test() -> None:
    """A limit that the page states is proven by a test that exists, and none is proven that it does not state."""
    assert {limit.setting for limits in LIMITS.values() for limit in limits} == set(BORDERS)
    for place in BORDERS.values():
        file, _, name = place.partition("::")
        assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE), place


def test_the_page_is_generated() -> None:
    """Change a limit, and run `python -m factsieve.assembly.limits_docs > docs/limits.md`."""
    assert (ROOT / "docs" / "limits.md").read_text(encoding="utf-8") == render()
