"""A plugin of pytest that puts a mutant in the place of one module, in this process alone; the file itself stays as it is."""

import importlib.abc
import importlib.machinery
import importlib.util
import resource
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

import pytest
import structlog
from hypothesis import HealthCheck, Phase, settings

MEMORY_BYTES = 6 << 30
"""Of address space: a mutant that fills memory fails, and takes nothing else with it."""
EXAMPLES = 10
"""Of each property, at most: most mutants that are noticed at all are noticed by one of the first."""


class Loader(importlib.machinery.SourceFileLoader):
    """Loads one module from another file, and leaves a mark beside that file that it was."""

    def __init__(self, name: str, path: str, mutated: Path) -> None:
        super().__init__(name, path)
        self._mutated = mutated

    def get_code(self, fullname: str) -> CodeType:
        """Return the mutant's code, under the name of the file that it stands for."""
        self._mutated.with_suffix(".planted").touch()
        return compile(self._mutated.read_bytes(), self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the module that a mutant stands for."""

    def __init__(self, name: str, mutated: Path) -> None:
        self._name = name
        self._mutated = mutated

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of the mutant, None for any other module."""
        if fullname != self._name:
            return None
        real = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if real is None or real.origin is None:
            return None
        loader = Loader(fullname, real.origin, self._mutated)
        return importlib.util.spec_from_file_location(fullname, real.origin, loader=loader)


def plant(name: str, mutated: Path) -> None:
    """Put a mutant in the place of a module that is not imported yet."""
    if name in sys.modules:
        raise RuntimeError(f"{name} is imported already: the mutant would not be tried")
    sys.meta_path.insert(0, Finder(name, mutated))


def _drop(_logger: object, _method: str, _event: MutableMapping[str, Any]) -> NoReturn:
    """Leave a line of the log out: to draw a traceback takes longer than most tests. A test that looks at the log has its own way."""
    raise structlog.DropEvent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let properties that ask for many examples be content with few."""
    for item in items:
        test = getattr(item, "obj", None)
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if isinstance(own, settings) and own.max_examples > EXAMPLES:
            getattr(test, "__func__", test)._hypothesis_internal_use_settings = settings(own, max_examples=EXAMPLES)


def ready(module: str, mutated: Path) -> None:
    """Make this process one that tries a mutant: bounded in memory, without a log, with the same examples as for every other mutant."""
    plant(module, mutated)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    structlog.configure(processors=[_drop])
    # Nothing is kept, and no time is spent on making a failure small.
    settings.register_profile(
        "mutation",
        database=None,
        deadline=None,
        derandomize=True,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutation")
