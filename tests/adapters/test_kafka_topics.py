"""Topics on a real broker: made as AsyncAPI says, left alone where they exist, compared."""

import asyncio

import msgspec
import pytest

from factsieve.adapters.kafka_client import KafkaSecurity, KafkaTransient
from factsieve.adapters.kafka_topics import Found, KafkaTopics, differences
from factsieve.wire.topic_specs import TopicSpec, load_specs
from factsieve.wire.topics import Topics

pytestmark = pytest.mark.stack


def specs_for(broker):
    stem = broker.name("spec")
    names = Topics(**{field: f"{stem}-{name}" for field, name in msgspec.structs.asdict(Topics()).items()})
    return [msgspec.structs.replace(spec, replicas=1) for spec in load_specs(names).values()]


def test_topics_are_made_as_specified(broker):
    """All six come with their partitions and configurations; a second call makes none and changes none."""
    topics, specs = KafkaTopics(broker.bootstrap, KafkaSecurity()), specs_for(broker)

    async def main():
        first, second = await topics.create(specs), await topics.create(specs)
        return first, second, await topics.find([*(spec.name for spec in specs), "absent"])

    created, again, found = asyncio.run(main())
    assert sorted(created) == sorted(spec.name for spec in specs)
    assert again == []
    assert set(found) == set(created)
    assert {spec.name: differences(spec, found[spec.name]) for spec in specs} == {spec.name: [] for spec in specs}


def test_looking_for_a_topic_makes_none(broker):
    """A topic that is absent stays absent when it is asked for."""
    topics = KafkaTopics(broker.bootstrap, KafkaSecurity())
    name = broker.name("absent")

    async def main():
        return [await topics.find([name]) for _ in range(2)]

    assert asyncio.run(main()) == [{}, {}]


def test_a_refused_topic_is_named(broker):
    """What the broker does not take is told with the topic's name, and whatever comes later is no less reachable."""
    if broker.kind != "apache":
        pytest.skip("the local broker takes any name and configuration")
    bad = TopicSpec(name=broker.name("bad"), partitions=1, replicas=1, configs={"cleanup.policy": "never"})
    with pytest.raises(KafkaTransient, match=bad.name):
        asyncio.run(KafkaTopics(broker.bootstrap, KafkaSecurity()).create([bad]))


def test_an_unreachable_broker_is_told(free_port):
    """Without a broker the call ends within its bound, and names the address."""
    topics = KafkaTopics(f"127.0.0.1:{free_port}", KafkaSecurity(), timeout_s=2)
    with pytest.raises(KafkaTransient, match=str(free_port)):
        asyncio.run(topics.find(["any"]))


@pytest.fixture
def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


SPEC = TopicSpec(name="t", partitions=3, replicas=2, configs={"cleanup.policy": "compact,delete", "retention.ms": "5"})
AS_SPECIFIED = Found(
    partitions=3, replicas=2, configs={"cleanup.policy": "delete, compact", "retention.ms": "5", "x": "1"}
)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (AS_SPECIFIED, []),
        (msgspec.structs.replace(AS_SPECIFIED, replicas=3), []),
        (None, ["does not exist"]),
        (msgspec.structs.replace(AS_SPECIFIED, partitions=4), ["has 4 partitions, 3 are specified"]),
        (msgspec.structs.replace(AS_SPECIFIED, replicas=1), ["has 1 replicas, 2 are specified"]),
        (
            Found(partitions=3, replicas=2, configs={"retention.ms": "6"}),
            ["cleanup.policy is None, compact,delete is specified", "retention.ms is 6, 5 is specified"],
        ),
    ],
)
def test_differences_are_told_one_by_one(found, said):
    """More replicas and further configurations are no difference, the order of policies neither."""
    assert differences(SPEC, found) == said
