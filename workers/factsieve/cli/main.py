"""The entry point: commands by name, errors as one line, exit codes.

Exit codes: 0 done; 1 the answer is no (something was refused, a check failed); 2 wrong usage or settings; 3 a service could not be
reached or did not answer in time; 70 a bug in factsieve itself (EX_SOFTWARE of sysexits.h); 130 stopped by Ctrl-C.
"""

import inspect
import logging
import sys
import traceback
from typing import Annotated, Final, NoReturn

import typer

from factsieve import __version__
from factsieve.assembly import memory
from factsieve.cli import (
    activity,
    api,
    audit,
    backup,
    calibrate,
    compact,
    config,
    decide,
    demo,
    dlt,
    erase,
    evaluate,
    facts,
    models,
    rebuild,
    remember,
    replay,
    revert,
    review,
    services,
    topics,
    whatif,
)
from factsieve.cli.connect import hint_where
from factsieve.cli.render import err
from factsieve.core.errors import BadInput, BadSettings, Transient
from factsieve.operations.signing import NoKey

EXIT_NO: Final = 1
EXIT_USAGE: Final = 2
EXIT_UNREACHABLE: Final = 3
EXIT_BUG: Final = 70

app = typer.Typer(
    name="factsieve",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Lets only new facts through: skips repeats, revises, supersedes, and keeps the history.",
    epilog="Try it: [bold]factsieve demo[/bold]. Exit codes: 0 done, 1 the answer is no, 2 wrong usage or settings, "
    "3 a service could not be reached.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"factsieve {__version__}")
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options that stand before the command."""
    del debug, version  # `run` looks for --debug itself, since an error may come before or after this


_START, _TELL, _TUNE = "Start here", "Tell and look", "Measure and tune"
_UNDO, _KEEP, _RUN = "Undo", "Send again, keep, recover", "Run and set up"

app.command("demo", rich_help_panel=_START)(demo.demo)
app.command("up", rich_help_panel=_START)(services.up)
app.command("down", rich_help_panel=_START)(services.down)
app.command("remember", rich_help_panel=_TELL)(remember.remember)
app.command("facts", rich_help_panel=_TELL)(facts.facts)
app.command("history", rich_help_panel=_TELL)(facts.history)
app.command("activity", rich_help_panel=_TELL)(activity.activity)
app.command("decide", rich_help_panel=_TELL)(decide.decide)
app.command("audit", rich_help_panel=_TUNE)(audit.audit)
app.command("whatif", rich_help_panel=_TUNE)(whatif.whatif)
app.command("calibrate", rich_help_panel=_TUNE)(calibrate.calibrate)
app.command("evaluate", rich_help_panel=_TUNE)(evaluate.evaluate)
app.command("revert", rich_help_panel=_UNDO)(revert.revert)
app.command("review", rich_help_panel=_UNDO)(review.review)
app.command("retract", rich_help_panel=_UNDO)(revert.retract)
app.command("erase", rich_help_panel=_UNDO)(erase.erase)
app.add_typer(dlt.app, name="dlt", rich_help_panel=_KEEP)
app.command("replay", rich_help_panel=_KEEP)(replay.replay)
app.command("export", rich_help_panel=_KEEP)(backup.export)
app.command("import", rich_help_panel=_KEEP)(backup.import_)
app.command("rebuild", rich_help_panel=_KEEP)(rebuild.rebuild)
app.command("compact", rich_help_panel=_KEEP)(compact.compact)
app.command("worker", rich_help_panel=_RUN)(services.worker)
app.command("api", rich_help_panel=_RUN)(api.api)
app.add_typer(topics.app, name="topics", rich_help_panel=_RUN)
app.add_typer(config.app, name="config", rich_help_panel=_RUN)
app.add_typer(models.app, name="models", rich_help_panel=_RUN)


def _join_lines(of: typer.Typer) -> None:
    """Let the help be wrapped for the reader's terminal alone: Typer keeps the line breaks that a docstring has in the source."""
    for command in of.registered_commands:
        paragraphs = inspect.cleandoc((command.callback and command.callback.__doc__) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for group in of.registered_groups:
        if group.typer_instance is not None:
            _join_lines(group.typer_instance)


_join_lines(app)


def exit_code(error: BaseException) -> int:
    """Return the exit code for an error that left a command."""
    from factsieve.localstack.process import LocalStackError

    if isinstance(error, BadSettings | BadInput):
        return EXIT_USAGE
    if isinstance(error, Transient | LocalStackError):
        return EXIT_UNREACHABLE
    return EXIT_BUG


def _explained(error: Exception) -> Exception:
    """Return what keeps us out of Kafka, where that is a setting; else the error as it is."""
    from factsieve.adapters.kafka_client import KafkaTransient

    if not isinstance(error, KafkaTransient) or error.access is None:
        return error
    import asyncio

    from factsieve.adapters.kafka_probe import explain

    return asyncio.run(explain(error.access.servers, error.access.security)) or error


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run a command line and exit with its code."""
    if arguments is None:  # a process of our own
        memory.look_less_often()
        arguments = sys.argv[1:]
    debug = "--debug" in arguments
    if debug and arguments[:1] != ["--debug"]:  # taken before or behind the command's name
        arguments = ["--debug", *(argument for argument in arguments if argument != "--debug")]
    if not debug and not {"worker", "api"} & set(arguments[:1]):
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # its complaints reach people as our own errors
    try:
        app(args=arguments, prog_name="factsieve")
    except Exception as raised:
        error = _explained(raised)
        code = exit_code(error)
        if debug:
            traceback.print_exc()
        console = err()
        if code == EXIT_BUG:
            console.print(f"factsieve: {type(error).__name__}: {error}", style="red", markup=False, soft_wrap=True)
            console.print("This is a bug. `factsieve --debug ...` shows where it happened; please report it.")
        else:
            console.print(f"factsieve: {error}", style="red", markup=False, soft_wrap=True)
            if (code == EXIT_UNREACHABLE or isinstance(error, NoKey)) and (hint := hint_where(arguments)):
                console.print(hint, markup=False, soft_wrap=True)
        sys.exit(code)
    sys.exit(0)
