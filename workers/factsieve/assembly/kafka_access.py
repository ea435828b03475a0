"""From settings to Kafka clients' options: what workers and commands share, and quick to import."""

from factsieve.adapters.kafka_client import KafkaSecurity
from factsieve.adapters.kafka_outbox import OutboxOptions
from factsieve.assembly.settings import Settings


def security_of(settings: Settings) -> KafkaSecurity:
    """Return how Kafka's listeners want to be spoken to."""
    kafka = settings.kafka
    password, key_password = kafka.sasl_password, kafka.ssl_key_password
    return KafkaSecurity(
        protocol=kafka.security_protocol,
        mechanism=kafka.sasl_mechanism,
        username=kafka.sasl_username,
        password=password.get_secret_value() if password else None,
        ca_file=str(kafka.ssl_ca_file) if kafka.ssl_ca_file else None,
        cert_file=str(kafka.ssl_cert_file) if kafka.ssl_cert_file else None,
        key_file=str(kafka.ssl_key_file) if kafka.ssl_key_file else None,
        key_password=key_password.get_secret_value() if key_password else None,
        verify_hostname=kafka.ssl_verify_hostname,
    )


def bootstrap_servers(settings: Settings) -> tuple[str, ...]:
    """Return the brokers to begin with."""
    return tuple(server.strip() for server in settings.kafka.bootstrap.split(",") if server.strip())


def outbox_options(settings: Settings) -> OutboxOptions:
    """Return how messages are produced."""
    kafka = settings.kafka
    return OutboxOptions(
        linger_ms=kafka.linger_ms,
        compression=kafka.compression,
        enable_idempotence=kafka.idempotence,
        partitioner=kafka.partitioner,
        max_request_bytes=kafka.max_request_bytes,
        request_timeout_s=kafka.request_timeout_s,
    )
