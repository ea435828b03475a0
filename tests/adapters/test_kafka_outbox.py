"""The outbox on real brokers: order, acknowledgements, errors, partitions."""

import asyncio
import random
import socket

import pytest

from factsieve.adapters.kafka_client import KafkaSecurity, KafkaTransient
from factsieve.adapters.kafka_outbox import KafkaOutbox, OutboxOptions
from factsieve.core.errors import BadSettings, Transient
from factsieve.core.offsets import partition_for
from factsieve.ports import Message, Outbox

pytestmark = pytest.mark.stack


def outbox_of(broker, **options):
    return KafkaOutbox(
        [broker.bootstrap], options=OutboxOptions(**{"enable_idempotence": broker.is_idempotent, **options})
    )


def with_outbox(broker, body, **options):
    async def main():
        outbox = outbox_of(broker, **options)
        await outbox.start()
        try:
            return await body(outbox)
        finally:
            await outbox.stop()

    return asyncio.run(main())


def message(topic, key, value, headers=(), **more):
    return Message(topic=topic, key=key, value=value, headers=tuple(headers), **more)


@pytest.mark.parametrize("compression", ["none", "gzip", "lz4"])
def test_messages_arrive_as_they_are_and_in_order_per_key(broker, compression):
    """Also in batches much larger than what is in flight at once, and over several calls."""
    topic = broker.name("out")
    keys = [f"key-{number}".encode() for number in range(7)]
    sent = [
        message(
            topic,
            random.Random(7 * n).choice(keys),
            b"%d" % n,
            [("a", b"1"), ("a", b"2"), ("n", b"%d" % n)],
            timestamp_ms=10**12 + n,
        )
        for n in range(900)
    ]

    async def body(outbox):
        await broker.create(topic, 3)
        port: Outbox = outbox
        await port.send(sent[:500])
        await port.send(sent[500:])
        await port.send([])
        return await broker.read_all(topic)

    found = with_outbox(broker, body, compression=compression, max_in_flight=64)
    assert len(found) == len(sent)
    for key in keys:
        mine = [record for record in found if record.key == key]
        assert [record.value for record in mine] == [entry.value for entry in sent if entry.key == key]
        assert {record.partition for record in mine} == {partition_for(key, 3)}
    by_value = {record.value: record for record in found}
    assert by_value[b"5"].headers == (("a", b"1"), ("a", b"2"), ("n", b"5"))
    assert by_value[b"5"].timestamp == 10**12 + 5


def test_a_null_value_is_a_tombstone(broker):
    topic = broker.name("out")

    async def body(outbox):
        await broker.create(topic)
        await outbox.send([message(topic, b"k", None)])
        return await broker.read_all(topic)

    assert [(record.key, record.value) for record in with_outbox(broker, body)] == [(b"k", None)]


def test_whatever_kafka_takes_can_be_sent(broker):
    """A record without key and value, which the client refuses, and headers that are null, empty or no text: dead letters may have them."""
    topic = broker.name("out")
    headers = (("null", None), ("empty", b""), ("raw", b"\xff"), ("null", b"2"))

    async def body(outbox):
        await broker.create(topic)
        await outbox.send([Message(topic=topic, key=None, value=None, headers=headers)])
        await outbox.send([message(topic, None, b""), message(topic, b"", None)])
        return await broker.read_all(topic)

    found = with_outbox(broker, body)
    assert [(record.key, record.value) for record in found] == [(None, None), (None, b""), (b"", None)]
    assert found[0].headers == headers


def test_librdkafkas_partitioner_is_followed_where_it_is_configured(broker):
    topic = broker.name("out")

    async def body(outbox):
        await broker.create(topic, 5)
        await outbox.send([message(topic, b"key-%d" % n, b"") for n in range(40)])
        return await broker.read_all(topic)

    found = with_outbox(broker, body, partitioner="crc32")
    assert {(record.key, record.partition) for record in found} == {
        (b"key-%d" % n, partition_for(b"key-%d" % n, 5, "crc32")) for n in range(40)
    }


def test_a_message_beyond_the_limit_is_refused_for_good_and_the_others_go_on(broker):
    """The error says so, and the producer stays usable."""
    topic = broker.name("out")

    async def body(outbox):
        await broker.create(topic)
        with pytest.raises(KafkaTransient, match="1 of 2 messages") as failure:
            await outbox.send([message(topic, b"k", b"small"), message(topic, b"k", bytes(200_000))])
        assert failure.value.retriable is False
        await outbox.send([message(topic, b"k", b"after")])
        assert (outbox.sent_total, outbox.failed_total, outbox.replaced_total) == (2, 1, 0)
        return await broker.read_all(topic)

    assert [record.value for record in with_outbox(broker, body, max_request_bytes=100_000)] == [b"small", b"after"]


def test_a_record_of_the_input_limit_fits_into_the_dead_letter_topic(broker):
    """A megabyte with its headers."""
    topic = broker.name("out")
    headers = [(f"kafka_dlt-{n}", bytes(500)) for n in range(20)]

    async def body(outbox):
        await broker.create(topic)
        await outbox.send([message(topic, b"k", random.Random(1).randbytes(1_000_000), headers)])
        return await broker.read_all(topic)

    assert [len(record.value) for record in with_outbox(broker, body, compression="none")] == [1_000_000]


def test_a_broker_out_of_reach_is_transient():
    """At the start and later; the outbox can be used again after it failed to connect."""

    async def main():
        with socket.socket() as taken:  # bound, not listening: connections are refused
            taken.bind(("127.0.0.1", 0))
            outbox = KafkaOutbox([f"127.0.0.1:{taken.getsockname()[1]}"], options=OutboxOptions(request_timeout_s=2.0))
            for _ in range(2):
                with pytest.raises(Transient, match=r"connecting to 127\.0\.0\.1") as failure:
                    await outbox.send([message("t", b"k", b"v")])
                assert (failure.value.service, failure.value.retriable) == ("kafka", True)
            await outbox.stop()

    asyncio.run(main())


def test_a_stopped_outbox_says_so(broker):
    async def main():
        outbox = outbox_of(broker)
        await outbox.start()
        await outbox.stop()
        await outbox.stop()
        with pytest.raises(KafkaTransient, match="stopped"):
            await outbox.send([message("t", b"k", b"v")])

    asyncio.run(main())


def test_unusable_credentials_are_settings_not_outages():
    async def main():
        outbox = KafkaOutbox(["127.0.0.1:1"], security=KafkaSecurity(protocol="SASL_PLAINTEXT", username="u"))
        with pytest.raises(BadSettings, match="password"):
            await outbox.start()
        await outbox.stop()

    asyncio.run(main())


def test_the_client_options_say_what_the_security_says(tmp_path):
    plain = KafkaSecurity().client_options()
    assert plain == {"security_protocol": "PLAINTEXT"}
    options = KafkaSecurity(protocol="SASL_SSL", username="u", password="p", verify_hostname=False).client_options()
    assert options["sasl_mechanism"] == "SCRAM-SHA-512"
    assert options["ssl_context"].check_hostname is False
    bad = tmp_path / "ca.pem"
    bad.write_text("no certificate")
    with pytest.raises(BadSettings, match=r"ca\.pem"):
        KafkaSecurity(protocol="SSL", ca_file=str(bad)).client_options()
