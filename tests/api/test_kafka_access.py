"""What an API says at the start where the brokers do not let it in."""

import asyncio
import ssl
from types import SimpleNamespace
from typing import cast

import pytest
import trustme

from factsieve.adapters.kafka_client import KafkaSecurity
from factsieve.api import serve
from factsieve.core.errors import BadSettings
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Kafka

pytestmark = pytest.mark.api


async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Listen to nobody."""
    writer.close()


def test_a_wrong_setting_for_kafka_is_named_before_anything_is_opened() -> None:
    """Like a worker: exit code 2 and the setting, and not that some service was out of reach."""

    async def run() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
        server = await asyncio.start_server(hang_up, "127.0.0.1", 0, ssl=context)
        async with server:
            port = server.sockets[0].getsockname()[1]
            connected = SimpleNamespace(kafka=Kafka((f"127.0.0.1:{port}",), KafkaSecurity()))
            with pytest.raises(BadSettings, match=r"kafka\.security_protocol is PLAINTEXT and should be"):
                await serve._serve(cast(Connected, connected))

    asyncio.run(run())
