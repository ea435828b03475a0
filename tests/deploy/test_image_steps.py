"""The Dockerfile's own steps, run by script: the wheel is built alone, installed alone with the pinned versions, and works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


def run(command: list[str], cwd: Path, **environment: str) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=environment or None)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.package
@pytest.mark.timeout(900)
def test_the_steps_lead_to_a_command_that_works(tmp_path: Path) -> None:
    """Every RUN of the build stage, in a copy of what the builder is sent; then the command runs without the repository."""
    source, prefix = tmp_path / "src", tmp_path / "opt"
    source.mkdir()
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        for name in line.split()[:-1]:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, source / name)
    stage = DOCKERFILE.split("FROM ")[1]
    for step in re.findall(r"^RUN (.+)$", stage, re.MULTILINE):
        script = step.replace("python -m venv", f"{sys.executable} -m venv")
        for path in ("/build", "/wheels", "/opt/factsieve"):
            script = re.sub(rf"(?<![\w.]){path}\b", str(prefix) + path, script)
        run(["bash", "-euc", script], source)
    (wheel,) = (prefix / "wheels").glob("*.whl")
    assert wheel.name.startswith("factsieve-")
    command = str(prefix / "opt/factsieve/bin/factsieve")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "Lets only new facts through" in run([command, "--help"], elsewhere, PATH="/usr/bin:/bin", TERM="dumb")
    (elsewhere / "in.jsonl").write_text(
        '{"id": "1", "text": "Bins on Friday"}\n{"id": "2", "text": "Bins on Friday"}\n'
    )
    run([command, "decide", "-i", "in.jsonl", "-o", "out.jsonl"], elsewhere, PATH="/usr/bin:/bin", TERM="dumb")
    assert [
        re.search(r'"decision":"(\w+)"', line)[1] for line in (elsewhere / "out.jsonl").read_text().splitlines()
    ] == [
        "add",
        "skip",
    ]  # type: ignore[index]
