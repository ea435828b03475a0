"""Orders of many at once: one producer, and the outcomes from the decision log, which is followed anyway."""

import asyncio
from typing import TYPE_CHECKING, Final

from factsieve.core import ids
from factsieve.core.undo import SCRUBBED_HASH
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Decision
from factsieve.operations.log import MISSED, DecisionFilter
from factsieve.operations.orders import CE_SOURCE, Order, signed
from factsieve.operations.signing import signing_key

if TYPE_CHECKING:
    from factsieve.operations.log import DecisionLog
    from factsieve.ports import Message, Outbox

_NAMESAKES: Final = 50
"""So many of the latest outcomes under one id are looked at."""


class OrderDesk:
    """Signs orders, sends them into their namespace's lane and waits for their outcomes, any number side by side.

    The outbox and the log are the caller's to start and stop.
    """

    def __init__(self, connected: Connected, outbox: "Outbox", log: "DecisionLog") -> None:
        self._connected = connected
        self._outbox = outbox
        self._log = log

    def check(self) -> None:
        """Raise BadSettings where no order can be signed."""
        signing_key(self._connected.settings)

    async def give(self, order: Order, *, command_id: str, timeout_s: float) -> Decision | None:
        """Return the outcome as it is told on `fact-decisions` (a reject has `error`), or None where none came in time.

        `command_id` names the command for good: given twice, it is carried out once. Another command under the same id is refused, as a
        worker refuses it. Raises BadSettings where it can not be signed, Transient where Kafka does not take it.
        """
        message = signed(self._connected.topics, order, command_id, signing_key(self._connected.settings))
        wanted = DecisionFilter(namespaces=frozenset({order.namespace}), event_id=command_id)
        for known in self._log.find(wanted, limit=_NAMESAKES).items:
            if _is_an_order(known) and not _was_rejected(known):
                return _outcome_of(message, known)
        following = self._log.follow(wanted)  # what was rejected before may be taken now: only what comes counts
        try:
            await self._outbox.send([message])
            async with asyncio.timeout(timeout_s):
                async for told in following:
                    if MISSED not in told and _is_an_order(told):
                        return _outcome_of(message, told)
        except TimeoutError:
            pass
        finally:
            self._log.unfollow(following)
        return None


def _is_an_order(told: Decision) -> bool:
    """Return whether a decision is about an order, and not about a statement that happens to have the same id."""
    return told.get("ce_source") == CE_SOURCE


def _was_rejected(told: Decision) -> bool:
    return told.get("error") is not None


def _outcome_of(message: "Message", told: Decision) -> Decision:
    """Return the outcome that was told of a command, or that it is refused where that is another one's of the same id."""
    body_hash = told.get("body_hash")
    if not body_hash or body_hash in (SCRUBBED_HASH, ids.body_hash(message.value or b"")):
        return told
    error = {
        "code": "event_id_conflict",
        "message": f"{told['event_id']!r} names another command, which was given before: give this one under an id of its own",
    }
    return {**told, "error": error, "outcome": "refused"}


def command_key(namespace: str, command_id: str) -> str:
    """Return the event key of an order."""
    return ids.event_key(namespace, CE_SOURCE, command_id)
