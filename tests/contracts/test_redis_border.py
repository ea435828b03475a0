"""Where Redis ends and factsieve begins: outages, refusals, settings, and what stands in the keys."""

import asyncio
import re
import uuid
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from contract_values import new_id, new_namespace
from odd_server import odd_server
from redis.asyncio import Redis as RedisClient

from factsieve.adapters.redis_window import RedisWindow
from factsieve.core.errors import BadSettings, Transient
from factsieve.core.ids import text_hash
from factsieve.localstack.redis import Redis
from factsieve.ports import WindowHit

AT = datetime(2026, 3, 4, 12, tzinfo=UTC)
TEXT = text_hash("make test: 212 passed", None)
HIT = WindowHit("fact", 1)


@asynccontextmanager
async def opened(url, **options):
    """A window, closed at the end."""
    window = RedisWindow(url, **{"timeout_s": 30.0, "pause_s": 0.0} | options)
    try:
        yield window
    finally:
        await window.close()


@asynccontextmanager
async def client_of(url):
    client = RedisClient.from_url(url)
    try:
        yield client
    finally:
        await client.aclose()


@pytest.fixture
def own_redis(tmp_path):
    """A redis-server that the test may stop and configure."""
    service = Redis(folder=tmp_path / "data", log_path=tmp_path / "redis.log")
    service.start(timeout_s=60)
    yield service
    service.stop()


CALLS = {
    "find": lambda window: window.find("n", [(TEXT, AT)]),
    "put": lambda window: window.put("n", [(TEXT, AT, HIT)]),
    "check": lambda window: window.check(),
}


@pytest.mark.parametrize("name", CALLS)
def test_nobody_listens(name):
    """Every call to a server that is not there raises Transient, which names the service."""

    async def scenario():
        async with opened("redis://127.0.0.1:1/0") as window:
            await CALLS[name](window)

    with pytest.raises(Transient, match=r"^redis: ") as raised:
        asyncio.run(scenario())
    assert raised.value.service == "redis"


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "said",
    [
        None,
        b"",
        b"nonsense\r\n",
        b"-LOADING Redis is loading the dataset in memory\r\n",
        b"-READONLY You can't write\r\n",
    ],
    ids=["hangs", "closes", "nonsense", "loading", "readonly"],
)
def test_a_server_that_is_not_well(name, said):
    """A server that hangs, closes, talks nonsense, loads or is a replica makes every call Transient within its time-out."""

    async def scenario():
        async with (
            odd_server(lambda _: said, is_http=False) as server,
            opened(f"redis://127.0.0.1:{server.port}/0", timeout_s=0.2) as window,
        ):
            await CALLS[name](window)

    with pytest.raises(Transient, match=r"^redis: "):
        asyncio.run(scenario())


def test_after_a_failure_calls_fail_at_once():
    """A Redis out of reach is asked once, then not again until the pause is over: a stream does not wait for it."""

    async def scenario():
        async with odd_server(lambda _: None, is_http=False) as server:
            async with opened(f"redis://127.0.0.1:{server.port}/0", timeout_s=0.2, pause_s=3600) as window:
                for _ in range(50):
                    with pytest.raises(Transient):
                        await window.find("n", [(TEXT, AT)])
            return server.connections

    assert asyncio.run(scenario()) == 1


def test_a_bad_url_is_a_bad_setting():
    """A URL that is none for Redis is refused with an example of a good one."""
    for url in ("localhost:6379", "http://localhost", "redis://host:port"):
        with pytest.raises(BadSettings, match="redis://host:6379/0"):
            RedisWindow(url)


@pytest.mark.stack
class TestServer:
    def test_after_an_outage_it_goes_on(self, own_redis):
        """A server that was killed and came back empty is used again by the same adapter, scripts and all."""

        async def scenario():
            async with opened(own_redis.url) as window:
                await window.put("n", [(TEXT, AT, HIT)])
                own_redis.kill()
                for call in CALLS.values():
                    with pytest.raises(Transient):
                        await call(window)
                own_redis.start(timeout_s=60)
                assert await window.find("n", [(TEXT, AT)]) == [None]
                await window.put("n", [(TEXT, AT, HIT)])
                assert await window.find("n", [(TEXT, AT)]) == [HIT]

        asyncio.run(scenario())

    def test_forgotten_scripts_are_sent_again(self, own_redis):
        """SCRIPT FLUSH and FLUSHALL between two writes do no harm."""

        async def scenario():
            async with opened(own_redis.url) as window, client_of(own_redis.url) as client:
                for _ in range(2):
                    await window.put("n", [(TEXT, AT, HIT)])
                    assert await window.find("n", [(TEXT, AT)]) == [HIT]
                    await client.script_flush()
                    await client.flushall()

        asyncio.run(scenario())

    @pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "allkeys-random"])
    def test_eviction_is_refused(self, own_redis, policy):
        """A server that evicts keys is refused at the start, with the setting that mends it."""

        async def scenario():
            async with opened(own_redis.url) as window, client_of(own_redis.url) as client:
                await window.check()
                await client.config_set("maxmemory-policy", policy)
                with pytest.raises(BadSettings, match=f"{policy}.*set maxmemory-policy noeviction"):
                    await window.check()

        asyncio.run(scenario())

    def test_no_memory_is_transient(self, own_redis):
        """A full server refuses writes: that is Transient, and reads go on."""

        async def scenario():
            async with opened(own_redis.url) as window, client_of(own_redis.url) as client:
                await window.put("n", [(TEXT, AT, HIT)])
                await client.config_set("maxmemory", "1")
                with pytest.raises(Transient, match=r"OutOfMemory|OOM"):
                    await window.put("n", [(TEXT, AT, HIT)])
                assert await window.find("n", [(TEXT, AT)]) == [HIT]

        asyncio.run(scenario())

    def test_a_wrong_password_is_a_bad_setting_at_the_start(self, own_redis):
        """A password that is refused is named at the start; the URL with the password is not printed."""

        async def scenario():
            async with client_of(own_redis.url) as client:
                await client.config_set("requirepass", "right")
            async with opened(own_redis.url.replace("redis://", "redis://:right@")) as window:
                await window.check()
            for url in (own_redis.url, own_redis.url.replace("redis://", "redis://:wrong-secret@")):
                async with opened(url) as window:
                    with pytest.raises(BadSettings, match="password") as raised:
                        await window.check()
                    assert "wrong-secret" not in str(raised.value)

        asyncio.run(scenario())

    def test_keys_and_values(self, local_redis):
        """Keys are `fs:{hash}:w:hash:bucket`, hold the ends of a bucket with microseconds, and go after their time."""
        namespace = new_namespace() + " } } secret"
        first, last = WindowHit(new_id(), 1), WindowHit(new_id(), 2)

        async def scenario():
            async with opened(local_redis) as window, client_of(local_redis) as client:
                before = set(await client.keys("*"))
                await window.put(
                    namespace,
                    [
                        (TEXT, AT, first),
                        (TEXT, AT + timedelta(microseconds=7), last),
                        (TEXT, AT - timedelta(days=1), first),
                    ],
                )
                keys = sorted(set(await client.keys("*")) - before)
                return {key.decode(): ((await client.get(key)).decode(), await client.ttl(key)) for key in keys}

        found = asyncio.run(scenario())
        at_us = int(AT.timestamp()) * 1_000_000
        assert [value for value, _ in found.values()] == [
            f"{first.fact_id}|1|{at_us - 86_400_000_000}",
            f"{first.fact_id}|1|{at_us};{last.fact_id}|2|{at_us + 7}",
        ]
        assert all(0 < ttl <= 900 for _, ttl in found.values())
        assert all(re.fullmatch(rf"fs:\{{[0-9a-f]{{32}}\}}:w:{TEXT}:\d+", key) for key in found)
        assert not any("secret" in key for key in found)

    @pytest.mark.parametrize("value", ["", "x", "a|b|c", "a|1|2|3", "||", "a|1|--2", "a|²|3", ";;", "\ud7ff|1"])
    def test_what_others_wrote_is_no_entry(self, local_redis, value):
        """A value that is not ours is no hit, and a write takes its place."""
        namespace, text = new_namespace(), text_hash(new_id(), None)

        async def scenario():
            async with opened(local_redis) as window, client_of(local_redis) as client:
                await window.put(namespace, [(text, AT, HIT)])
                (key,) = await client.keys(f"fs:*:w:{text}:*")
                await client.set(key, value)
                assert await window.find(namespace, [(text, AT)]) == [None]
                await window.put(namespace, [(text, AT, HIT)])
                assert await window.find(namespace, [(text, AT)]) == [HIT]

        asyncio.run(scenario())

    def test_cancelled_calls_do_not_mix_answers(self, local_redis):
        """Calls that are given up in the middle leave no answer behind for the next call on their connection."""
        namespace = new_namespace()
        texts = [text_hash(uuid.uuid4().hex, None) for _ in range(50)]

        async def scenario():
            async with opened(local_redis, max_connections=1) as window:
                await window.put(namespace, [(text, AT, WindowHit(text, 1)) for text in texts])
                for text in texts:
                    given_up = asyncio.ensure_future(window.find(namespace, [(texts[0], AT)]))
                    for _ in range(3):
                        await asyncio.sleep(0)
                    given_up.cancel()
                    await asyncio.gather(given_up, return_exceptions=True)
                    assert await window.find(namespace, [(text, AT)]) == [WindowHit(text, 1)]

        asyncio.run(scenario())

    def test_other_window_widths(self, local_redis):
        """The window may be wider or narrower than five minutes, down to a second."""
        for window_s in (1, 60, 3600):
            namespace = new_namespace()

            async def scenario(window_s=window_s, namespace=namespace):
                async with opened(local_redis, window_s=window_s) as window:
                    await window.put(namespace, [(TEXT, AT, HIT)])
                    edge = timedelta(seconds=window_s)
                    step = timedelta(microseconds=1)
                    return await window.find(
                        namespace, [(TEXT, AT + edge), (TEXT, AT - edge), (TEXT, AT + edge + step)]
                    )

            assert asyncio.run(scenario()) == [HIT, HIT, None]


def test_an_old_server_is_refused():
    """A Redis before 6.2 is refused with the version that is needed."""

    def answer(request):
        if b"INFO" not in request:
            return b"+OK\r\n" * request.count(b"*")
        text = b"# Server\r\nredis_version:6.0.16\r\nmaxmemory_policy:noeviction\r\n"
        return b"$%d\r\n%s\r\n" % (len(text), text) * request.count(b"INFO\r\n")

    async def scenario():
        async with (
            odd_server(answer, is_http=False) as server,
            opened(f"redis://127.0.0.1:{server.port}/0?protocol=2") as window,
        ):
            await window.check()

    with pytest.raises(BadSettings, match=r"Redis 6\.0\.16 is too old.*6\.2"):
        asyncio.run(scenario())
