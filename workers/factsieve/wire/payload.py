"""The parts of a candidate that are carried, not read: its vector and its attributes."""

from collections.abc import Mapping
from typing import Any, Final, NoReturn

import msgspec
import numpy as np

from factsieve.core.errors import BadInput
from factsieve.wire.document import describe, string_of
from factsieve.wire.topics import Limits

_MAX_INTEGER: Final = 2**63 - 1


def embedding_of(document: Mapping[str, Any], limits: Limits) -> tuple[tuple[float, ...] | None, str | None]:
    """Return the vector where it is of the configured model, and the model's name where there is a vector at all.

    A vector whose model is not named can not be trusted and is left out too, but must be one that the configured model could make.
    """
    vector, model = document.get("embedding"), string_of(document, "embedding_model")
    if vector is None:
        return None, None
    if not isinstance(vector, list):
        raise BadInput("wrong_type", f"embedding is a {describe(vector)}: send a list of numbers", field="embedding")
    if limits.embedding_model is None or model not in (None, limits.embedding_model):
        return None, model or ""
    _check_vector(vector, limits.embedding_dimension)
    if model is None:
        return None, ""
    return tuple(map(float, vector)), model


def _check_vector(vector: list[Any], dimension: int | None) -> None:
    if not set(map(type, vector)) <= {float, int}:
        index = next(i for i, item in enumerate(vector) if type(item) not in (float, int))
        _bad_embedding(f"embedding[{index}] is a {describe(vector[index])}: send numbers")
    if not vector or (dimension is not None and len(vector) != dimension):
        _bad_embedding(f"embedding has {len(vector)} numbers, the configured model makes {dimension}")
    with np.errstate(over="ignore", under="ignore"):
        try:
            single = np.array(vector, dtype=np.float64).astype(np.float32)
        except OverflowError:
            _bad_embedding("embedding holds an integer that no double can hold: send finite numbers")
    if not np.isfinite(single).all():
        _bad_embedding("embedding holds a number that is not finite in 32 bits: send finite numbers")
    if not single.any():
        _bad_embedding("embedding is all zero, which has no direction: send the model's own vector")


def _bad_embedding(message: str) -> NoReturn:
    raise BadInput("bad_embedding", message, field="embedding")


def attributes_of(document: Mapping[str, Any], limits: Limits) -> dict[str, Any] | None:
    """Return the attributes where they can be stored and passed through unchanged. Raises BadInput."""
    attributes = document.get("attributes")
    if attributes is None:
        return None
    if not isinstance(attributes, dict):
        raise BadInput("wrong_type", f"attributes is a {describe(attributes)}: send an object", field="attributes")
    _check_storable(attributes)
    size = len(msgspec.json.encode(attributes))
    if size > limits.max_attributes_bytes:
        raise BadInput(
            "attributes_too_large",
            f"attributes take {size} bytes, at most {limits.max_attributes_bytes} are taken: send a reference instead",
            field="attributes",
        )
    return attributes


def _check_storable(node: object) -> None:
    """Refuse integers that a store would round."""
    if isinstance(node, dict):
        for item in node.values():
            _check_storable(item)
    elif isinstance(node, list):
        for item in node:
            _check_storable(item)
    elif isinstance(node, int) and not -_MAX_INTEGER - 1 <= node <= _MAX_INTEGER:
        raise BadInput(
            "wrong_type", f"attributes hold {describe(node)}, beyond 64 bits: send it as a string", field="attributes"
        )
