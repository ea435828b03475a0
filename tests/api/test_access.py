"""Tokens and bounds: who is known, what they may see, what they may write; and when an API does not start at all."""

import asyncio
import hashlib
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from fastapi import Request
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from factsieve.api.access import Caller, Tokens, presented_token
from factsieve.api.app import make_app
from factsieve.api.context import ApiContext, Gates
from factsieve.api.limits import MAX_BUCKETS, Gate, TokenBuckets, TooBusy, TooFast
from factsieve.api.problems import Problem
from factsieve.api.serve import check_access
from factsieve.assembly.settings import Settings, load_settings
from factsieve.assembly.settings_groups import ApiSettings, ApiToken
from factsieve.core.errors import BadSettings
from factsieve.telemetry.metrics import make_metrics
from factsieve.wire.topics import Limits

pytestmark = pytest.mark.api


def token(text: str, *namespaces: str, scopes: tuple[str, ...] = ("read",)) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(text.encode()).hexdigest(), "namespaces": namespaces or ("*",), "scopes": scopes}


def tokens(**named: dict[str, Any]) -> Tokens:
    return Tokens(ApiSettings(tokens={name: ApiToken(**one) for name, one in named.items()}))


def test_a_token_is_known_by_its_hash_alone() -> None:
    """The right one is its caller, with its namespaces and scopes; no other text is, nor is the hash itself."""
    known = tokens(a=token("one", "alpha"), b=token("two", scopes=("read", "write")))
    assert known.caller_of("one") == Caller("a", frozenset({"alpha"}), may_read=True, may_write=False)
    assert known.caller_of("two") == Caller("b", None, may_read=True, may_write=True)
    for other in ("", "One", "one ", "\ud800", token("one")["sha256"]):
        assert known.caller_of(other) is None
    assert known.caller_of(None) is None


def test_every_hash_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever token is presented, all hashes are compared, each by the comparison whose time tells nothing."""
    import hmac

    compared: list[str] = []
    real = hmac.compare_digest

    def noting(one: str, other: str) -> bool:
        compared.append(one)
        return real(one, other)

    monkeypatch.setattr("factsieve.api.access.hmac.compare_digest", noting)
    known = tokens(a=token("one"), b=token("two"), c=token("three"))
    for presented in ("one", "three", "none"):
        compared.clear()
        known.caller_of(presented)
        assert len(compared) == 3


def test_settings_hold_no_token_and_show_no_hash() -> None:
    """A value that is no SHA-256 is refused without being quoted; what is shown is masked."""
    with pytest.raises(ValidationError) as raised:
        ApiToken(sha256="my-real-token", namespaces=("*",))  # type: ignore[arg-type]
    assert "my-real-token" not in str(raised.value)
    settings = load_settings({"api.tokens": {"a": token("one")}}, environ={})
    assert token("one")["sha256"] not in str(settings.shown())
    assert token("one")["sha256"] not in repr(settings)


def test_a_caller_sees_its_namespaces_and_what_has_none_only_with_all() -> None:
    """Refused input may belong to nobody: only who sees everything sees it."""
    alpha, everything = Caller("a", frozenset({"alpha"})), Caller("o", None)
    assert (alpha.sees("alpha"), alpha.sees("beta"), alpha.sees(None), everything.sees(None)) == (
        True,
        False,
        False,
        True,
    )
    assert alpha.within(None) == {"alpha"}
    assert everything.within("beta") == {"beta"}
    with pytest.raises(Problem) as refused:
        alpha.within("beta")
    assert (refused.value.status_code, refused.value.code) == (403, "namespace_forbidden")


@pytest.mark.parametrize(
    ("header", "path", "cookie", "presented"),
    [
        ("Bearer one", "/v1/facts", None, "one"),
        ("bearer  one ", "/v1/facts", None, "one"),
        ("Basic one", "/v1/facts", None, None),
        (None, "/v1/facts", "two", None),
        (None, "/activity", "two", "two"),
        (None, "/activity/facts/1", "two", "two"),
        (None, "/activities", "two", None),
        ("Bearer one", "/activity", "two", "one"),
    ],
)
def test_the_cookie_counts_on_pages_alone(
    header: str | None, path: str, cookie: str | None, presented: str | None
) -> None:
    """Elsewhere a form of another site could ride on it."""
    headers = [] if header is None else [(b"authorization", header.encode())]
    headers += [] if cookie is None else [(b"cookie", f"factsieve_token={cookie}".encode())]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers, "query_string": b""}
    assert presented_token(Request(scope)) == presented


@pytest.mark.parametrize(
    ("api", "said"),
    [
        ({}, "api.tokens is empty"),
        ({"open": True, "host": "0.0.0.0"}, "no loopback"),
        ({"open": True, "host": "example.org"}, "no loopback"),
        ({"open": True, "tls_cert_file": "a.pem"}, "belong together"),
        ({"open": True, "max_batch": 5000}, "api.write_burst"),
    ],
)
def test_an_api_that_would_be_open_by_accident_does_not_start(api: dict[str, Any], said: str) -> None:
    """Without a token it says so; open to everybody it is only on this machine, and only if told to be."""
    with pytest.raises(BadSettings, match=said):
        check_access(Settings(api=ApiSettings(**api)))


@pytest.mark.parametrize(
    "api",
    [
        {"open": True},
        {"open": True, "host": "::1"},
        {"open": True, "host": "localhost"},
        {"tokens": {"a": token("one")}},
    ],
)
def test_an_api_that_somebody_may_ask_starts(api: dict[str, Any]) -> None:
    """With a token anywhere, without one on loopback where that is wanted."""
    check_access(Settings(api=ApiSettings(**api)))


def test_a_token_is_looked_at_before_the_body_is() -> None:
    """Who is not known learns nothing of what they sent: 401 for nonsense too; a scope that lacks is 403."""
    settings = ApiSettings(tokens={"a": ApiToken(**token("one")), "w": ApiToken(**token("two", scopes=("write",)))})
    context = SimpleNamespace(
        settings=Settings(api=settings),
        gates=Gates(Gate(9), Gate(9), Gate(9)),
        tokens=Tokens(settings),
        metrics=make_metrics(),
        limits=Limits(),
    )
    app = make_app(cast(ApiContext, context))

    async def run() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:

            async def status(path: str, who: str | None, body: bytes) -> int:
                headers = {"Content-Type": "application/json"}
                headers |= {} if who is None else {"Authorization": f"Bearer {who}"}
                return (await client.post(path, content=body, headers=headers)).status_code

            for path in ("/v1/dedup-check", "/v1/candidates", "/v1/facts/1/erase"):
                assert await status(path, None, b"no json") == 401
                assert await status(path, "wrong", b"no json") == 401
            good = b'{"text": "a", "namespace": "n"}'
            assert await status("/v1/candidates", "one", good) == 403
            assert await status("/v1/dedup-check", "two", good) == 403

    asyncio.run(run())


def test_a_gate_has_room_again_when_one_leaves() -> None:
    """Also when the one inside fails."""
    gate = Gate(1)
    with gate.entered(), pytest.raises(TooBusy), gate.entered():
        pass
    assert gate.inside == 0
    with pytest.raises(ZeroDivisionError), gate.entered():
        _ = 1 / gate.inside - 1 / 0
    assert gate.inside == 0


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 30)), max_size=60))
def test_no_caller_writes_more_than_its_bucket(steps: list[tuple[float, int]]) -> None:
    """Over any time: at most the burst and what came in since; the promised pause is enough; others are not held up."""
    now = 0.0
    buckets = TokenBuckets(per_s=4.0, burst=30, now_s=lambda: now)
    taken = 0
    for pause, writes in steps:
        now += pause
        try:
            buckets.take("a", writes)
            taken += writes
        except TooFast as refused:
            before = now
            now += refused.retry_after_s
            buckets.take("a", writes)
            taken += writes
            assert now > before
        assert taken <= 30 + 4.0 * now + 1e-3
    buckets.take("b", 30)


def test_a_clock_that_goes_back_and_many_callers_do_no_harm() -> None:
    """What is remembered is bounded; time that runs backwards gives nothing and takes nothing."""
    now = 100.0
    buckets = TokenBuckets(per_s=1.0, burst=2, now_s=lambda: now)
    buckets.take("a", 2)
    now = 0.0
    with pytest.raises(TooFast):
        buckets.take("a", 1)
    for number in range(MAX_BUCKETS + 10):
        buckets.take(str(number), 1)
    assert len(buckets._levels) == MAX_BUCKETS
