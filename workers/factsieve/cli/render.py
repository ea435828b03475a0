"""What people read: the summary line, a decision in a line, tables, and times."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from factsieve.core.facts import FOREVER, Fact, Kind

STYLE: Final = {
    "add": "green",
    "update": "cyan",
    "merge": "cyan",
    "supersede": "yellow",
    "skip": "bright_black",
    "refused": "red",
    "revert": "magenta",
    "retract": "magenta",
    "review": "magenta",
    "erase": "magenta",
}
FEW: Final = 12
"""Up to so many decisions are printed one by one."""
MAX_FINDINGS: Final = 2


def out() -> Console:
    """Return the console for results: as wide as the terminal, or 120 columns where there is none to ask."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=120)


def err() -> Console:
    """Return the console for progress and complaints."""
    return Console(stderr=True, highlight=False)


def summary(counts: Mapping[str, int]) -> str:
    """Return the line that ends `remember` and `demo`; `counts` by decision, `refused` for what was not taken.

    New is what was added or superseded something, updated what was updated or merged, already known what was skipped.
    """
    new = counts.get(Kind.ADD, 0) + counts.get(Kind.SUPERSEDE, 0)
    updated = counts.get(Kind.UPDATE, 0) + counts.get(Kind.MERGE, 0)
    known, refused = counts.get(Kind.SKIP, 0), counts.get("refused", 0)
    if (new, updated, known, refused) == (0, 0, 1, 0):
        return "Already known."
    parts = [(new, "new"), (updated, "updated"), (known, "already known"), (refused, "refused")]
    said = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    if not new + updated + known:
        return f"Nothing remembered. ({said or 'no statement'})"
    return f"Remembered. ({said})"


def count(decisions: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Return how many decisions there are of each kind, rejects as `refused`."""
    return Counter(kind_of(decision) for decision in decisions)


def kind_of(decision: Mapping[str, Any]) -> str:
    """Return a decision's kind, a command's for its outcome, `refused` for a reject."""
    return decision.get("decision") or decision.get("command") or "refused"


def why(decision: Mapping[str, Any]) -> str:
    """Return in a few words why it was decided so, as plain text."""
    if decision.get("command") is not None:
        return f"{decision.get('outcome')}: {decision.get('reason')}"
    if decision.get("decision") is None:
        error = decision.get("error") or {}
        return f"{error.get('code', 'refused')}: {error.get('message', '')}"
    said = [str(decision.get("reason", ""))]
    similarity = (decision.get("dedup_signal") or {}).get("max_sim", 0.0)
    if decision.get("matched_text") not in (None, decision.get("text")):
        said.append(f"similarity {similarity:.2f}")
    said += [difference(one) for one in (decision.get("findings") or ())[:MAX_FINDINGS]]
    said += [f"{one['judge']} says {one['choice']}" for one in (decision.get("judges") or ())[-1:] if one.get("choice")]
    if decision.get("review"):
        said.append(f"for review ({decision['review']})")
    return "; ".join(said)


def difference(finding: Mapping[str, str]) -> str:
    """Return a guard finding in a few words: its kind, what the candidate says, what the stored fact says."""
    sides = [finding["ours"], finding["theirs"]]
    said = " / ".join(sides) if all(sides) else sides[0] or f"without {sides[1]}"
    return f"{finding['kind'].replace('_', ' ')}: {said}"


def decision_line(decision: Mapping[str, Any]) -> str:
    """Return a decision as one line with markup: what, which statement, against which, why."""
    kind = kind_of(decision)
    text = decision.get("text")
    if not isinstance(text, str) or not text.strip():
        text = f"({decision.get('event_id')})"
    matched = decision.get("matched_text")
    against = ""
    if matched and matched != text and kind != Kind.ADD:
        against = f" [dim]<- {escape(matched)}[/dim]"
    return f"[{STYLE[kind]}]{kind:9}[/] {escape(str(text))}{against} [dim]({escape(why(decision))})[/dim]"


def when(at: datetime) -> str:
    """Return an instant for people, in UTC; the open end as a dash."""
    if at >= FOREVER:
        return "-"
    at = at.astimezone(UTC)
    return f"{at:%Y-%m-%d %H:%M}" if at.second == 0 and at.microsecond == 0 else f"{at:%Y-%m-%d %H:%M:%S}"


def facts_table(
    facts: Iterable[Fact], *, show_namespace: bool, show_validity: bool, similarities: Mapping[str, float]
) -> Table:
    """Return facts as a table; `similarities` by fact id adds a column where it is not empty."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    if similarities:
        table.add_column("similarity", justify="right", no_wrap=True)
    if show_namespace:
        table.add_column("namespace", overflow="fold")
    table.add_column("statement", overflow="fold", ratio=1)
    table.add_column("since", no_wrap=True)
    if show_validity:
        table.add_column("until", no_wrap=True)
        table.add_column("status", no_wrap=True)
    table.add_column("stated", justify="right", no_wrap=True)
    table.add_column("fact id", no_wrap=True)
    for fact in facts:
        row = [f"{similarities[fact.fact_id]:.3f}"] if similarities else []
        row += [escape(fact.namespace)] if show_namespace else []
        mark = " [yellow](review)[/yellow]" if fact.review else ""
        slot = f" [dim]\\[{escape(fact.slot)}][/dim]" if fact.slot else ""
        row += [escape(fact.text) + slot + mark, when(fact.valid_from)]
        row += [when(fact.valid_to), fact.status.value] if show_validity else []
        row += [f"{fact.stated_count}x", fact.fact_id]
        table.add_row(*row)
    return table
