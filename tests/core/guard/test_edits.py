"""Texts that are the same but for one place, and texts that claim more by saying less."""

import pytest
from guard_helpers import against, kinds

HELD = [
    # a comparand or a turning preposition comes or goes
    (
        "The editors of the review can imagine no better referee.",
        "The editors of the review can imagine no better referee than themselves.",
        "direction",
    ),
    (
        "A crew of the harbour fire brigade reached the burning tanker before the storm did.",
        "A crew of the fire brigade from outside the harbour reached the burning tanker before the storm did.",
        "direction",
    ),
    # a preposition for one that puts things elsewhere in time or place
    ("The pumps were switched off during the storm.", "The pumps were switched off before the storm.", "direction"),
    ("Visitors are admitted until noon.", "Visitors are admitted from noon.", "direction"),
    ("We close the books by Friday.", "We close the books after Friday.", "direction"),
    ("The cable runs under the road.", "The cable runs beside the road.", "direction"),
    # a name where the other text has a pronoun that may speak of another
    (
        "After the split, Tarn Labs sold a licence to Tarn and it's expected to grow faster next year.",
        "After the split, Tarn Labs sold a licence to Tarn and Tarn's expected to grow faster next year.",
        "entity",
    ),
    # a word that the text holds elsewhere, but not here
    (
        "The critics compared the young painter's brush to the brush of the cathedral master in their letters.",
        "The critics compared the young painter's brush to the brush of the young painter in their letters.",
        "substitution",
    ),
    # one word swapped in a long text is no rewording
    (
        "After the audit the chair told the treasurer to resign, so that she agreed to deliver a statement to the members.",
        "After the audit the chair told the treasurer to resign, so that she agreed on the shredding of a statement to the members.",
        "novelty",
    ),
]


@pytest.mark.parametrize(("one", "other", "kind"), HELD)
def test_a_small_edit_is_what_the_author_wanted_to_say(one: str, other: str, kind: str) -> None:
    """Whichever of the two is stored, the edit keeps the other from a skip."""
    assert kind in kinds(against(one, other)), against(one, other)
    assert not against(other, one).clear, against(other, one)


MORE = [
    ("The northern reef is facing extinction.", "The northern reef is extinct."),
    ("The pump station runs at low pressure since the repair.", "The pump station runs at pressure since the repair."),
    ("Dario is the former captain of the rowing team.", "Dario is the captain of the rowing team."),
    ("The tenants tried to repair the boiler.", "The tenants repaired the boiler."),
    (
        "The jury compared the film to the work of the late director's assistant.",
        "The jury compared the film to the work of the late director.",
    ),
]


@pytest.mark.parametrize(("stored", "candidate"), MORE)
def test_who_drops_a_weakening_word_claims_more(stored: str, candidate: str) -> None:
    """A text without the word that weakened it, or without the thing that somebody owns, is no shorter telling of the same."""
    assert {finding.kind for finding in against(stored, candidate).findings} & {"hedge", "entity"}


SCOPE = [
    (
        "The deposit may be kept even if no damage was found, and the guest may not be told.",
        "The deposit may not be kept even if a damage was found, and the guest may not be told.",
    ),
    (
        "Shards were often found in other cellars, but rarely in such numbers or stacked in one corner.",
        "Shards were often found in other cellars stacked in one corner, but rarely in such numbers.",
    ),
    (
        "The report shows the mayor's portrayal of hunger, but her portrayal of work still pleased many of the readers.",
        "The report shows how the mayor ignores hunger, but her portrayal of work still pleased many of the readers.",
    ),
]


@pytest.mark.parametrize(("one", "other"), SCOPE)
def test_a_denial_that_moves_to_other_words_is_found(one: str, other: str) -> None:
    """As many denials over the same words say another thing where they bear on other words."""
    for stored, candidate in ((one, other), (other, one)):
        assert kinds(against(stored, candidate)) & {"negation", "antonym"}, against(stored, candidate)


SAME = [
    ("Ilka owns a boat, and she keeps bees.", "Ilka owns a boat, and Ilka keeps bees."),
    (
        "The cousins share a van, but they pay for it apart.",
        "The cousins share a van, but the cousins pay for it apart.",
    ),
    ("The manual doesn't mention any fee.", "No fee is mentioned in the manual."),
    ("The tool reads files that are not in the ZIP format.", "The tool reads files that are not in ZIP."),
    ("To use the grid, workers must use a key.", "In order to utilise the grid, workers must use a key."),
    ("The lights go off when the door is shut.", "The lights go off whenever the door is shut."),
]


@pytest.mark.parametrize(("stored", "candidate"), SAME)
def test_names_for_pronouns_and_denials_in_another_voice_are_clear(stored: str, candidate: str) -> None:
    """A pronoun for the text's own subject, `no ... is` for `does not ... any`, a word said twice with a synonym."""
    assert against(stored, candidate).clear, against(stored, candidate)


def test_without_exception_denies_nothing() -> None:
    """`Without exception` says all; a text that denies with `without` says something else."""
    stored = "Without exception, parcels at the east gate need a stamp."
    assert "negation" in kinds(against(stored, "At the east gate, parcels are taken without a stamp."))
    assert against(stored, "All parcels at the east gate need a stamp.").clear
