"""One simulated run from one seed, and what must hold at its end."""

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import msgspec

from factsieve.core.decision import LedgerRecord
from factsieve.core.facts import Fact, Status
from factsieve.engine.engine import Engine
from factsieve.wire.ledger import decode_record
from tests.simulation.virtual import run_virtually
from tests.simulation.world import WATCH_S, Chances, Group, Only, Partition, Shared, Worker, make_events

TIME_LIMIT_S = 100_000.0
REPLAYED_SHARE = 0.25
REPLAY_STEPS = 4_000
WATCH_STEPS = 50


class Violation(AssertionError):
    """Something happened that must not."""


async def _simulate(
    seed: int, make_engine: Callable[..., Engine], chances: Chances, only: Only, shared: list[Shared]
) -> None:
    rng = random.Random(seed)
    partitions = [Partition() for _ in range(rng.randint(1, 3))]
    count = make_events(rng, partitions, chances.words, only.events)
    shared.append(Shared(rng, only, count, random.Random(f"watch {seed}")))
    await _run(shared[0], partitions, make_engine, chances)


async def _run(
    shared: Shared, partitions: list[Partition], make_engine: Callable[..., Engine], chances: Chances
) -> None:
    rng = shared.rng
    group = Group(partitions, chances)
    number = 0
    workers: list[Worker] = []
    leftovers: list[Worker] = []
    for _ in range(rng.randint(1, 2)):
        workers.append(Worker(f"w{number}", shared, group, make_engine))
        number += 1
    _assign(group, workers, rng)
    loop = asyncio.get_running_loop()
    steps = 0
    while not group.finished:
        await asyncio.sleep(0.5)
        steps += 1
        shared.calm = steps > rng.randint(60, 120)
        if loop.time() > TIME_LIMIT_S or steps > 20_000:
            raise Violation("no progress: events are neither decided nor given up")
        for worker in workers:
            if worker.awake.is_set():
                worker.heartbeat_s = loop.time()
            if worker.engine.failure is not None and not worker.dead:
                if not _is_death(worker.engine.failure):
                    raise worker.engine.failure
                worker.dead = True
        for worker in [w for w in workers if w.dead]:
            workers.remove(worker)
            await worker.close()
            workers.append(Worker(f"w{number}", shared, group, make_engine))
            number += 1
            _assign(group, workers, rng)
        if shared.happens("a worker sleeps", chances.sleep):
            sleeper = rng.choice(workers)
            sleeper.awake.clear()  # SIGSTOP: it loses its partitions without knowing
            workers.remove(sleeper)
            leftovers.append(sleeper)
            workers.append(Worker(f"w{number}", shared, group, make_engine))
            number += 1
            await asyncio.sleep(group.session_s + 1)
            _assign(group, workers, rng)
        for sleeper in leftovers:
            if not sleeper.awake.is_set() and rng.random() < chances.wake:
                sleeper.awake.set()
                shared.under_way.append(asyncio.create_task(sleeper.learn(rng.random())))
        if shared.happens("rebalance", chances.rebalance):
            await _rebalance(group, workers, rng)
        if shared.happens("Redis flushed", chances.flush):
            shared.window._buckets.clear()
        if shared.happens("Qdrant read-only", chances.read_only):
            shared.read_only_until_s = loop.time() + rng.uniform(1, 20)
        if shared.happens("clock jump", chances.clock_jump):
            rng.choice(workers).clock.skew_s = rng.uniform(-600, 600)
        if shared.happens("redelivery", chances.rewind):
            await _rewind(group, workers, rng)
    for worker in [*workers, *leftovers]:
        worker.awake.set()
    await asyncio.gather(*(sleeper.learn(rng.random()) for sleeper in leftovers))
    await asyncio.sleep(30)
    for worker in [*workers, *leftovers]:
        await worker.close()
    await asyncio.gather(*shared.under_way)
    await _watch_to_the_end(shared, group, make_engine)
    await check(shared, group)
    if rng.random() < REPLAYED_SHARE:
        await _check_replay(shared, group, make_engine)


def _is_death(error: BaseException) -> bool:
    return type(error).__name__ == "Died"


def _assign(group: Group, workers: list[Worker], rng: random.Random) -> None:
    """Give every partition without a living owner to someone, and the compacted topic to a living watcher."""
    loop = asyncio.get_running_loop()
    if group.watcher not in workers:
        group.watcher = workers[0]
    for number in range(len(group.partitions)):
        owner = group.owners.get(number)
        if owner is None or owner not in workers:
            chosen = rng.choice(workers)
            chosen.heartbeat_s = loop.time()
            group.owners[number] = chosen
            chosen.take(number)


async def _rebalance(group: Group, workers: list[Worker], rng: random.Random) -> None:
    """Move one partition in order."""
    number = rng.randrange(len(group.partitions))
    owner = group.owners[number]
    if owner.dead or owner not in workers:
        return
    await owner.give_up(number, rng.choice([0.0, 1.0, 10.0]))
    if owner.dead:
        return
    chosen = rng.choice(workers)
    group.owners[number] = chosen
    chosen.heartbeat_s = asyncio.get_running_loop().time()
    chosen.take(number)


async def _rewind(group: Group, workers: list[Worker], rng: random.Random) -> None:
    """Take a partition away and give it back further behind, as after a lost commit."""
    number = rng.randrange(len(group.partitions))
    owner = group.owners[number]
    if owner.dead or owner not in workers:
        return
    await owner.give_up(number, rng.choice([0.0, 10.0]))
    partition = group.partitions[number]
    partition.committed = rng.randint(0, partition.committed)
    if not owner.dead:
        owner.take(number)


async def _watch_to_the_end(shared: Shared, group: Group, make_engine: Callable[..., Engine]) -> None:
    """Let one more process look after the compacted topic, from where that is settled, until all of it is."""
    shared.calm = True
    last = group.watcher = Worker("watch", shared, group, make_engine)
    for _ in range(WATCH_STEPS):
        await asyncio.sleep(WATCH_S)
        if shared.watched == len(shared.outbox.of("facts")):
            break
    await last.close()
    if shared.watched < len(shared.outbox.of("facts")):
        raise Violation("the compacted topic is told anew without end")


async def _check_replay(shared: Shared, group: Group, make_engine: Callable[..., Engine]) -> None:
    """Everything once more, undisturbed and to a judge in another mood: no point changes, nothing is decided again."""
    facts = await shared.facts.select(None, current_only=False)
    bodies = sorted([body async for body in shared.ledger.scan(None)])
    shared.calm = True
    for partition in group.partitions:
        partition.committed = 0
    again = Group(group.partitions, group.chances)
    worker = Worker("again", shared, again, make_engine)
    _assign(again, [worker], shared.rng)
    for _ in range(REPLAY_STEPS):
        if again.finished:
            break
        worker.heartbeat_s = asyncio.get_running_loop().time()
        await asyncio.sleep(0.5)
        if worker.engine.failure is not None:
            raise worker.engine.failure
    await worker.close()
    if not again.finished:
        raise Violation("a second reading of everything does not end")
    if sorted([body async for body in shared.ledger.scan(None)]) != bodies:
        raise Violation("a second reading of everything wrote to the ledger")
    if await shared.facts.select(None, current_only=False) != facts:
        raise Violation("a second reading of everything changed facts")


async def check(shared: Shared, group: Group) -> None:
    """Raise Violation where a decision is missing, doubled or out of order, or where the store is not what the ledger says."""
    records: list[LedgerRecord] = [decode_record(body) async for body in shared.ledger.scan(None)]
    entries = {}
    for record in records:
        for entry in record.entries:
            if entry.decision.event_key in entries:
                raise Violation(f"event {entry.decision.event_id} is decided twice in the ledger")
            entries[entry.decision.event_key] = entry
    _check_reports(shared, group, entries)
    _check_order(records)
    await _check_state(shared, records)
    await _check_compacted(shared)


def _check_reports(shared: Shared, group: Group, entries: dict[str, Any]) -> None:
    """Every record was told: as decided (always alike, and as stored), or as refused."""
    told: dict[tuple[int, int], int] = {}
    by_event: dict[str, str] = {}
    decided_at: set[tuple[int, int]] = set()
    for message in shared.outbox.of("fact-decisions"):
        value = json.loads(message.value or b"{}")
        place = (value["coordinates"]["partition"], value["coordinates"]["offset"])
        told[place] = told.get(place, 0) + 1
        if value.get("decision") is None:
            continue
        decided_at.add(place)
        key = value["event_key"]
        stored = entries.get(key)
        if stored is None:
            raise Violation(f"event {value['event_id']} was told of, but is not in the ledger")
        if (
            by_event.setdefault(key, value["decision_id"] + value["decision"])
            != value["decision_id"] + value["decision"]
        ):
            raise Violation(f"event {value['event_id']} was told of in two ways")
        if stored.decision.decision != value["decision"] or stored.decision.fact_id != value.get("fact_id"):
            raise Violation(f"event {value['event_id']} was told of otherwise than it is stored")
    for number, partition in enumerate(group.partitions):
        for record in partition.log:
            if (number, record.offset) not in told and not _is_repeat(record, group):
                raise Violation(f"record {number}/{record.offset} was committed, and nobody heard what became of it")


def _is_repeat(record: Any, group: Group) -> bool:
    """Return whether the same event stands elsewhere too: then the decision's coordinates are that record's."""
    key = (record.key, record.headers[:2])
    return sum((r.key, r.headers[:2]) == key for p in group.partitions for r in p.log) > 1


def _check_order(records: list[LedgerRecord]) -> None:
    """Decisions of a namespace, in the order of offsets, extend one history: versions grow by one and nothing dangles."""
    by_namespace: dict[str, list[Any]] = {}
    for record in records:
        by_namespace.setdefault(record.namespace, []).extend(record.entries)
    for entries in by_namespace.values():
        entries.sort(key=lambda entry: entry.decision.coordinates.offset)
        versions: dict[str, int] = {}
        for entry in entries:
            for fact in entry.effects:
                expected = 1 if fact.point_id in entry.inserts else versions.get(fact.point_id, 0) + 1
                if fact.version != expected:
                    raise Violation(
                        f"event {entry.decision.event_id} writes version {fact.version} of a point at {expected - 1}: decided on "
                        "another history than the ledger's"
                    )
                versions[fact.point_id] = fact.version
            matched = entry.decision.matched_id
            if matched is not None and matched not in versions:
                raise Violation(f"event {entry.decision.event_id} refers to fact {matched} that nobody wrote")


async def _check_state(shared: Shared, records: list[LedgerRecord]) -> None:
    """The store holds exactly what the ledger's effects add up to, and links point at what is there."""
    expected: dict[str, Any] = {}
    for record in records:
        for entry in record.entries:
            for fact in entry.effects:
                old = expected.get(fact.point_id)
                if old is None or old.version < fact.version:
                    expected[fact.point_id] = fact
    stored = {fact.point_id: fact for fact in await shared.facts.select(None, current_only=False)}
    if stored != expected:
        wrong = [p for p in {*stored, *expected} if stored.get(p) != expected.get(p)]
        raise Violation(
            f"{len(wrong)} points are not as the ledger says, {stored.get(wrong[0])} / {expected.get(wrong[0])}"
        )
    for fact in stored.values():
        links = [*fact.supersedes, *([fact.superseded_by] if fact.superseded_by else [])]
        if any(link not in stored for link in links):
            raise Violation(f"fact {fact.fact_id} is linked to one that is not there")
        if fact.status is Status.CURRENT and fact.superseded_by is not None:
            raise Violation(f"fact {fact.fact_id} is current and superseded")


async def _check_compacted(shared: Shared) -> None:
    """The compacted topic ends with each fact as it stands."""
    latest = {message.key: message.value for message in shared.outbox.of("facts")}
    for fact in await shared.facts.select(None, current_only=False):
        if fact.is_head and _state(latest.pop(fact.fact_id.encode(), None)) != fact:
            raise Violation(f"the compacted topic does not end with fact {fact.fact_id} as it stands")
    if latest:
        raise Violation(f"the compacted topic holds facts that are not stored: {latest}")


def _state(value: bytes | None) -> Fact | None:
    return None if value is None else msgspec.json.decode(value, type=Fact)


def simulate(
    seed: int,
    make_engine: Callable[..., Engine] = Engine,
    chances: Chances | None = None,
    only: Only | None = None,
) -> Shared:
    """Run one seed to its end. Raises Violation, or whatever bug it met; the error's `shared` tells which faults there were."""
    shared: list[Shared] = []
    try:
        run_virtually(_simulate(seed, make_engine, chances or Chances(), only or Only(), shared))
    except BaseException as error:
        error.shared = shared[0] if shared else None  # type: ignore[attr-defined]
        raise
    return shared[0]
