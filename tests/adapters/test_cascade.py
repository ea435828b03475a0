"""The cascade: who is asked, whose answer counts, what it costs."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest
from fake_openai import FakeOpenAI, Step, fails, says
from tiny_onnx import write_nli

from factsieve.adapters.cascade import CascadeJudge
from factsieve.adapters.nli_judge import NliJudge
from factsieve.adapters.openai_judge import OpenAIJudge
from factsieve.adapters.rules_judge import RulesJudge
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Kind
from factsieve.core.judging import Choice, Question, Verdict
from factsieve.ports import Judge

AT = datetime(2026, 3, 4, tzinfo=UTC)


def question(text="the door is open", *stored, allowed=frozenset(Kind), confirm=False):
    near = tuple(Choice(text=each, similarity=0.8, stated_at=AT) for each in stored or ("the door is closed",))
    return Question(text=text, occurred_at=AT, neighbours=near, allowed=allowed, confirm=confirm, namespace="n")


class Scripted:
    """A judge that gives one verdict and counts how often it is asked."""

    def __init__(self, name, verdict, *, remote=False, confirms=False):
        self.name, self.is_remote, self.confirms_skips = name, remote, confirms
        self._verdict, self.asked = verdict, []

    async def answer(self, question):
        self.asked.append(question)
        return self._verdict


def verdict(choice=Kind.ADD, confidence=0.9, judge="scripted", **more):
    return Verdict(choice=choice, judge=judge, confidence=confidence, **more)


def answer(judge, asked=None):
    return asyncio.run(judge.answer(asked or question()))


def test_the_first_sure_local_judge_decides_alone():
    """A sure local verdict counts, with its judge's name; those behind it and the remote one are not asked."""
    first, second = Scripted("a", verdict(confidence=0.8, judge="a")), Scripted("b", verdict())
    remote = Scripted("llm", verdict(Kind.SKIP), remote=True)
    judge: Judge = CascadeJudge([first, second], remote)
    found = answer(judge)
    assert (found.judge, found.choice) == ("a", Kind.ADD)
    assert (len(first.asked), second.asked, remote.asked) == (1, [], [])


@pytest.mark.parametrize(
    "doubt",
    [
        verdict(confidence=0.74),
        verdict(confidence=None),
        verdict(None, failure="broken"),
    ],
    ids=["below the cut", "no confidence", "no answer"],
)
def test_doubt_goes_on_to_the_next_and_to_the_remote_one(doubt):
    """Low confidence and no answer are no decisions; the remote judge then decides, and everything it took is counted."""
    second = Scripted("b", changed(doubt, latency_ms=2.0))
    remote = Scripted(
        "llm", verdict(Kind.SUPERSEDE, None, "llm", targets=(0,), latency_ms=100.0, prompt_tokens=7), remote=True
    )
    found = answer(CascadeJudge([Scripted("a", changed(doubt, latency_ms=1.0)), second], remote))
    assert (found.judge, found.choice, found.targets) == ("llm", Kind.SUPERSEDE, (0,))
    assert (found.latency_ms, found.prompt_tokens) == (103.0, 7)
    assert len(second.asked) == len(remote.asked) == 1


def changed(value, **fields):
    return msgspec.structs.replace(value, **fields)


def test_a_conflict_that_one_local_judge_sees_is_not_waved_through_by_another():
    """Once a local verdict asks for a review, later local judges are not asked: the remote one decides, or the review stands."""
    flagged = Scripted("rules", verdict(confidence=0.99, review="conflict", conflicts=(0,), judge="rules"))
    eager = Scripted("nli", verdict(Kind.SKIP, 0.99, "nli", targets=(0,)))
    remote = Scripted("llm", verdict(Kind.SUPERSEDE, None, "llm", targets=(0,)), remote=True)
    assert answer(CascadeJudge([flagged, eager], remote)).judge == "llm"
    assert answer(CascadeJudge([flagged, eager])).review == "conflict"
    assert eager.asked == []
    unsure = Scripted("first", verdict(confidence=0.1, judge="first"))
    assert answer(CascadeJudge([unsure, flagged])).judge == "rules"


def test_without_a_remote_judge_the_first_doubt_stands_as_it_is():
    """The local verdict keeps its review flag and conflicts; a judge that gave no answer does not hide one that did."""
    doubt = verdict(confidence=0.3, review="conflict", conflicts=(0,), judge="rules")
    found = answer(CascadeJudge([Scripted("x", verdict(None, failure="broken")), Scripted("rules", doubt)]))
    assert (found.judge, found.choice, found.review, found.conflicts) == ("rules", Kind.ADD, "conflict", (0,))


def test_a_remote_failure_is_no_answer_and_not_the_local_doubt():
    """When the language model fails, its failure is what is reported: the engine holds the lane and flags, nothing is guessed."""
    remote = Scripted("llm", verdict(None, None, "llm", failure="time_out"), remote=True)
    found = answer(CascadeJudge([Scripted("a", verdict(confidence=0.1))], remote))
    assert (found.choice, found.failure, found.judge) == (None, "time_out", "llm")


def test_cuts_may_differ_by_choice():
    """A choice that does more harm when wrong can ask for more."""
    retire = Scripted("a", verdict(Kind.SUPERSEDE, 0.85, targets=(0,)))
    remote = Scripted("llm", verdict(), remote=True)
    assert answer(CascadeJudge([retire], remote, cuts={Kind.SUPERSEDE: 0.9})).choice is Kind.ADD
    assert answer(CascadeJudge([retire], remote)).choice is Kind.SUPERSEDE


def test_skips_are_confirmed_by_every_local_judge_that_wants_to():
    """One refusal is enough; the remote judge is never asked; those who do not confirm are not either."""
    silent = Scripted("rules", verdict())
    yes = Scripted("nli", verdict(Kind.SKIP, 0.9, "nli", targets=(0,)), confirms=True)
    no = Scripted("nli2", verdict(Kind.ADD, 0.9, "nli2"), confirms=True)
    remote = Scripted("llm", verdict(), remote=True)
    asked = question(confirm=True, allowed=frozenset({Kind.SKIP, Kind.ADD}))
    assert answer(CascadeJudge([silent, yes], remote), asked).choice is Kind.SKIP
    assert answer(CascadeJudge([silent, yes, no], remote), asked).judge == "nli2"
    assert (silent.asked, remote.asked) == ([], [])
    assert CascadeJudge([silent, yes]).confirms_skips
    plain = CascadeJudge([silent], remote)
    assert not plain.confirms_skips
    answer(plain, asked)
    assert remote.asked == []


def test_the_local_part_never_leaves_the_process():
    """`local` is the same cascade without its remote judge."""
    remote = Scripted("llm", verdict(), remote=True)
    judge = CascadeJudge([Scripted("a", verdict(confidence=0.1, judge="a"))], remote)
    assert (judge.is_remote, judge.local.is_remote) == (True, False)
    assert answer(judge.local).judge == "a"
    assert remote.asked == []
    assert (judge.members, judge.local.members) == (("a", "llm"), ("a",))


def test_what_makes_no_sense_is_refused():
    """No local judge, a remote one among them, or a cut that is no probability: refused by name."""
    with pytest.raises(BadSettings, match="at least one"):
        CascadeJudge([])
    with pytest.raises(BadSettings, match="llm is remote"):
        CascadeJudge([Scripted("llm", verdict(), remote=True)])
    with pytest.raises(BadSettings, match=r"1\.5"):
        CascadeJudge([Scripted("a", verdict())], cuts={Kind.SKIP: 1.5})


def test_with_real_judges(tmp_path):
    """Rules, NLI and a language model: rules answer a plain change alone, the server gets the rest, its failures stay failures."""
    nli = NliJudge(write_nli(tmp_path / "tiny"))
    plain = question("The deadline is 16 May 2026.", "The deadline is 15 May 2026.")
    unclear = question("Jonas thinks blue tiles suit the hall.", "The hall is closed.")

    async def scenario():
        async with FakeOpenAI(says("skip", (0,)), Step("nonsense"), Step("nonsense"), fails(400)) as server:
            model = OpenAIJudge(f"{server.url}#m", retries=0)
            judge = CascadeJudge([RulesJudge(), nli], model)
            first = await judge.answer(plain)
            calls = len(server.requests)
            strict = CascadeJudge([RulesJudge(), nli], model, cut=1.0)
            verdicts = [first, *[await strict.answer(unclear) for _ in range(3)]]
            await model.close()
            return verdicts, calls

    (first, second, third, fourth), calls = asyncio.run(scenario())
    nli.close()
    assert (first.choice, first.judge, calls) == (Kind.SUPERSEDE, "rules", 0)
    assert (second.choice, second.prompt_tokens) == (Kind.SKIP, 100)
    assert second.judge.startswith("http://127.0.0.1")
    assert third.failure.startswith("unusable_reply")
    assert fourth.failure.startswith("http_400")
