"""Decision scenarios through the engine, graded by the scorer that comes with them."""

import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from factsieve.cli.decide import decide_under
from factsieve.cli.lines import read_lines
from factsieve.core.errors import BadSettings

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.assembly.wiring import Models

_CELL: Final = re.compile(r"(\d+)/(\d+)")
_TIMEOUT_S: Final = 120


class Graded(msgspec.Struct, frozen=True):
    """What the scorer said: by kind (tier 1 passed, of; tier 2 passed, of), by problem (tier 1, tier 2), and its whole text."""

    kinds: dict[str, tuple[tuple[int, int], tuple[int, int]]]
    problems: dict[str, tuple[int, int]]
    failed: dict[str, int]
    text: str


async def grade(settings: "Settings", models: "Models", scenarios: Path, scorer: Path) -> Graded:
    """Return the scorer's grades for what the engine decides about the scenarios. Raises BadSettings where the scorer fails."""
    now = datetime.now(UTC)
    flat = _run(scorer, "flatten", str(scenarios))
    lines = list(read_lines(flat.splitlines(keepends=True), default_namespace="default", now=now))
    decisions = await decide_under(settings, lines, now, models)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(decision) + b"\n" for decision in decisions))
        return parse(_run(scorer, "grade", str(scenarios), str(path), "--verbose", accepted=(0, 1)).decode())


def parse(text: str) -> Graded:
    """Return a scorer's output as numbers: its two tables, and the scenarios that failed (by id, with their tier)."""
    kinds: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {}
    problems: dict[str, tuple[int, int]] = {}
    failed = {found[1]: int(found[2]) for found in re.finditer(r"^FAIL (\S+) \(tier (\d)\)", text, re.MULTILINE)}
    table = ""
    for line in text.splitlines():
        *words, one, two = line.split() if len(line.split()) >= 3 else ["", "", ""]
        if line.startswith(("kind ", "decisions ")):
            table = line.split()[0]
        elif table == "kind" and all(cell == "-" or _CELL.fullmatch(cell) for cell in (one, two)):
            kinds[" ".join(words)] = (_cell(one), _cell(two))
        elif table == "decisions" and one.isdigit() and two.isdigit():
            problems[" ".join(words)] = (int(one), int(two))
    if "all" not in kinds or not problems:
        raise BadSettings(f"the scorer printed no tables of kinds and problems: {text[-200:]!r}")
    return Graded(kinds, problems, failed, text)


def _cell(text: str) -> tuple[int, int]:
    found = _CELL.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _run(scorer: Path, *arguments: str, accepted: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(
        [sys.executable, str(scorer), *arguments], capture_output=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode not in accepted:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise BadSettings(f"the scorer {scorer} failed on {arguments[0]} (exit {done.returncode}): {said}")
    return done.stdout
