"""Runs a worker in this process: start, signals, graceful stop within a deadline, exit code."""

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec
import structlog
from aiokafka.errors import KafkaConnectionError
from prometheus_client import CollectorRegistry

from factsieve.core.errors import Bug
from factsieve.worker.app import SieveApp
from factsieve.worker.health import Check, HealthServer
from factsieve.worker.watchdog import Progress, Watchdog, check_limits

log = structlog.get_logger(__name__)

EXIT_OK: Final = 0
EXIT_BUG: Final = 1
EXIT_UNREACHABLE: Final = 3

_RESERVE_SHARE: Final = 0.5
_RESERVE_MAX_S: Final = 8.0
_PART_SHARE: Final = 0.75
_BEAT_S: Final = 0.5
_HARD_EXIT_MARGIN_S: Final = 0.5


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What surrounds the app.

    Attributes:
        registry: what `/metrics` shows.
        stores: checks of `/readyz` besides those of the consumer, by name.
        closers: awaited in this order at the very end (outbox, store clients); each is bounded by what is left of the deadline.
        excuse: says why nothing can get done just now (an outage that is waited out), so that the watchdog does not bite.
        loop_limit_s: how long the event loop may be blocked.
        on_ready: called once the health server listens, with its port.
        hard_exit: ends the process when the deadline is over and something still hangs.
    """

    registry: CollectorRegistry
    stores: Mapping[str, Check] = {}
    closers: Sequence[Callable[[], Awaitable[object]]] = ()
    excuse: Callable[[], str | None] | None = None
    loop_limit_s: float = 60.0
    on_ready: Callable[[int], None] | None = None
    hard_exit: Callable[[int], object] = os._exit


async def run_worker(app: SieveApp, options: RunOptions) -> int:
    """Run until SIGTERM, SIGINT or a crash; return the exit code.

    0: asked to stop, whatever could not be finished within `stop_deadline_s` stays uncommitted and is done by whoever comes next.
    1: a bug. 3: no broker could be reached at the start. (70: the watchdog, which does not return.) A second signal cuts the wait
    for what is in flight short.

    Raises BadSettings if the watchdog would bite while the engine waits as it is meant to.
    """
    config = app.config
    check_limits(
        watchdog_s=config.watchdog_s,
        meant_waits_s={"judge_hold_s": config.judge_hold_s, "rebalance_timeout_s": config.rebalance_timeout_s},
    )
    run = _Run(app, options)
    async with run.signals():
        return await run.main()


class _Run:
    def __init__(self, app: SieveApp, options: RunOptions) -> None:
        self._app = app
        self._options = options
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        self._watchdog = Watchdog(self._progress, limit_s=app.config.watchdog_s, loop_limit_s=options.loop_limit_s)
        self._health = HealthServer(
            host=app.config.health_host,
            port=app.config.health_port,
            alive={"loop": self._check_loop, "progress": self._check_progress},
            ready={"kafka": self._check_kafka, **options.stores},
            registry=options.registry,
        )
        self._start: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def signals(self) -> AsyncIterator[None]:
        """Listen to SIGTERM and SIGINT meanwhile."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def main(self) -> int:
        """Start everything, wait, stop everything."""
        await self._health.start()
        if self._options.on_ready is not None:
            self._options.on_ready(self._health.port)
        beating = asyncio.create_task(self._beat())
        self._watchdog.start()
        code = EXIT_BUG
        try:
            code = await self._until_end()
        finally:
            deadline = time.monotonic() + self._app.config.stop_deadline_s
            last_resort = threading.Timer(
                self._app.config.stop_deadline_s - _HARD_EXIT_MARGIN_S, self._give_up, args=(code,)
            )
            last_resort.daemon = True
            last_resort.start()
            self._watchdog.stop()
            await self._shut_down(deadline, drain=code == EXIT_OK)
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            last_resort.cancel()
        log.info("worker_stopped", exit_code=code)
        return code

    async def _until_end(self) -> int:
        app = self._app
        await app.engine.start()
        self._start = asyncio.create_task(app.start(), name="faust-app")
        stopped = asyncio.create_task(self._stop.wait())
        crashed = asyncio.create_task(app.wait_until_stopped())
        try:
            waiting: set[asyncio.Task[object]] = {stopped, crashed, self._start}
            while True:
                done, _pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if self._start in done and not self._start.cancelled() and self._start.exception() is not None:
                    return self._failed(self._start.exception())
                if crashed in done:
                    return self._failed(app.bug or app.crash_reason)
                if stopped in done:
                    return EXIT_OK
                waiting.discard(self._start)
        finally:
            for task in (stopped, crashed):
                task.cancel()
            await asyncio.gather(stopped, crashed, return_exceptions=True)

    def _failed(self, error: BaseException | None) -> int:
        error = error or Bug("the Faust app stopped by itself")
        if isinstance(error, KafkaConnectionError) and self._app.coupling.rebalances_total == 0:
            log.error("kafka_unreachable", servers=self._app.config.bootstrap_servers, error=str(error))
            return EXIT_UNREACHABLE
        log.error("worker_failed", error=repr(error), exc_info=error)
        return EXIT_BUG

    async def _shut_down(self, deadline: float, *, drain: bool) -> None:
        """Give up the partitions in order, then everything else; what hangs is left behind when its time is over."""
        total_s = self._app.config.stop_deadline_s
        reserve_s = min(_RESERVE_MAX_S, total_s * _RESERVE_SHARE)
        consumer = self._app.safe_consumer
        if drain and consumer is not None:
            wait_s = max(0.0, deadline - time.monotonic() - reserve_s)
            await self._bounded("consumer", self._leave(wait_s), wait_s + reserve_s / 2)
        await self._bounded("engine", self._app.engine.stop(), self._share(deadline))
        if self._start is not None:
            self._start.cancel()
            await asyncio.gather(self._start, return_exceptions=True)
            await self._bounded("kafka", self._app.stop(), self._share(deadline))
        for close in self._options.closers:
            await self._bounded(getattr(close, "__qualname__", "client"), close(), self._share(deadline))
        await self._bounded("health", self._health.stop(), self._share(deadline))

    @staticmethod
    def _share(deadline: float) -> float:
        """Return how long one part may take of what is left."""
        return _PART_SHARE * (deadline - time.monotonic())

    async def _leave(self, timeout_s: float) -> None:
        consumer = self._app.safe_consumer
        if consumer is None:
            return
        leaving = asyncio.create_task(consumer.leave(timeout_s))
        hurried = asyncio.create_task(self._hurry.wait())
        await asyncio.wait({leaving, hurried}, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        if not leaving.done():
            log.warning("stop_hurried")
            await consumer.commit()
            leaving.cancel()
        await asyncio.gather(leaving, hurried, return_exceptions=True)

    async def _bounded(self, name: str, ending: Awaitable[object], timeout_s: float) -> None:
        try:
            await asyncio.wait_for(ending, max(0.05, timeout_s))
        except TimeoutError:
            log.warning("stop_timed_out", part=name, timeout_s=round(timeout_s, 3))
        except Exception as error:  # the next part must be stopped all the same
            log.error("stop_failed", part=name, error=repr(error), exc_info=error)

    def _give_up(self, code: int) -> None:
        log.error("stop_deadline_passed", deadline_s=self._app.config.stop_deadline_s, exit_code=code)
        self._options.hard_exit(code)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._stop.is_set():
            self._hurry.set()
        log.info("signal_received", signal=signal.Signals(number).name, hurry=self._hurry.is_set())
        self._stop.set()

    async def _beat(self) -> None:
        while True:
            self._watchdog.beat()
            await asyncio.sleep(_BEAT_S)

    def _progress(self) -> Progress:
        """Read by the watchdog's thread."""
        consumer = self._app.safe_consumer
        excuse = self._options.excuse() if self._options.excuse is not None else None
        lag = consumer.lag if consumer is not None and self._app.coupling.is_joined else self._app.feeds.incomplete
        return Progress(done=self._app.feeds.done_total, lag=lag, excuse=excuse)

    async def _check_loop(self) -> object:
        return {"lag_s": round(self._watchdog.loop_lag_s, 3)}

    async def _check_progress(self) -> object:
        idle_s = self._watchdog.idle_s
        if idle_s > self._app.config.watchdog_s:
            raise Bug(f"lag and no progress for {idle_s:.0f} s")
        return {"done": self._app.feeds.done_total, "idle_s": round(idle_s, 3)}

    async def _check_kafka(self) -> object:
        coupling, fence = self._app.coupling, self._app.fence
        if self._stop.is_set():
            raise RuntimeError("stopping")
        if not coupling.is_joined:
            raise RuntimeError("no partitions assigned yet: joining the group, or between two assignments")
        if not fence.is_alive:
            raise RuntimeError("the group coordinator has not answered within the session time-out")
        return {"partitions": [f"{topic}-{partition}" for topic, partition in sorted(fence.held)]}
