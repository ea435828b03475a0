"""Compacting through a server that is not ours: asked to rewrite early, waited for, its settings left as they were."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from factsieve.assembly.settings import load_settings
from factsieve.core.errors import BadSettings, Transient
from factsieve.operations.compact import Compacted, compact

KEPT = {"deleted_threshold": 0.2, "vacuum_min_vector_number": 1000}


class Server:
    """Answers as a Qdrant server does to the few requests that compacting makes; `busy` times a collection is not at rest."""

    def __init__(self, names: list[str], *, busy: int = 0, config: dict[str, Any] | None = None) -> None:
        self.names = names
        self.busy = busy
        self.config = KEPT if config is None else config
        self.patches: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[str] = []

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        self.requests.append(f"{method} {path}")
        if path == "/":
            return {"title": "qdrant - vector search engine", "version": "1.19.0"}
        if path == "/collections":
            return {"result": {"collections": [{"name": name} for name in self.names]}}
        name = path.removeprefix("/collections/")
        if method == "PATCH":
            self.patches.append((name, body["optimizers_config"]))
            return {"result": True}
        at_rest = not (self.patches and self.busy)
        self.busy -= not at_rest
        status = {"status": "green" if at_rest else "yellow", "optimizer_status": "ok"}
        return {"result": {**status, "config": {"optimizer_config": self.config}}}


@pytest.fixture
def serve() -> Iterator[Any]:
    """Return a function that puts a server behind a URL."""
    running: list[tuple[HTTPServer, threading.Thread]] = []

    def start(server: Server) -> str:
        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length) or b"{}")
                content = json.dumps(server.answer(self.command, self.path, body)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PATCH = do_POST = handle_any  # noqa: N815 - as the base class wants them

            def log_message(self, *_given: Any) -> None:
                """Say nothing."""

        http = HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        running.append((http, thread))
        return f"http://127.0.0.1:{http.server_port}"

    yield start
    for http, thread in running:
        http.shutdown()
        thread.join()
        http.server_close()


def run(url: str, *, timeout_s: float = 30.0, prefix: str = "") -> list[Compacted]:
    settings = load_settings({"qdrant.url": url, "qdrant.collection_prefix": prefix}, environ={})
    return asyncio.run(compact(settings, timeout_s=timeout_s))


def test_a_server_is_asked_for_its_own_collections_only(serve: Any) -> None:
    """Facts and ledger under the prefix are rewritten early, each waited for; then the thresholds are back. Nothing is promised."""
    server = Server(["p-ledger", "p-facts-m-4-f", "ledger", "other"], busy=2)
    done = run(serve(server), prefix="p-")
    assert [(one.collection, one.certain) for one in done] == [("p-facts-m-4-f", False), ("p-ledger", False)]
    assert [name for name, _ in server.patches] == ["p-facts-m-4-f"] * 2 + ["p-ledger"] * 2
    eager, kept = server.patches[0][1], server.patches[1][1]
    assert eager["deleted_threshold"] < kept["deleted_threshold"]
    assert kept == KEPT
    assert server.busy == 0


def test_a_server_that_is_not_done_in_time_gets_its_settings_back(serve: Any) -> None:
    """The command says so, and the thresholds are what they were."""
    server = Server(["ledger"], busy=1_000)
    with pytest.raises(Transient, match="not rewritten within 1 s"):
        run(serve(server), timeout_s=1)
    assert server.patches[-1][1] == KEPT


def test_a_server_without_our_collections_is_refused(serve: Any) -> None:
    """Nothing is changed, and the message names the prefix."""
    server = Server(["something", "facts"])
    with pytest.raises(BadSettings, match="no collection of ours"):
        run(serve(server))
    assert server.patches == []
    assert not [one for one in server.requests if not one.startswith("GET")]
