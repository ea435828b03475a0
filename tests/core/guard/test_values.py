"""Numbers, units, dates, times, versions and identifiers: equal values never fire, other values always do."""

import pytest
from guard_helpers import against, kinds

EQUAL = [
    ("The hall seats 1,000 people.", "The hall seats 1000 people."),
    ("The hall seats 1,000 people.", "The hall seats one thousand people."),
    ("The plant makes 12k bolts a week.", "The plant makes 12,000 bolts a week."),
    ("The fund holds 2.5 million euros.", "The fund holds €2,500,000."),
    ("Cooling takes 30 min.", "Cooling takes 1800 seconds."),
    ("Cooling takes 1.5 hours.", "Cooling takes 90 minutes."),
    ("Cooling takes twenty-five minutes.", "Cooling takes 25 minutes."),
    ("The pipe is 2 m long.", "The pipe is 200 cm long."),
    ("The index holds 3 GB.", "The index holds 3000 MB."),
    ("The trial lasts 2 weeks.", "The trial lasts 14 days."),
    ("The rate is 5 percent.", "The rate is 5%."),
    ("The permit ends on 2026-03-04.", "The permit ends on 4 March 2026."),
    ("The permit ends on 2026-03-04.", "The permit ends on March 4th, 2026."),
    ("The permit ends on 4 March 2026.", "The permit ends on 4 March."),
    ("Der Pass läuft am 4. März 2026 ab.", "Der Pass läuft am 04.03.2026 ab."),
    ("The desk opens at 18:00.", "The desk opens at 6 pm."),
    ("The desk opens at noon.", "The desk opens at 12:00."),
    ("The stream starts at 18:00 UTC.", "The stream starts at 20:00 UTC+2."),
    ("The stream starts at 18:00 UTC.", "The stream starts at 10:00 PST."),
    ("The job ran at 2026-03-04T10:00:00Z.", "The job ran at 2026-03-04T11:00:00+01:00."),
    ("Release 2.14.1 is out.", "Release v2.14.1 is out."),
    ("Ticket ab-1234 is open.", "Ticket AB-1234 is open."),
    ("The lens has 90 ㎜ of travel.", "The lens has 90 mm of travel."),
    ("The plot measures 300 m².", "The plot measures 300 m^2."),
    ("口座番号は１２３４です。", "口座番号は1234です。"),
    ("التذكرة رقم ٤٥ مفتوحة", "التذكرة رقم 45 مفتوحة"),
]


@pytest.mark.parametrize(("stored", "candidate"), EQUAL)
def test_equal_values_written_differently_do_not_fire(stored: str, candidate: str) -> None:
    """The same value in another notation is no difference, whichever of the two is stored."""
    assert against(stored, candidate).clear, against(stored, candidate)
    if "March." not in candidate:  # the full date says more than the day alone
        assert against(candidate, stored).clear, against(candidate, stored)


OTHER = [
    ("The tank holds 1.5 litres.", "The tank holds 15 litres.", "number"),
    ("The threshold is -18.", "The threshold is 18.", "number"),
    ("The oven stands at 5 °C.", "The oven stands at 5 °F.", "unit"),
    ("The line carries 20 MB/s.", "The line carries 20 Mb/s.", "number"),
    ("Rest it for 45 seconds.", "Rest it for 45 minutes.", "number"),
    ("Lunch costs 12 euros.", "Lunch costs 12 dollars.", "currency"),
    ("Lunch costs $12.", "Lunch costs $21.", "currency"),
    ("The permit ends on 4 March 2026.", "The permit ends on 5 March 2026.", "date"),
    ("The permit ends on 2026-03-04.", "The permit ends on 3 April 2026.", "date"),
    ("The class is on Monday.", "The class is on Tuesday.", "date"),
    ("The desk opens at 18:00.", "The desk opens at 6 am.", "time"),
    ("The call is at 15:00 UTC.", "The call is at 15:00 US Eastern time.", "time"),
    ("The node runs 2.14.1.", "The node runs 2.14.2.", "version"),
    ("The proxy listens on port 8080.", "The proxy listens on port 8081.", "number"),
    ("Order QX-55120 was paid.", "Order QX-55102 was paid.", "identifier"),
    ("host-07 is down", "host-17 is down", "identifier"),
    ("Commit 7f3a9c1 broke the build.", "Commit 7f3a9c2 broke the build.", "identifier"),
    ("Logs go to /var/log/app.", "Logs go to /var/log/web.", "identifier"),
    ("Docs are at https://a.example/x.", "Docs are at https://a.example/y.", "identifier"),
    ("Use -v for output.", "Use -V for output.", "identifier"),
    ("The driver is written in C++.", "The driver is written in C#.", "symbol"),
    ("Keep it if x <= 3.", "Keep it if x >= 3.", "symbol"),
    ("The team is happy 🙂", "The team is happy 🙁", "symbol"),
    ("Seventeen crates arrived.", "Seventy crates arrived.", "number"),
    ("It pays 3 million.", "It pays 3 billion.", "number"),
]


@pytest.mark.parametrize(("stored", "candidate", "kind"), OTHER)
def test_other_values_fire_in_both_directions(stored: str, candidate: str, kind: str) -> None:
    """A changed value forbids the skip, under its own kind, and counts as a conflict."""
    for comparison in (against(stored, candidate), against(candidate, stored)):
        assert kind in kinds(comparison), comparison
        assert kind in {finding.kind for finding in comparison.conflict}


def test_a_value_that_only_the_candidate_has_is_new() -> None:
    """More is not known: a number, date or occasion that the stored fact lacks is novelty, and the other way round it is missing."""
    more = against("The lease ends.", "The lease ends on 4 May 2027.")
    assert not more.clear
    assert not more.findings
    less = against("The lease ends on 4 May 2027.", "The lease ends.")
    assert less.clear
    assert [finding.kind for finding in less.missing] == ["date"]


def test_c_and_c_plus_plus_differ() -> None:
    """A symbol at the end of a word carries meaning."""
    assert not against("The driver is written in C.", "The driver is written in C++.").clear
    assert not against("The driver is written in C++.", "The driver is written in C.").clear


def test_values_that_change_places_fire() -> None:
    """Line 2 beating line 3 is not line 3 beating line 2."""
    assert "role_order" in kinds(
        against("Press 2 stamps more lids than press 3.", "Press 3 stamps more lids than press 2.")
    )
