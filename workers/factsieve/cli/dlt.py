"""`factsieve dlt`: what could not be used, looked at and sent in again."""

import asyncio
import base64
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.markup import escape
from rich.table import Table

from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.progress import Steps
from factsieve.cli.render import err, out, when
from factsieve.cli.times import instant
from factsieve.core.errors import REJECT_CODES, BadSettings
from factsieve.operations.deadletters import DeadLetters, Letter, Place, Wanted, parse_place

app = typer.Typer(
    help="Dead letters: records that could not be used, as they came.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="Example: factsieve dlt list --code text_too_long",
)

_MESSAGE_CHARS: Final = 160

Codes = Annotated[
    list[str] | None,
    typer.Option("--code", help="With this error code alone; may be repeated.", show_default=False),
]
Namespaces = Annotated[
    list[str] | None,
    typer.Option("--namespace", "-n", help="With this key alone; may be repeated.", show_default=False),
]
Since = Annotated[
    str | None,
    typer.Option(help="Refused from this time on: 2026-03-04 or 2026-03-04T09:30:00Z.", show_default=False),
]
Until = Annotated[str | None, typer.Option(help="Refused before this time.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="One dead letter a line, as JSON.")]


@app.command("list")
def list_letters(
    *,
    code: Codes = None,
    namespace: Namespaces = None,
    since: Since = None,
    until: Until = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that were sent in again, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, max=10_000, help="How many of the latest.")] = 50,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """List the dead letters that were not sent in again yet, oldest first.

    Example: factsieve dlt list --code text_too_long --since 2026-03-04
    """
    wanted = _wanted((), code, namespace, since, until, redriven=everything)
    connected = connect(state_dir, config)

    async def find() -> Any:  # noqa: ANN401 - a Listing
        async with DeadLetters(connected.kafka, connected.topics) as letters:
            return await letters.find(wanted, limit=limit)

    listing = asyncio.run(find())
    if as_json:
        for letter in listing.letters:
            typer.echo(msgspec.json.encode(as_value(letter)).decode())
        return
    console = out()
    if not listing.total:
        console.print("No dead letters." if not listing.foreign else "No dead letters of factsieve.", markup=False)
    else:
        console.print(_table(listing.letters, with_mark=everything))
        hidden = listing.total - len(listing.letters)
        said = _letters(listing.total) + (f", the latest {len(listing.letters):,} shown" if hidden else "")
        console.print(f"{said}. `factsieve dlt show NAME` shows one whole.", markup=False, style="dim")
    if listing.foreign:
        said = f"{listing.foreign:,} records on the topic are no dead letters of factsieve and were left out."
        err().print(said, style="yellow", markup=False)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="PARTITION/OFFSET, as `dlt list` shows it.")],
    value: Annotated[
        bool, typer.Option("--value", help="Write the record's value alone, byte for byte, to standard output.")
    ] = False,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Show one dead letter whole: why it was refused, where it lay, its key, headers and value.

    Example: factsieve dlt show 0/17 --value > corrected.json
    """
    place = parse_place(name)
    connected = connect(state_dir, config)

    async def get() -> Letter:
        async with DeadLetters(connected.kafka, connected.topics) as letters:
            return await letters.get(place)

    letter = asyncio.run(get())
    if value:
        sys.stdout.buffer.write(letter.said.value or b"")
        sys.stdout.buffer.flush()
    elif as_json:
        typer.echo(msgspec.json.encode(as_value(letter)).decode())
    else:
        _show(letter)


@app.command()
def redrive(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="PARTITION/OFFSET, as `dlt list` shows it.", show_default=False),
    ] = None,
    code: Codes = None,
    namespace: Namespaces = None,
    since: Since = None,
    until: Until = None,
    everything: Annotated[bool, typer.Option("--all", help="Every one that was not sent in again yet.")] = False,
    value_file: Annotated[
        Path | None,
        typer.Option("--value-file", help="Send this file's bytes in place of the value, of one.", show_default=False),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Send it under this key (the namespace), of one.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say which would be sent, and send nothing.")] = False,
    as_json: AsJson = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Send dead letters in again, to the topic that they came from, with their own key, headers and bytes.

    They keep their identity: one that was decided meanwhile is recognised, not decided twice. Each is marked, so that `--all` or a filter
    passes over it next time; one that is named is sent all the same. What becomes of them is on `factsieve activity`.

    Example: factsieve dlt redrive --code unprocessable --since 2026-03-04 --dry-run
    """
    filtered = bool(code or namespace or since or until)
    if names and (filtered or everything):
        raise BadSettings("name dead letters, or choose them by options: not both")
    if not names and not filtered and not everything:
        raise BadSettings(
            "name dead letters (`factsieve dlt list` shows them), or choose by --code, --namespace, --since, --until, --all"
        )
    if (value_file is not None or key is not None) and len(names or ()) != 1:
        raise BadSettings("--value-file and --key correct one dead letter: name exactly one")
    wanted = _wanted(names or (), code, namespace, since, until, redriven=False)
    value = None if value_file is None else _read(value_file)
    connected = connect(state_dir, config)

    async def send() -> int:
        async with DeadLetters(connected.kafka, connected.topics) as letters:
            places = await letters.select(wanted)
            with Steps(err(), "dead letters", len(places), quiet=as_json or dry_run or len(places) < 2) as steps:

                def sent(letter: Letter) -> None:
                    steps.advance()
                    if as_json:
                        typer.echo(msgspec.json.encode(as_value(letter) | {"dry_run": dry_run}).decode())
                    elif dry_run:
                        out().print(_line(letter), soft_wrap=True)

                corrected = None if key is None else key.encode("utf-8")
                return await letters.redrive(places, value=value, key=corrected, dry_run=dry_run, on_sent=sent)

    count = asyncio.run(send())
    if not as_json:
        verb = "would be" if dry_run else "was" if count == 1 else "were"
        out().print(f"{_letters(count)} {verb} sent in again.", markup=False)


def as_value(letter: Letter) -> dict[str, Any]:
    """Return a dead letter as a JSON value; bytes that are no UTF-8 text are in Base64, under a name that says so."""
    said = letter.said
    return {
        "name": letter.name,
        "code": said.code,
        "message": said.message,
        "field": said.field,
        "dead_lettered_at": letter.at,
        "redriven_at": letter.redriven_at,
        "origin": said.coordinates,
        "timestamp_ms": said.timestamp_ms,
        **_text_or_base64("key", said.key),
        "headers": [{"name": name, **_text_or_base64("value", value)} for name, value in said.headers],
        **_text_or_base64("value", said.value),
    }


def _text_or_base64(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode("ascii")}


def _wanted(
    names: Sequence[str],
    code: list[str] | None,
    namespace: list[str] | None,
    since: str | None,
    until: str | None,
    *,
    redriven: bool,
) -> Wanted:
    for one in code or ():
        if one not in REJECT_CODES:
            raise BadSettings(f"there is no error code {one!r}, known are {', '.join(REJECT_CODES)}")
    places: frozenset[Place] = frozenset(map(parse_place, names))
    return Wanted(
        places=places,
        codes=frozenset(code or ()),
        namespaces=frozenset(namespace or ()),
        since=instant(since, "--since"),
        until=instant(until, "--until"),
        redriven=redriven,
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadSettings(f"{path} can not be read: {error.strerror}") from error


def _table(letters: Sequence[Letter], *, with_mark: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("name", "refused at", "code"):
        table.add_column(name, no_wrap=True)
    table.add_column("namespace", overflow="fold")
    if with_mark:
        table.add_column("sent in again", no_wrap=True)
    table.add_column("why", overflow="fold", ratio=1)
    for letter in letters:
        row = [letter.name, when(letter.at), letter.said.code, escape(letter.namespace[:80])]
        row += [when(letter.redriven_at) if letter.redriven_at else "-"] if with_mark else []
        table.add_row(*row, escape(letter.said.message[:_MESSAGE_CHARS]))
    return table


def _letters(count: int) -> str:
    return f"{count:,} dead letter{'' if count == 1 else 's'}"


def _line(letter: Letter) -> str:
    return f"{letter.name}  {letter.said.code}  {escape(letter.namespace[:80])}  [dim]{escape(letter.said.message[:_MESSAGE_CHARS])}[/dim]"


def _show(letter: Letter) -> None:
    said, console = letter.said, out()
    at = said.coordinates
    rows = [
        ("name", letter.name),
        ("code", said.code + (f" (field {said.field})" if said.field else "")),
        ("why", said.message),
        ("refused at", when(letter.at)),
        ("sent in again", when(letter.redriven_at) if letter.redriven_at else "no"),
        ("lay at", f"{at.topic}/{at.partition}/{at.offset}"),
        ("key", _shown(said.key)),
        *((f"header {name}", _shown(value)) for name, value in said.headers),
        ("value", _shown(said.value)),
    ]
    for name, text in rows:
        console.print(f"[bold]{escape(name)}[/bold]  {escape(text)}", soft_wrap=True)


def _shown(data: bytes | None) -> str:
    """Return bytes for people: text, or as Python writes bytes; `null` where there are none."""
    if data is None:
        return "null"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return repr(data)
    return text if text.isprintable() else repr(text)
