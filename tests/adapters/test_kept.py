"""What is kept is what was computed, for the model that computed it."""

import asyncio
import threading

import numpy as np
import pytest

from factsieve.adapters.kept import Keep, KeptEmbedder, keeping_scores
from factsieve.adapters.nli_model import PairScores
from factsieve.core.errors import BadSettings
from factsieve.core.replace import NliScores
from factsieve.ports import Coverage, Embedder


class Counting:
    """An embedder that counts what it is asked for: a text's vector is made of its characters."""

    model, dimension = "counting", 4

    def __init__(self, fingerprint="f"):
        self.fingerprint, self.asked = fingerprint, []

    async def embed(self, texts):
        self.asked += texts
        rows = [np.array([len(t), sum(map(ord, t)) % 997, 1, len(self.fingerprint)], np.float32) for t in texts]
        return [row / np.linalg.norm(row) for row in rows]

    def coverage(self, text):
        return Coverage(truncated=len(text) > 3, unknown_share=0.0)


@pytest.fixture
def keep(tmp_path):
    opened = Keep(tmp_path / "folder" / "kept.sqlite")
    yield opened
    opened.close()


def test_a_vector_is_computed_once_and_comes_back_bit_by_bit(keep, tmp_path):
    """Repeats, also within a call and after opening the file again, cost no model run and change no bit."""
    inner = Counting()
    embedder: Embedder = KeptEmbedder(inner, keep)
    texts = ["one", "two", "one", "\ud800 half a character"]
    first = asyncio.run(embedder.embed(texts))
    assert inner.asked == ["one", "two", "\ud800 half a character"]
    again = Keep(tmp_path / "folder" / "kept.sqlite")
    second = asyncio.run(KeptEmbedder(Counting(), again).embed(texts))
    again.close()
    direct = asyncio.run(Counting().embed(texts))
    for one, other, plain in zip(first, second, direct, strict=True):
        assert one.tobytes() == other.tobytes() == plain.tobytes()
    assert embedder.coverage("long text").truncated


def test_another_model_shares_nothing(keep):
    """The fingerprint is part of the key."""
    one, other = Counting("f"), Counting("gg")
    asyncio.run(KeptEmbedder(one, keep).embed(["text"]))
    (vector,) = asyncio.run(KeptEmbedder(other, keep).embed(["text"]))
    assert other.asked == ["text"]
    assert vector.tobytes() == asyncio.run(Counting("gg").embed(["text"]))[0].tobytes()


def test_scores_are_kept_by_model_and_order(keep):
    """A pair and the same pair the other way round are two keys; another model's scores are not taken; threads may share the file."""
    asked = []

    def score(pairs):
        asked.extend(pairs)
        return [PairScores(NliScores(len(a) / 10, len(b) / 10, None, 0.5), truncated=False) for a, b in pairs]

    kept = keeping_scores(keep, "f", score)
    first = kept([("a", "bb"), ("bb", "a")])
    found = []
    threads = [threading.Thread(target=lambda: found.append(kept([("a", "bb"), ("bb", "a")]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [first] * 4
    assert first[0].scores == NliScores(0.1, 0.2, None, 0.5)
    assert len(asked) == 2
    keeping_scores(keep, "g", score)([("a", "bb")])
    assert len(asked) == 3


def test_a_file_that_is_something_else_is_refused(tmp_path):
    """The message names it."""
    path = tmp_path / "notes.txt"
    path.write_text("no database " * 100)
    with pytest.raises(BadSettings, match=r"notes\.txt"):
        Keep(path)
