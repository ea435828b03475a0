"""Reads the compacted topic `facts` behind everybody who writes there, and has told anew what stands where the topic fell behind.

One consumer a worker, in a group of their own, so that each partition of the topic is looked after by one of them. What the looking is for
is in `engine/standing.py`. Nothing else waits for it: where it can not read or commit it says so, and tries again.
"""

import asyncio
import math
from collections.abc import Callable
from typing import Final

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from factsieve.adapters.kafka_client import Access, KafkaSecurity, kafka_errors, stop_within
from factsieve.core.errors import Transient
from factsieve.engine.standing import Standing

log = structlog.get_logger(__name__)

_POLL_RECORDS: Final = 500
_LOOK_RECORDS: Final = 5_000
"""So many records are heard at most between two looks."""
_FETCH_BYTES: Final = 256 * 1024
_FETCH_WAIT_MS: Final = 1_000
"""Nobody waits for what is read here: a broker gathers it for a second, and is asked less often."""
_NEVER_MS: Final = 30 * 24 * 3_600_000
_START_S: Final = 30.0
_STOP_S: Final = 1.0
_PAUSE_MOST_S: Final = 60.0
_TELL_AGAIN_S: Final = 300.0


class WatchConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What is read, and how. `every_s`: seconds from one look to the next."""

    bootstrap_servers: tuple[str, ...]
    security: KafkaSecurity = KafkaSecurity()
    topic: str = "facts"
    group_id: str = "factsieve-facts"
    client_id: str = "factsieve-worker-facts"
    session_timeout_s: float = 12.0
    heartbeat_interval_s: float = 3.0
    every_s: float = 5.0


class FactsWatch:
    """The task that reads the topic and looks. `start` and `stop` are for the event loop in which it runs."""

    def __init__(self, config: WatchConfig, standing: Standing) -> None:
        self._config = config
        self._standing = standing
        self._task: asyncio.Task[None] | None = None
        self._told_at_s = -math.inf

    async def start(self) -> None:
        """Begin; returns at once."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="facts watch")

    async def stop(self) -> None:
        """End: what is not settled will be heard again by whoever comes next."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        pause_s = self._config.every_s
        while True:
            await asyncio.sleep(pause_s)
            began_s = loop.time()
            try:
                await self._follow()
            except (Transient, KafkaError) as error:
                self._complain(error)
            except Exception as error:  # nothing depends on it: the worker goes on
                log.error("facts_watch_failed", error=repr(error), exc_info=error)
            lasted = loop.time() - began_s > _PAUSE_MOST_S
            pause_s = self._config.every_s if lasted else min(2 * pause_s, _PAUSE_MOST_S)

    def _complain(self, error: Exception) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s - self._told_at_s >= _TELL_AGAIN_S:
            self._told_at_s = now_s
            log.warning("facts_watch_waits", topic=self._config.topic, error=str(error))

    async def _follow(self) -> None:
        """Join the group, and hear and look until that fails. Raises Transient."""
        config = self._config
        consumer = AIOKafkaConsumer(
            bootstrap_servers=list(config.bootstrap_servers),
            client_id=config.client_id,
            group_id=config.group_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_min_bytes=_FETCH_BYTES,
            fetch_max_wait_ms=_FETCH_WAIT_MS,
            session_timeout_ms=int(1_000 * config.session_timeout_s),
            heartbeat_interval_ms=int(1_000 * config.heartbeat_interval_s),
            max_poll_interval_ms=_NEVER_MS,
            **config.security.client_options(),
        )
        moves = _Moves()
        self._standing.forget()
        try:
            with kafka_errors(f"following {config.topic}", Access(config.bootstrap_servers, config.security)):
                consumer.subscribe([config.topic], listener=moves)
                await asyncio.wait_for(consumer.start(), _START_S)
                await _Follower(consumer, self._standing, moves, config.every_s, self._complain).run()
        finally:
            await stop_within(consumer._client, consumer.stop(), _STOP_S)


class _Moves(ConsumerRebalanceListener):  # type: ignore[misc] # untyped upstream
    """Remembers that partitions came or went."""

    def __init__(self) -> None:
        self.happened = False

    async def on_partitions_revoked(self, revoked: object) -> None:
        self.happened = True

    async def on_partitions_assigned(self, assigned: object) -> None:
        self.happened = True


class _Follower:
    """Hears and looks, with one consumer."""

    def __init__(
        self,
        consumer: AIOKafkaConsumer,
        standing: Standing,
        moves: _Moves,
        every_s: float,
        complain: Callable[[Exception], None],
    ) -> None:
        self._consumer = consumer
        self._standing = standing
        self._moves = moves
        self._every_s = every_s
        self._complain = complain
        self._heard: dict[TopicPartition, int] = {}  # the offset after the last record that was heard
        self._looked: dict[TopicPartition, int] = {}  # the same, as it was at the last look
        self._committed: dict[TopicPartition, int] = {}

    async def run(self) -> None:
        """Hear, look, commit what is settled, for ever. Raises KafkaError."""
        while True:
            await self._hear()
            await self._look()
            if self._moves.happened:  # what was heard may be another one's by now: begin where was committed
                self._moves.happened = False
                self._standing.forget()
                self._heard, self._looked, self._committed = {}, {}, {}
                if self._consumer.assignment():
                    await self._consumer.seek_to_committed()
                continue
            if self._looked != self._committed:
                await self._consumer.commit(self._looked)
                self._committed = self._looked
            self._looked = dict(self._heard)

    async def _hear(self) -> None:
        """Take in what comes until the next look is due, or enough came."""
        loop = asyncio.get_running_loop()
        due_s, count = loop.time() + self._every_s, 0
        while (left_s := due_s - loop.time()) > 0 and count < _LOOK_RECORDS and not self._moves.happened:
            fetched = await self._consumer.getmany(timeout_ms=max(1, int(1_000 * left_s)), max_records=_POLL_RECORDS)
            for partition, records in fetched.items():
                for record in records:
                    self._standing.heard(record.key, record.value)
                self._heard[partition] = records[-1].offset + 1
                count += len(records)

    async def _look(self) -> None:
        """Look, and wait for as long as that takes: nothing more is heard meanwhile."""
        while not self._moves.happened:
            try:
                await self._standing.look()
                return
            except Transient as error:
                self._complain(error)
                await asyncio.sleep(self._every_s)
