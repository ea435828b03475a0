"""Embeddings from an endpoint that speaks the OpenAI API."""

import asyncio
import hashlib
import random
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from factsieve.adapters.call_limits import Sleep
from factsieve.adapters.onnx_session import well_formed
from factsieve.adapters.openai_endpoint import (
    PROVIDERS,
    Endpoint,
    Trouble,
    find_key,
    open_client,
    parse_judge_name,
    retry_delay_s,
    trouble_of,
)
from factsieve.core.errors import BadInput, BadSettings, Bug, Transient
from factsieve.ports import Coverage, Vector

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SERVICE: Final = "embeddings"
_PROBE: Final = "The deadline is 15 October."
_REFUSED: Final = frozenset({400, 413, 422})


class OpenAIEmbedder:
    """Embed through the official `openai` client (port `Embedder`).

    `name` is a model name as `parse_judge_name` takes it (`openai:text-embedding-3-small`, `ollama:nomic-embed-text`,
    `http://host/v1#model`), or a bare model name: OpenAI's own, or of the service at `base_url`. The dimension is asked for by
    `probe` (or `discover`, which blocks) before use, unless `dimension` tells it; `request_dimension` is sent along for models that
    shorten their vectors. Texts go in batches of `batch_size`, at most
    `concurrency` calls at once; failed calls are tried `retries` times more, then Transient is raised. Texts longer than `max_chars`
    are cut, and `coverage` says so: what else the model does not see of a text can not be told from here.

    Whether a vector depends on its batch is up to the service; each text's vector is asked for once and kept while the cache
    holds it. Raises BadSettings for a name that is not understood, a missing key or a missing library.
    """

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        model: str | None = None,
        dimension: int | None = None,
        request_dimension: int | None = None,
        timeout_s: float = 30.0,
        retries: int = 2,
        retry_delay_limit_s: float = 10.0,
        batch_size: int = 64,
        concurrency: int = 4,
        cache_size: int = 16_384,
        max_chars: int = 8_000,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if timeout_s <= 0 or batch_size < 1 or concurrency < 1 or max_chars < 1 or retries < 0 or cache_size < 0:
            raise BadSettings(
                f"embedder: timeout_s ({timeout_s}), batch_size ({batch_size}), concurrency ({concurrency}) and max_chars "
                f"({max_chars}) must be above 0, retries ({retries}) and cache_size ({cache_size}) not below"
            )
        self._endpoint = _endpoint(name, base_url)
        self._key = find_key(self._endpoint, api_key)
        self._name = model or self._endpoint.model
        self._dimension = dimension or request_dimension
        self._request_dimension = request_dimension
        self._timeout_s = timeout_s
        self._client = self._new_client()
        self._retries = retries
        self._delay_limit_s = retry_delay_limit_s
        self._batch_size = batch_size
        self._slots = asyncio.Semaphore(concurrency)
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self._cache_size = cache_size
        self._max_chars = max_chars
        self._sleep = sleep
        self._jitter = jitter
        self.computed_total = 0
        self.cached_total = 0

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._endpoint.name!r})"

    @property
    def model(self) -> str:
        """Return the model's name."""
        return self._name

    @property
    def dimension(self) -> int:
        """Return the length of a vector; raises Bug before `probe`."""
        if self._dimension is None:
            raise Bug("embedder: its dimension is not known before probe() was awaited")
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Return 12 hex digits over the model's name and the vectors' length: more of a remote model can not be seen."""
        parts = ("openai-embedder", 1, self._endpoint.model, self.dimension, self._max_chars, "l2")
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]

    async def probe(self) -> int:
        """Return the dimension, asked of the endpoint by embedding one sentence.

        Raises Transient where it does not answer, BadSettings where it answers in another dimension than the settings say.
        """
        (vector,) = await self._call([_PROBE], None)
        if self._dimension is not None and len(vector) != self._dimension:
            raise BadSettings(
                f"model {self._endpoint.name!r} gives vectors of {len(vector)} numbers, the settings say {self._dimension}"
            )
        self._dimension = len(vector)
        return self._dimension

    def discover(self) -> int:
        """Return the dimension as `probe` does, blocking: for use before an event loop runs, or inside one at start-up."""
        with ThreadPoolExecutor(1) as helper:
            return helper.submit(lambda: asyncio.run(self._discover())).result()

    async def _discover(self) -> int:
        # connections belong to the event loop that made them, and this one ends here
        lasting, self._client = self._client, self._new_client()
        try:
            return await self.probe()
        finally:
            await self._client.close()
            self._client = lasting

    def _new_client(self) -> "AsyncOpenAI":
        return open_client(self._endpoint, self._key, timeout_s=self._timeout_s)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order; equal texts share one (read-only) array.

        Raises Transient where the endpoint fails or answers nonsense, BadInput (`unprocessable`) for a text that it refuses.
        """
        vectors = {text: vector for text in dict.fromkeys(texts) if (vector := self._cached(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        batches = [missing[start : start + self._batch_size] for start in range(0, len(missing), self._batch_size)]
        self.cached_total += len(vectors)
        for batch, found in zip(batches, await _all(self._batch(batch) for batch in batches), strict=True):
            for text, vector in zip(batch, found, strict=True):
                vectors[text] = vector
                self.computed_total += 1
                self._remember(text, vector)
        return [vectors[text] for text in texts]

    def coverage(self, text: str) -> Coverage:
        """Return whether the text is cut; unknown tokens of a remote model can not be seen."""
        return Coverage(truncated=len(text) > self._max_chars, unknown_share=0.0)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _batch(self, texts: list[str]) -> list[Vector]:
        """Return the vectors of one batch; where the endpoint refuses it, it is halved until the text is found that is meant."""
        cut = [well_formed(text)[: self._max_chars] for text in texts]
        try:
            found = await self._call(cut, self._dimension)
        except _Refused as error:
            if len(texts) == 1:
                raise BadInput(
                    "unprocessable",
                    f"the embedding model {self._endpoint.model} refuses the text: {error}",
                    field="text",
                ) from error
            half = len(texts) // 2
            return [*await self._batch(texts[:half]), *await self._batch(texts[half:])]
        return found

    async def _call(self, texts: list[str], dimension: int | None) -> list[Vector]:
        """Return the endpoint's vectors, after as many tries as are allowed; raises Transient or _Refused."""
        tries = 0
        while True:
            async with self._slots:
                outcome = await self._try(texts)
            if not isinstance(outcome, Trouble):
                return _vectors(outcome, len(texts), dimension)
            if outcome.status in _REFUSED:
                raise _Refused(str(outcome))
            delay_s = (
                retry_delay_s(outcome, tries, self._delay_limit_s, self._jitter) if tries < self._retries else None
            )
            if delay_s is None:
                raise Transient(SERVICE, f"{self._endpoint.name}: {outcome}")
            tries += 1
            await self._sleep(delay_s)

    async def _try(self, texts: list[str]) -> Any:  # noqa: ANN401 - the library's response type, or Trouble
        request: dict[str, Any] = {"model": self._endpoint.model, "input": texts, "encoding_format": "float"}
        if self._request_dimension is not None:
            request["dimensions"] = self._request_dimension
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._client.embeddings.create(**request)
        except Exception as error:  # every error of the client, and of parsing what it got, becomes a value
            return trouble_of(error, self._key)

    def _cached(self, text: str) -> Vector | None:
        vector = self._cache.get(text)
        if vector is not None:
            self._cache.move_to_end(text)
        return vector

    def _remember(self, text: str, vector: Vector) -> None:
        self._cache[text] = vector
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)


def _endpoint(name: str, base_url: str | None) -> Endpoint:
    """Return where a model is served; a bare model name is that of the given address, or OpenAI's."""
    provider = name.partition(":")[0].lower()
    if provider in {"http", "https", *PROVIDERS}:
        return parse_judge_name(name, base_url=base_url)
    return parse_judge_name(f"openai:{name}" if base_url is None else f"{base_url}#{name}")


class _Refused(Exception):
    """The endpoint refuses this request, and would again."""


async def _all(calls: Iterable[Coroutine[Any, Any, list[Vector]]]) -> list[list[Vector]]:
    """Return the results of all calls; the first failure ends the others and is raised itself."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _vectors(response: Any, count: int, dimension: int | None) -> list[Vector]:  # noqa: ANN401 - the library's type, which a broken reply does not keep
    """Return a response's vectors in the order of the texts, of norm 1; raises Transient for anything that is no such thing."""
    try:
        data = sorted(response.data, key=lambda entry: entry.index)
        if [entry.index for entry in data] != list(range(count)):
            raise Transient(
                SERVICE, f"asked for {count} vectors, got the indices {[entry.index for entry in data][:8]}"
            )
        raw = [np.asarray(entry.embedding, dtype=np.float64) for entry in data]
    except (AttributeError, TypeError, ValueError) as error:
        raise Transient(SERVICE, f"a reply that holds no vectors: {type(error).__name__}") from error
    return [_normalised(vector, dimension) for vector in raw]


def _normalised(raw: NDArray[np.float64], dimension: int | None) -> Vector:
    if raw.ndim != 1 or raw.size == 0 or (dimension is not None and raw.size != dimension):
        raise Transient(SERVICE, f"a vector of shape {raw.shape}, wanted {dimension or 'some'} numbers")
    norm = float(np.linalg.norm(raw))
    if not np.isfinite(norm) or norm == 0.0:
        raise Transient(SERVICE, f"a vector of norm {norm}: not a number, infinite or zero")
    vector = (raw / norm).astype(np.float32)
    vector.setflags(write=False)
    return vector
