"""Which offset of a partition may be committed, and which partition a key belongs to.

The words are those of Confluent's parallel consumer: *highest seen* (the last record that came in), *highest succeeded* (the
last one that is done), *incomplete* (came in, not done).
"""

import zlib
from collections import deque
from functools import lru_cache
from typing import Final, Literal

from factsieve.core.errors import Bug

Partitioner = Literal["murmur2", "crc32"]
"""How producers choose a partition: `murmur2` is the Java client's default, `crc32` is librdkafka's (`consistent_random`)."""

_MASK: Final = 0xFFFFFFFF
_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995


class OffsetTracker:
    """Follows the records of one partition through one assignment, from the first fetch to the last acknowledgement.

    Records come in ascending order (offsets may have gaps: compaction, transaction markers) and are done in any order. The
    committable offset never passes the lowest incomplete record, wherever the partition's committed offset stood before.
    """

    __slots__ = ("_committable", "_incomplete", "_order", "highest_seen", "highest_succeeded")

    def __init__(self) -> None:
        self._order: deque[int] = deque()  # seen, and not below the head yet
        self._incomplete: set[int] = set()
        self._committable: int | None = None
        self.highest_seen: int | None = None
        self.highest_succeeded: int | None = None

    def started(self, offset: int) -> None:
        """Take note of a record that came in. Raises Bug if it does not lie above all that came in before."""
        if self.highest_seen is not None and offset <= self.highest_seen:
            raise Bug(
                f"offset {offset} came after {self.highest_seen}: the partition was sought back or its log was cut"
            )
        self.highest_seen = offset
        self._order.append(offset)
        self._incomplete.add(offset)

    def done(self, offset: int) -> None:
        """Take note that everything that follows from a record is done. Raises Bug if it never came in or is done already."""
        if offset not in self._incomplete:
            raise Bug(f"offset {offset} is done, but it is not among the {len(self._incomplete)} incomplete ones")
        self._incomplete.remove(offset)
        if self.highest_succeeded is None or offset > self.highest_succeeded:
            self.highest_succeeded = offset
        order = self._order
        while order and order[0] not in self._incomplete:
            self._committable = order.popleft() + 1

    def committable(self) -> int | None:
        """Return the next offset to read after a restart: one above the last record before which nothing is incomplete.

        None while the first record is incomplete: then there is nothing to say, whatever is done behind it.
        """
        return self._committable

    @property
    def incomplete(self) -> int:
        """Return how many records came in and are not done."""
        return len(self._incomplete)

    @property
    def head(self) -> int | None:
        """Return the lowest incomplete offset, or None if there is none."""
        return self._order[0] if self._order else None

    @property
    def followed(self) -> int:
        """Return how many records are kept account of: all from the head on, done or not."""
        return len(self._order)

    @property
    def incomplete_span(self) -> int:
        """Return how far the records reach that a restart would bring again: from the head to the highest seen, 0 if all is done."""
        if not self._order or self.highest_seen is None:
            return 0
        return self.highest_seen - self._order[0] + 1


def partition_for(key: bytes, partitions: int, partitioner: Partitioner = "murmur2") -> int | None:
    """Return the partition of `partitions` that the partitioner gives a key; None where it leaves it to chance.

    `murmur2`: `(murmur2(key) & 0x7fffffff) % partitions`, org.apache.kafka.clients.producer (BuiltInPartitioner). `crc32`:
    `crc32(key) % partitions`, librdkafka's `consistent_random`, which draws one for an empty key. Raises ValueError for fewer
    than one partition.
    """
    if partitions < 1:
        raise ValueError(f"a topic has at least one partition, not {partitions}")
    if partitioner == "crc32":
        return zlib.crc32(key) % partitions if key else None
    return (murmur2(key) & 0x7FFFFFFF) % partitions


@lru_cache(maxsize=4096)
def murmur2(data: bytes) -> int:
    """Return the 32-bit MurmurHash2 (Austin Appleby) of `data`, unsigned, with the seed that Kafka uses."""
    length = len(data)
    digest = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        digest = digest * _MULTIPLIER & _MASK ^ word
    if length > whole:
        digest = (digest ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    digest = (digest ^ digest >> 13) * _MULTIPLIER & _MASK
    return digest ^ digest >> 15
