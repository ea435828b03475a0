"""What an export is: lines of JSON, the first about all of it, the last to check it by.

`header`: format version, when and with which embedder it was made, of which namespace (null: all), and where `fact-decisions` stood at its
start, so that a rebuild knows what to read on. `record`: one ledger record, its body exactly as stored. `fact`: one point, with its
vector (base64 of little-endian float32) unless that can be made again. `end`: how many there were, and the SHA-256 of all bytes before.
"""

import base64
import gzip
import hashlib
import io
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any, Final

import msgspec
import numpy as np

from factsieve.core.errors import BadSettings
from factsieve.core.facts import Fact
from factsieve.ports import Vector

FORMAT: Final = "factsieve-export"
VERSION: Final = 1
_GZIP_MAGIC: Final = b"\x1f\x8b"
_LINE_LIMIT_BYTES: Final = 64 << 20


class EmbedderName(msgspec.Struct, frozen=True):
    """Which model made the vectors."""

    model: str
    dimension: int
    fingerprint: str


class Header(msgspec.Struct, frozen=True, kw_only=True, tag="header", tag_field="kind"):
    """The first line. `positions`: the offset that `fact-decisions` would have got next, by partition (as text), at the start."""

    format: str = FORMAT
    version: int = VERSION
    created_at: datetime
    factsieve: str
    embedder: EmbedderName
    namespace: str | None
    topic: str
    positions: dict[str, int]


class RecordLine(msgspec.Struct, frozen=True, tag="record", tag_field="kind"):
    """A ledger record: its id, what the ledger indexes of it, and its body."""

    record_id: str
    fields: dict[str, Any]
    body: msgspec.Raw


class FactLine(msgspec.Struct, frozen=True, tag="fact", tag_field="kind", omit_defaults=True):
    """A point; `vector` is left out where the embedder makes it again."""

    fact: Fact
    vector: str | None = None


class End(msgspec.Struct, frozen=True, tag="end", tag_field="kind"):
    """The last line."""

    records: int
    facts: int
    sha256: str


Line = Header | RecordLine | FactLine | End
_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Line)


def vector_text(vector: Vector) -> str:
    """Return a vector as text."""
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


def vector_of(text: str, dimension: int) -> Vector:
    """Return the vector of a text. Raises BadSettings where it is none of this size."""
    try:
        vector = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float32)
    except ValueError as error:
        raise BadSettings(f"the export holds something that is no vector ({error}): make a new export") from error
    if vector.shape != (dimension,):
        raise BadSettings(f"the export holds a vector of {vector.size} numbers where its header says {dimension}")
    return vector


class Writer:
    """Writes an export into an open file, line by line; `finish` writes the last one."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._sha = hashlib.sha256()
        self.records = 0
        self.facts = 0

    def write(self, line: Header | RecordLine | FactLine) -> None:
        """Write a line."""
        self.records += isinstance(line, RecordLine)
        self.facts += isinstance(line, FactLine)
        content = _ENCODER.encode(line) + b"\n"
        self._sha.update(content)
        self._stream.write(content)

    def finish(self) -> End:
        """Write the last line and return it."""
        end = End(self.records, self.facts, self._sha.hexdigest())
        self._stream.write(_ENCODER.encode(end) + b"\n")
        self._stream.flush()
        return end


def plain(stream: IO[bytes]) -> IO[bytes]:
    """Return a seekable stream from its start, unpacked if it is packed with gzip."""
    stream.seek(0)
    packed = stream.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    stream.seek(0)
    return io.BufferedReader(gzip.GzipFile(fileobj=stream)) if packed else stream


def lines(stream: IO[bytes], name: str) -> Iterator[Line]:
    """Yield the lines of an export, checked as they come; the last is an `End` that fits all before it.

    Raises BadSettings where it is no export, is of a newer version, was cut or was changed.
    """
    sha = hashlib.sha256()
    counts = {RecordLine: 0, FactLine: 0}
    number = 0
    try:
        while content := plain_line(stream, name):
            number += 1
            line = _decoded(content, name, number)
            if (number == 1) is not isinstance(line, Header):
                raise BadSettings(
                    f"{name}: line {number} is not where it belongs: it is no export, or was put together by hand"
                )
            if isinstance(line, Header):
                _check_header(line, name)
            if isinstance(line, End):
                if (line.records, line.facts) != (
                    counts[RecordLine],
                    counts[FactLine],
                ) or line.sha256 != sha.hexdigest():
                    raise BadSettings(f"{name} is damaged: its checksum does not fit; take another export")
                if stream.read(1):
                    raise BadSettings(f"{name} goes on behind its last line: it is not one export")
                yield line
                return
            if type(line) in counts:
                counts[type(line)] += 1
            sha.update(content)
            yield line
    except (OSError, EOFError) as error:  # gzip says so of a file that was cut
        raise BadSettings(f"{name} can not be read: {error}") from error
    raise BadSettings(f"{name} was cut: it has no last line; take another export" if number else f"{name} is empty")


def plain_line(stream: IO[bytes], name: str) -> bytes:
    """Return the next line, of bounded length."""
    content = stream.readline(_LINE_LIMIT_BYTES)
    if len(content) == _LINE_LIMIT_BYTES:
        raise BadSettings(f"{name}: a line has more than {_LINE_LIMIT_BYTES} bytes: it is no export")
    return content


def _decoded(content: bytes, name: str, number: int) -> Line:
    try:
        return _DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"{name}: line {number} is no line of an export ({error})") from error


def _check_header(header: Header, name: str) -> None:
    if header.format != FORMAT:
        raise BadSettings(f"{name} is a {header.format!r}, not a {FORMAT!r}")
    if header.version > VERSION:
        raise BadSettings(
            f"{name} has format version {header.version}, this factsieve reads up to {VERSION}: upgrade it"
        )
