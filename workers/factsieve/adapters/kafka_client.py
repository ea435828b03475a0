"""How a Kafka client reaches its brokers: addresses, TLS and SASL, as options of aiokafka's clients."""

import asyncio
import re
import ssl
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError

from factsieve.adapters.tls import TlsFiles, client_context
from factsieve.core.errors import BadSettings, Transient

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

SERVICE: Final = "kafka"

FETCH_MAX_WAIT_MS: Final = 250
"""How long a broker may keep a fetch that finds nothing (`fetch.max.wait.ms`).

Apache Kafka answers the moment that something comes; the local stack's broker only looks again halfway. And a client has one fetch under
way to a broker: what comes for a partition that is not in it waits for its answer.
"""
FETCH_SOON_MS: Final = 100
"""The same where nothing else is at hand: whoever waits for the first record, or for the last answers, hears of it soon."""
FETCH_LATER_MS: Final = 500
"""The same where enough is at hand: each fetch that finds nothing takes broker and client a millisecond or two of their time."""

Offsets = dict[TopicPartition, int]


def pace_fetches(consumer: AIOKafkaConsumer, wait_ms: Callable[[], int]) -> None:
    """Let each fetch of a started consumer say anew how long (ms) a broker may keep it; aiokafka itself knows one time for all."""
    fetcher = consumer._fetcher
    actions_per_node = fetcher._get_actions_per_node

    def paced(assignment: Any) -> Any:  # noqa: ANN401 - aiokafka is untyped
        fetcher._fetch_max_wait_ms = wait_ms()
        return actions_per_node(assignment)

    fetcher._get_actions_per_node = paced


class KafkaSecurity(msgspec.Struct, frozen=True, kw_only=True):
    """How a listener wants to be spoken to. The password never shows in the representation.

    `ca_file` (PEM) replaces the system's authorities; `cert_file` and `key_file` (PEM) are a client's own, for mutual TLS.
    """

    protocol: Protocol = "PLAINTEXT"
    mechanism: Mechanism = "SCRAM-SHA-512"
    username: str | None = None
    password: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: str | None = None
    verify_hostname: bool = True

    @property
    def uses_sasl(self) -> bool:
        """Return whether a user name and a password are sent."""
        return self.protocol.startswith("SASL")

    @property
    def uses_tls(self) -> bool:
        """Return whether the connection is encrypted."""
        return self.protocol.endswith("SSL")

    def __repr__(self) -> str:
        return f"KafkaSecurity(protocol={self.protocol!r}, mechanism={self.mechanism!r}, username={self.username!r})"

    def ssl_context(self) -> ssl.SSLContext | None:
        """Return the TLS context, or None without TLS. Raises BadSettings for a file that is missing or not PEM."""
        if not self.uses_tls:
            return None
        files = TlsFiles(
            ca=self.ca_file,
            cert=self.cert_file,
            key=self.key_file,
            key_password=self.key_password,
            verify_hostname=self.verify_hostname,
        )
        return client_context(files, "kafka")

    def client_options(self) -> dict[str, Any]:
        """Return the keyword arguments for any aiokafka client. Raises BadSettings for SASL without a user name or password."""
        options: dict[str, Any] = {"security_protocol": self.protocol}
        if self.uses_sasl:
            if not self.username or self.password is None:
                raise BadSettings(f"Kafka {self.protocol} needs kafka.sasl_username and kafka.sasl_password")
            options |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self.password,
            }
        if self.uses_tls:
            options["ssl_context"] = self.ssl_context()
        return options


class KafkaTransient(Transient):
    """Kafka did not take it. `retriable`: the client library expects the same call to work later.

    Where it is False (no permission, a topic that refuses the record, ...) the call works again only once someone changed
    something; waiting is still right, and so is telling someone. `access`: the brokers that were to be reached, and how, where the
    call was about that; `kafka_probe.explain` may find out which setting is to blame.
    """

    def __init__(self, message: str, *, retriable: bool, access: "Access | None" = None) -> None:
        super().__init__(SERVICE, message)
        self.retriable = retriable
        self.access = access


class Access(msgspec.Struct, frozen=True):
    """Brokers to begin with, and how they want to be spoken to."""

    servers: tuple[str, ...]
    security: KafkaSecurity


@contextmanager
def kafka_errors(doing: str, access: Access | None = None) -> Iterator[None]:
    """Turn what the client raises into `KafkaTransient`, with what was being done."""
    try:
        yield
    except KafkaError as error:
        raise KafkaTransient(f"{doing}: {describe(error)}", retriable=bool(error.retriable), access=access) from error
    except (OSError, TimeoutError) as error:
        raise KafkaTransient(f"{doing}: {str(error) or type(error).__name__}", retriable=True, access=access) from error


async def stop_within(client: AIOKafkaClient, stop: Coroutine[Any, Any, object], timeout_s: float) -> bool:
    """Run `stop`, which ends with closing aiokafka's `client`; cut its connections where that takes longer than `timeout_s`.

    Over TLS a peer may take its time to say goodbye, and one that died never does. Returns whether it stopped by itself. What `stop`
    raises is not raised: nothing more can be done about it.
    """
    writers = [connection._writer for connection in client._conns.values()]
    transports = [writer.transport for writer in writers if writer is not None]
    task = asyncio.ensure_future(stop)
    done, _pending = await asyncio.wait({task}, timeout=timeout_s)
    if not done:
        for transport in transports:
            transport.abort()
        done, _pending = await asyncio.wait({task}, timeout=timeout_s)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=timeout_s)
        return False
    return task.cancelled() or task.exception() is None


def describe(error: BaseException) -> str:
    """Return an error's class and text; of brokers that do not answer their addresses, as people write them."""
    text = str(error)
    if "Unable to bootstrap" in text and (tried := _TRIED.findall(text)):
        return "no broker answers at " + ", ".join(f"{host}:{port}" for host, port in tried)
    name = type(error).__name__
    return text if text.startswith(name) or name in text else f"{name}: {text}" if text else name


_TRIED: Final = re.compile(r"\('([^']*)', (\d+)")
_FETCH_MS: Final = 1_000


async def assign_all(consumer: AIOKafkaConsumer, partitions: Iterable[TopicPartition]) -> tuple[Offsets, Offsets]:
    """Assign partitions; return the offsets of their first records and those after their last. Positions are left anywhere.

    A partition ends at the high watermark that comes with a fetch. Asked for the latest offset (ListOffsets), the local stack's broker
    answers with the start of its last batch of records, so that whoever begins there reads that batch again. Raises KafkaError.
    """
    wanted = list(partitions)
    begins: Offsets = await consumer.beginning_offsets(wanted)
    listed: Offsets = await consumer.end_offsets(wanted)
    consumer.assign(wanted)  # not before: a fetch that finds nothing holds up what is asked after it
    filled = [one for one, end in listed.items() if end > begins[one]]
    for one in filled:
        consumer.seek(one, listed[one] - 1)
    while unknown := [one for one in filled if consumer.highwater(one) is None]:
        await consumer.getmany(*unknown, timeout_ms=_FETCH_MS, max_records=1)
    return begins, listed | {one: max(listed[one], consumer.highwater(one)) for one in filled}
