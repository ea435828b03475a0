"""The ports: what the engine needs of the world. One contract suite per port runs against every adapter.

Every method may raise `Transient` where a service is out of reach; nothing else leaves an adapter but bugs.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from factsieve.core.downstream import Foreign
from factsieve.core.facts import Fact
from factsieve.core.judging import Question, Verdict

Vector = NDArray[np.float32]
"""One embedding: float32, shape (dimension,), L2 norm 1."""


class NeighbourQuery(msgspec.Struct, frozen=True, eq=False):
    """The nearest facts of one namespace.

    `past` asks for past rows (superseded facts and former revisions still believed) instead of current ones. `payload_floor`:
    facts below this similarity come back as ids and scores only. `retired` asks for every row that does not hold any more instead: past,
    archived and withdrawn ones.
    """

    namespace: str
    vector: Vector
    limit: int
    payload_floor: float
    past: bool = False
    retired: bool = False


class Near(msgspec.Struct, frozen=True):
    """One hit: `similarity` rounded to 1e-5, `fact` None below the payload floor."""

    point_id: str
    similarity: float
    fact: Fact | None


class FactWrite(msgspec.Struct, frozen=True, eq=False):
    """One absolute write: `insert` leaves an existing point alone, else only a point of a lower version is replaced.

    `vector` is the embedding of `fact.text` (erased facts: a constant one).
    """

    fact: Fact
    vector: Vector
    insert: bool


class LedgerPointer(msgspec.Struct, frozen=True):
    """Where an event's decision is: the ledger record and the index in it."""

    record_id: str
    index: int


class Message(msgspec.Struct, frozen=True):
    """One record to produce; `value` None is a tombstone. `key` None only where a dead letter had none."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int | None = None


class WindowHit(msgspec.Struct, frozen=True):
    """What the hash window knows of a text: the fact that it led to, at the revision it then had."""

    fact_id: str
    revision: int


class FactStore(Protocol):
    """Facts with their vectors. Neighbours come best first, ties by point id, similarities rounded to 1e-5."""

    async def neighbours(self, queries: Sequence[NeighbourQuery]) -> list[list[Near]]:
        """Return for each query, in order, its nearest facts."""
        ...

    async def by_slot(self, slots: Sequence[tuple[str, str]], *, past: bool = False) -> list[list[Fact]]:
        """Return for each (namespace, slot) its current facts (with `past`, the current and the past rows), by point id.

        At most 64 of a slot come back, the latest by `valid_from`.
        """
        ...

    async def by_text(self, keys: Sequence[tuple[str, str]]) -> list[list[Fact]]:
        """Return for each (namespace, text hash) the current facts that say exactly this, by point id."""
        ...

    async def get(self, point_ids: Sequence[str]) -> dict[str, Fact]:
        """Return the points that exist, whatever their status."""
        ...

    async def vectors(self, point_ids: Sequence[str]) -> dict[str, Vector]:
        """Return the stored vectors of the points that exist."""
        ...

    async def history(self, namespace: str, fact_id: str) -> list[Fact]:
        """Return every row of a fact (head and history rows), in order of `recorded_at`, then revision."""
        ...

    async def select(
        self,
        namespace: str | None,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        current_only: bool = True,
        limit: int | None = None,
    ) -> list[Fact]:
        """Return facts in order of `valid_from`, then point id.

        Without times: the current facts (`current_only` false: every row). `as_of`: rows true at that instant, as believed now,
        or as believed at `known_at`. `known_at` alone: what was believed then and open then.
        """
        ...

    async def recent(
        self,
        namespace: str | None,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        current_only: bool = True,
        limit: int,
        before: tuple[datetime, str] | None = None,
    ) -> list[Fact]:
        """Return what `select` would, the other way round: the latest `limit` facts by `valid_from`, then point id, latest first.

        `before`: only those in front of this place (`valid_from`, point id) in the order of `select`: the last fact of the page before.
        """
        ...

    async def write(self, writes: Sequence[FactWrite]) -> None:
        """Perform absolute writes; harmless to repeat, and a stale one changes nothing. Point ids are unique within a call."""
        ...


class Ledger(Protocol):
    """What was decided, insert-only."""

    async def lookup(self, event_keys: Sequence[str]) -> dict[str, LedgerPointer]:
        """Return the pointers of those events that have a decision."""
        ...

    async def records(self, record_ids: Sequence[str]) -> dict[str, bytes]:
        """Return the stored records that exist."""
        ...

    async def insert(self, records: Mapping[str, tuple[bytes, Mapping[str, object]]]) -> dict[str, bytes]:
        """Insert records (id -> body and indexed fields), leave existing ones alone, and return what is stored now under each id."""
        ...

    async def point(self, pointers: Mapping[str, LedgerPointer]) -> None:
        """Insert pointers (event key -> pointer), leaving existing ones alone."""
        ...

    async def decided(self, decision_ids: Sequence[str]) -> dict[str, LedgerPointer]:
        """Return the pointers of those decisions that exist, by decision id."""
        ...

    def scan(self, namespace: str | None) -> AsyncIterator[bytes]:
        """Yield the bodies of all records, of one namespace or of all, in no particular order."""
        ...

    def holding(self, namespace: str, fact_ids: Sequence[str]) -> AsyncIterator[tuple[str, bytes]]:
        """Yield id and body of every record that holds a text of one of these facts (field `fact_ids`), each at least once."""
        ...

    async def scrub(self, records: Mapping[str, tuple[bytes, bytes]]) -> None:
        """Put other bodies in the place of stored ones (record id -> what was read, what is to be there): what must not be kept is gone.

        A scrubbed record is kept for good (`skips_only` false), its other fields stay. Raises Transient where a record is not as it was
        read: read it again.
        """
        ...


class FactPages(FactStore, Protocol):
    """Facts that can be read whole, with their vectors: for exports."""

    async def count(self, namespace: str | None) -> int:
        """Return how many points there are, of one namespace or of all."""
        ...

    def pages(self, namespace: str | None) -> AsyncIterator[list[tuple[Fact, Vector]]]:
        """Yield every point of one namespace or of all, a bounded number at a time, in order of point id."""
        ...


class LedgerPages(Ledger, Protocol):
    """A ledger that can be read whole, with what it indexes: for exports."""

    async def count(self, namespace: str | None) -> int:
        """Return how many records there are, of one namespace or of all."""
        ...

    def pages(self, namespace: str | None) -> AsyncIterator[list[tuple[str, bytes, Mapping[str, object]]]]:
        """Yield id, body and indexed fields of every record of one namespace or of all, a bounded number at a time."""
        ...


class HashWindow(Protocol):
    """The cheap filter for exact repeats within a short event time. Losing it loses no correctness."""

    async def find(self, namespace: str, texts: Sequence[tuple[str, datetime]]) -> list[WindowHit | None]:
        """Return for each (text hash, event time) what was written for it within the window around that time."""
        ...

    async def put(self, namespace: str, texts: Sequence[tuple[str, datetime, WindowHit]]) -> None:
        """Write what decided events led to."""
        ...


class Coverage(msgspec.Struct, frozen=True):
    """How much of a text the embedder saw: tokens beyond its window are cut, unknown tokens carry nothing."""

    truncated: bool
    unknown_share: float


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors. A text's vector never depends on what else is in the batch."""

    @property
    def model(self) -> str:
        """Return the model's name, as candidates name it in `embedding_model`."""
        ...

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """Return a short hex digest that changes whenever vectors would."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order."""
        ...

    def coverage(self, text: str) -> Coverage:
        """Return how much of the text the vector stands for."""
        ...


class Judge(Protocol):
    """Who answers when a number cannot. A failure is an answer too (`Verdict.choice` None), never an exception."""

    @property
    def name(self) -> str:
        """Return the judge's name for reports: `rules`, `nli:...`, `openrouter:...`."""
        ...

    @property
    def is_remote(self) -> bool:
        """Return whether an answer may take long: then what is already decided is not held back for it."""
        ...

    @property
    def confirms_skips(self) -> bool:
        """Return whether it wants to be asked (`Question.confirm`) before a skip by similarity."""
        ...

    async def answer(self, question: Question) -> Verdict:
        """Return the verdict."""
        ...


class Wanted(msgspec.Struct, frozen=True, eq=False):
    """A statement that is looked for downstream. `vector` is of our own model; `skip_threshold` is our own, where none is set there."""

    namespace: str
    text: str
    vector: Vector
    skip_threshold: float


class Look(msgspec.Struct, frozen=True):
    """What downstream collections hold near a statement, at or above the threshold, best first; `missing`: which did not answer."""

    hits: tuple[Foreign, ...] = ()
    missing: tuple[str, ...] = ()


class Downstream(Protocol):
    """Collections of the downstream RAG, read only. It can be done without: nothing is raised where one does not answer, it is named."""

    def covers(self, namespace: str) -> bool:
        """Return whether any collection is for this namespace."""
        ...

    async def find(self, wanted: Sequence[Wanted]) -> list[Look]:
        """Return for each statement, in order, what is there. Takes no longer than the time-out."""
        ...


class Outbox(Protocol):
    """Where messages leave. Returns when all of them are acknowledged, in order per key."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Produce the messages and wait for every acknowledgement."""
        ...


class Fence(Protocol):
    """Tells whether this process may still write for a partition."""

    def holds(self, topic: str, partition: int) -> bool:
        """Return whether the partition is assigned and the last heartbeat is younger than the session time-out."""
        ...


class Risk(Protocol):
    """Marks what is being worked on, so that after a crash it is known what may have caused it."""

    def is_suspect(self, content: str | bytes) -> bool:
        """Return whether this was being worked on when a process died."""
        ...

    def running(self, *contents: str | bytes) -> AbstractAsyncContextManager[None]:
        """Mark contents while they are worked on. A suspect is worked on alone, after a known-good one.

        Raises BadInput `unprocessable` for what took processes down too often, Transient where the known-good one fails too. Not to be
        entered while another one is held.
        """
        ...

    def survived(self, contents: Iterable[str | bytes]) -> None:
        """These were worked on to the end: they are no suspects any more."""
        ...


class Clock(Protocol):
    """System time and waiting; a virtual one in simulations."""

    def now(self) -> datetime:
        """Return the system time, UTC."""
        ...

    async def sleep(self, duration_s: float) -> None:
        """Wait."""
        ...


__all__ = [
    "Clock",
    "Coverage",
    "Downstream",
    "Embedder",
    "FactPages",
    "FactStore",
    "FactWrite",
    "Fence",
    "HashWindow",
    "Judge",
    "Ledger",
    "LedgerPages",
    "LedgerPointer",
    "Look",
    "Message",
    "Near",
    "NeighbourQuery",
    "Outbox",
    "Risk",
    "Vector",
    "Wanted",
    "WindowHit",
]
