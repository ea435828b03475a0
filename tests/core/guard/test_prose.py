"""Rewordings of plain technical prose: synonyms, idioms, counts, names with their place, containers; and what only looks like them."""

import pytest
from guard_helpers import against, kinds

SAME = [
    # verbs and nouns that say the same
    ("The tool converts the sketch to a mould.", "The tool transforms the sketch into a mould."),
    ("The gauge keeps its log in a folder.", "The gauge keeps its log in a directory."),
    ("You can save the plan on the stick.", "You can store the plan on the stick."),
    ("The label specifies which crate goes first.", "The label indicates which crate goes first."),
    # adverbs by their adjectives, qualities by theirs
    ("The valve was correctly closed.", "The valve was properly closed."),
    ("The council agrees on the importance of trees.", "The council agrees on the crucial role of trees."),
    # the words for `only`, and `only` where it bounds nothing
    ("You only need a wrench.", "A wrench is all that is required."),
    ("Print the whole map instead of only its legend.", "Print the whole map rather than just its legend."),
    (
        "Built like this, pumping all day only uses a small amount of oil.",
        "Built like this, you can pump all day with only a small amount of oil.",
    ),
    # an offer that is no guess
    ("You can read chapter five.", "You may want to read chapter five."),
    # none, zero, without
    ("The run ended with no errors.", "The run ended with zero errors."),
    ("The run ended with zero errors.", "The run ended with no errors."),
    ("The pan is zero-waste.", "The pan is made without waste."),
    # what is there
    ("Page 7 does not exist in the second print.", "Page 7 is not available in the second print."),
    ("Page 7 is available in the second print.", "Page 7 exists in the second print."),
    # how many are listed
    ("The switches are `a_1`, `b_2` and `c_3`.", "There are three switches: `a_1`, `b_2` and `c_3`."),
    # names with the place they are in
    ("Call crane.Hook to lift it.", "Call the Hook of the crane to lift it."),
    ("The yard.lift_all call moves crates.", "The lift_all call of the yard moves crates."),
    # containers
    ("Peru contains Lima.", "Lima is in Peru."),
    ("The archive holds Nora's letters.", "Nora's letters are in the archive."),
    # means
    (
        "The `lift_all` lever is used to make a new bale from straw.",
        "Straw can be used to produce a new bale via the `lift_all` lever.",
    ),
    # clippings said twice
    ("Each config names the values of a configuration.", "Each config names the values of a config."),
    # holding on, and the ways to say whom something is meant for
    (
        "The coach urges Ola to keep rowing, assuring her she'll win her race.",
        "The coach urges Ola to keep rowing for her race and not give up.",
    ),
    ("Dana is kind to her pupils.", "Dana is kind towards her pupils."),
    ("The boat sails to the shore.", "The boat sails towards the shore."),
    # avoided either way
    ("It saves time by avoiding a re-run.", "It saves time by preventing a re-run."),
]


@pytest.mark.parametrize(("stored", "candidate"), SAME)
def test_plain_prose_in_other_words_is_no_news(stored: str, candidate: str) -> None:
    """Each kind of rewording is seen through."""
    assert against(stored, candidate).clear, against(stored, candidate)


OTHER = [
    ("The tool converts the sketch to a mould.", "The tool attaches the sketch to a mould."),
    ("The gauge keeps its log in a folder.", "The gauge keeps its log in a database."),
    ("The shop uses Postgres and Redis.", "The shop moved off Redis."),
    ("The valve was partly closed.", "The valve was properly closed."),
    ("You need a wrench.", "A wrench is all that is required."),
    ("The pump uses a small amount of oil.", "The pump runs with only a small amount of oil."),
    ("He can read chapter five.", "He may want to read chapter five."),
    ("The run ended with zero errors.", "The run ended with errors."),
    ("The run ended with errors.", "The run ended with 0 errors."),
    ("The run ended with 0 errors.", "The run ended with 4 errors."),
    ("The pan is zero-waste.", "The pan is made of waste."),
    ("Page 7 is not available in the second print.", "Page 7 does not exist in the second print."),
    ("Page 7 exists in the second print.", "Page 7 is available in the second print."),
    ("Page 7 does not exist in the second print.", "Page 7 is available in the second print."),
    ("The switches are `a_1`, `b_2` and `c_3`.", "There are four switches: `a_1`, `b_2` and `c_3`."),
    ("The switches are `a_1`, `b_2` and `c_3`.", "There are two switches: `a_1` and `b_2`."),
    ("The yard.lift_all call moves crates.", "The lift_all call of the dock moves crates."),
    ("Call crane.Hook to lift it.", "Call crane.Claw to lift it."),
    ("The key contains the box.", "The key is in the box."),
    ("Lima contains Peru.", "Lima is in Peru."),
    ("The rope is used to lift the bale.", "The bale is used to lift the rope."),
    ("The bill from Tarvik is unpaid.", "The bill from Tarvik has been settled."),
    ("The invoice was sent by Ida.", "The bill was paid by Ida."),
    ("A blond boy is riding down a hill and waving.", "A boy with dark hair is riding down a hill and waving."),
    ("Nora gave up the flat.", "Nora did not give up the flat."),
    ("Nora did not give up.", "Nora gave up."),
    ("Nora keeps training.", "Nora keeps training and does not give up."),
    ("The boat sails from the shore.", "The boat sails towards the shore."),
    ("The boat sails along the shore.", "The boat sails towards the shore."),
    ("Ada is riding a water scooter.", "Ada is riding a scooter towards the water."),
    ("It removes the need for a key.", "It needs a key."),
]


@pytest.mark.parametrize(("stored", "candidate"), OTHER)
def test_what_looks_like_plain_prose_in_other_words(stored: str, candidate: str) -> None:
    """The same forms with another meaning are held back."""
    assert not against(stored, candidate).clear


def test_a_zero_denies_what_it_counts_only() -> None:
    """A zero that is a measure or a code is a number like any other."""
    assert against("The exit code is 0.", "The exit code is zero.").clear
    assert kinds(against("The water is at 0 °C.", "The water is at 4 °C.")) == {"number"}
