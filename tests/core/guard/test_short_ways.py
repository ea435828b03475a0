"""Most texts and most words go a short way through the guard; it leads where the long one does."""

import re
from collections.abc import Container, Iterator
from importlib import resources

import msgspec
import pytest
from guard_helpers import MAY_6
from hypothesis import given, settings
from hypothesis import strategies as st

from factsieve.core.guard import Features, builder, features, scan
from factsieve.core.guard.days import MONTHS, WEEKDAYS
from factsieve.core.guard.lexicon import (
    ATTRIBUTES,
    BE,
    BOUNDS,
    CONDITIONALS,
    FUNCTION,
    IS,
    MODALS,
    NEGATIVE_VERBS,
    NEGATORS,
    PRONOUNS,
    PURPOSES,
    QUANTIFIERS,
    WAS,
)
from factsieve.core.guard.patterns import PHRASES
from factsieve.core.guard.quantities import MULTIPLIERS, NUMBER_WORDS, ORDINALS, SPELLED_SCALES
from factsieve.core.guard.relative import STARTERS
from factsieve.core.guard.stems import CONTRACTIONS


class _Everything(Container[str]):
    def __contains__(self, _: object) -> bool:
        return True


def the_long_way(text: str) -> Features:
    """Return the features of a text in which anything may stand, each word of which any rule may look at."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scan, "MAY_BE_MORE", re.compile(""))
        patched.setattr(builder, "_telling", lambda _language: _Everything())
        return features(text, MAY_6)


def told() -> Iterator[str]:
    """Yield the demonstration's statements."""
    for line in (resources.files("factsieve.cli") / "demo" / "facts.jsonl").read_bytes().splitlines():
        yield msgspec.json.decode(line).get("text", "")


_LISTED = sorted(
    {word for words in (*FUNCTION.values(), *NEGATORS.values(), *CONDITIONALS.values()) for word in words}
    | {word for phrase in PHRASES for word in phrase.split()}
    | {word for words in NUMBER_WORDS.values() for word in words}
    | {*ATTRIBUTES, *BE, *BOUNDS, *IS, *MODALS, *NEGATIVE_VERBS, *PRONOUNS, *PURPOSES, *QUANTIFIERS, *WAS}
    | {*ORDINALS, *MULTIPLIERS, *SPELLED_SCALES, *CONTRACTIONS, *STARTERS, *WEEKDAYS, *MONTHS, "used", "noon", "dozen"}
)
"""Every word that some rule looks at."""
_OTHERS = [
    "kiln",
    "Depot",
    "Ghent",
    "Vera's",
    "Lager",
    "Склад",
    "窯",
    "倉庫",
    "창고에는",
    "المخزن",
    "המחסן",
    "गोदाम",
    "คลัง",
]
_OTHERS += ["é", "e\u0301", "twenty-five", "May", "l'archive", "WiFi"]
_GLUE = [
    *[" "] * 4,
    ", ",
    ". ",
    "-",
    " - ",
    " -",
    "--",
    ".",
    "..",
    "/",
    "_",
    "'",
    "' ",
    ' "',
    "(",
    ") ",
    "? ",
    " @",
    "#",
]
_GLUE += ["+", "\\", "w", "www.", "\u200d", "\u0301", "|", "`", "…"]


def test_listed_words_have_the_same_features_both_ways() -> None:
    """Each of them at the beginning, after a measure, before a verb, a number and a thing."""
    for word in _LISTED:
        for text in (
            f"{word.title()} the kiln, {word} to fire, {word} working, is {word} for crates.",
            f"Crates {word} for kilns hold two {word}.",
            f"The kiln is two metres in {word} and {word} three crates of {word.upper()}",
        ):
            assert features(text, MAY_6) == the_long_way(text), text


@pytest.mark.parametrize("text", sorted(set(told())))
def test_statements_have_the_same_features_both_ways(text: str) -> None:
    """As people write them, with digits and without."""
    assert features(text, MAY_6) == the_long_way(text)
    bare = re.sub(r"\d", "", text)
    assert features(bare, MAY_6) == the_long_way(bare)


@settings(deadline=None, max_examples=400)
@given(st.lists(st.tuples(st.sampled_from([*_LISTED, *_OTHERS]), st.sampled_from(_GLUE)), max_size=14))
def test_any_words_with_anything_between_have_the_same_features_both_ways(pieces: list[tuple[str, str]]) -> None:
    """Small words, numbers and dates in words, names, in many languages, and signs where nobody expects them."""
    text = "".join(word + glue for word, glue in pieces)
    assert features(text, MAY_6) == the_long_way(text)


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=120))
def test_any_text_has_the_same_features_both_ways(text: str) -> None:
    """No character makes a difference."""
    assert features(text, MAY_6) == the_long_way(text)
