"""Embeddings over the OpenAI API: order, batches, norms, and that nonsense never becomes a vector."""

import asyncio
import json
import math

import numpy as np
import pytest
from fake_openai import FakeOpenAI, Step, fails

from factsieve.adapters.openai_embedder import OpenAIEmbedder
from factsieve.core.errors import BadInput, BadSettings, Bug, Transient
from factsieve.ports import Embedder


def vector_of(text):
    return [float(len(text)), 3.0, 4.0]


def embeds(body):
    return Step(vectors=[vector_of(text) for text in body["input"]])


def run(work, *script, **options):
    """Return what `work(embedder, server)` returns with a server that follows the script."""

    async def waits(duration_s):
        await asyncio.sleep(0)

    async def scenario():
        async with FakeOpenAI(*script) as server:
            embedder = OpenAIEmbedder(f"{server.url}#e", **({"sleep": waits, "timeout_s": 5.0} | options))
            try:
                return await work(embedder, server)
            finally:
                await embedder.close()

    return asyncio.run(scenario())


def test_learns_its_dimension_and_embeds_in_order():
    """After the probe the port's promises hold: dimension, model, fingerprint, unit vectors of float32 in the order of the texts."""

    async def work(embedder, server):
        with pytest.raises(Bug, match="probe"):
            _ = embedder.dimension
        assert await embedder.probe() == 3
        assert isinstance(embedder, Embedder)
        vectors = await embedder.embed(["a", "bbb", "a"])
        return embedder.model, embedder.dimension, embedder.fingerprint, vectors, server.requests

    model, dimension, fingerprint, vectors, requests = run(work, embeds)
    assert (model, dimension, len(fingerprint)) == ("e", 3, 12)
    assert vectors[0] is vectors[2]
    for text, vector in (("a", vectors[0]), ("bbb", vectors[1])):
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, np.array(vector_of(text)) / np.linalg.norm(vector_of(text)), atol=1e-6)
    assert requests[-1].path == "/v1/embeddings"
    assert requests[-1].body["input"] == ["a", "bbb"]


def test_batches_calls_at_once_and_cache():
    """Texts go in batches, no more calls at once than allowed, and a text that was asked for is not asked for again."""

    async def work(embedder, server):
        texts = [f"text {n}" for n in range(25)]
        vectors = await embedder.embed(texts)
        again = await embedder.embed(list(reversed(texts)))
        assert [v.tobytes() for v in again] == [v.tobytes() for v in reversed(vectors)]
        return [len(request.body["input"]) for request in server.requests], server.most_at_once

    sizes, most = run(work, embeds, batch_size=10, concurrency=2, dimension=3)
    assert sorted(sizes) == [5, 10, 10]
    assert most <= 2


def test_an_order_of_the_servers_own_is_put_right():
    """Vectors are told apart by their index, not by their place in the reply."""

    def shuffled(body):
        data = [
            {"object": "embedding", "index": n, "embedding": vector_of(text)} for n, text in enumerate(body["input"])
        ]
        return Step(body=json.dumps({"object": "list", "data": data[::-1], "model": "e", "usage": {}}).encode())

    async def work(embedder, server):
        return await embedder.embed(["a", "bbbb"])

    first, second = run(work, shuffled)
    assert first[0] < second[0]


NONSENSE = {
    "not a number": Step(vectors=[[math.nan, 1.0, 1.0]]),
    "infinite": Step(vectors=[[math.inf, 1.0, 1.0]]),
    "zero": Step(vectors=[[0.0, 0.0, 0.0]]),
    "short": Step(vectors=[[1.0, 2.0]]),
    "none": Step(vectors=[]),
    "too many": Step(vectors=[[1.0, 2.0, 3.0]] * 2),
    "words": Step(body=b'{"data": [{"index": 0, "embedding": ["x", "y", "z"]}]}'),
    "nested": Step(body=b'{"data": [{"index": 0, "embedding": [[1, 2, 3]]}]}'),
    "no data": Step(body=b'{"data": null}'),
    "another shape": Step(body=b"[1, 2]"),
    "html": Step(body=b"<html>busy</html>"),
}


@pytest.mark.parametrize("step", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_refused_and_not_remembered(step):
    """No vector that is not a finite unit vector of the right length gets through; the next call may succeed."""

    async def work(embedder, server):
        with pytest.raises(Transient, match="embeddings"):
            await embedder.embed(["a"])
        return await embedder.embed(["a"])

    (vector,) = run(work, step, embeds, dimension=3, retries=0)
    assert np.linalg.norm(vector) == pytest.approx(1.0)


@pytest.mark.parametrize("step", [fails(500), fails(429), fails(401), fails(404), Step(drop=True)])
def test_failures_are_transient_after_bounded_tries(step):
    """What may pass is tried again; what does not is raised as Transient, never as the client's own error."""

    async def work(embedder, server):
        with pytest.raises(Transient, match="embeddings"):
            await embedder.embed(["a"])
        return len(server.requests)

    calls = run(work, step, retries=2)
    assert calls == (1 if step.status in (401, 404) else 3)


def test_a_passing_failure_is_waited_out():
    """Two failures and then an answer give the answer."""

    async def work(embedder, server):
        return await embedder.embed(["a"])

    assert len(run(work, fails(503), fails(429, retry_after="1"), embeds)) == 1


def test_a_hanging_endpoint_times_out():
    """Silence ends as Transient."""

    async def work(embedder, server):
        with pytest.raises(Transient, match="time_out"):
            await embedder.embed(["a"])

    run(work, Step(hang=True), timeout_s=0.2, retries=0)


def test_a_text_that_the_model_refuses_spoils_no_other():
    """A batch that is refused is halved until the text is found; it is named as bad input, its batch mates keep their vectors."""

    def picky(body):
        return fails(400, "too odd") if "odd" in body["input"] else embeds(body)

    async def work(embedder, server):
        with pytest.raises(BadInput, match="refuses the text") as caught:
            await embedder.embed(["a", "odd", "b", "c"])
        assert (caught.value.code, caught.value.field) == ("unprocessable", "text")
        return await embedder.embed(["a", "b", "c"])

    assert len(run(work, picky, dimension=3)) == 3


def test_long_texts_are_cut_and_say_so():
    """What is sent is at most `max_chars` long, and coverage tells of which texts only a part was seen."""

    async def work(embedder, server):
        await embedder.embed(["x" * 50])
        return embedder.coverage("x" * 50), embedder.coverage("x" * 10), server.requests[0].body["input"]

    long, short, sent = run(work, embeds, max_chars=10)
    assert (long.truncated, short.truncated) == (True, False)
    assert sent == ["x" * 10]


def test_another_dimension_than_the_settings_say_is_refused_at_start():
    """The probe compares; a requested dimension is sent along."""

    async def work(embedder, server):
        with pytest.raises(BadSettings, match="vectors of 3 numbers, the settings say 8"):
            await embedder.probe()
        return server.requests[0].body["dimensions"]

    assert run(work, embeds, request_dimension=8) == 8
    with pytest.raises(BadSettings, match="batch_size"):
        OpenAIEmbedder("ollama:m", batch_size=0)


def test_discovers_its_dimension_while_blocking():
    """`discover` asks from plain code, also while an event loop runs, and the embedder works in that loop afterwards."""

    async def work(embedder, server):
        found = await asyncio.to_thread(embedder.discover)
        return found, await embedder.embed(["a"])

    found, vectors = run(work, embeds)
    assert (found, len(vectors[0])) == (3, 3)


@pytest.mark.parametrize(
    ("name", "base_url", "shown"),
    [
        ("text-embedding-3-small", None, "openai:text-embedding-3-small"),
        ("nomic-embed-text:v1.5", "http://10.0.0.7/v1", "http://10.0.0.7/v1#nomic-embed-text:v1.5"),
        ("ollama:nomic-embed-text", None, "ollama:nomic-embed-text"),
        ("http://h/v1#m", None, "http://h/v1#m"),
    ],
)
def test_bare_and_full_model_names(name, base_url, shown):
    """A bare name is OpenAI's, or of the address that is given; the vectors' model is the model's own name."""
    embedder = OpenAIEmbedder(name, base_url=base_url, api_key="k", dimension=4)
    assert shown in repr(embedder)
    assert embedder.model in name
    assert "k'" not in repr(embedder)
