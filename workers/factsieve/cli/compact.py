"""`factsieve compact`: the store's files without what was overwritten."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from factsieve.cli.connect import DEFAULT_STATE_DIR, ConfigFile, StateDir, connect, stopped_stack
from factsieve.cli.render import out

if TYPE_CHECKING:
    from factsieve.operations.compact import Compacted


def compact(
    *,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="How long a server may take for each collection.")
    ] = 600.0,
    as_json: Annotated[bool, typer.Option("--json", help="One collection a line, as JSON.")] = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Rewrite the files of the vector store without what was overwritten: after an erase they still hold the text.

    The local stack's folders are rewritten wholly, whether it runs (requests wait meanwhile) or not. A Qdrant server is asked to rewrite
    its segments early; what its files hold then is not in our hands: docs/recovery.md says how to be certain.

    Example: factsieve compact
    """
    from factsieve.operations.compact import compact as compacting
    from factsieve.operations.compact import compact_folder

    stopped = stopped_stack(state_dir, config)
    if stopped is None:
        settings = connect(state_dir, config).settings
        done = asyncio.run(compacting(settings, timeout_s=timeout))
    else:
        done = compact_folder(stopped)
    if as_json:
        for one in done:
            typer.echo(msgspec.json.encode(one).decode())
        return
    console = out()
    for one in done:
        console.print(_line(one), markup=False, soft_wrap=True)
    if not done:
        console.print(f"There are no collections in {state_dir or DEFAULT_STATE_DIR}.", markup=False)
    if any(not one.certain for one in done):
        console.print(
            "The server rewrote what it finds worth rewriting. To be certain that nothing overwritten is left in its files, export, import "
            "under another qdrant.collection_prefix, and delete the old collections: docs/recovery.md."
        )


def _line(one: "Compacted") -> str:
    if one.bytes_before is None or one.bytes_after is None:
        return f"{one.collection}: asked to rewrite its segments."
    return f"{one.collection}: {one.bytes_before / 1e6:.1f} MB, now {one.bytes_after / 1e6:.1f} MB; nothing overwritten is left."
