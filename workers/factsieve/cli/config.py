"""`factsieve config`: the settings in force, and whether they fit together."""

from typing import Annotated, Any

import msgspec
import typer

from factsieve.cli.connect import ConfigFile, Overrides, StateDir, connect
from factsieve.cli.render import err, out

app = typer.Typer(
    no_args_is_help=True,
    help="Show and check the settings (factsieve.toml, FACTSIEVE_* variables, --set).",
    epilog="Example: factsieve config show --set policy.skip_threshold=0.9",
)


@app.command("show")
def show(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Those at their defaults too.")] = False,
    assignments: Overrides = None,
    config: ConfigFile = None,
    state_dir: StateDir = None,
) -> None:
    """Print the settings in force, secrets masked; without --all those that differ from their defaults.

    Example: factsieve config show --all
    """
    from factsieve.assembly.settings import Settings

    connected = connect(state_dir, config, assignments)
    shown = connected.settings.shown()
    if not every:
        shown = _differing(shown, Settings().shown())
    if as_json:
        typer.echo(msgspec.json.encode(shown).decode())
        return
    if connected.local:
        out().print("# the local stack's addresses", markup=False)
    for line in _lines(shown, ""):
        out().print(line, markup=False, soft_wrap=True)
    if not shown:
        out().print("# every setting is at its default: factsieve config show --all", markup=False)


@app.command("check")
def check(assignments: Overrides = None, config: ConfigFile = None, state_dir: StateDir = None) -> None:
    """Read the settings and say whether they can be used; exit code 2 and every problem in a line if they can not.

    Example: factsieve config check --config /etc/factsieve.toml
    """
    from factsieve.assembly.exposure import exposed

    connected = connect(state_dir, config, assignments)
    thresholds = connected.settings.policies().default.thresholds
    out().print(
        f"The settings fit together. Profile {connected.settings.policy.profile}: skip >= {thresholds.skip:g}, "
        f"ambiguous >= {thresholds.ambiguous:g}, supersede >= {thresholds.supersede:g}; "
        f"judge {connected.settings.judge.effective_name}; Kafka {connected.kafka.address}.",
        markup=False,
    )
    for sentence in exposed(connected.settings):
        err().print(f"Mind: {sentence}.", style="yellow", markup=False, soft_wrap=True)


def _differing(shown: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in shown.items():
        other = default.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            inner = _differing(value, other)
            if inner:
                kept[name] = inner
        elif value != other:
            kept[name] = value
    return kept


def _lines(shown: dict[str, Any], prefix: str) -> list[str]:
    lines = []
    for name, value in shown.items():
        if isinstance(value, dict) and value:
            lines += _lines(value, f"{prefix}{name}.")
        else:
            lines.append(f"{prefix}{name} = {msgspec.json.encode(value).decode()}")
    return lines
