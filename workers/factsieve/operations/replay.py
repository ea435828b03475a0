"""Past candidates sent in again: what had taken effect is told again, what had not is decided now.

The records keep their bytes, headers and key, get their origin stamped and the header `replay-id`, and go to the end of the same topic, so
that they pass through the lanes of their namespaces like anything else. How far a replay came is committed for a group of its own.
"""

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Protocol, Self

import msgspec

from factsieve.core.errors import BadSettings, Transient
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import MAX_UNANSWERED, DecisionReader
from factsieve.operations.scan import Positions, Scan
from factsieve.ports import LedgerPointer
from factsieve.wire.deadletters import replay_message
from factsieve.wire.replaying import Fate, Selection, look
from factsieve.wire.topics import Limits

OnSteps = Callable[[int], None]
_WAIT_S: Final = 0.2


class Reported(msgspec.Struct):
    """What became of replayed events so far: told again as they were decided, decided now (by decision), refused (by code)."""

    told_again: int = 0
    decided: Counter[str] = msgspec.field(default_factory=Counter)
    refused: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Return how many there are."""
        return self.told_again + self.decided.total() + self.refused.total()


class Sent(msgspec.Struct):
    """What a replay met and sent: records by fate, chosen ones by namespace; of a dry run also those that the ledger knows."""

    fates: Counter[str] = msgspec.field(default_factory=Counter)
    namespaces: Counter[str] = msgspec.field(default_factory=Counter)
    known: int | None = None

    @property
    def chosen(self) -> int:
        """Return how many were, or would be, sent."""
        return self.fates[Fate.CHOSEN]


class Lookup(Protocol):
    """The part of the ledger that a dry run asks."""

    async def lookup(self, event_keys: list[str]) -> dict[str, LedgerPointer]:
        """Return the pointers of those events that have a decision."""
        ...


def new_id(now: datetime) -> str:
    """Return an id for a replay: when it began, and something that tells it from another one of that second."""
    return f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:4]}"


def group_of(connected: Connected, replay_id: str) -> str:
    """Return the consumer group in which a replay remembers how far it came."""
    return f"{connected.settings.kafka.group}.replay.{replay_id}"


def ranges(scan: Scan, given: Mapping[int, tuple[int | None, int | None]]) -> tuple[dict[int, int], dict[int, int]]:
    """Return from and up to which offsets is read: all that is there, or the given ranges, cut to what is there.

    Raises BadSettings for a partition that does not exist or a range that runs backwards.
    """
    for number, (start, end) in given.items():
        if number not in scan.begins:
            raise BadSettings(f"there is no partition {number}: the topic has {len(scan.begins)}, from 0 on")
        if start is not None and end is not None and end < start:
            raise BadSettings(f"the range {start}-{end} of partition {number} runs backwards")
    if not given:
        return dict(scan.begins), dict(scan.ends)
    starts = {n: max(scan.begins[n], start or 0) for n, (start, _) in given.items()}
    ends = {n: scan.ends[n] if end is None else min(scan.ends[n], end) for n, (_, end) in given.items()}
    return starts, ends


async def resumed(scan: Scan, starts: Positions, replay_id: str) -> dict[int, int]:
    """Return from where on a replay goes on. Raises BadSettings where it never came anywhere, Transient."""
    committed = await scan.committed()
    if not committed:
        raise BadSettings(f"there is no replay {replay_id}: it was never begun, or the broker has forgotten it")
    return {number: max(start, committed.get(number, start)) for number, start in starts.items()}


async def preview(
    scan: Scan,
    starts: Positions,
    ends: Positions,
    selection: Selection,
    limits: Limits,
    ledger: Lookup | None,
    on_steps: OnSteps = lambda _count: None,
) -> Sent:
    """Return what a replay would send, and how many of it the ledger knows (None where there is none to ask). Raises Transient."""
    would = Sent(known=None if ledger is None else 0)
    reached = dict(starts)
    now = datetime.now(UTC)
    async for records, positions in scan.read(starts, ends):
        keys: list[str] = []
        for record in records:
            looked = look(record, selection, limits, now)
            would.fates[looked.fate] += 1
            if looked.fate is Fate.CHOSEN:
                would.namespaces[(record.key or b"").decode("utf-8", "replace")] += 1
                if looked.candidate is not None:
                    keys.append(looked.candidate.event_key)
        if ledger is not None and would.known is not None and keys:
            found = await ledger.lookup(list(dict.fromkeys(keys)))
            would.known += sum(key in found for key in keys)
        on_steps(_advanced(reached, positions))
    return would


async def replay(
    connected: Connected,
    scan: Scan,
    starts: Positions,
    ends: Positions,
    selection: Selection,
    limits: Limits,
    *,
    replay_id: str,
    emit: bool,
    outcomes: "Outcomes | None" = None,
    on_steps: OnSteps = lambda _count: None,
) -> Sent:
    """Send what is chosen, and commit how far it came after every batch that is acknowledged.

    A batch that was sent and not committed is sent again by whoever goes on: told twice, decided once. Raises Transient.
    """
    sent = Sent()
    reached = dict(starts)
    now = datetime.now(UTC)
    outbox = connected.kafka.outbox()
    await scan.commit(starts)
    async with contextlib.AsyncExitStack() as opened:
        opened.push_async_callback(outbox.stop)
        await outbox.start()
        async for records, positions in scan.read(starts, ends):
            messages = []
            for record in records:
                fate = look(record, selection, limits, now).fate
                sent.fates[fate] += 1
                if fate is Fate.CHOSEN:
                    sent.namespaces[(record.key or b"").decode("utf-8", "replace")] += 1
                    messages.append(replay_message(connected.topics, record, replay_id, emit=emit))
            if messages:
                if outcomes is not None:
                    await outcomes.room(len(messages))
                await outbox.send(messages)
            await scan.commit(positions)
            on_steps(_advanced(reached, positions))
    return sent


def _advanced(reached: dict[int, int], positions: Positions) -> int:
    steps = sum(max(0, offset - reached[number]) for number, offset in positions.items())
    reached.update(positions)
    return steps


class Outcomes:
    """Follows `fact-decisions` for what becomes of one replay's events. An async context manager, entered before anything is sent."""

    def __init__(self, connected: Connected, replay_id: str, *, idle_timeout_s: float) -> None:
        self._idle_timeout_s = idle_timeout_s
        self._reader = DecisionReader(connected.kafka, connected.topics)
        self._replay_id = replay_id
        self._seen: set[tuple[int, int]] = set()
        self._expected = 0
        self._task: asyncio.Task[None] | None = None
        self._last_news = 0.0
        self.reported = Reported()

    async def __aenter__(self) -> Self:
        await self._reader.__aenter__()
        self._last_news = asyncio.get_running_loop().time()
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._reader.__aexit__(kind, error, trace)

    async def _follow(self) -> None:
        while True:
            for _, _, told in await self._reader.decisions():
                if told.get("replay_id") == self._replay_id:
                    self._take(told)
                    self._last_news = asyncio.get_running_loop().time()

    def _take(self, told: dict[str, Any]) -> None:
        met = told.get("met_at") or told["coordinates"]
        place = (met["partition"], met["offset"])
        if place in self._seen:
            return
        self._seen.add(place)
        if told.get("error") is not None:
            self.reported.refused[told["error"]["code"]] += 1
        elif told.get("replayed"):
            self.reported.told_again += 1
        else:
            self.reported.decided[str(told.get("decision"))] += 1

    async def room(self, count: int) -> None:
        """Wait until not too many events are unanswered, then count more of them. Raises Transient where nothing is answered."""
        while self._expected - len(self._seen) > MAX_UNANSWERED:
            await self._pause()
            if self._is_idle():
                raise Transient("worker", f"no outcome for {self._idle_timeout_s:g} s: does a worker run?")
        self._expected += count
        self._last_news = asyncio.get_running_loop().time()

    def _is_idle(self) -> bool:
        return asyncio.get_running_loop().time() - self._last_news > self._idle_timeout_s

    async def rest(self, on_steps: OnSteps = lambda _count: None) -> int:
        """Wait for the outcomes of everything sent, and return how many are missing when nothing came for too long."""
        shown = 0
        while self._expected > len(self._seen) and not self._is_idle():
            await self._pause()
            on_steps(len(self._seen) - shown)
            shown = len(self._seen)
        on_steps(len(self._seen) - shown)
        return max(0, self._expected - len(self._seen))

    async def _pause(self) -> None:
        assert self._task is not None
        done, _ = await asyncio.wait({self._task}, timeout=_WAIT_S)
        if done:
            self._task.result()  # raises what ended it
            raise Transient("kafka", "the decisions are not followed any more")
