"""A worker as one more service of the local stack: its own process, awaited until it is ready, stopped in order."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final

from factsieve.localstack.process import Service, ask

STOP_TIMEOUT_S: Final = 35.0
"""Above the worker's own deadline for stopping."""

_READY: Final = b"GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"


class WorkerService(Service):
    """`factsieve worker` as a child process; it answers once its partitions are assigned and its stores are reachable.

    `environment` holds the settings (`FACTSIEVE_...`) that it is started with, over those of this process; `port` is where its
    health server listens.
    """

    name: ClassVar[str] = "worker"

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
        """Return this interpreter with the worker's command."""
        return [sys.executable, "-m", "factsieve", "worker"]

    def answers(self) -> bool:
        """Tell whether `/readyz` says yes."""
        return b" 200 " in ask(self.port, _READY, timeout_s=3.0).split(b"\r\n", 1)[0]

    def stop(self, *, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Let the worker drain, commit and leave the group; kill it if it has not ended by then."""
        super().stop(timeout_s=timeout_s)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self._settings, "FACTSIEVE_WORKER__HEALTH_PORT": str(self.port)}
