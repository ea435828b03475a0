"""Negation, opposites, roles, quantity, modality, tense, names and rewording."""

import pytest
from guard_helpers import against, kinds

SAME = [
    ("Don't park in the yard.", "Do not park in the yard."),
    ("Don't park in the yard.", "Don’t park in the yard"),
    ("DON'T PARK IN THE YARD", "  don't  park in the yard !"),
    ("The archive is closed on Sundays.", "The archive is not open on Sundays."),
    ("Alina wrote the report.", "The report was written by Alina."),
    ("The cook feeds the cat every evening.", "Each evening the cook feeds the cat."),
    ("Rosa is taller than Pavel.", "Pavel is shorter than Rosa."),
    ("The guard leaves before the cook.", "The cook leaves after the guard."),
    ("The box contains pears, plums and figs.", "The box contains figs, plums and pears."),
    ("Setup needs a Wi-Fi key.", "Setup needs a WiFi key."),
    ("She bought a sofa.", "She purchased a couch."),
    ("The colour of the door is grey.", "The color of the door is gray."),
    ("He must sign the form.", "He has to sign the form."),
]


@pytest.mark.parametrize(("stored", "candidate"), SAME)
def test_rewording_is_clear(stored: str, candidate: str) -> None:
    """Contractions, case, quotes, voice, order of phrases, synonyms and turned relations say the same."""
    assert against(stored, candidate).clear, against(stored, candidate)


OTHER = [
    ("Visitors may smoke here.", "Visitors may not smoke here.", "negation"),
    ("The plant runs at night.", "The plant no longer runs at night.", "negation"),
    ("Ada eats fish.", "Ada never eats fish.", "negation"),
    ("The gate opens without a card.", "The gate opens with a card.", "negation"),
    ("She wants tea rather than coffee.", "She wants coffee rather than tea.", "negation"),
    ("The valve is locked.", "The valve is unlocked.", "antonym"),
    ("The cache is enabled.", "The cache is disabled.", "antonym"),
    ("Otto likes rain.", "Otto dislikes rain.", "antonym"),
    ("Sign before the delivery.", "Sign after the delivery.", "antonym"),
    ("Vera reports to Milan.", "Milan reports to Vera.", "role_order"),
    ("The dog is chasing the cat.", "The cat is chasing the dog.", "role_order"),
    ("A train goes from Lviv to Brno.", "A train goes from Brno to Lviv.", "role_order"),
    ("All doors are steel.", "Some doors are steel.", "quantifier"),
    ("Only staff may enter.", "Staff may enter.", "quantifier"),
    ("Cool it for at least 6 hours.", "Cool it for at most 6 hours.", "quantifier"),
    ("We might rent a van.", "We have rented a van.", "modality"),
    ("Guests must register.", "Guests may register.", "modality"),
    ("The shop was in Graz.", "The shop is in Graz.", "tense"),
    ("The tram runs daily.", "Does the tram run daily?", "question"),
    ("The bonus is paid in May.", "If sales grow, the bonus is paid in May.", "hedge"),
    ("Her aunt lives in Graz.", "Her aunt lives in Linz.", "entity"),
    ("His room faces the yard.", "Her room faces the yard.", "entity"),
    ("The budget sits with catering.", "The budget sits with transport.", "substitution"),
    ("The order number is spelled Vandermeer.", "The order number is spelled Vandermer.", "entity"),
]


@pytest.mark.parametrize(("stored", "candidate", "kind"), OTHER)
def test_another_statement_fires(stored: str, candidate: str, kind: str) -> None:
    """Each way to say something else is found, under its own kind, whichever of the two is stored."""
    assert kind in kinds(against(stored, candidate)), against(stored, candidate)
    back = against(candidate, stored)
    assert not back.clear, back


def test_known_means_nothing_new() -> None:
    """A clause, object or reason that the stored fact lacks is novelty; the fuller text stored makes the shorter one known."""
    fuller = "The spare key hangs behind the boiler, wrapped in an oily cloth."
    short = "The spare key hangs behind the boiler."
    assert against(short, fuller).novelty
    assert against(fuller, short).clear
    assert against(fuller, short).missing
    assert against("Pavel eats pears.", "Pavel eats pears and plums.").novelty


def test_more_general_is_known_and_more_specific_is_new() -> None:
    """A dog that runs is an animal that runs, not the other way round."""
    assert against("A dog is running through the park.", "An animal is running through the park.").clear
    assert not against("An animal is running through the park.", "A dog is running through the park.").clear


def test_not_only_denies_nothing() -> None:
    """`not only` adds, it does not deny: there is novelty, and no negation."""
    comparison = against(
        "The Ghent depot handles returns.", "Not only the Ghent depot but also the Lille depot handles returns."
    )
    assert "negation" not in kinds(comparison)
    assert comparison.novelty


def test_one_swapped_word_counts_where_all_else_is_equal() -> None:
    """A long sentence with one other content word is another statement."""
    stored = "Guests with a silver card may bring one friend into the lounge before domestic flights if both check in together."
    assert not against(stored, stored.replace("domestic", "international")).clear
    assert not against(stored, stored.replace("lounge", "cockpit")).clear


def test_same_subject_survives_another_value() -> None:
    """Subject and attribute are the same although the value is another one; an unrelated text shares neither."""
    assert against("Her locker number is 418.", "Her locker number is 481.").same_subject
    assert against(
        "The cache service is owned by the maps team.", "The cache service is owned by the routing team."
    ).same_subject
    assert not against("Her locker number is 418.", "The ferry to Rhodes sails at dawn.").same_subject
    assert not against("Gate K4 is closed for repair.", "Gate K14 is closed for repair.").same_subject
    assert not against("Pier Graz opens at nine on Sundays.", "Pier Linz opens at ten on Sundays.").same_subject


def test_conflict_is_empty_for_text_that_adds() -> None:
    """What only adds does not exclude."""
    assert against("Pavel eats pears.", "Pavel eats pears and plums.").conflict == ()


@pytest.mark.parametrize(
    ("stored", "candidate"),
    [("()", "[]"), ("I can.", "I have."), ("", "x"), ("いかが好き", "たこが好き"), ("---", "***")],
)
def test_texts_without_content_are_never_clear_unless_equal(stored: str, candidate: str) -> None:
    """Where there is nothing to align, only equality clears."""
    assert not against(stored, candidate).clear
    assert not against(candidate, stored).clear
    assert against(stored, stored).clear
