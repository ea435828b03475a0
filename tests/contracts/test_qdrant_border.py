"""Where Qdrant ends and factsieve begins: outages, refusals, versions, foreign collections, and what a call costs."""

import asyncio
import json

import pytest
from contract_stores import QDRANT_TIMEOUT_S, qdrant_facts, qdrant_opener, qdrant_prefix
from contract_values import (
    DIMENSION,
    T0,
    at_cosine,
    changed,
    insert,
    make_fact,
    near_axis,
    new_id,
    new_namespace,
    update,
)
from odd_server import http, odd_server

from factsieve.adapters.qdrant_ledger import QdrantLedger
from factsieve.adapters.qdrant_tools import Rest, check_server, collection_name, connect
from factsieve.core.errors import BadSettings, Bug, Transient
from factsieve.core.facts import Status
from factsieve.localstack.qdrant import Qdrant
from factsieve.ports import LedgerPointer

FACT_CALLS = {
    "neighbours": lambda store: store.neighbours([near_axis("n")]),
    "by_slot": lambda store: store.by_slot([("n", "s")]),
    "by_text": lambda store: store.by_text([("n", "0" * 64)]),
    "get": lambda store: store.get([new_id()]),
    "vectors": lambda store: store.vectors([new_id()]),
    "history": lambda store: store.history("n", new_id()),
    "select": lambda store: store.select("n", limit=3),
    "write": lambda store: store.write([insert(make_fact("n"))]),
    "check": lambda store: store.check(),
    "prepare": lambda store: store.prepare(),
}
LEDGER_CALLS = {
    "lookup": lambda store: store.lookup(["k"]),
    "records": lambda store: store.records([new_id()]),
    "insert": lambda store: store.insert({new_id(): (b"{}", {"namespace": "n", "recorded_at": T0})}),
    "point": lambda store: store.point({"k": LedgerPointer(new_id(), 0)}),
    "check": lambda store: store.check(),
    "prepare": lambda store: store.prepare(),
}


async def asked(url, call, *, ledger=False, timeout_s=5.0):
    """Return what a call on an unprepared adapter gives."""
    client = connect(url, timeout_s=timeout_s)
    try:
        return await call(QdrantLedger(client) if ledger else qdrant_facts(client, prefix=""))
    finally:
        await client.close()


def asked_of(answer, call, **options):
    """Return what a call gives when the server answers like this."""

    async def scenario():
        async with odd_server(answer) as server:
            return await asked(server.url, call, **options)

    return asyncio.run(scenario())


class TestErrors:
    @pytest.mark.parametrize("name", [*FACT_CALLS, *(f"ledger.{name}" for name in LEDGER_CALLS)])
    def test_nobody_listens(self, name):
        """Every call to a server that is not there raises Transient, which names the service."""
        kind, _, short = name.rpartition(".")
        call = LEDGER_CALLS[short] if kind else FACT_CALLS[short]
        with pytest.raises(Transient, match=r"^qdrant: ConnectError") as raised:
            asyncio.run(asked("http://127.0.0.1:1", call, ledger=bool(kind)))
        assert raised.value.service == "qdrant"

    @pytest.mark.parametrize("status", [401, 403, 404, 408, 409, 429, 500, 502, 503, 504])
    def test_what_may_pass_is_transient(self, status):
        """Answers that an operator or time can mend are Transient, with the server's words."""
        said = http(status, b'{"status":{"error":"some reason"},"time":0}')
        with pytest.raises(Transient, match=f"HTTP {status}: some reason"):
            asked_of(lambda _: said, FACT_CALLS["get"])

    def test_a_rate_limit_is_transient(self):
        """A 429 with a time to wait, which the client treats apart, is Transient."""
        said = http(429, b'{"status":{"error":"slow down"},"time":0}', "retry-after: 3")
        with pytest.raises(Transient, match="slow down"):
            asked_of(lambda _: said, FACT_CALLS["get"])

    @pytest.mark.parametrize("status", [400, 405, 413, 422, 501])
    def test_a_refused_request_is_a_bug(self, status):
        """A request that the server will never take is a Bug, with the server's words."""
        said = http(status, b'{"status":{"error":"Format error in JSON body"},"time":0}')
        with pytest.raises(Bug, match=f"HTTP {status}: Format error"):
            asked_of(lambda _: said, FACT_CALLS["get"])

    @pytest.mark.parametrize(
        "said",
        [
            b"",
            b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{",
            b"nonsense\r\n\r\n",
            http(200, b"<html>maintenance</html>"),
            http(200, b'{"result'),
            http(200, b"{}"),
            http(200, b"[]"),
            http(200, b""),
            http(503, b"<html>\xff</html>"),
        ],
        ids=["closed", "cut", "no-http", "html", "half-json", "no-result", "list", "empty", "html-503"],
    )
    def test_an_unreadable_answer_is_transient(self, said):
        """A connection that breaks, or a proxy that answers in the server's place, is Transient."""
        answers = iter([said, b""])
        with pytest.raises(Transient, match=r"^qdrant: "):
            asked_of(lambda _: next(answers, b""), FACT_CALLS["get"], timeout_s=1.0)

    def test_no_answer_in_time_is_transient(self):
        """A server that takes the request and never answers is given up after the time-out."""
        with pytest.raises(Transient, match="ReadTimeout"):
            asked_of(lambda _: None, FACT_CALLS["get"], timeout_s=1.0)

    @pytest.mark.parametrize("status", ["acknowledged", "wait_timeout"])
    @pytest.mark.parametrize("ledger", [False, True])
    def test_a_write_that_is_not_completed_is_transient(self, status, ledger):
        """`acknowledged` and `wait_timeout` are no success: the write is repeated."""
        said = http(200, json.dumps({"result": [{"operation_id": 1, "status": status}], "status": "ok"}).encode())
        with pytest.raises(Transient, match=status):
            asked_of(lambda _: said, LEDGER_CALLS["point"] if ledger else FACT_CALLS["write"], ledger=ledger)

    def test_a_foreign_point_is_a_bug(self):
        """A payload that is no fact is reported with its id, and never read as something else."""
        point_id = new_id()
        said = http(
            200, json.dumps({"result": [{"id": point_id, "payload": {"point_id": point_id, "text": 7}}]}).encode()
        )
        with pytest.raises(Bug, match=point_id):
            asked_of(lambda _: said, lambda store: store.get([point_id]))

    def test_a_bad_url_is_a_bad_setting(self):
        """A URL that nobody can call is refused with an example of a good one."""
        for url in ("ftp://host", "http://host:port"):
            with pytest.raises(BadSettings, match="http://host:6333"):
                connect(url)

    def test_connections_are_kept(self):
        """Requests to a loopback address share a connection."""

        async def scenario():
            async with odd_server(lambda _: http(200, b'{"result":[]}')) as server:
                client = connect(server.url)
                for _ in range(5):
                    await qdrant_facts(client, prefix="").get([new_id()])
                await client.close()
                return server.connections, len(server.requests)

        assert asyncio.run(scenario()) == (1, 5)


class TestVersion:
    @staticmethod
    def version(text, **options):
        said = http(200, json.dumps({"title": "qdrant", "version": text}).encode())

        async def scenario():
            async with odd_server(lambda _: said) as server:
                client = connect(server.url)
                try:
                    return await check_server(client, **options)
                finally:
                    await client.close()

        return asyncio.run(scenario())

    @pytest.mark.parametrize("text", ["1.19.0", "1.20.3", "1.100.0-dev", "2.0.0"])
    def test_a_safe_server_is_taken(self, text):
        """1.19 and later are taken."""
        assert self.version(text) == text

    @pytest.mark.parametrize("text", ["1.17.0", "1.18.9"])
    def test_an_old_server_needs_consent(self, text):
        """1.17 and 1.18 are refused with the name of the setting that accepts the risk, and taken with it."""
        with pytest.raises(BadSettings, match="accept_old_server"):
            self.version(text)
        assert self.version(text, accept_old_server=True) == text

    @pytest.mark.parametrize("text", ["1.16.4", "1.9.2", "0.11.0"])
    def test_a_server_without_conditional_writes_is_refused(self, text):
        """Below 1.17 no setting helps."""
        with pytest.raises(BadSettings, match=r"upgrade the server to 1\.19"):
            self.version(text, accept_old_server=True)

    @pytest.mark.parametrize("text", ["", "seven", None])
    def test_another_service_is_refused(self, text):
        """What does not tell a version is no Qdrant."""
        with pytest.raises(BadSettings, match="no Qdrant"):
            self.version(text)


def test_collection_names():
    """Names say model, dimension and fingerprint, in characters that may stand in a URL and a folder, within 255."""
    assert (
        collection_name("facts", "openai/text-embedding-3", 1536, "ab12") == "facts-openai_text-embedding-3-1536-ab12"
    )
    assert collection_name("facts", "../é:x y", 3, "f") == "facts-..___x_y-3-f"
    assert len(collection_name("facts", "m" * 400, 3, "f")) == 255


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("local_qdrant", marks=pytest.mark.stack),
        pytest.param("real_qdrant", marks=pytest.mark.stack),
    ],
)
def server(request):
    """The URL of a server, and a prefix for collections."""
    url = request.getfixturevalue(request.param)
    with qdrant_prefix(url) as prefix:
        yield url, prefix


def opened(server, make, scenario):
    """Run a scenario with a prepared adapter."""

    async def run():
        async with qdrant_opener(*server, make)() as adapter:
            return await scenario(adapter)

    return asyncio.run(run())


class TestCollections:
    def test_workers_that_start_at_once_agree(self, server):
        """Several workers prepare the same collections at the same moment, and again later."""
        url, prefix = server

        async def scenario():
            clients = [connect(url, timeout_s=QDRANT_TIMEOUT_S) for _ in range(3)]
            stores = [qdrant_facts(client, prefix=f"{prefix}race-") for client in clients]
            for _ in range(2):
                await asyncio.gather(*(store.prepare(accept_old_server=True) for store in stores))
            fact = make_fact(new_namespace())
            await stores[0].write([insert(fact)])
            assert await stores[2].select(fact.namespace) == [fact]
            for client in clients:
                await client.close()

        asyncio.run(scenario())

    @pytest.mark.parametrize(
        ("dimension", "metadata", "complaint"),
        [
            (DIMENSION + 1, {"factsieve": {}}, "holds vectors of 9 numbers .* makes 8"),
            (DIMENSION, {"factsieve": {"schema": 1, "model": "other"}}, "made for .*other"),
            (DIMENSION, None, "made for None"),
        ],
        ids=["dimension", "identity", "foreign"],
    )
    def test_a_collection_of_another_kind_is_refused(self, server, dimension, metadata, complaint):
        """Another dimension, another embedder or a collection of someone else is refused, with what to do."""
        url, prefix = server

        async def scenario():
            client = connect(url, timeout_s=QDRANT_TIMEOUT_S)
            own = f"{prefix}{new_id()[:8]}-"
            try:
                store = qdrant_facts(client, prefix=own)
                body = {"vectors": {"size": dimension, "distance": "Cosine"}}
                await Rest(client, store.collection).call(
                    "PUT", "", body | ({"metadata": metadata} if metadata else {})
                )
                with pytest.raises(BadSettings, match=complaint) as raised:
                    await store.prepare(accept_old_server=True)
                assert "collection prefix" in str(raised.value)
            finally:
                await client.close()

        asyncio.run(scenario())

    def test_a_wrong_key_is_a_bad_setting(self):
        """A key that the server does not take is reported at the start as what it is."""
        version = http(200, b'{"title":"qdrant","version":"1.20.0"}')
        refused = http(401, b"Must provide an API key")
        with pytest.raises(BadSettings, match="API key"):
            asked_of(lambda request: version if request.startswith(b"GET / ") else refused, FACT_CALLS["prepare"])

    def test_filters_without_an_index_are_refused(self, server):
        """Strict mode is on: a filter that would scan the collection is an error, not a slow answer."""

        async def scenario(store):
            rest = Rest(store._client, store.collection)
            with pytest.raises(Bug, match=r"(?i)index"):
                async for _ in rest.scroll({"must": [{"key": "text", "match": {"value": "x"}}]}):
                    pass

        opened(server, qdrant_facts, scenario)
        opened(server, QdrantLedger, scenario)

    def test_ledger_fields_can_be_asked_for(self, server):
        """Records are found by namespace, fact, whether they hold skips only, and age."""
        namespace, fact_id = new_namespace(), new_id()

        async def scenario(store):
            fields = {"namespace": namespace, "fact_ids": [fact_id, new_id()], "skips_only": False, "recorded_at": T0}
            await store.insert({new_id(): (b'"r"', fields)})
            conditions = [
                {"key": "namespace", "match": {"value": namespace}},
                {"key": "fact_ids", "match": {"value": fact_id}},
                {"key": "skips_only", "match": {"value": False}},
                {"key": "recorded_at", "range": {"lte": T0}},
            ]
            pages = [
                page async for page in Rest(store._client, store.collection).scroll({"must": conditions}, ["body"])
            ]
            assert pages == [[{"body": '"r"'}]]

        opened(server, QdrantLedger, scenario)

    def test_own_fields_of_the_ledger_are_its_own(self, server):
        """A caller's field can not take the place of a record's body."""

        async def scenario(store):
            with pytest.raises(Bug, match="body"):
                await store.insert({new_id(): (b"{}", {"body": "other"})})

        opened(server, QdrantLedger, scenario)


class TestCost:
    """How many requests a call takes."""

    @pytest.fixture
    def requests(self, monkeypatch):
        seen = []
        whole = Rest.raw

        async def counted(self, method, url, body=None, params=None):
            seen.append(f"{method} {url.removeprefix('/collections/{collection_name}')}")
            return await whole(self, method, url, body, params)

        monkeypatch.setattr(Rest, "raw", counted)
        return seen

    def test_one_request_a_call(self, server, requests):
        """Whatever the number of queries, slots, texts, points and versions: one request, and one more for payloads."""
        namespaces = [new_namespace() for _ in range(20)]
        stored = [make_fact(name, slot="s", version=number % 7 + 1) for number, name in enumerate(namespaces)]

        async def scenario(store):
            async def cost(call):
                requests.clear()
                await call
                return list(requests)

            batch = ["POST /points/batch"]
            assert await cost(store.write([insert(fact) for fact in stored])) == batch
            assert await cost(store.write([update(fact) for fact in stored])) == batch
            query = ["POST /points/query/batch"]
            assert await cost(store.neighbours([near_axis(name) for name in namespaces])) == [*query, "POST /points"]
            assert await cost(store.neighbours([near_axis(name, past=True) for name in namespaces])) == query
            assert await cost(store.neighbours([near_axis(name, floor=1.1) for name in namespaces])) == query
            assert await cost(store.by_slot([(name, "s") for name in namespaces])) == ["POST /points/scroll"]
            assert await cost(store.by_text([(name, "0" * 64) for name in namespaces])) == ["POST /points/scroll"]
            assert await cost(store.get([fact.point_id for fact in stored])) == ["POST /points"]

        opened(server, qdrant_facts, scenario)

    def test_a_record_is_written_in_two_requests(self, server, requests):
        """Inserting records takes a write and a read of digests; bodies are read only where another writer was first."""
        fields = {"namespace": new_namespace(), "recorded_at": T0}
        record_ids = [new_id() for _ in range(30)]

        async def scenario(store):
            requests.clear()
            await store.insert(dict.fromkeys(record_ids, (b"1", fields)))
            assert requests == ["POST /points/batch", "POST /points"]
            requests.clear()
            await store.insert(dict.fromkeys(record_ids, (b"2", fields)))
            assert requests == ["POST /points/batch", "POST /points", "POST /points"]
            requests.clear()
            await store.lookup(["k"] * 20)
            await store.point({"k": LedgerPointer(record_ids[0], 0)})
            assert requests == ["POST /points", "POST /points/batch"]

        opened(server, QdrantLedger, scenario)

    def test_a_fact_that_changed_between_the_requests_is_left_out(self, server, monkeypatch):
        """Another writer retires a fact after it was found and before it was read: it is no neighbour any more."""
        fact = make_fact(new_namespace())
        stays = make_fact(fact.namespace)

        async def scenario(store):
            await store.write([insert(fact), insert(stays, at_cosine(0.9))])
            whole = store.get

            async def late(point_ids):
                await store.write([update(changed(fact, status=Status.PAST, version=2))])
                return await whole(point_ids)

            monkeypatch.setattr(store, "get", late)
            near = (await store.neighbours([near_axis(fact.namespace)]))[0]
            assert [hit.fact for hit in near] == [stays]

        opened(server, qdrant_facts, scenario)


@pytest.mark.stack
def test_after_an_outage_it_goes_on(tmp_path):
    """A server that is killed makes calls Transient; when it is back the same adapter works, and what was written is there."""
    service = Qdrant(folder=tmp_path / "data", log_path=tmp_path / "log")
    service.start(timeout_s=60)
    fact = make_fact(new_namespace())

    async def scenario():
        client = connect(service.url, timeout_s=QDRANT_TIMEOUT_S)
        store = qdrant_facts(client, prefix="")
        await store.prepare()
        await store.write([insert(fact)])
        service.kill()
        for name in ("get", "neighbours", "write", "check"):
            with pytest.raises(Transient):
                await FACT_CALLS[name](store)
        service.start(timeout_s=60)
        assert await store.select(fact.namespace) == [fact]
        await client.close()

    try:
        asyncio.run(scenario())
    finally:
        service.stop()
