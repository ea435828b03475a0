"""What every fact store refuses before it writes or asks: stores themselves take NaN and zero vectors without a word."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from factsieve.core.errors import Bug
from factsieve.ports import FactWrite, NeighbourQuery, Vector

UNIT_TOLERANCE: Final = 1e-3
"""How far an L2 norm may lie from 1: float32 rounding stays below 1e-6, int8 models normalise after dequantising."""


def checked_matrix(vectors: Sequence[Vector], dimension: int, names: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors as one float32 array of shape (n, dimension).

    Raises `Bug` for a vector of another size, with NaN or infinite parts, zero, or not of norm 1 (within 1e-3); `names` says whose it is.
    """
    for vector, name in zip(vectors, names, strict=True):
        if vector.shape != (dimension,):
            raise Bug(f"vector of {name} has shape {vector.shape}, expected ({dimension},)")
    if not vectors:
        return np.empty((0, dimension), dtype=np.float32)
    matrix = np.asarray(vectors, dtype=np.float32)
    norms = np.linalg.norm(matrix.astype(np.float64), axis=1)  # NaN and infinity survive into the norm
    wrong = np.flatnonzero(~(np.abs(norms - 1.0) <= UNIT_TOLERANCE))
    if wrong.size:
        first = int(wrong[0])
        raise Bug(
            f"vector of {names[first]} has L2 norm {norms[first]}, expected 1 (finite, not zero, normalised by the embedder)"
        )
    return matrix


def checked_writes(writes: Sequence[FactWrite], dimension: int) -> NDArray[np.float32]:
    """Return the vectors of the writes as one array.

    Raises `Bug` for a bad vector (see `checked_matrix`), a point written twice in one call, or a revision or version below 1.
    """
    seen: set[str] = set()
    for write in writes:
        fact = write.fact
        if fact.point_id in seen:
            raise Bug(f"point {fact.point_id} is written twice in one call")
        if fact.version < 1 or fact.revision < 1:
            raise Bug(
                f"point {fact.point_id} has version {fact.version} and revision {fact.revision}, both count from 1"
            )
        seen.add(fact.point_id)
    return checked_matrix([write.vector for write in writes], dimension, [write.fact.point_id for write in writes])


def checked_queries(queries: Sequence[NeighbourQuery], dimension: int) -> NDArray[np.float32]:
    """Return the vectors of the queries as one array. Raises `Bug` for a bad vector or a limit below 1."""
    for query in queries:
        if query.limit < 1:
            raise Bug(f"a neighbour query for {query.limit} facts asks for nothing, expected at least 1")
    return checked_matrix([query.vector for query in queries], dimension, ["a neighbour query"] * len(queries))
