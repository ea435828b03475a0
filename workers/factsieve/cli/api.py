"""`factsieve api`: the HTTP API as a process of its own."""

import typer

from factsieve.cli.connect import ConfigFile, Overrides, StateDir, connect


def api(config: ConfigFile = None, assignments: Overrides = None, state_dir: StateDir = None) -> None:
    """Run the HTTP API, everything by settings (factsieve.toml, FACTSIEVE_* variables, --set); it ends in order on SIGTERM.

    Without a token in `api.tokens` it does not start, unless `api.open` says so. /docs shows the endpoints, /activity the decisions.

    Example: factsieve api --set api.port=8080 --set 'api.tokens={"ops": {"sha256": "<printf %s TOKEN | sha256sum>", "namespaces": ["*"]}}'
    """
    from factsieve.api.serve import run

    raise typer.Exit(run(connect(state_dir, config, assignments)))
