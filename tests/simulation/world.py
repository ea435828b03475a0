"""A small Kafka, its consumer group, and stores whose calls fail as the seed says."""

import asyncio
import hashlib
import json
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from factsieve.adapters.memory import MemoryFacts, MemoryLedger, MemoryOutbox, MemoryWindow
from factsieve.core.errors import Transient
from factsieve.core.facts import Kind, Record
from factsieve.core.judging import Question, Verdict
from factsieve.core.offsets import OffsetTracker
from factsieve.core.policy import Policies, Policy
from factsieve.engine.desk import HoldSettings
from factsieve.engine.engine import Engine, EngineSettings
from factsieve.engine.lane import LaneSettings
from factsieve.engine.ports import Ports
from factsieve.engine.standing import Standing
from factsieve.wire.topics import Topics
from tests.engine.harness import ToyEmbedder
from tests.simulation.virtual import START, VirtualClock

TOPIC = "candidate-facts"
WATCH_S = 5.0
WORDS = ("redis", "cache", "port", "8080", "8081", "moved", "owner", "ana", "ben", "not", "now", "eu")


@dataclass
class Chances:
    """How often things go wrong, per call or step."""

    lost_request: float = 0.03
    lost_reply: float = 0.02
    late_reply: float = 0.01  # a time-out long after the effect
    late_effect: float = 0.02  # an effect long after the time-out
    repeated: float = 0.02  # a request that arrives twice
    partial: float = 0.02
    crash: float = 0.01
    slow: float = 0.2
    judge_silent: float = 0.1
    judge_slow: float = 0.05
    rebalance: float = 0.02
    sleep: float = 0.01
    wake: float = 0.2
    flush: float = 0.02
    read_only: float = 0.02
    rewind: float = 0.01
    clock_jump: float = 0.05
    words: int = len(WORDS)  # of how many words texts are made: few give many repeats


@dataclass(frozen=True)
class Only:
    """What is left of a run that is being shrunk: these events of its stream, these of its faults, by number. None: all."""

    events: frozenset[int] | None = None
    faults: frozenset[int] | None = None


class Died(BaseException):
    """The worker's process ends here; nothing of it may handle this."""


@dataclass
class Partition:
    """One partition's log; what lies before `committed` is not read again."""

    log: list[Record] = field(default_factory=list)
    committed: int = 0


def make_events(rng: random.Random, partitions: list[Partition], words: int, only: frozenset[int] | None = None) -> int:
    """Fill the partitions: repeats, slots, late ones, repeated ids with the same and with another body, and rubbish.

    Return how many events there were to choose `only` some from.
    """
    namespaces = ["a", "b", "c"][: rng.randint(1, 3)]
    homes = {name: rng.randrange(len(partitions)) for name in namespaces}
    told: list[tuple[str, bytes, tuple[tuple[str, bytes], ...]]] = []
    count = rng.randint(5, 30)
    for number in range(count):
        namespace = rng.choice(namespaces)
        if told and rng.random() < 0.1:
            namespace, body, headers = rng.choice(told)
            if rng.random() < 0.3:
                body = body.replace(b"}", b', "attributes": {"n": 1}}')
            elif rng.random() < 0.5:
                headers = (*headers, ("replay-id", b"again"))
        else:
            at = START - timedelta(hours=12) + timedelta(minutes=3 * number, seconds=rng.choice([0, 0, 0, -7200, -30]))
            value = {
                "text": " ".join(rng.choices(WORDS[:words], k=rng.randint(1, min(words, 4)))),
                "source": rng.choice(["remember", "post_tool_use"]),
                "occurred_at": at.isoformat(),
            }
            if rng.random() < 0.25:
                value["slot"] = rng.choice(["user.port", "user.owner"])
            body = b"rubbish" if rng.random() < 0.05 else json.dumps(value).encode()
            headers = (("ce_source", b"simulation"), ("ce_id", f"e{number}".encode()))
            told.append((namespace, body, headers))
        if only is not None and number not in only:
            continue
        log = partitions[homes[namespace]].log
        log.append(Record(TOPIC, homes[namespace], len(log), 0, namespace.encode(), body, headers))
    return count


class Shared:
    """What outlives every worker: stores, the record of what was sent, and the faults that were met."""

    def __init__(self, rng: random.Random, only: Only, events: int, watch_rng: random.Random) -> None:
        self.rng = rng
        self.events = events
        self.met: list[str] = []
        self.read_only_until_s = 0.0
        self.under_way: list[asyncio.Task[None]] = []
        self._only = only.faults
        self.facts = MemoryFacts()
        self.ledger = MemoryLedger()
        self.window = MemoryWindow()
        self.outbox = MemoryOutbox()
        self.embedder = ToyEmbedder()
        self.calm = False
        self.watch_rng = watch_rng  # what goes wrong with the watch does not change what else goes wrong
        self.watched = 0  # so many records of the compacted topic are settled, as the watch's group knows

    def happens(self, kind: str, chance: float, rng: random.Random | None = None) -> bool:
        """Draw whether a fault happens here and now. Each has a number, so that a shrunk run can leave it out."""
        if self.calm or (rng or self.rng).random() >= chance:
            return False
        self.met.append(kind)
        return self._only is None or len(self.met) - 1 in self._only


class FaultyPort:
    """A port whose calls are slow, lost, answered too late, done in part, or end the process."""

    def __init__(self, port: Any, name: str, worker: "Worker", rng: random.Random) -> None:
        self._port = port
        self._name = name
        self._worker = worker
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if not asyncio.iscoroutinefunction(method):
            return method

        async def call(*args: Any, **more: Any) -> Any:
            shared, chances = self._worker.shared, self._worker.chances
            rng = self._rng
            await self._worker.pause()
            if rng.random() < chances.slow:
                await asyncio.sleep(rng.random() * 3)
                await self._worker.pause()
            if shared.happens(f"crash before {self._name}.{name}", chances.crash, rng):
                self._worker.die()
            if shared.happens(f"request lost: {self._name}.{name}", chances.lost_request, rng):
                raise Transient(self._name, "request lost")
            if name in WRITES and self._name in QDRANT and asyncio.get_running_loop().time() < shared.read_only_until_s:
                raise Transient(self._name, "read-only")
            if (
                name in WRITES
                and len(args[0]) > 1
                and shared.happens(f"partial: {self._name}.{name}", chances.partial, rng)
            ):
                await method(_part(args[0], rng))
                raise Transient(self._name, "done in part")
            if name in LATE and shared.happens(f"effect too late: {self._name}.{name}", chances.late_effect, rng):
                shared.under_way.append(asyncio.create_task(_late(method(*args, **more), rng.random() * 60)))
                raise Transient(self._name, "timed out before the effect")
            result = await method(*args, **more)
            if shared.happens(f"repeated: {self._name}.{name}", chances.repeated, rng):
                result = await method(*args, **more)
            if shared.happens(f"crash after {self._name}.{name}", chances.crash, rng):
                self._worker.die()
            if shared.happens(f"reply lost: {self._name}.{name}", chances.lost_reply, rng):
                raise Transient(self._name, "reply lost")
            if shared.happens(f"reply too late: {self._name}.{name}", chances.late_reply, rng):
                await asyncio.sleep(30 * rng.random())
                await self._worker.pause()
                raise Transient(self._name, "timed out after the effect")
            await asyncio.sleep(rng.random() * 0.01)
            await self._worker.pause()
            return result

        return call


WRITES = frozenset({"write", "send", "insert", "point"})
QDRANT = frozenset({"facts", "ledger"})
LATE = frozenset({"write", "insert", "point"})
"""Requests that may lie about on the way while others go on. What is sent to Kafka is appended in time or not at all."""


async def _late(effect: Coroutine[Any, Any, Any], delay_s: float) -> None:
    try:
        await asyncio.sleep(delay_s)
    finally:
        await effect


def _part(items: Any, rng: random.Random) -> Any:
    """Return some first part of a batch: of a list, or of a mapping."""
    count = rng.randrange(1, len(items))
    return dict(list(items.items())[:count]) if isinstance(items, dict) else items[:count]


class MoodyJudge:
    """Answers by question and mood: what it says of the same pair changes from call to call."""

    name = "moody"
    is_remote = True
    confirms_skips = False

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker

    async def answer(self, question: Question) -> Verdict:
        shared, chances = self._worker.shared, self._worker.chances
        rng = shared.rng
        if shared.happens("slow judge", chances.judge_slow):
            await asyncio.sleep(rng.random() * 60)
        await asyncio.sleep(rng.random() * 5)
        await self._worker.pause()
        if shared.happens("silent judge", chances.judge_silent):
            return Verdict(choice=None, judge=self.name, failure="silence")
        kind = rng.choice(sorted(question.allowed))
        count = rng.randint(1, min(2, len(question.neighbours)))
        text = question.text if kind is Kind.MERGE else None
        return Verdict(choice=kind, judge=self.name, targets=tuple(range(count)), text=text, reason="mood")


class Worker:
    """One process: an engine, the partitions it believes to own, and when it last heard of its group."""

    def __init__(self, name: str, shared: Shared, group: "Group", make_engine: Callable[..., Engine] = Engine) -> None:
        self.name = name
        self.shared = shared
        self.group = group
        self.chances = group.chances
        self.clock = VirtualClock()
        self.dead = False
        self.awake = asyncio.Event()
        self.awake.set()
        self.heartbeat_s = 0.0
        self.owned: dict[int, OffsetTracker] = {}
        self.feeds: dict[int, asyncio.Task[None]] = {}
        ports = {
            name: FaultyPort(getattr(shared, name), name, self, shared.rng)
            for name in ("facts", "ledger", "window", "outbox", "embedder")
        }
        judge = MoodyJudge(self)
        policy = Policy(skip_guard="off", second_look_floor=0.3, supersede_scan_limit=4)
        settings = EngineSettings(
            policies=Policies(policy),
            lane=LaneSettings(wave_events=shared.rng.randint(1, 8)),
            hold=HoldSettings(hold_s=4, retry_s=1),
            max_in_flight=shared.rng.randint(1, 40),
        )
        bundle = Ports(judge=judge, local_judge=judge, clock=self.clock, fence=self, **ports)
        self.engine = make_engine(bundle, settings)
        watching = [FaultyPort(getattr(shared, name), name, self, shared.watch_rng) for name in ("facts", "outbox")]
        self.standing = Standing(*watching, Topics())
        self.watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """Hear and look, for ever, as `worker/facts_watch.py` does; what another one has settled meanwhile is settled."""
        heard = looked = self.shared.watched
        self.standing.forget()
        while True:
            await asyncio.sleep(WATCH_S)
            await self.pause()
            if self.group.watcher is not self:
                heard = looked = self.shared.watched
                self.standing.forget()
                continue
            log = self.shared.outbox.of("facts")
            for message in log[heard:]:
                self.standing.heard(message.key, message.value)
            heard = len(log)
            if await self._look() and self.group.watcher is self:
                self.shared.watched, looked = looked, heard

    async def _look(self) -> bool:
        """Look; return whether that came to an end."""
        while True:
            try:
                await self.standing.look()
            except Transient:
                await asyncio.sleep(WATCH_S)
            except Died:
                return False
            else:
                return True

    async def pause(self) -> None:
        """Stand still while asleep; a dead process never goes on."""
        await self.awake.wait()
        if self.dead:
            raise Died

    def die(self) -> None:
        """End the process at once."""
        self.dead = True
        raise Died

    def holds(self, topic: str, partition: int) -> bool:
        """Return whether the last heartbeat is young enough and the partition ours, as far as this process knows."""
        now_s = asyncio.get_running_loop().time()
        return partition in self.owned and now_s - self.heartbeat_s < self.group.session_s

    def take(self, number: int) -> None:
        """Begin to read a partition at its committed offset."""
        self.owned[number] = OffsetTracker()
        self.feeds[number] = asyncio.create_task(self._feed(number, self.owned[number]))

    async def _feed(self, number: int, tracker: OffsetTracker) -> None:
        partition = self.group.partitions[number]
        for record in partition.log[partition.committed :]:
            await self.pause()
            tracker.started(record.offset)

            def done(offset: int = record.offset) -> None:
                tracker.done(offset)
                self.commit(number, tracker)

            await self.engine.submit(record, done)

    def commit(self, number: int, tracker: OffsetTracker) -> None:
        """Commit what is done without a gap; the group refuses it from anyone but the owner."""
        offset = tracker.committable()
        if offset is not None and self.owned.get(number) is tracker and self.group.owners.get(number) is self:
            self.group.commit(number, offset)

    async def give_up(self, number: int, drain_s: float) -> None:
        """Hand a partition back in order: nothing new, drain, commit."""
        feed = self.feeds.pop(number)
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
        self.engine.discard([(TOPIC, number)])
        await self.engine.drain([(TOPIC, number)], drain_s)
        self.owned.pop(number, None)

    async def learn(self, after_s: float) -> None:
        """Hear from the group, some time after waking, that others own its partitions now."""
        await asyncio.sleep(after_s)
        for number in list(self.owned):
            await self.give_up(number, 0.0)

    async def close(self) -> None:
        """Let everything of this process end."""
        self.dead = True
        self.awake.set()
        for task in (*self.feeds.values(), self.watching):
            task.cancel()
        await asyncio.gather(*self.feeds.values(), self.watching, return_exceptions=True)
        await self.engine.stop()


class Group:
    """The consumer group: who owns what, and what is committed."""

    def __init__(self, partitions: list[Partition], chances: Chances) -> None:
        self.partitions = partitions
        self.chances = chances
        self.session_s = 10.0
        self.owners: dict[int, Worker] = {}
        self.watcher: Worker | None = None
        self.commits: list[tuple[int, int]] = []

    def commit(self, number: int, offset: int) -> None:
        """Keep a committed offset."""
        self.commits.append((number, offset))
        self.partitions[number].committed = max(self.partitions[number].committed, offset)

    @property
    def finished(self) -> bool:
        """Return whether everything is committed."""
        return all(p.committed >= len(p.log) for p in self.partitions)


def digest(text: str) -> str:
    """Return a short digest for reports."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
