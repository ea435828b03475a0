"""The hash window in Redis: keys `fs:{<hash of namespace>}:w:<text hash>:<bucket>`.

A key holds the earliest and the latest entry of its bucket (see `adapters.window`), each as `fact id|revision|microseconds`, joined by
`;` where they differ. The braces keep a namespace on one node of a cluster, so that a call is one command there too.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, cast
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, NoScriptError, RedisError

from factsieve.adapters.tls import (
    TlsFiles,
    client_context,
    explain_tls,
    handshake,
    late_alert,
    speaks_tls,
    ssl_error_in,
)
from factsieve.adapters.window import Entry, bucket_of, merge_entries, microseconds, nearest_hit
from factsieve.core.errors import BadSettings, Transient
from factsieve.ports import WindowHit

SERVICE: Final = "redis"
OLDEST_SERVER: Final = (6, 2)
COMMANDS: Final = ("+info", "+mget", "+eval", "+evalsha", "+get", "+set", "+select")
"""What a user of the window needs, as Redis writes it in an ACL."""
_SHORTEST_TTL_S: Final = 900

_PUT: Final = r"""
-- KEYS: buckets. ARGV: time to live in seconds, then for each key the entries to put into it.
local function entry(text)
  return string.match(text, '^[^|;]*|%d+|%-?%d+$')
end
local function ends(value)
  local cut = string.find(value, ';', 1, true)
  if cut then return entry(string.sub(value, 1, cut - 1)), entry(string.sub(value, cut + 1)) end
  return entry(value), entry(value)
end
-- Microseconds do not fit into a double in all years. Those of one bucket have one sign, so that their digits can be compared.
local function before(one, other)
  local a, b = string.match(one, '|(%-?%d+)$'), string.match(other, '|(%-?%d+)$')
  if a == b then return false end
  local negative = string.sub(a, 1, 1) == '-'
  if #a ~= #b then return (#a < #b) ~= negative end
  return (a < b) ~= negative
end
for i, key in ipairs(KEYS) do
  local first, last = ends(ARGV[i + 1])
  local kept = redis.call('GET', key)
  if kept then
    local kept_first, kept_last = ends(kept)
    if kept_first and before(kept_first, first) then first = kept_first end
    if kept_last and before(last, kept_last) then last = kept_last end
  end
  redis.call('SET', key, first == last and first or first .. ';' .. last, 'EX', ARGV[1])
end
"""


class RedisWindow:
    """A `HashWindow` in Redis.

    `url` as redis-py takes it (`redis://`, `rediss://`, `unix://`); user and password in it go before `username` and `password`, `tls` is
    for `rediss://`. `window_s` is the window to either side, in seconds of event time.
    A bucket is kept for `ttl_s` seconds of system time after it was last written (default: three windows, at least 15 minutes: streams
    that are read late pass faster than their events happened, not slower). Every call ends within `timeout_s`; after one that
    failed, calls fail at once for `pause_s`, so that an unreachable Redis does not slow the stream down. Close it with `close`.
    """

    def __init__(
        self,
        url: str,
        *,
        username: str | None = None,
        password: str | None = None,
        tls: TlsFiles | None = None,
        window_s: int = 300,
        ttl_s: int | None = None,
        timeout_s: float = 1.0,
        pause_s: float = 1.0,
        max_connections: int = 8,
    ) -> None:
        self._window_us = window_s * 1_000_000
        self._ttl_s = max(3 * window_s, _SHORTEST_TTL_S) if ttl_s is None else ttl_s
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self._failed_at: float | None = None
        self._script = hashlib.sha1(_PUT.encode(), usedforsecurity=False).hexdigest()
        self._address = urlsplit(url)
        uses_tls = self._address.scheme == "rediss"
        self._context = client_context(tls or TlsFiles(), SERVICE) if uses_tls else None
        try:
            self._redis: Redis = Redis.from_url(
                url,
                username=username,
                password=password,
                **(_tls_options(tls) if tls is not None and uses_tls else {}),
                socket_timeout=timeout_s,
                socket_connect_timeout=timeout_s,
                max_connections=max_connections,
                retry=Retry(NoBackoff(), 1),  # once, for a connection that the server had closed; calls may be repeated
                decode_responses=False,
            )
        except ValueError as error:
            raise BadSettings(f"the redis url is not usable ({error}): write it as redis://host:6379/0") from error

    async def check(self) -> None:
        """Check the server's version and that it never evicts keys. Raises `BadSettings` (names the fix), `Transient`."""
        await self._greet()
        try:
            async with self._border():
                server, memory = await self._redis.info("server"), await self._redis.info("memory")
        except Transient as error:
            raise await self._explained(error) from error
        text = str(server.get("redis_version", ""))
        if _version(text) < OLDEST_SERVER:
            raise BadSettings(f"Redis {text} is too old: upgrade it to 6.2 or later")
        policy = memory.get("maxmemory_policy")
        if policy != "noeviction":
            raise BadSettings(
                f"Redis evicts keys when memory runs out (maxmemory-policy {policy}), which would empty the hash window unseen: "
                "set maxmemory-policy noeviction"
            )

    async def _greet(self) -> None:
        """Shake hands before the first command, so that what is wrong with certificates is told apart from everything else."""
        if self._context is None:
            return
        host, port = self._address.hostname or "localhost", self._address.port or 6379
        try:
            await handshake(host, port, self._context, self._timeout_s)
        except OSError as error:
            transient = Transient(SERVICE, f"{type(error).__name__}: {error}")
            transient.__cause__ = error
            raise await self._explained(transient) from error

    async def _explained(self, error: Transient) -> BadSettings | Transient:
        """Return which setting keeps us from a server that is there; else the error as it is."""
        cause, address = error.__cause__, f"{self._address.hostname or 'localhost'}:{self._address.port or 6379}"
        if isinstance(cause, NoPermissionError):
            return BadSettings(
                f"{error}: the user must be allowed {', '.join(COMMANDS)} on keys fs:* (an ACL rule of Redis)"
            )
        if isinstance(cause, AuthenticationError):
            return BadSettings(f"{error}: check redis.username and redis.password, or those in redis.url")
        if cause is None:
            return error
        host, port = self._address.hostname or "localhost", self._address.port or 6379
        tls = ssl_error_in(cause)
        if tls is None and self._context is not None:
            tls = await late_alert(host, port, self._context, self._timeout_s)
        if tls is not None:
            return explain_tls(tls, SERVICE, address, plain="redis.url should begin with redis://")
        if self._address.scheme == "redis" and await speaks_tls(host, port):
            return BadSettings(f"{address} speaks TLS: redis.url should begin with rediss://")
        if self._address.scheme == "rediss" and await _answers_plainly(host, port, self._timeout_s):
            return BadSettings(f"{address} does not speak TLS: redis.url should begin with redis://")
        return error

    async def close(self) -> None:
        """Close all connections."""
        await self._redis.aclose()

    async def find(self, namespace: str, texts: Sequence[tuple[str, datetime]]) -> list[WindowHit | None]:
        """Return for each (text hash, event time) the nearest entry within the window around that time. Raises `Transient`."""
        if not texts:
            return []
        prefix = _prefix(namespace)
        wanted: list[tuple[int, list[str]]] = []
        for text, at in texts:
            at_us = microseconds(at)
            bucket = bucket_of(at_us, self._window_us)
            wanted.append((at_us, [f"{prefix}{text}:{number}" for number in (bucket - 1, bucket, bucket + 1)]))
        keys = list(dict.fromkeys(key for _, around in wanted for key in around))
        async with self._guarded():
            values = cast(list[bytes | None], await self._redis.mget(keys))
        entries = {key: _entries(value) for key, value in zip(keys, values, strict=True) if value is not None}
        return [
            nearest_hit((entry for key in around for entry in entries.get(key, ())), at_us, self._window_us)
            for at_us, around in wanted
        ]

    async def put(self, namespace: str, texts: Sequence[tuple[str, datetime, WindowHit]]) -> None:
        """Write what decided events led to. Raises `Transient`."""
        prefix = _prefix(namespace)
        buckets: dict[str, tuple[Entry, Entry]] = {}
        for text, at, hit in texts:
            entry = Entry(hit.fact_id, hit.revision, microseconds(at))
            key = f"{prefix}{text}:{bucket_of(entry.at_us, self._window_us)}"
            buckets[key] = merge_entries(buckets.get(key), entry)
        if not buckets:
            return
        arguments: list[str | int] = [*buckets, self._ttl_s, *(_value(pair) for pair in buckets.values())]
        async with self._guarded():
            try:
                await self._redis.evalsha(self._script, len(buckets), *cast(list[str], arguments))
            except NoScriptError:  # the server is new or was restarted
                await self._redis.eval(_PUT, len(buckets), *cast(list[str], arguments))

    @asynccontextmanager
    async def _guarded(self) -> AsyncIterator[None]:
        """Fail at once shortly after a failure; otherwise remember how it went."""
        now = asyncio.get_running_loop().time()
        if self._failed_at is not None and now - self._failed_at < self._pause_s:
            raise Transient(
                SERVICE, f"it was out of reach {now - self._failed_at:.1f} s ago, asked again after {self._pause_s:g} s"
            )
        try:
            async with self._border():
                yield
        except Transient:
            self._failed_at = asyncio.get_running_loop().time()
            raise
        self._failed_at = None

    @asynccontextmanager
    async def _border(self) -> AsyncIterator[None]:
        """Bound the time, and turn every error of the vendor into `Transient`: losing the window loses no correctness."""
        try:
            async with asyncio.timeout(self._timeout_s):
                yield
        except (RedisError, OSError) as error:  # OSError includes TimeoutError
            raise Transient(SERVICE, f"{type(error).__name__}: {error}") from error


async def _answers_plainly(host: str, port: int, timeout_s: float) -> bool:
    """Return whether a Redis answers here without TLS; one that is greeted with a handshake says nothing, and waits for the rest of it."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(b"PING\r\n")
                return (await reader.readexactly(1)) in b"+-"
            finally:
                writer.close()
                await writer.wait_closed()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False


def _tls_options(files: TlsFiles) -> dict[str, Any]:
    return {
        "ssl_ca_certs": files.ca,
        "ssl_certfile": files.cert,
        "ssl_keyfile": files.key,
        "ssl_password": files.key_password,
        "ssl_check_hostname": files.verify_hostname,
    }


def _prefix(namespace: str) -> str:
    digest = hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"fs:{{{digest}}}:w:"


def _value(pair: tuple[Entry, Entry]) -> str:
    entries: Iterable[Entry] = pair[:1] if pair[0] == pair[1] else pair
    return ";".join(f"{entry.fact_id}|{entry.revision}|{entry.at_us}" for entry in entries)


def _entries(value: bytes) -> list[Entry]:
    """Return the entries of a bucket; what nobody of us wrote is no entry."""
    entries = []
    for part in value.decode(errors="replace").split(";"):
        match part.split("|"):
            case [fact_id, revision, at_us] if revision.isdecimal() and at_us.removeprefix("-").isdecimal():
                entries.append(Entry(fact_id, int(revision), int(at_us)))
    return entries


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdecimal())
