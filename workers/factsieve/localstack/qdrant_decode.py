"""Decoding a request for the local Qdrant engine, and the verdict on what it does not honour.

Every body is decoded by the types of `qdrant_wire`, which refuse any field they do not know. What they refuse is shown to
qdrant-client's own models, which know the whole API: a body that they accept asks for something that Qdrant can do and this server
can not (501); any other body is wrong for Qdrant too (400). So a request is never read more leniently here than by Qdrant, and no
field is ever ignored.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, Generic, TypeVar

import msgspec
import orjson
from pydantic import TypeAdapter

from factsieve.localstack import qdrant_wire as wire

Body = TypeVar("Body")


class ApiError(Exception):
    """A request that is answered with an error: an HTTP status and Qdrant's wording where it has one."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def not_here(what: str) -> ApiError:
    """Return the error for what Qdrant can do and this server can not."""
    return ApiError(501, f"Not part of the local Qdrant engine: {what}. Use a Qdrant server for it")


CLIENT_MODELS: Final[dict[type, str]] = {
    wire.Upsert: "PointsList",
    wire.PointsSelector: "PointsSelector",
    wire.SetPayload: "SetPayload",
    wire.DeletePayload: "DeletePayload",
    wire.Batch: "UpdateOperations",
    wire.Retrieve: "PointRequest",
    wire.Query: "QueryRequest",
    wire.QueryBatch: "QueryRequestBatch",
    wire.Scroll: "ScrollRequest",
    wire.Count: "CountRequest",
    wire.CreateCollection: "CreateCollection",
    wire.UpdateCollection: "UpdateCollection",
    wire.CreateIndex: "CreateFieldIndex",
}
"""For each body, the name of the qdrant-client model (or union of models) that knows the whole of it."""


class Decoder(Generic[Body]):
    """Decodes one kind of body."""

    def __init__(self, kind: type[Body]) -> None:
        self._decode: Callable[[bytes], Body] = msgspec.json.Decoder(kind).decode
        self._kind = kind

    def __call__(self, raw: bytes) -> Body:
        """Decode `raw`. Raises ApiError: 400 for what Qdrant refuses, 501 for what only this server does."""
        try:
            return self._decode(raw)
        except msgspec.ValidationError as error:
            raise self._verdict(raw, str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ApiError(400, f"Format error in JSON body: {error}") from None

    def _verdict(self, raw: bytes, finding: str) -> ApiError:
        if "unknown field" in finding or _client_accepts(CLIENT_MODELS[self._kind], raw):
            return not_here(finding)
        return ApiError(400, f"Format error in JSON body: {finding}")


@cache
def _adapter(model: str) -> "TypeAdapter[Any]":
    from qdrant_client.http import models  # noqa: PLC0415 - takes a second to load, and only refused requests need it

    return TypeAdapter(getattr(models, model))


def _client_accepts(model: str, raw: bytes) -> bool:
    try:
        _adapter(model).validate_python(orjson.loads(raw))
    except ValueError:  # pydantic's ValidationError and orjson's JSONDecodeError both are
        return False
    return True


def decode_params(kind: type[Body], given: dict[str, str]) -> Body:
    """Decode query parameters. Raises ApiError: 400 for a bad value, 501 for a parameter that is not honoured."""
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        status = 501 if "unknown field" in str(error) else 400
        raise ApiError(status, f"Format error in query parameters: {error}") from None
