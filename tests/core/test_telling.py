"""Decisions in words: every reason, finding and band has words of its own."""

import ast
from pathlib import Path

import pytest

from factsieve.core import decide, ruling, telling
from factsieve.core.decision import Band
from factsieve.core.facts import Kind
from factsieve.core.guard import FINDING_KINDS
from tests.operations.decisions import decision_value, reject_value

MODEL = {"judge": "openrouter:some/model", "asked": "choose", "choice": "supersede", "latency_ms": 812.4}
NLI = {"judge": "nli:deberta", "asked": "confirm", "choice": "skip", "latency_ms": 9.0}


def test_every_reason_of_the_rules_has_its_sentence() -> None:
    """As they are written in the rules."""
    reasons = {
        call.args[2].value
        for module in (decide, ruling)
        for call in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("ruled", "skip_or_place")
        and len(call.args) > 2
        and isinstance(call.args[2], ast.Constant)
    }
    assert len(reasons) > 8
    assert reasons <= telling.REASONS.keys()


def test_kinds_findings_and_bands_are_those_that_there_are() -> None:
    """No word is missing, none is left over."""
    assert telling.FINDINGS.keys() == set(FINDING_KINDS)
    assert telling.BANDS.keys() == {band.value for band in Band}
    assert set(telling.KINDS) == {kind.value for kind in Kind}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (decision_value("a"), "similarity and guard"),
        (decision_value("a", reason="cold_start"), "nothing to compare with"),
        (decision_value("a", reason="late_history"), "its time, and the guard"),
        (decision_value("a", judges=[NLI]), "similarity and guard, confirmed by nli:deberta"),
        (decision_value("a", judges=[NLI | {"asked": "choose"}]), "local NLI model nli:deberta"),
        (decision_value("a", judges=[MODEL]), "language model openrouter:some/model"),
        (decision_value("a", judges=[MODEL | {"model": "m-2"}]), "language model openrouter:some/model (m-2)"),
        (decision_value("a", judges=[MODEL | {"choice": None}]), "nobody: openrouter:some/model did not answer"),
        (decision_value("a", judges=[{"judge": "rules", "asked": "choose", "choice": "add"}]), "rules, no model"),
        (decision_value("a", via="hash_window"), "hash window, no search"),
        (decision_value("a", decision=None, command="revert"), "an operator's command"),
        (reject_value("a"), "input check"),
    ],
)
def test_who_decided_in_words(value: dict, words: str) -> None:
    """By name where it has one."""
    assert telling.who_decided(value) == words


def test_costs_are_summed_and_said() -> None:
    """Time and tokens of all judges; calls of language models alone."""
    cost = telling.cost_of(
        [decision_value("a", judges=[NLI, MODEL | {"prompt_tokens": 1200, "completion_tokens": 30}]), reject_value("b")]
    )
    assert (cost.model_calls, cost.tokens, cost.latency_ms) == (1, 1230, 821.4)
    assert telling.cost_words(cost) == "821 ms, 1,200 + 30 tokens"
    assert telling.cost_words(telling.Cost()) == ""
    assert [telling.latency_words(ms) for ms in (0.4, 12, 1500)] == ["under 1 ms", "12 ms", "1.5 s"]


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        ({"kind": "number", "ours": "8081", "theirs": "8080"}, "another number: “8081”, known is “8080”"),
        ({"kind": "novelty", "ours": "daily", "theirs": ""}, "content on one side only: “daily” is new"),
        ({"kind": "entity", "ours": "", "theirs": "Bob"}, "another name: without “Bob”"),
        ({"kind": "some_new_kind", "ours": "", "theirs": ""}, "some new kind"),
    ],
)
def test_findings_in_words(finding: dict, words: str) -> None:
    """Both sides, either, or none."""
    assert telling.finding_words(finding) == words


def test_reasons_and_reviews_in_words() -> None:
    """What is not known yet is told by its name."""
    assert telling.why(decision_value("a", reason="cold_start")) == "Nothing was known here yet."
    assert telling.why(decision_value("a", reason="of_tomorrow")) == "of tomorrow"
    assert telling.why(reject_value("a")) == "text is empty: send a statement"
    command = decision_value("a", decision=None, command="revert", outcome="no_op", reason="reverted already")
    assert telling.why(command) == "Nothing to do: reverted already"
    assert telling.review_words("no_answer: timeout") == "the judge did not answer (timeout)"
    assert telling.review_words("conflict") == "may contradict something known"
