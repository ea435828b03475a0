"""Whether workers are at work: what must not happen beside them is refused."""

from typing import Final

from aiokafka.admin import AIOKafkaAdminClient

from factsieve.core.errors import BadSettings, Transient
from factsieve.operations.connected import Connected

_TIMEOUT_MS: Final = 10_000


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
            answers = await admin.describe_consumer_groups([group])
        finally:
            await admin.close()
    for answer in answers:
        for error_code, _name, _state, _protocol_type, _protocol, found, *_rest in answer.groups:
            if error_code:
                raise Transient("kafka", f"the members of group {group} can not be asked for: error code {error_code}")
            return len(found)
    return 0


async def refuse_beside_workers(connected: Connected, doing: str) -> None:
    """Raise BadSettings where workers are in the consumer group. Raises Transient.

    The local stack's broker goes on naming members that have left: it is not asked.
    """
    if not connected.local and (count := await members(connected)):
        raise BadSettings(
            f"{count} workers are at work in group {connected.settings.kafka.group}: stop them before {doing}. If they work on "
            "other collections than the ones named here, say so with --beside-workers"
        )
