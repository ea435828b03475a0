"""What a process was working on when it died: marked while it runs, learnt by whoever comes next, tried alone, in the end refused.

Some statements may take the process down natively: a fault in a model's runtime, memory without end, a loop that only the watchdog ends.
No exception tells of them. So whatever is decoded, embedded or judged is marked in a file of this process (memory-mapped: marks outlive the
process at the cost of a memory write), and rules of this file follow:

1. A file whose owner lives is locked. One without a lock is the last word of a process that died: what it holds are suspects.
2. A suspect is worked on alone, nothing else in the process meanwhile, and marked so first, through to the disk. A known-good statement
   goes before it under a mark of its own: where that one takes the process down, or fails, the suspect is not to blame.
3. A suspect that was being worked on alone when processes died, `deaths` times, is refused. (A death during an outage does not count: a
   call that waits for a service is in no mark.)
4. Statements are known by their digest, so that copies of a bad one, in whatever partition, cost no further deaths; for a day, and only
   as long as program and models are the same.

Files are of one host. A worker on another one that takes the partition over learns the same way, by its own deaths.
"""

import asyncio
import fcntl
import hashlib
import mmap
import os
import struct
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import msgspec
import structlog

from factsieve.core.errors import BadInput, Transient

log = structlog.get_logger(__name__)

SLOTS: Final = 8_192
"""Contents marked at the same time, at most; above every bound of what is worked on at once. More go unmarked."""
KEPT: Final = 10_000
"""Suspects remembered at most, the latest ones."""
KEPT_S: Final = 24 * 3600.0

_SLOT: Final = struct.Struct("<B16s")
_FREE, _SHARED, _ALONE, _PROBE = range(4)
_SUFFIX: Final = ".marks"
_SUSPECTS: Final = "suspects.json"
_LOCK: Final = "lock"


class Suspect(msgspec.Struct):
    """What is known of one content: how many processes died working on it alone, when last, and of which program and models."""

    deaths: int = 0
    at: float = 0.0
    by: str = ""


class Suspects:
    """The `Risk` port on files in `folder`. Raises OSError where the folder can not be written.

    `by` names program and models: what was learnt of others does not count. `probe` sends a known-good statement through the models,
    raising what goes wrong. After `deaths` alone a content is refused.
    """

    def __init__(
        self,
        folder: Path,
        *,
        by: str,
        deaths: int,
        probe: Callable[[], Awaitable[None]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._by = by
        self._deaths = deaths
        self._probe = probe
        self._now = now
        self._suspects: dict[str, Suspect] = {}
        self._others: dict[str, Suspect] = {}  # learnt with other models, by workers that share the folder
        self._exclusive = False
        self._turn = asyncio.Lock()
        self._shared = 0
        self._idle = asyncio.Event()
        self._freed = asyncio.Event()
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{os.getpid()}-{uuid.uuid4().hex[:12]}{_SUFFIX}"
        with self._locked():  # nobody may look at the file before its lock is held
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            os.ftruncate(self._file, SLOTS * _SLOT.size)
        self._marks = mmap.mmap(self._file, SLOTS * _SLOT.size)
        self._free = list(range(SLOTS - 1, -1, -1))
        self.absorb()

    @property
    def count(self) -> int:
        """Return how many suspects are remembered."""
        return len(self._suspects)

    def close(self) -> None:
        """End in order: what is not being worked on leaves nothing behind."""
        if self._marks.closed:
            return
        hanging = len(self._free) < SLOTS
        self._marks.close()
        if not hanging:
            self.path.unlink(missing_ok=True)
        os.close(self._file)

    # The port

    def is_suspect(self, content: str | bytes) -> bool:
        """Return whether this was being worked on when a process died."""
        return bool(self._suspects) and _digest(content).hex() in self._suspects

    def running(self, *contents: str | bytes) -> AbstractAsyncContextManager[None]:
        """Mark contents while they are worked on; a suspect alone, after a known-good statement. See `ports.Risk`."""
        digests = [_digest(content) for content in dict.fromkeys(contents)]  # a death counts once
        suspect = next((one for one in digests if one.hex() in self._suspects), None) if self._suspects else None
        if suspect is not None:
            return self._alone(digests, self._suspects[suspect.hex()])
        return _BesideOthers(self, digests)

    async def _begin(self, digests: list[bytes]) -> list[int]:
        """Mark contents as worked on beside others, once nothing is worked on alone."""
        while self._exclusive:
            self._freed.clear()
            await self._freed.wait()
        self._shared += 1
        return self._mark(_SHARED, digests)

    def _end(self, slots: list[int]) -> None:
        self._unmark(slots)
        self._shared -= 1
        if not self._shared:
            self._idle.set()

    def survived(self, contents: Iterable[str | bytes]) -> None:
        """These were worked on to the end: they are no suspects any more."""
        if not self._suspects:
            return
        names = [_digest(content).hex() for content in contents]
        cleared = [name for name in names if name in self._suspects and self._suspects[name].deaths < self._deaths]
        if cleared:
            for name in cleared:
                del self._suspects[name]
            self._store(dropped=cleared)

    @asynccontextmanager
    async def _alone(self, digests: list[bytes], suspect: Suspect) -> AsyncIterator[None]:
        if suspect.deaths >= self._deaths:
            raise BadInput(
                "unprocessable",
                f"{suspect.deaths} processes died while they worked on this alone, after a known-good statement went through: correct the "
                "statement, or send it again with `factsieve dlt redrive` a day later or to another version",
            )
        async with self._turn:
            self._exclusive = True
            try:
                while self._shared:
                    self._idle.clear()
                    await self._idle.wait()
                with self._through_to_disk(_PROBE, digests):
                    try:
                        await self._probe()
                    except Exception as error:
                        raise Transient("model", f"a known-good statement fails: {error!r}") from error
                with self._through_to_disk(_ALONE, digests):
                    yield
            finally:
                self._exclusive = False
                self._freed.set()

    @contextmanager
    def _through_to_disk(self, kind: int, digests: list[bytes]) -> Iterator[None]:
        slots = self._mark(kind, digests)
        self._marks.flush()
        try:
            yield
        finally:
            self._unmark(slots)

    def _mark(self, kind: int, digests: list[bytes]) -> list[int]:
        slots = []
        for digest in digests:
            if self._free:
                slot = self._free.pop()
                _SLOT.pack_into(self._marks, slot * _SLOT.size, kind, digest)
                slots.append(slot)
        return slots

    def _unmark(self, slots: list[int]) -> None:
        for slot in slots:
            if not self._marks.closed:
                self._marks[slot * _SLOT.size] = _FREE
            self._free.append(slot)

    # Learning from those that died

    def absorb(self) -> None:
        """Learn what processes that died on this host were working on; to be called at the start and when partitions are taken over."""
        with self._locked():
            self._load()
            orphans = [path for path in self._folder.glob(f"*{_SUFFIX}") if path != self.path]
            dead = [(path, marks) for path in orphans if (marks := _last_words(path)) is not None]
            for path, marks in dead:
                self._learn(path.name, marks)
            if dead:
                self._save()
            for path, _marks in dead:
                path.unlink(missing_ok=True)

    def _learn(self, name: str, marks: list[tuple[int, str]]) -> None:
        now = self._now()
        blamed = [digest for kind, digest in marks if kind == _ALONE]
        for kind, digest in marks:
            suspect = self._suspects.setdefault(digest, Suspect())
            suspect.deaths += kind == _ALONE
            suspect.at, suspect.by = now, self._by
        if marks:
            log.warning("process_died", marks=name, suspects=len(marks), alone=blamed)

    def _load(self) -> None:
        try:
            stored = msgspec.json.decode((self._folder / _SUSPECTS).read_bytes(), type=dict[str, Suspect])
        except FileNotFoundError:
            stored = {}
        except msgspec.DecodeError as error:
            log.warning("suspects_unreadable", error=str(error))
            stored = {}
        oldest = self._now() - KEPT_S
        kept = sorted(((name, one) for name, one in stored.items() if one.at >= oldest), key=lambda item: item[1].at)
        self._suspects = {name: one for name, one in kept[-KEPT:] if one.by == self._by}
        self._others = {name: one for name, one in kept[-KEPT:] if one.by != self._by}

    def _store(self, dropped: list[str]) -> None:
        """Drop suspects from the file, whatever other processes of this host have learnt meanwhile."""
        with self._locked():
            self._load()
            for name in dropped:
                self._suspects.pop(name, None)
            self._save()

    def _save(self) -> None:
        target, written = self._folder / _SUSPECTS, self._folder / f"{_SUSPECTS}.new"
        with written.open("wb") as file:
            file.write(msgspec.json.encode(self._others | self._suspects))
            file.flush()
            os.fsync(file.fileno())
        written.replace(target)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._folder / _LOCK).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # held for as long as it takes to read and write a small file
            yield


class _BesideOthers:
    """What is worked on while its marks stand. Every event passes here some five times, so it is a class and no generator."""

    __slots__ = ("_digests", "_slots", "_suspects")

    def __init__(self, suspects: Suspects, digests: list[bytes]) -> None:
        self._suspects = suspects
        self._digests = digests
        self._slots: list[int] = []

    async def __aenter__(self) -> None:
        self._slots = await self._suspects._begin(self._digests)

    async def __aexit__(self, *_error: object) -> None:
        self._suspects._end(self._slots)


def _digest(content: str | bytes) -> bytes:
    """Return 16 bytes; of a text and of a record's value never the same."""
    if isinstance(content, str):
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16, person=b"text").digest()
    return hashlib.blake2b(content, digest_size=16, person=b"value").digest()


def _last_words(path: Path) -> list[tuple[int, str]] | None:
    """Return the marks in a file whose owner died, or None where it lives (or the file is gone)."""
    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            data = file.read()
    except FileNotFoundError:
        return None
    whole = len(data) // _SLOT.size * _SLOT.size
    return [(kind, digest.hex()) for kind, digest in _SLOT.iter_unpack(data[:whole]) if kind != _FREE]
