"""The local embedder: its vectors, its batches, its refusals."""

import asyncio
import json
import random
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factsieve.adapters import onnx_embedder
from factsieve.adapters.onnx_embedder import OnnxEmbedder
from factsieve.core.errors import BadSettings
from factsieve.ports import Embedder

SENTENCES = [
    "The deadline is 15 October.",
    "Caroline attended a support group.",
    "Postgres LISTEN/NOTIFY carries the events between the services of the billing team.",
    "hi",
    "",
    "日本語のテキスト",
    "Łódź żółć 🤖",
    "word " * 400,
    "The retry mechanism was moved from the client library into the gateway, together with its tests and its metrics.",
]


@pytest.fixture(scope="module")
def embedder():
    made = OnnxEmbedder(cache_size=0)
    yield made
    made.close()


@pytest.fixture(scope="module")
def alone(embedder):
    async def each():
        return [(await embedder.embed([text]))[0] for text in SENTENCES]

    return asyncio.run(each())


def test_is_an_embedder_of_unit_vectors(embedder, alone):
    """Vectors are float32, of the stated dimension, of norm 1; the port's protocol holds."""
    assert isinstance(embedder, Embedder)
    assert embedder.dimension == 384
    for vector in alone:
        assert vector.dtype == np.float32
        assert vector.shape == (384,)
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(picks=st.lists(st.integers(0, len(SENTENCES) - 1), min_size=1, max_size=24))
def test_a_vector_never_depends_on_its_batch(embedder, alone, picks):
    """Whatever is asked together, in whatever order: each text's vector is bit-equal to that of the text alone."""
    vectors = asyncio.run(embedder.embed([SENTENCES[pick] for pick in picks]))
    for pick, vector in zip(picks, vectors, strict=True):
        assert vector.tobytes() == alone[pick].tobytes()


@settings(max_examples=10, deadline=None)
@given(texts=st.lists(st.text(max_size=60), min_size=2, max_size=12, unique=True), seed=st.integers(0, 9))
def test_any_unicode_is_embedded_the_same_in_every_batch(embedder, texts, seed):
    """Arbitrary Unicode, split into calls at random, gives the vectors that one call gives."""
    split = random.Random(seed).randint(1, len(texts) - 1)

    async def both():
        together = await embedder.embed(texts)
        parts = await asyncio.gather(embedder.embed(texts[:split]), embedder.embed(texts[split:]))
        return together, [*parts[0], *parts[1]]

    together, parts = asyncio.run(both())
    assert [v.tobytes() for v in together] == [v.tobytes() for v in parts]


def test_masked_mean_by_hand(embedder):
    """The vector is the mean over the text's own tokens, computed here from the graph's output without any padding."""
    text = SENTENCES[2]
    ids = np.array([embedder._tokenizer.encode(text).ids], np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    mean = embedder._session.run(None, feed)[0][0].mean(axis=0)
    (vector,) = asyncio.run(embedder.embed([text]))
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)


def test_paraphrases_are_nearer_than_strangers(embedder):
    """The model is a sentence model: a rewording is nearer than another topic."""
    a, b, c = asyncio.run(
        embedder.embed(["The cat sits on the mat.", "A cat is sitting on a mat.", "Kafka partitions are rebalanced."])
    )
    assert a @ b > 0.8
    assert a @ c < 0.3


def test_lone_surrogates_are_embedded(embedder):
    """Half a surrogate pair, which no UTF-8 can carry, does not break a batch."""
    vectors = asyncio.run(embedder.embed(["broken \ud83d half", "fine"]))
    assert all(np.isfinite(v).all() for v in vectors)


def test_coverage_tells_what_the_model_saw(embedder):
    """Beyond 256 tokens a text is truncated; tokens outside the vocabulary are counted, special ones are not."""
    plain = embedder.coverage("The deadline is 15 October.")
    assert (plain.truncated, plain.unknown_share) == (False, 0.0)
    assert embedder.coverage("word " * 254).truncated is False
    assert embedder.coverage("word " * 255).truncated is True
    assert embedder.coverage("🤖 🤖 known").unknown_share == pytest.approx(2 / 3)
    late = embedder.coverage("word " * 300 + "🤖 " * 300)
    assert late.truncated
    assert late.unknown_share == pytest.approx(0.5)
    assert embedder.coverage("").unknown_share == 0.0


def test_repeats_within_and_across_calls_are_computed_once():
    """Equal texts of one call, of overlapping calls and of later calls cost one run of the model (while the cache holds them)."""
    embedder = OnnxEmbedder(threads=1, cache_size=2)
    counted = Counted(embedder)

    async def scenario():
        first, second = await asyncio.gather(embedder.embed(["a", "b", "a"]), embedder.embed(["b", "a"]))
        assert first[0] is first[2]
        assert first[1] is second[0]
        assert sorted(counted.texts) == ["a", "b"]
        await embedder.embed(["a", "b"])
        assert len(counted.texts) == 2
        await embedder.embed(["c"])  # puts out "a", the one used longest ago
        await embedder.embed(["b"])
        assert len(counted.texts) == 3
        await embedder.embed(["a"])
        assert len(counted.texts) == 4

    asyncio.run(scenario())
    embedder.close()


def test_a_caller_can_not_spoil_the_cache():
    """Vectors are shared, so they are read-only."""
    embedder = OnnxEmbedder(threads=1)
    (vector,) = asyncio.run(embedder.embed(["a"]))
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0
    embedder.close()


def test_overlapping_calls_share_batches_off_the_event_loop():
    """While one batch runs, waiting calls gather into the next one; the model never runs in the event loop's thread."""
    embedder = OnnxEmbedder(threads=1, cache_size=0)
    counted = Counted(embedder, hold=True)

    async def scenario():
        first = asyncio.ensure_future(embedder.embed(["first"]))
        await asyncio.to_thread(counted.entered.wait, 10)
        others = [asyncio.ensure_future(embedder.embed([f"text {n}"])) for n in range(10)]
        await asyncio.sleep(0)  # lets every call file its text
        counted.gate.set()
        await asyncio.gather(first, *others)

    asyncio.run(scenario())
    embedder.close()
    assert [len(batch) for batch in counted.batches] == [1, 10]
    assert threading.get_ident() not in counted.threads


def test_a_cancelled_call_leaves_the_others_alone():
    """A caller that gives up neither stops nor spoils what another waits for."""
    embedder = OnnxEmbedder(threads=1, cache_size=0)
    counted = Counted(embedder, hold=True)

    async def scenario():
        given_up = asyncio.ensure_future(embedder.embed(["x", "y"]))
        await asyncio.to_thread(counted.entered.wait, 10)
        kept = asyncio.ensure_future(embedder.embed(["y", "z"]))
        await asyncio.sleep(0)
        given_up.cancel()
        counted.gate.set()
        assert len(await kept) == 2
        with pytest.raises(asyncio.CancelledError):
            await given_up

    asyncio.run(scenario())
    embedder.close()


def test_a_model_that_fails_is_told_to_every_caller_and_then_forgotten():
    """An error in the runtime reaches all calls of the batch; the next call runs again."""
    embedder = OnnxEmbedder(threads=1, cache_size=4)
    real = embedder._lanes._run

    def fails(texts):
        raise RuntimeError("out of memory")

    async def scenario():
        embedder._lanes._run = fails
        results = await asyncio.gather(embedder.embed(["a"]), embedder.embed(["a", "b"]), return_exceptions=True)
        assert all("out of memory" in str(error) for error in results)
        # a call is told at its first failure: what else it asked for may still be on its way through the one lane
        await asyncio.wrap_future(embedder._lanes._executor.submit(int))
        embedder._lanes._run = real
        assert len(await embedder.embed(["a", "b"])) == 2

    asyncio.run(scenario())
    embedder.close()


def test_a_model_whose_answers_depend_on_the_batch_is_run_one_text_at_a_time(monkeypatch):
    """The check at start finds a model that scales by the whole batch (as quantisation on the fly does)."""
    real = onnx_embedder.open_session

    class Leaky:
        def __init__(self, session):
            self._session = session

        def __getattr__(self, name):
            return getattr(self._session, name)

        def run(self, outputs, feed):
            hidden = self._session.run(outputs, feed)[0]
            step = np.abs(hidden).max() / 127
            return [np.round(hidden / step) * step]

    monkeypatch.setattr(onnx_embedder, "open_session", lambda *args: Leaky(real(*args)))
    embedder = OnnxEmbedder(cache_size=0)
    assert embedder.batch_size == 1

    async def both():
        return await embedder.embed(SENTENCES), [(await embedder.embed([text]))[0] for text in SENTENCES]

    together, apart = asyncio.run(both())
    embedder.close()
    assert [v.tobytes() for v in together] == [v.tobytes() for v in apart]


def test_a_folder_is_a_model_too_and_its_fingerprint_follows_its_content(tmp_path, embedder):
    """A folder gives the packaged model's vectors; other words, pooling or window give another fingerprint."""
    packaged = onnx_embedder._packaged()
    folder = tmp_path / "mini"
    folder.mkdir()
    shutil.copy(packaged.onnx, folder / "model.onnx")
    shutil.copy(packaged.tokenizer, folder / "tokenizer.json")
    same = OnnxEmbedder(folder)
    assert (same.model, same.fingerprint) == ("mini", embedder.fingerprint)
    ours, theirs = asyncio.run(same.embed(["a b c"])), asyncio.run(embedder.embed(["a b c"]))
    assert ours[0].tobytes() == theirs[0].tobytes()
    same.close()

    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 8}))
    first_token = OnnxEmbedder(folder)
    assert first_token.coverage("one two three four five six seven").truncated
    assert first_token.fingerprint != embedder.fingerprint
    first_token.close()

    words = json.loads((folder / "tokenizer.json").read_text())
    words["model"]["vocab"]["factsieveword"] = 30522 - 1
    (folder / "tokenizer.json").write_text(json.dumps(words))
    other = OnnxEmbedder(folder, pooling="mean", max_tokens=256)
    assert other.fingerprint not in {embedder.fingerprint, first_token.fingerprint}
    other.close()


def test_bad_folders_are_refused_by_name(tmp_path):
    """A missing folder, an empty one, one without a tokenizer, two models, a broken file: each is refused with its path."""
    with pytest.raises(BadSettings, match="does not exist"):
        OnnxEmbedder(tmp_path / "nowhere")
    with pytest.raises(BadSettings, match="found: none"):
        OnnxEmbedder(tmp_path)
    (tmp_path / "a.onnx").write_bytes(b"not a model")
    with pytest.raises(BadSettings, match=r"tokenizer\.json"):
        OnnxEmbedder(tmp_path)
    shutil.copy(onnx_embedder._packaged().tokenizer, tmp_path / "tokenizer.json")
    with pytest.raises(BadSettings, match="can not be loaded"):
        OnnxEmbedder(tmp_path)
    (tmp_path / "b.onnx").write_bytes(b"not a model")
    with pytest.raises(BadSettings, match=r"a\.onnx, b\.onnx"):
        OnnxEmbedder(tmp_path)
    with pytest.raises(BadSettings, match="threads"):
        OnnxEmbedder(threads=0)


@pytest.mark.shared
def test_real_facts_have_one_vector_each(shared: Path, embedder):
    """400 facts of real conversations: asked in shuffled chunks of random size, every vector is bit-equal to the first pass's."""
    lines = (shared / "data" / "streams" / "locomo_observations.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines[:400]]
    rng = random.Random(4)

    async def scenario():
        first = dict(zip(texts, await embedder.embed(texts), strict=True))
        shuffled = rng.sample(texts, len(texts))
        while shuffled:
            size = rng.randint(1, 60)
            chunk, shuffled = shuffled[:size], shuffled[size:]
            for text, vector in zip(chunk, await embedder.embed(chunk), strict=True):
                assert vector.tobytes() == first[text].tobytes()

    asyncio.run(scenario())


class Counted:
    """Counts what an embedder runs; `hold` keeps its first batch in the lane until `gate` is set."""

    def __init__(self, embedder, *, hold=False):
        self.batches, self.threads = [], set()
        self.entered, self.gate = threading.Event(), threading.Event()
        if not hold:
            self.gate.set()
        self._real = embedder._lanes._run
        embedder._lanes._run = self

    def __call__(self, texts):
        self.batches.append(list(texts))
        self.threads.add(threading.get_ident())
        self.entered.set()
        assert self.gate.wait(10)
        return self._real(texts)

    @property
    def texts(self):
        return [text for batch in self.batches for text in batch]
