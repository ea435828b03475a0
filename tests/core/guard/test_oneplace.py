"""Words that only one of two texts has, counted."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from factsieve.core.guard.oneplace import only_in

_TEXTS = st.lists(st.sampled_from("abcde"), max_size=12)


@given(ours=_TEXTS, theirs=_TEXTS, most=st.integers(0, 4))
def test_what_one_text_has_more_often(ours: list[str], theirs: list[str], most: int) -> None:
    """It is the difference of two multisets, in the order of the text; nothing where it is too much, each time counted."""
    further = Counter(ours) - Counter(theirs)
    assert only_in(ours, theirs, most) == (list(further) if further.total() <= most else None)
