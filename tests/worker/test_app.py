import asyncio

import msgspec
import pytest
from faust.auth import SASLCredentials

from factsieve.adapters.kafka_client import FETCH_LATER_MS, FETCH_MAX_WAIT_MS, FETCH_SOON_MS, KafkaSecurity
from factsieve.core.errors import BadSettings
from factsieve.worker.app import WorkerConfig, make_app
from factsieve.worker.consumer import SafeConsumer, SafeTransport


class Nothing:
    def __init__(self, context):
        self.context = context

    async def submit(self, record, done): ...
    def discard(self, partitions): ...
    async def drain(self, partitions, timeout_s):
        return True

    async def start(self): ...
    async def stop(self): ...

    in_flight = 0


def made(**config):
    async def main():
        return make_app(WorkerConfig(**config), Nothing)

    return asyncio.run(main())


def test_the_app_is_configured_as_the_safe_consumer_needs_it(tmp_path, monkeypatch):
    """Each of these has a default in Faust that loses events, listens to the world or leaves files behind."""
    monkeypatch.chdir(tmp_path)
    app = made(bootstrap_servers=("b1:9092", "b2:9093"), group_id="g", session_timeout_s=9.0)
    conf = app.conf
    assert [str(url) for url in conf.broker] == ["kafka://b1:9092", "kafka://b2:9093"]
    assert (conf.id, conf.broker_session_timeout) == ("g", 9.0)
    assert (conf.table_standby_replicas, conf.topic_disable_leader, conf.topic_allow_declare) == (0, True, False)
    assert (conf.stream_buffer_maxsize, conf.stream_wait_empty) == (65_536, False)
    assert (conf.key_serializer, conf.value_serializer) == ("raw", "raw")
    assert (conf.web_enabled, conf.worker_redirect_stdouts) == (False, False)
    assert conf.consumer_auto_offset_reset == "earliest"
    assert isinstance(app.transport, SafeTransport)
    assert issubclass(app.transport.Consumer, SafeConsumer)
    assert list(tmp_path.iterdir()) == []


def test_two_apps_share_nothing():
    """There is no global app: every test and every worker makes its own."""
    first, second = made(group_id="one"), made(group_id="two")
    assert first.feeds is not second.feeds
    assert first.fence is not second.fence
    assert len(first.agents) == len(second.agents) == 1


def test_the_engine_gets_the_fence_of_its_consumer():
    app = made()
    assert app.engine.context.fence is app.fence


def test_credentials_reach_the_client_and_no_representation():
    security = KafkaSecurity(protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256", username="u", password="s3cret")
    app = made(security=security)
    credentials = app.conf.broker_credentials
    assert isinstance(credentials, SASLCredentials)
    assert (credentials.username, credentials.password) == ("u", "s3cret")
    assert credentials.mechanism.value == "SCRAM-SHA-256"
    assert "s3cret" not in repr(app.config) + repr(security) + str(security) + repr(credentials)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"heartbeat_interval_s": 5.0}, "session_timeout_s"),
        ({"session_timeout_s": 50.0}, "request_timeout_s"),
        ({"rebalance_timeout_s": 60.0}, "request_timeout_s"),
        ({"drain_timeout_s": 20.0}, "rebalance_timeout_s"),
        ({"judge_hold_s": 295.0}, "watchdog_s"),
        ({"stop_deadline_s": 1.0}, "stop_deadline_s"),
        ({"stream_buffer_records": 1_000}, "stream_buffer_records"),
        ({"bootstrap_servers": ()}, "bootstrap servers"),
        ({"security": KafkaSecurity(protocol="SASL_SSL")}, "kafka.sasl_username"),
        ({"security": KafkaSecurity(protocol="SSL", ca_file="/nowhere/ca.pem")}, "/nowhere/ca.pem"),
    ],
)
def test_times_that_contradict_each_other_are_refused_by_name(change, named):
    """A drain that outlasts the rebalance, for one, would cost the membership with everything in flight."""
    with pytest.raises(BadSettings, match=named):
        made(**change)


def test_the_defaults_agree_with_each_other():
    assert msgspec.structs.asdict(WorkerConfig().checked())["topic"] == "candidate-facts"


def client_thread_of(app):
    """Return the thread of the app's consumer, not started."""
    nothing = app.on_partitions_revoked
    consumer = app.transport.create_consumer(nothing, on_partitions_revoked=nothing, on_partitions_assigned=nothing)
    return consumer._thread


def test_the_client_waits_for_an_empty_fetch_no_longer_than_our_others():
    """Faust's own client lets a broker keep one for six times as long, and then the local stack's answers late."""

    async def main():
        app = make_app(WorkerConfig(isolation_level="read_uncommitted"), Nothing)
        thread = client_thread_of(app)
        client = thread._create_worker_consumer(app.transport)
        await client.stop()
        thread.thread_loop.close()
        return client._fetch_max_wait_ms, client._isolation_level

    assert asyncio.run(main()) == (FETCH_MAX_WAIT_MS, "read_uncommitted")


def test_the_less_there_is_to_do_the_sooner_a_fetch_is_answered():
    """Nothing at hand, something, enough for a while; and back again."""
    name = ("candidate-facts", 0)

    async def main():
        app = make_app(WorkerConfig(), Nothing)
        thread = client_thread_of(app)
        waits = [thread._fetch_wait_ms()]
        app.feeds.open([name])
        for offset in range(512):
            app.feeds.expect(name, offset, 1, 0)
            waits.append(thread._fetch_wait_ms())
        await app.feeds.settle([name], 1.0)
        app.feeds.close([name])
        waits.append(thread._fetch_wait_ms())
        thread.thread_loop.close()
        return waits

    assert asyncio.run(main()) == [FETCH_SOON_MS, *[FETCH_MAX_WAIT_MS] * 511, FETCH_LATER_MS, FETCH_SOON_MS]
