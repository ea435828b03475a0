"""What waits in a lane, and the small values that the rooms of the engine hand to each other."""

from collections.abc import Callable
from dataclasses import dataclass, field

from factsieve.core.facts import Candidate, Fact, Record
from factsieve.ports import Look, Near, Vector
from factsieve.wire.inbound import Command


class WaveLost(Exception):
    """Another worker recorded this lane's wave first, or the partition was taken away: what was decided here does not count."""


@dataclass(eq=False)
class Item:
    """One event in a lane. `generation` is the partition's at submission: a later one means that it was taken away meanwhile.

    It ends once: finished (`done` is called, the offset may be committed) or dropped (it comes again, here or elsewhere). `released` is
    called either way. `failures` counts tries that it is to blame for, `waits` pauses between tries.
    """

    record: Record
    event: Candidate | Command
    done: Callable[[], None]
    released: Callable[[], None]
    generation: int
    closed: bool = False
    failures: int = 0
    waits: int = 0

    @property
    def partition(self) -> tuple[str, int]:
        """Return the topic and partition that it came from."""
        return self.record.topic, self.record.partition

    def finish(self) -> None:
        """All that follows from the event has happened."""
        if not self.closed:
            self.done()
            self.close()

    def close(self) -> None:
        """The event is not in flight any more."""
        if not self.closed:
            self.closed = True
            self.released()


@dataclass(eq=False)
class Prepared:
    """A candidate with what was looked up for it, as of the time of the look-up; the overlay brings it up to date."""

    item: Item
    candidate: Candidate
    text_hash: str
    exact: list[Fact] | None = None
    window: Fact | None = None
    vector: Vector | None = None
    hits: list[Near] | None = None
    slot_facts: list[Fact] = field(default_factory=list)
    past: list[Near] | None = None
    past_slot: list[Fact] = field(default_factory=list)
    downstream: Look | None = None
