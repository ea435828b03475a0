"""Write requirements.lock: the versions in this environment of everything that factsieve, its extras, its tests and its build need.

Run by `make lock`. A package that is installed but that nothing of ours asks for is left out.
"""

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
HEAD = """\
# Every version that factsieve is built, run and tested with (all extras and the development tools).
# Written by `make lock`; `make .venv` installs it. Python 3.11 or later.
"""


def wanted() -> list[Requirement]:
    """Return what pyproject.toml names: the package with all extras, the development group, the build backend."""
    project = _project()
    groups = [entry for group in project["dependency-groups"].values() for entry in group]
    return [Requirement(text) for text in ["factsieve[all]", *groups, *project["build-system"]["requires"]]]


def markers() -> dict[str, str]:
    """Return name -> marker of what pyproject.toml asks for on some versions of Python only."""
    project = _project()["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    named = [Requirement(text) for text in texts]
    return {canonicalize_name(one.name): str(one.marker) for one in named if one.marker is not None}


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def closure(roots: list[Requirement]) -> tuple[dict[str, str], list[str]]:
    """Return name -> version of all that the roots need here, and the names that are not installed."""
    pins: dict[str, str] = {}
    missing: list[str] = []
    seen: set[tuple[str, str]] = set()
    todo = [(root, extra) for root in roots for extra in ("", *root.extras)]
    while todo:
        requirement, extra = todo.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            missing.append(name)
            continue
        if name != "factsieve":
            pins[name] = found.version
        for text in found.requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                todo.extend((needed, wish) for wish in ("", *needed.extras))
    return pins, sorted(set(missing))


def main() -> int:
    """Write the file; 1 if something that is asked for is not installed."""
    pins, missing = closure(wanted())
    if missing:
        return 1
    only = markers()
    lines = [
        f"{name}=={version}" + (f"; {only[name]}" if name in only else "") for name, version in sorted(pins.items())
    ]
    (ROOT / "requirements.lock").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
