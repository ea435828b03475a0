"""What the demonstration does, step by step; how it is shown is in `demo`."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from factsieve.cli.lines import BadLine, Line
from factsieve.cli.progress import Steps
from factsieve.cli.statements import Statements
from factsieve.core.errors import Transient
from factsieve.core.facts import Fact
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Conversation, Decision, Reader
from factsieve.operations.stores import reading

IDLE_TIMEOUT_S: Final = 60.0


class Pass(msgspec.Struct, frozen=True):
    """One time through the input: the decisions in order, and how long it took from the first statement sent to the last decision read."""

    decisions: list[Decision]
    seconds: float

    @property
    def per_second(self) -> float:
        """Return the events per second."""
        return len(self.decisions) / self.seconds if self.seconds else 0.0


async def embed_alone(connected: Connected, texts: Sequence[str]) -> float:
    """Return how many events per second the bare embedder does: these texts in one call, nothing else running, cache empty.

    It embeds repeated texts once, as it does for the worker.
    """
    from factsieve.assembly.wiring import build_embedder

    embedder = build_embedder(connected.settings)
    await embedder.embed(["warm"])
    began = time.perf_counter()
    await embedder.embed(list(texts))
    return len(texts) / (time.perf_counter() - began)


async def stream(connected: Connected, lines: Sequence[Line | BadLine], now: datetime, steps: Steps) -> Pass:
    """Send all lines through Kafka and wait for all decisions. Raises Transient where some do not come."""
    statements = Statements(lines, now)
    async with Conversation(connected.kafka, connected.topics) as conversation:
        began = time.perf_counter()
        told = await statements.tell(conversation, connected.topics, steps, idle_timeout_s=IDLE_TIMEOUT_S)
        seconds = time.perf_counter() - began
    if told.missing:
        raise Transient(
            "worker", f"{len(told.missing)} decisions did not come within {IDLE_TIMEOUT_S:g} s of the last one"
        )
    return Pass(told.decisions, seconds)


async def all_rows(connected: Connected) -> list[Fact]:
    """Return every point of the facts' collection, history included."""
    async with reading(connected.settings) as stores:
        return await stores.facts.select(None, current_only=False)


async def dead_letters(connected: Connected) -> int:
    """Return how many records are on the dead letter topic."""
    async with Reader(connected.kafka, connected.topics.dead_letters) as reader:
        return sum(end - reader.begins[part] for part, end in reader.ends.items())


def changes(before: Sequence[Fact], after: Sequence[Fact]) -> tuple[int, int]:
    """Return how many points are new, and how many differ in anything at all."""
    known = {fact.point_id: fact for fact in before}
    new = [fact for fact in after if fact.point_id not in known]
    changed = [fact for fact in after if fact.point_id in known and known[fact.point_id] != fact]
    return len(new), len(changed) + len(set(known) - {fact.point_id for fact in after})


def same_decisions(first: Sequence[Decision], second: Sequence[Decision]) -> int:
    """Return how many statements got the very decision again that they had the first time."""
    return sum(one.get("decision_id") == two.get("decision_id") for one, two in zip(first, second, strict=True))
