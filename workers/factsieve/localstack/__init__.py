"""The development stack that comes by pip: a Kafka-compatible broker, Redis and Qdrant's engine behind its REST API.

It is for development, demonstrations and tests. Production is Apache Kafka, Redis and a Qdrant server, each given by URL.
"""

from factsieve.localstack.process import LocalStackError
from factsieve.localstack.stack import (
    LocalStack,
    RunningService,
    StackConfig,
    StackState,
    read_state,
    stop_running,
)

__all__ = [
    "LocalStack",
    "LocalStackError",
    "RunningService",
    "StackConfig",
    "StackState",
    "read_state",
    "stop_running",
]
