"""What all tests share: where the public data sets are, and that nothing is left running."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.brokers import apache, broker, tansu

__all__ = ["apache", "broker", "tansu"]  # fixtures

SHARED = Path(os.environ.get("FACTSIEVE_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of the public data sets, which are not redistributable."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"the public data sets are not at {SHARED}: set FACTSIEVE_SHARED")
    return SHARED


@pytest.fixture
def collector() -> Iterator[None]:
    """The garbage collector of a process that nobody has set up; afterwards as it was."""
    before = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
