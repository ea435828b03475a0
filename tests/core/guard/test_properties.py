"""Properties that hold for every text."""

import msgspec
import pytest
from guard_helpers import MAY_6, against, kinds
from hypothesis import given, settings
from hypothesis import strategies as st

from factsieve.core.guard import FEATURES_VERSION, FINDING_KINDS, Features, compare, features, introduces, resolves_same

_SUBJECT = st.sampled_from(
    ["The kiln", "Depot Ghent", "Vera Holm", "El horno", "Das Lager", "Склад", "The north pump's filter"]
)
_VERB = st.sampled_from(["holds", "needs", "ships", "counts"])
_THING = st.sampled_from(["crates", "visits", "valves", "letters"])
_COUNT = st.integers(min_value=2, max_value=9_999_999)


@settings(deadline=None)  # timings on a busy machine say nothing
@given(st.text(max_size=400))
def test_any_text_has_features_that_survive_json(text: str) -> None:
    """No string crashes the guard; its features come back from JSON unchanged, and compare as clear with themselves."""
    found = features(text, MAY_6)
    assert found.features_version == FEATURES_VERSION
    assert msgspec.json.decode(msgspec.json.encode(found), type=Features) == found
    assert compare(found, found).clear


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_compare(a: str, b: str) -> None:
    """The result is made of the documented kinds, `aligned` is a share, `conflict` is part of `findings`."""
    found = against(a, b)
    assert kinds(found) | {finding.kind for finding in found.missing} <= set(FINDING_KINDS)
    assert 0.0 <= found.aligned <= 1.0
    assert set(found.conflict) <= set(found.findings)
    assert found == against(a, b)
    introduces(a, [b])
    resolves_same(a, MAY_6, MAY_6.replace(year=2030))


@settings(deadline=None)
@given(st.text(alphabet="0123456789.,:/-+% $€kmhTZ年月日時", max_size=40))
def test_any_run_of_digits_and_signs_is_read(text: str) -> None:
    """Whatever looks like a number, a date or a time is read without an error."""
    assert compare(features(text, MAY_6), features(text + "1", MAY_6)).judgeable


@settings(deadline=None)
@given(_SUBJECT, _VERB, _THING, _COUNT)
def test_notation_of_a_number_never_fires(subject: str, verb: str, thing: str, count: int) -> None:
    """Digits with and without separators are one number."""
    assert against(f"{subject} {verb} {count} {thing}.", f"{subject} {verb} {count:,} {thing}.").clear or subject in (
        "El horno",
        "Das Lager",
        "Склад",
    )
    assert against(
        f"{subject} {verb} {count} {thing}.", f"  {subject.upper()} {verb} {count} {thing} ".replace("  ", " ")
    ).clear


@settings(deadline=None)
@given(_SUBJECT, _VERB, _THING, _COUNT, _COUNT)
def test_another_number_always_fires(subject: str, verb: str, thing: str, one: int, two: int) -> None:
    """Two numbers that differ are never clear, and the finding is the same seen from both sides."""
    if one == two:
        two += 1
    there = against(f"{subject} {verb} {one} {thing}.", f"{subject} {verb} {two} {thing}.")
    back = against(f"{subject} {verb} {two} {thing}.", f"{subject} {verb} {one} {thing}.")
    assert "number" in kinds(there)
    assert kinds(there) == kinds(back)
    assert [(f.ours, f.theirs) for f in there.findings] == [(f.theirs, f.ours) for f in back.findings]


@settings(deadline=None)
@given(st.dates(), st.dates())
def test_dates_in_two_notations(one, two) -> None:
    """A date equals itself in every notation and no other date in any."""
    notations = ("{0.year:04d}-{0.month:02d}-{0.day:02d}", "{0.day} {1} {0.year:04d}", "{1} {0.day}, {0.year:04d}")
    months = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ]
    if one.year < 1000 or two.year < 1000:
        return
    for first in notations:
        for second in notations:
            a = f"The permit ends on {first.format(one, months[one.month - 1])}."
            b = f"The permit ends on {second.format(two, months[two.month - 1])}."
            assert against(a, b).clear == (one == two), (a, b)


@settings(deadline=None)
@given(st.from_regex(r"[A-Z]{2,4}-[0-9]{3,6}", fullmatch=True), st.from_regex(r"[A-Z]{2,4}-[0-9]{3,6}", fullmatch=True))
def test_identifiers_differ_or_are_equal(one: str, two: str) -> None:
    """Two identifiers are clear exactly where they are equal but for case."""
    assert against(f"Order {one} was paid.", f"Order {two} was paid.").clear == (one.casefold() == two.casefold())
    assert against(f"Order {one} was paid.", f"Order {one.lower()} was paid.").clear


def test_half_a_character_can_be_stored() -> None:
    """A lone surrogate, which UTF-8 cannot hold, does not reach the stored features."""
    found = features("broken \ud800 text", MAY_6)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Features) == found


@pytest.mark.parametrize("size", [20_000])
def test_a_long_text_is_compared_in_bounded_work(size: int) -> None:
    """Beyond the limit a text is compared as a whole only: equal is clear, other is not."""
    text = "The log says word " + " ".join(f"w{number}" for number in range(size))
    assert against(text, text).clear
    assert not against(text, text + " more").clear
