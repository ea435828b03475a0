"""`factsieve export` and `import`: everything that is stored, into a file and back."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.progress import Steps
from factsieve.cli.render import err, out
from factsieve.operations.connected import Connected

if TYPE_CHECKING:
    from factsieve.operations.export_format import End, Header
    from factsieve.operations.refill import Filled

Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Of this namespace alone (default: all).", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="What was done, as JSON.")]


def export(
    file: Annotated[Path, typer.Argument(help="Where to; packed if it ends in .gz; - is standard output.")],
    *,
    namespace: Namespace = None,
    vectors: Annotated[
        bool, typer.Option(help="With the vectors of facts; those that came along with a candidate are always kept.")
    ] = True,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Write everything that is stored into a file: facts with their history, and the ledger.

    It may run beside workers. The file also says where `fact-decisions` stood, so that `factsieve rebuild` knows what to read on. It holds
    texts: only its owner may read it. An export keeps what is erased later; a rebuild from it leaves that out, an import does not.

    Example: factsieve export backup.jsonl.gz
    """
    connected = connect(state_dir, config)
    end = asyncio.run(_export(connected, file, namespace, with_vectors=vectors))
    console = err() if str(file) == "-" else out()
    if as_json:
        console.print(msgspec.json.encode(end).decode(), markup=False, soft_wrap=True)
    else:
        console.print(f"Exported {end.facts} points of facts and {end.records} ledger records.", markup=False)


async def _export(connected: Connected, file: Path, namespace: str | None, *, with_vectors: bool) -> "End":
    from factsieve.operations import backup
    from factsieve.operations.export_format import Writer
    from factsieve.operations.scan import Scan
    from factsieve.operations.stores import reading

    topic = connected.topics.decisions
    async with Scan(connected.kafka, topic) as scan:
        positions = scan.ends
    async with reading(connected.settings) as stores:
        total = await stores.facts.count(namespace) + await stores.ledger.count(namespace)
        with Steps(err(), "Exporting", total) as steps, backup.written(file) as stream:
            return await backup.export(
                stores,
                Writer(stream),
                topic=topic,
                positions=positions,
                namespace=namespace,
                with_vectors=with_vectors,
                on_steps=steps.advance,
            )


def import_(
    file: Annotated[Path, typer.Argument(help="An export; - is standard input.")],
    *,
    namespace: Namespace = None,
    re_embed: Annotated[
        bool, typer.Option("--re-embed", help="Make all vectors anew: for an export of another embedder.")
    ] = False,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Write what an export holds into the configured stores.

    All of the file is checked first. What is stored already at the same version or a later one stays, so that an import can be repeated
    and brings nothing back that was erased here. Kafka is not needed.

    Example: factsieve import backup.jsonl.gz
    """
    connected = connect(state_dir, config)
    header, filled = asyncio.run(_import(connected, file, namespace, re_embed=re_embed))
    if as_json:
        typer.echo(msgspec.json.encode(filled).decode())
        return
    console = out()
    made = msgspec.to_builtins(header.created_at)
    console.print(f"Imported the export of {made}: {filled_line(filled)}", markup=False, soft_wrap=True)


async def _import(
    connected: Connected, file: Path, namespace: str | None, *, re_embed: bool
) -> "tuple[Header, Filled]":
    from factsieve.operations import backup
    from factsieve.operations.stores import reading

    with backup.opened(file) as given:
        async with reading(connected.settings) as stores:
            backup.check_embedder(given.header, stores.embedder, re_embed=re_embed)
            with Steps(err(), "Importing", given.end.facts + given.end.records) as steps:
                return await backup.import_lines(
                    stores, given.lines(), re_embed=re_embed, namespace=namespace, on_steps=steps.advance
                )


def filled_line(filled: "Filled") -> str:
    """Return what was written and what was there, in a sentence."""
    return (
        f"{filled.facts} points of facts written, {filled.facts_there} as they were; "
        f"{filled.decisions} decisions recorded, {filled.decisions_there} known; {filled.embedded} texts embedded."
    )
