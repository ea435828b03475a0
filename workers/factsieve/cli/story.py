"""A fact's history for people: what happened, what was held true when, and what was believed when."""

from collections.abc import Iterable, Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from factsieve.cli.render import when
from factsieve.core import timeline
from factsieve.core.facts import FOREVER, Fact, Status
from factsieve.core.story import Step, Story, how
from factsieve.core.telling import cost_words, review_words
from factsieve.wire.times import parse_rfc3339

_BELIEVED = (Status.CURRENT, Status.PAST)


def chain_of(fact: Fact, rows: Sequence[Fact]) -> list[Fact]:
    """Return what is believed about the same thing (by succession, slot or revision), in order of time."""
    return timeline.chain_of(fact, [row for row in rows if row.namespace == fact.namespace])


def longest_chain(rows: Sequence[Fact]) -> list[Fact]:
    """Return the chain that has most to tell: different statements first, then its length. Empty if nothing was ever replaced."""
    best: list[Fact] = []
    seen: set[str] = set()
    for fact in rows:
        if fact.status is not Status.CURRENT or fact.point_id in seen or not (fact.supersedes or fact.revision > 1):
            continue
        chain = chain_of(fact, rows)
        seen.update(row.point_id for row in chain)
        if _wealth(chain) > _wealth(best):
            best = chain
    return best


def _wealth(chain: Sequence[Fact]) -> tuple[bool, int, int]:
    texts = [row.text for row in chain]
    returns = any(text in texts[: index - 1] for index, text in enumerate(texts) if index > 1)
    return (returns and any(row.history for row in chain), len(set(texts)), len(texts))


def timeline_table(chain: Iterable[Fact]) -> Table:
    """Return what was true when, oldest first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("true from", no_wrap=True)
    table.add_column("until", no_wrap=True)
    table.add_column("statement", overflow="fold")
    table.add_column("stated", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for row in chain:
        style = "" if row.status is Status.CURRENT else "dim"
        until = "today" if row.valid_to >= FOREVER else when(row.valid_to)
        table.add_row(when(row.valid_from), until, escape(row.text), f"{row.stated_count}x", how(row), style=style)
    return table


def steps_table(story: Story) -> Table:
    """Return what happened, oldest first: who said it, what it replaced, who decided and what that cost."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for step in story.steps:
        table.add_row(when(parse_rfc3339(step.value["occurred_at"])), "\n".join(_step_lines(step)))
    return table


def _step_lines(step: Step) -> Iterator[str]:
    yield f"[bold]{escape(step.verb)}[/bold][dim], {escape(step.by)}[/dim]"
    if step.said:
        yield escape(step.said)
    if step.wording:
        yield f"reads since: {escape(step.wording)}"
    for one in step.replaced:
        yield f"[dim]in place of:[/dim] {escape(one.text)}"
    cost = cost_words(step.cost)
    decided = f"decided by {step.decided_by}" + (f" in {cost}" if cost else "")
    yield f"[dim]{escape(decided)}: {escape(step.why)}[/dim]"
    if step.value.get("review"):
        yield f"[yellow]for review: {escape(review_words(str(step.value['review'])))}[/yellow]"


def cost_line(story: Story) -> str:
    """Return what all its decisions cost, in a sentence."""
    calls, said = story.cost.model_calls, cost_words(story.cost)
    asked = {0: "No language model was asked", 1: "A language model was asked once"}.get(
        calls, f"Language models were asked {calls} times"
    )
    return f"{asked}; judging took {said}." if said else f"{asked}."


def beliefs_table(rows: Iterable[Fact]) -> Table:
    """Return every row of one fact in the order in which it was believed: revisions, validity and system time."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("recorded", "believed until", "rev.", "status", "true from", "until"):
        table.add_column(name, no_wrap=True)
    table.add_column("statement", overflow="fold")
    for row in rows:
        table.add_row(
            when(row.recorded_at),
            when(row.retired_at),
            str(row.revision),
            row.status.value,
            when(row.valid_from),
            when(row.valid_to),
            escape(row.text),
            style="" if row.status in _BELIEVED else "dim",
        )
    return table
