"""Judges by name, and threshold profiles at start-up."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from factsieve.assembly.judges import build_judges
from factsieve.assembly.settings import load_settings
from factsieve.assembly.wiring import build_embedder, open_models
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Kind
from factsieve.core.judging import Choice, Question
from factsieve.core.profile import NliCuts, ThresholdProfile, encode_profile

sys.path.insert(0, str(Path(__file__).parents[1] / "adapters"))
from tiny_onnx import write_nli

AT = datetime(2026, 3, 4, tzinfo=UTC)
PROFILE = ThresholdProfile(
    name="mine",
    embedder_model="m",
    embedder_fingerprint="0123456789ab",
    skip_threshold=0.93,
    ambiguous_threshold=0.8,
    supersede_threshold=0.7,
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(tmp_path, profile=PROFILE):
    path = tmp_path / "profile.json"
    path.write_bytes(encode_profile(profile))
    return path


def settings(**overrides):
    return load_settings({name.replace("__", "."): value for name, value in overrides.items()}, environ={})


async def fingerprint_under(chosen):
    async with open_models(chosen) as models:
        return models.embedder.fingerprint


def test_rules_answer_for_themselves():
    """Without a model the judge and its stand-in are the rules, which leave skips to the guard."""
    judges = build_judges(settings())
    assert judges.judge is judges.local
    assert (judges.judge.name, judges.judge.confirms_skips, judges.nli) == ("rules", False, None)


def test_an_nli_model_confirms_and_never_retires(tmp_path):
    """`nli:DIR` is the rules with the model behind them: it refuses a skip that it takes for a contradiction."""
    folder = write_nli(tmp_path / "tiny")
    judges = build_judges(settings(judge__name=f"nli:{folder}"))
    try:
        assert (judges.judge.confirms_skips, judges.judge.is_remote, judges.nli.ways) == (True, False, 3)
        question = Question(
            "the door is closed",
            AT,
            (Choice("the door is open", 0.95, AT),),
            frozenset({Kind.SKIP, Kind.ADD}),
            confirm=True,
        )
        assert asyncio.run(judges.local.answer(question)).choice is Kind.ADD
    finally:
        asyncio.run(judges.close())


def test_a_cascade_asks_a_language_model_last(tmp_path):
    """With a model named the cascade may be slow; what stands in for it locally is not, and both confirm skips by the NLI model."""
    folder = write_nli(tmp_path / "tiny")
    chosen = settings(judge__model="ollama:some", judge__nli_path=str(folder))
    judges = build_judges(chosen)
    try:
        assert (judges.judge.is_remote, judges.local.is_remote) == (True, False)
        assert judges.judge.confirms_skips
        assert judges.local.confirms_skips
    finally:
        asyncio.run(judges.close())
    alone = build_judges(settings(judge__model="ollama:some"))
    assert (alone.judge.is_remote, alone.judge.confirms_skips, alone.nli) == (True, False, None)
    asyncio.run(alone.close())


def test_a_language_model_alone_has_rules_beside_it():
    """Where nothing may leave the process the rules stand in."""
    judges = build_judges(settings(judge__name="ollama:some"))
    assert (judges.judge.is_remote, judges.local.name) == (True, "rules")
    asyncio.run(judges.close())


def test_a_profile_sets_what_nobody_else_did(tmp_path):
    """Its thresholds and name are the defaults; what a file, a variable or the command line says stays above them."""
    path = written(tmp_path)
    policy = settings(policy__profile_path=str(path)).policies().default
    assert (policy.skip_threshold, policy.ambiguous_threshold, policy.supersede_threshold) == (0.93, 0.8, 0.7)
    assert policy.profile == "mine"
    over = load_settings(
        {"memory.skipThreshold": 0.9},
        environ={"FACTSIEVE_POLICY__PROFILE_PATH": str(path), "FACTSIEVE_POLICY__AMBIGUOUS_THRESHOLD": "0.75"},
    )
    policy = over.policies().default
    assert (policy.skip_threshold, policy.ambiguous_threshold, policy.supersede_threshold) == (0.9, 0.75, 0.7)


def test_a_profile_of_another_embedder_stops_the_start(tmp_path):
    """Before any store is opened: the message names both fingerprints and how to make a fitting one."""
    with pytest.raises(BadSettings, match=r"0123456789ab(?s:.)*fingerprint [0-9a-f]{12}(?s:.)*factsieve calibrate"):
        build_embedder(settings(policy__profile_path=str(written(tmp_path))))


def test_a_profile_of_this_embedder_is_taken(tmp_path):
    """With the fingerprint of the embedder in use everything starts."""
    fingerprint = asyncio.run(fingerprint_under(settings()))
    path = written(tmp_path, msgspec.structs.replace(PROFILE, embedder_fingerprint=fingerprint))
    assert asyncio.run(fingerprint_under(settings(policy__profile_path=str(path)))) == fingerprint


def test_a_profile_brings_the_cuts_of_its_nli_model_and_no_other(tmp_path):
    """They are used with the model that they were measured for; with another one the start is refused."""
    folder = write_nli(tmp_path / "tiny")
    chosen = settings(judge__name=f"nli:{folder}")
    plain = build_judges(chosen)
    fingerprint = plain.nli.fingerprint
    asyncio.run(plain.close())
    cuts = NliCuts(model="nli:tiny", fingerprint=fingerprint, veto=0.55, entailment=0.25, clear=0.1)
    fitting = build_judges(chosen, profile=msgspec.structs.replace(PROFILE, nli=cuts))
    assert (fitting.nli.profile.veto, fitting.nli.profile.entailment, fitting.nli.profile.clear) == (0.55, 0.25, 0.1)
    asyncio.run(fitting.close())
    other = msgspec.structs.replace(PROFILE, nli=msgspec.structs.replace(cuts, fingerprint="ffffffffffff"))
    with pytest.raises(BadSettings, match=f"ffffffffffff(?s:.)*{fingerprint}"):
        build_judges(chosen, profile=other)


@pytest.mark.parametrize(("body", "named"), [(None, "can not be read"), (b"{}", "name"), (b"no", "not JSON")])
def test_a_profile_that_can_not_be_used_is_named(tmp_path, body, named):
    """A missing or broken file stops the start with its path and the fault."""
    path = tmp_path / "profile.json"
    if body is not None:
        path.write_bytes(body)
    with pytest.raises(BadSettings, match=f"profile.json(?s:.)*{named}"):
        settings(policy__profile_path=str(path))
