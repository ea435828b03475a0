"""A fact's story on a terminal: who said it, what it replaced, who decided and at what cost; markup in facts is text."""

import io

from rich.console import Console

from factsieve.cli.story import cost_line, steps_table
from factsieve.core.facts import Kind
from tests.engine.harness import World, always
from tests.engine.test_commands import WIDE
from tests.operations.test_story import NEW, OLD, replaced, told


def printed(world: World, text: str) -> tuple[str, str]:
    """Return the story of the current fact that says this, and its last line."""
    [fact] = [fact for fact in world.current() if fact.text == text]
    story = told(world, fact.fact_id)
    console = Console(file=io.StringIO(), width=120, highlight=False)
    console.print(steps_table(story))
    return " ".join(console.file.getvalue().split()), cost_line(story)  # type: ignore[attr-defined]


def test_a_story_reads_as_it_happened() -> None:
    """Each step with its speaker, its words, what it replaced and who decided; the cost in the end."""
    said, cost = printed(replaced(), NEW)
    places = [
        said.index(part)
        for part in (
            "2026-03-01 12:00 stated for the first time, remembered on request by test in session s-1",
            f"{OLD} decided by nothing to compare with: Nothing was known here yet.",
            f"took the place of what was there, remembered on request by test {NEW} in place of: {OLD}",
            "decided by language model scripted (m-2) in 40 ms, 300 + 9 tokens: It takes the place of what was known.",
        )
    ]
    assert places == sorted(places)
    assert cost == "A language model was asked once; judging took 40 ms, 300 + 9 tokens."


def test_markup_of_the_terminal_in_facts_is_text() -> None:
    """Square brackets mean nothing here."""
    world = World(always(Kind.ADD), policy=WIDE)
    evil = "[red]the harbour[/red] [link=http://x]api[/link]"
    world.run([world.record(evil, 0)])
    said, cost = printed(world, evil)
    assert evil in said
    assert cost == "No language model was asked."
