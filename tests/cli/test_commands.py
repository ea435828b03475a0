"""Commands as people meet them: help with an example, errors in one line with the fix, exit codes."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from rich.text import Text

from factsieve.cli.main import app, exit_code
from factsieve.core.errors import BadInput, BadSettings, Bug, Transient
from factsieve.localstack.process import LocalStackError

COMMANDS = typer.main.get_command(app)


def every_command(group: object = COMMANDS, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            yield from every_command(command, (*path, name))
        else:
            yield (*path, name)


def factsieve(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, as a user would, without a terminal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FACTSIEVE_")}
    return subprocess.run(
        [sys.executable, "-m", "factsieve", *words],
        cwd=cwd,
        env={**kept, "COLUMNS": "120", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("path", list(every_command()), ids=" ".join)
def test_every_command_explains_itself_with_an_example_that_parses(path: tuple[str, ...], tmp_path: Path) -> None:
    """`--help` ends with 0, shows an example, and the example's options are those of the command."""
    shown = factsieve(*path, "--help", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    text = " ".join(shown.stdout.split())
    assert "Example: " in text
    example = text.split("Example: ")[1]
    assert f"factsieve {' '.join(path)}" in example
    command: object = COMMANDS
    for name in path:
        command = command.commands[name]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}  # type: ignore[attr-defined]
    line = re.split(r"╭| Options", example)[0]
    assert set(re.findall(r"(?<!\S)--[a-z-]+", line)) <= known


def test_help_is_wrapped_for_the_reader_and_loses_nothing_to_markup() -> None:
    """No paragraph has the line breaks of its source, and nothing in square brackets is taken for a style and swallowed."""
    for path in every_command():
        command: object = COMMANDS
        for name in path:
            command = command.commands[name]  # type: ignore[attr-defined]
        assert all("\n" not in paragraph for paragraph in command.help.split("\n\n")), path  # type: ignore[attr-defined]
        for said in (command.help, *(getattr(one, "help", None) or "" for one in command.params)):  # type: ignore[attr-defined]
            assert Text.from_markup(said).plain == said, path


def test_without_a_command_the_commands_are_shown(tmp_path: Path) -> None:
    """A newcomer who types the name alone sees what there is."""
    shown = factsieve(cwd=tmp_path)
    for name in (
        "demo",
        "up",
        "down",
        "remember",
        "decide",
        "facts",
        "history",
        "activity",
        "worker",
        "topics",
        "config",
    ):
        assert re.search(rf"\b{name}\b", shown.stdout + shown.stderr)


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    """One number, in one place."""
    from factsieve import __version__

    assert factsieve("--version", cwd=tmp_path).stdout.strip() == f"factsieve {__version__}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("remember",), "give statements or --file"),
        (("remember", "a", "--file", "b"), "give statements or --file"),
        (("remember", "--file", "absent.jsonl"), "absent.jsonl"),
        (("decide", "--input", "absent.jsonl", "--output", "out.jsonl"), "absent.jsonl"),
        (("decide", "--input", "-", "--output", "absent/out.jsonl"), "there is no folder absent"),
        (("decide", "--input", "-", "--output", "."), "it is a folder"),
        (("facts", "--as-of", "yesterday"), "'yesterday' is no time"),
        (("facts", "--like", "x", "--known-at", "2026-01-01"), "--like"),
        (("history", "no-id"), "'no-id' is no fact id"),
        (("config", "check", "--set", "policy.skip_treshold=0.9"), "did you mean policy.skip_threshold?"),
        (("config", "check", "--set", "policy.skip_threshold=0.5"), "skip 0.5"),
        (("config", "show", "--config", "absent.toml"), "absent.toml"),
        (("facts", "--limit", "0"), "--limit"),
        (("nonsense",), "nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_usage_ends_with_2_and_names_the_value(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """No traceback; the message holds what was wrong."""
    done = factsieve(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert said in " ".join(re.sub(r"[│╭╰─╮╯]", " ", done.stderr).split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "Bins on Friday", "--timeout", "1"),
        ("activity",),
        ("facts",),
        ("topics", "check"),
        ("topics", "create"),
        ("dlt", "list"),
        ("dlt", "redrive", "--all"),
        ("compact",),
        ("worker",),
    ],
    ids=" ".join,
)
def test_a_service_out_of_reach_ends_with_3_and_names_its_address(words: tuple[str, ...], tmp_path: Path) -> None:
    """One line on standard error, no traceback."""
    nowhere = "127.0.0.1:1"
    done = factsieve(
        *words,
        cwd=tmp_path,
        FACTSIEVE_KAFKA__BOOTSTRAP=nowhere,
        FACTSIEVE_QDRANT__URL=f"http://{nowhere}",
        FACTSIEVE_QDRANT__TIMEOUT_S="2",
    )
    assert done.returncode == 3, done.stderr
    assert nowhere in done.stderr.replace("\n", "")
    assert "Traceback" not in done.stderr
    assert "AddressFamily" not in done.stderr


@pytest.mark.parametrize(("words", "code"), [(("facts",), 3), (("retract", "x"), 2)], ids=["facts", "retract"])
def test_without_a_stack_and_an_address_a_newcomer_hears_what_to_start(
    words: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    """The default addresses were nobody's choice: the message names `factsieve up`. Whoever named an address hears nothing of it."""
    done = factsieve(*words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "`factsieve up` starts a stack" in done.stderr
    named = factsieve(*words, cwd=tmp_path, FACTSIEVE_QDRANT__URL="http://127.0.0.1:1", FACTSIEVE_QDRANT__TIMEOUT_S="2")
    assert named.returncode == code, named.stderr
    assert "factsieve up" not in named.stderr


def test_a_state_folder_without_a_stack_ends_with_3(tmp_path: Path) -> None:
    """Naming a folder means that stack and no other."""
    done = factsieve("facts", "--state-dir", "elsewhere", cwd=tmp_path)
    assert done.returncode == 3
    assert "no local stack runs in elsewhere" in " ".join(done.stderr.split())


def test_down_without_a_stack_says_so(tmp_path: Path) -> None:
    """Nothing to stop is no failure."""
    done = factsieve("down", cwd=tmp_path)
    assert done.returncode == 0
    assert "Nothing was running" in done.stdout


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """`--debug` may stand before the command or behind it."""
    for words in (("--debug", "remember"), ("remember", "--debug")):
        done = factsieve(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert "Traceback" in done.stderr


def test_config_show_prints_what_differs_and_masks_secrets(tmp_path: Path) -> None:
    """Settings come from file, environment and arguments, each over the one before."""
    (tmp_path / "factsieve.toml").write_text('[policy]\nskip_threshold = 0.9\n[kafka]\ngroup = "file"\n')
    done = factsieve(
        "config",
        "show",
        "--set",
        "policy.ambiguous_threshold=0.8",
        cwd=tmp_path,
        FACTSIEVE_KAFKA__GROUP="environment",
        FACTSIEVE_QDRANT__API_KEY="hush",
    )
    assert done.returncode == 0, done.stderr
    assert "policy.skip_threshold = 0.9" in done.stdout
    assert "policy.ambiguous_threshold = 0.8" in done.stdout
    assert 'kafka.group = "environment"' in done.stdout
    assert "hush" not in done.stdout
    assert "supersede_threshold" not in done.stdout


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadSettings("x"), 2),
        (BadInput("not_json", "x"), 2),
        (Transient("kafka", "x"), 3),
        (LocalStackError("x"), 3),
        (Bug("x"), 70),
        (ValueError("x"), 70),
    ],
    ids=lambda value: type(value).__name__,
)
def test_exit_codes(error: Exception, code: int) -> None:
    """Each family of errors has its code."""
    assert exit_code(error) == code
