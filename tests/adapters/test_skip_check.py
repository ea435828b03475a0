"""Who confirms a skip, and what it is shown."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from factsieve.adapters.skip_check import SkipCheck
from factsieve.core.facts import Kind
from factsieve.core.judging import Choice, Question, Verdict
from factsieve.ports import Judge

AT = datetime(2025, 5, 6, 10, tzinfo=UTC)


class Scripted:
    def __init__(self, name, choice):
        self.name, self.is_remote, self.confirms_skips, self.seen = name, False, True, []
        self._choice = choice

    async def answer(self, question):
        self.seen.append(question)
        if self._choice is None:
            return Verdict(choice=None, judge=self.name, failure="broken")
        return Verdict(choice=self._choice, judge=self.name, targets=(0,), reason="why", confidence=0.9)


def asked(text, stored, *, confirm):
    allowed = frozenset({Kind.SKIP, Kind.ADD}) if confirm else frozenset(Kind)
    return Question(text, AT, (Choice(stored, 0.9, AT),), allowed, confirm=confirm)


@pytest.fixture
def judges():
    return Scripted("chooser", Kind.UPDATE), Scripted("checker", Kind.ADD)


def test_a_choice_is_left_to_the_judge_behind(judges):
    """A choosing question goes to it as it came."""
    chooser, checker = judges
    check: Judge = SkipCheck(chooser, checker)
    question = asked("It opens at 5 p.m.", "It opens at 17:00.", confirm=False)
    assert asyncio.run(check.answer(question)).choice is Kind.UPDATE
    assert (chooser.seen, checker.seen) == ([question], [])
    assert (check.name, check.is_remote, check.confirms_skips) == ("chooser", False, True)


def test_a_skip_is_confirmed_on_values_written_alike(judges):
    """The checker sees one writing of an equal value, so that it judges the statement and not the spelling; its word counts."""
    chooser, checker = judges
    question = asked("The museum opens at 5 p.m. daily", "The museum always opens at 17:00 daily", confirm=True)
    assert asyncio.run(SkipCheck(chooser, checker).answer(question)).choice is Kind.ADD
    assert [seen.text for seen in checker.seen] == ["The museum opens at 17:00 daily"]
    assert chooser.seen == []


def test_another_value_is_shown_as_it_is(judges):
    """Nothing is written alike that is not equal."""
    chooser, checker = judges
    asyncio.run(SkipCheck(chooser, checker).answer(asked("It opens at 6 p.m.", "It opens at 17:00.", confirm=True)))
    assert [seen.text for seen in checker.seen] == ["It opens at 6 p.m."]


def test_the_same_words_need_no_model(judges):
    """Case, width and final punctuation aside the texts are one: no model may take them for a contradiction."""
    chooser, checker = judges
    verdict = asyncio.run(
        SkipCheck(chooser, checker).answer(
            asked("THE GATE CLOSES AT 5 P.M.", "The gate closes at 5 p.m.", confirm=True)
        )
    )
    assert (verdict.choice, verdict.targets, verdict.judge) == (Kind.SKIP, (0,), "rules")
    assert checker.seen == []


@pytest.mark.parametrize("refusal", [Kind.ADD, None])
def test_a_chosen_skip_needs_the_checkers_word(refusal):
    """Refused, or not answered, it becomes an `add` that nobody is sure of, flagged, with both reasons; granted, it stands as it was."""
    question = asked("It opens at noon.", "It opens at 17:00.", confirm=False)
    against = asyncio.run(SkipCheck(Scripted("rules", Kind.SKIP), Scripted("nli", refusal)).answer(question))
    assert (against.choice, against.judge, against.review, against.conflicts) == (Kind.ADD, "rules", "conflict", (0,))
    assert against.confidence < 0.5
    assert against.reason == f"why; nli: {'broken' if refusal is None else 'why'}"
    granted = asyncio.run(SkipCheck(Scripted("rules", Kind.SKIP), Scripted("nli", Kind.SKIP)).answer(question))
    assert (granted.choice, granted.judge, granted.targets) == (Kind.SKIP, "rules", (0,))


def test_a_chosen_skip_can_stand_without_the_checker():
    """Where a language model chooses last, its word stands."""
    checker = Scripted("nli", Kind.ADD)
    check = SkipCheck(Scripted("llm", Kind.SKIP), checker, choices=False)
    assert asyncio.run(check.answer(asked("a", "b", confirm=False))).choice is Kind.SKIP
    assert checker.seen == []


def test_the_checker_sees_the_neighbour_that_was_chosen():
    """Of several neighbours it is the target that is checked."""

    class Second(Scripted):
        async def answer(self, question):
            return Verdict(choice=Kind.SKIP, judge=self.name, targets=(1,), confidence=0.9)

    checker = Scripted("nli", Kind.SKIP)
    question = asked("c", "first", confirm=False)
    neighbours = (*question.neighbours, Choice("second", 0.8, AT))
    asyncio.run(
        SkipCheck(Second("rules", Kind.SKIP), checker).answer(msgspec.structs.replace(question, neighbours=neighbours))
    )
    assert [[near.text for near in seen.neighbours] for seen in checker.seen] == [["second"]]
    assert checker.seen[0].confirm
