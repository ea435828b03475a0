"""`export` and `import`: everything that is stored, into a file and back, or into other stores."""

import contextlib
import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

import msgspec

from factsieve import __version__
from factsieve.core.decision import Erasure
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Status
from factsieve.operations.export_format import (
    EmbedderName,
    End,
    FactLine,
    Header,
    Line,
    RecordLine,
    Writer,
    lines,
    plain,
    vector_of,
    vector_text,
)
from factsieve.operations.refill import Filled, Refill, Stores
from factsieve.ports import Vector

if TYPE_CHECKING:
    from factsieve.ports import Embedder

STANDARD_STREAM: Final = Path("-")
_FACTS_AT_ONCE: Final = 256
_RECORDS_AT_ONCE: Final = 16
_SPOOL_BYTES: Final = 16 << 20
OnSteps = Callable[[int], None]


def name_of(embedder: "Embedder") -> EmbedderName:
    """Return which model an embedder is."""
    return EmbedderName(embedder.model, embedder.dimension, embedder.fingerprint)


async def export(
    stores: Stores,
    writer: Writer,
    *,
    topic: str,
    positions: Mapping[int, int],
    namespace: str | None = None,
    with_vectors: bool = True,
    on_steps: OnSteps = lambda _count: None,
) -> End:
    """Write an export of one namespace or of all, and return its last line.

    `positions` is where `topic` (`fact-decisions`) stood before anything is read here: what is decided meanwhile is in the export or is
    told after them, and most of it is both. Without vectors only those are kept that came along with a candidate. Raises Transient.
    """
    header = Header(
        created_at=datetime.now(UTC),
        factsieve=__version__,
        embedder=name_of(stores.embedder),
        namespace=namespace,
        topic=topic,
        positions={str(number): offset for number, offset in sorted(positions.items())},
    )
    writer.write(header)
    async for records in stores.ledger.pages(namespace):
        for record_id, body, fields in records:
            writer.write(RecordLine(record_id, dict(fields), msgspec.Raw(body)))
        on_steps(len(records))
    async for points in stores.facts.pages(namespace):
        for fact, vector in points:
            keep = with_vectors or fact.embedded
            text = vector_text(vector) if keep and fact.status is not Status.ERASED else None
            writer.write(FactLine(fact, text))
        on_steps(len(points))
    return writer.finish()


def check_embedder(header: Header, embedder: "Embedder", *, re_embed: bool) -> None:
    """Raise BadSettings where an export holds vectors of another model than the configured one, unless they are made anew."""
    ours, theirs = name_of(embedder), header.embedder
    if ours != theirs and not re_embed:
        raise BadSettings(
            f"the export was made with the embedder {theirs.model} ({theirs.dimension} numbers, {theirs.fingerprint}), configured is "
            f"{ours.model} ({ours.dimension} numbers, {ours.fingerprint}): configure that one, or make all vectors anew with --re-embed"
        )


async def import_lines(
    stores: Stores,
    given: Iterable[Line],
    *,
    re_embed: bool = False,
    namespace: str | None = None,
    erasures: Mapping[str, Erasure] | None = None,
    on_steps: OnSteps = lambda _count: None,
) -> tuple[Header, Filled]:
    """Write what an export holds into stores, of one namespace or of all; return its header and what was done.

    What is there already, at the same version or a later one, stays: an import may be repeated, and never brings back what was erased in
    these stores. `erasures`, by namespace: what is left out besides. Raises BadSettings for another embedder or a damaged export,
    Transient.
    """
    header: Header | None = None
    refill = Refill(stores, erasures, re_embed=re_embed)
    facts: list[FactLine] = []
    records: list[RecordLine] = []

    async def flush(most_facts: int, most_records: int) -> None:
        if header is not None and len(facts) > most_facts:
            await refill.put([line.fact for line in facts], _vectors_of(facts, header, re_embed=re_embed))
            on_steps(len(facts))
            facts.clear()
        if len(records) > most_records:
            await refill.put_records([(line.record_id, bytes(line.body), line.fields) for line in records])
            on_steps(len(records))
            records.clear()

    for line in given:
        match line:
            case Header():
                header = line
                check_embedder(header, stores.embedder, re_embed=re_embed)
            case FactLine() if namespace in (None, line.fact.namespace):
                facts.append(line)
            case RecordLine() if namespace in (None, line.fields.get("namespace")):
                records.append(msgspec.structs.replace(line, body=line.body.copy()))
        await flush(_FACTS_AT_ONCE, _RECORDS_AT_ONCE)
    await flush(0, 0)
    if header is None:
        raise BadSettings("the export is empty")
    return header, refill.filled


def _vectors_of(given: Iterable[FactLine], header: Header, *, re_embed: bool) -> dict[str, Vector]:
    if re_embed:
        return {}
    size = header.embedder.dimension
    return {line.fact.point_id: vector_of(line.vector, size) for line in given if line.vector is not None}


# Files


@contextlib.contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """Open a new export for writing: a file that takes its name when it is whole, readable for its owner only; `-` is standard output.

    Packed with gzip where the name ends in `.gz`. Raises BadSettings where it can not be written.
    """
    if path == STANDARD_STREAM:
        yield sys.stdout.buffer
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as raw:
                if path.suffix == ".gz":
                    with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6) as packed:
                        yield cast(IO[bytes], packed)
                else:
                    yield raw
                raw.flush()
                os.fsync(raw.fileno())
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise BadSettings(f"{path} can not be written: {error.strerror or error}") from error


class Export:
    """An export that is there to be read: checked whole when it was opened, and then readable any number of times."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream = stream
        self._name = name
        self.header, self.end = self._check()

    def _check(self) -> tuple[Header, End]:
        header: Header | None = None
        for line in self.lines():
            if isinstance(line, Header):
                header = line
            elif isinstance(line, End) and header is not None:
                return header, line
        raise BadSettings(f"{self._name} is no export")

    def lines(self) -> Iterator[Line]:
        """Return its lines from the start."""
        return lines(plain(self._stream), self._name)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Export]:
    """Open an export and check all of it before anything is done with it; `-` is standard input. Raises BadSettings."""
    if path == STANDARD_STREAM:
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool)
            yield Export(cast(IO[bytes], spool), "standard input")
        return
    try:
        with path.open("rb") as stream:
            yield Export(stream, str(path))
    except OSError as error:
        raise BadSettings(f"{path} can not be read: {error.strerror or error}") from error


__all__ = ["Export", "check_embedder", "export", "import_lines", "name_of", "opened", "written"]
