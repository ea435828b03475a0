"""A plugin of pytest that puts a mutant in the place of one module, in this process alone; the file itself stays as it is."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

from hypothesis import HealthCheck, Phase, settings

MODULE = "FACTSIEVE_MUTANT_MODULE"
SOURCE = "FACTSIEVE_MUTANT_SOURCE"
MEMORY_BYTES = 6 << 30
"""Of address space: a mutant that fills memory fails, and takes nothing else with it."""


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


if MODULE in os.environ:
    plant(os.environ[MODULE], Path(os.environ[SOURCE]))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # The same examples for every mutant, nothing kept, and no time spent on making a failure small.
    settings.register_profile(
        "mutation",
        database=None,
        deadline=None,
        derandomize=True,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutation")
