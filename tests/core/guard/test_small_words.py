"""Small words that decide, where two texts are the same but for them, and phrases that decide wherever they stand."""

import pytest
from guard_helpers import against, kinds

HELD = [
    # another grade of one scale: how often, how many, by which period, how far
    ("The ferry is always full.", "The ferry is often full.", "quantifier"),
    ("The ferry usually leaves on time.", "The ferry sometimes leaves on time.", "quantifier"),
    ("Both boilers are being serviced.", "One of the boilers is being serviced.", "quantifier"),
    ("The kiln runs on most days.", "The kiln runs on some days.", "quantifier"),
    ("The meter sends 40 readings per hour.", "The meter sends 40 readings per day.", "unit"),
    ("The choir rehearses weekly.", "The choir rehearses monthly.", "unit"),
    ("Ode is slightly taller this year.", "Ode is much taller this year.", "quantifier"),
    # an amount in total is not one of each
    ("The tour costs 90 euros in total.", "The tour costs 90 euros per head.", "unit"),
    # a day, and every other one
    ("The hens are let out every day.", "The hens are let out every other day.", "quantifier"),
    # what will be, might be, could be, should be, and what is
    ("The council will widen the bridge.", "The council might widen the bridge.", "modality"),
    ("Wim can read sheet music.", "Wim could read sheet music.", "modality"),
    ("The gateway drops stale packets.", "The gateway could drop stale packets.", "modality"),
    ("The gateway should drop stale packets.", "The gateway drops stale packets.", "modality"),
    # what one has, and what one wants, has ordered or has no more
    ("Runa has a new bicycle.", "Runa ordered a new bicycle.", "modality"),
    ("Runa needs a new bicycle.", "Runa has a new bicycle.", "modality"),
    # one of them, and all of them; all, and only some
    ("The berth is free for members.", "The berth is free for everyone.", "quantifier"),
    ("Both keys open the hatch.", "Either key opens the hatch.", "quantifier"),
    ("Over half of the seals were replaced.", "Half of the seals were replaced.", "direction"),
    ("Dozens of seals were replaced.", "A dozen seals were replaced.", "quantifier"),
    ("The pump rests on odd days.", "The pump rests on even days.", "quantifier"),
    # what was done, and what was only tried or asked; what will be, and what is likely
    ("Runa sold the van.", "Runa tried to sell the van.", "hedge"),
    ("Runa was asked to sell the van.", "Runa sold the van.", "hedge"),
    ("Runa will sell the van.", "Runa will probably sell the van.", "quantifier"),
    # what need not be, and what must not
    ("The hatch need not be closed.", "The hatch must not be closed.", "modality"),
    ("You needn't restart the server.", "You mustn't restart the server.", "modality"),
    # for how long, after how long, and how often
    ("The berth is free for two hours.", "The berth is free in two hours.", "direction"),
    ("The filter is changed every 500 hours.", "The filter is changed after 500 hours.", "quantifier"),
    ("Restart the server before the update.", "Restart the server before and after the update.", "direction"),
    ("Send the minutes to Ada and Ole.", "Send the minutes to Ada or Ole.", "quantifier"),
    # another form of one word: tense, degree
    ("Runa teaches pottery.", "Runa taught pottery.", "tense"),
    ("Runa goes to the sauna club.", "Runa went to the sauna club.", "tense"),
    ("Runa has a parrot.", "Runa had a parrot.", "tense"),
    ("Runa lived in Bergen for six years.", "Runa has lived in Bergen for six years.", "tense"),
    ("The new index is quick.", "The new index is quicker.", "quantifier"),
    ("The new index is good.", "The new index is better.", "quantifier"),
    # a word of degree, frequency or share, or one that weakens, comes in
    ("The soup was salty.", "The soup was too salty.", "quantifier"),
    ("Wim likes rye bread.", "Wim likes rye bread more.", "quantifier"),
    ("The fee is refundable.", "The fee is partly refundable.", "quantifier"),
    ("The order has arrived.", "Part of the order has arrived.", "quantifier"),
    ("Wim has little time for the audit.", "Wim has a little time for the audit.", "quantifier"),
    # at a time, and up to it; a preposition that puts things elsewhere
    ("The pass is closed in winter.", "The pass is closed until winter.", "direction"),
    ("The coupon lapses within 24 hours.", "The coupon lapses after 24 hours.", "direction"),
    ("The bus goes at quarter past six.", "The bus goes at quarter to six.", "direction"),
    ("The water level is normal.", "The water level is above normal.", "direction"),
    # why, when and in spite of what
    ("The lock was changed because Ole moved out.", "The lock was changed before Ole moved out.", "hedge"),
    ("The siren sounds when the gate opens.", "The siren sounds unless the gate opens.", "hedge"),
    # what somebody hopes is not yet so
    ("Wim hopes the grant is renewed.", "The grant is renewed.", "hedge"),
    # a clause that only the candidate has, however small its words
    ("The cat may sleep on the sofa.", "The cat may sleep on the sofa when it is dry.", "novelty"),
    # phrases: none and not all, hardly any and none, a part and the whole, all and all but
    ("None of the valves are leaking.", "Not all of the valves are leaking.", "quantifier"),
    ("Nobody in the crew speaks Dutch.", "Hardly anybody in the crew speaks Dutch.", "negation"),
    ("Three of the five pumps failed.", "All five pumps failed.", "quantifier"),
    ("The flag is on for 10% of users.", "The flag is on for all but 10% of users.", "quantifier"),
    ("Wim is the fastest rower in the club.", "Wim is one of the fastest rowers in the club.", "quantifier"),
    ("Wim is taller than Ole.", "Wim is as tall as Ole.", "direction"),
    ("The bridge is ready.", "The bridge is anything but ready.", "negation"),
    ("Wim eats meat.", "Wim has given up eating meat.", "negation"),
    ("The form is due by Friday.", "The form is due on Friday at the earliest.", "quantifier"),
    # one time, up to which or from which on
    ("Runa worked at the mill until 2022.", "Runa has worked at the mill since 2022.", "direction"),
    ("The loft has been free since May.", "The loft will be free from May.", "tense"),
    # two that changed places around a comparison or in a ratio
    ("Wim likes plums more than pears.", "Wim likes pears more than plums.", "role_order"),
    ("The ratio of tutors to pupils is one to eight.", "The ratio of tutors to pupils is eight to one.", "role_order"),
    # which Monday of a month, and which period ago
    ("The band meets on the first Monday of the month.", "The band meets on the last Monday of the month.", "novelty"),
    ("The router was restarted a week ago.", "The router was restarted a month ago.", "relative_time"),
]


@pytest.mark.parametrize(("stored", "candidate", "kind"), HELD)
def test_small_word_that_decides_is_a_finding(stored: str, candidate: str, kind: str) -> None:
    """A candidate that differs from the stored text in a small word that decides is no repeat of it."""
    assert kind in kinds(against(stored, candidate))


SAME = [
    ("Wim often rows at dawn.", "Wim frequently rows at dawn."),
    ("Some rowers are resting.", "A few rowers are resting."),
    ("Four rowers are resting on the pier.", "Some rowers are resting on the pier."),
    ("Members can use the boathouse.", "Members may use the boathouse."),
    ("The pump runs for 60 seconds.", "The pump runs for one minute."),
    ("Every rower has a key.", "Each rower has a key."),
    ("Wim sold the boat.", "Wim has sold the boat."),
    ("Nobody but Wim has a key.", "Only Wim has a key."),
    ("The siren sounds when the gate opens.", "The siren sounds whenever the gate opens."),
    ("The siren was tested again.", "The siren was tested."),
    ("The pier was closed because of the storm.", "The pier was closed due to the storm."),
]


@pytest.mark.parametrize(("stored", "candidate"), SAME)
def test_small_word_for_one_of_its_grade_is_wording(stored: str, candidate: str) -> None:
    """A small word that stands for another one of the same grade, or that the candidate only leaves out, forbids no skip."""
    assert against(stored, candidate).clear
