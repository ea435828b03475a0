"""Which partitions a topic has, as a consumer can learn it on any broker."""

from aiokafka import AIOKafkaConsumer, TopicPartition


async def partitions_of(consumer: AIOKafkaConsumer, topic: str) -> list[TopicPartition]:
    """Return the partitions of a topic, an empty list where there is no such topic.

    A consumer knows by itself only topics that it is assigned to (Apache Kafka tells it of no other). Raises KafkaError.
    """
    cluster = await consumer._client.fetch_all_metadata()
    return [TopicPartition(topic, number) for number in sorted(cluster.partitions_for_topic(topic) or ())]
