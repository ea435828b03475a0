"""The Qdrant engine of the local stack, as a service of its own."""

import http.client
import importlib.util
import os
import sys
from pathlib import Path
from typing import ClassVar, Final

import factsieve
from factsieve.localstack.process import Service, missing_package

_ASK_TIMEOUT_S: Final = 1.0


class Qdrant(Service):
    """`factsieve.localstack.qdrant_server` on loopback; its collections live in `folder` and survive a restart and a kill."""

    name: ClassVar[str] = "qdrant"

    @property
    def url(self) -> str:
        """The URL for a Qdrant client."""
        return f"http://{self.address}"

    def command(self) -> list[str]:
        """See `Service.command`."""
        if importlib.util.find_spec("qdrant_edge") is None:
            raise missing_package("qdrant-edge-py", "the local Qdrant engine")
        options = ["--host", self.host, "--port", str(self.port), "--path", str(self.folder.absolute())]
        return [sys.executable, "-P", "-m", "factsieve.localstack.qdrant_server", *options]

    def answers(self) -> bool:
        """Ask for /readyz."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_ASK_TIMEOUT_S)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except http.client.HTTPException:
            return False
        finally:
            connection.close()

    def _environment(self) -> dict[str, str]:
        # The child finds this very package, also where it was put on the path by hand.
        here = str(Path(factsieve.__file__).parents[1])
        paths = [here, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        return super()._environment() | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
