"""Signing in on the page, and proof that a form was ours: the token in a cookie, a word that only its holder could know in each form."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request, Response

from factsieve.api.access import COOKIE, PAGE_PATH, presented_token
from factsieve.api.problems import Problem

MAX_FIELDS: Final = 20
_PROCESS_KEY: Final = secrets.token_bytes(32)
"""In the place of a token where none is needed: whoever can read this page's forms is on this machine, and lets itself in anyway."""

_SENDABLE: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]{1,512}")
"""What a cookie's value may hold (RFC 6265, cookie-octet)."""


def remember(request: Request, response: Response, token: str) -> None:
    """Keep a token in the browser, for this page alone, until the browser is closed."""
    response.set_cookie(
        COOKIE, token, path=PAGE_PATH, secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )


def forget(request: Request, response: Response) -> None:
    """Take the token from the browser."""
    response.delete_cookie(
        COOKIE, path=PAGE_PATH, secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )


def is_sendable(token: str) -> bool:
    """Return whether a token can stand in a cookie."""
    return _SENDABLE.fullmatch(token) is not None


def form_word(request: Request) -> str:
    """Return the word that forms of this caller carry: no other site can know it."""
    token = presented_token(request)
    key = token.encode("utf-8", "surrogatepass") if token is not None else _PROCESS_KEY
    return hmac.new(key, b"factsieve activity page form", hashlib.sha256).hexdigest()


async def read_form(request: Request, *, with_word: bool = True) -> Mapping[str, str]:
    """Return a submitted form's fields. Raises Problem where it may come from another site, or is none."""
    _check_origin(request)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/x-www-form-urlencoded":
        raise Problem(422, "unusable_input", "this is for the forms of the activity page: send a form")
    try:
        fields = dict(
            parse_qsl((await request.body()).decode("utf-8"), max_num_fields=MAX_FIELDS, strict_parsing=False)
        )
    except ValueError:
        raise Problem(422, "unusable_input", "this form can not be read: load the page again") from None
    if with_word and not hmac.compare_digest(fields.get("word", "").encode(), form_word(request).encode()):
        raise Problem(403, "bad_request", "this form is out of date, or not of this page: load the page and try again")
    return fields


def _check_origin(request: Request) -> None:
    """Raise Problem where the browser says that a form comes from elsewhere."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = site not in (None, "same-origin")
    if origin is not None and origin != "null":
        foreign |= urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()
    elif origin == "null":
        foreign |= site != "same-origin"  # a page without referrer says so, and then nothing else
    if foreign:
        raise Problem(403, "bad_request", "this form comes from another site: open the activity page and use its own")


def own_path(target: str | None) -> str:
    """Return where to go after signing in: a path of this page, never another site."""
    if target and re.fullmatch(re.escape(PAGE_PATH) + r"(/[\w/.-]*)?(\?[\x21-\x5b\x5d-\x7e]*)?", target, re.ASCII):
        return target
    return PAGE_PATH
