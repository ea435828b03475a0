"""A Redis that demands TLS, a client's certificate and a user with few rights: by settings it works, and what is wrong is named."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from security.conftest import UNHURRIED, Certificates, redis_with_tls

from factsieve.adapters.redis_window import COMMANDS, RedisWindow
from factsieve.adapters.tls import TlsFiles, client_context, late_alert
from factsieve.assembly.settings import load_settings
from factsieve.assembly.wiring import build_window
from factsieve.core.errors import BadSettings, Transient
from factsieve.localstack.process import Service
from factsieve.ports import WindowHit

pytestmark = UNHURRIED

PASSWORD = "hush-redis-4711"
AT = datetime(2026, 3, 1, tzinfo=UTC)


class SecuredRedis(Service):
    """redis-server with a TLS port and an ACL user `worker`; without TLS where `certificates` is None."""

    name: ClassVar[str] = "redis"

    def __init__(self, folder: Path, certificates: Certificates | None, *, mutual: bool = False) -> None:
        super().__init__(folder=folder, log_path=folder / "redis.log")
        self.certificates = certificates
        self.mutual = mutual

    def command(self) -> list[str]:
        rules = " ".join(COMMANDS)
        acl = self.folder / "users.acl"
        acl.write_text(
            f"user default off\nuser worker on >{PASSWORD} ~fs:* {rules}\nuser weak on >{PASSWORD} ~fs:* +ping +info\n"
        )
        options = {"--bind": "127.0.0.1", "--save": "", "--aclfile": str(acl), "--dir": str(self.folder)}
        if self.certificates is None:
            options["--port"] = str(self.port)
        else:
            options |= {
                "--port": "0",
                "--tls-port": str(self.port),
                "--tls-cert-file": str(self.certificates.server),
                "--tls-key-file": str(self.certificates.server_key),
                "--tls-ca-cert-file": str(self.certificates.ca),
                "--tls-auth-clients": "yes" if self.mutual else "no",
            }
        return [redis_with_tls(), *(part for option in options.items() for part in option)]

    def answers(self) -> bool:
        return "Ready to accept connections" in self.log_path.read_text()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredRedis]:
    yield from _running(SecuredRedis(tmp_path_factory.mktemp("redis-plain"), None))


@pytest.fixture(scope="module")
def with_tls(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[SecuredRedis]:
    yield from _running(SecuredRedis(tmp_path_factory.mktemp("redis-tls"), certificates))


@pytest.fixture(scope="module")
def mutual(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[SecuredRedis]:
    yield from _running(SecuredRedis(tmp_path_factory.mktemp("redis-mutual"), certificates, mutual=True))


def _running(service: SecuredRedis) -> Iterator[SecuredRedis]:
    redis_with_tls()
    service.start()
    yield service
    service.stop()


def use(**settings: object) -> bool:
    """Open the window that these settings name, check it, and say whether it keeps what is put into it."""

    async def main() -> bool:
        overrides = {f"redis.{name}": str(v) if isinstance(v, Path) else v for name, v in settings.items()}
        window: RedisWindow = build_window(load_settings({"redis.timeout_s": 5, **overrides}, environ={}))
        try:
            await window.check()
            await window.put("n", [("hash", AT, WindowHit("fact", 1))])
            return await window.find("n", [("hash", AT)]) == [WindowHit("fact", 1)]
        finally:
            await window.close()

    return asyncio.run(main())


def refused(kind: type[Exception] = BadSettings, **settings: object) -> str:
    """Return what is said where these settings do not work; no secret is in it."""
    with pytest.raises(kind) as caught:
        use(**settings)
    said = repr(caught.value) + str(caught.value)
    assert "hush" not in said
    return str(caught.value)


def secured(service: SecuredRedis, **more: Any) -> dict[str, Any]:
    known = service.certificates
    return {
        "url": f"rediss://{service.address}/0",
        "username": "worker",
        "password": PASSWORD,
        **({} if known is None else {"ssl_ca_file": known.ca}),
        **more,
    }


def test_tls_and_a_user_with_few_rights(with_tls: SecuredRedis) -> None:
    """User and password by settings of their own, or in the URL; the rights that the documents name are enough."""
    assert use(**secured(with_tls))
    url = f"rediss://worker:{PASSWORD}@{with_tls.address}/0"
    assert use(url=url, ssl_ca_file=with_tls.certificates.ca)  # type: ignore[union-attr]


def test_a_user_and_a_password_without_tls(plain: SecuredRedis) -> None:
    """An ACL is there without TLS too."""
    assert use(url=f"redis://{plain.address}/0", username="worker", password=PASSWORD)


def test_a_certificate_of_the_clients_own(mutual: SecuredRedis, certificates: Certificates) -> None:
    """Mutual TLS."""
    assert use(**secured(mutual, ssl_cert_file=certificates.client, ssl_key_file=certificates.client_key))


def test_without_or_with_a_strangers_certificate_it_is_said_which_setting(
    mutual: SecuredRedis, certificates: Certificates
) -> None:
    """The server ends the handshake; what it wants is named."""
    assert "redis.ssl_cert_file" in refused(**secured(mutual))
    stranger = {"ssl_cert_file": certificates.stranger, "ssl_key_file": certificates.stranger_key}
    assert "redis.ssl_cert_file" in refused(**secured(mutual, **stranger))


def test_what_is_said_after_the_handshake_is_heard(mutual: SecuredRedis, certificates: Certificates) -> None:
    """A command that is on its way when the server ends the connection may be answered by a reset alone; who listens hears the alert."""
    host, port = mutual.address.split(":")
    files = TlsFiles(ca=str(certificates.ca))
    known = msgspec.structs.replace(files, cert=str(certificates.client), key=str(certificates.client_key))
    refused_for = asyncio.run(late_alert(host, int(port), client_context(files, "redis"), 30.0))
    assert refused_for is not None
    assert "CERTIFICATE_REQUIRED" in (refused_for.reason or "")
    assert asyncio.run(late_alert(host, int(port), client_context(known, "redis"), 0.2)) is None
    assert asyncio.run(late_alert(host, 1, client_context(files, "redis"), 0.2)) is None


def test_an_authority_that_signed_nothing_here(with_tls: SecuredRedis, certificates: Certificates) -> None:
    """The setting of the file is named, and the address."""
    said = refused(**secured(with_tls, ssl_ca_file=certificates.wrong_ca))
    assert "redis.ssl_ca_file" in said
    assert with_tls.address in said


@pytest.mark.parametrize(
    "wrong", [{"password": "hush-wrong"}, {"username": "nobody"}, {"username": None, "password": None}]
)
def test_a_wrong_user_or_password(with_tls: SecuredRedis, wrong: dict[str, Any]) -> None:
    """Both settings are named, and the password is not shown."""
    said = refused(**secured(with_tls, **wrong))
    assert "redis.username" in said
    assert "redis.password" in said


def test_a_user_who_may_not(with_tls: SecuredRedis) -> None:
    """What the user lacks is named, as an ACL rule has it: found out at the first call that needs it."""
    with pytest.raises((BadSettings, Transient)) as caught:
        use(**secured(with_tls, username="weak"))
    assert "mget" in str(caught.value) or "evalsha" in str(caught.value)


def test_a_plain_client_of_a_listener_with_tls(with_tls: SecuredRedis) -> None:
    """And the other way round: the scheme of the URL is named."""
    said = refused(url=f"redis://{with_tls.address}/0", username="worker", password=PASSWORD)
    assert "redis.url should begin with rediss://" in said


def test_a_tls_client_of_a_plain_listener(plain: SecuredRedis) -> None:
    said = refused(url=f"rediss://{plain.address}/0", username="worker", password=PASSWORD)
    assert "redis.url should begin with redis://" in said


def test_files_that_can_not_be_used(certificates: Certificates, tmp_path: Path) -> None:
    """Before anything is connected."""
    url = "rediss://127.0.0.1:1/0"
    assert "redis.ssl_ca_file" in refused(url=url, ssl_ca_file=tmp_path / "absent.pem")
    junk = tmp_path / "junk.pem"
    junk.write_text("no certificate")
    assert "redis.ssl_ca_file" in refused(url=url, ssl_ca_file=junk)
    said = refused(url=url, ssl_cert_file=certificates.client, ssl_key_file=certificates.server_key)
    assert "redis.ssl_key_file" in said
    assert "belong together" in refused(url=url, ssl_cert_file=certificates.client)
    assert "rediss://" in refused(url="redis://127.0.0.1:1/0", ssl_ca_file=certificates.ca)


def test_nobody_there_is_an_outage_and_no_wrong_setting() -> None:
    """The same as before: it may come back."""
    refused(Transient, url="rediss://127.0.0.1:1/0")
    refused(Transient, url="redis://127.0.0.1:1/0")
