"""Where a model is served behind the OpenAI API, and how its client and its errors are handled."""

import email.utils
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from factsieve.adapters.onnx_session import require
from factsieve.core.errors import BadSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

PROVIDERS: Final = {
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "ollama": ("http://127.0.0.1:11434/v1", None),
}
"""Base URL, and the environment variable that holds the key where the settings name none (None: no key is needed)."""

_FORMS: Final = "openrouter:MODEL, openai:MODEL, ollama:MODEL or http(s)://host/v1#MODEL"
_RETRIED: Final = frozenset({408, 409, 425, 429})
_DETAIL_CHARS: Final = 400
_FIRST_DELAY_S: Final = 0.5


class Endpoint(msgspec.Struct, frozen=True):
    """A model and the address that serves it; `provider` is `url` where the address was given itself."""

    provider: str
    base_url: str
    model: str
    key_variable: str | None = None

    @property
    def name(self) -> str:
        """Return the name as it is written in settings."""
        return f"{self.base_url}#{self.model}" if self.provider == "url" else f"{self.provider}:{self.model}"


def parse_judge_name(name: str, *, base_url: str | None = None) -> Endpoint:
    """Return the endpoint that a model name stands for.

    `base_url` takes the place of the provider's own address. Raises BadSettings, which says what is wrong and which forms there are.
    """
    cleaned = name.strip()
    if cleaned.lower().startswith(("http://", "https://")):
        address, mark, model = cleaned.partition("#")
        if not mark or not model.strip():
            raise BadSettings(f"model {cleaned!r} names no model: append it after '#', as in http://host/v1#MODEL")
        return Endpoint("url", _checked(base_url or address), model.strip())
    provider, mark, model = cleaned.partition(":")
    known = PROVIDERS.get(provider.lower())
    if not mark or known is None:
        raise BadSettings(f"model {cleaned[:80]!r} is not understood: write it as {_FORMS}")
    if not model.strip():
        raise BadSettings(f"model {cleaned!r} names no model after {provider!r}: write it as {_FORMS}")
    return Endpoint(provider.lower(), _checked(base_url or known[0]), model.strip(), known[1])


def _checked(address: str) -> str:
    """Return a base URL without its trailing slash; raises BadSettings for one that can not be used."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadSettings(f"base URL {_without_secrets(address)!r} is not usable: {error}") from error
    if parts.username is not None or parts.password is not None:
        raise BadSettings(
            f"base URL {_without_secrets(address)!r} holds a user name or password: give the key as api_key"
        )
    if parts.scheme not in {"http", "https"} or not host:
        raise BadSettings(f"base URL {address!r} is not usable: it must look like http(s)://host/v1")
    if parts.query or parts.fragment:
        raise BadSettings(f"base URL {_without_secrets(address)!r} must have no query and no fragment")
    return address.rstrip("/")


def _without_secrets(address: str) -> str:
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def find_key(endpoint: Endpoint, api_key: str | None) -> str:
    """Return the key to use; raises BadSettings where the provider wants one and there is none."""
    key = api_key or (os.environ.get(endpoint.key_variable) if endpoint.key_variable else None)
    if key:
        return key
    if endpoint.key_variable is not None:
        raise BadSettings(
            f"model {endpoint.name!r} needs an API key: set api_key, or {endpoint.key_variable} in the environment"
        )
    return "unused"  # the client insists on one


def open_client(endpoint: Endpoint, api_key: str | None, *, timeout_s: float) -> "AsyncOpenAI":
    """Return a client of the official library that never retries by itself. Raises BadSettings without library or key."""
    openai = require("openai", "llm")
    host = urlsplit(endpoint.base_url).hostname or ""
    local = host == "localhost" or host.startswith("127.") or host == "::1"
    http = openai.DefaultAsyncHttpxClient(
        timeout=timeout_s,
        trust_env=not local,  # a proxy from the environment can not reach this machine's own addresses
    )
    client: AsyncOpenAI = openai.AsyncOpenAI(
        api_key=find_key(endpoint, api_key),
        base_url=endpoint.base_url,
        timeout=timeout_s,
        max_retries=0,
        http_client=http,
    )
    return client


class Trouble(msgspec.Struct, frozen=True):
    """Why a call failed: a code of a few words, a detail for people, whether it may go better later, and when (seconds)."""

    code: str
    detail: str
    retried: bool
    after_s: float | None = None
    status: int | None = None

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else self.code


def trouble_of(error: BaseException, key: str | None) -> Trouble:
    """Return what an error of the client means; nothing of the key comes along."""
    openai = require("openai", "llm")
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Trouble("time_out", "no reply in time", True)
    if isinstance(error, openai.APIStatusError):
        return _status_trouble(error, key)
    if isinstance(error, openai.APIConnectionError):
        return Trouble("unreachable", _redacted(str(error.__cause__ or error), key), True)
    # a reply that is no JSON of this API: an error page of a proxy, a broken body
    return Trouble("unreadable", f"{type(error).__name__}: {_redacted(str(error), key)}", True)


def retry_delay_s(trouble: Trouble, tries: int, limit_s: float, jitter: Callable[[], float]) -> float | None:
    """Return how long to wait before the next try, None where another try is of no use or would have to wait too long.

    The delay doubles with every try from half a second up to `limit_s`, of which a random upper half is taken; what the server
    asks for is honoured where it is within the limit.
    """
    if not trouble.retried or (trouble.after_s is not None and trouble.after_s > limit_s):
        return None
    delay_s: float = min(_FIRST_DELAY_S * 2.0**tries, limit_s) * (0.5 + jitter() / 2)
    return max(delay_s, trouble.after_s or 0.0)


def _status_trouble(error: Any, key: str | None) -> Trouble:  # noqa: ANN401 - an openai.APIStatusError, imported late
    status = int(error.status_code)
    if status in {401, 403}:
        return Trouble(f"http_{status}", "the endpoint refuses the API key", False, status=status)
    spent = getattr(error, "code", None) == "insufficient_quota"
    retried = (status in _RETRIED or status >= 500) and not spent
    return Trouble(f"http_{status}", _redacted(str(error), key), retried, _retry_after(error.response.headers), status)


def _retry_after(headers: Any) -> float | None:  # noqa: ANN401 - the client's own headers type
    """Return how long the server asks to wait, in seconds; it may be given as milliseconds, seconds or an HTTP date."""
    try:
        if (ms := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(ms) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        try:
            return max(0.0, float(value))
        except ValueError:
            at = email.utils.parsedate_to_datetime(value)
            return max(0.0, at.timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _redacted(text: str, key: str | None) -> str:
    if key and len(key) >= 6:
        text = text.replace(key, "***")
    return " ".join(text.split())[:_DETAIL_CHARS]
