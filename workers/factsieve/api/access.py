"""Who asks, and what they may see: Bearer tokens, of which this process knows only the hashes.

A token is bound to namespaces (by name, or `*` for all) and to scopes. What lies in another namespace is answered as what does not
exist; a namespace that a request names itself is refused alike whether or not there is such a namespace.
"""

import hashlib
import hmac
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from fastapi import Depends, Request
from starlette.datastructures import Headers

from factsieve.api.problems import Problem
from factsieve.assembly.settings_groups import ApiSettings

COOKIE: Final = "factsieve_token"
PAGE_PATH: Final = "/activity"
"""Only here is the cookie taken: elsewhere a form on another site could use it."""

EVERY_NAMESPACE: Final = "*"


class Caller(msgspec.Struct, frozen=True):
    """Who asks: the token's name, the namespaces that it may see (None: all), and whether it may write."""

    name: str
    namespaces: frozenset[str] | None
    may_read: bool = True
    may_write: bool = False

    def sees(self, namespace: str | None) -> bool:
        """Return whether what lies in this namespace may be shown; of what has none, only those who see everything learn."""
        return self.namespaces is None or (namespace is not None and namespace in self.namespaces)

    def within(self, namespace: str | None) -> frozenset[str] | None:
        """Return the namespaces that a request is about: the named one, else all that it may see (None: all there are).

        Raises Problem `namespace_forbidden`.
        """
        if namespace is None:
            return self.namespaces
        self.check(namespace)
        return frozenset({namespace})

    def check(self, namespace: str) -> None:
        """Raise Problem `namespace_forbidden` where a namespace is not this token's, whether or not it exists."""
        if not self.sees(namespace):
            raise Problem(
                403,
                "namespace_forbidden",
                f"this token is not for namespace {namespace[:80]!r}: use one that is, or name one of this token's",
            )


class Tokens:
    """The tokens' hashes and what each may do."""

    def __init__(self, settings: ApiSettings) -> None:
        self._callers: Mapping[str, Caller] = {
            token.sha256.get_secret_value().lower(): Caller(
                name,
                None if EVERY_NAMESPACE in token.namespaces else frozenset(token.namespaces),
                may_read="read" in token.scopes,
                may_write="write" in token.scopes,
            )
            for name, token in settings.tokens.items()
        }
        self._open = Caller("anonymous", None, may_write=True) if settings.open else None

    def caller_of(self, presented: str | None) -> Caller | None:
        """Return whose token this is, or None. Takes as long for a wrong token as for any right one."""
        if presented is None:
            return self._open
        digest = hashlib.sha256(presented.encode("utf-8", "surrogatepass")).hexdigest()
        found: Caller | None = None
        for known, caller in self._callers.items():  # all of them, so that the time taken tells nothing
            if hmac.compare_digest(known, digest):
                found = caller
        return found or self._open


def presented_token(request: Request) -> str | None:
    """Return the token of a request: the Bearer header's, else the cookie's on pages."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    path = request.url.path
    if path == PAGE_PATH or path.startswith(PAGE_PATH + "/"):
        return request.cookies.get(COOKIE) or None
    return None


def is_from_elsewhere(method: str, headers: Headers) -> bool:
    """Return whether a request to an API without tokens may be another site's, made by a browser on this machine.

    Such a site can give its own name this machine's address (DNS rebinding), which the header Host tells; and it can send what needs no
    answer to be read, which browsers tell of in Origin and Sec-Fetch-Site.
    """
    host = headers.get("host", "")
    if not _is_of_this_machine(host):
        return True
    if method in ("GET", "HEAD", "OPTIONS"):
        return False
    origin = headers.get("origin", "null")
    if origin != "null" and urlsplit(origin).netloc.lower() != host.lower():
        return True
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _is_of_this_machine(host: str) -> bool:
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        return name == "localhost" or name.endswith(".localhost") or ip_address(name).is_loopback
    except ValueError:
        return False


def maybe_caller(request: Request) -> Caller | None:
    """Return who asks, or None where nobody known does. For pages that show a login form then."""
    tokens: Tokens = request.app.state.context.tokens
    found = tokens.caller_of(presented_token(request))
    if found is not None:
        request.scope["factsieve.caller"] = found.name
    return found


def caller(request: Request) -> Caller:
    """Return who asks, with the right to read. Raises Problem `unauthenticated` or `scope_missing`."""
    found = known(request)
    if not found.may_read:
        raise Problem(403, "scope_missing", "this token may not read: it has no scope `read`")
    return found


def writer(request: Request) -> Caller:
    """Return who asks, with the right to write. Raises Problem `unauthenticated` or `scope_missing`."""
    found = known(request)
    if not found.may_write:
        raise Problem(403, "scope_missing", "this token may not write: it has no scope `write`")
    return found


async def _reads(request: Request) -> Caller:
    return caller(request)


async def _writes(request: Request) -> Caller:
    return writer(request)


Reader = Annotated[Caller, Depends(_reads)]
"""Who asks, with the right to read: a parameter of an endpoint. A coroutine, since FastAPI takes a thread for what is none."""
Writer = Annotated[Caller, Depends(_writes)]
"""The same with the right to write."""


def known(request: Request) -> Caller:
    """Return who asks. Raises Problem `unauthenticated`."""
    found = maybe_caller(request)
    if found is None:
        raise Problem(
            401,
            "unauthenticated",
            "send a token that this API knows: Authorization: Bearer TOKEN",
            headers={"WWW-Authenticate": 'Bearer realm="factsieve"'},
        )
    return found
