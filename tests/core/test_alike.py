"""Values written alike, and nothing else changed."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from factsieve.core.alike import LONG, aligned, counted, same_words

AT = datetime(2025, 5, 6, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("candidate", "stored", "expected"),
    [
        ("The job starts at 11:30 p.m. daily.", "The job starts at 23:30 daily.", "The job starts at 23:30 daily."),
        ("24 pupils came.", "Twenty-four pupils came.", "Twenty-four pupils came."),
        ("It holds 2048 MiB.", "It holds 2 GiB.", "It holds 2 GiB."),
    ],
)
def test_an_equal_value_is_written_as_the_stored_text_writes_it(candidate, stored, expected):
    """A model then sees one value, not two spellings."""
    assert aligned(candidate, AT, stored, AT) == expected


def test_another_value_stays_as_it_is():
    """What differs is left for the model to see."""
    assert aligned("It holds 3 GiB.", AT, "It holds 2 GiB.", AT) == "It holds 3 GiB."


@given(st.text(max_size=60))
@example("K<k˒0")
def test_a_text_beside_itself_does_not_change(text):
    """The stored text's own writing is kept."""
    assert aligned(text, AT, text, AT) == text


def test_case_width_and_final_punctuation_are_no_other_words():
    """But another letter, and a question mark, are."""
    assert same_words("OSTREL IS IN ZWOLLE.", "Ostrel is in Zwolle")
    assert same_words("提交日は１５日です。", "提交日は15日です")
    assert not same_words("Is it so?", "It is so")
    assert not same_words("Ostrel is in Zwolle?", "Ostrel is in Zwolle.")


@given(st.floats(0, 1), st.integers(1, 40), st.integers(1, 40))
def test_a_contradiction_counts_in_full_where_one_text_is_short(score, one, other):
    """In long texts it counts less, never below zero, and certainty stays certainty."""
    found = counted(score, "word " * one, "word " * other)
    assert 0 <= found <= score
    assert (found == score) if min(one, other) < LONG or score == 1 else (found < score or score == 0)
