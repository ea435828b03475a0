"""`docs/api.md` says what is: its table is made of the API's own document, and its examples run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from api_stack import TOKENS, Live

from factsieve.api.endpoint_docs import render
from factsieve.api.problems import Code

pytestmark = pytest.mark.api

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
TEXT = PAGE.read_text(encoding="utf-8")


def block(language: str) -> str:
    """Return the one fenced block in a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return str(found)


def test_the_table_of_endpoints_is_that_of_the_api() -> None:
    """Made by `python -m factsieve.api.endpoint_docs`; an endpoint that is added or changed has to be there."""
    (table,) = re.findall(r"<!-- endpoints: begin -->\n(.*?)<!-- endpoints: end -->", TEXT, re.DOTALL)
    assert table == render()


def test_every_code_of_a_problem_is_explained() -> None:
    """The table of errors has the whole vocabulary, and nothing else."""
    from typing import get_args

    rows = re.findall(r"^\| \d{3} \| (.*?) \|", TEXT, re.MULTILINE)
    named = {code for row in rows for code in re.findall(r"`(\w+)`", row)}
    assert named == set(get_args(Code))


@pytest.mark.stack
def test_the_shell_examples_run(live: Live, tmp_path: Path) -> None:
    """As they stand, on a fresh stack, each answers as a success."""
    environment = {**os.environ, "API": live.url, "TOKEN": TOKENS["ops"]}
    script = "set -euo pipefail\n" + block("sh")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"is_update":true' in done.stdout
    assert '"decision":"supersede"' in done.stdout


@pytest.mark.stack
def test_the_python_client_runs_and_prints_what_the_page_says(live: Live, tmp_path: Path) -> None:
    """The example is a program."""
    environment = {**os.environ, "API": live.url, "TOKEN": TOKENS["ops"]}
    (tmp_path / "client.py").write_text(block("python"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "client.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (printed,) = re.findall(r"prints\n\n```\n(.*?)```", TEXT, re.DOTALL)
    assert done.stdout == printed
