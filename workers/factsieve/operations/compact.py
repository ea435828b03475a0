"""Files of the store without what was overwritten: after an erase the text is still in segments and logs until they are rewritten.

The local stack's engine rewrites its folders, asked over HTTP or, where it does not run, here. A Qdrant server rewrites a segment when
enough of it was overwritten; it is asked to do that early, which is all that its API offers, so that nothing can be promised of it.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from factsieve.adapters.qdrant_tools import Rest
from factsieve.core.errors import BadSettings, Transient
from factsieve.operations.stores import naming_qdrant

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

    from factsieve.assembly.settings import Settings

LOCAL_TITLE: Final = "factsieve local engine"
LOCAL_PATH: Final = "/factsieve/compact"
LOCAL_TIMEOUT_S: Final = 600.0
_EAGER: Final = {"deleted_threshold": 0.001, "vacuum_min_vector_number": 100}
"""The lowest that a server takes: segments of which a thousandth, and at least a hundred points, were overwritten or deleted."""

_POLL_S: Final = 0.5


class Compacted(msgspec.Struct, frozen=True):
    """A collection after the work. Bytes are known of local folders. `certain`: nothing that was overwritten is in its files any more."""

    collection: str
    certain: bool
    bytes_before: int | None = None
    bytes_after: int | None = None


async def compact(settings: "Settings", *, timeout_s: float) -> list[Compacted]:
    """Have the configured server rewrite its files. Raises BadSettings where it holds nothing of ours, Transient."""
    from factsieve.assembly.wiring import qdrant_client_of

    client = qdrant_client_of(settings, timeout_s=max(timeout_s, LOCAL_TIMEOUT_S))
    try:
        with naming_qdrant(settings):
            return await _compact(client, settings.qdrant.collection_prefix, timeout_s)
    finally:
        await client.close()


async def _compact(client: "AsyncQdrantClient", prefix: str, timeout_s: float) -> list[Compacted]:
    answer = await Rest(client).raw("GET", "/")
    title = str(answer.get("title", "")) if isinstance(answer, dict) else ""
    if title.startswith(LOCAL_TITLE):
        done = (await Rest(client).raw("POST", LOCAL_PATH, {}))["result"]
        return [Compacted(name, certain=True, **sizes) for name, sizes in sorted(done.items())]
    listed = (await Rest(client).raw("GET", "/collections"))["result"]["collections"]
    names = sorted(one["name"] for one in listed if _is_ours(one["name"], prefix))
    if not names:
        raise BadSettings(f"the server holds no collection of ours (prefix {prefix!r})")
    return [await _vacuum(client, name, timeout_s) for name in names]


def _is_ours(name: str, prefix: str) -> bool:
    return name == f"{prefix}ledger" or name.startswith(f"{prefix}facts-")


async def _vacuum(client: "AsyncQdrantClient", name: str, timeout_s: float) -> Compacted:
    """Make the server rewrite its segments early, wait until it has, and leave its settings as they were."""
    rest = Rest(client, name)
    info = await rest.call("GET", "")
    before = info["config"].get("optimizer_config") or {}
    kept = {key: before[key] for key in _EAGER if before.get(key) is not None}
    try:
        await rest.call("PATCH", "", {"optimizers_config": _EAGER})
        for _ in range(int(timeout_s / _POLL_S) + 1):
            if _is_at_rest(await rest.call("GET", "")):
                break
            await asyncio.sleep(_POLL_S)
        else:
            raise Transient("qdrant", f"collection {name} was not rewritten within {timeout_s:g} s: the server goes on")
    finally:
        if kept:
            await rest.call("PATCH", "", {"optimizers_config": kept})
    return Compacted(name, certain=False)


def _is_at_rest(info: dict[str, Any]) -> bool:
    return info.get("status") == "green" and info.get("optimizer_status") == "ok"


def compact_folder(folder: Path) -> list[Compacted]:
    """Rewrite the folders of a local stack that does not run. Raises BadSettings where there are none, or where they are in use."""
    try:
        from factsieve.localstack.qdrant_engine import Engine, FolderInUse
    except ImportError as error:
        raise BadSettings(f"the local engine is not installed ({error}): pip install 'factsieve[local]'") from error

    if not (folder / "collections").is_dir():
        raise BadSettings(f"{folder} holds no collections: name the folder of a local stack with --state-dir")
    try:
        engine = Engine(folder)
    except FolderInUse as error:
        raise BadSettings(str(error)) from error
    try:
        return [Compacted(name, True, *engine.compact(name)) for name in engine.names()]
    finally:
        engine.close()
