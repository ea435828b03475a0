"""Events that no try gets through: told from outages by a known-good statement, and set aside one by one.

What goes wrong before an event is recorded has had no effect yet, so that it can be tried again, and in the end be put into the dead
letter topic. Rules of this file:

1. A wave that fails is taken apart: its events are tried one at a time, so that one bad event fails alone.
2. An event that fails alone is tried a bounded number of times. After each failure a known-good statement goes the same way, and the
   record that was stored last (of a process that stored none, one without a decision) is inserted again, which changes nothing. Where
   that fails too, it is an outage (a store that only reads, a broken model): the event is not to blame, and waits.
3. What is in the ledger is performed and never set aside. Where performing it fails for good, its namespace stops.
4. Many failures in a row with nothing decided in between are no fault of the events, whatever the known-good statement says.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec
import structlog

from factsieve.core.errors import BadInput, Bug, FactsieveError, Transient
from factsieve.engine.ports import Observer

log = structlog.get_logger(__name__)

MAX_STOPPED: Final = 1_000
"""Namespaces stopped at most; more mean that something else is wrong, and the process ends."""


Recorded = tuple[str, bytes, Mapping[str, object]]
"""A ledger record as it was inserted: id, body, indexed fields."""


class PoisonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How events that fail are dealt with.

    `tries` of an event alone, each followed by a known-good statement, before it is set aside: as a dead letter, or, with
    `stops_namespace`, by stopping its namespace. After `in_a_row` events set aside without one decided in between nothing more is set
    aside until some event is decided. Where a known-good statement fails too, the event waits; with `ends_on_outage` (where nobody could
    wait for better times) the engine fails.
    """

    tries: int = 3
    in_a_row: int = 20
    stops_namespace: bool = False
    ends_on_outage: bool = False


class NamespaceStopped(FactsieveError):
    """A namespace can not go on; its events stay where they are until the partition is assigned anew."""


class Quarantine:
    """Tells whether an event is to blame for a failure, and knows which namespaces have stopped.

    `probe` sends a known-good statement the way of every other, with the number of the probe in it, and raises what goes wrong.
    """

    def __init__(self, settings: PoisonSettings, probe: Callable[[int], Awaitable[None]], observer: Observer) -> None:
        self.settings = settings
        self._probe = probe
        self._observer = observer
        self._numbers = itertools.count(1)
        self._asked: asyncio.Task[BaseException | None] | None = None
        self._in_a_row = 0
        self._stopped: dict[str, tuple[str, int]] = {}
        self.last_recorded: Recorded | None = None

    async def blames(self, error: Exception) -> bool:
        """Return whether a failed event is to blame: a known-good statement goes through, and others were decided lately."""
        self._observer.failed(type(error).__name__)
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._ask())
        trouble = await asyncio.shield(self._asked)  # shared: many lanes may fail at once
        if trouble is not None:
            self._observer.probe_failed(type(trouble).__name__)
            if isinstance(trouble, Transient):
                self._observer.waited(trouble.service, str(trouble))  # an outage, in which nobody is to be restarted
            log.error("probe_failed", error=repr(trouble), event_error=repr(error))
            return False
        if self._in_a_row >= self.settings.in_a_row:
            self._observer.probe_failed("in_a_row")
            log.error("too_many_failures_in_a_row", count=self._in_a_row, event_error=repr(error))
            return False
        return True

    async def _ask(self) -> BaseException | None:
        try:
            await self._probe(next(self._numbers))
        except Exception as error:
            return error
        return None

    def refused(self) -> None:
        """An event was set aside."""
        self._in_a_row += 1

    def decided(self, record: Recorded) -> None:
        """Some events were decided, and this is their record: events are, as a rule, not to blame."""
        self._in_a_row = 0
        self.last_recorded = record

    # Namespaces that have stopped

    @property
    def stopped(self) -> int:
        """Return how many namespaces have stopped."""
        return len(self._stopped)

    def is_stopped(self, namespace: str) -> bool:
        """Return whether a namespace has stopped."""
        return namespace in self._stopped

    def stop(self, namespace: str, partition: tuple[str, int], reason: BaseException) -> None:
        """Stop a namespace. Raises Bug where too many have stopped."""
        log.error("namespace_stopped", topic=partition[0], partition=partition[1], reason=str(reason), exc_info=reason)
        if len(self._stopped) >= MAX_STOPPED:
            raise Bug(f"{MAX_STOPPED} namespaces have stopped: {reason}") from reason
        self._stopped[namespace] = partition

    def forget(self, partition: tuple[str, int]) -> None:
        """A partition was given up: its namespaces are tried again when it comes back."""
        for namespace in [name for name, place in self._stopped.items() if place == partition]:
            del self._stopped[namespace]


def refusal(error: BaseException, tries: int) -> BadInput:
    """Return what is said of an event that was set aside."""
    if isinstance(error, BadInput):
        return error
    return BadInput(
        "unprocessable",
        f"{type(error).__name__} at each of {tries} tries ({str(error) or 'no message'}), while a known-good statement went through: "
        "correct the statement, or send it again with `factsieve dlt redrive` when the cause is mended",
    )
