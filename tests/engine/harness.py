"""An engine on memory ports, with a toy embedder and scripted judges: small enough to run thousands of times."""

import asyncio
import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest

from factsieve.adapters.memory import ManualClock, MemoryFacts, MemoryLedger, MemoryOutbox, MemoryWindow
from factsieve.core.facts import Fact, Kind, Record
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policies, Policy
from factsieve.engine import engine as engine_module
from factsieve.engine.desk import HoldSettings
from factsieve.engine.engine import Engine, EngineSettings
from factsieve.engine.lane import LaneSettings
from factsieve.engine.ports import HoldsAll, Ports, QuietObserver
from factsieve.engine.wave import WaveSettings
from factsieve.ports import Coverage, Vector
from factsieve.wire import signing
from factsieve.wire.topics import Limits

DIMENSION = 64
OPERATOR_KEY = b"operator"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@functools.cache
def word_vector(word: str) -> np.ndarray:
    """Return a random direction that belongs to a word."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSION)


class ToyEmbedder:
    """Sums of word directions: texts that share words are near. Counts what it was asked for."""

    model = "toy"
    dimension = DIMENSION
    fingerprint = "toy-1"

    def __init__(self) -> None:
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.embedded += texts
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Vector:
        total = sum((word_vector(word) for word in text.lower().split()), np.zeros(DIMENSION)) + 0.01 * word_vector("")
        return (total / np.linalg.norm(total)).astype(np.float32)

    def coverage(self, text: str) -> Coverage:
        return Coverage(truncated=False, unknown_share=0.0)


@dataclass
class ScriptedJudge:
    """Answers by a function of the question; keeps the questions."""

    script: Callable[[Question], Verdict]
    name: str = "scripted"
    is_remote: bool = False
    confirms_skips: bool = False
    questions: list[Question] = field(default_factory=list)

    async def answer(self, question: Question) -> Verdict:
        self.questions.append(question)
        if self.is_remote:
            await asyncio.sleep(0)
        return self.script(question)


def by_digest(question: Question) -> Verdict:
    """Return an arbitrary but reproducible verdict, so that every kind of plan comes about."""
    digest = hashlib.sha256((question.text + question.neighbours[0].text).encode()).digest()
    allowed = sorted(question.allowed)
    kind = allowed[digest[0] % len(allowed)]
    many = kind is Kind.SUPERSEDE and digest[1] % 3 == 0
    targets = tuple(range(len(question.neighbours)))[: 2 if many else 1]
    return Verdict(choice=kind, judge="digest", targets=targets, reason="by digest")


def always(kind: Kind, **more: Any) -> Callable[[Question], Verdict]:
    """Return a script that answers one kind about the first neighbour."""
    return lambda question: Verdict(choice=kind, judge="scripted", targets=(0,), **more)


def decoder_fails_on(monkeypatch: pytest.MonkeyPatch, part: bytes, error: type[Exception]) -> None:
    """Have the engine's decoder fail on each record whose value holds `part`."""
    real = engine_module.decode

    def decode(record: Record, *rest: Any) -> Any:
        if part in (record.value or b""):
            raise error
        return real(record, *rest)

    monkeypatch.setattr(engine_module, "decode", decode)


class Counting(QuietObserver):
    """Counts embeddings and neighbour queries."""

    def __init__(self) -> None:
        self.embeddings = 0
        self.queries = 0

    def searched(self, embeddings: int, queries: int) -> None:
        self.embeddings += embeddings
        self.queries += queries


class World:
    """Stores that outlive engines, one embedder, one judge; `run` feeds records to a fresh engine over them."""

    def __init__(
        self,
        script: Callable[[Question], Verdict] | None = None,
        *,
        policy: Policy | None = None,
        wave_events: int = 64,
        slack: int = 8,
        remote: bool = False,
        confirms_skips: bool = False,
        max_in_flight: int = 4096,
        hold: HoldSettings | None = None,
        command_keys: dict[str, bytes] | None = None,
        embedder: Any = None,
    ) -> None:
        self.facts = MemoryFacts()
        self.ledger = MemoryLedger()
        self.window = MemoryWindow()
        self.outbox = MemoryOutbox()
        self.clock = ManualClock(datetime(2026, 12, 1, tzinfo=UTC), auto_advance=True)
        self.embedder = embedder or ToyEmbedder()
        self.judge = ScriptedJudge(script or always(Kind.ADD), is_remote=remote, confirms_skips=confirms_skips)
        self.fence: Any = HoldsAll()
        self.observer = Counting()
        self.policy = policy or Policy(skip_guard="off")
        self.settings = EngineSettings(
            policies=Policies(self.policy),
            lane=LaneSettings(wave_events=wave_events),
            wave=WaveSettings(slack=slack),
            limits=Limits(embedding_model=self.embedder.model, embedding_dimension=self.embedder.dimension),
            hold=hold or HoldSettings(),
            max_in_flight=max_in_flight,
            command_keys=command_keys or {"op": OPERATOR_KEY},
        )
        self.offset = 0
        self.done: list[tuple[str, int, int]] = []

    def ports(self, **replaced: Any) -> Ports:
        values = {
            "facts": self.facts,
            "ledger": self.ledger,
            "window": self.window,
            "embedder": self.embedder,
            "judge": self.judge,
            "local_judge": self.judge,
            "outbox": self.outbox,
            "clock": self.clock,
            "fence": self.fence,
        }
        return Ports(**{**values, **replaced})

    def record(
        self,
        text: str,
        at_s: float = 0,
        *,
        namespace: str = "team",
        event: str | None = None,
        replay: str | None = None,
        **more: Any,
    ) -> Record:
        """Return the next record of the input topic: a statement made `at_s` seconds after the start."""
        at = START + timedelta(seconds=at_s)
        value = {"namespace": namespace, "text": text, "source": "remember", "occurred_at": at.isoformat(), **more}
        headers = [("ce_specversion", b"1.0"), ("ce_type", b"fact.candidate.v1"), ("ce_source", b"test")]
        headers.append(("ce_id", (event or f"e{self.offset}").encode()))
        if replay is not None:
            headers.append(("replay-id", replay.encode()))
        return self.raw(json.dumps(value).encode(), key=namespace.encode(), headers=tuple(headers))

    def raw(
        self, value: bytes | None, *, key: bytes | None = b"team", headers: tuple[tuple[str, bytes], ...] = ()
    ) -> Record:
        """Return the next record with this value."""
        self.offset += 1
        timestamp_ms = int(START.timestamp() * 1000)
        return Record("candidate-facts", 0, self.offset - 1, timestamp_ms, key, value, headers)

    def command(
        self,
        kind: str,
        body: dict[str, Any],
        *,
        namespace: str = "team",
        event: str | None = None,
        key: bytes | None = None,
    ) -> Record:
        """Return the next record: an operator's command, signed with the key `op` (or with another one)."""
        value = json.dumps({"namespace": namespace, **body}).encode()
        ce = {
            "ce_type": f"fact.{kind}.v1",
            "ce_source": "desk",
            "ce_id": event or f"c{self.offset}",
            "ce_time": self.clock.now().isoformat(),
        }
        signature = signing.sign(key or OPERATOR_KEY, namespace=namespace, value=value, **ce)
        headers = {"ce_specversion": "1.0", **ce, "signature": signature, "key-id": "op"}
        return self.raw(value, key=namespace.encode(), headers=tuple((k, v.encode()) for k, v in headers.items()))

    def run(self, records: Sequence[Record], **replaced: Any) -> None:
        """Feed records to a fresh engine and wait until all are done."""
        asyncio.run(self.feed(records, **replaced))

    async def feed(self, records: Sequence[Record], **replaced: Any) -> None:
        engine = Engine(self.ports(**replaced), self.settings, self.observer)
        await engine.start()
        for record in records:
            await engine.submit(record, lambda r=record: self.done.append((r.topic, r.partition, r.offset)))
        assert await engine.drain(None, 60.0), f"not done: {engine.in_flight} in flight, failed with {engine.failure!r}"
        await engine.stop()

    def decisions(self) -> list[dict[str, Any]]:
        """Return every reported decision, in order."""
        return [json.loads(message.value or b"") for message in self.outbox.of("fact-decisions")]

    def current(self, namespace: str | None = "team") -> list[Fact]:
        return asyncio.run(self.facts.select(namespace))

    def timeline(self, namespace: str = "team") -> list[tuple[str, datetime, datetime]]:
        """Return what is believed now, as (text, from, to), without empty intervals."""
        rows = asyncio.run(self.facts.select(namespace, current_only=False))
        believed = [row for row in rows if row.status in ("current", "past") and row.valid_from < row.valid_to]
        return sorted((row.valid_from, row.valid_to, row.text) for row in believed)

    def state(self) -> list[dict[str, Any]]:
        """Return every stored point, apart from system times."""
        rows = asyncio.run(self.facts.select(None, current_only=False))
        states = [msgspec.to_builtins(row) for row in rows]
        for state in states:
            state.pop("recorded_at")
            state["retired_at"] = "retired_at" in state
        return sorted(states, key=lambda state: state["point_id"])


def stripped(decision: dict[str, Any]) -> dict[str, Any]:
    """Return a reported decision without system times and latencies."""
    return {
        k: v
        for k, v in decision.items()
        if k
        in {
            "event_id",
            "decision",
            "reason",
            "fact_id",
            "matched_id",
            "superseded_ids",
            "dedup_signal",
            "band",
            "review",
            "revision",
            "resolved_at",
            "conflicts_with",
            "decision_id",
            "via",
            "neighbours",
        }
    }
