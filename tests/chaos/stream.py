"""A stream of statements and commands made from a seed, and the words that it is made of.

What comes again, comes again in all ways: the same text from a tool loop, a rewording, the same event once more, the same id with
another body. What changes, changes with and without a slot, on time and late. Commands undo some of it. Every namespace is a story
of its own, and some stories are erased in part.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from factsieve.cli.statements import CE_SOURCE
from factsieve.core import ids
from factsieve.core.facts import Source
from factsieve.ports import Message
from factsieve.wire.producing import candidate_message, command_message
from factsieve.wire.topics import Topics

START = datetime(2026, 3, 1, 8, tzinfo=UTC)
SENT_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""`ce_time` of candidates, the same in all runs."""

KEY_ID = "chaos"
KEY = "a key of the chaos runs and of nothing else"
ERASING = "gone-"
"""How namespaces begin in which something is erased: what was told of it before and after differs in words."""

SERVICES = ("harbor", "beacon", "cobalt", "drift", "ember", "fjord", "garnet", "hazel", "iris", "juniper")
PEOPLE = ("ana", "ben", "chloe", "dmitri", "elena", "farid", "greta", "hiro")
REGIONS = ("oslo", "lisbon", "osaka", "quito", "tunis", "perth", "turin", "cork")
LIKES = ("tea", "coffee", "rye", "figs", "olives", "mango", "pepper", "basil")
REASONS = ("audits", "costs", "latency", "backups", "migration", "compliance")
NUMBERS = tuple(str(number) for number in range(8000, 8100))

PORT = (
    "The {who} service listens on port {value}.",
    "Port {value} is where the {who} service listens.",
    "The {who} service now listens on port {value}.",
)
REGION = (
    "The {who} service runs in the region {value}.",
    "The {who} service is running in the region {value}.",
    "The region of the {who} service is {value}.",
)
OWNER = ("The {who} service is owned by {value}.", "The owner of the {who} service is {value}.")
LIKE = ("{who} likes {value} very much.", "{who} very much likes {value}.")
MERGED = ("{who} merged pull request {value}.",)
KNOWN = ("{who} knows {value} from work.",)
ATTRIBUTES = {
    "port": (PORT, SERVICES, NUMBERS),
    "region": (REGION, SERVICES, REGIONS),
    "owner": (OWNER, SERVICES, PEOPLE),
    "like": (LIKE, PEOPLE, LIKES),
    "merged": (MERGED, PEOPLE, NUMBERS),
    "known": (KNOWN, PEOPLE, PEOPLE),
}
SINGLE = frozenset({"port", "region", "owner"})
"""Of these a subject has one at a time."""

BECAUSE = ", because of {reason}."


def words() -> list[str]:
    """Return every word that texts are made of, in lower case."""
    templates = [text for texts, _, _ in ATTRIBUTES.values() for text in texts] + [BECAUSE]
    plain = " ".join(templates).replace("{who}", " ").replace("{value}", " ").replace("{reason}", " ").lower()
    for mark in ".,":
        plain = plain.replace(mark, f" {mark} ")
    return sorted({*plain.split(), *SERVICES, *PEOPLE, *REGIONS, *LIKES, *REASONS, *NUMBERS})


@dataclass(frozen=True)
class Stream:
    """Messages in order, and of how many different events a decision or a refusal will be told."""

    messages: tuple[Message, ...]
    events: int


@dataclass
class _Told:
    """An event as it was made, so that it can come again or be spoken of."""

    namespace: str
    ce_id: str
    text: str
    slot: str | None
    source: Source
    at: datetime
    message: Message

    @property
    def key(self) -> str:
        return ids.event_key(self.namespace, CE_SOURCE, self.ce_id)


class _Maker:
    def __init__(self, seed: int, topics: Topics, now: datetime, prefix: str) -> None:
        self.rng = random.Random(f"stream {seed}")
        self.topics = topics
        self.now = now
        self.prefix = prefix
        self.told: dict[str, list[_Told]] = {}
        self.events = 0

    def stream(self, count: int) -> Iterator[Message]:
        spread = max(4, min(120, count // 25))
        namespaces = [f"team-{number}" for number in range(spread)] + [
            ERASING + str(n) for n in range(1 + spread // 12)
        ]
        # few are busy, many are quiet
        weights = [0.5 if name.startswith(ERASING) else 1.0 / (1 + rank % 17) for rank, name in enumerate(namespaces)]
        for number in range(count):
            [namespace] = self.rng.choices(namespaces, weights)
            yield self.next(number, namespace, START + timedelta(seconds=20 * number))

    def next(self, number: int, namespace: str, at: datetime) -> Message:
        rng, before = self.rng, self.told.setdefault(namespace, [])
        chance = rng.random()
        if before and chance < 0.015:  # the same event once more
            return rng.choice(before[-40:]).message
        self.events += 1
        if before and chance < 0.02:  # its id with another body
            old = rng.choice(before[-40:])
            return self.candidate(namespace, old.ce_id, old.text + " Really.", old.slot, old.source, old.at).message
        if chance < 0.025:
            return msgspec.structs.replace(
                self.candidate(namespace, f"{self.prefix}{number}", "?", None, Source.INGEST, at).message,
                value=b"{rubbish",
            )
        if before and chance < (0.08 if namespace.startswith(ERASING) else 0.04):
            return self.command(number, namespace, before)
        if before and chance < 0.20:  # a tool that says the same again and again
            old = rng.choice(before[-3:])
            made = self.candidate(namespace, f"{self.prefix}{number}", old.text, old.slot, Source.POST_TOOL_USE, at)
        elif before and chance < 0.32:  # the same text from anywhere
            old = rng.choice(before)
            made = self.candidate(namespace, f"{self.prefix}{number}", old.text, old.slot, Source.REMEMBER, at)
        else:
            made = self.statement(number, namespace, at)
        before.append(made)
        return made.message

    def statement(self, number: int, namespace: str, at: datetime) -> _Told:
        rng = self.rng
        kind = rng.choice(list(ATTRIBUTES))
        texts, subjects, values = ATTRIBUTES[kind]
        who = rng.choice(subjects[:4] if rng.random() < 0.7 else subjects)
        value = rng.choice(values[:5] if rng.random() < 0.6 else values)
        text = rng.choice(texts).format(who=who, value=value)
        if rng.random() < 0.15:
            text = text[:-1] + BECAUSE.format(reason=rng.choice(REASONS))
        slot = f"{who}.{kind}" if kind in SINGLE and rng.random() < 0.4 else None
        if rng.random() < 0.1:
            at -= timedelta(seconds=rng.choice([15, 50, 90, 1800, 40_000]))
        return self.candidate(namespace, f"{self.prefix}{number}", text, slot, rng.choice(list(Source)), at)

    def candidate(self, namespace: str, ce_id: str, text: str, slot: str | None, source: Source, at: datetime) -> _Told:
        message = candidate_message(
            self.topics,
            namespace=namespace,
            text=text,
            source=source,
            occurred_at=at,
            ce_source=CE_SOURCE,
            ce_id=ce_id,
            now=SENT_AT,
            extra={} if slot is None else {"slot": slot},
        )
        return _Told(namespace, ce_id, text, slot, source, at, message)

    def command(self, number: int, namespace: str, before: list[_Told]) -> Message:
        """Return a command about something said lately; where it can not be done, it is refused, which is an outcome too."""
        rng, about = self.rng, self.rng.choice(before[-30:])
        fact_id, decision_id = ids.fact_id(about.at, about.key), ids.decision_id(about.key)
        kind, body = rng.choice(
            [
                ("retract", {"fact_id": fact_id}),
                ("revert", {"decision_id": decision_id}),
                ("revert", {"decision_id": decision_id, "drop_newer": True}),
                ("review", {"decision_id": decision_id, "decision": "add"}),
                ("review", {"decision_id": decision_id, "ask": True}),
            ]
        )
        if namespace.startswith(ERASING) and rng.random() < 0.6:
            kind, body = "erase", rng.choice([{"fact_id": fact_id}, {"decision_id": decision_id}])
        return command_message(
            self.topics,
            kind=kind,
            namespace=namespace,
            body=body,
            ce_source="operator",
            ce_id=f"{self.prefix}command-{number}",
            now=self.now,
            key_id=KEY_ID,
            key=KEY.encode(),
        )


def make_stream(seed: int, count: int, topics: Topics, now: datetime, *, prefix: str = "e") -> Stream:
    """Return `count` messages; `now` is when the commands among them are signed, `prefix` keeps the ids of two streams apart."""
    maker = _Maker(seed, topics, now, prefix)
    messages = tuple(maker.stream(count))
    return Stream(messages, maker.events)
