"""What holds of every pair of texts."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from factsieve.core import memo
from factsieve.core.guard import features
from factsieve.core.relation.parse import parse
from factsieve.core.replace import SURE, NliScores, Reading, Relation, relate, second_look

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = st.sampled_from(["Ida", "Olav", "The depot", "Pump A", "My brother", "Node 4", "a man", "Two dogs", ""])
VERBS = st.sampled_from(
    [
        "lives in",
        "is",
        "is not",
        "was",
        "owns",
        "no longer uses",
        "has moved from",
        "opens at",
        "costs",
        "likes",
        "closed",
        "might be",
        "",
    ]
)
TAILS = st.sampled_from(
    [
        "Bergen",
        "Molde to Oslo",
        "six",
        "12 euros",
        "on Mondays",
        "open",
        "closed",
        "the owner of the boat",
        "Redis and Postgres",
        "",
        "not",
    ]
)
SENTENCES = st.tuples(NAMES, VERBS, TAILS).map(lambda parts: " ".join(part for part in parts if part))
TEXTS = st.one_of(st.text(max_size=60), SENTENCES, SENTENCES.map(lambda s: f"owner: {s}"))
SCORES = st.one_of(st.none(), st.builds(NliScores, st.floats(0, 1), st.floats(0, 1)))


def read(stored: str, candidate: str, same_slot: bool = False, nli: NliScores | None = None) -> Reading:
    return relate(candidate, AT, stored, AT, 0.9, same_slot, memo.compare(candidate, AT, stored, AT), nli)


@given(TEXTS, TEXTS, st.booleans(), SCORES)
def test_any_two_texts_have_one_reading(stored, candidate, same_slot, nli):
    """No text breaks the rules, and the same pair is always read alike."""
    first = read(stored, candidate, same_slot, nli)
    assert first == read(stored, candidate, same_slot, nli)
    assert 0.0 <= first.sureness <= 1.0
    assert first.reason


@given(TEXTS)
def test_a_text_says_the_same_as_itself(text):
    """A repeat is a repeat, in whatever slot."""
    assert read(text, text).relation is Relation.SAME
    assert read(text, text, same_slot=True).relation is Relation.SAME


@given(TEXTS, SENTENCES, st.booleans())
def test_a_question_retires_nothing(stored, candidate, same_slot):
    """Whatever is asked, what is stored stays."""
    assert read(stored, candidate + "?", same_slot).relation is not Relation.REPLACES


@given(
    TEXTS,
    SENTENCES,
    st.sampled_from(["Perhaps ", "Maybe ", "If it rains, ", "Presumably ", "We think that "]),
    st.booleans(),
)
def test_a_guess_or_condition_retires_nothing(stored, candidate, opening, same_slot):
    """Whatever is guessed, what is stored stays."""
    assert read(stored, opening + candidate, same_slot).relation is not Relation.REPLACES


@given(TEXTS, TEXTS, st.floats(0, 0.49), st.floats(0, 0.49))
def test_a_model_that_sees_no_contradiction_stops_every_retirement(stored, candidate, forward, backward):
    """Without a slot, a retirement needs a model that does not speak against it."""
    reading = read(stored, candidate, nli=NliScores(forward, backward))
    assert not (reading.relation is Relation.REPLACES and reading.sureness >= SURE)


@given(TEXTS)
def test_any_text_can_be_parsed(text):
    """The shallow reading takes every text apart without losing a word."""
    clause = parse(text)
    assert len(clause.head) + len(clause.tail) <= len(clause.tokens)


@given(TEXTS, TEXTS, st.floats(-1, 1))
def test_a_second_look_is_symmetric(one, other, similarity):
    """Whether two texts seem to be about one attribute does not depend on which came first."""
    ours, theirs = features(one, AT), features(other, AT)
    assert second_look(ours, theirs, similarity) == second_look(theirs, ours, similarity)


def test_a_second_look_knows_the_attribute():
    """Another value of one subject, another holder of one thing, the same label; not another subject's other thing."""

    def look(one: str, other: str) -> bool:
        return second_look(features(one, AT), features(other, AT), 0.6)

    assert look("My usual breakfast order is oat porridge.", "My usual breakfast order is rye toast.")
    assert look("Anouk is the owner of the red bicycle.", "Matthis is the owner of the red bicycle.")
    assert look("deadline: 4 May", "deadline: 11 May")
    assert not look("Anouk sings in the parish choir.", "Anouk walks her dog at six.")
    assert not look("deadline: 4 May", "owner: Ida")
