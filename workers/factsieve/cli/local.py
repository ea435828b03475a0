"""The local stack with a worker, and the API beside them, for `up` and `demo`: started together, watched, stopped together."""

import contextlib
import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Final

from factsieve.assembly.settings import CONFIG_VARIABLE, DEFAULT_FILE, load_settings, variable_of
from factsieve.cli.connect import local_overrides
from factsieve.cli.operator_key import TOKEN_FILE, key_overrides, make_key, token_overrides
from factsieve.cli.topics import create_topics
from factsieve.cli.worker_service import ApiService, OwnService, WorkerService
from factsieve.localstack.process import LocalStackError
from factsieve.localstack.stack import LocalStack, StackConfig
from factsieve.operations.connected import connected_to

READY_TIMEOUT_S: Final = 90.0


@contextlib.contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: raise KeyboardInterrupt, so that everything that was started is stopped in order."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def running(
    stack_config: StackConfig, overrides: Mapping[str, object], *, config: Path | None, health_port: int = 0
) -> Iterator[tuple[LocalStack, WorkerService]]:
    """Start the stack, make its topics, start a worker and wait until it is ready; stop all of it at the end.

    `overrides` are settings over those of the file and the environment. Raises LocalStackError, BadSettings, Transient.
    """
    with LocalStack(stack_config) as stack:
        settings = _settings(stack, overrides, config)
        create_topics(connected_to(load_settings(settings, path=config), local=True), replication=1)
        worker = WorkerService(
            folder=stack.state_dir / "worker",
            log_path=stack.state_dir / "logs" / "worker.log",
            environment=environment_of(settings, config),
            port=health_port,
        )
        try:
            worker.start(timeout_s=READY_TIMEOUT_S)
            yield stack, worker
        finally:
            worker.stop()


@contextlib.contextmanager
def serving(
    stack: LocalStack, overrides: Mapping[str, object], *, config: Path | None, port: int = 0
) -> Iterator[ApiService]:
    """Start the API over a running stack and wait until it is ready; stop it at the end. Raises as `running` does."""
    settings = _settings(stack, overrides, config)
    chosen = load_settings(settings, path=config).api
    if not chosen.tokens and not chosen.open:
        settings |= token_overrides(make_key(stack.state_dir, TOKEN_FILE))
    api = ApiService(
        folder=stack.state_dir / "api",
        log_path=stack.state_dir / "logs" / "api.log",
        environment=environment_of({**settings, "api.host": "127.0.0.1"}, config),
        port=port,
    )
    if chosen.tls_cert_file is not None:
        api.speak_tls()
    try:
        api.start(timeout_s=READY_TIMEOUT_S)
        yield api
    finally:
        api.stop()


def _settings(stack: LocalStack, overrides: Mapping[str, object], config: Path | None) -> dict[str, object]:
    """Return the settings for processes over a stack: its addresses and its operator key, and `overrides` over them."""
    settings = {**local_overrides(stack), **overrides}
    chosen = load_settings(settings, path=config)
    if not chosen.commands.keys:
        settings |= key_overrides(make_key(stack.state_dir))
    if "state_dir" not in chosen.worker.model_fields_set:
        settings["worker.state_dir"] = str(stack.state_dir)  # several stacks may run from one folder
    return settings


def environment_of(settings: Mapping[str, object], config: Path | None) -> dict[str, str]:
    """Return the variables that give a child process these settings, and the settings file of this process."""
    variables = {
        variable_of(name): value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()
    }
    if config is not None or DEFAULT_FILE.is_file():
        variables[CONFIG_VARIABLE] = str((config or DEFAULT_FILE).absolute())
    return variables


def addresses(stack: LocalStack, worker: WorkerService, api: ApiService | None) -> dict[str, str]:
    """Return where everything listens, by name. `api` None: what it needs is not installed."""
    http = "not there: pip install 'factsieve[api]' brings it" if api is None else f"{api.url}/activity (and /docs)"
    return {
        "api": http,
        "kafka": stack.kafka_bootstrap,
        "redis": stack.redis_url,
        "qdrant": stack.qdrant_url,
        "worker": f"http://{worker.address}/readyz (and /healthz, /metrics)",
        "logs": str(stack.state_dir / "logs"),
    }


def check_running(stack: LocalStack, *ours: OwnService) -> None:
    """Raise LocalStackError where a process has ended by itself."""
    for service in (*stack.services, *ours):
        if not service.running:
            raise LocalStackError(f"{service.name} has ended by itself; the end of its log is in {service.log_path}")
