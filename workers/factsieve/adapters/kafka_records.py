"""Reads records whose header names are not UTF-8, which Kafka allows and aiokafka 0.14 stops at.

One such record, from a C or Go client for example, would end every consumer of its partition again and again. Here its name is
read with U+FFFD for what is not UTF-8; values of headers, key and value are untouched.
"""
# ruff: noqa: ANN401 - aiokafka's records are untyped

import struct
from collections.abc import Iterator
from typing import Any, Final

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords

_LENGTH_AT: Final = (
    8  # a batch: base offset int64, length int32 of what follows (https://kafka.apache.org/documentation/#recordbatch)
)
_HEAD_BYTES: Final = 12
_MAGIC_AT: Final = 16
_MAGIC_V2: Final = 2


def accept_any_header_names() -> None:
    """Make all consumers of this process read such records. May be called again."""
    fetcher.MemoryRecords = ForgivingRecords


class ForgivingRecords:
    """What a fetch brought for one partition, batch by batch, as aiokafka's `MemoryRecords` gives it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._records = MemoryRecords(data)
        self._position = 0

    def size_in_bytes(self) -> int:
        """Return the size of all batches."""
        return int(self._records.size_in_bytes())

    def has_next(self) -> bool:
        """Return whether there is another whole batch."""
        return bool(self._records.has_next())

    def next_batch(self) -> Any:
        """Return the next batch, or None."""
        batch = self._records.next_batch()
        if batch is None:
            return None
        start = self._position
        (length,) = struct.unpack_from(">i", self._data, start + _LENGTH_AT)
        self._position = start + _HEAD_BYTES + length
        if self._data[start + _MAGIC_AT] != _MAGIC_V2:
            return batch  # older formats have no headers
        return _ForgivingBatch(batch, self._data, start, self._position)


class _ForgivingBatch:
    """One batch; read again with forgiveness from the record at which the ordinary way ends."""

    def __init__(self, batch: Any, data: bytes, start: int, end: int) -> None:
        self._batch = batch
        self._data = data
        self._bounds = start, end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        read = 0
        try:
            for record in self._batch:
                read += 1
                yield record
        except (UnicodeDecodeError, CorruptRecordException):
            pass
        else:
            return
        start, end = self._bounds
        again = _DefaultRecordBatchPy(self._data[start:end])
        again._maybe_uncompress()
        again._buffer = _Forgiving(again._buffer)
        for number, record in enumerate(again):
            if number >= read:
                yield record


class _Forgiving(bytearray):
    """Bytes whose slices decode as UTF-8 whatever they hold."""

    def __getitem__(self, index: Any) -> Any:
        part = super().__getitem__(index)
        return _Forgiving(part) if isinstance(index, slice) else part

    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:
        return super().decode(encoding, errors)
