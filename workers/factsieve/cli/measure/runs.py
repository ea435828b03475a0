"""Labelled pairs through the real engine, offline: `a` is remembered, `b` comes in a day later, each pair in a namespace of its own."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from factsieve.cli.measure.pairs import Pair
from factsieve.cli.measure.trials import COMES_AT, STORED_AT
from factsieve.core.errors import Bug
from factsieve.core.facts import Kind, Record
from factsieve.core.outcomes import Outcome
from factsieve.wire import times

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.assembly.wiring import Models

_AT_ONCE: Final = 500
"""Pairs in one engine: bounds the memory of namespaces, of which each has rows of its own."""
_DRAIN_TIMEOUT_S: Final = 24 * 3600.0


async def decide_pairs(
    settings: "Settings", models: "Models", pairs: Sequence[Pair], advance: Callable[[int], None]
) -> list[Outcome]:
    """Return what became of each pair, in order."""
    outcomes: list[Outcome] = []
    for start in range(0, len(pairs), _AT_ONCE):
        part = pairs[start : start + _AT_ONCE]
        outcomes += await _decide_part(settings, models, part)
        advance(len(part))
    return outcomes


async def _decide_part(settings: "Settings", models: "Models", pairs: Sequence[Pair]) -> list[Outcome]:
    from factsieve.assembly.wiring import offline_engine

    async with offline_engine(settings, models=models) as offline:
        await offline.engine.start()
        now = datetime.now(UTC)
        for index, pair in enumerate(pairs):
            for side, (text, at) in enumerate(((pair.a, STORED_AT), (pair.b, COMES_AT))):
                record = _record(settings, 2 * index + side, f"pair-{index}", text, at, now)
                await offline.engine.submit(record, _nothing)
        await offline.engine.drain(None, _DRAIN_TIMEOUT_S)
        await offline.engine.stop()
        if offline.engine.failure is not None:
            raise offline.engine.failure
        decisions: dict[int, dict[str, Any]] = {}
        for message in offline.outbox.of(settings.topics.decisions):
            decision = msgspec.json.decode(message.value or b"")
            decisions[decision["coordinates"]["offset"]] = decision
        outcomes = []
        for index, pair in enumerate(pairs):
            current = await offline.facts.select(f"pair-{index}")
            outcomes.append(_outcome(pair, decisions, index, {fact.text for fact in current}))
        return outcomes


def _nothing() -> None:
    """Acknowledge nothing: there is no consumer."""


def _record(settings: "Settings", offset: int, namespace: str, text: str, at: datetime, now: datetime) -> Record:
    value = {"namespace": namespace, "text": text, "source": "remember", "occurred_at": times.format_rfc3339(at)}
    body = msgspec.json.encode(value)
    return Record(settings.topics.candidates, 0, offset, times.to_ms(now), namespace.encode(), body, ())


def _outcome(pair: Pair, decisions: dict[int, dict[str, Any]], index: int, current: set[str]) -> Outcome:
    stored, incoming = decisions[2 * index], decisions[2 * index + 1]
    for row in (stored, incoming):
        if row["decision"] is None:
            raise Bug(f"pair {pair.pair_id} of {pair.data} was refused: {row['error']['message']}")
    return Outcome(
        data=pair.data,
        pair_id=pair.pair_id,
        label=pair.label.value,
        category=pair.category,
        similarity=incoming["dedup_signal"]["max_sim"],
        decision=Kind(incoming["decision"]),
        reason=incoming["reason"],
        stored_stands=pair.a in current,
        asked=any(note["asked"] == "choose" for note in incoming.get("judges") or ()),
        review=incoming.get("review"),
    )
