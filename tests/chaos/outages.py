"""Services that are gone for minutes while events flow: nothing is lost, `/readyz` tells all along, and it goes on by itself.

`make chaos SCENARIO=outages BROKER=local|apache`: Redis, then Qdrant, then (with a broker that keeps its data) Kafka.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from chaos.rebuild import Comparison, compare, rebuild_now
from chaos.run import START_LIMIT_S, Mischief, Say, as_chaos_outcome, settle
from chaos.stage import Feeder, Stage, open_stage
from chaos.stream import make_stream
from e2e.harness import Worker
from factsieve.localstack.process import Service

NOTICED_WITHIN_S = 15.0
RECOVERED_WITHIN_S = 30.0
CHECKS = {"redis": {"redis"}, "qdrant": {"qdrant", "ledger"}, "broker": {"kafka"}}
"""What `/readyz` complains of, by what is gone."""

MORE = 10
"""So many more decisions show that work goes on."""

BEFORE, MEANWHILE = 0.1, 0.8
"""Of an outage's share of the stream, so much comes before it and so much while it lasts; the rest comes after it."""


@dataclass
class Outage:
    """What one outage came to; times in seconds."""

    service: str
    lasted_s: float
    noticed_s: float = 0.0
    recovered_s: float = 0.0
    sent_meanwhile: int = 0
    decided_meanwhile: int = 0
    waiting: int = 0
    asked: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass
class Outages:
    """What a run of outages came to."""

    outages: list[Outage]
    comparison: Comparison
    problems: list[str]
    took_s: float

    @property
    def failures(self) -> list[str]:
        return [*self.problems, *(wrong for one in self.outages for wrong in one.wrong), *self.comparison.failures]


def complaints(worker: Worker) -> set[str]:
    """Return the checks of `/readyz` that say no, `?` where it does not answer at all."""
    try:
        _, body = worker.ask("/readyz")
    except OSError:
        return {"?"}
    return {name for name, check in body["checks"].items() if not check["ok"]}


def run_outages(
    folder: Path, say: Say, *, broker: str, seed: int, lasting_s: float = 120.0, events: int = 4_000
) -> Outages:
    """Take each service away for so long, under load."""
    began = time.monotonic()
    with open_stage(folder, broker=broker) as stage:
        site = stage.room.site
        stream = make_stream(seed, events, stage.room.topics, datetime.now(UTC))
        for _ in range(2):
            stage.start_worker()
        stage.room.until_ready(*stage.live.values(), timeout_s=120)
        mischief = Mischief(stage)
        gone: list[tuple[str, Service]] = [("redis", site.redis), ("qdrant", site.qdrant)]
        if broker == "apache":
            gone.append(("broker", site.broker))
        found: list[Outage] = []
        with Feeder(stage.room, stream, ahead=400, share=0.0) as feeder:
            for number, (name, service) in enumerate(gone):
                feeder.share = (number + BEFORE) / len(gone)
                _until_more(stage, feeder)
                found.append(_outage(stage, name, service, lasting_s, feeder, until_share=(number + 1) / len(gone)))
                say(
                    f"  {name} gone for {lasting_s:g} s: noticed after {found[-1].noticed_s:.1f} s, {found[-1].sent_meanwhile} sent and "
                    f"{found[-1].decided_meanwhile} decided meanwhile, {found[-1].waiting} waiting; "
                    f"well again {found[-1].recovered_s:.1f} s after its return, /readyz asked {found[-1].asked} times"
                )
            settle(stage, mischief, feeder)
        outcome = as_chaos_outcome(stage.room.outcome())
        for name in sorted(stage.live):
            mischief.end(name)
        expected, records = rebuild_now(stage.room.settings, stage.room.name, site.kafka_bootstrap)
        comparison = compare(outcome, expected, records)
    return Outages(found, comparison, mischief.problems, time.monotonic() - began)


def _until_more(stage: Stage, feeder: Feeder) -> None:
    wanted = stage.room.follower.decided + MORE
    stage.room.until(lambda: feeder.is_done or stage.room.follower.decided >= wanted, f"{MORE} more decisions", 120)


def _outage(
    stage: Stage, name: str, service: Service, lasting_s: float, feeder: Feeder, *, until_share: float
) -> Outage:
    workers = list(stage.live.values())
    outage = Outage(name, lasting_s)
    service.kill()
    gone_at, before, sent = time.monotonic(), stage.room.follower.decided, feeder.sent
    begun, more = feeder.share, (until_share - feeder.share) * MEANWHILE / (1 - BEFORE)
    outage.noticed_s = _watch(outage, workers, gone_at, NOTICED_WITHIN_S, lambda bad: bad == CHECKS[name])
    while (now_s := time.monotonic() - gone_at) < lasting_s:
        feeder.share = begun + more * now_s / lasting_s
        for worker in workers:
            bad = complaints(worker)
            outage.asked += 1
            if bad != CHECKS[name]:
                outage.wrong.append(f"without {name}, /readyz complained of {sorted(bad)}")
            if worker.ask("/healthz")[0] != 200:
                outage.wrong.append(f"without {name}, /healthz said that a restart would help")
        time.sleep(0.5)
    outage.sent_meanwhile = feeder.sent - sent
    outage.decided_meanwhile = stage.room.follower.decided - before
    outage.waiting = max(0, feeder.sent - stage.room.follower.decided)
    service.start(timeout_s=START_LIMIT_S)
    back_at = time.monotonic()
    outage.recovered_s = _watch(outage, workers, back_at, RECOVERED_WITHIN_S, lambda bad: not bad)
    decided = stage.room.follower.decided
    feeder.share = until_share
    stage.room.until(
        lambda: feeder.is_done or stage.room.follower.decided > decided, "work going on", RECOVERED_WITHIN_S
    )
    return outage


def _watch(
    outage: Outage, workers: list[Worker], since: float, limit_s: float, right: Callable[[set[str]], bool]
) -> float:
    """Return after how long all workers' `/readyz` says what is right; too late is noted as wrong."""
    while not all(right(complaints(worker)) for worker in workers):
        outage.asked += len(workers)
        if time.monotonic() - since > 4 * limit_s:
            outage.wrong.append(f"/readyz is not right about {outage.service} after {4 * limit_s:g} s")
            break
        time.sleep(0.2)
    took_s = time.monotonic() - since
    if took_s > limit_s:
        outage.wrong.append(
            f"/readyz was right about {outage.service} after {took_s:.1f} s only, {limit_s:g} s are allowed"
        )
    return took_s
