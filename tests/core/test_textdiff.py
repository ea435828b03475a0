"""What differs between two texts: words of any script, nothing lost, nothing cut in two."""

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factsieve.core.textdiff import MAX_COMPARED, diff, words_of


def marked(one: str, other: str) -> tuple[str, str]:
    """Return both texts with brackets around what differs."""
    ours, theirs = diff(one, other)
    return tuple(
        "".join(f"[{piece.text}]" if piece.differs else piece.text for piece in side) for side in (ours, theirs)
    )


@pytest.mark.parametrize(
    ("one", "other", "ours", "theirs"),
    [
        ("listens on port 8081.", "listens on port 8080.", "listens on port [8081].", "listens on port [8080]."),
        ("at 09:30 it costs 8.5", "at 09:45 it costs 8.6", "at [09:30] it costs [8.5]", "at [09:45] it costs [8.6]"),
        ("I don't like it", "I do like it", "I [don't] like it", "I [do] like it"),
        ("a b c", "a c", "a [b] c", "a c"),
        ("one two three", "one four five", "one [two three]", "one [four five]"),
        ("same", "same", "same", "same"),
        ("", "new", "", "[new]"),
        ("会议在周五举行", "会议在周四举行", "会议在周[五]举行", "会议在周[四]举行"),
        ("السعر 300 دينار", "السعر 350 دينار", "السعر [300] دينار", "السعر [350] دينار"),
        ("cafe\u0301 opens", "caf\u00e9 opens", "cafe\u0301 opens", "caf\u00e9 opens"),
        ("ok 👩🏽‍🚀 go", "ok 👩‍🚀 go", "ok [👩🏽‍🚀] go", "ok [👩‍🚀] go"),
        ("flag 🇩🇪🇫🇷", "flag 🇩🇪🇮🇹", "flag 🇩🇪[🇫🇷]", "flag 🇩🇪[🇮🇹]"),
        ("<b>8081</b>", "<b>8080</b>", "<b>[8081]</b>", "<b>[8080]</b>"),
    ],
)
def test_what_differs_is_marked(one: str, other: str, ours: str, theirs: str) -> None:
    """Numbers and words whole, scripts without spaces by character, what is seen as one character never cut."""
    assert marked(one, other) == (ours, theirs)


def test_signs_stay_with_their_letter_in_scripts_without_spaces() -> None:
    """Thai vowel and tone signs are not words of their own; what differs is cut between letters."""
    assert words_of("วันศุกร์") == ["วั", "น", "ศุ", "ก", "ร์"]
    assert marked("วันศุกร์", "วันพุธ") == ("วัน[ศุกร์]", "วัน[พุธ]")


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_pieces_are_the_texts_and_start_with_whole_characters(one: str, other: str) -> None:
    """Joined they are the text again; neighbours alternate; none begins with a combining mark, but for a text that does."""
    for text, pieces in zip((one, other), diff(one, other), strict=True):
        assert "".join(piece.text for piece in pieces) == text
        assert all(a.differs != b.differs for a, b in itertools.pairwise(pieces))
        assert not any(unicodedata.category(piece.text[0]) in ("Mn", "Mc", "Me") for piece in pieces[1:])


@given(st.text(max_size=60))
def test_a_text_does_not_differ_from_itself_in_any_form(text: str) -> None:
    """Not in another normal form either, word by word."""
    assert not any(piece.differs for piece in diff(text, text)[0])
    assert not any(piece.differs for side in diff(unicodedata.normalize("NFC", text), text) for piece in side) or (
        words_of(unicodedata.normalize("NFC", text)) != [unicodedata.normalize("NFC", word) for word in words_of(text)]
    )


def test_long_texts_are_set_apart_at_their_ends_alone() -> None:
    """What is between is one stretch: no quadratic search in a long text."""
    long = " ".join(f"w{n}" for n in range(MAX_COMPARED))
    ours, theirs = diff(f"start {long} end", f"start other {long} more end")
    assert [piece.differs for piece in ours] == [False, True, False]
    assert (theirs[0].text, theirs[-1].text) == ("start ", " end")
