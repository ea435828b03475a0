"""Put fresh transcripts into docs/tuning.md: its commands, run on a local stack that holds the demonstration's statements.

`python deploy/tuning.py`. A transcript stands behind `<!-- transcript: COMMAND -->`: what the command prints without a terminal.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "tuning.md"
DEMO: Final = ROOT / "workers" / "factsieve" / "cli" / "demo" / "facts.jsonl"
BLOCK: Final = re.compile(r"<!-- transcript: (.*?) -->\n(?:```console\n.*?```\n)?", re.DOTALL)
_START_TIMEOUT_S: Final = 120.0


def commands(page: str) -> list[str]:
    """Return the commands whose transcripts a page shows, in order."""
    return BLOCK.findall(page)


def _run(folder: Path, command: str) -> str:
    words = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "factsieve", *words], cwd=folder, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode > 1:
        raise SystemExit(f"{command} ended with {done.returncode}")
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    return "\n".join([f"$ {command}", *lines])


def main() -> int:
    """Start a stack, tell it the demonstration's statements, and write every transcript anew."""
    text = PAGE.read_text(encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FACTSIEVE_")}
    with tempfile.TemporaryDirectory(prefix="factsieve-tuning-") as name:
        folder = Path(name)
        with (folder / "up.log").open("wb") as log:
            up = subprocess.Popen(
                [sys.executable, "-m", "factsieve", "up"], cwd=folder, env=environment, stdout=log, stderr=log
            )
        try:
            deadline = time.monotonic() + _START_TIMEOUT_S
            while "factsieve is up" not in (folder / "up.log").read_text():
                if up.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit((folder / "up.log").read_text())
                time.sleep(0.2)
            _run(folder, f"factsieve remember --file {DEMO}")
            said = {command: _run(folder, command) for command in commands(text)}
        finally:
            up.terminate()
            up.wait(90)
    fresh = BLOCK.sub(lambda found: f"<!-- transcript: {found[1]} -->\n```console\n{said[found[1]]}\n```\n", text)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
