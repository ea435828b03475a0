"""What `deploy/` says agrees with what the code knows; checked by parsing, since no container engine runs in the tests."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from factsieve.assembly.memory import HUGE_PAGES
from factsieve.assembly.settings import Settings, load_settings, setting_names, variable_of
from factsieve.cli.topics import app as topics_app
from factsieve.wire.topics import Topics

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
KNOWN = {variable_of(name) for name, _, _ in setting_names()}


def seconds(text: str) -> int:
    match = re.fullmatch(r"(\d+)s", text)
    assert match, text
    return int(match[1])


def settings_of(service: str, **given: str) -> Settings:
    """Return the settings of a service; `given` are variables of the host, which stand in where a service names no value."""
    own = SERVICES[service]["environment"].items()
    filled = {name: given.get(name) if value is None else value for name, value in own}
    return load_settings(environ={name: value for name, value in filled.items() if value is not None})


@pytest.mark.parametrize("service", ["worker", "topics", "api"])
def test_every_setting_in_the_compose_file_is_one_and_they_fit_together(service: str) -> None:
    """The services' variables are read by the same code that the process reads them with."""
    ours = [name for name in SERVICES[service]["environment"] if name.startswith("FACTSIEVE_")]
    assert ours
    assert set(ours) <= KNOWN
    settings_of(service)


FILES = sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file() and path.suffix != ".pyc")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_names_a_setting_that_does_not_exist(path: Path) -> None:
    """Comments and scripts too."""
    named = set(re.findall(r"FACTSIEVE_[A-Z0-9_]*[A-Z0-9]", path.read_text(encoding="utf-8")))
    assert named <= KNOWN


@pytest.mark.parametrize("name", ["deploy/Dockerfile", "Makefile", "README.md"])
def test_memory_is_asked_for_everywhere_as_the_code_asks_for_it(name: str) -> None:
    """The image, the measuring and the advice name the environment that `up` starts its processes with."""
    assigned = " ".join(f"{variable}={value}" for variable, value in HUGE_PAGES.items())
    assert assigned in (ROOT / name).read_text(encoding="utf-8")


def test_the_worker_finds_the_services_by_their_names_and_ports() -> None:
    """Addresses in the settings are those of services of the compose file."""
    settings = settings_of("worker")
    host, _, port = settings.kafka.bootstrap.partition(":")
    listeners = dict(one.split("://") for one in SERVICES[host]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(","))
    assert f"{host}:{port}" in listeners.values()
    assert f":{port}" in SERVICES[host]["environment"]["KAFKA_LISTENERS"]
    for url in (settings.redis.url.get_secret_value(), settings.qdrant.url.get_secret_value()):
        name, inside = re.fullmatch(r"\w+://([a-z]+):(\d+)(?:/\d+)?", url).groups()  # type: ignore[union-attr]
        assert any(port.endswith(f":{inside}") for port in SERVICES[name]["ports"])


def test_from_the_host_the_defaults_lead_to_the_services() -> None:
    """Commands on the host need no settings."""
    defaults = Settings()
    assert "127.0.0.1:9092:9092" in SERVICES["kafka"]["ports"]
    assert f"HOST://{defaults.kafka.bootstrap}" in SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert defaults.redis.url.get_secret_value() == "redis://localhost:6379/0"
    assert defaults.qdrant.url.get_secret_value() == "http://localhost:6333"


def test_every_port_is_bound_to_loopback() -> None:
    """Nothing here has a password, so nothing listens to the world."""
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_image_is_pinned_to_a_version() -> None:
    """No `latest`, no bare name, in neither file."""
    images = [service["image"] for service in SERVICES.values()] + re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(images) >= 6
    for image in images:
        assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+(-[a-z-]+)?", image), image


def test_qdrant_is_a_version_that_keeps_acknowledged_writes() -> None:
    """1.19 or later, as the worker demands by itself."""
    major, minor = map(int, re.fullmatch(r"qdrant/qdrant:v(\d+)\.(\d+)\.\d+", SERVICES["qdrant"]["image"]).groups())  # type: ignore[union-attr]
    assert (major, minor) >= (1, 19)


def test_redis_never_evicts() -> None:
    """The policy that the worker asks for."""
    command = SERVICES["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_kafka_makes_no_topics_by_itself_and_ours_are_made_before_the_worker_starts() -> None:
    """A topic made by chance would have the wrong retention; the command and its option exist."""
    assert SERVICES["kafka"]["environment"]["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert SERVICES["topics"]["command"][:2] == ["topics", "create"]
    assert {command.name for command in topics_app.registered_commands} >= {"create", "check"}
    assert SERVICES["worker"]["depends_on"]["topics"] == {"condition": "service_completed_successfully"}
    assert Topics().candidates == "candidate-facts"


def test_the_worker_may_finish_before_it_is_killed() -> None:
    """stop_grace_period is above the worker's own deadline, and not below what the worker was told of it."""
    settings, grace = settings_of("worker"), seconds(SERVICES["worker"]["stop_grace_period"])
    assert settings.worker.stop_deadline_s < settings.worker.pod_grace_s <= grace


def test_the_health_check_asks_where_the_worker_listens() -> None:
    """/readyz on the configured port, reachable from outside the container."""
    settings = settings_of("worker")
    assert f":{settings.worker.health_port}/readyz" in SERVICES["worker"]["healthcheck"]["test"][-1]
    assert settings.worker.health_host == "0.0.0.0"
    assert f"EXPOSE {settings.worker.health_port}" in DOCKERFILE
    assert f"127.0.0.1:{settings.worker.health_port}:{settings.worker.health_port}" in SERVICES["worker"]["ports"]


def test_every_dependency_is_a_service_with_a_health_check() -> None:
    """`service_healthy` can only be waited for where health is checked."""
    for service in SERVICES.values():
        for name, wanted in service.get("depends_on", {}).items():
            assert name in SERVICES
            if wanted["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[name]


def test_the_image_runs_as_a_user_of_its_own_from_a_second_stage() -> None:
    """Two stages; the last USER is no root; what is run is the command."""
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?", DOCKERFILE, re.MULTILINE)
    assert [name for _, name in stages] == ["build", ""]
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)[-1].split(":")[0] not in ("root", "0")
    assert 'ENTRYPOINT ["factsieve"]' in DOCKERFILE


def test_everything_that_the_image_copies_is_sent_to_the_builder() -> None:
    """.dockerignore lets through what COPY names, and what it names exists."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        for source in line.split()[:-1]:
            assert source.removeprefix("./") in allowed
            assert (ROOT / source).exists(), source


def test_the_api_knows_the_tokens_that_the_host_names() -> None:
    """Without any it holds none, and so does not start; requests under way are answered before it is killed."""
    assert settings_of("api").api.tokens == {}
    token = '{"desk": {"sha256": "' + "0" * 64 + '", "namespaces": ["*"], "scopes": ["read"]}}'
    settings = settings_of("api", FACTSIEVE_API__TOKENS=token)
    assert list(settings.api.tokens) == ["desk"]
    assert f"127.0.0.1:{settings.api.port}:{settings.api.port}" in SERVICES["api"]["ports"]
    assert settings.api.stop_deadline_s < seconds(SERVICES["api"]["stop_grace_period"])
