"""Whether all that is to be told of a decision fits through its topics: asked before it is recorded, for what is recorded must be told."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from factsieve.core.decision import Entry
from factsieve.core.errors import BadInput
from factsieve.core.facts import Fact
from factsieve.ports import Message
from factsieve.wire import outbound
from factsieve.wire.headers import MAX_HEADER_BYTES
from factsieve.wire.topics import Topics

_FRAME_BYTES: Final = 1_024
"""What Kafka puts around a record that travels alone, compressed at its worst."""
_CHAR_BYTES: Final = 6
_FLOAT_BYTES: Final = 28
_POINT_BYTES: Final = 4_000
_FIXED_BYTES: Final = 150_000
"""The most that characters, numbers and points take as JSON, apart from texts and attributes, and everything else of a decision."""


class Room(msgspec.Struct, frozen=True):
    """The most bytes of one message, by topic (none named: no bound), and the most that a candidate's attributes take."""

    topics: Mapping[str, int] = {}
    attributes: int = 16_384


def too_large(entry: Entry, topics: Topics, room: Room) -> BadInput | None:
    """Return the refusal of an event whose decision can not be told, or None."""
    if not room.topics or _at_most(entry, room) <= min(room.topics.values()):
        return None
    for message in _messages(entry, topics):
        most, size = room.topics.get(message.topic), size_of(message)
        if most is not None and size > most:
            return BadInput(
                "decision_too_large",
                f"what is to be told of it on {message.topic} takes {size} bytes, and {most} are let through; it changes "
                f"{len(entry.effects)} points. Raise kafka.max_request_bytes and the topic's max.message.bytes, or let fewer and shorter "
                "statements share a slot",
            )
    return None


def size_of(message: Message) -> int:
    """Return the most bytes that a message takes on its way."""
    headers = sum(4 * len(name) + len(value or b"") + 16 for name, value in message.headers)
    return len(message.key or b"") + len(message.value or b"") + headers + _FRAME_BYTES


def _at_most(entry: Entry, room: Room) -> int:
    """Return what nothing that is told of an entry can be above, without writing it."""
    decision = entry.decision
    points: list[Fact] = [*entry.effects, *(change.fact for change in entry.changes)]
    chars = len(decision.text) + len(decision.matched_text or "")
    chars += sum(len(note.ours) + len(note.theirs) for note in decision.findings)
    chars += sum(len(note.reason) for note in decision.judges)
    linked = 0
    for fact in points:
        chars += len(fact.text)
        linked += len(fact.supersedes) + len(fact.absorbed) + len(fact.compatible_with) + len(fact.conflicts_with)
    for change in entry.changes:
        chars += sum(len(one.text) for one in change.replaced)
        linked += 5 * len(change.replaced)
    floats = sum(len(vector) for vector in entry.vectors.values())
    parts = (
        len(points)
        + len(entry.supersessions)
        + len(decision.neighbours)
        + len(decision.findings)
        + len(decision.judges)
    )
    return (
        _CHAR_BYTES * (chars + 40 * linked)
        + _FLOAT_BYTES * floats
        + _POINT_BYTES * parts
        + room.attributes * (len(points) + 1)
        + _FIXED_BYTES
    )


def _messages(entry: Entry, topics: Topics) -> Iterator[Message]:
    """Yield what is told of an entry, the decision at its largest: told again for a replay with a long name."""
    decision = entry.decision
    met_at, trace = decision.coordinates, decision.traceparent
    name = "r" * MAX_HEADER_BYTES
    yield outbound.decision_message(topics, entry, replayed=True, replay_id=name, met_at=met_at, traceparent=trace)
    for change in entry.changes:
        yield outbound.change_message(topics, change, decision, traceparent=trace)
    for line in entry.supersessions:
        yield outbound.supersession_message(topics, line, traceparent=trace)
    for fact in entry.effects:
        if fact.is_head:
            yield outbound.fact_message(topics, fact)
