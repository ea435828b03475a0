"""One API process, put together from settings and run until it is asked to stop."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Final

import structlog
import uvicorn
from fastapi import FastAPI

from factsieve import __version__
from factsieve.adapters.clock import SystemClock
from factsieve.adapters.kafka_outbox import KafkaOutbox
from factsieve.adapters.kafka_probe import explain
from factsieve.adapters.rules_judge import RulesJudge
from factsieve.api.access import Tokens
from factsieve.api.app import make_app
from factsieve.api.context import ApiContext, Gates
from factsieve.api.limits import Gate, TokenBuckets
from factsieve.assembly import memory
from factsieve.assembly.judges import Judges, build_judges
from factsieve.assembly.settings import Settings
from factsieve.assembly.settings_groups import ApiSettings
from factsieve.assembly.wiring import Stores, build_window, engine_settings
from factsieve.core.errors import BadSettings, Transient
from factsieve.engine.check import Checker
from factsieve.operations.connected import Connected
from factsieve.operations.desk import OrderDesk
from factsieve.operations.log import DecisionLog
from factsieve.operations.stores import reading
from factsieve.ports import HashWindow
from factsieve.telemetry import log as telemetry_log
from factsieve.telemetry.metrics import Metrics, make_metrics

log = structlog.get_logger(__name__)

EXIT_UNREACHABLE: Final = 3
LOG_BEHIND_S: Final = 15.0
"""A decision log that has heard nothing from Kafka for longer is not ready."""

_KEEP_ALIVE_S: Final = 30


def check_access(settings: Settings) -> None:
    """Raise BadSettings where the API would be open without anybody having said so, or beyond this machine."""
    api = settings.api
    if not api.tokens and not api.open:
        raise BadSettings(
            "api.tokens is empty, so nobody could ask anything: add one ([api.tokens.NAME] with sha256, namespaces, scopes), "
            "or set api.open to let everybody on this machine do everything"
        )
    if api.open and not _is_loopback(api.host):
        raise BadSettings(
            f"api.open lets everybody do everything, and api.host {api.host} is no loopback address: set api.tokens"
        )
    if (api.tls_cert_file is None) != (api.tls_key_file is None):
        raise BadSettings("api.tls_cert_file and api.tls_key_file belong together: set both or none")
    if api.max_batch > api.write_burst:
        raise BadSettings(
            f"api.max_batch ({api.max_batch}) is above api.write_burst ({api.write_burst}): a full request could never be taken"
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def open_context(connected: Connected) -> AsyncIterator[ApiContext]:
    """Open everything that endpoints work with. Raises BadSettings, Transient where a service is out of reach."""
    settings = connected.settings
    check_access(settings)
    threads = {"threads": settings.api.embedder_threads}
    own = settings.model_copy(update={"embedder": settings.embedder.model_copy(update=threads)})
    metrics = make_metrics()
    async with contextlib.AsyncExitStack() as opened:
        stores = await opened.enter_async_context(reading(own))
        window = build_window(own)
        opened.push_async_callback(window.close)
        judges = _judges(own)
        opened.push_async_callback(judges.close)
        outbox = connected.kafka.outbox()
        opened.push_async_callback(outbox.stop)
        await outbox.start()
        decisions = DecisionLog(connected.kafka, connected.topics, records=own.api.log_records, observer=metrics)
        opened.push_async_callback(decisions.stop)
        await decisions.start()
        context = _context(connected, own, stores, window, judges, outbox, decisions, metrics)
        context.readiness.checks |= {
            "qdrant": stores.facts.check,
            "ledger": stores.ledger.check,
            "decision_log": lambda: _followed(decisions),
        }
        _observe(context)
        yield context


def _judges(settings: Settings) -> Judges:
    """Return the workers' judges; where one can not be made here (its key is the workers' alone), the rules stand in."""
    try:
        return build_judges(settings, profile=settings.threshold_profile())
    except BadSettings as error:
        log.warning("judge_unavailable", error=str(error))
        rules = RulesJudge()
        return Judges(rules, rules)


def _context(
    connected: Connected,
    settings: Settings,
    stores: Stores,
    window: HashWindow,
    judges: Judges,
    outbox: KafkaOutbox,
    decisions: DecisionLog,
    metrics: Metrics,
) -> ApiContext:
    api = settings.api
    engine = engine_settings(settings, stores.embedder)
    clock = SystemClock()
    metrics.built(
        version=__version__,
        embedder=stores.embedder.fingerprint,
        judge=settings.judge.effective_name,
        policy=engine.policies.default.fingerprint,
    )
    orders = OrderDesk(connected, outbox, decisions)
    try:
        orders.check()
    except BadSettings as error:
        log.warning("commands_unavailable", error=str(error))
    return ApiContext(
        settings=settings,
        connected=connected,
        stores=stores,
        window=window,
        log=decisions,
        outbox=outbox,
        orders=orders,
        checker=Checker(
            facts=stores.facts,
            ledger=stores.ledger,
            window=window,
            embedder=stores.embedder,
            judge=judges.judge,
            local_judge=judges.local,
            clock=clock,
            policies=engine.policies,
            wave=engine.wave,
            batch_items=engine.batch_items,
            observer=metrics,
        ),
        judges=judges,
        tokens=Tokens(api),
        metrics=metrics,
        clock=clock,
        limits=engine.limits,
        gates=Gates(_gate(api, api.max_checks), _gate(api, api.max_requests), _gate(api, api.max_streams)),
        writes=TokenBuckets(per_s=api.writes_per_s, burst=api.write_burst, now_s=time.monotonic),
    )


def _gate(api: ApiSettings, most: int) -> Gate:
    """Return a gate that one token alone can not fill; without tokens everybody is one caller."""
    return Gate(most) if api.open else Gate(most, max(1, int(most * api.token_share)))


async def _followed(decisions: DecisionLog) -> bool:
    behind_s = decisions.behind_s
    return decisions.ready and behind_s is not None and behind_s < LOG_BEHIND_S


def _observe(context: ApiContext) -> None:
    gates = {"check": context.gates.checks, "other": context.gates.requests, "waiting": context.gates.streams}
    context.metrics.observe(
        "http_requests_in_flight", lambda: [({"kind": kind}, float(gate.inside)) for kind, gate in gates.items()]
    )

    def behind() -> list[tuple[dict[str, str], float]]:
        behind_s = context.log.behind_s
        return [] if behind_s is None else [({}, behind_s)]

    context.metrics.observe("decision_log_behind_seconds", behind)


class Server(uvicorn.Server):
    """Uvicorn, which ends live streams when it is asked to stop, and then ends with code 0."""

    def __init__(self, config: uvicorn.Config, context: ApiContext) -> None:
        super().__init__(config)
        self._closing = context.closing

    def stop(self) -> None:
        """Take no more connections, end streams, let requests under way finish; asked twice, at once."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        self._closing.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)


def make_server(app: FastAPI, context: ApiContext) -> Server:
    """Return the server of an app, not listening yet."""
    api = context.settings.api
    config = uvicorn.Config(
        app,
        host=api.host,
        port=api.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        lifespan="off",
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(api.stop_deadline_s)),
        ssl_certfile=None if api.tls_cert_file is None else str(api.tls_cert_file),
        ssl_keyfile=None if api.tls_key_file is None else str(api.tls_key_file),
    )
    return Server(config, context)


async def _serve(connected: Connected) -> int:
    refused = await explain(connected.kafka.servers, connected.kafka.security)
    if refused is not None:
        raise refused
    async with open_context(connected) as context:
        server = make_server(make_app(context), context)
        memory.settle()
        scheme = "https" if server.config.is_ssl else "http"
        log.info("api_started", url=f"{scheme}://{server.config.host}:{server.config.port}", version=__version__)
        try:
            await server.serve()
        except SystemExit as error:  # uvicorn's way to say that it can not listen, which it has logged
            address = f"{server.config.host}:{server.config.port}"
            raise BadSettings(f"{address} can not be listened on: is it in use? Set api.host and api.port") from error
        log.info("api_stopped")
        return 0


def run(connected: Connected) -> int:
    """Run an API until it is asked to stop; return the exit code. Raises BadSettings, Transient."""
    settings = connected.settings
    telemetry_log.configure(format=settings.log.format, level=settings.log.level)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(connected))
    except Transient as error:
        log.error("service_unreachable", service=error.service, error=str(error))
        return EXIT_UNREACHABLE


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - comes with the extra `local` alone
    except ImportError:
        return None
    return uvloop.new_event_loop
