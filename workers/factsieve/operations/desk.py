"""Orders of many at once: one producer, and the outcomes from the decision log, which is followed anyway."""

from typing import TYPE_CHECKING, Any

from factsieve.core import ids
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Decision
from factsieve.operations.log import DecisionFilter
from factsieve.operations.orders import CE_SOURCE, Order, signed
from factsieve.operations.signing import signing_key

if TYPE_CHECKING:
    from factsieve.operations.log import DecisionLog
    from factsieve.ports import Outbox


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

        `command_id` names the command for good: given twice, it is carried out once. Raises BadSettings where it can not be signed,
        Transient where Kafka does not take it.
        """
        key = signing_key(self._connected.settings)
        await self._outbox.send([signed(self._connected.topics, order, command_id, key)])
        return await self.outcome(order.namespace, command_id, timeout_s=timeout_s)

    async def outcome(self, namespace: str, command_id: str, *, timeout_s: float) -> Decision | None:
        """Return the outcome of an order that was given, or None where none came in time."""
        wanted = DecisionFilter(namespaces=frozenset({namespace}), event_id=command_id)
        found: dict[str, Any] | None = await self._log.wait_for(wanted, timeout_s)
        return found


def command_key(namespace: str, command_id: str) -> str:
    """Return the event key of an order."""
    return ids.event_key(namespace, CE_SOURCE, command_id)
