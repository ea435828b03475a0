"""Our own processes in the local stack: asked whether they are ready in the way in which they listen."""

import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from factsieve.cli.worker_service import ApiService


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
