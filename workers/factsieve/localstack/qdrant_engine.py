"""All collections of the local Qdrant engine: one folder each, under one folder that one process has open at a time."""

import fcntl
import os
import re
import shutil
from pathlib import Path
from typing import IO, Final
from urllib.parse import quote, unquote

from factsieve.core.errors import FactsieveError
from factsieve.localstack import qdrant_wire as wire
from factsieve.localstack.qdrant_collection import CONFIG_FILE, Collection
from factsieve.localstack.qdrant_decode import ApiError

LONGEST_NAME: Final = 255
COPY: Final = "!copy"
"""Ends the name of a folder that is to replace another one; no collection's folder has an exclamation mark in its name."""

_BAD_NAME: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


class FolderInUse(FactsieveError):
    """Another process has the folder open."""


class Engine:
    """The collections under `folder`, which is made if absent and locked while open.

    Raises:
        FolderInUse: another process has the folder open; the message names its process id.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder / "collections"
        self._root.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(folder / "lock")
        self._collections: dict[str, Collection] = {}
        for copy in sorted(self._root.glob(f"*{COPY}")):
            self._finish(copy)
        for place in sorted(self._root.iterdir()):
            if (place / CONFIG_FILE).exists():
                self._collections[unquote(place.name)] = Collection.open(place)
            else:  # a creation or a deletion was interrupted here
                shutil.rmtree(place)

    def collection(self, name: str) -> Collection:
        """Return a collection. Raises ApiError (404) if there is none of this name."""
        try:
            return self._collections[name]
        except KeyError:
            raise ApiError(404, f"Not found: Collection `{name}` doesn't exist!") from None

    def names(self) -> list[str]:
        """Return the names of all collections."""
        return sorted(self._collections)

    def __contains__(self, name: str) -> bool:
        return name in self._collections

    def create(self, name: str, config: wire.CreateCollection) -> None:
        """Create a collection. Raises ApiError: 409 if it exists, 422 for a name that Qdrant refuses, others for the configuration."""
        if name in self._collections:
            raise ApiError(409, f"Wrong input: Collection `{name}` already exists!")
        place = self._root / quote(name, safe="")
        if not name or name in {".", ".."} or _BAD_NAME.search(name) or len(place.name) > LONGEST_NAME:
            raise ApiError(422, f"Validation error in path: [collection_name: {name!r} is no valid name]")
        self._collections[name] = Collection.create(place, config)

    def delete(self, name: str) -> bool:
        """Delete a collection and tell whether it was there."""
        found = self._collections.pop(name, None)
        if found is None:
            return False
        place = self._root / quote(name, safe="")
        (place / CONFIG_FILE).unlink()  # from here on the folder is no collection, also if the rest is interrupted
        found.close()
        shutil.rmtree(place)
        return True

    def compact(self, name: str) -> tuple[int, int]:
        """Rewrite a collection's folder without what was overwritten or deleted; return its bytes before and after.

        Whenever this is interrupted, the collection is whole when the folder is opened again. Raises ApiError (404).
        """
        old = self.collection(name)
        place = self._root / quote(name, safe="")
        before = _size(place)
        copy = place.with_name(place.name + COPY)
        old.copy_to(copy)
        del self._collections[name]
        old.close()
        self._finish(copy)
        self._collections[name] = Collection.open(place)
        return before, _size(place)

    @staticmethod
    def _finish(copy: Path) -> None:
        """Put a complete copy in the place of what it was copied from; remove one that is not complete."""
        if not (copy / CONFIG_FILE).exists():
            shutil.rmtree(copy)
            return
        place = copy.with_name(copy.name.removesuffix(COPY))
        if place.exists():
            shutil.rmtree(place)
        copy.rename(place)

    def flush(self) -> None:
        """Flush every collection that changed."""
        for one in self._collections.values():
            one.flush()

    def close(self) -> None:
        """Flush and close everything, and give the folder free."""
        while self._collections:
            self._collections.popitem()[1].close()
        self._lock.close()


def _size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def _lock(path: Path) -> IO[str]:
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        owner = file.read().strip() or "unknown"
        file.close()
        raise FolderInUse(
            f"{path.parent} is open in another process (process id {owner}): stop that one, or give another folder"
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file
