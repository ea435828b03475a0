"""Input lines as candidate events, told over Kafka, with their decisions in the order of the lines."""

import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from factsieve.cli.lines import BadLine, Line
from factsieve.cli.progress import Steps
from factsieve.core.facts import DedupSignal
from factsieve.operations.conversation import Conversation, Decision, EventName
from factsieve.ports import Message
from factsieve.wire.outbound import cloud_event_headers
from factsieve.wire.topics import CANDIDATE, Topics

CE_SOURCE: Final = "factsieve/remember"
"""`ce_source` of statements told by a command: with the namespace and a line's id it names the event for good."""


class Told(msgspec.Struct, frozen=True):
    """What became of the lines: their decisions in order (refused ones too), and the lines that no decision came for."""

    decisions: list[Decision]
    missing: list[Line]


class Statements:
    """Lines as events. A line without an id gets a random one, so that telling it again is a new event."""

    def __init__(self, lines: Iterable[Line | BadLine], now: datetime) -> None:
        self._now = now
        self.lines: dict[EventName, Line] = {}
        self._refused: dict[int, Decision] = {}
        for line in lines:
            if isinstance(line, BadLine):
                self._refuse(line.number, line.code, line.message)
                continue
            name = (line.namespace, CE_SOURCE, line.event_id or str(uuid.uuid4()))
            if name in self.lines:
                self._refuse(
                    line.number,
                    "event_id_conflict",
                    f"id {line.event_id!r} stands in line {self.lines[name].number} already: give each line its own",
                )
                continue
            self.lines[name] = line

    def __len__(self) -> int:
        return len(self.lines)

    def _refuse(self, number: int, code: str, message: str) -> None:
        self._refused[number] = refusal(number, code, message)

    def messages(self, topics: Topics) -> Iterator[tuple[EventName, Message]]:
        """Yield every event with its name."""
        for name, line in self.lines.items():
            headers = cloud_event_headers(CANDIDATE, name[2], self._now, ce_source=CE_SOURCE)
            yield name, Message(topics.candidates, line.namespace.encode("utf-8"), line.encode(), headers)

    async def tell(self, conversation: Conversation, topics: Topics, steps: Steps, *, idle_timeout_s: float) -> Told:
        """Send all events and wait for their decisions. Raises Transient where Kafka does not answer."""
        answered = await conversation.tell(
            self.messages(topics), idle_timeout_s=idle_timeout_s, on_decision=lambda _name, _decision: steps.advance()
        )
        by_number = self._refused | {self.lines[name].number: decision for name, decision in answered.items()}
        for name, decision in answered.items():
            decision.setdefault("text", self.lines[name].value.get("text"))
        unanswered = [line for name, line in self.lines.items() if name not in answered]
        return Told([by_number[number] for number in sorted(by_number)], unanswered)


def refusal(number: int, code: str, message: str) -> dict[str, Any]:
    """Return what a line that never was an event is reported as: a reject, as on `fact-decisions`."""
    return {
        "event_id": f"line {number}",
        "namespace": None,
        "decision": None,
        "reason": "rejected",
        "fact_id": None,
        "matched_id": None,
        "superseded_ids": [],
        "dedup_signal": msgspec.to_builtins(DedupSignal(False, 0.0, None, filtered=True)),
        "error": {"code": code, "message": f"line {number}: {message}", "field": None},
    }
