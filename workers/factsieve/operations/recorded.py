"""Decisions that are older than the log at hand: read back from the ledger."""

from typing import TYPE_CHECKING, Any

import msgspec

from factsieve.wire.ledger import decode_record
from factsieve.wire.outbound import decision_message
from factsieve.wire.topics import Topics

if TYPE_CHECKING:
    from factsieve.ports import Ledger


async def recorded(ledger: "Ledger", topics: Topics, decision_id: str) -> dict[str, Any] | None:
    """Return a decision as `fact-decisions` told it, or None where the ledger holds none of that id. Raises Transient."""
    pointer = (await ledger.decided([decision_id])).get(decision_id)
    if pointer is None:
        return None
    body = (await ledger.records([pointer.record_id])).get(pointer.record_id)
    if body is None:
        return None
    entries = decode_record(body).entries
    entry = next((entry for entry in entries if entry.decision.decision_id == decision_id), None)
    if entry is None:
        return None
    value: dict[str, Any] = msgspec.json.decode(decision_message(topics, entry, replayed=False).value or b"{}")
    return value
