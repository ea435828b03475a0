"""The latest decisions in memory, found by id or by filter; pure: what is read from Kafka is put in, what was erased is taken out.

A decision is kept packed (its JSON, deflated: about a kilobyte) beside a row of what it is found and counted by, so that fifty thousand
of them fit in some hundred megabytes. Order is the order of arrival, newest last.
"""

import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec

from factsieve.core.facts import Kind
from factsieve.wire import times

DecisionValue = dict[str, Any]
"""A value of `fact-decisions`, as in schemas/fact.decision.v1.json."""

DecidedBy = Literal["window", "text", "bands", "rules", "nli", "model", "operator", "refused"]
"""What settled a decision: the hash window, the exact text, similarity and guard alone, a local judge, a language model, a command."""

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


def kind_of(value: DecisionValue) -> str:
    """Return a decision's kind, a command's own kind, or `refused`."""
    return value.get("decision") or value.get("command") or "refused"


def is_model(note: dict[str, Any]) -> bool:
    """Return whether a judge's note is that of a language model: neither rules nor a local NLI model."""
    return not str(note.get("judge", "")).startswith(("rules", "nli"))


def decided_by(value: DecisionValue) -> DecidedBy:
    """Return what settled a decision; a judge that only confirmed a skip, or gave no usable answer, did not."""
    if value.get("command") is not None:
        return "operator"
    if value.get("decision") is None:
        return "refused"
    if value.get("via") == "hash_window":
        return "window"
    if value.get("via") == "text":
        return "text"
    for note in reversed(value.get("judges") or ()):
        if note.get("asked") == "choose" and note.get("choice") is not None:
            if is_model(note):
                return "model"
            return "nli" if str(note["judge"]).startswith("nli") else "rules"
    return "bands"


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
        at=times.parse_rfc3339(value["decided_at"]).timestamp(),
        similarity=signal.get("max_sim") if signal.get("matched_id") is not None else None,
        thresholds=(limits["supersede"], limits["ambiguous"], limits["skip"]) if limits else None,
        decided_by=decided_by(value),
        model_calls=len(models),
        model_ms=sum(float(note.get("latency_ms") or 0.0) for note in models),
        tokens=sum(int(note.get("prompt_tokens") or 0) + int(note.get("completion_tokens") or 0) for note in models),
        facts=tuple(sorted(_facts_of(value))),
        words=searchable(f"{value.get('text') or ''}\n{value.get('matched_text') or ''}"),
        packed=zlib.compress(msgspec.json.encode(value), _PACK_LEVEL),
    )


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
        self.forgotten_until: float | None = None
        """Decisions up to this instant (seconds since the epoch) may be missing: they were pushed out, or never read."""

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, value: DecisionValue) -> Row | None:
        """Take in a decision; return its row, or None where it was there already.

        An erase that was carried out takes the erased texts out of all decisions that are here.
        """
        known = self._by_id.get(value["decision_id"])
        if known is not None:
            if value.get("reason") == ERASED and self._rows[known].reason != ERASED:
                self._put(row_of(known, value))  # its statement was erased since
            return None
        row = row_of(self._next, value)
        self._next += 1
        self._put(row)
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

    def _put(self, row: Row) -> None:
        self._rows[row.number] = row

    def _forget(self, row: Row) -> None:
        del self._rows[row.number]
        del self._by_id[row.decision_id]
        for key in {row.event_id, row.event_key} - {None}:
            _drop(self._by_event, str(key), row.number)
        for fact_id in row.facts:
            _drop(self._by_fact, (row.namespace, fact_id), row.number)
        self.forgotten_until = max(self.forgotten_until or row.at, row.at)

    def _scrub(self, erase: DecisionValue) -> None:
        """Take out of the decisions of its namespace what an erase erased: statements, quotations, and what judges said of them."""
        gone = {effect["fact_id"] for effect in erase.get("effects") or () if effect.get("status") == ERASED}
        gone |= {change["fact"]["fact_id"] for change in erase.get("changes") or () if change.get("type") == ERASED}
        namespace = erase.get("namespace")
        numbers = {number for fact_id in gone for number in self._by_fact.get((namespace, fact_id), ())}
        about = self._by_id.get(erase.get("about_decision_id") or "")
        for number in numbers | ({about} if about is not None else set()):
            row = self._rows.get(number)
            if row is not None and row.decision_id != erase["decision_id"] and row.namespace == namespace:
                value = without(row.value, gone, spoken=number == about)
                fresh = row_of(number, value)
                self._put(msgspec.structs.replace(fresh, facts=row.facts))  # it is found by the same facts as before


def _drop(index: dict[Any, list[int]], key: Any, number: int) -> None:  # noqa: ANN401 - keys of either index
    numbers = index.get(key)
    if numbers is not None:
        if number in numbers:
            numbers.remove(number)
        if not numbers:
            del index[key]


def without(value: DecisionValue, gone: Set[str], *, spoken: bool) -> DecisionValue:
    """Return a decision without erased texts; `gone` are the facts whose texts were erased.

    What itself stated or repeated one of them (or is `spoken`: its own event was erased) reads as the ledger has it from then on: a skip,
    reason `erased`. Others lose what they quote.
    """
    made = value.get("fact_id") in gone
    repeated = value.get("decision") == Kind.SKIP and value.get("matched_id") in gone
    effects = [one for one in value.get("effects") or () if one.get("fact_id") not in gone]
    changes = [
        one | {"replaced": [part for part in one.get("replaced") or () if part.get("fact_id") not in gone]}
        for one in value.get("changes") or ()
        if one["fact"]["fact_id"] not in gone
    ]
    kept = {"effects": effects, "changes": changes, "findings": [], "matched_text": None}
    quiet = [note | {"reason": ""} for note in value.get("judges") or ()]
    lines = [line | {"reason": ERASED} for line in value.get("supersessions") or ()]
    if value.get("command") is not None:
        return value | kept | {"text": "", "judges": quiet}
    if spoken or made or repeated:
        signal = {"is_update": False, "max_sim": 0.0, "matched_id": None}
        return value | {
            **kept,
            "decision": "skip",
            "reason": ERASED,
            "fact_id": None,
            "matched_id": None,
            "superseded_ids": [],
            "dedup_signal": signal,
            "band": "none",
            "text": "",
            "neighbours": [],
            "judges": [],
            "review": None,
            "conflicts_with": [],
            "revision": None,
            "slot": None,
            "session_id": None,
            "effects": [],
            "inserts": [],
            "changes": [],
            "supersessions": lines,
        }
    return value | kept | {"judges": quiet, "supersessions": lines}


def instant(seconds: float) -> datetime:
    """Return an instant, UTC, from seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def in_order(values: Iterable[DecisionValue]) -> list[DecisionValue]:
    """Return decisions of several partitions in the order in which they were made, as far as the workers' clocks tell."""
    return sorted(values, key=lambda value: str(value.get("decided_at")))
