"""Seeds hold; each fault that someone might plant in the engine is found by some seed."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import msgspec
import pytest

from factsieve.adapters.memory import MemoryFacts
from factsieve.core.decision import LedgerRecord
from factsieve.core.offsets import OffsetTracker
from factsieve.engine.lane import Lane
from factsieve.engine.overlay import Overlay
from factsieve.engine.perform import Performer, ledger_fields, record_id_of
from factsieve.engine.standing import Standing
from factsieve.wire.ledger import decode_record, encode_record
from tests.engine.harness import World
from tests.simulation.shrink import shrink
from tests.simulation.simulator import Violation, simulate
from tests.simulation.world import Chances, Only, Worker

SEEDS = range(1_000_000, 1_000_100)
PLANTED_SEEDS = 200
KINDS = frozenset(
    {
        "request lost",
        "repeated",
        "reply lost",
        "reply too late",
        "effect too late",
        "partial",
        "slow judge",
        "silent judge",
        "a worker sleeps",
        "rebalance",
        "redelivery",
        "Redis flushed",
        "Qdrant read-only",
        "clock jump",
    }
)
LATE = Chances(late_effect=0.2, words=2)
"""Writes that arrive long after they were given up, and many repeats: they show what the version condition is for."""

SLEEPY = Chances(
    slow=0.2,
    sleep=0.1,
    wake=0.02,
    words=1,
    crash=0.001,
    lost_request=0.003,
    lost_reply=0.003,
    late_effect=0,
    read_only=0,
    rewind=0,
)
"""Owners that wake late with something on their tongue: only they show what the fence is for."""


def test_seeds_hold() -> None:
    """Crashes, lost and repeated replies, rebalances, sleeping owners, moody judges: nothing is lost, doubled or out of order."""
    met = [kind.partition(":")[0] for seed in SEEDS for kind in simulate(seed).met]
    assert sum(kind.startswith("crash") for kind in met) > len(SEEDS)  # the faults do happen
    assert {kind for kind in met if not kind.startswith("crash")} >= KINDS


def test_one_seed_replays_one_run() -> None:
    """The same seed gives the same messages, byte for byte, apart from attempts."""
    first, second = (simulate(7).outbox.messages for _ in range(2))
    assert [(m.topic, m.key, m.value) for m in first] == [(m.topic, m.key, m.value) for m in second]


class EarlyAck(Lane):
    """Acknowledges before anything has happened."""

    async def _flush(self, pending: Any, wave: Any) -> None:
        for item, _ in pending:
            item.done()
            item.done = lambda: None
        await super()._flush(pending, wave)


class EmitBeforeLedger(Lane):
    """Tells a decision before it is recorded."""

    async def _flush(self, pending: Any, wave: Any) -> None:
        if pending:
            await self._insist(
                lambda _: self._tools.performer.emit([(entry, item.event) for item, entry in pending]),
                [item for item, _ in pending],
            )
        await super()._flush(pending, wave)


class EffectBeforeLedger(Lane):
    """Performs a decision before it is recorded."""

    async def _flush(self, pending: Any, wave: Any) -> None:
        if pending:
            entries = tuple(entry for _, entry in pending)
            record = self._record(entries)
            await self._insist(
                lambda _: self._tools.performer.perform(record, wave.new_vectors(entries)),
                [item for item, _ in pending],
            )
        await super()._flush(pending, wave)

    def _record(self, entries: Any) -> LedgerRecord:
        return LedgerRecord(
            record_id_of(self.namespace, entries[0].decision.event_key), self.namespace, "early",
            self._tools.ports.clock.now(), entries,
        )  # fmt: skip


class SplitWave(EffectBeforeLedger):
    """Records one wave as two records, and goes on where only one of them was first."""

    async def _flush(self, pending: Any, wave: Any) -> None:
        halves = [pending[: len(pending) // 2], pending[len(pending) // 2 :]]
        for half in halves[::-1]:
            if half:
                record = msgspec.structs.replace(self._record(tuple(e for _, e in half)), attempt=str(id(half)))
                body = encode_record(record)
                items = [item for item, _ in half]
                await self._insist(
                    lambda _, r=record, b=body: self._tools.gathered.insert.many([(r.record_id, b, ledger_fields(r))]),
                    items,
                )
        for half in halves:
            if half:
                entries = tuple(e for _, e in half)
                stored = await self._tools.ports.ledger.records([self._record(entries).record_id])
                for record_body in stored.values():
                    await self._insist(
                        lambda _, b=record_body: self._tools.performer.perform(decode_record(b)), [i for i, _ in half]
                    )
                await self._insist(lambda _, h=half: self._tell(h), [i for i, _ in half])


class ForgottenOverlay(Overlay):
    """Reads neighbours from the store alone."""

    def latest(self, fact: Any) -> Any:
        return fact

    def get(self, _point_id: str) -> Any:
        return None

    def exact(self, _key: str, stored: Any) -> Any:
        return tuple(stored)

    def of_slot(self, _slot: str, stored: Any, statuses: Any) -> Any:
        return [fact for fact in stored if fact.status in statuses]

    def neighbours(self, hits: Sequence[Any], _query: Any, limit: int) -> Any:
        return list(hits)[:limit], True


class AnyVersion(MemoryFacts):
    """Replaces points whatever their version."""

    def _write(self, write: Any, vector: Any) -> None:
        stored = self._point(write.fact.point_id)
        if not write.insert and stored is not None and stored.version >= write.fact.version:
            space = self._namespaces[write.fact.namespace]
            space.put(self._places[write.fact.point_id][1], write.fact, vector)
            return
        super()._write(write, vector)


class Jumping(OffsetTracker):
    """Commits past what is not done."""

    def committable(self) -> int | None:
        highest = self.highest_succeeded
        return None if highest is None else highest + 1


class Sleepwalker(Worker):
    """Writes and tells though it slept through its session."""

    def holds(self, topic: str, partition: int) -> bool:
        return partition in self.owned


PLANTED: dict[str, tuple[str, Callable[..., Any]]] = {
    "early ack": ("factsieve.engine.engine.Lane", EarlyAck),
    "emit before ledger": ("factsieve.engine.engine.Lane", EmitBeforeLedger),
    "effect before ledger": ("factsieve.engine.engine.Lane", EffectBeforeLedger),
    "wave split in two records": ("factsieve.engine.engine.Lane", SplitWave),
    "forgotten overlay": ("factsieve.engine.wave.Overlay", ForgottenOverlay),
    "write without version": ("tests.simulation.world.MemoryFacts", AnyVersion),
    "non-contiguous ack": ("tests.simulation.world.OffsetTracker", Jumping),
    "sleeping owner that writes": ("tests.simulation.simulator.Worker", Sleepwalker),
}
CHANCES = {"write without version": LATE, "sleeping owner that writes": SLEEPY}
UNWATCHED = frozenset({"sleeping owner that writes"})
"""The watch of the compacted topic mends what these do, so it is left out for them."""


async def _deaf(standing: Standing) -> None:
    standing.forget()


async def _never(_performer: Performer, _entries: Any) -> None:
    """Do not look again after telling, as a process that dies right then."""


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_found(fault: str) -> None:
    """A simulator that misses one of these proves nothing by its silence."""
    where, what = PLANTED[fault]
    look = _deaf if fault in UNWATCHED else Standing.look
    with mock.patch(where, what), mock.patch.object(Standing, "look", look):
        for seed in range(PLANTED_SEEDS):
            try:
                simulate(seed, chances=CHANCES.get(fault))
            except Violation:
                return
    pytest.fail(f"{PLANTED_SEEDS} seeds did not notice: {fault}")


def test_sleeping_owner_does_not_write() -> None:
    """While the last heartbeat is too old nothing is recorded; where the partition was lost meanwhile, it never is."""

    class Asleep:
        def __init__(self) -> None:
            self.asked = 0

        def holds(self, _topic: str, _partition: int) -> bool:
            self.asked += 1
            return self.asked > 5

    world = World()
    fence = Asleep()
    world.run([world.record("alpha runs")], fence=fence)
    assert fence.asked > 5
    assert len(world.done) == 1

    class Lost:
        def holds(self, _topic: str, _partition: int) -> bool:
            return False

    async def lose() -> None:
        from factsieve.engine.engine import Engine

        engine = Engine(world.ports(fence=Lost()), world.settings)
        await engine.submit(world.record("beta runs"), lambda: pytest.fail("acknowledged"))
        assert not await engine.drain([("candidate-facts", 0)], 0.5)
        await asyncio.sleep(0.01)
        await engine.stop()

    asyncio.run(lose())
    assert [fact.text for fact in world.current()] == ["alpha runs"]


def test_a_failing_seed_is_made_small(monkeypatch) -> None:
    """Of an early ack a run with few events and faults is left; it fails again in the same way, by the numbers that are printed."""
    monkeypatch.setattr("factsieve.engine.engine.Lane", EarlyAck)
    seed = next(seed for seed in range(PLANTED_SEEDS) if _fails(seed, Only()))
    whole = _fails(seed, Only())
    small = shrink(seed)
    assert small is not None
    assert len(small.only.events) < whole.shared.events
    assert len(small.faults) < len(whole.shared.met)
    again = _fails(seed, small.only)
    assert f"{type(again).__name__}: {again}" == small.error
    assert f"--first {seed} --seeds 1 --events " in small.command(seed)


def test_a_seed_that_holds_is_not_made_small() -> None:
    """Nothing is shrunk that does not fail, and a run without its faults has none."""
    assert shrink(7) is None
    assert simulate(7, only=Only(faults=frozenset())).met != []


def _fails(seed: int, only: Only) -> Violation | None:
    try:
        simulate(seed, only=only)
    except Violation as violation:
        return violation
    return None


def test_the_watch_alone_keeps_the_compacted_topic_right(monkeypatch) -> None:
    """Owners tell too late and die before they can mend it: unwatched, former states stay on the topic; watched, none does."""
    monkeypatch.setattr(Performer, "restate", _never)
    wrong = []
    with mock.patch.object(Standing, "look", _deaf):
        for seed in range(PLANTED_SEEDS // 4):
            try:
                simulate(seed, chances=SLEEPY)
            except Violation as violation:
                wrong.append((seed, str(violation)))
    assert len(wrong) > 3
    assert all("compacted topic" in what for _, what in wrong)
    for seed, _ in wrong:
        simulate(seed, chances=SLEEPY)
