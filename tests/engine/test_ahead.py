"""Vectors of a lane's next wave are computed while the wave before it is decided: once each, and only where they will be needed."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from factsieve.adapters.memory import MemoryOutbox
from factsieve.core.errors import Bug, Transient
from factsieve.engine import ports
from factsieve.ports import Message, Vector
from tests.engine.harness import ToyEmbedder, World
from tests.engine.test_lane import Touchy
from tests.engine.test_wave import Embedding

TEXTS = [f"statement {number} is about subject {number} alone" for number in range(6)]


class Watching(MemoryOutbox):
    """An outbox that notes what had been embedded when the first messages were sent."""

    def __init__(self, embedder: ToyEmbedder) -> None:
        super().__init__()
        self.seen: list[str] | None = None
        self._embedder = embedder

    async def send(self, messages: Sequence[Message]) -> None:
        if self.seen is None:
            self.seen = list(self._embedder.embedded)
        await super().send(messages)


class Failing(ToyEmbedder):
    """Fails the first time that it is asked for a certain text."""

    def __init__(self, text: str, error: Exception) -> None:
        super().__init__()
        self._text = text
        self._error: Exception | None = error

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self._text in texts and self._error is not None:
            error, self._error = self._error, None
            raise error
        return await super().embed(texts)


def test_the_next_wave_is_embedded_before_this_one_is_told() -> None:
    """A lane on its own keeps the embedder busy, and every text is embedded once."""
    world = World(wave_events=2)
    outbox = Watching(world.embedder)
    world.run([world.record(text) for text in TEXTS], outbox=outbox)
    assert outbox.seen == TEXTS[:4]
    assert world.embedder.embedded == TEXTS
    assert world.observer.embeddings == len(TEXTS)


def test_repeats_are_not_embedded_ahead() -> None:
    """Where a wave needed no vectors the next one's are not computed ahead: a stream of repeats costs no embedding at all."""
    world = World(wave_events=2)
    world.run([world.record(text) for text in TEXTS])
    world.embedder.embedded.clear()
    world.run([world.record(text, 60) for text in TEXTS])
    assert world.embedder.embedded == []


def test_known_events_are_not_embedded_ahead() -> None:
    """Events that come again have their decision, whatever the wave before them needed."""
    world = World(wave_events=2)
    records = [world.record(text) for text in TEXTS]
    world.run(records)
    world.embedder.embedded.clear()
    world.run(records)
    assert world.embedder.embedded == []


def test_given_vectors_are_not_computed() -> None:
    """A candidate of the next wave that brings its vector along is not embedded."""
    world = World(wave_events=2)
    given: dict[str, Any] = {"embedding": [1.0] * world.embedder.dimension, "embedding_model": world.embedder.model}
    world.run([world.record(text, **(given if number >= 2 else {})) for number, text in enumerate(TEXTS)])
    assert world.embedder.embedded == TEXTS[:2]


@pytest.mark.parametrize("error", [Transient("model", "busy"), Bug("no")])
def test_a_failure_ahead_is_met_again(error: Exception) -> None:
    """What fails ahead is asked for again by its own wave, so nothing is lost and nobody else is held up."""
    embedder: Any = Failing(TEXTS[3], error)
    world = World(wave_events=2, embedder=embedder)
    world.run([world.record(text) for text in TEXTS])
    assert sorted(embedder.embedded) == sorted(TEXTS)
    assert [decision["event_id"] for decision in world.decisions()] == [f"e{n}" for n in range(len(TEXTS))]


def test_what_nobody_asks_for_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors that were computed ahead for events which went elsewhere make room for others."""
    monkeypatch.setattr(ports, "_AHEAD", 2)
    world = World()

    async def body() -> None:
        gathered = ports.Gathered(world.ports(), world.observer, batch_items=128)
        for text in TEXTS:
            gathered.embed_ahead([text])
        assert list(gathered._ahead) == TEXTS[-2:]
        vectors = await gathered.embed(TEXTS)
        assert np.array_equal(vectors, [world.embedder.vector(text) for text in TEXTS])
        assert not gathered._ahead

    asyncio.run(body())


def test_repeats_behind_a_command_are_not_embedded_ahead() -> None:
    """A wave of commands tells nothing of what the next one needs."""
    world = World(wave_events=1)
    world.run([world.record(text) for text in TEXTS[:2]])
    first, second = world.current()
    world.embedder.embedded.clear()
    world.run([world.command("retract", {"fact_id": first.fact_id}), world.record(second.text, 60)])
    assert second.text not in world.embedder.embedded


def test_a_command_in_the_next_wave_is_passed_over() -> None:
    """It has no text to embed."""
    world = World(wave_events=1)
    world.run([world.record(TEXTS[0])])
    [fact] = world.current()
    world.run([world.record(TEXTS[1]), world.command("retract", {"fact_id": fact.fact_id}), world.record(TEXTS[2])])
    assert sorted(fact.text for fact in world.current()) == TEXTS[1:3]
    assert len(world.done) == 4


def test_one_repeat_in_ten_is_no_crowd() -> None:
    """The next wave's vectors are computed ahead where nine of ten statements were new, and not where fewer were."""
    for repeats, ahead in ((1, True), (2, False)):
        world = World(wave_events=10)
        world.run([world.record(f"old statement {number}") for number in range(repeats)])
        world.embedder.embedded.clear()
        outbox = Watching(world.embedder)
        first = [f"old statement {number}" for number in range(repeats)]
        first += [f"new statement {number}" for number in range(10 - repeats)]
        world.run([world.record(text, 60) for text in (*first, "a later one")], outbox=outbox)
        assert outbox.seen is not None
        assert ("a later one" in outbox.seen) is ahead


def test_while_events_are_tried_alone_nothing_is_embedded_ahead() -> None:
    """One of them may be what the embedder fails on: it is not to fail together with others again."""
    embedder = Embedding(Touchy())
    world = World(wave_events=3, embedder=embedder)
    world.run([world.record(text) for text in ("alpha runs", "beta runs", "a poison", *TEXTS[:3])])
    alone = embedder.calls[embedder.calls.index(["alpha runs"]) :]
    assert [call for call in alone if len(call) > 1] == [TEXTS[:3]]
