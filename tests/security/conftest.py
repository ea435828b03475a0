"""Certificates of two authorities, made anew for each run: the one that servers and clients trust, and another one."""

import gc
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

UNHURRIED = pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
"""For clients (redis-py, aiokafka) that close connections over TLS and do not wait for the other side's goodbye."""


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Let go of such connections here, and not in the middle of another test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@dataclass(frozen=True)
class Certificates:
    """PEM files. `wrong_ca` signed nothing that a server has, `stranger` is a client's certificate that no server trusts."""

    folder: Path
    ca: Path
    wrong_ca: Path
    server: Path
    server_key: Path
    elsewhere: Path
    elsewhere_key: Path
    client: Path
    client_key: Path
    stranger: Path
    stranger_key: Path


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    good, other = trustme.CA(), trustme.CA()
    made = {"ca": folder / "ca.pem", "wrong_ca": folder / "wrong-ca.pem"}
    good.cert_pem.write_to_path(made["ca"])
    other.cert_pem.write_to_path(made["wrong_ca"])
    issued = {
        "server": good.issue_cert("127.0.0.1", "localhost"),
        "elsewhere": good.issue_cert("elsewhere.example"),
        "client": good.issue_cert("worker.example"),
        "stranger": other.issue_cert("stranger.example"),
    }
    for name, leaf in issued.items():
        made[name], made[f"{name}_key"] = folder / f"{name}.pem", folder / f"{name}.key"
        key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
        made[f"{name}_key"].write_bytes(  # in the form that Java reads, too
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )
        made[name].write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    return Certificates(folder=folder, **made)


def redis_with_tls() -> str:
    """Return a redis-server that was built with TLS, or skip."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no redis-server is on PATH: install Redis 6.2 or later, built with TLS")
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    if "libssl" not in linked:
        pytest.skip(f"{program} was built without TLS")
    return program
