"""Rewordings that add words and no content, and edits that look like them."""

from datetime import UTC, datetime

import pytest
from guard_helpers import against, kinds

SAME = [
    # what a neighbour says already
    ("She is singing at the fair.", "She is singing a song at the fair."),
    ("The porter wears a green coat.", "The porter wears a green coloured coat."),
    ("The trunk weighs 12 kilograms.", "The trunk weighs 12 kilograms in weight."),
    ("The clerk in grey is waiting outside.", "The clerk dressed in grey is waiting outside."),
    ("A young woman is waving.", "A woman of young age is waving."),
    ("They met at a shed for tools.", "They met at a shed built for tools."),
    ("A lone rower is crossing the lake.", "A rower is crossing the lake, alone."),
    ("The hens are kept in the backyard.", "The hens are kept in the back yard."),
    ("Otto's mare needs a pill every evening.", "Each evening a pill has to be given to Otto's mare."),
    # how many are named
    ("A pair of mules pull the cart.", "Two mules pull the cart."),
    ("A nurse and a doctor are on duty tonight.", "Two persons are on duty tonight."),
    # abbreviations
    ("The lab works on NLP for clinics.", "The lab works on Natural Language Processing for clinics."),
    # voice, compounds, names of things
    ("The archive in Harbour Point is a hall with shelves.", "The Harbour Point archive is a hall with shelves."),
    ("Rapid is a cargo handling system.", "Rapid is a system for handling cargo."),
    (
        "Use the dial to get the present level of water in the tank.",
        "The tank's present level of water can be obtained by using the dial.",
    ),
    ("A father is carrying his daughter over the ford.", "A daughter is being carried by her father over the ford."),
    ("A fence was leapt by the horse.", "The horse leapt a fence."),
    # denials in other words
    ("Run it this way to not create copies.", "Run it this way to avoid creating copies."),
    ("If there's no seal, the box is opened.", "In the absence of a seal, the box is opened."),
    # `if` and `want` that condition and plan nothing
    ("Pull the cord to check if the lamp works.", "Pull the cord to check that the lamp works."),
    ("Pick the plots you want to rent.", "Pick the plots to rent."),
    ("The kit has small parts (e.g. a screw).", "The kit has small parts such as a screw."),
]


@pytest.mark.parametrize(("stored", "candidate"), SAME)
def test_words_without_content_do_not_hold_a_repeat_back(stored: str, candidate: str) -> None:
    """Each kind of empty addition is seen through."""
    assert against(stored, candidate).clear, against(stored, candidate)


OTHER = [
    ("The porter wears a green coat.", "The porter wears a green lined coat."),
    ("She is teaching at the fair.", "She is teaching teachers at the fair."),
    ("Norling's billing address is 4 Quay Street.", "Norling's delivery address is 4 Quay Street."),
    ("A pair of mules pull the cart.", "Three mules pull the cart."),
    ("A nurse and a doctor are on duty tonight.", "Three persons are on duty tonight."),
    ("The lab works on NLP for clinics.", "The lab works on New Laser Printing for schools."),
    ("The lab works on NLP for clinics.", "The lab works on natural gas processing for clinics."),
    ("The guests check out.", "The guests check out if it rains."),
    ("The cook is slicing a leek.", "The person is carefully slicing a leek."),
    ("A boy is hopping off a crate.", "A boy is hopping onto a crate."),
    ("The diver is taking coins from water.", "The diver is dropping coins into water."),
    ("The nurse is lifting up a young seal.", "The seal is lifting up the nurse."),
    ("The draft survives a restart of the mail client.", "The draft is lost whenever the mail client restarts."),
    ("The hall was for Anna.", "The hall was built for Anna."),
    ("Use the old gate.", "Avoid the old gate."),
    ("Anton wants to rent a plot.", "Anton rents a plot."),
    ("Anna hired Bela Kiss.", "Bela Kiss hired Anna."),
    ("A father is carrying his daughter.", "A father is carrying her daughter."),
    ("The session ticket survives a reset of the gate.", "The session ticket expires at each reset of the gate."),
]


@pytest.mark.parametrize(("stored", "candidate"), OTHER)
def test_what_looks_like_an_empty_word_may_be_none(stored: str, candidate: str) -> None:
    """The same forms with content in them are held back."""
    assert not against(stored, candidate).clear


def test_a_time_stands_in_the_middle_of_japanese_text() -> None:
    """Two in the afternoon is 14 hours where letters follow without a space; three is another time."""
    stored = "受付の開始は午後2時です。"
    assert against(stored, "受付の開始は14時です。").clear
    assert "time" in kinds(against(stored, "受付の開始は15時です。"))
    assert not against(stored, "受付の開始は2時です。", at=datetime(2025, 5, 6, tzinfo=UTC)).clear
