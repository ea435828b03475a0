"""A file that keeps what local models computed, so that measuring again after a change of rules costs no model run.

Vectors and NLI scores are functions of the texts and of the model's fingerprint; both are in the key, so a file may be shared by runs and
can be deleted at any time. For measuring only: a worker keeps nothing outside its stores.
"""

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from factsieve.adapters.nli_model import PairScores
from factsieve.core.errors import BadSettings
from factsieve.ports import Coverage, Embedder, Vector

Pair = tuple[str, str]

_ASKED_AT_ONCE: Final = 500
_SCORES: Final = msgspec.msgpack.Decoder(PairScores)


class Keep:
    """The file (SQLite). May be used from several threads. Raises BadSettings where it can not be opened or is something else."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=60)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise BadSettings(f"the file of kept results {str(path)!r} can not be used: {error}") from error

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values that are there."""
        found: dict[bytes, bytes] = {}
        with self._lock:
            for start in range(0, len(keys), _ASKED_AT_ONCE):
                part = keys[start : start + _ASKED_AT_ONCE]
                marks = ",".join("?" * len(part))
                found.update(self._file.execute(f"SELECT key, value FROM kept WHERE key IN ({marks})", part))  # noqa: S608 - marks only
        return found

    def put(self, values: dict[bytes, bytes]) -> None:
        """Keep values; what is there already stays."""
        with self._lock:
            self._file.execute("BEGIN")
            self._file.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", values.items())
            self._file.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


class KeptEmbedder:
    """An embedder (`ports.Embedder`) that looks into the file first."""

    def __init__(self, inner: Embedder, keep: Keep) -> None:
        self._inner = inner
        self._keep = keep

    @property
    def model(self) -> str:
        """Return the model's name."""
        return self._inner.model

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        return self._inner.dimension

    @property
    def fingerprint(self) -> str:
        """Return the model's fingerprint."""
        return self._inner.fingerprint

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order."""
        keys = {text: _key("vector", self.fingerprint, text) for text in texts}
        found = self._keep.get(list(keys.values()))
        missing = [text for text, key in keys.items() if key not in found]
        if missing:
            made = await self._inner.embed(missing)
            fresh = {keys[text]: np.asarray(v, dtype="<f4").tobytes() for text, v in zip(missing, made, strict=True)}
            self._keep.put(fresh)
            found |= fresh
        vectors = {text: np.frombuffer(found[key], dtype="<f4") for text, key in keys.items()}
        return [vectors[text] for text in texts]

    def coverage(self, text: str) -> Coverage:
        """Return how much of the text the vector stands for."""
        return self._inner.coverage(text)

    def close(self) -> None:
        """Close the model."""
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()


def keeping_scores(
    keep: Keep, fingerprint: str, score: Callable[[Sequence[Pair]], list[PairScores]]
) -> Callable[[Sequence[Pair]], list[PairScores]]:
    """Return an NLI model's `score` that looks into the file first."""

    def kept(pairs: Sequence[Pair]) -> list[PairScores]:
        keys = {pair: _key("nli", fingerprint, *pair) for pair in pairs}
        found = keep.get(list(keys.values()))
        missing = [pair for pair, key in keys.items() if key not in found]
        if missing:
            fresh = {
                keys[pair]: msgspec.msgpack.encode(result) for pair, result in zip(missing, score(missing), strict=True)
            }
            keep.put(fresh)
            found |= fresh
        return [_SCORES.decode(found[keys[pair]]) for pair in pairs]

    return kept


def _key(kind: str, fingerprint: str, *texts: str) -> bytes:
    digest = hashlib.sha256()
    for part in (kind, fingerprint, *texts):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()
