"""What every adapter over Qdrant shares: the client, one border for its errors, the server's version, collections and pages.

Requests go through qdrant-client (its address, authentication, connections and errors), but as bytes made by orjson and answered
as plain values: its models check every number of every vector, which costs 20 times as much. A batch of 128 neighbour queries of
384 numbers takes 41 ms of client time with the models and 2.4 ms without, 128 upserts 20 ms and 1.9 ms.
"""

import math
import re
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast
from urllib.parse import quote, urlencode, urlsplit
from weakref import WeakKeyDictionary

import httpx
import msgspec
import orjson
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from factsieve.adapters.http_exchange import Exchange, ExchangeTransport, Timeouts, goes_through_proxy
from factsieve.adapters.tls import TlsFiles, client_context, explain_tls, speaks_tls, ssl_error_in
from factsieve.core.errors import BadSettings, Bug, Transient

SERVICE: Final = "qdrant"
OLDEST_SERVER: Final = (1, 17)
"""`update_mode` and `update_filter`, on which every write rests, came with 1.17."""
SAFE_SERVER: Final = (1, 19)
"""Servers before 1.19 can lose acknowledged writes when they are restarted."""
PAGE_SIZE: Final = 1000
_KEEPALIVE_S: Final = 30.0
Body = dict[str, Any]
_JSON: Final = {"content-type": "application/json"}
_AGAIN: Final = frozenset({401, 403, 404, 408, 409, 425, 429})
"""Answers that an operator can mend while the process waits (keys, a collection that is being restored), or that pass by themselves."""


def connect(
    url: str,
    *,
    api_key: str | None = None,
    ca_file: str | None = None,
    timeout_s: float = 10.0,
    max_connections: int = 16,
) -> AsyncQdrantClient:
    """Return a client for the server at `url`; `timeout_s` bounds each request (whole seconds, rounded up).

    `ca_file` (PEM) replaces the system's authorities for https. Raises `BadSettings` for an unusable URL or file.
    """
    more: dict[str, Any] = {}
    context = None if ca_file is None else client_context(TlsFiles(ca=ca_file), SERVICE)
    if context is not None:
        more["verify"] = context
    exchange = None
    if goes_through_proxy(url):
        more["limits"] = httpx.Limits(
            max_connections=max_connections,
            max_keepalive_connections=max_connections,
            keepalive_expiry=_KEEPALIVE_S,
        )
    else:
        exchange = Exchange(context=context, max_connections=max_connections, keepalive_s=_KEEPALIVE_S)
        more["transport"] = ExchangeTransport(exchange)
    try:
        with warnings.catch_warnings():  # a key over http is warned of in our own words (`assembly.exposure`)
            warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
            client = AsyncQdrantClient(
                url=url,
                api_key=api_key,
                timeout=cast(int, timeout_s),
                check_compatibility=False,  # `check_server` does it, and waits for the answer
                **more,
            )
    except (ValueError, httpx.InvalidURL) as error:
        raise BadSettings(f"qdrant url {url!r} is not usable ({error}): write it as http://host:6333") from error
    if exchange is not None:
        headers = _JSON if api_key is None else {**_JSON, "api-key": api_key}
        _short_ways[client] = _ShortWay(exchange, client.http.client.host.rstrip("/"), headers, math.ceil(timeout_s))
    return client


@contextmanager
def border() -> Iterator[None]:
    """Turn every error of the vendor into one of ours: out of reach is `Transient`, a refused request is a `Bug`."""
    try:
        yield
    except UnexpectedResponse as error:
        status = error.status_code or 0
        text = f"HTTP {status}: {_reason(error)}"
        if status >= 500 and status != 501:
            raise Transient(SERVICE, text) from error
        if status in _AGAIN:
            raise Transient(SERVICE, text) from error
        raise Bug(f"{SERVICE}: a request was refused, {text}") from error
    except ResourceExhaustedResponse as error:
        raise Transient(SERVICE, f"rate limited: {error}") from error
    except ResponseHandlingException as error:
        source = error.source
        if isinstance(source, httpx.HTTPError | OSError):
            raise Transient(SERVICE, f"{type(source).__name__}: {source}") from error
        raise Bug(f"{SERVICE}: {type(source).__name__}: {source}") from error
    except ValueError as error:  # from the JSON parser
        raise Transient(SERVICE, f"the answer is not JSON ({error}): is there a proxy in between?") from error


def _reason(error: UnexpectedResponse) -> str:
    try:
        status = orjson.loads(error.content)["status"]
        return str(status["error"] if isinstance(status, dict) else status)
    except (ValueError, KeyError, TypeError):
        return error.content[:200].decode(errors="replace") or error.reason_phrase


class _ShortWay:
    """A client's own requests without what httpx does around each: its URL, headers, cookies and hooks, a fifth of the time of a check.

    No value with fields that are shown: its headers hold the key.
    """

    def __init__(self, exchange: Exchange, host: str, headers: Mapping[str, str], timeout_s: float) -> None:
        self._exchange = exchange
        self._host = host
        self._headers = headers
        self._timeouts = Timeouts(total=timeout_s)

    async def ask(self, method: str, path: str, params: Mapping[str, Any], content: bytes | None) -> Any:  # noqa: ANN401
        """Return the answer's JSON. Raises what qdrant-client raises."""
        url = f"{self._host}{path}?{urlencode(params)}" if params else f"{self._host}{path}"
        try:
            answer = await self._exchange.ask(method, url, self._headers, content, self._timeouts)
        except httpx.HTTPError as error:
            raise ResponseHandlingException(error) from error
        if answer.status in _TAKEN:
            return orjson.loads(answer.body)
        headers = httpx.Headers(answer.headers)
        raise UnexpectedResponse(answer.status, answer.reason, answer.body, headers)


_TAKEN: Final = frozenset({200, 201, 202})
_short_ways: "WeakKeyDictionary[AsyncQdrantClient, _ShortWay]" = WeakKeyDictionary()


class Rest:
    """Requests on one collection (or on the server, where `collection` is empty)."""

    def __init__(self, client: AsyncQdrantClient, collection: str = "") -> None:
        self._client = client
        self.collection = collection

    async def call(
        self, method: str, path: str, body: Body | None = None, params: Mapping[str, Any] | None = None
    ) -> Any:  # noqa: ANN401 - the callers know the shape of the answer they asked for
        """Send a request and return the `result` of the answer. `path` follows `/collections/{collection}`.

        numpy arrays and datetimes in `body` are written as JSON lists and RFC 3339. Raises `Transient`, `Bug`.
        """
        answer = await self.raw(method, "/collections/{collection_name}" + path, body, params)
        try:
            return answer["result"]
        except (KeyError, TypeError) as error:
            raise Transient(SERVICE, f"the answer to {method} {path} has no result") from error

    async def raw(
        self, method: str, url: str, body: Body | None = None, params: Mapping[str, Any] | None = None
    ) -> Any:  # noqa: ANN401 - the callers know the shape of the answer they asked for
        """Send a request to any URL of the server and return the whole answer."""
        content = None if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        given = {key: value for key, value in (params or {}).items() if value is not None}
        short = _short_ways.get(self._client)
        with border():
            if short is not None:
                return await short.ask(
                    method, url.format(collection_name=quote(self.collection, safe="")), given, content
                )
            return await self._client.http.client.request(
                type_=cast(type[Any], Any),  # parsed as JSON and left as it is
                method=method,
                url=url,
                path_params={"collection_name": self.collection},
                params=given,
                content=content,
                headers=_JSON if content is not None else None,
            )

    async def update(self, operations: Sequence[Body], *, ordering: str | None = None) -> None:
        """Perform update operations in order, in one request. Raises `Transient` unless all of them are completed."""
        params = {"wait": "true", "ordering": ordering}
        results = await self.call("POST", "/points/batch", {"operations": list(operations)}, params)
        statuses = [result.get("status") for result in results]
        if len(statuses) != len(operations) or any(status != "completed" for status in statuses):
            raise Transient(SERVICE, f"writes to {self.collection} were not completed: {statuses}")

    async def retrieve(
        self, ids: Sequence[str], fields: bool | Sequence[str], *, consistency: str | int | None = None
    ) -> dict[str, Body]:
        """Return the payloads (all of them, or the named fields) of the points that exist."""
        found: dict[str, Body] = {}
        for start in range(0, len(ids), PAGE_SIZE):
            body: Body = {
                "ids": list(ids[start : start + PAGE_SIZE]),
                "with_payload": _selector(fields),
                "with_vector": False,
            }
            for point in await self.call("POST", "/points", body, {"consistency": consistency}):
                found[point["id"]] = point.get("payload") or {}
        return found

    async def scroll(
        self, condition: Body, fields: bool | Sequence[str] = True, *, consistency: str | int | None = None
    ) -> AsyncIterator[list[Body]]:
        """Yield pages of payloads of all points under a filter, in order of point id."""
        body: Body = {"filter": condition, "limit": PAGE_SIZE, "with_payload": _selector(fields), "with_vector": False}
        async for points in self._pages(body, consistency):
            yield [point["payload"] for point in points]

    async def points(
        self, condition: Body, limit: int, *, with_vector: bool, consistency: str | int | None = None
    ) -> AsyncIterator[list[Body]]:
        """Yield pages of at most `limit` whole points under a filter (`id`, `payload`, `vector`), in order of point id."""
        body: Body = {"filter": condition, "limit": limit, "with_payload": True, "with_vector": with_vector}
        async for points in self._pages(body, consistency):
            yield points

    async def _pages(self, body: Body, consistency: str | int | None) -> AsyncIterator[list[Body]]:
        while True:
            page = await self.call("POST", "/points/scroll", body, {"consistency": consistency})
            yield page["points"]
            if page.get("next_page_offset") is None:
                return
            body = {**body, "offset": page["next_page_offset"]}

    async def count(self, condition: Body) -> int:
        """Return how many points there are under a filter."""
        answer = await self.call("POST", "/points/count", {"filter": condition, "exact": True})
        return int(answer["count"])

    async def ordered(
        self, condition: Body, key: str, limit: int, *, latest: bool, consistency: str | int | None = None
    ) -> list[Body]:
        """Return the payloads of the first (or the latest) `limit` points by an indexed field."""
        order = {"key": key, "direction": "desc" if latest else "asc"}
        body: Body = {
            "filter": condition,
            "limit": limit,
            "order_by": order,
            "with_payload": True,
            "with_vector": False,
        }
        page = await self.call("POST", "/points/scroll", body, {"consistency": consistency})
        return [point["payload"] for point in page["points"]]


def _selector(fields: bool | Sequence[str]) -> bool | list[str]:
    return fields if isinstance(fields, bool) else list(fields)


def matches(key: str, value: str | bool) -> Body:
    """Return the condition that a field has this value."""
    return {"key": key, "match": {"value": value}}


def matches_any(key: str, values: Sequence[str]) -> Body:
    """Return the condition that a field has one of these values."""
    return matches(key, values[0]) if len(values) == 1 else {"key": key, "match": {"any": list(values)}}


class CollectionPlan(msgspec.Struct, frozen=True):
    """A collection as it has to be. `dimension` None: without vectors. `indexes`: field -> type, or whole parameters.

    `identity` is kept in the collection's metadata under `factsieve` and has to be the same ever after.
    """

    name: str
    dimension: int | None
    indexes: Mapping[str, str | Body]
    identity: Mapping[str, object]
    settings: Mapping[str, object] = {}


def collection_name(*parts: object) -> str:
    """Return a collection name of the parts; what may not stand in one becomes `_`. Names end at 255 characters."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", "-".join(str(part) for part in parts))[:255]


async def check_server(client: AsyncQdrantClient, *, accept_old_server: bool = False) -> str:
    """Return the server's version. Raises `BadSettings` below 1.17, and below 1.19 unless `accept_old_server`; `Transient`."""
    try:
        answer = await Rest(client).raw("GET", "/")
    except Transient as error:
        raise await _explained(client, error) from error
    text = str(answer.get("version", "")) if isinstance(answer, dict) else ""
    found = re.match(r"(\d+)\.(\d+)", text)
    if found is None:
        raise BadSettings(f"the server at the qdrant url is no Qdrant: it calls its version {text!r}")
    version = (int(found[1]), int(found[2]))
    if version < OLDEST_SERVER:
        raise BadSettings(f"Qdrant {text} lacks conditional writes: upgrade the server to 1.19 or later")
    if version < SAFE_SERVER and not accept_old_server:
        raise BadSettings(
            f"Qdrant {text} can lose acknowledged writes when it restarts: upgrade it to 1.19 or later, "
            "or accept the risk with the setting accept_old_server"
        )
    return text


async def _explained(client: AsyncQdrantClient, error: Transient) -> BadSettings | Transient:
    """Return which setting keeps us from a server that is there; else the error as it is."""
    if _status(error) in (401, 403):
        return BadSettings(_KEY_REFUSED.format(error=error))
    address = urlsplit(client.http.client.host)
    host, port = address.hostname or "localhost", address.port or 6333
    tls = ssl_error_in(error)
    if tls is not None:
        return explain_tls(tls, SERVICE, f"{host}:{port}", plain="qdrant.url should begin with http://")
    if address.scheme == "http" and await speaks_tls(host, port):
        return BadSettings(f"{host}:{port} speaks TLS: qdrant.url should begin with https://")
    return error


_KEY_REFUSED: Final = "{error}: check qdrant.api_key and what it may do"


async def ensure_collection(client: AsyncQdrantClient, plan: CollectionPlan) -> None:
    """Create the collection and its indexes where they lack, check them where they exist.

    Raises `BadSettings` if it exists with another dimension, distance or identity, `Transient` if the server is out of reach.
    """
    rest = Rest(client, plan.name)
    info = await _info(rest)
    if info is None:
        await _create(rest, plan)
        info = await _info(rest)
        if info is None:
            raise Transient(SERVICE, f"collection {plan.name} was created and is not there")
    _compare(info, plan)
    if not ((info["config"].get("strict_mode_config") or {}).get("enabled")):
        await rest.call("PATCH", "", {"strict_mode_config": _STRICT})
    for field, schema in plan.indexes.items():
        if field not in info["payload_schema"]:
            await rest.call("PUT", "/index", {"field_name": field, "field_schema": schema}, {"wait": "true"})


_STRICT: Final = {"enabled": True, "unindexed_filtering_retrieve": False, "unindexed_filtering_update": False}


async def _info(rest: Rest) -> Body | None:
    try:
        return cast(Body, await rest.call("GET", ""))
    except Transient as error:
        if _status(error) == 404:
            return None
        if _status(error) in (401, 403):
            raise BadSettings(_KEY_REFUSED.format(error=error)) from error
        raise


def _status(error: Transient) -> int | None:
    return error.__cause__.status_code if isinstance(error.__cause__, UnexpectedResponse) else None


async def _create(rest: Rest, plan: CollectionPlan) -> None:
    body: Body = {
        "vectors": {} if plan.dimension is None else {"size": plan.dimension, "distance": "Cosine"},
        "strict_mode_config": _STRICT,
        "metadata": {"factsieve": dict(plan.identity)},
        **plan.settings,
    }
    try:
        await rest.call("PUT", "", body)
    except Transient as error:
        if _status(error) != 409:  # another worker was faster: what it made is checked like any other
            raise


def _compare(info: Body, plan: CollectionPlan) -> None:
    vectors = info["config"]["params"].get("vectors") or {}
    have = (vectors.get("size"), vectors.get("distance")) if vectors else (None, None)
    want = (plan.dimension, None if plan.dimension is None else "Cosine")
    if have != want:
        raise BadSettings(
            f"collection {plan.name} holds vectors of {have[0]} numbers ({have[1]}), the embedder makes {want[0]} ({want[1]}): "
            "configure the embedder that it was made with, or another collection prefix"
        )
    identity = (info["config"].get("metadata") or {}).get("factsieve")
    if identity != dict(plan.identity):
        raise BadSettings(
            f"collection {plan.name} was made for {identity}, not for {dict(plan.identity)}: configure the embedder that it "
            "was made with, or another collection prefix"
        )
