"""requirements.lock holds what the project needs, all of it pinned, and nothing that names a place to fetch it from."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LINES = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line and not line.startswith("#")]
PINNED = {line.split("==")[0] for line in LINES}
sys.path.insert(0, str(ROOT / "deploy"))

import lock  # noqa: E402 - a script, not a package


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_every_line_pins_one_version_and_nothing_else() -> None:
    """No ranges, addresses or options, in order, each name once."""
    assert all(re.fullmatch(r"[a-z0-9-]+==[a-z0-9.+]+(; python_version < \"3\.\d+\")?", line) for line in LINES)
    assert sorted(PINNED) == [line.split("==")[0] for line in LINES]


def test_everything_that_the_project_asks_for_is_pinned() -> None:
    """What `make lock` would write now has no name that the file lacks."""
    pins, missing = lock.closure(lock.wanted())
    assert missing == []
    assert set(pins) <= PINNED


def test_every_package_that_is_imported_is_pinned() -> None:
    """An import that works only because something was installed by hand would break a fresh checkout."""
    known = packages_distributions()
    paths = [path for folder in ("tests", "deploy") for path in (ROOT / folder).rglob("*")]
    own = {path.stem for path in paths} | {"factsieve", "tests"}
    lacking = {}
    for folder in ("workers", "tests", "deploy"):
        for path in (ROOT / folder).rglob("*.py"):
            for name in imports_of(path) - sys.stdlib_module_names - own:
                if not any(canonicalize_name(found) in PINNED for found in known.get(name, [])):
                    lacking[name] = str(path.relative_to(ROOT))
    assert lacking == {}
