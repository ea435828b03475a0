"""What people read: the summary line in every wording, decisions in one line."""

import io

import pytest
from rich.console import Console

from factsieve.cli.render import decision_line, summary, why


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({"add": 1, "supersede": 1, "update": 1, "skip": 1}, "Remembered. (2 new, 1 updated, 1 already known)"),
        ({"merge": 2, "update": 1}, "Remembered. (3 updated)"),
        ({"skip": 1}, "Already known."),
        ({"skip": 2}, "Remembered. (2 already known)"),
        ({"add": 1}, "Remembered. (1 new)"),
        ({"add": 1500, "refused": 1}, "Remembered. (1,500 new, 1 refused)"),
        ({"skip": 1, "refused": 1}, "Remembered. (1 already known, 1 refused)"),
        ({"refused": 2}, "Nothing remembered. (2 refused)"),
        ({}, "Nothing remembered. (no statement)"),
    ],
)
def test_the_summary_line(counts: dict[str, int], line: str) -> None:
    """New is add and supersede, updated is update and merge, a single repeat is said plainly, refusals are never hidden."""
    assert summary(counts) == line


def test_a_statement_can_not_smuggle_markup_into_the_terminal() -> None:
    """Square brackets of a text are shown as they are."""
    out = io.StringIO()
    decision = {
        "decision": "add",
        "reason": "new",
        "text": "[red]fire[/red] [link=x]y[/link]",
        "dedup_signal": {"is_update": False, "max_sim": 0.0, "matched_id": None},
    }
    Console(file=out, width=200).print(decision_line(decision))
    assert "[red]fire[/red] [link=x]y[/link]" in out.getvalue()


def test_a_reject_says_its_code_and_its_message() -> None:
    """A refused statement is explained by the error that the worker gave."""
    reject = {"decision": None, "event_id": "e", "error": {"code": "empty_text", "message": "text is empty"}}
    assert why(reject) == "empty_text: text is empty"
    assert decision_line(reject).startswith("[red]refused")
