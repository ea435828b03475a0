"""That the compacted topic `facts` ends with what stands, whoever wrote there last.

A fence in the process can not keep a former owner from writing there: between its last look at the fence and the broker's append a
process may sleep for any time; and when it wakes and sends what it had on its tongue, it may die before it can mend that. What it left
behind is on the topic, so that is where it is found: each record is looked at by somebody *after* it was appended, and compared with the
store. One that falls behind the store and stays behind is followed by the fact as it stands, which is a record like any other and is
looked at in turn. So, once nothing changes any more, the last record of each fact is the fact as it stands, whatever slept, died, or
came twice.
"""

import uuid
from typing import Final

import msgspec

from factsieve.core.facts import Fact, Status
from factsieve.ports import FactStore, Outbox
from factsieve.wire import outbound
from factsieve.wire.topics import Topics

_GONE: Final = 2**63 - 1
"""Stands for the version of a tombstone: no state follows it."""


class _State(msgspec.Struct):
    version: int = 0


class Standing:
    """Compares what is told on the compacted topic with what stands. Not for use by several tasks at once.

    An owner tells of a fact after it has written it, so that the newest record is behind for a moment, as a rule. Only what is still
    behind a whole look later is told anew.
    """

    def __init__(self, facts: FactStore, outbox: Outbox, topics: Topics) -> None:
        self._facts = facts
        self._outbox = outbox
        self._topics = topics
        self._told: dict[str, int] = {}  # heard since the last look: the version of the last record
        self._behind: dict[str, int] = {}  # was behind at the last look: the version that stood then
        self.restated_total = 0

    def heard(self, key: bytes | None, value: bytes | None) -> None:
        """Take in a record of the topic, in the order of its partition. What is no fact's is passed over."""
        fact_id = _fact_id(key)
        if fact_id is not None:
            self._told[fact_id] = _GONE if value is None else _version(value)

    async def look(self) -> None:
        """Compare what was heard since the last look with the store, and tell anew what has stayed behind.

        When it returns, all that was heard before the *last* look is settled. Raises Transient, and is to be called again then.
        """
        late = {fact_id for fact_id, stood in self._behind.items() if self._told.get(fact_id, 0) < stood}
        wanted = list({*self._told, *late})
        standing = await self._facts.get(wanted) if wanted else {}
        messages = [outbound.fact_message(self._topics, standing[one]) for one in sorted(late) if one in standing]
        if messages:
            await self._outbox.send(messages)
            self.restated_total += len(messages)
        self._behind = {
            fact_id: stands
            for fact_id, version in self._told.items()
            if fact_id not in late and (stands := _stands(standing.get(fact_id))) > version
        }
        self._told = {}

    def forget(self) -> None:
        """Begin anew: what was heard and is not settled will be heard again."""
        self._told, self._behind = {}, {}


def _stands(fact: Fact | None) -> int:
    if fact is None:
        return 0
    return _GONE if fact.status is Status.ERASED else fact.version


def _fact_id(key: bytes | None) -> str | None:
    try:
        return str(uuid.UUID((key or b"").decode("ascii")))
    except ValueError:
        return None


def _version(value: bytes) -> int:
    """Return the version that a state says; 0 where it says none, which is behind whatever stands."""
    try:
        return msgspec.json.decode(value, type=_State).version
    except (msgspec.DecodeError, RecursionError, ValueError):
        return 0


__all__ = ["Standing"]
