"""What only a real Apache Kafka shows: transactions, compaction, broker restarts, SASL over TLS."""

import asyncio
import contextlib
import shutil
import subprocess
import time

import pytest
from aiokafka import AIOKafkaProducer
from kafka.apache import ApacheKafka
from kafka.brokers import TestBroker, require_kafka
from processes import Journal, Worker, text, until

from factsieve.adapters.kafka_client import KafkaSecurity, KafkaTransient
from factsieve.adapters.kafka_outbox import KafkaOutbox, OutboxOptions
from factsieve.ports import Message

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(170)]


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal.jsonl")


@pytest.fixture
def own_kafka(tmp_path):
    """A broker of this test's own, to be killed."""
    require_kafka()
    made = []

    def start(**options):
        service = ApacheKafka(folder=tmp_path / "node", log_path=tmp_path / "kafka.log", **options)
        made.append(service)
        service.start()
        return TestBroker("apache", service)

    yield start
    for service in made:
        service.kill()


async def wait_committed(broker, group, topic, wanted, timeout_s=40.0):
    deadline = time.monotonic() + timeout_s
    while (found := await broker.committed(group, topic, len(wanted))) != wanted:
        assert time.monotonic() < deadline, f"committed {found}, wanted {wanted}"
        await asyncio.sleep(0.05)


def test_a_fresh_group_never_commits_past_a_head_in_flight(apache, journal):
    """The very first record hangs while hundreds behind it finish and commits go on elsewhere: looked at all along, none passes it."""
    topic, group = apache.name("candidates"), apache.name("group")
    asyncio.run(apache.create(topic, 2))
    asyncio.run(apache.produce(topic, [{"value": b"gate", "key": b"k", "partition": 0}]))
    asyncio.run(apache.produce(topic, [{"value": b"ok", "key": b"k", "partition": 0}] * 300))
    with Worker(apache, topic, group, journal) as worker:
        journal.wait_for("done", [(0, offset) for offset in range(1, 301)])
        for count in range(1, 6):  # each of these commits is later than all of the above
            asyncio.run(apache.produce(topic, [{"value": b"ok", "key": b"k", "partition": 1}]))
            asyncio.run(wait_committed(apache, group, topic, {0: None, 1: count}))
        journal.path.with_suffix(".gate").touch()
        asyncio.run(wait_committed(apache, group, topic, {0: 301, 1: 5}))
        assert worker.stop() == 0


def test_what_compaction_removed_is_not_waited_for(apache, journal):
    """On a compacted topic most offsets are gone: the rest is done in order, and the last one is committed."""
    topic, group = apache.name("candidates"), apache.name("group")
    configs = {
        "cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100",
        "delete.retention.ms": "0",
    }  # fmt: skip
    asyncio.run(apache.create(topic, 1, configs))
    now_ms = int(time.time() * 1000)
    for number in range(6):  # a segment is rolled by the time between its records
        stamped = {"timestamp_ms": now_ms - 60_000 + 5_000 * number}
        values = [{"value": b"%d-%d" % (number, k), "key": b"k%d" % k, **stamped} for k in range(5)]
        asyncio.run(apache.produce(topic, values))
    asyncio.run(apache.produce(topic, [{"value": b"last", "key": b"last"}]))

    def compacted():
        offsets = [record.offset for record in asyncio.run(apache.read_all(topic))]
        return offsets if len(offsets) < 31 else None

    offsets = until(compacted, 60, "the log's compaction")
    with Worker(apache, topic, group, journal) as worker:
        journal.wait_for("done", [(0, 30)])
        asyncio.run(wait_committed(apache, group, topic, {0: 31}))
        got = [offset for _, offset in journal.places("got")]
        assert got == sorted(got)
        assert set(got) <= set(offsets), "compaction may have gone on meanwhile"
        assert worker.stop() == 0


def test_aborted_transactions_never_reach_the_engine_and_their_offsets_are_passed(apache, journal):
    """A candidate that its producer took back is no candidate; markers and aborted records leave gaps that nothing waits for."""
    topic, group = apache.name("candidates"), apache.name("group")

    async def produce():
        await apache.create(topic)
        producer = AIOKafkaProducer(bootstrap_servers=apache.bootstrap, transactional_id=apache.name("tx"))
        await producer.start()
        try:
            for number in range(6):
                with contextlib.suppress(InterruptedError):
                    async with producer.transaction():
                        for part in range(3):
                            await producer.send_and_wait(topic, b"%d-%d" % (number, part), key=b"k")
                        if number % 2:
                            raise InterruptedError
        finally:
            await producer.stop()

    asyncio.run(produce())
    with Worker(apache, topic, group, journal):
        until(lambda: len(journal.places("done")) == 9)
        got = journal.lines("got")
        assert [text(line["value"]) for line in got] == [b"%d-%d" % (n, p) for n in (0, 2, 4) for p in range(3)]
        offsets = [line["offset"] for line in got]
        assert offsets[-1] - offsets[0] > 9, "there are gaps"
        asyncio.run(wait_committed(apache, group, topic, {0: offsets[-1] + 1}))


@pytest.mark.slow
def test_a_broker_that_dies_and_comes_back_costs_nothing(own_kafka, journal):
    """Killed with records in flight, away, back on the same data: the same process goes on, everything is done and committed."""
    broker = own_kafka()
    topic, group = "candidates", "group"
    asyncio.run(broker.create(topic, 2))
    for number in range(2):
        asyncio.run(broker.produce(topic, [{"value": b"slow:0.01", "key": b"k", "partition": number}] * 200))
    with Worker(broker, topic, group, journal, bound=5, watchdog_s=60.0, judge_hold_s=0.0) as worker:
        until(lambda: len(journal.places("done")) > 50)
        broker.service.kill()
        until(lambda: "commit_" in worker.log or "fetch_failed" in worker.log, what="the worker noticing")
        port = worker.wait_listening()
        until(lambda: worker.ask(port, "/readyz")[0] == 503, what="/readyz telling that the coordinator is silent")
        assert worker.ask(port, "/healthz")[0] == 200, "a restart of the worker would not help"
        broker.service.start()
        for number in range(2):
            asyncio.run(broker.produce(topic, [{"value": b"ok", "key": b"k", "partition": number}] * 20))
        journal.wait_for("done", [(number, offset) for number in range(2) for offset in range(220)], timeout_s=60)
        asyncio.run(wait_committed(broker, group, topic, {0: 220, 1: 220}))
        until(lambda: worker.ask(port, "/readyz")[0] == 200, what="/readyz being right again")
        assert worker.stop() == 0
    repeated = len(journal.places("done")) - 440
    assert repeated <= 440


@pytest.mark.slow
def test_the_outbox_lives_through_a_broker_restart(own_kafka):
    """With idempotence the client would try for ever: ours says after its own time that it did not work, and works again later."""
    broker = own_kafka()

    async def main():
        await broker.create("out")
        options = OutboxOptions(delivery_timeout_s=3.0, request_timeout_s=2.0, stop_timeout_s=1.0)
        outbox = KafkaOutbox([broker.bootstrap], options=options)
        message = Message(topic="out", key=b"k", value=b"before", headers=())
        await outbox.send([message])
        broker.service.kill()
        for _ in range(2):
            with pytest.raises(KafkaTransient) as failure:
                await outbox.send([Message(topic="out", key=b"k", value=b"lost", headers=())])
            assert failure.value.retriable is True
        await asyncio.to_thread(broker.service.start)
        deadline = time.monotonic() + 30
        while True:
            try:
                await outbox.send([Message(topic="out", key=b"k", value=b"after", headers=())])
                break
            except KafkaTransient:
                assert time.monotonic() < deadline
        await outbox.stop()
        return [record.value for record in await broker.read_all("out")]

    found = asyncio.run(main())
    assert found == [b"before", b"after"], "what was said not to be sent was not sent later"


@pytest.fixture
def certificates(tmp_path):
    """A CA, a server key store for 127.0.0.1 that it signed, as files."""
    for program in ("openssl", "keytool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on PATH")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=tmp_path)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test ca",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
    openssl(
        "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1"
    )
    (tmp_path / "san.cnf").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem",
            "-days", "2", "-extfile", "san.cnf")  # fmt: skip
    openssl(
        "pkcs12",
        "-export",
        "-in",
        "server.pem",
        "-inkey",
        "server.key",
        "-out",
        "server.p12",
        "-passout",
        "pass:changeit",
    )
    return tmp_path


@pytest.mark.slow
def test_sasl_over_tls_is_spoken_by_worker_and_outbox(own_kafka, journal, certificates):
    """A listener that demands both lets the right password in and nothing else; the password shows nowhere."""
    users = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_sieve="s3cret-word";'
    broker = own_kafka(
        listener_protocol="SASL_SSL",
        properties={
            "listener.name.client.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": users,
            "listener.name.client.ssl.keystore.location": str(certificates / "server.p12"),
            "listener.name.client.ssl.keystore.password": "changeit",
            "listener.name.client.ssl.keystore.type": "PKCS12",
        },
    )
    inside = TestBroker("apache", broker.service)
    inside.__class__ = type("Inside", (TestBroker,), {"bootstrap": property(lambda b: b.service.internal_address)})
    asyncio.run(inside.create("candidates"))
    security = {
        "protocol": "SASL_SSL", "mechanism": "PLAIN", "username": "sieve", "password": "s3cret-word",
        "ca_file": str(certificates / "ca.pem"),
    }  # fmt: skip

    async def send(**change):
        outbox = KafkaOutbox([broker.bootstrap], security=KafkaSecurity(**security | change))
        try:
            await outbox.send([Message(topic="candidates", key=b"k", value=b"ok", headers=())])
        finally:
            await outbox.stop()

    asyncio.run(send())
    with pytest.raises(KafkaTransient) as refused:
        asyncio.run(send(password="wrong"))
    assert "wrong" not in str(refused.value)
    with pytest.raises(KafkaTransient):
        asyncio.run(send(ca_file=None))
    with Worker(broker, "candidates", "group", journal, security=security) as worker:
        journal.wait_for("done", [(0, 0)])
        assert worker.stop() == 0
        assert "s3cret-word" not in worker.log
    with Worker(broker, "candidates", "group", journal, security=security | {"password": "no"}) as worker:
        assert worker.process.wait(40) != 0
