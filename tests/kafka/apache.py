"""A real Apache Kafka for tests: fetched once with Maven, started in KRaft mode on loopback ports within seconds.

It can be stopped, killed and started again on the same data. `start` takes about 3 s, of which formatting the storage is one.
"""

import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

from factsieve.localstack.process import LocalStackError, Service, ask, free_port

KAFKA_VERSION = "4.1.0"
LOG4J_VERSION = "2.24.3"  # the one that this Kafka brings, for the binding that it does not bring

_POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>factsieve.tests</groupId>
  <artifactId>apache-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{kafka}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>{log4j}</version>
    </dependency>
  </dependencies>
</project>
"""

_LOG4J2 = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c: %m%n
"""

_FETCH_TIMEOUT_S = 600.0
_FORMAT_TIMEOUT_S = 60.0


class KafkaUnavailable(Exception):
    """Java or Maven is missing, or Maven could not fetch Kafka; the message says which."""


def kafka_jars() -> Path:
    """Return the folder with Kafka's jars, fetching it at the first use. Raises KafkaUnavailable."""
    cache = (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "factsieve" / f"apache-kafka-{KAFKA_VERSION}"
    )
    for program in ("java", "mvn"):
        if shutil.which(program) is None and not (program == "mvn" and cache.is_dir()):
            raise KafkaUnavailable(
                f"{program} is not on PATH: install a JDK (17 or newer) and Maven to run tests on Apache Kafka"
            )
    if cache.is_dir():
        return cache
    cache.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent, prefix=".fetching-") as folder:
        pom, jars = Path(folder, "pom.xml"), Path(folder, "jars")
        pom.write_text(_POM.format(kafka=KAFKA_VERSION, log4j=LOG4J_VERSION))
        fetch = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        done = subprocess.run(
            [*fetch, "-DincludeScope=runtime"], capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False
        )
        if done.returncode != 0 or not jars.is_dir():
            raise KafkaUnavailable(
                f"Maven could not fetch Apache Kafka {KAFKA_VERSION}:\n{(done.stdout + done.stderr)[-2_000:]}"
            )
        try:
            jars.rename(cache)  # whole or not at all, whoever else fetches at the same time
        except OSError:
            if not cache.is_dir():
                raise
    return cache


class ApacheKafka(Service):
    """One Kafka node, broker and controller in one, with its data in `folder`.

    Args:
        folder: takes properties, data and logs.
        log_path: takes what the process prints (warnings and errors).
        port: the port of the client listener, or 0 for a free one.
        listener: further server properties for the client listener, which then is called CLIENT: `listener_protocol` names its
            security protocol.
        properties: more server properties, over the ones given here.
        more_listeners: further listeners by name (in upper case), each with its `host:port` and security protocol.
        scram: users with their passwords, who exist from the first start on, for both SCRAM mechanisms.
    """

    name: ClassVar[str] = "kafka"

    def __init__(
        self,
        *,
        folder: Path,
        log_path: Path,
        port: int = 0,
        listener_protocol: str = "PLAINTEXT",
        properties: dict[str, str] | None = None,
        more_listeners: dict[str, tuple[str, str]] | None = None,
        scram: dict[str, str] | None = None,
    ) -> None:
        super().__init__(folder=folder, log_path=log_path, port=port)
        self._controller_port = 0
        self._internal_port = 0
        self._listener_protocol = listener_protocol
        self._properties = properties or {}
        self._more_listeners = more_listeners or {}
        self._scram = scram or {}
        self._jars = kafka_jars()

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers for a Kafka client."""
        return self.address

    @property
    def internal_address(self) -> str:
        """`host:port` of the listener between brokers, which is always plain."""
        return f"127.0.0.1:{self._internal_port}"

    def command(self) -> list[str]:
        """See `Service.command`; formats the storage at the first start."""
        path = self._write_properties()
        if not (self.folder / "data" / "meta.properties").exists():
            self._format(path)
        return [*self._java("-Xmx512m", "-Xms128m"), "kafka.Kafka", str(path)]

    def answers(self) -> bool:
        """Ask for the API versions on the internal listener, which is always plain."""
        request = struct.pack(">hhih", 18, 0, 1_812, -1)  # ApiVersions 0, correlation id, null client id
        answer = ask(self._internal_port, struct.pack(">i", len(request)) + request)
        return len(answer) >= 10 and struct.unpack_from(">iih", answer)[1:] == (1_812, 0)

    def start(self, *, timeout_s: float = 60.0) -> None:
        """See `Service.start`."""
        super().start(timeout_s=timeout_s)

    def _java(self, *options: str) -> list[str]:
        java = shutil.which("java")
        if java is None:
            raise LocalStackError("java is not on PATH any more")
        quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return [java, *options, *quick, logging, "-cp", f"{self._jars}/*"]

    def _write_properties(self) -> Path:
        self._controller_port = self._controller_port or free_port()
        self._internal_port = self._internal_port or free_port()
        client, internal = f"127.0.0.1:{self.port}", f"127.0.0.1:{self._internal_port}"
        protocols = f"CLIENT:{self._listener_protocol},INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
        more = "".join(f",{name}://{address}" for name, (address, _) in self._more_listeners.items())
        protocols += "".join(f",{name}:{protocol}" for name, (_, protocol) in self._more_listeners.items())
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CLIENT://{client},INTERNAL://{internal},CONTROLLER://127.0.0.1:{self._controller_port}{more}",
            "advertised.listeners": f"CLIENT://{client},INTERNAL://{internal}{more}",
            "listener.security.protocol.map": protocols,
            "inter.broker.listener.name": "INTERNAL",
            "log.dirs": str(self.folder / "data"),
            "auto.create.topics.enable": "false",
            "num.partitions": "1",
            "offsets.topic.num.partitions": "4",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "2",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
            "log.cleaner.dedupe.buffer.size": "8388608",
            "message.max.bytes": "8388608",
            "controlled.shutdown.enable": "false",
            # how long the controller takes a killed broker for alive, and does not let it register again
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "500",
        } | self._properties
        (self.folder / "log4j2.properties").write_text(_LOG4J2)
        path = self.folder / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        return path

    def _format(self, properties: Path) -> None:
        arguments = ["kafka.tools.StorageTool", "format", "-t", "factsieve-tests-0001AA", "-c", str(properties)]
        for user, password in self._scram.items():
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                arguments += ["--add-scram", f"{mechanism}=[name={user},password={password}]"]
        done = subprocess.run(
            [*self._java("-Xmx256m"), *arguments],
            capture_output=True,
            text=True,
            timeout=_FORMAT_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise LocalStackError(f"kafka could not format its storage:\n{(done.stdout + done.stderr)[-2_000:]}")
