"""The facts' store and the embedder, opened as the settings say."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from factsieve.core.errors import Transient

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.assembly.wiring import Stores


@asynccontextmanager
async def reading(settings: "Settings") -> "AsyncIterator[Stores]":
    """Open the stores of the configured embedder. Raises BadSettings, and Transient that names the address."""
    from factsieve.assembly.wiring import open_stores

    with naming_qdrant(settings):
        async with open_stores(settings) as stores:
            yield stores


@contextmanager
def naming_qdrant(settings: "Settings") -> Iterator[None]:
    """Let a Qdrant that does not answer be named with its address; what other services did is passed on as it is."""
    from factsieve.adapters.qdrant_tools import SERVICE
    from factsieve.assembly.settings_groups import mask_url

    try:
        yield
    except Transient as error:
        if error.service != SERVICE:
            raise
        url = mask_url(settings.qdrant.url.get_secret_value())
        said = str(error).removeprefix(f"{error.service}: ")
        raise Transient(error.service, f"{url} does not answer ({said}): does it run, is the address right?") from error
