"""The examples as modules: they are files to be copied, not part of the package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "examples"


def load(name: str) -> ModuleType:
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def ingesting() -> ModuleType:
    return load("ingest_new_facts")


@pytest.fixture(scope="session")
def chatting() -> ModuleType:
    return load("chat_loop")
