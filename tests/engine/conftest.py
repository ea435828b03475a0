"""What tests of the engine share."""

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Keep lines of the log from being written: to draw the tracebacks of errors made on purpose takes longer than most tests."""
    with capture_logs():
        yield
