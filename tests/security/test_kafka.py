"""An Apache Kafka that demands TLS, passwords and certificates: by settings it works, and what is wrong is named."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka.apache import ApacheKafka
from kafka.brokers import require_kafka
from security.conftest import UNHURRIED, Certificates

from factsieve.adapters.kafka_client import KafkaTransient
from factsieve.adapters.kafka_outbox import KafkaOutbox
from factsieve.adapters.kafka_probe import explain
from factsieve.adapters.kafka_topics import KafkaTopics
from factsieve.assembly.kafka_access import bootstrap_servers, outbox_options, security_of
from factsieve.assembly.settings import Settings, load_settings
from factsieve.localstack.process import free_port
from factsieve.operations.connected import connected_to
from factsieve.operations.conversation import Reader
from factsieve.ports import Message
from factsieve.wire.topic_specs import load_specs

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300), UNHURRIED]

PASSWORD = "hush-kafka-4711"
ALL = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True)
class Broker:
    """One broker with a listener of each kind, by port."""

    sasl_ssl: int
    mutual: int
    sasl_plain: int
    plain: int


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Broker]:
    """One start for all: SASL over TLS, mutual TLS, SASL in the clear, and plain."""
    require_kafka()
    folder = tmp_path_factory.mktemp("secured-kafka")
    for name, parts in {
        "server.pem": (certificates.server_key, certificates.server),
        "ca.pem": (certificates.ca,),
    }.items():
        (folder / name).write_bytes(b"".join(part.read_bytes() for part in parts))
    ports = Broker(free_port(), free_port(), free_port(), free_port())
    logins = (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required user_worker="{PASSWORD}";',
        "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    )
    names = {"SECURE": ports.sasl_ssl, "MUTUAL": ports.mutual, "CLEAR": ports.sasl_plain}
    listeners = {name: f"127.0.0.1:{port}" for name, port in names.items()}
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "server.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": ",".join(ALL),
        "listener.name.clear.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    }
    for name in ("secure", "clear"):
        properties[f"listener.name.{name}.plain.sasl.jaas.config"] = logins[0]
        for mechanism in ALL[1:]:
            properties[f"listener.name.{name}.{mechanism.lower()}.sasl.jaas.config"] = logins[1]
    service = ApacheKafka(
        folder=folder / "node",
        log_path=folder / "kafka.log",
        port=ports.plain,
        properties=properties,
        more_listeners={
            "SECURE": (listeners["SECURE"], "SASL_SSL"),
            "MUTUAL": (listeners["MUTUAL"], "SSL"),
            "CLEAR": (listeners["CLEAR"], "SASL_PLAINTEXT"),
        },
        scram={"worker": PASSWORD},
    )
    service.start(timeout_s=120)
    yield ports
    service.stop()


def settings_for(port: int, **kafka: object) -> Settings:
    named = {f"kafka.{name}": str(v) if isinstance(v, Path) else v for name, v in kafka.items()}
    return load_settings({"kafka.bootstrap": f"127.0.0.1:{port}", **named}, environ={})


def use(settings: Settings) -> list[bytes]:
    """Make topics, produce and read, as commands and workers do, and return what was read."""

    async def main() -> list[bytes]:
        security = security_of(settings)
        spec = load_specs(settings.topics)[settings.topics.decisions]
        admin = KafkaTopics(settings.kafka.bootstrap, security)
        await admin.create([msgspec.structs.replace(spec, partitions=1, replicas=1)])
        options = outbox_options(settings)
        outbox = KafkaOutbox(bootstrap_servers(settings), security=security, options=options, client_id="t")
        try:
            await outbox.send([Message(settings.topics.decisions, b"n", b"{}", ())])
        finally:
            await outbox.stop()
        found: list[bytes] = []
        async with Reader(connected_to(settings, local=False).kafka, settings.topics.decisions) as reader:
            reader.seek(reader.begins)
            while not await reader.reached(reader.ends):
                found += [value for _, _, value in await reader.poll()]
        return found

    return asyncio.run(main())


def topics(name: str) -> dict[str, str]:
    return {"topics.decisions": f"{name}-{uuid.uuid4().hex[:8]}"}


def with_sasl(certificates: Certificates, **more: Any) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": "worker",
        "sasl_password": PASSWORD,
        "ssl_ca_file": certificates.ca,
        **more,
    }


@pytest.mark.parametrize("mechanism", ALL)
def test_a_password_over_tls(broker: Broker, certificates: Certificates, mechanism: str) -> None:
    """SASL_SSL with each mechanism: topics are made, records go in and come out."""
    settings = settings_for(broker.sasl_ssl, **with_sasl(certificates, sasl_mechanism=mechanism), **topics(mechanism))
    assert use(settings) == [b"{}"]
    assert why(settings) is None


def test_a_certificate_of_the_clients_own(broker: Broker, certificates: Certificates) -> None:
    """Mutual TLS, without a password."""
    own = {
        "ssl_ca_file": certificates.ca,
        "ssl_cert_file": certificates.client,
        "ssl_key_file": certificates.client_key,
    }
    settings = settings_for(broker.mutual, security_protocol="SSL", **own, **topics("mutual"))
    assert use(settings) == [b"{}"]
    assert why(settings) is None


def test_a_password_without_tls(broker: Broker) -> None:
    """SASL_PLAINTEXT, for networks that are encrypted otherwise."""
    secrets = {"sasl_username": "worker", "sasl_password": PASSWORD}
    settings = settings_for(broker.sasl_plain, security_protocol="SASL_PLAINTEXT", **secrets, **topics("clear"))
    assert use(settings) == [b"{}"]


def why(settings: Settings) -> str | None:
    found = asyncio.run(explain(bootstrap_servers(settings), security_of(settings)))
    assert found is None or "hush" not in repr(found) + str(found)
    return None if found is None else str(found)


WRONG: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "authority": ("sasl_ssl", {"ssl_ca_file": "wrong_ca"}, ("kafka.ssl_ca_file",)),
    "password": ("sasl_ssl", {"sasl_password": "hush-wrong"}, ("kafka.sasl_username", "kafka.sasl_password")),
    "password, PLAIN": (
        "sasl_ssl",
        {"sasl_password": "hush-wrong", "sasl_mechanism": "PLAIN"},
        ("kafka.sasl_password",),
    ),
    "user": ("sasl_ssl", {"sasl_username": "nobody"}, ("kafka.sasl_username", "nobody")),
    "mechanism": (
        "sasl_plain",
        {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"},
        ("kafka.sasl_mechanism",),
    ),
    "no TLS": (
        "sasl_ssl",
        {"security_protocol": "SASL_PLAINTEXT"},
        ("speaks TLS", "kafka.security_protocol", "SASL_SSL"),
    ),
    "plain": ("sasl_ssl", {"security_protocol": "PLAINTEXT"}, ("speaks TLS", "kafka.security_protocol")),
    "no password": ("sasl_ssl", {"security_protocol": "SSL"}, ("user name", "kafka.security_protocol")),
    "no password, no TLS": ("sasl_plain", {"security_protocol": "PLAINTEXT"}, ("user name", "kafka.security_protocol")),
    "no certificate": ("mutual", {"security_protocol": "SSL"}, ("kafka.ssl_cert_file",)),
    "stranger": ("mutual", {"security_protocol": "SSL", "own": "stranger"}, ("kafka.ssl_cert_file",)),
    "TLS with a plain listener": (
        "plain",
        {"security_protocol": "SSL"},
        ("does not speak TLS", "kafka.security_protocol"),
    ),
    "a password with a plain listener": (
        "plain",
        {"security_protocol": "SASL_PLAINTEXT"},
        ("kafka.security_protocol",),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(broker: Broker, certificates: Certificates, case: str) -> None:
    """The setting to look at, and no secret."""
    listener, changed, parts = WRONG[case]
    given = with_sasl(certificates, **{name: v for name, v in changed.items() if name not in ("own", "ssl_ca_file")})
    if "ssl_ca_file" in changed:
        given["ssl_ca_file"] = getattr(certificates, changed["ssl_ca_file"])
    if "own" in changed:
        given |= {"ssl_cert_file": certificates.stranger, "ssl_key_file": certificates.stranger_key}
    protocol = given["security_protocol"]
    if not protocol.startswith("SASL"):
        given = {name: v for name, v in given.items() if not name.startswith("sasl_")}
    if not protocol.endswith("SSL"):
        given = {name: v for name, v in given.items() if not name.startswith("ssl_")}
    settings = settings_for(getattr(broker, listener), **given)
    said = why(settings)
    assert said is not None
    for part in parts:
        assert part in said, said
    with pytest.raises(KafkaTransient) as caught:
        asyncio.run(_connect(settings))
    assert "hush" not in repr(caught.value)
    assert caught.value.access is not None


async def _connect(settings: Settings) -> None:
    quick = msgspec.structs.replace(outbox_options(settings), request_timeout_s=5.0)
    outbox = KafkaOutbox(bootstrap_servers(settings), security=security_of(settings), options=quick, client_id="t")
    try:
        await outbox.start()
    finally:
        await outbox.stop()


@pytest.mark.parametrize("command", [("activity",), ("topics", "check"), ("worker",)])
def test_commands_end_with_the_setting_and_exit_code_2(
    broker: Broker, certificates: Certificates, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """One line that names it; neither password nor traceback, in whatever is written."""
    file = tmp_path / "factsieve.toml"
    given = with_sasl(certificates, sasl_password="hush-wrong")
    lines = [f'{name} = "{value}"' for name, value in given.items()]
    file.write_text("\n".join(["[kafka]", f'bootstrap = "127.0.0.1:{broker.sasl_ssl}"', *lines]))
    words = [sys.executable, "-m", "factsieve", *command, "--config", str(file)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 2, done.stderr
    assert "kafka.sasl_password" in done.stderr
    assert "hush" not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_nobody_there_is_an_outage_and_no_wrong_setting() -> None:
    """Whatever the security."""
    port = free_port()
    assert why(settings_for(port)) is None
    assert why(settings_for(port, security_protocol="SSL")) is None
    assert "host:port" in (why(settings_for(port, bootstrap="localhost")) or "")
