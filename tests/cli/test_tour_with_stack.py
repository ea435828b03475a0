"""docs/tour.md: every command and endpoint, run as the page shows them, in order, on a stack of its own."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy"))

from transcripts import BLOCK, run, told_stack, transcripts  # noqa: E402 - a script, not a package

PAGE = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
SHOWN = {command: shown.split("\n", 1)[1] for command, shown in BLOCK.findall(PAGE)}


def shape(text: str) -> list[str]:
    """Return the words of a text's first and last line without what differs between runs: numbers, ids, sizes."""
    lines = text.strip("\n").splitlines() or [""]
    plain = [re.sub(r"[0-9a-f]*[0-9][0-9a-f.,:-]*", "#", line) for line in (lines[0], lines[-1])]
    return [word for line in plain for word in line.split()[:3]]


def exit_codes(text: str) -> list[str]:
    """Return the exit codes that a transcript shows."""
    return re.findall(r"^exit code (\d+)$", text, re.MULTILINE)


@pytest.mark.stack
@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_tour_is_as_it_is_told(tmp_path: Path) -> None:
    """Each command prints what the page shows: its first and last lines, numbers apart, and the very exit codes."""
    with told_stack(tmp_path) as api:
        ours = transcripts(PAGE, tmp_path, api)
    assert list(ours) == list(SHOWN)
    for command, shown in SHOWN.items():
        assert shape(ours[command]) == shape(shown), command
        assert exit_codes(ours[command]) == exit_codes(shown), command


def test_a_command_that_fails_is_no_transcript(tmp_path: Path) -> None:
    """What ends with more than 1, unless its code is shown, stops the making of a page."""
    with pytest.raises(SystemExit, match="ended with 3"):
        run(tmp_path, "exit 3", {})
    assert run(tmp_path, '(exit 3); echo "exit code $?"', {}) == "exit code 3"
