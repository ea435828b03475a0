"""Worker and API as further services of the local stack: processes of their own, awaited until ready, stopped in order."""

import os
import ssl
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from factsieve.assembly.memory import huge_pages
from factsieve.localstack.process import Service, ask

STOP_TIMEOUT_S: Final = 35.0
"""Above their own deadlines for stopping."""

_READY: Final = b"GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"


class OwnService(Service):
    """One of our own commands as a child process, which answers once `/readyz` says yes.

    `environment` holds the settings (`FACTSIEVE_...`) that it is started with, over those of this process. It uses huge pages where there
    are any, unless this process was told otherwise.
    """

    words: ClassVar[tuple[str, ...]]
    """The command."""
    port_variable: ClassVar[str]
    """The variable that says where it listens."""
    tls: ssl.SSLContext | None = None
    """How it is spoken to, where it has a certificate."""

    def __init__(
        self,
        *,
        folder: Path,
        log_path: Path,
        environment: Mapping[str, str],
        port: int = 0,
        on_spawn: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(folder=folder, log_path=log_path, port=port, on_spawn=on_spawn)
        self._settings = dict(environment)

    def command(self) -> list[str]:
        """Return this interpreter with the command."""
        return [sys.executable, "-m", "factsieve", *self.words]

    def answers(self) -> bool:
        """Tell whether `/readyz` says yes."""
        return b" 200 " in ask(self.port, _READY, timeout_s=3.0, tls=self.tls).split(b"\r\n", 1)[0]

    @property
    def working_dir(self) -> Path:
        """Return the user's folder: relative paths in the settings mean the same here as in any other command."""
        return Path.cwd()

    def stop(self, *, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Let it finish what is under way; kill it if it has not ended by then."""
        super().stop(timeout_s=timeout_s)

    def _environment(self) -> dict[str, str]:
        return {**huge_pages(), **os.environ, **self._settings, self.port_variable: str(self.port)}


class WorkerService(OwnService):
    """`factsieve worker`, ready once its partitions are assigned and its stores are reachable; `port` is its health server's."""

    name: ClassVar[str] = "worker"
    words: ClassVar[tuple[str, ...]] = ("worker",)
    port_variable: ClassVar[str] = "FACTSIEVE_WORKER__HEALTH_PORT"


class ApiService(OwnService):
    """`factsieve api`, ready once its stores are reachable and the decision log is followed."""

    name: ClassVar[str] = "api"
    words: ClassVar[tuple[str, ...]] = ("api",)
    port_variable: ClassVar[str] = "FACTSIEVE_API__PORT"

    def speak_tls(self) -> None:
        """Ask it over TLS from now on, whatever its certificate says: it is our own child, and was made for the name that others use."""
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    @property
    def url(self) -> str:
        """Return where it listens."""
        return f"{'http' if self.tls is None else 'https'}://{self.address}"
