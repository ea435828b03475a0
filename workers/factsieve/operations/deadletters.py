"""Dead letters as they lie on their topic: found, shown, and sent in again with their own key, headers and bytes."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Collection
from datetime import UTC, datetime
from typing import Final

import msgspec

from factsieve.core.errors import BadInput, BadSettings
from factsieve.core.facts import Record
from factsieve.operations.conversation import Kafka
from factsieve.operations.scan import Scan
from factsieve.wire import times
from factsieve.wire.deadletters import (
    DeadLetter,
    Redriven,
    read_dead_letter,
    read_redriven,
    redrive_message,
    redriven_message,
)
from factsieve.wire.topics import Topics

Place = tuple[int, int]
"""Partition and offset on the dead letter topic: how a dead letter is named, written `0/17`."""

PREVIEW_BYTES: Final = 2_000
"""So much of a value is kept of letters that are listed."""
_SEND_BATCH: Final = 100


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters. Times are those at which they were put there; empty collections mean all.

    Those that were sent in again are left out unless `redriven`, or unless they are named by `places`.
    """

    places: frozenset[Place] = frozenset()
    codes: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    redriven: bool = False

    def matches(self, letter: "Letter") -> bool:
        """Return whether a letter is wanted, apart from whether it was sent in again."""
        return (
            (not self.places or letter.place in self.places)
            and (not self.codes or letter.said.code in self.codes)
            and (not self.namespaces or letter.namespace in self.namespaces)
            and (self.since is None or letter.at >= self.since)
            and (self.until is None or letter.at < self.until)
        )


class Letter(msgspec.Struct, frozen=True):
    """One dead letter: where it lies, since when, what it says, and when it was last sent in again."""

    place: Place
    at: datetime
    said: DeadLetter
    redriven_at: datetime | None = None

    @property
    def name(self) -> str:
        """Return how it is named on the command line."""
        return f"{self.place[0]}/{self.place[1]}"

    @property
    def namespace(self) -> str:
        """Return its key as text, which is its namespace where it has a usable one."""
        return (self.said.key or b"").decode("utf-8", "replace")


class Listing(msgspec.Struct, frozen=True):
    """The latest of the letters that are wanted, oldest first; how many are wanted, and how many records are no dead letters."""

    letters: list[Letter]
    total: int
    foreign: int


def parse_place(text: str) -> Place:
    """Return the place that `0/17` names. Raises BadSettings."""
    partition, slash, offset = text.partition("/")
    if not slash or not (partition.isascii() and partition.isdecimal() and offset.isascii() and offset.isdecimal()):
        raise BadSettings(f"{text!r} names no dead letter: it is PARTITION/OFFSET, as `factsieve dlt list` shows it")
    return int(partition), int(offset)


class DeadLetters:
    """The dead letter topic. An async context manager, which raises Transient where Kafka does not answer."""

    def __init__(
        self, kafka: Kafka, topics: Topics, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._scan = Scan(kafka, topics.dead_letters)
        self._outbox = kafka.outbox()
        self._topics = topics
        self._now = now

    async def __aenter__(self) -> "DeadLetters":
        """Connect."""
        await self._scan.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Close the connections."""
        await self._outbox.stop()
        await self._scan.__aexit__(None, None, None)

    async def find(self, wanted: Wanted, *, limit: int) -> Listing:
        """Return the latest `limit` letters that are wanted, their values cut at `PREVIEW_BYTES`. Reads the topic twice.

        A mark lies behind its letter, so that only a first reading tells which letters are still open.
        """
        found, marked, foreign = await self._survey(wanted)
        kept: dict[int, deque[Letter]] = {}
        async for record, _mark in self._records():
            place = record.partition, record.offset
            if place in found and (letter := _letter(record)) is not None:
                kept.setdefault(record.partition, deque(maxlen=limit)).append(_with_mark(_cut(letter), marked))
        letters = [letter for of_partition in kept.values() for letter in of_partition]
        letters.sort(key=lambda letter: (letter.at, letter.place))
        return Listing(letters[-limit:] if limit else [], len(found), foreign)

    async def get(self, place: Place) -> Letter:
        """Return one letter, whole. Raises BadSettings where there is none."""
        partition, offset = place
        begin, end = self._scan.begins.get(partition, 0), self._scan.ends.get(partition, 0)
        missing = BadSettings(
            f"there is no dead letter {partition}/{offset}: partition {partition} holds {begin} to {end}, `factsieve dlt list` shows which"
        )
        if not begin <= offset < end:
            raise missing
        found: Letter | None = None
        redriven: dict[Place, datetime] = {}
        async for record, mark in self._records(partitions={partition}, since_offset=offset):
            if mark is not None:
                redriven[mark.partition, mark.offset] = mark.at
            elif (record.partition, record.offset) == place:
                found = _letter(record)
        if found is None:
            raise missing
        return _with_mark(found, redriven)

    async def select(self, wanted: Wanted) -> set[Place]:
        """Return the places of all letters that are wanted. Raises BadSettings where one that is named is not there; Transient."""
        places, _marked, _foreign = await self._survey(wanted)
        if missing := wanted.places - places:
            names = ", ".join(f"{partition}/{offset}" for partition, offset in sorted(missing))
            raise BadSettings(f"there is no dead letter {names}: `factsieve dlt list --all` shows which there are")
        return places

    async def redrive(
        self,
        places: Collection[Place],
        *,
        value: bytes | None = None,
        key: bytes | None = None,
        dry_run: bool = False,
        on_sent: Callable[[Letter], None] = lambda _letter: None,
    ) -> int:
        """Send letters in again, oldest first in each partition, and mark them; return how many.

        `value` and `key` correct a single letter. A letter is marked when it is on its way: if this ends in between, it may be sent
        twice, and is decided once. Raises BadSettings for a letter that came from another topic; Transient.
        """
        if (value is not None or key is not None) and len(places) != 1:
            raise BadSettings(f"a corrected value or key is one letter's: {len(places)} are named")
        batch: list[Letter] = []
        sent = 0
        async for record, mark in self._records():
            if mark is not None or (record.partition, record.offset) not in places:
                continue
            letter = _letter(record)
            if letter is None:
                continue
            batch.append(letter)
            if len(batch) == _SEND_BATCH:
                sent += await self._send(batch, value, key, dry_run=dry_run, on_sent=on_sent)
                batch = []
        return sent + await self._send(batch, value, key, dry_run=dry_run, on_sent=on_sent)

    async def _send(
        self,
        letters: Collection[Letter],
        value: bytes | None,
        key: bytes | None,
        *,
        dry_run: bool,
        on_sent: Callable[[Letter], None],
    ) -> int:
        for letter in letters:
            if letter.said.coordinates.topic != self._topics.candidates:
                raise BadSettings(
                    f"dead letter {letter.name} came from topic {letter.said.coordinates.topic!r}, and candidates are on "
                    f"{self._topics.candidates!r}: leave it out, or set kafka.topics.candidates"
                )
        if not dry_run and letters:
            await self._outbox.send([redrive_message(self._topics, one.said, value=value, key=key) for one in letters])
            now = self._now()
            marks = [redriven_message(self._topics, one.said.key, Redriven(*one.place, now)) for one in letters]
            await self._outbox.send(marks)
        for letter in letters:
            on_sent(letter)
        return len(letters)

    async def _survey(self, wanted: Wanted) -> tuple[set[Place], dict[Place, datetime], int]:
        """Return the places of the letters that are wanted, the marks, and how many records are neither."""
        found: set[Place] = set()
        marked: dict[Place, datetime] = {}
        foreign = 0
        async for record, mark in self._records():
            letter = None if mark is not None else _letter(record)
            if mark is not None:
                marked[mark.partition, mark.offset] = mark.at
            elif letter is None:
                foreign += 1
            elif wanted.matches(letter):
                found.add(letter.place)
        if not wanted.redriven and not wanted.places:
            found -= marked.keys()
        return found, marked, foreign

    async def _records(
        self, *, partitions: Collection[int] | None = None, since_offset: int = 0
    ) -> AsyncIterator[tuple[Record, Redriven | None]]:
        """Yield the topic's records as it was when it was opened, each with the mark that it is, if it is one."""
        starts = {
            number: max(begin, since_offset)
            for number, begin in self._scan.begins.items()
            if partitions is None or number in partitions
        }
        async for records, _reached in self._scan.read(starts, self._scan.ends):
            for record in records:
                yield record, read_redriven(record)


def _letter(record: Record) -> Letter | None:
    try:
        said = read_dead_letter(record)
    except BadInput:
        return None
    at = said.dead_lettered_at or times.from_ms(max(0, record.timestamp_ms))
    return Letter((record.partition, record.offset), at, said)


def _cut(letter: Letter) -> Letter:
    value = letter.said.value
    if value is None or len(value) <= PREVIEW_BYTES:
        return letter
    said = msgspec.structs.replace(letter.said, value=value[:PREVIEW_BYTES])
    return msgspec.structs.replace(letter, said=said)


def _with_mark(letter: Letter, redriven: dict[Place, datetime]) -> Letter:
    return msgspec.structs.replace(letter, redriven_at=redriven.get(letter.place))
