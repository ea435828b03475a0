"""Program code, markup and queries: every sign counts."""

import pytest
from guard_helpers import against, kinds

OTHER = [
    ("2'; DELETE FROM notes-- 2", "2;DELETE FROM notes"),
    ("<b onclick=go(7)>x</b>", "<b onclick=go(7);>x</b>"),
    ("<A HREF=run:go(7)>", "<A HREF=rUn:gO(7)>"),
    ("SELECT name FROM crew WHERE age >= 30;", "SELECT name FROM crew WHERE age > 30;"),
    ("if (a && b) { stop(); }", "if (a || b) { stop(); }"),
    ("rm -rf build/ && make all", "rm -rf build/ || make all"),
    ('Shell.run("ls /srv")', 'Shell.run("ls /srv/")'),
    ("<i>late</i>", "late"),
]


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_code_that_differs_in_a_sign_is_other_code(one: str, other: str) -> None:
    """Whichever is stored, the other is held back."""
    assert "symbol" in kinds(against(one, other))
    assert not against(other, one).clear


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT name FROM crew WHERE age>=30;", "SELECT name  FROM crew WHERE age >= 30;"),
        ("if (a && b) {stop();}", "if (a && b) { stop(); }"),
    ],
)
def test_spacing_of_code_carries_nothing(one: str, other: str) -> None:
    """The same tokens are the same code."""
    assert against(one, other).clear


@pytest.mark.parametrize(
    ("stored", "candidate"),
    [
        ("The crew list is sorted; the ship's log is not.", "The ship's log is not sorted; the crew list is."),
        (
            "You can list the crew with the `crew.list()` call of the module.",
            "The `crew.list()` call of the module can be used to list the crew.",
        ),
    ],
)
def test_prose_is_no_code(stored: str, candidate: str) -> None:
    """Semicolons and quoted calls do not make prose code."""
    assert "symbol" not in kinds(against(stored, candidate))
