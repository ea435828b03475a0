"""When the rules are less sure that two statements stand side by side, so that somebody else is asked."""

from datetime import UTC, datetime

import pytest

from factsieve.core import memo
from factsieve.core.replace import NliScores, Relation, has_change_words, relate

AT = datetime(2025, 5, 6, 10, tzinfo=UTC)
SURE_TO_ADD = 0.75


def read(stored: str, candidate: str, similarity: float = 0.82, nli: NliScores | None = None):
    return relate(candidate, AT, stored, AT, similarity, False, memo.compare(candidate, AT, stored, AT), nli)


@pytest.mark.parametrize(
    ("stored", "candidate"),
    [
        ("Marit plans to open a shop in Lund.", "Marit has dropped her plan for a shop in Lund and works at home."),
        ("The old cello belongs to Otis now.", "Otis gave the old cello away to the village school."),
        ("Pia is going to sell her boat.", "Pia has decided to keep her boat after all."),
        ("Ruben sits on the parish council.", "Ruben has stepped down from the parish council."),
        (
            "Hall Nord is our biggest store by shelf space.",
            "Since the works, Hall West has more shelf space than Nord.",
        ),
        ("Lena reports directly to Theo Brandt.", "Theo Brandt is Lena's direct manager."),
    ],
)
def test_a_change_or_the_same_two_names_leave_the_rules_unsure(stored: str, candidate: str) -> None:
    """Nobody may answer `add` for sure to one who thought again, was outdone, or is spoken of with the same other one."""
    reading = read(stored, candidate)
    assert reading.relation in (Relation.REPLACES, Relation.CONFLICTS) or reading.sureness < SURE_TO_ADD, reading


def test_other_things_stay_surely_other() -> None:
    """Without words of change two statements of one person about other things stand side by side."""
    reading = read("Marit plays the cello in a quartet.", "Marit teaches rowing at the lake on Sundays.", 0.74)
    assert reading.relation in (Relation.UNRELATED, Relation.BOTH_STAND)
    assert reading.sureness >= SURE_TO_ADD


def test_words_of_change() -> None:
    """Names with an apostrophe stand between the parts of a verb as other words do."""
    assert has_change_words("Otis gave Grandfather's cello away.")
    assert not has_change_words("Otis gave a concert.")


def test_a_numbered_step_reads_one_thing_at_a_time() -> None:
    """Another wording of the same step takes the place of the first."""
    reading = read(
        'Step 4 of the night routine reads "close the vents".', 'Step 4 of the night routine reads "drain the tank".'
    )
    assert reading.relation is Relation.REPLACES


def test_only_a_loud_contradiction_makes_the_rules_doubt() -> None:
    """An NLI model calls most statements that look alike a contradiction: it is heard where both directions are nearly certain."""
    pair = ("Marit plays the cello in a quartet.", "Marit teaches rowing at the lake on Sundays.", 0.74)
    assert read(*pair, nli=NliScores(0.99, 0.99)).sureness >= SURE_TO_ADD
    assert read(*pair, nli=NliScores(0.999, 0.999)).sureness < SURE_TO_ADD
