"""One stack for all tests of the API and of its pages."""

from collections.abc import Callable, Iterator

import httpx
import pytest
from api_stack import Live, started


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Return a running stack, with the tokens of `api_stack.GRANTS`."""
    with started(tmp_path_factory.mktemp("api")) as running:
        yield running


@pytest.fixture
def ops(live: Live) -> Iterator[httpx.Client]:
    """A client that may do everything."""
    with live.client() as client:
        yield client


@pytest.fixture
def as_tenant(live: Live) -> Iterator[Callable[[str | None], httpx.Client]]:
    """Clients by the name of their token; None: without one."""
    opened: list[httpx.Client] = []

    def make(who: str | None) -> httpx.Client:
        opened.append(live.client(who))
        return opened[-1]

    yield make
    for client in opened:
        client.close()
