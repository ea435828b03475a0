"""Whether this process may still write for a partition: it is assigned, and the group coordinator heard of us lately."""

import math
import time
from collections.abc import Callable, Iterable
from typing import Final

TopicPartition = tuple[str, int]


def uptime_s() -> float:
    """Return seconds on a clock that never goes back and, where the system has one, also runs while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if _HAS_BOOTTIME else time.monotonic()


_HAS_BOOTTIME: Final = hasattr(time, "CLOCK_BOOTTIME")


class LeaseFence:
    """The `Fence` of a consumer group member.

    The coordinator drops a member from which it heard nothing for the session time-out and gives its partitions away. It
    counts from the arrival of the last heartbeat, we count from the moment that heartbeat was *sent*, so ours runs out first.
    A process that slept wakes with a lease that ran out, and holds nothing until a new heartbeat was answered.

    The lease is renewed in the consumer's thread and read in any other.
    """

    def __init__(self, session_timeout_s: float, *, clock: Callable[[], float] = uptime_s) -> None:
        self._session_timeout_s = session_timeout_s
        self._clock = clock
        self._renewed_at = -math.inf
        self._held: frozenset[TopicPartition] = frozenset()

    def holds(self, topic: str, partition: int) -> bool:
        """Return whether the partition is assigned and the last answered heartbeat is younger than the session time-out."""
        return (topic, partition) in self._held and self.is_alive

    @property
    def is_alive(self) -> bool:
        """Return whether the group still counts on this member, whatever it is assigned."""
        return self._clock() - self._renewed_at < self._session_timeout_s

    @property
    def held(self) -> frozenset[TopicPartition]:
        """Return the assigned partitions, whether or not the lease runs."""
        return self._held

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Hold exactly these partitions from now on."""
        self._held = frozenset(partitions)

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        """Hold these partitions no longer."""
        self._held -= frozenset(partitions)

    def now(self) -> float:
        """Return the time on the lease's clock, to be taken before a request is sent and handed to `renew`."""
        return self._clock()

    def renew(self, sent_at: float) -> None:
        """The coordinator accepted a request that was sent at `sent_at`."""
        self._renewed_at = max(self._renewed_at, sent_at)

    def revoke(self) -> None:
        """The coordinator does not know this member any more: nothing is held until it has joined again."""
        self._renewed_at = -math.inf
