"""From settings to running parts: the one place where adapters are chosen and put together."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog
from qdrant_client import AsyncQdrantClient

from factsieve.adapters.clock import SystemClock
from factsieve.adapters.kept import Keep, KeptEmbedder
from factsieve.adapters.memory import MemoryFacts, MemoryLedger, MemoryOutbox, MemoryWindow
from factsieve.adapters.qdrant_facts import QdrantFacts
from factsieve.adapters.qdrant_ledger import QdrantLedger
from factsieve.adapters.qdrant_tools import connect
from factsieve.adapters.redis_window import RedisWindow
from factsieve.adapters.tls import TlsFiles
from factsieve.assembly.judges import Judges, build_judges
from factsieve.assembly.settings import Settings
from factsieve.assembly.settings_groups import EmbedderSettings
from factsieve.core.errors import BadSettings
from factsieve.engine.desk import HoldSettings
from factsieve.engine.engine import Engine, EngineSettings
from factsieve.engine.lane import LaneSettings
from factsieve.engine.poison import PoisonSettings
from factsieve.engine.ports import HoldsAll, NoRisk, Observer, Ports
from factsieve.engine.sizes import Room
from factsieve.engine.wave import WaveSettings
from factsieve.ports import Downstream, Embedder, FactStore, Fence, HashWindow, Ledger, Outbox, Risk
from factsieve.wire.topic_specs import load_specs

log = structlog.get_logger(__name__)

_EXCUSE_RETRIES: Final = 3
"""For how many of the longest pauses between tries an unanswered call excuses that nothing gets done."""


def build_embedder(settings: Settings, *, niceness: int = 0) -> Embedder:
    """Return the configured embedder; `niceness` is added to that of the threads of a local one.

    Raises BadSettings where its model or a library is missing, or the threshold profile was measured for another one.
    """
    profile = settings.threshold_profile()
    embedder = load_embedder(settings.embedder, niceness=niceness)
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


def load_embedder(chosen: EmbedderSettings, *, niceness: int = 0) -> Embedder:
    """Return an embedder; `niceness` is added to that of a local one's threads.

    Raises BadSettings where its model or a library is missing.
    """
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
        niceness=niceness,
    )


def redis_tls(settings: Settings) -> TlsFiles:
    """Return the files for TLS towards Redis."""
    redis = settings.redis
    return TlsFiles(
        ca=str(redis.ssl_ca_file) if redis.ssl_ca_file else None,
        cert=str(redis.ssl_cert_file) if redis.ssl_cert_file else None,
        key=str(redis.ssl_key_file) if redis.ssl_key_file else None,
        key_password=redis.ssl_key_password.get_secret_value() if redis.ssl_key_password else None,
        verify_hostname=redis.ssl_verify_hostname,
    )


def build_window(settings: Settings) -> RedisWindow:
    """Return the hash window."""
    redis = settings.redis
    return RedisWindow(
        redis.url.get_secret_value(),
        username=redis.username,
        password=redis.password.get_secret_value() if redis.password else None,
        tls=redis_tls(settings),
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
        poison=PoisonSettings(
            tries=engine.poison_tries,
            in_a_row=engine.poison_in_a_row,
            stops_namespace=engine.poison_action == "stop_namespace",
        ),
        max_in_flight=engine.max_in_flight,
        max_lane_events=engine.max_lane_events,
        batch_items=engine.batch_items,
        partitioner=settings.kafka.partitioner,
        refuse_wrong_partition=settings.kafka.wrong_partition == "refuse",
        command_keys=settings.command_keys(),
        command_max_age_s=settings.commands.max_age_s,
        room=Room(
            {
                name: min(spec.max_message_bytes, settings.kafka.max_request_bytes)
                for name, spec in load_specs(settings.topics).items()
            },
            settings.limits.max_attributes_bytes,
        ),
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
    risk: Risk | None = None,
    downstream: Downstream | None = None,
    waits: bool = True,
) -> Engine:
    """Return an engine over these stores, with the configured judges (or these) and the system's clock. Raises BadSettings.

    `waits`: whether a model that fails on everything is waited for, or ends the engine.
    """
    asked = judges or build_judges(settings, profile=settings.threshold_profile(), risk=risk)
    ports = Ports(
        facts=facts,
        ledger=ledger,
        window=window,
        embedder=embedder,
        judge=asked.judge,
        local_judge=asked.local,
        outbox=outbox,
        clock=SystemClock(),
        fence=fence,
        risk=risk or NoRisk(),
        downstream=downstream,
    )
    told = engine_settings(settings, embedder)
    poison = msgspec.structs.replace(told.poison, ends_on_outage=not waits)
    return Engine(ports, msgspec.structs.replace(told, poison=poison), observer, partition_count, on_failure)


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
        waits=False,
    )
    yield Offline(engine, outbox, facts)


@dataclass(frozen=True)
class Stores:
    """The stores of a process, opened and checked."""

    facts: QdrantFacts
    ledger: QdrantLedger
    embedder: Embedder


def qdrant_client_of(settings: Settings, *, timeout_s: float | None = None) -> AsyncQdrantClient:
    """Return a client of the configured server. Raises BadSettings."""
    qdrant = settings.qdrant
    return connect(
        qdrant.url.get_secret_value(),
        api_key=qdrant.api_key.get_secret_value() if qdrant.api_key else None,
        ca_file=str(qdrant.ssl_ca_file) if qdrant.ssl_ca_file else None,
        timeout_s=qdrant.timeout_s if timeout_s is None else timeout_s,
        max_connections=qdrant.max_connections,
    )


@asynccontextmanager
async def open_stores(settings: Settings, *, niceness: int = 0) -> AsyncIterator[Stores]:
    """Open facts and ledger of the configured embedder (`niceness`: of its threads); collections that do not exist are made.

    Raises BadSettings where something does not fit, Transient where Qdrant is out of reach.
    """
    qdrant = settings.qdrant
    embedder = build_embedder(settings, niceness=niceness)
    try:
        client = qdrant_client_of(settings)
    except BadSettings:
        _close(embedder)
        raise
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
