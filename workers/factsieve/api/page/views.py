"""What the templates show: decisions, facts and steps as values of plain text. Escaping is the templates' (all of it, always)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from unicodedata import normalize

import msgspec

from factsieve.api.page import charts
from factsieve.core import telling
from factsieve.core.facts import FOREVER, Fact
from factsieve.core.story import Step, how, said_by
from factsieve.core.telling import Cost
from factsieve.core.textdiff import Piece, diff
from factsieve.wire import times

KIND_WORDS: Final[Mapping[str, str]] = {
    "add": "add",
    "update": "update",
    "supersede": "supersede",
    "merge": "merge",
    "skip": "skip",
    "revert": "revert",
    "retract": "retract",
    "review": "review",
    "erase": "erase",
    "refused": "refused",
    "command": "command",
}
_REPLACING: Final = frozenset({"update", "supersede", "merge"})
"""Decisions after which what was known does not read as before: differences are shown as changes."""

_WORTH_MARKING: Final = 0.4
"""Share of a text that another has in common with it, below which every word would be marked."""

_CONTROLS: Final = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
"""Characters that show nothing, to ones that show what they are."""


class Moment(msgspec.Struct, frozen=True):
    """An instant: for machines, and for people."""

    iso: str
    words: str


class Changed(msgspec.Struct, frozen=True):
    """A fact that a command changed."""

    word: str
    text: str
    fact_id: str


class Neighbour(msgspec.Struct, frozen=True):
    """A fact as the decision saw it."""

    fact_id: str
    similarity: float
    via: str
    revision: int
    text: str = ""


class Asked(msgspec.Struct, frozen=True):
    """A judge's answer."""

    judge: str
    model: str
    purpose: str
    choice: str
    reason: str
    confidence: str
    cost: str


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One decision. `said` and `known` are the two texts with their differences marked; `known` is empty where there is none."""

    decision_id: str
    event_id: str
    kind: str
    word: str
    namespace: str
    at: Moment
    said_at: Moment | None
    said: tuple[Piece, ...]
    known: tuple[Piece, ...]
    same_words: bool
    replaces: bool
    known_label: str
    scale: charts.Scale | None
    band: str
    findings: tuple[str, ...]
    why: str
    who: str
    model: str
    cost: str
    review: str
    by: str
    slot: str
    fact_id: str | None
    matched_id: str | None
    superseded_ids: tuple[str, ...]
    conflicts_with: tuple[str, ...]
    about_decision_id: str | None
    outcome: str
    changes: tuple[Changed, ...]
    can_be_undone: bool
    neighbours: tuple[Neighbour, ...]
    judges: tuple[Asked, ...]
    event_key: str
    policy: str
    embedder: str
    source: str


class Era(msgspec.Struct, frozen=True):
    """A row of a timeline: what was true from when until when."""

    text: str
    since: Moment
    until: Moment | None
    how: str
    stated: int
    fact_id: str
    is_current: bool
    is_asked: bool
    status: str
    revision: int
    recorded: Moment
    retired: Moment | None


class Chapter(msgspec.Struct, frozen=True):
    """One thing that happened."""

    card: Card
    verb: str
    said: str
    wording: tuple[Piece, ...]
    replaced: tuple[tuple[str, tuple[Piece, ...]], ...]
    said_pieces: tuple[Piece, ...]
    direct: bool
    cost: str


def visible(text: str) -> str:
    """Return a text whose control characters can be seen."""
    return text.translate(_CONTROLS)


def moment(value: str | datetime) -> Moment:
    """Return an instant, told in UTC to the second, or to the minute where it is a full one."""
    at = times.parse_rfc3339(value) if isinstance(value, str) else value
    at = at.astimezone(UTC)
    return Moment(times.format_rfc3339(at), f"{at:%Y-%m-%d %H:%M:%S}" if at.second else f"{at:%Y-%m-%d %H:%M}")


def card(value: Mapping[str, Any], facts: Mapping[str, Fact] | None = None) -> Card:
    """Return a decision (a value of `fact-decisions`) as it is shown. `facts` by id: what its neighbours say now."""
    kind = telling.kind_of(value)
    text = visible(str(value.get("text") or ""))
    matched = value.get("matched_text")
    said, known = _compared(text, None if matched is None else visible(matched), replaces=kind in _REPLACING)
    note = telling.settling_note(value)
    signal = value.get("dedup_signal") or {}
    thresholds = value.get("thresholds")
    has_scale = thresholds is not None and signal.get("matched_id") is not None and value.get("command") is None
    return Card(
        decision_id=value["decision_id"],
        event_id=visible(str(value["event_id"])),
        kind=kind,
        word=KIND_WORDS.get(kind, kind),
        namespace=visible(value.get("namespace") or ""),
        at=moment(value["decided_at"]),
        said_at=moment(value["occurred_at"]) if value.get("occurred_at") else None,
        said=said,
        known=known,
        same_words=matched is not None and normalize("NFC", text) == normalize("NFC", visible(matched)),
        replaces=kind in _REPLACING,
        known_label=_known_label(kind, value),
        scale=charts.scale(float(signal["max_sim"]), thresholds) if has_scale and thresholds else None,
        band=telling.BANDS.get(str(value.get("band")), ""),
        findings=tuple(visible(telling.finding_words(one)) for one in value.get("findings") or ()),
        why=visible(telling.why(value)),
        who=visible(telling.who_decided(value)),
        model=visible(str((note or {}).get("model") or "")),
        cost=telling.cost_words(telling.cost_of([value])),
        review=visible(telling.review_words(str(value["review"]))) if value.get("review") else "",
        by=visible(said_by(value)),
        slot=visible(value.get("slot") or ""),
        fact_id=value.get("fact_id"),
        matched_id=value.get("matched_id"),
        superseded_ids=tuple(value.get("superseded_ids") or ()),
        conflicts_with=tuple(value.get("conflicts_with") or ()),
        about_decision_id=value.get("about_decision_id"),
        outcome=str(value.get("outcome") or ""),
        changes=changes(value) if value.get("command") is not None else (),
        can_be_undone=_can_be_undone(kind, value),
        neighbours=tuple(
            Neighbour(one["fact_id"], one["similarity"], one["via"], one["revision"], _now(facts, one["fact_id"]))
            for one in value.get("neighbours") or ()
        ),
        judges=tuple(_asked(one) for one in value.get("judges") or ()),
        event_key=value.get("event_key") or "",
        policy=value.get("policy") or "",
        embedder=value.get("embedder") or "",
        source=value.get("source") or "",
    )


def _compared(text: str, matched: str | None, *, replaces: bool) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return both texts with their differences; unmarked where two that merely stand side by side have little in common."""
    if matched is None:
        return ((Piece(text, False),) if text else (), ())
    said, known = diff(text, matched)
    same = sum(len(piece.text.strip()) for piece in said if not piece.differs)
    if not replaces and same < _WORTH_MARKING * max(len(text), len(matched)):
        return (Piece(text, False),), (Piece(matched, False),)
    return said, known


def _known_label(kind: str, value: Mapping[str, Any]) -> str:
    if kind == "supersede":
        return "Known until then"
    if kind in ("update", "merge"):
        return "Known before"
    return "Known already" if kind == "skip" else "Nearest that is known"


def _now(facts: Mapping[str, Fact] | None, fact_id: str) -> str:
    fact = (facts or {}).get(fact_id)
    return "" if fact is None else visible(fact.text)


def _can_be_undone(kind: str, value: Mapping[str, Any]) -> bool:
    if value.get("reason") == "erased" or value.get("namespace") is None:
        return False
    return kind in telling.KINDS or (kind not in ("erase", "refused") and value.get("outcome") == "applied")


def _asked(note: Mapping[str, Any]) -> Asked:
    confidence = note.get("confidence")
    return Asked(
        judge=visible(str(note["judge"])),
        model=visible(str(note.get("model") or "")),
        purpose="confirm a skip" if note.get("asked") == "confirm" else "choose",
        choice=str(note.get("choice") or visible(f"no answer: {note.get('failure') or 'unusable'}")),
        reason=visible(str(note.get("reason") or "")),
        confidence="" if confidence is None else f"{confidence:.2f}",
        cost=telling.cost_words(telling.cost_of([{"judges": [note]}])),
    )


def changes(value: Mapping[str, Any]) -> tuple[Changed, ...]:
    """Return what a command changed, or would."""
    return tuple(
        Changed(
            telling.change_word(one),
            visible(one["fact"]["text"]),
            one["fact"]["fact_id"],
        )
        for one in value.get("changes") or ()
    )


def era(row: Fact, asked_id: str) -> Era:
    """Return a row of a timeline."""
    return Era(
        text=visible(row.text),
        since=moment(row.valid_from),
        until=None if row.valid_to >= FOREVER else moment(row.valid_to),
        how=how(row),
        stated=row.stated_count,
        fact_id=row.fact_id,
        is_current=row.status.value == "current",
        is_asked=row.fact_id == asked_id,
        status=row.status.value,
        revision=row.revision,
        recorded=moment(row.recorded_at),
        retired=None if row.retired_at >= FOREVER else moment(row.retired_at),
    )


def chapters(steps: Sequence[Step]) -> tuple[Chapter, ...]:
    """Return the steps of a story, each with what it says set against what it replaced."""
    return tuple(_chapter(step) for step in steps)


def _chapter(step: Step) -> Chapter:
    now = visible(step.wording or step.said)
    said_pieces: tuple[Piece, ...] = (Piece(visible(step.said), False),) if step.said else ()
    wording: tuple[Piece, ...] = (Piece(now, False),) if step.wording else ()
    replaced = []
    for one in step.replaced:
        ours, theirs = diff(now, visible(one.text))
        replaced.append((one.fact_id, theirs))
        if len(step.replaced) == 1:
            said_pieces, wording = (said_pieces, ours) if step.wording else (ours, wording)
    return Chapter(
        card=card(step.value),
        verb=step.verb,
        said=step.said,
        wording=wording,
        replaced=tuple(replaced),
        said_pieces=said_pieces,
        direct=step.direct,
        cost=telling.cost_words(step.cost),
    )


def story_cost(cost: Cost) -> str:
    """Return what a whole story cost, in words."""
    words = telling.cost_words(cost)
    calls = {0: "no language model was asked", 1: "one question to a language model"}.get(
        cost.model_calls, f"{cost.model_calls} questions to language models"
    )
    return f"{calls}; judging took {words}" if words else calls
