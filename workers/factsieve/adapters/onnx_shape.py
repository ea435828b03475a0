"""Freeing a length that an export froze: a model whose inputs say 160 tokens runs on 20 after it, many times faster.

Only what the file *says* of shapes is changed, in place and without an ONNX library: the fixed dimensions of the graph's inputs become
free ones, and the recorded shapes of inner values are put out of sight. Whether the graph itself really works at other lengths must
be tried afterwards. The field numbers are those of onnx.proto (ModelProto, GraphProto, ValueInfoProto, TypeProto).
"""

from collections.abc import Iterator
from typing import Final

from factsieve.core.errors import BadSettings

_LENGTH_DELIMITED: Final = 2
_MODEL_GRAPH: Final = 7
_GRAPH_INPUT: Final = 11
_GRAPH_VALUE_INFO: Final = 13
_GRAPH_RESERVED: Final = 6  # reserved in GraphProto: readers pass over it
_VALUE_TYPE: Final = 2
_TYPE_TENSOR: Final = 1
_TENSOR_SHAPE: Final = 2
_SHAPE_DIM: Final = 1
_DIM_VALUE: Final = 1
_DIM_PARAM: Final = 2

_FREE_NAME: Final = b"sequence"


def free_input_lengths(model: bytes) -> bytes:
    """Return the model with every fixed dimension of its inputs but the first (the batch) freed.

    Raises BadSettings for bytes that are no ONNX model.
    """
    patched = bytearray(model)
    for field, start, end, _ in _fields(model, 0, len(model)):
        if field != _MODEL_GRAPH:
            continue
        for inner, at, stop, tag_at in _fields(model, start, end):
            if inner == _GRAPH_INPUT:
                _free_dims(patched, model, at, stop)
            elif inner == _GRAPH_VALUE_INFO:
                patched[tag_at] = _GRAPH_RESERVED << 3 | _LENGTH_DELIMITED
    return bytes(patched)


def fixed_input_length(model: bytes) -> int | None:
    """Return the length that the model's inputs are fixed to, None where it is free; raises BadSettings as above."""
    for field, start, end, _ in _fields(model, 0, len(model)):
        if field != _MODEL_GRAPH:
            continue
        for inner, at, stop, _ in _fields(model, start, end):
            if inner != _GRAPH_INPUT:
                continue
            for dim_at, dim_stop in _dims(model, at, stop)[1:]:
                for name, value_at, _, _ in _fields(model, dim_at, dim_stop):
                    if name == _DIM_VALUE:
                        return _varint(model, value_at, dim_stop)[0]
    return None


def _dims(model: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the dimensions of an input (a ValueInfoProto) are described."""
    spans = [(start, end)]
    for step in (_VALUE_TYPE, _TYPE_TENSOR, _TENSOR_SHAPE, _SHAPE_DIM):
        spans = [(at, stop) for span in spans for field, at, stop, _ in _fields(model, *span) if field == step]
    return spans


def _free_dims(patched: bytearray, model: bytes, start: int, end: int) -> None:
    for at, stop in _dims(model, start, end)[1:]:
        if any(field == _DIM_VALUE for field, *_ in _fields(model, at, stop)):
            # the same number of bytes: a tag, a length, and as much of a name as there is room for
            room = stop - at - 2
            patched[at:stop] = bytes([_DIM_PARAM << 3 | _LENGTH_DELIMITED, room]) + _FREE_NAME[:room].ljust(room, b"_")


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (field number, start of content, end of content, position of the tag) of a protobuf message."""
    position = start
    while position < end:
        tag_at = position
        tag, position = _varint(data, position, end)
        kind = tag & 7
        if kind == _LENGTH_DELIMITED:
            length, position = _varint(data, position, end)
            content, position = position, position + length
        elif kind == 0:
            content = position
            _, position = _varint(data, position, end)
        elif kind in (1, 5):
            content, position = position, position + (8 if kind == 1 else 4)
        else:
            raise BadSettings(f"not an ONNX model: wire type {kind} at byte {tag_at}")
        if position > end:
            raise BadSettings(f"not an ONNX model: a field at byte {tag_at} ends beyond its message")
        yield tag >> 3, content, position, tag_at


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 64:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise BadSettings(f"not an ONNX model: a number without an end at byte {position}")
