"""Why brokers do not let us in: one connection, looked at step by step, in the words of the settings.

The client library tries all brokers and then says that none could be reached; which setting is wrong it keeps to itself.
"""

import asyncio
import contextlib
import ssl
import struct
from collections.abc import Sequence
from typing import Final

from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

from factsieve.adapters.kafka_client import KafkaSecurity
from factsieve.adapters.tls import explain_tls, speaks_tls
from factsieve.core.errors import BadSettings

TIMEOUT_S: Final = 5.0
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""A request that every listener answers before it knows who asks: ApiVersions 0, correlation id 1, no client id, with its length."""
_ANSWER: Final = struct.Struct(">ii")
_LONGEST_ANSWER: Final = 1 << 20


async def explain(
    servers: Sequence[str], security: KafkaSecurity, *, timeout_s: float = TIMEOUT_S
) -> BadSettings | None:
    """Return which setting keeps us out of the first broker that answers; None where one lets us in, or none answers at all."""
    for server in servers:
        host, _, port = server.strip().rpartition(":")
        if not port.isdecimal():
            return BadSettings(f"kafka.bootstrap: {server!r} is not host:port")
        try:
            async with asyncio.timeout(timeout_s):
                return await _explain(host.strip("[]"), int(port), security)
        except (OSError, TimeoutError):
            continue
    return None


async def _explain(host: str, port: int, security: KafkaSecurity) -> BadSettings | None:
    address = f"{host}:{port}"
    context = security.ssl_context()
    plain = "SASL_PLAINTEXT" if security.uses_sasl else "PLAINTEXT"
    fix = f"kafka.security_protocol is {security.protocol} and should be {plain}"
    try:
        answered = await _asks(host, port, context)
    except ssl.SSLError as error:
        return explain_tls(error, "kafka", address, plain=fix)
    except ConnectionError:  # a listener without TLS takes a handshake for a request of a gigabyte, and hangs up
        if context is not None and await _asks(host, port, None):
            return BadSettings(f"{address} does not speak TLS: {fix}")
        raise
    if not answered:
        if context is None and await speaks_tls(host, port):
            return BadSettings(
                f"{address} speaks TLS: kafka.security_protocol is {security.protocol} and should be "
                f"{'SASL_SSL' if security.uses_sasl else 'SSL or SASL_SSL'}"
            )
        if context is not None and security.cert_file is None:
            return BadSettings(
                f"{address} closed the connection after the handshake: does it want a certificate of the client's own "
                "(kafka.ssl_cert_file, kafka.ssl_key_file)?"
            )
        return None
    return await _log_in(host, port, security)


async def _asks(host: str, port: int, context: ssl.SSLContext | None) -> bool:
    """Return whether the listener answers as a Kafka listener does. Raises OSError, SSLError among them, where it can not be reached."""
    reader, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        writer.write(_API_VERSIONS)
        await writer.drain()
        length, correlation_id = _ANSWER.unpack(await reader.readexactly(_ANSWER.size))
        return bool(0 < length < _LONGEST_ANSWER and correlation_id == 1)
    except (asyncio.IncompleteReadError, ConnectionError):
        return False
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _log_in(host: str, port: int, security: KafkaSecurity) -> BadSettings | None:
    address = f"{host}:{port}"
    with_sasl = "SASL_SSL" if security.uses_tls else "SASL_PLAINTEXT"
    connection: AIOKafkaConnection | None = None
    try:
        connection = await create_conn(
            host,
            port,
            client_id="factsieve-probe",
            request_timeout_ms=int(TIMEOUT_S * 1000),
            **security.client_options(),
        )
        await connection.send(MetadataRequest([]))
    except SaslAuthenticationFailed as error:
        return BadSettings(
            f"{address} refuses kafka.sasl_username {security.username!r} with kafka.sasl_password by {security.mechanism} ({_why(error)})"
        )
    except UnsupportedSaslMechanismError as error:
        return BadSettings(f"kafka.sasl_mechanism {security.mechanism}: {address} does not take it ({_why(error)})")
    except IllegalSaslStateError:
        without = "SSL" if security.uses_tls else "PLAINTEXT"
        return BadSettings(
            f"{address} wants no user name: kafka.security_protocol is {security.protocol} and should be {without}"
        )
    except KafkaConnectionError:
        if security.uses_sasl:
            return None
        return BadSettings(
            f"{address} hears us and lets nobody ask: it may want a user name, kafka.security_protocol {with_sasl} in place of "
            f"{security.protocol}"
        )
    except KafkaError:
        return None
    finally:
        if connection is not None:
            await _hang_up(connection)
    return None


async def _hang_up(connection: AIOKafkaConnection) -> None:
    writer = connection._writer
    connection.close()
    if writer is not None:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):  # a peer over TLS may take its time to say goodbye
                await writer.wait_closed()


def _why(error: KafkaError) -> str:
    return str(error).partition("] ")[2] or str(error) or type(error).__name__
