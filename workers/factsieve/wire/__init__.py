"""Bytes to values and back: CloudEvents in Kafka's binary mode, topics and schemas."""
