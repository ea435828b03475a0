"""`factsieve rebuild`: an empty store from the last export and what was told since."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from factsieve.cli.backup import filled_line
from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.progress import Steps
from factsieve.cli.render import err, out
from factsieve.operations.connected import Connected

if TYPE_CHECKING:
    from factsieve.operations.rebuild import Rebuilt


def rebuild(
    *,
    export: Annotated[
        Path | None,
        typer.Option(
            "--from", help="The last export (default: the topic alone, from its beginning).", show_default=False
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be read, and write nothing.")] = False,
    go_on: Annotated[bool, typer.Option("--continue", help="Go on with a rebuild that was interrupted.")] = False,
    accept_gap: Annotated[
        bool, typer.Option("--accept-gap", help="Go on where messages are lost that would be needed.")
    ] = False,
    re_embed: Annotated[
        bool, typer.Option("--re-embed", help="Make all vectors anew: for decisions made with another embedder.")
    ] = False,
    beside_workers: Annotated[
        bool, typer.Option("--beside-workers", help="Workers are at work, but on other collections.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="What was done, as JSON.")] = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Fill an empty Qdrant from `fact-decisions`, after the last export if there is one. Nothing is decided anew, no judge is asked.

    Facts, their history and the ledger come back as they were, so that events that come again decide nothing twice; what was erased since
    stays erased. Stop the workers first. Redis needs no rebuild.

    Example: factsieve rebuild --from backup.jsonl.gz
    """
    connected = connect(state_dir, config)
    done = asyncio.run(
        _rebuild(
            connected,
            export,
            dry_run=dry_run,
            go_on=go_on,
            accept_gap=accept_gap,
            re_embed=re_embed,
            beside_workers=beside_workers,
        )
    )
    if done.passed_over > 1:
        err().print(f"{done.passed_over} records were passed over: they are no decisions.", style="yellow")
    if as_json:
        typer.echo(msgspec.json.encode(done).decode())
        return
    console = out()
    if dry_run:
        console.print(
            f"{done.messages} messages of {connected.topics.decisions} would be read, {done.imported.facts} points of facts and "
            f"{done.imported.decisions} ledger records imported before; {done.erased_facts} facts were erased since.",
            markup=False,
            soft_wrap=True,
        )
        return
    if export is not None:
        console.print(f"From the export: {filled_line(done.imported)}", markup=False, soft_wrap=True)
    console.print(f"From {done.messages} messages: {filled_line(done.told)}", markup=False, soft_wrap=True)
    if done.erased_facts:
        console.print(f"{done.erased_facts} facts were erased since: their texts were left out.", markup=False)
    if done.incomplete:
        err().print(
            f"{done.incomplete} messages are of a version that told less: if their events come again, any body is taken for them.",
            style="yellow",
        )


async def _rebuild(
    connected: Connected,
    file: Path | None,
    *,
    dry_run: bool,
    go_on: bool,
    accept_gap: bool,
    re_embed: bool,
    beside_workers: bool,
) -> "Rebuilt":
    from factsieve.operations import backup
    from factsieve.operations import rebuild as rebuilding
    from factsieve.operations.scan import Scan, read_length
    from factsieve.operations.stores import reading
    from factsieve.operations.workers_at_work import refuse_beside_workers

    topic = connected.topics.decisions
    with ExitStack() as files:
        export = None if file is None else files.enter_context(backup.opened(file))
        if not (beside_workers or dry_run):
            await refuse_beside_workers(connected, "a rebuild")
        async with Scan(connected.kafka, topic) as scan:
            starts = rebuilding.start_of(scan, export, topic, accept_gap=accept_gap)
            if dry_run:
                with Steps(err(), "Reading", read_length(starts, scan.ends)) as steps:
                    return await rebuilding.outlook(scan, starts, export, on_steps=steps.advance)
            async with reading(connected.settings) as stores:
                await rebuilding.check_target(stores, go_on=go_on)
                with Steps(err(), "Rebuilding", rebuilding.steps(scan, starts, export)) as steps:
                    return await rebuilding.rebuild(
                        stores, scan, starts, export=export, re_embed=re_embed, go_on=go_on, on_steps=steps.advance
                    )
