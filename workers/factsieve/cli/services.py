"""`factsieve up`, `down` and `worker`: the processes."""

import contextlib
import logging
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from factsieve.cli.connect import DEFAULT_STATE_DIR, ConfigFile, Overrides, overrides_of
from factsieve.cli.operator_key import TOKEN_FILE
from factsieve.cli.render import out

_POLL_S: Final = 0.5


def _port_of(what: str) -> typer.models.OptionInfo:
    """Return the option for the port of one service."""
    option: typer.models.OptionInfo = typer.Option(min=0, max=65_535, help=f"Port of {what}; 0 takes a free one.")
    return option


def up(
    kafka_port: Annotated[int, _port_of("the broker")] = 0,
    redis_port: Annotated[int, _port_of("Redis")] = 0,
    qdrant_port: Annotated[int, _port_of("the vector store")] = 0,
    health_port: Annotated[int, _port_of("the worker's health and metrics")] = 0,
    api_port: Annotated[int, _port_of("the HTTP API and its pages")] = 0,
    state_dir: Annotated[
        Path, typer.Option("--state-dir", help="Where the stack keeps its state.")
    ] = DEFAULT_STATE_DIR,
    config: ConfigFile = None,
    assignments: Overrides = None,
) -> None:
    """Run broker, Redis, vector store, a worker and the HTTP API here, until Ctrl-C or `factsieve down`.

    For trying and developing: the broker and Redis keep everything in memory. Other commands find the stack by its folder.

    Example: factsieve up --kafka-port 9092
    """
    from factsieve.cli.local import addresses, check_running, running, serving, stopped_by_sigterm
    from factsieve.localstack.stack import StackConfig

    wanted = StackConfig(state_dir=state_dir, kafka_port=kafka_port, redis_port=redis_port, qdrant_port=qdrant_port)
    overrides = overrides_of(assignments)
    console = out()
    with contextlib.ExitStack() as opened:
        opened.enter_context(stopped_by_sigterm())
        stack, worker = opened.enter_context(running(wanted, overrides, config=config, health_port=health_port))
        api = None
        if find_spec("fastapi") is not None:
            api = opened.enter_context(serving(stack, overrides, config=config, port=api_port))
        console.print("factsieve is up. Ctrl-C, or `factsieve down` elsewhere, stops it.", markup=False)
        for name, address in addresses(stack, worker, api).items():
            console.print(f"  {name:8} {address}", markup=False, soft_wrap=True)
        if (token_file := state_dir / TOKEN_FILE).is_file():
            console.print(f"  {'token':8} in {token_file}, for the API and its pages", markup=False, soft_wrap=True)
        console.print('Try: factsieve remember "The API listens on port 8081" --slot api.port', markup=False)
        ours = [worker] if api is None else [worker, api]
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                check_running(stack, *ours)
                time.sleep(_POLL_S)
        console.print("Stopping.")


def down(
    state_dir: Annotated[Path, typer.Option("--state-dir", help="Folder of the stack.")] = DEFAULT_STATE_DIR,
) -> None:
    """Stop what `factsieve up` started.

    Example: factsieve down
    """
    from factsieve.localstack.stack import stop_running

    stopped = stop_running(state_dir)
    said = f"Stopped what ran in {state_dir}." if stopped else f"Nothing was running in {state_dir}."
    out().print(said, markup=False)


def worker(config: ConfigFile = None, assignments: Overrides = None) -> None:
    """Run one production worker, everything by settings (factsieve.toml, FACTSIEVE_* variables, --set).

    It ends in order on SIGTERM. `factsieve config show` prints the settings in force.

    Example: FACTSIEVE_KAFKA__BOOTSTRAP=broker:9092 factsieve worker --set policy.skip_guard=local
    """
    from factsieve.assembly.settings import load_settings
    from factsieve.worker.serve import run

    leave(run(load_settings(overrides_of(assignments), path=config)))


def leave(code: int) -> NoReturn:
    """End this process now, everything being stopped: the interpreter's own clearing up takes seconds on a busy machine, after the
    deadline for stopping was watched.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
