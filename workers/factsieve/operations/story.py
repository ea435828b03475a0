"""A fact's story from the stores, and single decisions from the ledger: what is older than the decision log's memory."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from factsieve.core.facts import Fact
from factsieve.core.story import Story, story_of, touches
from factsieve.operations import asking
from factsieve.operations.log_ring import value_of
from factsieve.wire.ledger import decode_record

if TYPE_CHECKING:
    from factsieve.assembly.wiring import Stores
    from factsieve.ports import Ledger

MAX_RECORDS: Final = 500
"""So many ledger records are read for one story at most; what a story then lacks, it says."""


async def decisions_of(ledger: "Ledger", decision_ids: list[str]) -> Mapping[str, dict[str, Any]]:
    """Return those decisions that the ledger knows, by id, as `fact-decisions` tells them. Raises Transient."""
    pointers = await ledger.decided(decision_ids)
    records = await ledger.records(sorted({pointer.record_id for pointer in pointers.values()}))
    return {
        decision_id: value_of(decode_record(records[pointer.record_id]).entries[pointer.index])
        for decision_id, pointer in pointers.items()
        if pointer.record_id in records
    }


async def tell_story(stores: "Stores", head: Fact) -> Story:
    """Return the story of a fact and its relatives (those of its chain), oldest first. Raises Transient."""
    rows, chain = await asking.story(stores.facts, head)
    relatives = sorted({head.fact_id, *(row.fact_id for row in chain)})
    found: dict[str, dict[str, Any]] = {}
    read = 0
    async for _record_id, body in stores.ledger.holding(head.namespace, relatives):
        read += 1
        if read > MAX_RECORDS:
            break
        for entry in decode_record(body).entries:
            value = value_of(entry)
            if touches(value, set(relatives)):
                found[value["decision_id"]] = value
    return story_of(head, rows, chain, found.values(), shortened=read > MAX_RECORDS)
