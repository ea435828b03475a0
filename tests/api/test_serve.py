"""`factsieve api` as a process: when it does not start, over TLS, and how it ends."""

import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import trustme
from api_stack import GRANTS, TOKENS, WAIT_S, Live, digest

from factsieve.localstack.process import free_port

pytestmark = [pytest.mark.api, pytest.mark.stack]

READY_S = 90.0


def environment(more: Mapping[str, str]) -> dict[str, str]:
    tokens = {"ops": {"sha256": digest(TOKENS["ops"]), **GRANTS["ops"]}}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FACTSIEVE_")}
    return {**kept, "FACTSIEVE_API__TOKENS": json.dumps(tokens), **more}


@contextmanager
def api(live: Live, client: httpx.Client, port: int, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run an API beside the stack's own, until it is ready."""
    command = [sys.executable, "-m", "factsieve", "api"]
    given = environment({"FACTSIEVE_API__PORT": str(port), **more})
    log_path = live.folder / f"api-{port}.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, cwd=live.folder, env=given, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + READY_S
        while True:
            assert process.poll() is None, log_path.read_text()
            assert time.monotonic() < deadline, log_path.read_text()
            try:
                if client.get("/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait(10)


def test_without_a_token_it_does_not_start(live: Live) -> None:
    """Exit code 2, and what to set, before anything is opened."""
    done = subprocess.run(
        [sys.executable, "-m", "factsieve", "api"],
        cwd=live.folder,
        env=environment({"FACTSIEVE_API__TOKENS": ""}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "api.tokens is empty" in done.stderr


@pytest.mark.slow
def test_an_address_in_use_is_named(live: Live) -> None:
    """Exit code 2, with the address."""
    port = live.url.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, "-m", "factsieve", "api", "--set", f"api.port={port}"],
        cwd=live.folder,
        env=environment({}),
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 2
    assert f"127.0.0.1:{port} can not be listened on" in done.stderr


@pytest.mark.slow
def test_it_is_spoken_to_over_tls_and_ends_in_order_with_a_stream_open(live: Live, tmp_path: Path) -> None:
    """SIGTERM ends live streams and the process, with code 0; who speaks plain HTTP or trusts another authority gets nothing."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    for part in certificate.cert_chain_pems:
        part.write_to_path(tmp_path / "cert.pem", append=True)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    port = free_port()
    files = {
        "FACTSIEVE_API__TLS_CERT_FILE": str(tmp_path / "cert.pem"),
        "FACTSIEVE_API__TLS_KEY_FILE": str(tmp_path / "key.pem"),
    }
    headers = {"Authorization": f"Bearer {TOKENS['ops']}"}
    with (
        httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusting, headers=headers, timeout=WAIT_S) as client,
        api(live, client, port, **files) as process,
    ):
        assert client.get("/healthz").headers["strict-transport-security"]
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/healthz")
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"https://127.0.0.1:{port}/healthz")
        began, ended = threading.Event(), threading.Event()

        def follow() -> None:
            with client.stream("GET", "/v1/decisions/stream") as answer:
                for _ in answer.iter_lines():
                    began.set()
            ended.set()

        following = threading.Thread(target=follow)
        following.start()
        assert began.wait(WAIT_S)
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
        following.join(WAIT_S)
        assert ended.is_set(), "the stream was ended, and not cut"
