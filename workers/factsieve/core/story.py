"""A fact's story: who said it, when, what it replaced, which judge or model decided, and what that cost."""

from collections.abc import Iterable, Sequence, Set

import msgspec

from factsieve.core import telling
from factsieve.core.facts import Fact, Status
from factsieve.core.telling import Cost, DecisionValue


class Passage(msgspec.Struct, frozen=True):
    """A statement that a step put out of force, or took up."""

    fact_id: str
    text: str


class Step(msgspec.Struct, frozen=True):
    """One thing that happened, as people read it. `value` is the decision itself.

    `verb` says what happened, `said` what was said then, `wording` what the fact says since, where that is something else, `by` who said
    it, `replaced` what it put out of force. `direct`: it changed or repeated the very fact that is asked about, not a relative of it.
    """

    value: DecisionValue
    verb: str
    said: str
    wording: str | None
    by: str
    replaced: tuple[Passage, ...]
    decided_by: str
    why: str
    cost: Cost
    direct: bool


class Story(msgspec.Struct, frozen=True):
    """All of it: the fact as it stands, its rows as they were recorded, what was true when (`chain`), and what happened (`steps`).

    `shortened`: there are more decisions than were read.
    """

    head: Fact
    rows: tuple[Fact, ...]
    chain: tuple[Fact, ...]
    steps: tuple[Step, ...]
    cost: Cost
    shortened: bool = False


_VERBS = {
    "add": "stated for the first time",
    "skip": "said again",
    "update": "made more precise",
    "supersede": "took the place of what was there",
    "merge": "merged with what was there",
    "revert": "undone",
    "retract": "withdrawn",
    "review": "reviewed",
    "erase": "erased",
}
_VERBS_BY_REASON = {
    "late_history": "told late, filed in the past",
    "late_repeat": "said again, told late",
    "reasserted": "said again, after something that may contradict it",
    "judged_new": "stated beside what is near it",
    "no_answer": "stated, with nobody to judge it",
    "erased": "said, and erased since",
}
_SOURCES = {
    "remember": "remembered on request",
    "stop_hook": "noted at the end of a session",
    "mcp_remember": "remembered through MCP",
    "ingest": "ingested",
    "post_tool_use": "noted from a tool's output",
}


def story_of(
    head: Fact,
    rows: Sequence[Fact],
    chain: Sequence[Fact],
    decisions: Iterable[DecisionValue],
    *,
    shortened: bool = False,
) -> Story:
    """Return the story of a fact. `decisions` are those that touched it or its relatives, in any order, each at most once."""
    ordered = sorted(decisions, key=lambda value: (str(value["decided_at"]), str(value["decision_id"])))
    own = {head.fact_id}
    steps = tuple(_step(value, own) for value in ordered)
    return Story(head, tuple(rows), tuple(chain), steps, telling.cost_of(ordered), shortened)


def touches(value: DecisionValue, fact_ids: Set[str]) -> bool:
    """Return whether a decision made, changed or repeated one of these facts."""
    return any(effect["fact_id"] in fact_ids for effect in value.get("effects") or ())


def _step(value: DecisionValue, own: Set[str]) -> Step:
    kind = telling.kind_of(value)
    said = str(value.get("text") or "")
    changed = [change for change in value.get("changes") or () if change["fact"]["fact_id"] == value.get("fact_id")]
    now = changed[-1]["fact"]["text"] if changed and kind in ("update", "merge") else None
    replaced = tuple(
        Passage(one["fact_id"], one["text"])
        for change in value.get("changes") or ()
        for one in change.get("replaced") or ()
        if one["text"]
    )
    return Step(
        value=value,
        verb=_VERBS_BY_REASON.get(str(value.get("reason"))) or _VERBS.get(kind, kind),
        said=said,
        wording=now if now != said else None,
        by=said_by(value),
        replaced=tuple(dict.fromkeys(replaced)),
        decided_by=telling.who_decided(value),
        why=telling.why(value),
        cost=telling.cost_of([value]),
        direct=touches(value, own),
    )


def said_by(value: DecisionValue) -> str:
    """Return who said it: the kind of service, its own name for itself, and the session."""
    if value.get("command") is not None:
        return f"an operator ({value['ce_source']})" if value.get("ce_source") else "an operator"
    parts = [_SOURCES.get(str(value.get("source")), str(value.get("source") or "somebody"))]
    if value.get("ce_source"):
        parts.append(f"by {value['ce_source']}")
    if value.get("session_id"):
        parts.append(f"in session {value['session_id']}")
    return " ".join(parts)


def how(row: Fact) -> str:
    """Return what a row of a timeline is, in a few words."""
    said = []
    if row.history:
        said.append("told late, filed where it belongs")
    if row.status is Status.CURRENT:
        said.append("current")
    elif row.merged_into:
        said.append("merged into another")
    elif row.superseded_by and not row.history:
        said.append("superseded")
    elif not row.is_head:
        said.append("former wording")
    return ", ".join(said)
