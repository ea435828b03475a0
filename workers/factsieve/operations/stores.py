"""The facts' store and the embedder, opened as the settings say."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from factsieve.core.errors import Transient

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.assembly.wiring import Stores


@asynccontextmanager
async def reading(settings: "Settings") -> "AsyncIterator[Stores]":
    """Open the stores of the configured embedder. Raises BadSettings, and Transient that names the address."""
    from factsieve.assembly.settings_groups import mask_url
    from factsieve.assembly.wiring import open_stores

    url = mask_url(settings.qdrant.url.get_secret_value())
    try:
        async with open_stores(settings) as stores:
            yield stores
    except Transient as error:
        said = str(error).removeprefix(f"{error.service}: ")
        raise Transient(error.service, f"{url} does not answer ({said}): does it run, is the address right?") from error
