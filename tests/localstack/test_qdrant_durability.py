"""What was acknowledged survives a kill of the process; a folder has one owner."""

import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from qdrant_client import QdrantClient
from qdrant_client import models as m

from factsieve.localstack.process import LocalStackError, free_port
from factsieve.localstack.qdrant import Qdrant
from factsieve.localstack.qdrant_collection import CONFIG_FILE
from factsieve.localstack.qdrant_engine import Engine, FolderInUse
from factsieve.localstack.qdrant_server import EXIT_USAGE, main

pytestmark = pytest.mark.stack


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Qdrant]:
    service = Qdrant(folder=tmp_path / "data", log_path=tmp_path / "log")
    service.start()
    yield service
    service.stop()


@pytest.fixture
def client(service: Qdrant) -> Iterator[QdrantClient]:
    client = QdrantClient(url=service.url, check_compatibility=False, timeout=10)
    yield client
    client.close()


def test_acknowledged_writes_survive_a_kill(service: Qdrant, client: QdrantClient) -> None:
    """After SIGKILL in the middle of a stream of writes, all that was acknowledged is there: points, conditions, indexes, settings."""
    strict = m.StrictModeConfig(enabled=True, unindexed_filtering_retrieve=False)
    client.create_collection(
        "facts",
        vectors_config=m.VectorParams(size=8, distance=m.Distance.COSINE),
        strict_mode_config=strict,
        metadata={"k": 1},
    )
    client.create_collection("ledger", vectors_config={})
    client.create_payload_index("facts", "namespace", m.KeywordIndexParams(type="keyword", is_tenant=True))
    client.create_payload_index("facts", "version", "integer")
    client.set_payload("facts", {"none": 1}, points=m.Filter(must=[m.HasIdCondition(has_id=[1])]))
    acknowledged: list[int] = []
    enough = threading.Event()

    def write() -> None:
        try:
            for i in range(100_000):
                points = [
                    m.PointStruct(id=i, vector=[1.0, i, 0, 0, 0, 0, 0, 0], payload={"namespace": "n", "version": 1})
                ]
                client.upsert("facts", points, wait=True, update_mode=m.UpdateMode.INSERT_ONLY)
                client.upsert("ledger", [m.PointStruct(id=i, vector={}, payload={"i": i})], wait=True)
                acknowledged.append(i)
                if i == 150:
                    enough.set()
        except Exception:
            return  # the server is gone

    writer = threading.Thread(target=write)
    writer.start()
    assert enough.wait(30)
    client.upsert("facts", [m.PointStruct(id=7, vector=[2.0] * 8, payload={"namespace": "n", "version": 2})], wait=True)
    client.delete("facts", [8])
    service.kill()
    writer.join(30)
    service.start()
    info = client.get_collection("facts")
    assert {field: schema.data_type.value for field, schema in info.payload_schema.items()} == {
        "namespace": "keyword",
        "version": "integer",
    }
    assert info.config.strict_mode_config.unindexed_filtering_retrieve is False
    assert info.config.metadata == {"k": 1}
    kept = {record.id: record.payload for record in client.retrieve("facts", acknowledged)}
    assert set(kept) == set(acknowledged) - {8}
    assert kept[7] == {"namespace": "n", "version": 2}
    assert {record.id for record in client.retrieve("ledger", acknowledged)} == set(acknowledged)
    in_namespace = m.Filter(must=[m.FieldCondition(key="namespace", match=m.MatchValue(value="n"))])
    assert client.count("facts", in_namespace).count == client.count("facts").count >= len(acknowledged) - 1
    nearest = client.query_points("facts", [1.0, 20, 0, 0, 0, 0, 0, 0], query_filter=in_namespace, limit=1).points
    assert nearest[0].id == 20


def test_repeated_kills(service: Qdrant, client: QdrantClient) -> None:
    """Write, kill, start, several times over: nothing is lost and nothing comes back that was deleted."""
    client.create_collection("c", vectors_config={})
    for turn in range(4):
        client.upsert("c", [m.PointStruct(id=turn * 10 + i, vector={}, payload={"turn": turn}) for i in range(10)])
        client.delete("c", [turn * 10])
        service.kill()
        service.start()
        assert client.count("c").count == 9 * (turn + 1)


def test_an_orderly_stop_flushes(service: Qdrant, client: QdrantClient) -> None:
    """After SIGTERM the server ends by itself with status 0, and everything is there at the next start."""
    client.create_collection("c", vectors_config={})
    client.upsert("c", [m.PointStruct(id=1, vector={}, payload={"a": 1})])
    assert service._child is not None
    service._child.send_signal(signal.SIGTERM)
    assert service._child.wait(10) == 0
    service.start()
    assert client.retrieve("c", [1])[0].payload == {"a": 1}


def test_second_opener_is_refused(service: Qdrant, tmp_path: Path) -> None:
    """A folder that a server has open is refused to the next one, with an error that names the owner."""
    second = Qdrant(folder=service.folder, log_path=tmp_path / "second.log")
    with pytest.raises(LocalStackError, match=rf"process id {service.pid}\)") as error:
        second.start()
    assert f"status {EXIT_USAGE}" in str(error.value)
    assert not second.running
    assert httpx.get(f"{service.url}/readyz").status_code == 200


def test_engine_refuses_a_second_one_in_the_same_process(tmp_path: Path) -> None:
    """The lock binds within one process too, and closing gives the folder free."""
    first = Engine(tmp_path)
    with pytest.raises(FolderInUse):
        Engine(tmp_path)
    first.close()
    Engine(tmp_path).close()


def test_interrupted_creation_and_deletion_leave_no_collection(service: Qdrant, client: QdrantClient) -> None:
    """A folder without its configuration is what a crash in between leaves: it is cleared away at the next start."""
    client.create_collection("whole", vectors_config={})
    client.create_collection("half", vectors_config={})
    service.kill()
    (service.folder / "collections" / "half" / CONFIG_FILE).unlink()
    service.start()
    assert [one.name for one in client.get_collections().collections] == ["whole"]
    client.create_collection("half", vectors_config={})
    assert client.count("half").count == 0


def test_names_of_any_script(service: Qdrant, client: QdrantClient) -> None:
    """Collection names with spaces and of other scripts keep their data over a restart."""
    names = ["facts mini-лм 384", "事実", "a%20b", f"x{uuid.uuid4()}"]
    for name in names:
        client.create_collection(name, vectors_config={})
    service.restart()
    assert [one.name for one in client.get_collections().collections] == sorted(names)


def test_usage_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An address that is not loopback and a port that is taken are refused with status 2 and a reason."""
    for host in ("0.0.0.0", "example.org"):
        with pytest.raises(SystemExit) as stop:
            main(["--host", host, "--port", "1", "--path", str(tmp_path)])
        assert stop.value.code == EXIT_USAGE
        assert "127.0.0.1" in capsys.readouterr().err


def test_taken_port_is_refused(service: Qdrant, tmp_path: Path) -> None:
    """The server itself says that its port is taken, and ends."""
    command = [
        sys.executable,
        "-m",
        "factsieve.localstack.qdrant_server",
        "--port",
        str(service.port),
        "--path",
        str(tmp_path / "x"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == EXIT_USAGE
    assert f"can not listen on 127.0.0.1:{service.port}" in done.stderr
    assert free_port() != service.port
