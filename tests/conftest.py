"""What all tests share: where the public data sets are, and that nothing is left running."""

import os
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
