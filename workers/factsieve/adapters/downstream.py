"""Collections of the downstream RAG in Qdrant, read only and done without where they do not answer in time."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import structlog
from qdrant_client import AsyncQdrantClient

from factsieve.adapters.call_limits import Breaker
from factsieve.adapters.qdrant_tools import Body, Rest, matches
from factsieve.core.downstream import Foreign
from factsieve.core.errors import FactsieveError, Transient
from factsieve.core.facts import round_similarity
from factsieve.ports import Embedder, Look, Vector, Wanted

log = structlog.get_logger(__name__)

EVERYBODY: Final = "*"
_QUERIES_PER_REQUEST: Final = 256


class DownstreamCollection:
    """One collection. `embedder` makes vectors as they are there; with `same_embedder` those of our own are taken.

    `client` comes from `qdrant_tools.connect` and is closed with the collection. `text_key` may lead into objects by dots.
    `skip_threshold` None: the one that each statement brings. Above `max_unknown_share` of unknown tokens a vector is not trusted.
    """

    def __init__(
        self,
        name: str,
        client: AsyncQdrantClient,
        embedder: Embedder,
        *,
        collection: str,
        same_embedder: bool,
        text_key: str = "text",
        vector_name: str | None = None,
        namespace_key: str | None = None,
        namespaces: frozenset[str] = frozenset(),
        skip_threshold: float | None = None,
        hits: int = 4,
        timeout_s: float = 0.5,
        breaker_failures: int = 3,
        breaker_pause_s: float = 30.0,
        max_unknown_share: float = 0.3,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._client = client
        self._rest = Rest(client, collection)
        self._embedder = embedder
        self._same_embedder = same_embedder
        self._text_path = text_key.split(".")
        self._vector_name = vector_name
        self._namespace_key = namespace_key
        self._namespaces = namespaces
        self._skip_threshold = skip_threshold
        self._hits = hits
        self._timeout_s = timeout_s
        self._breaker = Breaker(breaker_failures, breaker_pause_s, monotonic)
        self._max_unknown_share = max_unknown_share
        self._is_checked = False

    def covers(self, namespace: str) -> bool:
        """Return whether it is asked for a namespace."""
        return not self._namespaces or EVERYBODY in self._namespaces or namespace in self._namespaces

    async def find(self, wanted: Sequence[Wanted]) -> list[list[Foreign]] | None:
        """Return for each statement the texts at or above its threshold, best first; None where there is no answer in time."""
        if not self._breaker.admits():
            return None
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await self._find(wanted)
        except (FactsieveError, TimeoutError) as error:
            self._breaker.failed()
            said = f"no answer within {self._timeout_s:g} s" if isinstance(error, TimeoutError) else str(error)
            log.warning("downstream_bypassed", collection=self.name, error=said, breaker=self._breaker.state)
            return None
        except Exception as error:  # whatever is wrong there, or with its embedder: nothing here is to stop for it
            self._breaker.failed()
            log.exception("downstream_failed", collection=self.name, error=repr(error), breaker=self._breaker.state)
            return None
        except BaseException:
            self._breaker.abandoned()
            raise
        self._breaker.succeeded()
        return found

    async def _find(self, wanted: Sequence[Wanted]) -> list[list[Foreign]]:
        if not self._is_checked:
            await self._check()
            self._is_checked = True
        vectors = await self._vectors(wanted)
        searches = [self._search(one, vector) for one, vector in zip(wanted, vectors, strict=True)]
        answers: list[Any] = []
        for start in range(0, len(searches), _QUERIES_PER_REQUEST):
            body: Body = {"searches": searches[start : start + _QUERIES_PER_REQUEST]}
            answers += await self._rest.call("POST", "/points/query/batch", body)
        try:
            return [self._foreign(one, answer["points"]) for one, answer in zip(wanted, answers, strict=True)]
        except (KeyError, TypeError, ValueError) as error:
            raise Transient("downstream", f"{self.name} answers what can not be read: {error!r}") from error

    async def _check(self) -> None:
        """Raise Transient where scores of this collection would mean something else than they have to."""
        info = await self._rest.call("GET", "")
        vectors = info["config"]["params"].get("vectors") or {}
        own = vectors if self._vector_name is None else vectors.get(self._vector_name)
        if not own or "size" not in own:
            raise Transient(
                "downstream", f"{self.name} has no vector {self._vector_name or '(unnamed)'}: set its vector_name"
            )
        if own["distance"] != "Cosine":
            raise Transient("downstream", f"{self.name} measures {own['distance']}, thresholds are of Cosine")
        if own["size"] != self._embedder.dimension:
            raise Transient(
                "downstream",
                f"{self.name} holds vectors of {own['size']} numbers, its embedder makes {self._embedder.dimension}: "
                "configure the embedder that it was made with",
            )

    async def _vectors(self, wanted: Sequence[Wanted]) -> list[Vector]:
        if self._same_embedder:
            return [one.vector for one in wanted]
        texts = list(dict.fromkeys(one.text for one in wanted))
        made = dict(zip(texts, await self._embedder.embed(texts), strict=True))
        return [made[one.text] for one in wanted]

    def _cut(self, wanted: Wanted) -> float:
        return wanted.skip_threshold if self._skip_threshold is None else self._skip_threshold

    def _search(self, wanted: Wanted, vector: Vector) -> Body:
        search: Body = {
            "query": vector,
            "limit": self._hits,
            "score_threshold": self._cut(wanted) - 1e-5,  # scores are rounded before they are compared
            "with_payload": [self._text_path[0]],
            "with_vector": False,
        }
        if self._vector_name is not None:
            search["using"] = self._vector_name
        if self._namespace_key is not None:
            search["filter"] = {"must": [matches(self._namespace_key, wanted.namespace)]}
        return search

    def _foreign(self, wanted: Wanted, points: Sequence[Body]) -> list[Foreign]:
        coverage = self._embedder.coverage(wanted.text)
        trusted = not coverage.truncated and coverage.unknown_share <= self._max_unknown_share
        cut = self._cut(wanted)
        found = []
        for point in points:
            text = self._text_of(point.get("payload"))
            similarity = round_similarity(float(point["score"]))
            if text is not None and similarity >= cut:
                found.append(Foreign(self.name, str(point["id"]), text, similarity, cut, trusted))
        return sorted(found, key=lambda hit: (-hit.similarity, hit.point_id))

    def _text_of(self, payload: object) -> str | None:
        value = payload
        for part in self._text_path:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, str) and value.strip() else None

    async def close(self) -> None:
        """Close the connections, and the model where it is its own."""
        await self._client.close()
        close = getattr(self._embedder, "close", None)
        if close is not None and not self._same_embedder:
            close()


class DownstreamCollections:
    """Several collections, asked at once (`ports.Downstream`)."""

    def __init__(self, collections: Sequence[DownstreamCollection]) -> None:
        self._collections = tuple(collections)

    def covers(self, namespace: str) -> bool:
        """Return whether any collection is for this namespace."""
        return any(one.covers(namespace) for one in self._collections)

    async def find(self, wanted: Sequence[Wanted]) -> list[Look]:
        """Return for each statement, in order, what is there, best first; collections that do not answer in time are named."""
        hits: list[list[Foreign]] = [[] for _ in wanted]
        missing: list[list[str]] = [[] for _ in wanted]

        async def ask(one: DownstreamCollection) -> None:
            numbers = [number for number, statement in enumerate(wanted) if one.covers(statement.namespace)]
            if not numbers:
                return
            found = await one.find([wanted[number] for number in numbers])
            for place, number in enumerate(numbers):
                if found is None:
                    missing[number].append(one.name)
                else:
                    hits[number] += found[place]

        async with asyncio.TaskGroup() as group:
            for one in self._collections:
                group.create_task(ask(one))
        return [
            Look(
                tuple(sorted(near, key=lambda hit: (-hit.similarity, hit.collection, hit.point_id))),
                tuple(sorted(gone)),
            )
            for near, gone in zip(hits, missing, strict=True)
        ]

    async def close(self) -> None:
        """Close all of them."""
        for one in self._collections:
            await one.close()
