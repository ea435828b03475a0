"""Beginnings and ends, exchanges, attempts and partings: what they put out of force and what stands beside them."""

from datetime import UTC, datetime

import pytest

from factsieve.core import memo
from factsieve.core.replace import SURE, Relation, relate

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def retires(stored: str, candidate: str) -> bool:
    """Return whether the rules would retire `stored`."""
    reading = relate(candidate, AT, stored, AT, 0.9, False, memo.compare(candidate, AT, stored, AT), None)
    return reading.relation is Relation.REPLACES and reading.sureness >= SURE


STANDS = [
    # a beginning and an end of one thing
    ("The lease starts on 1 May.", "The lease ends on 1 May."),
    ("The kiosk opens at nine.", "The kiosk closes at nine."),
    ("The ferry leaves from pier 3.", "The ferry arrives at pier 3."),
    ("The crate goes to the attic.", "The crate comes from the attic."),
    # both sides of an exchange
    ("Ida buys grain in May.", "Ida sells grain in May."),
    ("The mill imports flax.", "The mill exports flax."),
    # an ending that did not come about
    ("Piet smokes.", "Piet tried to quit smoking."),
    ("Piet smokes.", "Piet nearly stopped smoking."),
    ("Kim uses Vim.", "Kim promised to stop using Vim."),
    # an ending of one kind only
    ("Piet eats meat.", "Piet stopped eating red meat."),
    # a parting from something else
    ("Piet owns the red car.", "Piet sold the blue car."),
    ("Piet owns a car.", "Piet sold his house."),
    ("Piet works at Norvia.", "Piet left Tessel."),
    # accustomed to it now, and a habit that is over
    ("Ben is used to smoking in the yard.", "Ben used to smoke in the yard."),
    # the denial of another clause
    ("Bram no longer believes that the plan works.", "Bram believes that the plan no longer works."),
    # a span of time sets nobody against anybody
    (
        "The landlord must notify the tenant thirty days ahead.",
        "The tenant must notify the landlord thirty days ahead.",
    ),
]


@pytest.mark.parametrize(("stored", "candidate"), STANDS)
def test_what_tells_of_another_moment_or_thing_retires_nothing(stored: str, candidate: str) -> None:
    """Both can hold: nothing that stands is retired."""
    assert not retires(stored, candidate)


ENDS = [
    ("The gate is open.", "The gate is closed."),
    ("Piet drinks coffee.", "Piet gave up coffee."),
    ("Piet eats meat.", "Piet stopped eating meat."),
    ("Piet owns the red car.", "Piet sold the red car."),
    ("Piet works at Norvia.", "Piet left the company."),
    ("Piet manages the bakery.", "Piet quit his job."),
    ("Sam is taller than Ines.", "Ines is taller than Sam."),
    ("The red team is ahead of the blue team.", "The blue team is ahead of the red team."),
]


@pytest.mark.parametrize(("stored", "candidate"), ENDS)
def test_what_ended_is_retired(stored: str, candidate: str) -> None:
    """The candidate says that the very thing changed or is over."""
    assert retires(stored, candidate)
