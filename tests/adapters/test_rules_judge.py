"""The offline judge: from readings of every neighbour to one verdict."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factsieve.adapters.rules_judge import DOUBT, SURE_TO_SKIP, SURE_TO_STAND, RulesJudge
from factsieve.core.errors import Transient
from factsieve.core.facts import Kind
from factsieve.core.judging import Choice, Question, Verdict
from factsieve.core.replace import NliScores
from factsieve.ports import Judge

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
ALL = frozenset(Kind)
RETIRE_OR_ADD = frozenset({Kind.SUPERSEDE, Kind.ADD})
TEXTS = st.sampled_from(
    [
        "Ida lives in Bergen.",
        "Ida lives in Molde.",
        "Ida lives in Molde with two cats.",
        "Ida no longer lives in Bergen.",
        "Does Ida live in Molde?",
        "Ida speaks Welsh.",
        "owner: Ida",
        "owner: Olav",
        "The door is locked.",
        "The door is unlocked.",
        "",
        "会議室の鍵は受付にあります。",
    ]
)


class Scorer:
    """Gives the same scores for every pair, or fails; keeps what it was asked."""

    def __init__(self, scores: NliScores | None) -> None:
        self.scores = scores
        self.asked: list[tuple[str, str]] = []

    async def score_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[NliScores]:
        self.asked += pairs
        if self.scores is None:
            raise Transient("nli", "the model is away")
        return [self.scores for _ in pairs]


def ask(
    text: str,
    *stored: str,
    allowed: frozenset[Kind] = ALL,
    confirm: bool = False,
    slot: str | None = None,
    scorer: Scorer | None = None,
) -> Verdict:
    neighbours = tuple(Choice(near, 0.9 - 0.01 * i, AT - timedelta(days=1), slot) for i, near in enumerate(stored))
    question = Question(text, AT, neighbours, allowed, slot=slot, confirm=confirm)
    return asyncio.run(RulesJudge(scorer).answer(question))


def test_it_is_a_local_judge():
    """It keeps the port's promises: local, and asked for confirmation only where it has a model of its own."""
    judge = RulesJudge()
    port: Judge = judge
    assert port is judge
    assert (judge.name, judge.is_remote, judge.confirms_skips) == ("rules", False, False)
    assert RulesJudge(Scorer(NliScores(0.1, 0.1))).confirms_skips


@pytest.mark.parametrize(
    ("text", "stored", "choice"),
    [
        ("Ida lives in Bergen", "Ida lives in Bergen.", Kind.SKIP),
        ("Ida lives in Molde.", "Ida lives in Bergen.", Kind.SUPERSEDE),
        ("Ida lives in Bergen with two cats.", "Ida lives in Bergen.", Kind.UPDATE),
        ("Ida speaks Czech.", "Ida speaks Welsh.", Kind.ADD),
        ("Merged PR 480.", "Merged PR 260.", Kind.ADD),
    ],
)
def test_each_relation_has_its_decision(text, stored, choice):
    """Same is skipped, replaced is superseded, refined is updated, all else is added."""
    verdict = ask(text, stored)
    assert verdict.choice is choice
    assert verdict.targets == (() if choice is Kind.ADD else (0,))
    assert verdict.review is None
    assert verdict.failure is None
    assert verdict.text is None
    assert verdict.reason


def test_doubt_is_flagged():
    """A possible contradiction is added beside the other fact, for a person to look at."""
    verdict = ask("The shop moved off Redis.", "The shop sells cheese.", "The shop uses Postgres and Redis.")
    assert (verdict.choice, verdict.review, verdict.conflicts) == (Kind.ADD, "conflict", (1,))
    assert verdict.confidence == DOUBT


def test_where_only_retiring_is_the_question_what_is_covered_stands():
    """A stored fact that says it already leaves an `add` in doubt where it might be a skip, and none where it can only be retired."""
    stored = "Iris is working on opening a weaving studio, with the official opening night being near."
    candidate = "Iris is working on opening a studio for weavers of all ages."
    wide = ask(candidate, stored)
    narrow = ask(candidate, stored, allowed=frozenset({Kind.SUPERSEDE, Kind.ADD}))
    assert (wide.choice, wide.confidence < SURE_TO_SKIP) == (Kind.ADD, True)
    assert (narrow.choice, narrow.review) == (Kind.ADD, None)
    assert narrow.confidence >= SURE_TO_STAND


def test_every_outdated_neighbour_goes_and_the_others_stay():
    """Several facts are retired at once where the candidate speaks to each of them; facts that share the topic stay."""
    verdict = ask(
        "The atlas service is owned by the routing team.",
        "The atlas service is owned by the maps team.",
        "The atlas service runs on four nodes.",
        "The maps team owns the atlas service.",
        "The atlas service is hosted in Dublin.",
    )
    assert (verdict.choice, verdict.targets) == (Kind.SUPERSEDE, (0, 2))


def test_the_right_one_of_several_is_retired():
    """The neighbour of the same subject goes, not the nearest."""
    verdict = ask("The Barbican kiosk opens at 9.", "The Aldgate kiosk opens at 6.", "The Barbican kiosk opens at 7.")
    assert (verdict.choice, verdict.targets) == (Kind.SUPERSEDE, (1,))


def test_what_two_facts_say_in_one_is_a_merge_in_the_candidates_own_words():
    """A merge brings in nothing: its text is the candidate's, which says all of both."""
    text = "The kiosk sells maps and tickets."
    verdict = ask(text, "The kiosk sells maps.", "The kiosk sells tickets.")
    assert verdict.choice in (Kind.MERGE, Kind.UPDATE)
    if verdict.choice is Kind.MERGE:
        assert (verdict.targets, verdict.text) == ((0, 1), text)


def test_below_the_ambiguous_band_it_only_retires_or_adds():
    """Where only supersede and add may be answered, a repeat and a refinement become an add."""
    assert ask("Ida lives in Bergen", "Ida lives in Bergen.", allowed=RETIRE_OR_ADD).choice is Kind.ADD
    assert ask("Ida lives in Bergen with two cats.", "Ida lives in Bergen.", allowed=RETIRE_OR_ADD).choice is Kind.ADD
    assert ask("Ida lives in Molde.", "Ida lives in Bergen.", allowed=RETIRE_OR_ADD).choice is Kind.SUPERSEDE


def test_a_slot_makes_the_difference():
    """What is of the same slot replaces, though its form tells nothing."""
    assert ask("Mostly tea these days", "Coffee, black", slot="user.drink").choice is Kind.SUPERSEDE
    assert ask("Mostly tea these days", "Coffee, black").choice is Kind.ADD


def test_confirmation_is_skip_or_add():
    """Asked to confirm a skip it answers skip for the same statement, add for another."""
    confirm = frozenset({Kind.SKIP, Kind.ADD})
    assert ask("Ida lives in Bergen", "Ida lives in Bergen.", allowed=confirm, confirm=True).choice is Kind.SKIP
    assert ask("Ida lives in Molde.", "Ida lives in Bergen.", allowed=confirm, confirm=True).choice is Kind.ADD


def test_a_model_holds_skips_and_retirements_back():
    """A contradiction seen by the model stops a skip, its absence stops a retirement."""
    loud, calm = Scorer(NliScores(0.99, 0.99)), Scorer(NliScores(0.1, 0.1))
    same = ("Assembly point for drills: the north car park", "The assembly point for drills is the north car park.")
    assert ask(*same, scorer=loud).choice is not Kind.SKIP
    verdict = ask("Ida lives in Molde.", "Ida lives in Bergen.", scorer=calm)
    assert (verdict.choice, verdict.review) == (Kind.ADD, "conflict")
    assert calm.asked == [("Ida lives in Bergen.", "Ida lives in Molde.")]


def test_a_model_that_fails_is_done_without():
    """The rules answer alone and say so: no exception leaves a judge."""
    verdict = ask("Ida lives in Molde.", "Ida lives in Bergen.", scorer=Scorer(None))
    assert verdict.choice is Kind.SUPERSEDE
    assert "without NLI: nli: the model is away" in verdict.reason


@given(
    TEXTS,
    st.lists(TEXTS, min_size=1, max_size=4),
    st.frozensets(st.sampled_from(sorted(Kind)), max_size=4).map(lambda some: some | {Kind.ADD}),
    st.one_of(st.none(), st.builds(NliScores, st.floats(0, 1), st.floats(0, 1))),
    st.booleans(),
)
def test_the_answer_is_always_usable(text, stored, allowed, scores, confirm):
    """Only what is allowed is chosen, targets exist and are distinct, the same question has the same answer."""
    scorer = Scorer(scores) if scores is not None else None
    verdict = ask(text, *stored, allowed=allowed, confirm=confirm, scorer=scorer)
    assert verdict.choice in allowed
    assert all(0 <= i < len(stored) for i in (*verdict.targets, *verdict.conflicts))
    assert len(set(verdict.targets)) == len(verdict.targets)
    assert bool(verdict.targets) == (verdict.choice is not Kind.ADD)
    assert verdict.confidence is not None
    assert 0.0 <= verdict.confidence <= 1.0
    assert verdict == ask(text, *stored, allowed=allowed, confirm=confirm, scorer=scorer)
