"""Whether workers are at work: what must not happen beside them is refused."""

import asyncio
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError

from factsieve.core.errors import BadSettings, Transient
from factsieve.operations.connected import Connected

_TIMEOUT_MS: Final = 10_000
_TRIES: Final = 20
_PAUSE_S: Final = 0.5


async def members(connected: Connected) -> int:
    """Return how many members the workers' consumer group has. Raises Transient."""
    kafka = connected.kafka
    admin = AIOKafkaAdminClient(
        bootstrap_servers=list(kafka.servers), request_timeout_ms=_TIMEOUT_MS, **kafka.security.client_options()
    )
    group = connected.settings.kafka.group
    with kafka.reaching(f"asking for the members of group {group}"):
        try:
            await admin.start()
            answers = await _described(admin, group)
        finally:
            await admin.close()
    for answer in answers:
        for error_code, _name, _state, _protocol_type, _protocol, found, *_rest in answer.groups:
            if error_code:
                raise Transient("kafka", f"the members of group {group} can not be asked for: error code {error_code}")
            return len(found)
    return 0


async def _described(admin: AIOKafkaAdminClient, group: str) -> list[Any]:
    """Return the broker's answers. A cluster that never had a group makes its coordinators only when it is first asked."""
    for _ in range(_TRIES):
        try:
            answers: list[Any] = await admin.describe_consumer_groups([group])
        except GroupCoordinatorNotAvailableError:
            await asyncio.sleep(_PAUSE_S)
        else:
            return answers
    raise Transient("kafka", f"no broker coordinates group {group}")


async def refuse_beside_workers(connected: Connected, doing: str) -> None:
    """Raise BadSettings where workers are in the consumer group. Raises Transient.

    The local stack's broker goes on naming members that have left: it is not asked.
    """
    if not connected.local and (count := await members(connected)):
        raise BadSettings(
            f"{count} workers are at work in group {connected.settings.kafka.group}: stop them before {doing}. If they work on "
            "other collections than the ones named here, say so with --beside-workers"
        )
