"""Put fresh transcripts into docs/tuning.md and docs/tour.md: their commands, run on a stack with the demonstration's statements.

`python deploy/transcripts.py [PAGE...]`. A transcript stands behind `<!-- transcript: COMMAND -->`: what the command prints without a
terminal. Each page has a stack of its own, and its commands run in order, in one folder, after the lines of its block `<!-- setup -->`.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = (ROOT / "docs" / "tuning.md", ROOT / "docs" / "tour.md")
DEMO: Final = ROOT / "workers" / "factsieve" / "cli" / "demo" / "facts.jsonl"
BLOCK: Final = re.compile(r"<!-- transcript: (.*?) -->\n(?:```console\n(.*?)```\n)?", re.DOTALL)
SETUP: Final = re.compile(r"<!-- setup -->\n```sh\n(.*?)```", re.DOTALL)
_START_TIMEOUT_S: Final = 120.0
_COMMAND_TIMEOUT_S: Final = 120.0


def environment() -> dict[str, str]:
    """Return the variables of a reader's shell: no settings of this one, `factsieve` and `python` of this environment first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FACTSIEVE_", "COLUMNS"))}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}


@contextmanager
def told_stack(folder: Path) -> Iterator[str]:
    """Run `factsieve up` in a folder, tell it the demonstration's statements, and yield the address of its API."""
    log_path = folder / "up.log"
    with log_path.open("wb") as log:
        up = subprocess.Popen(
            [sys.executable, "-m", "factsieve", "up"], cwd=folder, env=environment(), stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while "Try: factsieve" not in log_path.read_text():
            if up.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(log_path.read_text())
            time.sleep(0.2)
        fed = run(folder, f"factsieve remember --file {DEMO}", {})
        if "Remembered." not in fed:
            raise SystemExit(fed)
        (api,) = re.findall(r"^  api\s+(http://[^/\s]+)", log_path.read_text(), re.MULTILINE)
        yield api
    finally:
        up.terminate()
        up.wait(90)


def run(folder: Path, command: str, variables: dict[str, str], setup: str = "") -> str:
    """Return what a command prints, as a reader's shell runs it; what it complains of too, where it ends with more than 1."""
    done = subprocess.run(
        ["/bin/bash", "-c", f"{setup}\n{command}"],
        cwd=folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=_COMMAND_TIMEOUT_S,
    )
    if done.returncode > 1:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr}")
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def transcripts(page: str, folder: Path, api: str) -> dict[str, str]:
    """Return what each command of a page prints, run in order."""
    setup = "".join(SETUP.findall(page))
    return {found[1]: run(folder, found[1], {"API": api}, setup) for found in BLOCK.finditer(page)}


def main(arguments: list[str]) -> int:
    """Write every transcript of the pages anew."""
    for path in [Path(one).resolve() for one in arguments] or PAGES:
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="factsieve-page-") as name, told_stack(Path(name)) as api:
            said = transcripts(text, Path(name), api)
        fresh = BLOCK.sub(
            lambda found, said=said: (
                f"<!-- transcript: {found[1]} -->\n```console\n$ {found[1]}\n{said[found[1]]}\n```\n"
            ),
            text,
        )
        path.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
