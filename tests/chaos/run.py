"""One chaos run: a stream, a schedule of faults, workers that meet them, and the comparison with the rebuilt state."""

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from aiokafka.errors import KafkaError

from chaos.rebuild import ChaosOutcome, Comparison, compare, rebuild_now
from chaos.schedule import Fault, make_schedule
from chaos.stage import Feeder, Stage, open_stage
from chaos.stream import make_stream
from e2e.harness import Worker
from e2e.outcome import Outcome
from factsieve.localstack.process import Service

Say = Callable[[str], object]

STALL_LIMIT_S = 240.0
"""Without one more decision for so long, with everything running again, a run has failed."""

LANES = "factsieve_lanes_open"
EXIT_UNREACHABLE = 3

START_LIMIT_S = 240.0
"""How long a killed service may take to answer again: on a busy machine a broker reads its log for long."""

PROBLEMS_LIMIT = 5
"""After so many workers that ended unasked a run is given up."""


@dataclass(frozen=True)
class Plan:
    """What a run is made of."""

    events: int
    faults: int
    seed: int
    broker: str
    workers: int = 2
    ahead: int = 1_500


@dataclass
class Report:
    """What a run came to."""

    plan: Plan
    comparison: Comparison
    happened: Counter[str]
    took_s: float
    problems: list[str] = field(default_factory=list)

    @property
    def failures(self) -> list[str]:
        return self.problems + self.comparison.failures


@dataclass
class _Undo:
    due: float
    resource: str
    action: Callable[[], None]


class Mischief:
    """Makes faults happen, and mends them when their time is over."""

    def __init__(self, stage: Stage) -> None:
        self.happened: Counter[str] = Counter()
        self.problems: list[str] = []
        self.restarted = 0
        self._stage = stage
        self._site = stage.room.site
        self._pending: list[_Undo] = []

    def mend_due(self) -> None:
        """Mend what lasted as long as it should; notice who ended unasked."""
        now = time.monotonic()
        for undo in sorted(self._pending, key=lambda one: one.due):
            if undo.due <= now:
                self._mend(undo)
        for name in self._stage.ended_by_itself():
            worker = self._stage.live[name]
            code = worker._child.returncode if worker._child is not None else None
            if code == EXIT_UNREACHABLE:  # a service was away when it started: it is for a supervisor to start it again
                self.restarted += 1
            else:
                self.problems.append(f"worker {name} ended by itself with exit code {code}:\n{worker.log[-1500:]}")
            if len(self.problems) > PROBLEMS_LIMIT:
                raise AssertionError("\n".join(self.problems))
            self._stage.kill_worker(name)
            self._stage.start_worker()

    def nothing_left(self) -> bool:
        """Tell whether all input is committed; a broker that is away can not be asked."""
        if any(undo.resource == self._site.broker.name for undo in self._pending):
            return False
        try:
            return self._stage.room.follower.lag(self._stage.room.settings.kafka.group) == 0
        except (KafkaError, TimeoutError):
            return False

    def mend_all(self) -> None:
        """Mend everything now."""
        while self._pending:
            self._mend(min(self._pending, key=lambda one: one.due))

    def _mend(self, undo: _Undo) -> None:
        self._pending.remove(undo)
        undo.action()

    def _later(self, seconds: float, resource: str, action: Callable[[], None]) -> None:
        self._pending.append(_Undo(time.monotonic() + seconds, resource, action))

    def _free(self, resource: str) -> None:
        """Mend what holds a resource, before it is taken again."""
        for undo in [one for one in self._pending if one.resource == resource]:
            self._mend(undo)

    def _victim(self, fault: Fault) -> str:
        if not self._stage.live:
            self.mend_all()
        return sorted(self._stage.live)[fault.victim % len(self._stage.live)]

    def do(self, fault: Fault) -> None:
        """Make a fault happen."""
        self.happened[fault.kind] += 1
        words = fault.kind.split()
        if fault.kind == "kill a worker":
            self._stage.kill_worker(self._victim(fault))
            self._later(fault.lasts_s, "worker", self._start_worker)
        elif fault.kind == "end a worker":
            self.end(self._victim(fault))
            self._later(fault.lasts_s, "worker", self._start_worker)
        elif fault.kind.startswith("stop a worker"):
            self._stop_worker(self._victim(fault), fault.lasts_s)
        elif fault.kind == "rolling restart":
            for name in sorted(self._stage.live):
                self.end(name)
                self._start_worker()
        elif fault.kind == "a worker joins while the judge is slow":
            self._slow_judge(fault.lasts_s + 2.0)
            name = self._stage.start_worker()
            self._later(fault.lasts_s, "joined", lambda: self.end(name) if name in self._stage.live else None)
        elif fault.kind == "slow judge":
            self._slow_judge(fault.lasts_s)
        elif fault.kind == "flush redis":
            self._flush()
        elif words[0] in ("kill", "stop"):
            service = {"redis": self._site.redis, "qdrant": self._site.qdrant, "broker": self._site.broker}[words[-1]]
            (self._kill_service if words[0] == "kill" else self._stop_service)(service, fault.lasts_s)
        else:
            mode, service_name = words
            victim = self._victim(fault)
            self._free(f"{service_name} {victim}")
            self._stage.wires.set(service_name, victim, mode)
            self._later(
                fault.lasts_s,
                f"{service_name} {victim}",
                lambda: self._stage.wires.set(service_name, victim, "open"),
            )

    def _start_worker(self) -> None:
        self._stage.start_worker()

    def end(self, name: str) -> None:
        """Ask a worker to end; anything but exit code 0 is a problem. One that is still being loaded does not hear the signal yet."""
        code, is_up = self._stage.end_worker(name)
        if code != 0 and (is_up or code != -signal.SIGTERM):
            self.problems.append(f"worker {name} was asked to end and ended with {code}")

    def _stop_worker(self, name: str, seconds: float) -> None:
        self._free(f"stopped {name}")
        worker = self._stage.live[name]
        worker.sleep_now()

        def wake() -> None:
            if self._stage.live.get(name) is worker and worker.running:
                worker.signal(signal.SIGCONT)

        self._later(seconds, f"stopped {name}", wake)

    def _slow_judge(self, seconds: float) -> None:
        self._free("judge")
        self._stage.judge.delay_s = 1.0

        def quick() -> None:
            self._stage.judge.delay_s = 0.0

        self._later(seconds, "judge", quick)

    def _flush(self) -> None:
        import redis

        self._free("redis")
        with contextlib.closing(redis.Redis.from_url(self._site.redis_url)) as client:
            client.flushall()

    def _kill_service(self, service: Service, seconds: float) -> None:
        self._free(service.name)
        service.kill()
        self._later(seconds, service.name, lambda: service.start(timeout_s=START_LIMIT_S))

    def _stop_service(self, service: Service, seconds: float) -> None:
        self._free(service.name)
        assert service.pid is not None
        pid = service.pid
        os.kill(pid, signal.SIGSTOP)
        self._later(seconds, service.name, lambda: os.kill(pid, signal.SIGCONT))


def run_chaos(plan: Plan, folder: Path, say: Say) -> Report:
    """Run a plan in a folder and report. Prints the schedule before and the comparison after."""
    began = time.monotonic()
    with open_stage(folder, broker=plan.broker) as stage:
        stream = make_stream(plan.seed, plan.events, stage.room.topics, datetime.now(UTC))
        schedule = make_schedule(plan.seed, plan.faults, stream.events, durable_broker=plan.broker == "apache")
        say(
            f"{plan.events} records with {stream.events} events, {plan.workers} workers, seed {plan.seed}, {plan.broker} broker"
        )
        for fault in schedule:
            say(f"  {fault}")
        for _ in range(plan.workers):
            stage.start_worker()
        stage.room.until_ready(*stage.live.values())
        say(f"workers ready after {time.monotonic() - began:.0f} s")
        mischief = Mischief(stage)
        with Feeder(stage.room, stream, ahead=plan.ahead) as feeder:
            _meet(stage, schedule, mischief, feeder, say)
            settle(stage, mischief, feeder)
        outcome = as_chaos_outcome(stage.room.outcome())
        for name in sorted(stage.live):
            mischief.end(name)
        stage.judge.delay_s = 0.0
        say(
            f"all decided after {time.monotonic() - began:.0f} s; rebuilding the expected state from {stage.room.topics.candidates}"
        )
        expected, records = rebuild_now(stage.room.settings, stage.room.name, stage.room.site.kafka_bootstrap)
        comparison = compare(outcome, expected, records)
        comparison.lines.append(
            f"  workers that found a service away when they started, and were started again: {mischief.restarted}"
        )
    return Report(plan, comparison, mischief.happened, time.monotonic() - began, mischief.problems)


def _meet(stage: Stage, schedule: list[Fault], mischief: Mischief, feeder: Feeder, say: Say) -> None:
    """Let every fault happen at its place."""
    began = moved = time.monotonic()
    decided = -1
    for fault in schedule:
        while (seen := _follow(stage, mischief)) < fault.at:
            if seen != decided:
                decided, moved = seen, time.monotonic()
            if feeder.is_done and mischief.nothing_left():
                break  # the rest happens to workers without work
            if time.monotonic() - moved > STALL_LIMIT_S:
                raise AssertionError(f"no decision for {STALL_LIMIT_S:g} s, fault {fault}\n{stage.room.state()}")
            time.sleep(0.02)
        say(
            f"  {time.monotonic() - began:6.1f} s  {stage.room.follower.decided:6d} decided  {fault.kind}, worker {fault.victim}"
        )
        mischief.do(fault)


def _follow(stage: Stage, mischief: Mischief) -> int:
    if stage.room.follower.failure is not None:
        raise AssertionError("the follower failed") from stage.room.follower.failure
    mischief.mend_due()
    return stage.room.follower.decided


def settle(stage: Stage, mischief: Mischief, feeder: Feeder) -> None:
    """Mend everything, and wait until all is decided and committed."""
    mischief.mend_all()
    moved, decided = time.monotonic(), -1
    while True:
        seen = _follow(stage, mischief)
        if seen != decided:
            decided, moved = seen, time.monotonic()
        if feeder.is_done and mischief.nothing_left() and not any(map(open_lanes, stage.live.values())):
            return
        if time.monotonic() - moved > STALL_LIMIT_S:
            raise AssertionError(f"no decision for {STALL_LIMIT_S:g} s, at {seen}\n{stage.room.state()}")
        time.sleep(0.1)


def open_lanes(worker: Worker) -> float:
    """Return how many lanes a worker has at work: an old owner may still tell anew what it told late. Infinite if it does not say."""
    try:
        lines = worker.ask("/metrics")[1].splitlines()
    except OSError:
        return float("inf")
    return sum(float(line.split()[1]) for line in lines if line.startswith(f"{LANES} "))


def as_chaos_outcome(found: Outcome) -> ChaosOutcome:
    """Return an outcome as one in which something may have been erased."""
    return ChaosOutcome(found.room, found.topics, found.facts, found.vectors, found.ledger, found.records)
