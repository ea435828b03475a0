"""Secrets stay where they are: no setting that holds one shows it, wherever settings, errors and logs are written."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import structlog
from prometheus_client import generate_latest
from pydantic import Secret

from factsieve.adapters.kafka_client import Access, KafkaTransient
from factsieve.adapters.tls import TlsFiles
from factsieve.assembly.exposure import exposed
from factsieve.assembly.kafka_access import security_of
from factsieve.assembly.settings import Settings, load_settings, setting_names
from factsieve.assembly.wiring import build_window, qdrant_client_of, redis_tls
from factsieve.cli.main import run
from factsieve.core.errors import BadSettings
from factsieve.telemetry.log import configure
from factsieve.telemetry.metrics import make_metrics

CANARY = "hush-canary-0123456789-0123456789-0123456789"


def secret_settings() -> list[tuple[str, str]]:
    """Return every setting that holds a secret, with how it is given: plain, in an address, or by name."""
    found = []
    for name, group, field in setting_names():
        annotation = group.model_fields[field].annotation
        if _holds_secret(annotation):
            kind = "names" if "dict" in str(annotation) else "address" if field.endswith("url") else "plain"
            found.append((name, kind))
    return found


def _holds_secret(annotation: Any) -> bool:
    if (isinstance(annotation, type) and issubclass(annotation, Secret)) or "SecretStr" in str(annotation):
        return True
    return any(_holds_secret(part) for part in get_args(annotation))


SECRETS = secret_settings()
SCHEMES = {"redis.url": "rediss"}


def given(name: str, kind: str) -> object:
    if kind == "names":
        return {"ops": CANARY}
    return CANARY if kind == "plain" else f"{SCHEMES.get(name, 'https')}://user:{CANARY}@host.example:1234"


def everything() -> dict[str, object]:
    """Return settings in which every secret is set."""
    overrides = {name: given(name, kind) for name, kind in SECRETS}
    more = {
        "kafka.security_protocol": "SASL_SSL",
        "kafka.sasl_username": "worker",
        "judge.name": "openai:model",
        "commands.key_id": "ops",
    }
    return {**overrides, **more}


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings(everything(), environ={})


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield io.StringIO()
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_the_list_is_not_empty() -> None:
    """What is known to be secret is found by its type, so that the tests below speak of something."""
    names = {name for name, _ in SECRETS}
    known = {"kafka.sasl_password", "kafka.ssl_key_password", "redis.url", "redis.password", "redis.ssl_key_password"}
    assert known | {"qdrant.url", "qdrant.api_key", "judge.api_key", "embedder.api_key", "commands.keys"} <= names


def test_names_that_sound_secret_are_of_a_secret_type() -> None:
    """A new setting for a password can not be forgotten."""
    secret = {name for name, _ in SECRETS}
    for name, _group, field in setting_names():
        if field.endswith(("password", "secret", "api_key")) or field in ("keys", "url", "base_url"):
            assert name in secret, name


def test_settings_never_show_a_secret(settings: Settings) -> None:
    """In their representation, as JSON, and in the values that are made of them."""
    security = security_of(settings)
    access = Access(("host:1",), security)
    error = KafkaTransient("out of reach", retriable=True, access=access)
    files = redis_tls(settings)
    shown = [settings.shown(), settings, security, access, error, files, TlsFiles(key_password=CANARY)]
    written = "".join(f"{one!r} {one}" for one in shown) + settings.model_dump_json() + json.dumps(settings.shown())
    assert CANARY not in written
    assert "worker" in written


@pytest.mark.parametrize("words", [("config", "show", "--all"), ("config", "show", "--json"), ("config", "check")])
def test_commands_never_show_a_secret(
    words: tuple[str, ...], tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`config show` as text and as JSON; masks are in their place."""
    monkeypatch.chdir(tmp_path)
    arguments = [part for name, value in everything().items() for part in ("--set", f"{name}={_toml(value)}")]
    with pytest.raises(SystemExit) as ended:
        run([*words, *arguments])
    written = "".join(capsys.readouterr())
    assert ended.value.code == 0, written
    assert CANARY not in written
    assert ("***" in written) == (words[1] == "show")


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'{key} = "{inner}"' for key, inner in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.parametrize(("name", "kind"), SECRETS)
def test_a_secret_that_can_not_be_used_is_named_and_not_shown(name: str, kind: str) -> None:
    """A value of the wrong type or form: the setting's name is in the error, the value is not."""
    wrong: object = (
        {"nested": CANARY} if kind == "plain" else f"ftp://user:{CANARY}@host" if kind == "address" else CANARY
    )
    with pytest.raises(BadSettings) as caught:
        load_settings({name: wrong}, environ={})
    assert name in str(caught.value)
    assert CANARY not in str(caught.value) + repr(caught.value)


def test_the_log_never_shows_a_secret(settings: Settings, stream: io.StringIO) -> None:
    """Settings as fields, errors with addresses, and tracebacks."""
    configure(stream=stream)
    log = structlog.get_logger("x")
    log.info("settings_loaded", **settings.shown())
    for name, kind in SECRETS:
        if kind == "address":
            log.warning("service_awaited", error=f"no answer from {given(name, kind)}")
    try:
        raise RuntimeError(f"can not reach {given('redis.url', 'address')}")
    except RuntimeError:
        log.exception("worker_failed")
    assert CANARY not in stream.getvalue()
    assert "worker_failed" in stream.getvalue()


def test_metrics_never_show_a_secret(settings: Settings) -> None:
    """What decides is shown by name and fingerprint."""
    metrics = make_metrics()
    policy = settings.policies().default.fingerprint
    metrics.built(version="1", embedder="e", judge=settings.judge.effective_name, policy=policy)
    assert CANARY not in generate_latest(metrics.registry).decode()
    with pytest.raises(BadSettings) as caught:
        load_settings({"judge.name": f"https://user:{CANARY}@host/v1#model"}, environ={})
    assert CANARY not in str(caught.value)


def test_clients_never_show_a_secret(settings: Settings) -> None:
    """Neither those of Redis and Qdrant, nor what they raise for an address that makes no sense."""
    assert CANARY not in repr(build_window(settings)) + repr(qdrant_client_of(settings))


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"qdrant.url": "http://far.example:6333", "qdrant.api_key": CANARY}, "qdrant.api_key"),
        ({"redis.url": "redis://far.example", "redis.password": CANARY}, "Redis"),
        ({"redis.url": f"redis://u:{CANARY}@far.example"}, "Redis"),
        ({"judge.name": "http://far.example/v1#m", "judge.api_key": CANARY}, "judge.api_key"),
        (
            {
                "kafka.security_protocol": "SASL_PLAINTEXT",
                "kafka.bootstrap": "far.example:9092",
                "kafka.sasl_username": "u",
                "kafka.sasl_password": CANARY,
            },
            "kafka.sasl_password",
        ),
    ],
)
def test_secrets_in_the_clear_are_told(overrides: dict[str, object], said: str) -> None:
    """Once, in words that name the setting and the fix; never on this machine, never over TLS."""
    [sentence] = exposed(load_settings(overrides, environ={}))
    assert said in sentence
    assert CANARY not in sentence
    here = {name: v.replace("far.example", "127.0.0.1") if isinstance(v, str) else v for name, v in overrides.items()}
    assert exposed(load_settings(here, environ={})) == []
    safe = {
        name: v.replace("http://", "https://").replace("redis://", "rediss://").replace("SASL_PLAINTEXT", "SASL_SSL")
        if isinstance(v, str)
        else v
        for name, v in overrides.items()
    }
    assert exposed(load_settings(safe, environ={})) == []
