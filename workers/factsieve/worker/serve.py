"""One production worker, put together from settings and run until it is asked to stop."""

import asyncio
import itertools
import math
import time
from collections.abc import Callable
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector

from factsieve import __version__
from factsieve.adapters.kafka_outbox import KafkaOutbox
from factsieve.adapters.kafka_probe import explain
from factsieve.adapters.redis_window import RedisWindow
from factsieve.assembly import memory
from factsieve.assembly.downstream import build_downstream
from factsieve.assembly.exposure import exposed
from factsieve.assembly.judges import Judges, build_judges
from factsieve.assembly.kafka_access import bootstrap_servers, outbox_options, security_of
from factsieve.assembly.priority import make_way
from factsieve.assembly.settings import Settings
from factsieve.assembly.wiring import build_engine, build_window, open_stores
from factsieve.core.errors import Transient
from factsieve.core.guard import thesaurus
from factsieve.engine.engine import Engine
from factsieve.engine.standing import Standing
from factsieve.operations.stores import naming_qdrant
from factsieve.ports import Embedder
from factsieve.telemetry import log as telemetry_log
from factsieve.telemetry.metrics import Metrics
from factsieve.worker.app import EngineContext, SieveApp, WorkerConfig, make_app
from factsieve.worker.consumer import SafeConsumer
from factsieve.worker.facts_watch import FactsWatch, WatchConfig
from factsieve.worker.feeds import FeedLimits
from factsieve.worker.fence import TopicPartition
from factsieve.worker.run import EXIT_UNREACHABLE, RunOptions, run_worker
from factsieve.worker.suspects import Suspects

log = structlog.get_logger(__name__)

_EXCUSE_RETRIES: Final = 3
"""For how many of the longest pauses between tries an unanswered call excuses that nothing gets done."""


def worker_config(settings: Settings) -> WorkerConfig:
    """Return what the consumer is told."""
    kafka, worker = settings.kafka, settings.worker
    return WorkerConfig(
        bootstrap_servers=bootstrap_servers(settings),
        security=security_of(settings),
        group_id=kafka.group,
        client_id=kafka.client_id,
        topic=settings.topics.candidates,
        isolation_level=kafka.isolation_level,
        session_timeout_s=kafka.session_timeout_s,
        heartbeat_interval_s=kafka.heartbeat_interval_s,
        rebalance_timeout_s=kafka.rebalance_timeout_s,
        request_timeout_s=kafka.request_timeout_s,
        commit_interval_s=kafka.commit_interval_s,
        commit_timeout_s=kafka.commit_timeout_s,
        max_poll_records=kafka.max_poll_records,
        max_fetch_bytes=kafka.max_fetch_bytes,
        feed=FeedLimits(kafka.partition_buffer_records, kafka.partition_buffer_bytes, kafka.partition_span_records),
        drain_timeout_s=worker.drain_timeout_s,
        stop_deadline_s=worker.stop_deadline_s,
        judge_hold_s=settings.judge.hold_s,
        watchdog_s=worker.watchdog_timeout_s,
        health_host=worker.health_host,
        health_port=worker.health_port,
    )


def watch_config(settings: Settings) -> WatchConfig:
    """Return what the reader of the compacted topic is told."""
    kafka = settings.kafka
    return WatchConfig(
        bootstrap_servers=bootstrap_servers(settings),
        security=security_of(settings),
        topic=settings.topics.facts,
        group_id=f"{kafka.group}-facts",
        client_id=f"{kafka.client_id}-facts",
        session_timeout_s=kafka.session_timeout_s,
        heartbeat_interval_s=kafka.heartbeat_interval_s,
        every_s=settings.worker.facts_check_s,
    )


_BREAKER: Final = {"closed": 0, "half_open": 1, "open": 2}


_TELL_AGAIN_S: Final = 30.0
"""How often at most the log tells of one service that it is waited for."""


class _Watched(Metrics):
    """Metrics that also know what is being waited for, as an excuse for the watchdog: an outage is no reason to die."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        ProcessCollector(registry=self.registry)
        self._waited_at_s = -math.inf
        self._service = ""
        self._told_at_s: dict[str, float] = {}

    def waited(self, service: str, error: str) -> None:
        """Count it, remember when, and tell the log now and then."""
        super().waited(service, error)
        now_s = time.monotonic()
        self._waited_at_s, self._service = now_s, service
        if now_s - self._told_at_s.get(service, -math.inf) >= _TELL_AGAIN_S:
            self._told_at_s[service] = now_s
            log.warning("service_awaited", service=service, error=error)

    def excuse(self, fresh_s: float) -> str | None:
        """Return what was waited for within the last `fresh_s` seconds, if anything."""
        return f"waiting for {self._service}" if time.monotonic() - self._waited_at_s <= fresh_s else None


async def _serve(settings: Settings) -> int:
    refused = await explain(bootstrap_servers(settings), security_of(settings))
    if refused is not None:
        raise refused
    for sentence in exposed(settings):
        log.warning("secret_exposed", problem=sentence)
    metrics = _Watched()
    policies = settings.policies()
    niceness = settings.worker.model_niceness
    log.info("profile_loaded", policy=policies.default.fingerprint, **settings.shown()["policy"])
    async with open_stores(settings, niceness=niceness) as stores:
        window = build_window(settings)
        outbox = KafkaOutbox(
            bootstrap_servers(settings),
            security=security_of(settings),
            options=outbox_options(settings),
            client_id=f"{settings.kafka.client_id}-outbox",
        )
        await _check_window(window)
        suspects = _suspects(settings, stores.embedder, lambda: judges)
        judges = build_judges(settings, profile=settings.threshold_profile(), risk=suspects, niceness=niceness)
        downstream = build_downstream(settings, stores.embedder)
        engines: list[Engine] = []
        apps: list[SieveApp] = []

        def partition_count(topic: str) -> int | None:
            consumer = apps[0].safe_consumer if apps else None
            return None if consumer is None else consumer.partition_count(topic)

        def make_engine(context: EngineContext) -> Engine:
            engine = build_engine(
                settings,
                facts=stores.facts,
                ledger=stores.ledger,
                window=window,
                embedder=stores.embedder,
                outbox=outbox,
                fence=context.fence,
                observer=metrics,
                partition_count=partition_count,
                on_failure=context.on_bug,
                judges=judges,
                risk=suspects,
                downstream=downstream,
            )
            engines.append(engine)
            return engine

        app = make_app(worker_config(settings), make_engine)
        apps.append(app)
        if suspects is not None:
            app.coupling.on_assigned = suspects.absorb
            metrics.observe("suspects_known", lambda: suspects.count)
        metrics.built(
            version=__version__,
            embedder=stores.embedder.fingerprint,
            judge=settings.judge.effective_name,
            policy=policies.default.fingerprint,
        )
        _observe(metrics, app, engines[0], outbox)
        _observe_models(metrics, stores.embedder, judges)
        standing = Standing(stores.facts, outbox, settings.topics)
        metrics.observe("facts_restated_total", lambda: standing.restated_total)
        watch = FactsWatch(watch_config(settings), standing)
        options = RunOptions(
            registry=metrics.registry,
            stores={"qdrant": stores.facts.check, "ledger": stores.ledger.check, "redis": window.check},
            closers=(watch.stop, outbox.stop, window.close, judges.close, *([downstream.close] if downstream else [])),
            loop_limit_s=settings.worker.loop_limit_s,
            excuse=lambda: metrics.excuse(_EXCUSE_RETRIES * settings.engine.retry_most_s) or _parked(engines[0]),
        )
        try:
            await watch.start()
            _settle_memory()
            return await run_worker(app, options)
        finally:
            await watch.stop()
            if suspects is not None:
                suspects.close()


def _settle_memory() -> None:
    """Load what the first statements would wait for, and keep the garbage collector from looking at what stays for good."""
    thesaurus.warm()
    memory.settle()


def _parked(engine: Engine) -> str | None:
    """Return that all that is left waits for stopped namespaces, if it does: a restart would try them again, and again."""
    stopped = engine.stopped_namespaces
    return f"{stopped} namespaces have stopped" if stopped and not engine.in_flight else None


def _suspects(settings: Settings, embedder: Embedder, judges: Callable[[], Judges]) -> Suspects | None:
    """Return the marks of what is being worked on; None, with a warning, where the folder can not be written."""
    numbers = itertools.count(1)

    async def probe() -> None:
        number = next(numbers)
        await embedder.embed([f"This is known-good statement number {number} of this process."])
        if (nli := judges().nli) is not None:
            await nli.probe(number)

    folder = settings.worker.state_dir / "marks"
    models = f"{__version__}/{embedder.fingerprint}/{settings.judge.effective_name}"
    try:
        return Suspects(folder, by=models, deaths=settings.worker.poison_deaths, probe=probe)
    except OSError as error:
        log.warning("marks_unavailable", folder=str(folder), error=str(error))
        return None


async def _check_window(window: RedisWindow) -> None:
    """Refuse a Redis that would lose entries unseen; one that is out of reach just now is done without."""
    try:
        await window.check()
    except Transient as error:
        log.warning("redis_unreachable", error=str(error))


def _observe_models(metrics: Metrics, embedder: Embedder, judges: Judges) -> None:
    """The same for what models did."""
    for name in ("computed", "cached"):
        if hasattr(embedder, f"{name}_total"):
            metrics.observe(f"embeddings_{name}_total", lambda name=name: getattr(embedder, f"{name}_total"))
    remote = judges.remote
    if remote is not None:
        metrics.observe("judge_breaker_state", lambda: _BREAKER[remote.breaker_state])


def _observe(metrics: Metrics, app: SieveApp, engine: Engine, outbox: KafkaOutbox) -> None:
    """Let the metrics that others count be read where they are counted."""

    def of_partitions(measure: Callable[[SafeConsumer, TopicPartition], float]) -> list[tuple[dict[str, str], float]]:
        consumer = app.safe_consumer
        if consumer is None:
            return []
        return [
            ({"topic": name[0], "partition": str(name[1])}, float(measure(consumer, name)))
            for name in sorted(app.fence.held)
        ]

    def lag() -> list[tuple[dict[str, str], float]]:
        return of_partitions(SafeConsumer.lag_of)

    def age() -> list[tuple[dict[str, str], float]]:
        return of_partitions(SafeConsumer.lag_s_of)

    metrics.observe("events_done_total", lambda: app.feeds.done_total)
    metrics.observe("events_in_flight", lambda: engine.in_flight)
    metrics.observe("lanes_open", lambda: engine.lanes)
    metrics.observe("lag_events", lag)
    metrics.observe("lag_seconds", age)
    metrics.observe("lanes_held", lambda: engine.desk.held)
    metrics.observe("lane_holds_total", lambda: engine.desk.holds_total)
    metrics.observe("lane_holds_given_up_total", lambda: engine.desk.given_up_total)
    metrics.observe("partitions_assigned", lambda: len(app.fence.held))
    metrics.observe("rebalances_total", lambda: app.coupling.rebalances_total)
    metrics.observe("commits_total", lambda: app.coupling.commits_total)
    metrics.observe("commit_failures_total", lambda: app.coupling.commit_failures_total)
    metrics.observe("fetches_failed_total", lambda: app.coupling.fetch_failures_total)
    metrics.observe("namespaces_stopped", lambda: engine.stopped_namespaces)
    metrics.observe("drain_timeouts_total", lambda: app.coupling.drain_timeouts_total)
    metrics.observe("messages_sent_total", lambda: outbox.sent_total)
    metrics.observe("messages_failed_total", lambda: outbox.failed_total)


def run(settings: Settings) -> int:
    """Run a worker until it is asked to stop; return the exit code (0, 1 a bug, 2 settings, 3 a service out of reach)."""
    telemetry_log.configure(format=settings.log.format, level=settings.log.level)
    make_way(settings.worker.niceness)
    try:
        with naming_qdrant(settings):
            return asyncio.run(_serve(settings))
    except Transient as error:
        log.error("service_unreachable", service=error.service, error=str(error))
        return EXIT_UNREACHABLE
