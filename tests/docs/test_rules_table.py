"""The rules' table in ARCHITECTURE.md is the one that the rules give."""

from pathlib import Path

from factsieve.core.decide import RULES
from factsieve.core.decide_docs import render

ARCHITECTURE = Path(__file__).parents[2] / "ARCHITECTURE.md"


def test_table_is_generated() -> None:
    """Change a rule, and run `python -m factsieve.core.decide_docs`."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    table = text.split("<!-- rules: begin -->\n")[1].split("\n<!-- rules: end -->")[0]
    assert table == render()


def test_every_rule_says_what_it_does() -> None:
    """The first line of a rule's docstring is its row."""
    assert all((rule.__doc__ or "").strip() for rule in RULES)
    assert RULES[-1].__name__ == "below"
