from kafka.brokers import apache, broker, tansu  # noqa: F401 - fixtures
