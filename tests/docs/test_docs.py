"""The documents name only what is there: make targets, commands, options, settings, files."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from factsieve.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")})
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z.][a-z.-]*):", MAKEFILE, re.MULTILINE))
COMMANDS = typer.main.get_command(app)


def code_of(page: Path) -> str:
    """Return what stands in code: fenced blocks and inline code, a line each."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:sh|console|bash)?\n(.*?)```", text, re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return "\n".join([*blocks, *inline])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    """`make X` in a document is a target of the Makefile."""
    named = re.findall(r"(?:^|[\s$;&(])make ((?!TARGET)[a-z.][a-z.-]*)", code_of(page), re.MULTILINE)
    assert set(named) <= TARGETS


def find_command(words: list[str]) -> tuple[object, list[str]]:
    """Return the command that a command line names, and what is left of the line."""
    command: object = COMMANDS
    while words and hasattr(command, "commands"):
        name = words[0].split("|")[0]
        if name.startswith("-"):
            break
        assert name in command.commands, f"no command {name!r}"
        command, words = command.commands[name], words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_that_is_named_exists(page: Path) -> None:
    """`factsieve X --option` in a document is a command and an option of it."""
    for line in re.findall(r"(?:^|[\s$;&|/(])factsieve ([a-z-][^\n`]*)", code_of(page)):
        words = shlex.split(re.split(r";| [|>&#] ?|\s{3,}", line)[0].replace("'", ""), comments=True)
        if not words or not re.fullmatch(r"[a-z]+(\|[a-z]+)*|--?[a-z-]+", words[0]):
            continue
        command, rest = find_command(words)
        known = {option for parameter in command.params for option in parameter.opts} | {
            "--help",
            "--version",
            "--debug",
        }
        named = {word.split("=")[0] for word in rest if re.match(r"--[a-z]", word)}
        assert named <= known, f"factsieve {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_linked_exists(page: Path) -> None:
    """A relative link leads to a file."""
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_first_page_leads_to_every_other() -> None:
    """README links to each page of `docs`, and to what stands beside itself."""
    linked = set(re.findall(r"\]\(([^)#\s]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= linked
    assert {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"} <= linked


def test_the_readme_names_every_command() -> None:
    """Whoever reads the first page has heard of each command once."""
    code = code_of(ROOT / "README.md")
    prose = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [name for name in COMMANDS.commands if not re.search(rf"(factsieve |`){name}\b", code + prose)]
    assert not missing


def test_the_architecture_page_names_every_room() -> None:
    """A folder or module of the package that the page does not mention is a room that nobody finds."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "workers" / "factsieve"
    rooms = {folder.name for folder in package.iterdir() if folder.is_dir() and folder.name != "__pycache__"}
    assert [room for room in sorted(rooms) if f"`{room}/`" not in page] == []


def test_the_tour_has_every_command_and_endpoint() -> None:
    """What a command or endpoint prints can be seen; but for those that run until they are stopped, or fetch gigabytes."""
    from factsieve.api.endpoint_docs import render

    page = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- transcript: (.*?) -->\n```console\n\$ ", page)
    commands = {
        f"{name} {inner}" if inner else name
        for name, command in COMMANDS.commands.items()
        for inner in getattr(command, "commands", {"": None})
    } - {"demo", "up", "down", "worker", "api", "models pull"}
    assert [one for one in sorted(commands) if not any(re.search(rf"factsieve {one}\b", line) for line in shown)] == []
    addresses = [re.sub(r"/\{\w+\}", "/[^/? ]+", one) for one in re.findall(r"`(?:GET|POST) (\S+)`", render())]
    called = " ".join(shown)
    assert [one for one in addresses if not re.search(rf"\$API{one}[?\" ]", called)] == []


def test_every_target_explains_itself() -> None:
    """`make help` shows every target that is meant to be typed."""
    explained = set(re.findall(r"^([a-z.-]+):.*## ", MAKEFILE, re.MULTILINE))
    phony = set(re.findall(r"^\.PHONY: (\S+)", MAKEFILE, re.MULTILINE))
    assert phony == explained
