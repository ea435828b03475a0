"""Where the services are: settings, or the local stack that runs here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Protocol

import typer

from factsieve.cli.operator_key import key_overrides, read_key
from factsieve.operations.connected import Connected, connected_to

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.localstack.stack import StackState

DEFAULT_STATE_DIR: Final = Path(".factsieve")

StateDir = Annotated[
    Path | None,
    typer.Option("--state-dir", help="Folder of the local stack (default: .factsieve).", show_default=False),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Settings file (default: factsieve.toml, if it is there).", show_default=False),
]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", help="A setting, as name=value; may be repeated.", show_default=False)
]


def overrides_of(assignments: list[str] | None) -> dict[str, object]:
    """Return `--set` arguments as settings. Raises BadSettings for one that is no name=value."""
    from factsieve.assembly.settings import parse_override

    return dict(parse_override(text) for text in assignments or [])


class Addresses(Protocol):
    """What a local stack tells of itself, running in this process or found by its state file."""

    @property
    def kafka_bootstrap(self) -> str:
        """Return the broker's `host:port`."""
        ...

    @property
    def redis_url(self) -> str:
        """Return the URL of Redis."""
        ...

    @property
    def qdrant_url(self) -> str:
        """Return the URL of the vector store."""
        ...


def local_overrides(state: Addresses) -> dict[str, object]:
    """Return the settings that lead to a running local stack, whose broker knows no idempotent producers."""
    return {
        "kafka.bootstrap": state.kafka_bootstrap,
        "kafka.idempotence": False,
        "redis.url": state.redis_url,
        "qdrant.url": state.qdrant_url,
    }


def connect(state_dir: Path | None, config: Path | None, assignments: list[str] | None = None) -> Connected:
    """Return where to connect to: what the settings say; where they name no address, the local stack that runs in `state_dir`.

    A `state_dir` that is given must hold a running stack. Raises BadSettings, LocalStackError.
    """
    from factsieve.assembly.settings import load_settings

    overrides = overrides_of(assignments)
    settings = load_settings(overrides, path=config)
    state = _running_stack(state_dir)
    if state is not None and (state_dir is not None or not _names_an_address(settings)):
        key = {} if settings.commands.keys else key_overrides(read_key(state_dir or DEFAULT_STATE_DIR))
        settings = load_settings(local_overrides(state) | key | overrides, path=config)
        return connected_to(settings, local=True)
    return connected_to(settings, local=False)


def hint_where(arguments: Sequence[str]) -> str | None:
    """Return what a newcomer should hear who called a command and got no answer: that no address was named and no local stack runs.

    None where `arguments`, the settings or a stack that runs here say where the services are, and for what starts a stack of its own.
    """
    from factsieve.assembly.settings import load_settings

    named = ("--config", "-c", "--set", "--state-dir")
    if not arguments or arguments[0] in ("up", "demo") or any(one.split("=")[0] in named for one in arguments):
        return None
    if _running_stack(None) is not None or _names_an_address(load_settings({})):
        return None
    return (
        f"No local stack runs in {DEFAULT_STATE_DIR}, and no setting names an address: `factsieve up` starts a stack; kafka.bootstrap, "
        "qdrant.url and redis.url say where services are."
    )


def stopped_stack(state_dir: Path | None, config: Path | None) -> Path | None:
    """Return the folder of the vector store of a local stack that does not run, None where one runs or the settings name an address.

    Raises BadSettings.
    """
    from factsieve.assembly.settings import load_settings
    from factsieve.localstack.stack import is_running, read_state

    folder = state_dir or DEFAULT_STATE_DIR
    state = read_state(folder)
    if state is not None and is_running(state.owner):
        return None
    stored = folder / "qdrant"
    if state_dir is None and (not stored.is_dir() or _names_an_address(load_settings({}, path=config))):
        return None
    return stored


def _running_stack(state_dir: Path | None) -> "StackState | None":
    from factsieve.localstack.process import LocalStackError
    from factsieve.localstack.stack import is_running, read_state

    state = read_state(state_dir or DEFAULT_STATE_DIR)
    if state is not None and is_running(state.owner):
        return state
    if state_dir is not None:
        raise LocalStackError(f"no local stack runs in {state_dir}: `factsieve up --state-dir {state_dir}` starts one")
    return None


def _names_an_address(settings: "Settings") -> bool:
    named: Mapping[str, set[str]] = {
        "bootstrap": settings.kafka.model_fields_set,
        "url": settings.redis.model_fields_set | settings.qdrant.model_fields_set,
    }
    return any(field in fields for field, fields in named.items())
