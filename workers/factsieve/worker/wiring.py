"""From settings to running parts: the one place where adapters are chosen and put together."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import structlog
from prometheus_client import CollectorRegistry

from factsieve import __version__
from factsieve.adapters.clock import SystemClock
from factsieve.adapters.kafka_outbox import KafkaOutbox
from factsieve.adapters.kept import Keep, KeptEmbedder
from factsieve.adapters.memory import MemoryFacts, MemoryLedger, MemoryOutbox, MemoryWindow
from factsieve.adapters.qdrant_facts import QdrantFacts
from factsieve.adapters.qdrant_ledger import QdrantLedger
from factsieve.adapters.qdrant_tools import connect
from factsieve.adapters.redis_window import RedisWindow
from factsieve.core.errors import BadSettings, Transient
from factsieve.engine.desk import HoldSettings
from factsieve.engine.engine import Engine, EngineSettings
from factsieve.engine.lane import LaneSettings
from factsieve.engine.ports import HoldsAll, Observer, Ports
from factsieve.engine.wave import WaveSettings
from factsieve.ports import Embedder, FactStore, Fence, HashWindow, Ledger, Outbox
from factsieve.telemetry import log as telemetry_log
from factsieve.telemetry.metrics import Metrics
from factsieve.worker.app import EngineContext, SieveApp, WorkerConfig, make_app
from factsieve.worker.feeds import FeedLimits
from factsieve.worker.judges import Judges, build_judges
from factsieve.worker.kafka_access import bootstrap_servers, outbox_options, security_of
from factsieve.worker.run import EXIT_UNREACHABLE, RunOptions, run_worker
from factsieve.worker.settings import Settings

log = structlog.get_logger(__name__)

_EXCUSE_RETRIES: Final = 3
"""For how many of the longest pauses between tries an unanswered call excuses that nothing gets done."""


def build_embedder(settings: Settings) -> Embedder:
    """Return the configured embedder.

    Raises BadSettings where its model or a library is missing, or the threshold profile was measured for another one.
    """
    profile = settings.threshold_profile()
    embedder = _load_embedder(settings)
    if profile is not None:
        try:
            profile.check_embedder(embedder.model, embedder.fingerprint)
        except BadSettings:
            _close(embedder)
            raise
    return embedder


def _close(embedder: Embedder) -> None:
    close = getattr(embedder, "close", None)
    if close is not None:
        close()


def _load_embedder(settings: Settings) -> Embedder:
    chosen = settings.embedder
    if chosen.kind == "openai":
        from factsieve.adapters.openai_embedder import OpenAIEmbedder  # noqa: PLC0415 - needs an extra

        if chosen.model is None:
            raise BadSettings("embedder.model is not set: name the model that the endpoint serves")
        return OpenAIEmbedder(
            chosen.model,
            base_url=chosen.base_url.get_secret_value() if chosen.base_url else None,
            api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
            dimension=chosen.dimension,
            batch_size=chosen.batch_size,
            cache_size=chosen.cache_size,
            timeout_s=chosen.timeout_s,
        )
    from factsieve.adapters.onnx_embedder import OnnxEmbedder  # noqa: PLC0415 - needs an extra

    if chosen.kind == "folder" and chosen.path is None:
        raise BadSettings("embedder.path is not set: name the folder of the model")
    return OnnxEmbedder(
        chosen.path if chosen.kind == "folder" else None,
        model=chosen.model,
        threads=chosen.threads or None,
        batch_size=chosen.batch_size,
        cache_size=chosen.cache_size,
    )


def build_window(settings: Settings) -> RedisWindow:
    """Return the hash window."""
    redis = settings.redis
    return RedisWindow(
        redis.url.get_secret_value(),
        window_s=redis.window_s,
        timeout_s=redis.timeout_s,
        max_connections=redis.max_connections,
    )


def engine_settings(settings: Settings, embedder: Embedder) -> EngineSettings:
    """Return what the engine is told."""
    engine = settings.engine
    return EngineSettings(
        topics=settings.topics,
        limits=settings.input_limits(embedder.model, embedder.dimension),
        policies=settings.policies(),
        wave=WaveSettings(
            slack=engine.slack,
            window_s=settings.redis.window_s,
            window_sources=frozenset(settings.redis.window_sources),
            max_unknown_share=settings.embedder.max_unknown_share,
        ),
        lane=LaneSettings(
            wave_events=engine.wave_size, retry_first_s=engine.retry_first_s, retry_most_s=engine.retry_most_s
        ),
        hold=HoldSettings(hold_s=settings.judge.hold_s, retry_s=settings.judge.hold_retry_s),
        max_in_flight=engine.max_in_flight,
        batch_items=engine.batch_items,
        partitioner=settings.kafka.partitioner,
        refuse_wrong_partition=settings.kafka.wrong_partition == "refuse",
        command_keys=settings.command_keys(),
        command_max_age_s=settings.commands.max_age_s,
    )


def build_engine(
    settings: Settings,
    *,
    facts: FactStore,
    ledger: Ledger,
    window: HashWindow,
    embedder: Embedder,
    outbox: Outbox,
    fence: Fence,
    observer: Observer | None = None,
    partition_count: Callable[[str], int | None] = lambda _topic: None,
    judges: Judges | None = None,
    on_failure: Callable[[BaseException], None] = lambda _error: None,
) -> Engine:
    """Return an engine over these stores, with the configured judges (or these) and the system's clock. Raises BadSettings."""
    asked = judges or build_judges(settings, profile=settings.threshold_profile())
    ports = Ports(facts, ledger, window, embedder, asked.judge, asked.local, outbox, SystemClock(), fence)
    return Engine(ports, engine_settings(settings, embedder), observer, partition_count, on_failure)


@dataclass(frozen=True)
class Offline:
    """An engine that needs no service: everything in memory, messages collected in `outbox`."""

    engine: Engine
    outbox: MemoryOutbox
    facts: MemoryFacts


@dataclass(frozen=True)
class Models:
    """The models of a process: what engines share."""

    embedder: Embedder
    judges: Judges


@asynccontextmanager
async def open_models(settings: Settings, keep: Keep | None = None) -> AsyncIterator[Models]:
    """Load the configured embedder and judges, and close them at the end; `keep` holds what they computed before. Raises BadSettings."""
    embedder = build_embedder(settings)
    try:
        judges = build_judges(settings, profile=settings.threshold_profile(), keep=keep)
        try:
            yield Models(embedder if keep is None else KeptEmbedder(embedder, keep), judges)
        finally:
            await judges.close()
    finally:
        _close(embedder)


@asynccontextmanager
async def offline_engine(
    settings: Settings, observer: Observer | None = None, models: Models | None = None
) -> AsyncIterator[Offline]:
    """Make the same engine as a worker's, on memory stores, with the configured models (or these). Raises BadSettings."""
    if models is None:
        async with open_models(settings) as opened, offline_engine(settings, observer, opened) as offline:
            yield offline
        return
    outbox, facts = MemoryOutbox(), MemoryFacts(models.embedder.dimension)
    engine = build_engine(
        settings,
        facts=facts,
        ledger=MemoryLedger(),
        window=MemoryWindow(settings.redis.window_s),
        embedder=models.embedder,
        outbox=outbox,
        fence=HoldsAll(),
        observer=observer,
        judges=models.judges,
    )
    yield Offline(engine, outbox, facts)


@dataclass(frozen=True)
class Stores:
    """The stores of a process, opened and checked."""

    facts: QdrantFacts
    ledger: QdrantLedger
    embedder: Embedder


@asynccontextmanager
async def open_stores(settings: Settings) -> AsyncIterator[Stores]:
    """Open facts and ledger of the configured embedder; collections that do not exist are made.

    Raises BadSettings where something does not fit, Transient where Qdrant is out of reach.
    """
    qdrant = settings.qdrant
    embedder = build_embedder(settings)
    client = connect(
        qdrant.url.get_secret_value(),
        api_key=qdrant.api_key.get_secret_value() if qdrant.api_key else None,
        timeout_s=qdrant.timeout_s,
        max_connections=qdrant.max_connections,
    )
    try:
        facts = QdrantFacts(
            client,
            model=embedder.model,
            dimension=embedder.dimension,
            fingerprint=embedder.fingerprint,
            prefix=qdrant.collection_prefix,
        )
        ledger = QdrantLedger(client, prefix=qdrant.collection_prefix)
        await facts.prepare(accept_old_server=qdrant.accept_old_server)
        await ledger.prepare(accept_old_server=qdrant.accept_old_server)
        yield Stores(facts, ledger, embedder)
    finally:
        await client.close()
        _close(embedder)


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
        feed=FeedLimits(kafka.partition_buffer_records, kafka.partition_buffer_bytes),
        drain_timeout_s=worker.drain_timeout_s,
        stop_deadline_s=worker.stop_deadline_s,
        judge_hold_s=settings.judge.hold_s,
        watchdog_s=worker.watchdog_timeout_s,
        health_host=worker.health_host,
        health_port=worker.health_port,
    )


class _Watched(Metrics):
    """Metrics that also know what is being waited for, as an excuse for the watchdog: an outage is no reason to die."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self._waited_at_s = -math.inf
        self._service = ""

    def waited(self, service: str, error: str) -> None:
        """Count it, and remember when."""
        super().waited(service, error)
        self._waited_at_s, self._service = time.monotonic(), service

    def excuse(self, fresh_s: float) -> str | None:
        """Return what was waited for within the last `fresh_s` seconds, if anything."""
        return f"waiting for {self._service}" if time.monotonic() - self._waited_at_s <= fresh_s else None


async def _serve(settings: Settings) -> int:
    metrics = _Watched()
    policies = settings.policies()
    log.info("profile_loaded", policy=policies.default.fingerprint, **settings.shown()["policy"])
    async with open_stores(settings) as stores:
        window = build_window(settings)
        outbox = KafkaOutbox(
            bootstrap_servers(settings),
            security=security_of(settings),
            options=outbox_options(settings),
            client_id=f"{settings.kafka.client_id}-outbox",
        )
        await _check_window(window)
        judges = build_judges(settings, profile=settings.threshold_profile())
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
            )
            engines.append(engine)
            return engine

        app = make_app(worker_config(settings), make_engine)
        apps.append(app)
        metrics.built(
            version=__version__,
            embedder=stores.embedder.fingerprint,
            judge=settings.judge.effective_name,
            policy=policies.default.fingerprint,
        )
        _observe(metrics, app, engines[0], outbox)
        options = RunOptions(
            registry=metrics.registry,
            stores={"qdrant": stores.facts.check, "ledger": stores.ledger.check, "redis": window.check},
            closers=(outbox.stop, window.close, judges.close),
            loop_limit_s=settings.worker.loop_limit_s,
            excuse=lambda: metrics.excuse(_EXCUSE_RETRIES * settings.engine.retry_most_s),
        )
        return await run_worker(app, options)


async def _check_window(window: RedisWindow) -> None:
    """Refuse a Redis that would lose entries unseen; one that is out of reach just now is done without."""
    try:
        await window.check()
    except Transient as error:
        log.warning("redis_unreachable", error=str(error))


def _observe(metrics: Metrics, app: SieveApp, engine: Engine, outbox: KafkaOutbox) -> None:
    """Let the metrics that others count be read where they are counted."""

    def lag() -> list[tuple[dict[str, str], float]]:
        consumer = app.safe_consumer
        if consumer is None:
            return []
        return [
            ({"topic": topic, "partition": str(partition)}, float(consumer.lag_of((topic, partition))))
            for topic, partition in sorted(app.fence.held)
        ]

    metrics.observe("events_done_total", lambda: app.feeds.done_total)
    metrics.observe("events_in_flight", lambda: engine.in_flight)
    metrics.observe("lanes_open", lambda: engine.lanes)
    metrics.observe("lag_events", lag)
    metrics.observe("partitions_assigned", lambda: len(app.fence.held))
    metrics.observe("rebalances_total", lambda: app.coupling.rebalances_total)
    metrics.observe("commits_total", lambda: app.coupling.commits_total)
    metrics.observe("commit_failures_total", lambda: app.coupling.commit_failures_total)
    metrics.observe("drain_timeouts_total", lambda: app.coupling.drain_timeouts_total)
    metrics.observe("messages_sent_total", lambda: outbox.sent_total)
    metrics.observe("messages_failed_total", lambda: outbox.failed_total)


def run(settings: Settings) -> int:
    """Run a worker until it is asked to stop; return the exit code (0, 1 a bug, 2 settings, 3 a service out of reach)."""
    telemetry_log.configure(format=settings.log.format, level=settings.log.level)
    try:
        return asyncio.run(_serve(settings))
    except Transient as error:
        log.error("service_unreachable", service=error.service, error=str(error))
        return EXIT_UNREACHABLE
