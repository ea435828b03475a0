"""The Faust app, made by a function of its settings: one agent that hands every record to the engine. There is no global app."""
# ruff: noqa: ANN401 - Faust is untyped

import asyncio
from collections.abc import Callable
from typing import Any, Final, Literal

import faust
import msgspec
import structlog
from faust.app.base import BootStrategy
from faust.auth import SASLCredentials, SSLCredentials

from factsieve.adapters.kafka_client import KafkaSecurity
from factsieve.core.errors import BadSettings
from factsieve.ports import Fence
from factsieve.worker.client_thread import Coupling
from factsieve.worker.consumer import SafeConsumer, SafeTransport
from factsieve.worker.feeds import FeedLimits, Feeds, Pipeline
from factsieve.worker.fence import LeaseFence

log = structlog.get_logger(__name__)

_NEVER_S: Final = 30 * 24 * 3600.0
_HEARTBEATS_PER_SESSION: Final = 3
_REBALANCE_MARGIN_S: Final = 2.0
_WATCHDOG_MARGIN_S: Final = 10.0
_STOP_LEAST_S: Final = 2.0


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker needs to know of Kafka and of its own time limits. All times are seconds.

    `drain_timeout_s` bounds the wait for what has started when partitions are taken away; `stop_deadline_s` bounds the way from
    SIGTERM to the exit and belongs below the pod's grace period (default there: 30). `judge_hold_s` is how long the engine may
    hold a lane for a judge; `watchdog_s` without progress ends the process.
    """

    bootstrap_servers: tuple[str, ...] = ("127.0.0.1:9092",)
    security: KafkaSecurity = KafkaSecurity()
    group_id: str = "factsieve"
    client_id: str = "factsieve-worker"
    topic: str = "candidate-facts"
    isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed"
    session_timeout_s: float = 12.0
    heartbeat_interval_s: float = 3.0
    rebalance_timeout_s: float = 25.0
    request_timeout_s: float = 40.0
    commit_interval_s: float = 1.0
    commit_timeout_s: float = 5.0
    max_poll_records: int = 2_000
    max_fetch_bytes: int = 1024 * 1024
    stream_buffer_records: int = 65_536
    feed: FeedLimits = FeedLimits()
    drain_timeout_s: float = 12.0
    stop_deadline_s: float = 25.0
    judge_hold_s: float = 60.0
    watchdog_s: float = 300.0
    health_host: str = "127.0.0.1"
    health_port: int = 8081

    def checked(self) -> "WorkerConfig":
        """Return the configuration itself. Raises BadSettings where two values contradict each other."""
        if not self.bootstrap_servers:
            raise BadSettings("no bootstrap servers: give at least one host:port")
        _ordered(
            "heartbeat_interval_s x 3",
            self.heartbeat_interval_s * _HEARTBEATS_PER_SESSION,
            "session_timeout_s",
            self.session_timeout_s,
        )
        _ordered("session_timeout_s", self.session_timeout_s, "request_timeout_s", self.request_timeout_s)
        # JoinGroup is answered when all members came or the rebalance time-out is over.
        _ordered("rebalance_timeout_s", self.rebalance_timeout_s, "request_timeout_s", self.request_timeout_s)
        # We hear of a rebalance with the next heartbeat, then drain and commit, and must have joined before the time-out.
        _ordered(
            "drain_timeout_s + commit_timeout_s + heartbeat_interval_s + 2",
            self.drain_timeout_s + self.commit_timeout_s + self.heartbeat_interval_s + _REBALANCE_MARGIN_S,
            "rebalance_timeout_s",
            self.rebalance_timeout_s,
        )
        _ordered("judge_hold_s + 10", self.judge_hold_s + _WATCHDOG_MARGIN_S, "watchdog_s", self.watchdog_s)
        _ordered("stop deadline of 2", _STOP_LEAST_S, "stop_deadline_s", self.stop_deadline_s)
        _ordered("max_poll_records", self.max_poll_records, "stream_buffer_records", self.stream_buffer_records)
        _ordered(
            "feed.max_records + max_poll_records", self.feed.max_records + self.max_poll_records,
            "stream_buffer_records", self.stream_buffer_records,
        )  # fmt: skip
        return self


class EngineContext(msgspec.Struct, frozen=True):
    """What the consumer gives the engine: whether it may still write, and where to report what must end the process."""

    fence: Fence
    on_bug: Callable[[BaseException], None]


EngineFactory = Callable[[EngineContext], Pipeline]


class SieveApp(faust.App):  # type: ignore[misc] # untyped upstream
    """A Faust app with the safe consumer, without producer, web server, tables and folders of its own.

    Attributes:
        config: what it was made from.
        engine: the pipeline that the factory made.
        feeds, fence, coupling: the parts of the consumer, for metrics and health.
        bug: the first error that was reported and must end the process, or None.
    """

    class BootStrategy(BootStrategy):  # type: ignore[misc]
        """Nothing is produced through Faust: the engine has an outbox of its own."""

        enable_kafka_producer = False
        enable_web = False

    def __init__(self, config: WorkerConfig, engine_factory: EngineFactory) -> None:
        self.config = config
        self.bug: BaseException | None = None
        self._crashes: set[asyncio.Future[None]] = set()
        self.fence = LeaseFence(config.session_timeout_s)
        self.engine = engine_factory(EngineContext(self.fence, self.report_bug))
        self.feeds = Feeds(self.engine, config.feed, self.report_bug)
        self.coupling = Coupling(
            feeds=self.feeds,
            fence=self.fence,
            drain_timeout_s=config.drain_timeout_s,
            commit_timeout_s=config.commit_timeout_s,
            isolation_level=config.isolation_level,
            on_bug=self.report_bug,
        )
        super().__init__(config.group_id, **_faust_settings(config))

    def report_bug(self, error: BaseException) -> None:
        """Remember the first error and crash the app with it; called in the event loop."""
        if self.bug is None:
            self.bug = error
            log.error("worker_crashed", error=repr(error), exc_info=error)
            crash = asyncio.ensure_future(self.crash(error))
            self._crashes.add(crash)  # the event loop keeps weak references only
            crash.add_done_callback(self._crashes.discard)

    @property
    def safe_consumer(self) -> SafeConsumer | None:
        """Return the consumer, once Faust has made it."""
        consumer: SafeConsumer | None = self._consumer
        return consumer

    def _new_transport(self) -> SafeTransport:
        return SafeTransport(self.conf.broker_consumer, self, self.coupling)

    def _create_directories(self) -> None:
        """Faust would make a data folder in the working directory; nothing is kept there."""


def make_app(config: WorkerConfig, engine_factory: EngineFactory) -> SieveApp:
    """Return an app that consumes `config.topic` into the engine which `engine_factory` makes. Raises BadSettings.

    To be called in the event loop in which the app will run.
    """
    app = SieveApp(config.checked(), engine_factory)
    topic = app.topic(
        config.topic,
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",
        acks=True,
        allow_empty=True,
    )

    async def intake(stream: Any) -> None:
        try:
            async for event in stream.noack().events():
                consumer = app.safe_consumer
                if consumer is not None:
                    consumer.offer(event.message)
        except Exception as error:  # none may leave an agent: Faust would restart it and go on with the next event
            app.report_bug(error)

    app.agent(topic, name="factsieve.intake", concurrency=1)(intake)
    return app


def _faust_settings(config: WorkerConfig) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "broker": [f"kafka://{server}" for server in config.bootstrap_servers],
        "broker_client_id": config.client_id,
        "broker_session_timeout": config.session_timeout_s,
        "broker_heartbeat_interval": config.heartbeat_interval_s,
        "broker_rebalance_timeout": config.rebalance_timeout_s,
        "broker_request_timeout": config.request_timeout_s,
        "broker_commit_interval": config.commit_interval_s,
        "broker_commit_every": None,
        "broker_max_poll_records": config.max_poll_records,
        "broker_max_poll_interval": _NEVER_S,  # a full engine must not cost the membership: the watchdog knows stalls
        "broker_check_crcs": True,
        "consumer_max_fetch_size": config.max_fetch_bytes,
        "consumer_auto_offset_reset": "earliest",
        "key_serializer": "raw",
        "value_serializer": "raw",
        "processing_guarantee": "at_least_once",
        "store": "memory://",
        "stream_buffer_maxsize": config.stream_buffer_records,
        "stream_wait_empty": False,
        "stream_recovery_delay": 0.0,
        "table_standby_replicas": 0,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "web_enabled": False,
        "web_host": "127.0.0.1",
        "web_in_thread": False,
        "worker_redirect_stdouts": False,
        "autodiscover": False,
    }
    credentials = _credentials(config.security)
    if credentials is not None:
        settings["broker_credentials"] = credentials
    return settings


def _credentials(security: KafkaSecurity) -> Any:
    security.client_options()  # checks them
    context = security.ssl_context()
    if security.uses_sasl:
        return SASLCredentials(
            username=security.username, password=security.password, ssl_context=context, mechanism=security.mechanism
        )
    return SSLCredentials(context) if context is not None else None


def _ordered(low_name: str, low: float, high_name: str, high: float) -> None:
    if not low <= high:
        raise BadSettings(f"{low_name} = {low:g} must not be above {high_name} = {high:g}")
