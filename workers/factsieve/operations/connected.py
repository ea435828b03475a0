"""What a process outside the worker needs to reach the services."""

from typing import TYPE_CHECKING

import msgspec

from factsieve.operations.conversation import Kafka
from factsieve.wire.topics import Topics

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings


class Connected(msgspec.Struct, frozen=True):
    """The settings in force, and how to reach Kafka. `local`: the addresses are those of the local stack."""

    settings: "Settings"
    kafka: Kafka
    topics: Topics
    local: bool


def connected_to(settings: "Settings", *, local: bool) -> Connected:
    """Return how to reach what the settings name."""
    from factsieve.assembly.kafka_access import (
        bootstrap_servers,
        outbox_options,
        security_of,
    )

    kafka = Kafka(bootstrap_servers(settings), security_of(settings), outbox_options(settings))
    return Connected(settings, kafka, settings.topics, local)
