"""A fact's story, from the stores and the ledger."""

from typing import TYPE_CHECKING, Any, Final

from factsieve.core.facts import Fact
from factsieve.core.story import Story, story_of, touches
from factsieve.operations import asking
from factsieve.operations.log_ring import value_of
from factsieve.wire.ledger import decode_record

if TYPE_CHECKING:
    from factsieve.assembly.wiring import Stores

MAX_RECORDS: Final = 500
"""So many ledger records are read for one story at most; what a story then lacks, it says."""


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
