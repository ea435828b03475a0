"""Topics on the brokers: made as specified, compared with what is specified."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

from factsieve.adapters.kafka_client import Access, KafkaSecurity, KafkaTransient, kafka_errors
from factsieve.wire.topic_specs import TopicSpec

_TOPIC_ALREADY_EXISTS: Final = 36
_NO_ERROR: Final = 0


class Found(msgspec.Struct, frozen=True):
    """A topic as it is on the brokers."""

    partitions: int
    replicas: int
    configs: Mapping[str, str]


class KafkaTopics:
    """Creates and describes topics.

    Args:
        bootstrap: `host:port` of some brokers, joined by commas.
        security: how they want to be spoken to.
        timeout_s: how long each call may take.
    """

    def __init__(self, bootstrap: str, security: KafkaSecurity, *, timeout_s: float = 15.0) -> None:
        self._bootstrap = bootstrap
        self._security = security
        self._timeout_s = timeout_s

    async def create(self, specs: Sequence[TopicSpec]) -> list[str]:
        """Create those topics that do not exist, and return their names. Raises KafkaTransient, which names what was refused."""
        wanted = [
            NewTopic(spec.name, spec.partitions, spec.replicas, topic_configs=dict(spec.configs)) for spec in specs
        ]
        answer = await self._call("creating topics", lambda client: client.create_topics(wanted))
        created = []
        for name, code, *rest in answer.topic_errors:
            if code == _NO_ERROR:
                created.append(name)
            elif code != _TOPIC_ALREADY_EXISTS:
                detail = rest[0] if rest and rest[0] else for_code(code).description
                raise KafkaTransient(f"topic {name} was refused: {detail}", retriable=False)
        return created

    async def find(self, names: Sequence[str]) -> dict[str, Found]:
        """Return those of the topics that exist, with their configurations. Raises KafkaTransient."""
        # Asking for all names makes none: describing one that does not exist would, where the broker creates topics by itself.
        there = set(await self._call("listing topics", lambda client: client.list_topics()))
        asked = [name for name in names if name in there]
        if not asked:
            return {}
        described = await self._call("describing topics", lambda client: client.describe_topics(asked))
        existing = {topic["topic"]: topic for topic in described if topic["error_code"] == _NO_ERROR}
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in existing]
        answers = await self._call("describing topics", lambda client: client.describe_configs(resources))
        configs: dict[str, dict[str, str]] = {}
        for answer in answers:
            for _code, _message, _kind, name, entries in answer.resources:
                configs[name] = {entry[0]: entry[1] for entry in entries if entry[1] is not None}
        return {
            name: Found(
                partitions=len(topic["partitions"]),
                replicas=min((len(part["replicas"]) for part in topic["partitions"]), default=0),
                configs=configs.get(name, {}),
            )
            for name, topic in existing.items()
        }

    async def _call(self, doing: str, call: Any) -> Any:  # noqa: ANN401 - the client is untyped
        access = Access(tuple(self._bootstrap.split(",")), self._security)
        with kafka_errors(f"{doing} on {self._bootstrap} (does the broker run, is the address right?)", access):
            client = AIOKafkaAdminClient(
                bootstrap_servers=self._bootstrap,
                client_id="factsieve-topics",
                request_timeout_ms=int(self._timeout_s * 1000),
                **self._security.client_options(),
            )
            try:
                async with asyncio.timeout(self._timeout_s):
                    await client.start()
                    return await call(client)
            finally:
                await client.close()


def differences(spec: TopicSpec, found: Found | None) -> list[str]:
    """Return in which way a topic is not as specified, a sentence each; empty if it is."""
    if found is None:
        return ["does not exist"]
    said = []
    if found.partitions != spec.partitions:
        said.append(f"has {found.partitions} partitions, {spec.partitions} are specified")
    if found.replicas < spec.replicas:
        said.append(f"has {found.replicas} replicas, {spec.replicas} are specified")
    for name, value in spec.configs.items():
        is_now = found.configs.get(name)
        if _parts(is_now) != _parts(value):
            said.append(f"{name} is {is_now}, {value} is specified")
    return said


def _parts(value: str | None) -> set[str]:
    return set() if value is None else {part.strip() for part in value.split(",")}
