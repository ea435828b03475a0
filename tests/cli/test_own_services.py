"""Our own processes in the local stack: asked whether they are ready in the way in which they listen."""

import ssl
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from factsieve.assembly import memory
from factsieve.assembly.settings import load_settings
from factsieve.cli import local
from factsieve.cli.worker_service import ApiService
from factsieve.localstack.stack import LocalStack, StackConfig


class Ready(BaseHTTPRequestHandler):
    """Says yes."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def tls_port() -> Iterator[int]:
    """A server with a certificate that nobody here trusts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ready)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("facts.example").configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that speaks no TLS is part of the test
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_an_api_with_a_certificate_is_asked_over_tls(tls_port: int, tmp_path: Path) -> None:
    """`up` waits for the API that the user's settings give TLS files, and prints an address that works."""
    api = ApiService(folder=tmp_path, log_path=tmp_path / "api.log", environment={}, port=tls_port)
    assert api.url == f"http://127.0.0.1:{tls_port}"
    try:
        answered = api.answers()
    except OSError:
        answered = False
    assert not answered
    api.speak_tls()
    assert api.answers()
    assert api.url == f"https://127.0.0.1:{tls_port}"


class Saying(ApiService):
    """Says in which folder it runs, in the place of running the command."""

    def command(self) -> list[str]:
        return [sys.executable, "-c", "import os; print(os.getcwd())"]


def test_relative_paths_of_the_settings_mean_the_user_s_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`embedder.path = "models/mine"` is found by `up` where `decide` finds it, too."""
    (tmp_path / "project").mkdir()
    (tmp_path / "state").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    service = Saying(folder=tmp_path / "state", log_path=tmp_path / "state" / "api.log", environment={}, port=1)
    service._spawn()
    assert service._child is not None
    service._child.wait(60)
    assert service.log_path.read_text().strip() == str(tmp_path / "project")


@pytest.mark.parametrize("given", [None, "elsewhere"])
def test_marks_lie_with_their_stack_unless_the_settings_say_otherwise(given: str | None, tmp_path: Path) -> None:
    """Two stacks that are started from one folder do not read each other's."""
    config = tmp_path / "factsieve.toml"
    config.write_text("" if given is None else f'[worker]\nstate_dir = "{given}"\n')
    stack = LocalStack(StackConfig(state_dir=tmp_path / "state"))
    (tmp_path / "state").mkdir()
    settings = load_settings(local._settings(stack, {}, config), path=config)
    assert settings.worker.state_dir == (tmp_path / "state" if given is None else Path(given))


@pytest.mark.parametrize(
    ("offered", "given", "expected"),
    [
        ("always [madvise] never", {}, {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
        ("[always] madvise never", {}, {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
        ("always madvise [never]", {}, {}),
        (None, {}, {}),
        ("always [madvise] never", {"PYTHONMALLOC": "debug"}, {"PYTHONMALLOC": "debug", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
    ],
    ids=["asked-for", "always", "never", "unknown", "told-otherwise"],
)  # fmt: skip
@pytest.mark.skipif(sys.platform != "linux", reason="huge pages are asked for on Linux alone")
def test_our_own_processes_ask_for_huge_pages(
    offered: str | None,
    given: dict[str, str],
    expected: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the system offers huge pages, and unless somebody chose an allocator: the services beside ours are started as ever."""
    if offered is not None:
        (tmp_path / "enabled").write_text(f"{offered}\n", encoding="ascii")
    monkeypatch.setattr(memory, "_OFFERED", tmp_path / "enabled")
    for name in memory.HUGE_PAGES:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    environment = ApiService(folder=tmp_path, log_path=tmp_path / "api.log", environment={})._environment()
    assert {name: environment[name] for name in memory.HUGE_PAGES if name in environment} == expected
