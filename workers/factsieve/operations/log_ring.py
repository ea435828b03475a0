"""The latest decisions in memory, found by id or by filter; pure: what is read from Kafka is put in, what was erased is taken out.

A decision is kept packed (its JSON without vectors, deflated: about a kilobyte and a half) beside a row of what it is found and counted
by, so that fifty thousand of them fit in some hundred and fifty megabytes. Order is the order of arrival, newest last.
"""

import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from factsieve.core.decision import Entry, Erasure
from factsieve.core.errors import Bug
from factsieve.core.telling import DecidedBy, cost_of, decided_by, is_model, kind_of
from factsieve.core.undo.erase import scrub
from factsieve.wire import times
from factsieve.wire.outbound import decision_message
from factsieve.wire.recorded import decided_entry
from factsieve.wire.topics import Topics

DecisionValue = dict[str, Any]
"""A value of `fact-decisions`, as in schemas/fact.decision.v1.json."""

ERASED: Final = "erased"
_PACK_LEVEL: Final = 1


class DecisionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions are wanted; None asks for nothing in particular.

    `namespaces`: those that may be seen; None: all, refusals whose namespace is not known included. `decision`: one of the five, a
    command (`revert`, `retract`, `erase`, `review`) or `refused`. `fact_id`: decisions that made, matched, retired or changed that fact.
    `review`: flagged for review, or not. `text`: occurs in the statement or in what it was compared with, whatever its case. `since` is
    inclusive, `until` exclusive, both of `decided_at`.
    """

    namespaces: frozenset[str] | None = None
    decision: str | None = None
    band: str | None = None
    reason: str | None = None
    event_id: str | None = None
    event_key: str | None = None
    fact_id: str | None = None
    review: bool | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Row(msgspec.Struct, frozen=True, gc=False):
    """What a decision is found and counted by. `at` is `decided_at` in seconds since the epoch, `similarity` None without a neighbour."""

    number: int
    decision_id: str
    event_key: str | None
    event_id: str
    namespace: str | None
    kind: str
    reason: str
    band: str | None
    review: bool
    at: float
    similarity: float | None
    thresholds: tuple[float, float, float] | None  # supersede, ambiguous, skip
    decided_by: DecidedBy
    model_calls: int
    model_ms: float
    tokens: int
    facts: tuple[str, ...]
    words: str
    packed: bytes

    @property
    def value(self) -> DecisionValue:
        """Return the decision itself."""
        value: DecisionValue = msgspec.json.decode(zlib.decompress(self.packed))
        return value


class Page(msgspec.Struct, frozen=True):
    """Decisions, newest first. `next` asks for those before, None where there are none."""

    items: list[DecisionValue]
    next: str | None


def searchable(text: str) -> str:
    """Return a text as it is searched: compatibility forms and case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def row_of(number: int, value: DecisionValue) -> Row:
    """Return the row of a decision."""
    signal = value.get("dedup_signal") or {}
    models = [note for note in value.get("judges") or () if is_model(note)]
    limits = value.get("thresholds")
    return Row(
        number=number,
        decision_id=value["decision_id"],
        event_key=value.get("event_key"),
        event_id=value["event_id"],
        namespace=value.get("namespace"),
        kind=kind_of(value),
        reason=(value.get("error") or {}).get("code") or value.get("reason") or "",
        band=value.get("band"),
        review=bool(value.get("review")),
        at=instant_of(value),
        similarity=signal.get("max_sim") if signal.get("matched_id") is not None else None,
        thresholds=(limits["supersede"], limits["ambiguous"], limits["skip"]) if limits else None,
        decided_by=decided_by(value),
        model_calls=len(models),
        model_ms=sum(float(note.get("latency_ms") or 0.0) for note in models),
        tokens=cost_of([value]).tokens,
        facts=tuple(sorted(_facts_of(value))),
        words=searchable(f"{value.get('text') or ''}\n{value.get('matched_text') or ''}"),
        packed=zlib.compress(
            msgspec.json.encode(value | {"vectors": {}} if value.get("vectors") else value), _PACK_LEVEL
        ),
    )


def instant_of(value: DecisionValue) -> float:
    """Return when it was decided, in seconds since the epoch."""
    return times.parse_rfc3339(value["decided_at"]).timestamp()


def _facts_of(value: DecisionValue) -> set[str]:
    named = {value.get("fact_id"), value.get("matched_id"), *(value.get("superseded_ids") or ())}
    named |= {effect.get("fact_id") for effect in value.get("effects") or ()}
    return {fact_id for fact_id in named if fact_id}


def test_of(wanted: DecisionFilter) -> Callable[[Row], bool]:
    """Return the test of a filter, with its texts and times made ready once."""
    needle = searchable(wanted.text) if wanted.text else None
    since = wanted.since.timestamp() if wanted.since is not None else None
    until = wanted.until.timestamp() if wanted.until is not None else None
    exact = {
        name: value
        for name, value in (
            ("kind", wanted.decision),
            ("band", wanted.band),
            ("reason", wanted.reason),
            ("event_id", wanted.event_id),
            ("event_key", wanted.event_key),
            ("review", wanted.review),
        )
        if value is not None
    }

    def matches(row: Row) -> bool:
        return (
            (wanted.namespaces is None or row.namespace in wanted.namespaces)
            and all(getattr(row, name) == value for name, value in exact.items())
            and (wanted.fact_id is None or wanted.fact_id in row.facts)
            and (since is None or row.at >= since)
            and (until is None or row.at < until)
            and (needle is None or needle in row.words)
        )

    return matches


class Ring:
    """The last `capacity` decisions, each once: told again, it keeps its place."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a log of {capacity} decisions: at least 1 is needed")
        self._capacity = capacity
        self._rows: dict[int, Row] = {}  # by number, in order
        self._by_id: dict[str, int] = {}
        self._by_event: dict[str, list[int]] = {}  # by event key and by event id
        self._by_fact: dict[tuple[str | None, str], list[int]] = {}
        self._next = 1
        self.version = 0
        """Counts changes."""
        self.forgotten_until: float | None = None
        """Decisions up to this instant (seconds since the epoch) may be missing: they were pushed out, or never read."""

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, value: DecisionValue) -> Row | None:
        """Take in a decision; return its row, or None where it was there already.

        An erase that was carried out takes the erased texts out of all decisions that are here.
        """
        known = self._by_id.get(value["decision_id"])
        self.version += 1
        if known is not None:
            if value.get("reason") == ERASED and self._rows[known].reason != ERASED:
                self._rows[known] = row_of(known, value)  # its statement was erased since
            return None
        row = row_of(self._next, value)
        self._next += 1
        self._rows[row.number] = row
        self._by_id[row.decision_id] = row.number
        for key in {row.event_id, row.event_key} - {None}:
            self._by_event.setdefault(str(key), []).append(row.number)
        for fact_id in row.facts:
            self._by_fact.setdefault((row.namespace, fact_id), []).append(row.number)
        if row.kind == "erase" and value.get("outcome") in ("applied", "no_op"):
            self._scrub(value)
        while len(self._rows) > self._capacity:
            self._forget(next(iter(self._rows.values())))
        return row

    def get(self, decision_id: str) -> Row | None:
        """Return the row of a decision that is here."""
        number = self._by_id.get(decision_id)
        return None if number is None else self._rows[number]

    def rows(self) -> list[Row]:
        """Return all rows, oldest first."""
        return list(self._rows.values())

    def after(self, decision_id: str, limit: int) -> list[Row]:
        """Return up to `limit` of the latest rows that came after a decision; none where it is not here."""
        number = self._by_id.get(decision_id)
        if number is None:
            return []
        first = max(number + 1, self._next - limit)
        return [row for one in range(first, self._next) if (row := self._rows.get(one)) is not None]

    def select(self, wanted: DecisionFilter, *, limit: int, before: str | None = None) -> tuple[list[Row], str | None]:
        """Return matching rows, newest first, and the cursor for more. `before`: a cursor; one that fell out has nothing before it."""
        matches = test_of(wanted)
        below = self._next
        if before is not None:
            below = self._by_id.get(before, 0)
        found: list[Row] = []
        for row in self._newest_first(wanted, below):
            if matches(row):
                if len(found) == limit:
                    return found, found[-1].decision_id if found else None
                found.append(row)
        return found, None

    def _newest_first(self, wanted: DecisionFilter, below: int) -> Iterator[Row]:
        named: Sequence[int]
        if wanted.event_key is not None or wanted.event_id is not None:
            named = self._by_event.get(wanted.event_key or wanted.event_id or "", [])
        else:
            named = range(next(iter(self._rows), below), below)
        for number in reversed(named):
            row = self._rows.get(number)
            if row is not None and number < below:
                yield row

    def _forget(self, row: Row) -> None:
        del self._rows[row.number]
        del self._by_id[row.decision_id]
        for key in {row.event_id, row.event_key} - {None}:
            _drop(self._by_event, str(key), row.number)
        for fact_id in row.facts:
            _drop(self._by_fact, (row.namespace, fact_id), row.number)
        self.forgotten_until = max(self.forgotten_until or row.at, row.at)

    def _scrub(self, erase: DecisionValue) -> None:
        """Take out of the decisions of its namespace what an erase erased, as the ledger does."""
        erasure = _erasure_of(erase)
        namespace = erase.get("namespace")
        numbers = {number for fact_id in erasure.facts for number in self._by_fact.get((namespace, fact_id), ())}
        numbers |= {number for key in erasure.event_keys for number in self._by_event.get(key, ())}
        if (about := self._by_id.get(erase.get("about_decision_id") or "")) is not None:
            numbers.add(about)
            erasure = msgspec.structs.replace(
                erasure, event_keys=(*erasure.event_keys, self._rows[about].event_key or "")
            )
        for number in sorted(numbers):
            row = self._rows[number]
            if row.namespace != namespace:
                continue
            try:
                entry = decided_entry(msgspec.json.encode(row.value))
            except Bug:  # of a later version: what can not be read can not be scrubbed, so it is not kept
                self._forget(row)
                continue
            if entry is not None:
                fresh = row_of(number, value_of(scrub(entry, erasure)))
                self._rows[number] = msgspec.structs.replace(
                    fresh, facts=row.facts
                )  # found by the same facts as before


def _drop(index: dict[Any, list[int]], key: Any, number: int) -> None:  # noqa: ANN401 - keys of either index
    numbers = index.get(key)
    if numbers is not None:
        if number in numbers:
            numbers.remove(number)
        if not numbers:
            del index[key]


def _erasure_of(erase: DecisionValue) -> Erasure:
    """Return what an erase erased; of one that does not say so itself, all that it overwrote."""
    if erase.get("erases") is not None:
        return msgspec.convert(erase["erases"], Erasure)
    overwritten = [effect for effect in erase.get("effects") or () if effect.get("status") == ERASED]
    return Erasure(facts={effect["fact_id"]: () for effect in overwritten})


def value_of(entry: Entry) -> DecisionValue:
    """Return a ledger entry as `fact-decisions` tells of it."""
    message = decision_message(Topics(), entry, replayed=False)
    value: DecisionValue = msgspec.json.decode(message.value or b"")
    return value


def instant(seconds: float) -> datetime:
    """Return an instant, UTC, from seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def in_order(values: Iterable[DecisionValue]) -> list[DecisionValue]:
    """Return decisions of several partitions in the order in which they were made, as far as the workers' clocks tell."""
    return sorted(values, key=instant_of)
