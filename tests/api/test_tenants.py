"""A token of one tenant gets nothing of another's, on any endpoint there is: one without a case here fails the test."""

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from api_stack import Live
from fastapi.routing import iter_route_contexts

from factsieve.api.app import make_app
from factsieve.api.context import ApiContext

pytestmark = [pytest.mark.api, pytest.mark.stack]

SECRET = "Zanzibar-7749"
"""Stands in every statement of the other tenant, and nowhere else."""

Tenant = dict[str, Any]
Case = Callable[[httpx.Client, Tenant], Iterable[tuple[httpx.Response, set[int]]]]
"""Asks with alpha's token for what is beta's; yields each answer with the statuses that it may have."""

CASES: dict[tuple[str, str], Case] = {}


def case(method: str, path: str) -> Callable[[Case], Case]:
    """Say how an endpoint is asked for another tenant's things."""

    def known(function: Case) -> Case:
        CASES[method, path] = function
        return function

    return known


@pytest.fixture(scope="module")
def beta(live: Live) -> Tenant:
    """What the other tenant has: facts that replaced each other, decisions, something flagged."""
    first, second = live.remember(
        {"id": "beta-1", "namespace": "beta", "text": f"The vault {SECRET} has code 1111.", "slot": "vault.code"},
        {"id": "beta-2", "namespace": "beta", "text": f"The vault {SECRET} has code 2222.", "slot": "vault.code"},
        who="beta",
    )
    live.remember({"namespace": "alpha", "text": "Alpha likes tea."}, who="alpha")
    return {"first": first, "second": second, "fact_id": second["fact_id"], "decision_id": second["decision_id"]}


@case("POST", "/v1/dedup-check")
def _(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
    text = beta["second"]["text"]
    for named in ({"namespace": "beta"}, {"session_id": "beta"}, {"namespace": "nobody"}):
        yield alpha.post("/v1/dedup-check", params={"explain": "true"}, json={"text": text, **named}), {403}
    own = alpha.post("/v1/dedup-check", params={"explain": "true"}, json={"text": text, "namespace": "alpha"})
    assert own.json()["matched_id"] != beta["fact_id"]
    yield own, {200}


@case("POST", "/v1/candidates")
def _(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
    del beta
    mixed = [{"namespace": "alpha", "text": "Mine."}, {"namespace": "beta", "text": "Not mine."}]
    yield alpha.post("/v1/candidates", json={"namespace": "beta", "text": "Not mine."}), {403}
    yield alpha.post("/v1/candidates", json={"candidates": mixed}), {403}
    yield alpha.post("/v1/candidates", json={"namespace": "alpha", "session_id": "beta", "text": "Mine."}), {202}


@case("GET", "/v1/facts")
def _(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
    for more in (
        {},
        {"all": "true"},
        {"like": beta["second"]["text"]},
        {"as_of": "2999-01-01"},
        {"known_at": "2999-01-01"},
    ):
        yield alpha.get("/v1/facts", params=more), {200}
        yield alpha.get("/v1/facts", params={**more, "namespace": "beta"}), {403}
    nobody = alpha.get("/v1/facts", params={"namespace": "nobody"})
    other = alpha.get("/v1/facts", params={"namespace": "beta"})
    assert nobody.json()["detail"].replace("nobody", "beta") == other.json()["detail"], "whether it exists is not told"


def by_id(method: str, path: str, *, facts: bool, body: Any = None) -> None:
    """A case of an address with an id in it: another's is answered as one that does not exist is."""

    def ask(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
        ids = (
            [beta["fact_id"], beta["first"]["fact_id"]] if facts else [beta["decision_id"], beta["second"]["event_key"]]
        )
        unknown = "01943a5c-3f80-7a1b-9c2d-0123456789ab"
        params: list[dict[str, str]] = [{}, {"dry_run": "true"}] if method == "POST" else [{}]
        for more in params:
            nothing = alpha.request(method, path.replace("{id}", unknown), params=more, json=body)
            for known in ids:
                answer = alpha.request(method, path.replace("{id}", known), params=more, json=body)
                if answer.headers["content-type"] == "application/problem+json":
                    assert answer.json()["detail"].replace(known, unknown) == nothing.json()["detail"]
                assert answer.status_code == nothing.status_code
                yield answer, {404}

    CASES[method, path.replace("{id}", "{fact_id}" if facts else "{decision_id}")] = ask


by_id("GET", "/v1/facts/{id}", facts=True)
by_id("GET", "/v1/facts/{id}/history", facts=True)
by_id("POST", "/v1/facts/{id}/retract", facts=True)
by_id("POST", "/v1/facts/{id}/erase", facts=True)
by_id("GET", "/v1/decisions/{id}", facts=False)
by_id("POST", "/v1/decisions/{id}/revert", facts=False)
by_id("POST", "/v1/decisions/{id}/review", facts=False, body={"decision": "add"})
by_id("GET", "/activity/facts/{id}", facts=True)
by_id("GET", "/activity/decisions/{id}", facts=False)
by_id("GET", "/activity/decisions/{id}/revert", facts=False)


@case("POST", "/activity/decisions/{decision_id}/revert")
def _(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
    for form in ({}, {"csrf": "x"}):
        yield alpha.post(f"/activity/decisions/{beta['decision_id']}/revert", data=form), {400, 403, 404, 422}


@case("GET", "/v1/decisions")
def _(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
    filters: tuple[dict[str, Any], ...] = (
        {},
        {"limit": 500},
        {"event_id": "beta-2"},
        {"event_id": "beta-2", "ce_source": "factsieve/api"},
        {"event_key": beta["second"]["event_key"], "wait": 0.1},
        {"fact_id": beta["fact_id"]},
        {"text": SECRET},
        {"cursor": beta["decision_id"]},
    )
    for more in filters:
        yield alpha.get("/v1/decisions", params=more), {200}
        yield alpha.get("/v1/decisions", params={**more, "namespace": "beta"}), {403}


def streamed(path: str) -> Case:
    """A case of a live stream: what beta says meanwhile does not come, what alpha says does."""

    def ask(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
        live: Live = beta["live"]
        yield alpha.get(path, params={"namespace": "beta"}), {403}
        lines: list[str] = []
        with alpha.stream("GET", path, headers={"Last-Event-ID": beta["first"]["decision_id"]}) as answer:
            assert answer.status_code == 200
            said = False
            for line in answer.iter_lines():
                lines.append(line)
                if not said:
                    live.remember({"namespace": "beta", "text": f"{SECRET} is hidden."}, who="beta")
                    live.remember({"namespace": "alpha", "text": f"Alpha said this on {path}."}, who="alpha")
                    said = True
                if "Alpha said this on" in line:
                    break
        assert SECRET not in "\n".join(lines)

    return ask


CASES["GET", "/v1/decisions/stream"] = streamed("/v1/decisions/stream")
CASES["GET", "/activity/stream"] = streamed("/activity/stream")


@case("GET", "/metrics")
def _(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
    del beta
    yield alpha.get("/metrics"), {403}


def plain(path: str, *statuses: int) -> None:
    """A case of an address that shows the caller's own things, or nobody's, whatever is asked."""

    def ask(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
        for more in ({}, {"fact_id": beta["fact_id"]}, {"decision_id": beta["decision_id"]}, {"text": SECRET[:-1]}):
            yield alpha.get(path, params=more), set(statuses)

    CASES["GET", path] = ask


plain("/healthz", 200)
plain("/readyz", 200)
plain("/docs", 200)


def page(path: str) -> None:
    """A case of a page that lists: its own tenant's only, whichever namespace is asked for."""

    def ask(alpha: httpx.Client, beta: Tenant) -> Iterator[tuple[httpx.Response, set[int]]]:
        for more in ({}, {"text": SECRET[:-1]}, {"event_id": "beta-2"}):
            yield alpha.get(path, params=more), {200}
        for more in ({"namespace": "beta"}, {"namespace": "beta", "text": SECRET[:-1]}):
            yield alpha.get(path, params=more), {200, 403}

    CASES["GET", path] = ask


page("/activity")
page("/activity/charts")

OF_NOBODY = {
    ("GET", "/openapi.json"),
    ("GET", "/activity/static/{name}"),  # the same files for everybody
    ("GET", "/activity/login"),  # a form
    ("POST", "/activity/login"),
    ("POST", "/activity/logout"),
}
"""Endpoints that show nothing of any tenant."""


def test_every_endpoint_has_its_case() -> None:
    """An endpoint that is added needs a case of its own here."""
    app = make_app(cast(ApiContext, SimpleNamespace()))
    contexts = iter_route_contexts(app.routes)
    there = {(verb, context.path) for context in contexts for verb in context.methods or {"GET"} if verb != "HEAD"}
    assert there - OF_NOBODY == set(CASES)
    documented = {(verb.upper(), path) for path, verbs in app.openapi()["paths"].items() for verb in verbs}
    assert documented <= set(CASES)


@pytest.mark.parametrize("endpoint", sorted(CASES), ids=" ".join)
def test_an_endpoint_tells_nothing_of_another_tenant(live: Live, beta: Tenant, endpoint: tuple[str, str]) -> None:
    """The other's text is in no answer, and the status is that of what does not exist or must not be asked for."""
    with live.client("alpha") as alpha:
        for answer, statuses in CASES[endpoint](alpha, {**beta, "live": live}):
            assert answer.status_code in statuses, (endpoint, answer.status_code, answer.text[:500])
            told = answer.text.replace(SECRET[:-1] + '"', "")
            assert SECRET not in told, endpoint
            if answer.status_code == 200:  # (a fact's id may be in what alpha itself once named as a target)
                for its_own in (beta["first"]["decision_id"], beta["decision_id"], beta["second"]["event_key"]):
                    assert its_own not in told, endpoint


@pytest.mark.parametrize("endpoint", sorted(CASES), ids=" ".join)
def test_an_endpoint_tells_nobody_nothing(live: Live, beta: Tenant, endpoint: tuple[str, str]) -> None:
    """Without a token there is nothing but health, documents, and the way to log in."""
    method, path = endpoint
    address = path.replace("{fact_id}", beta["fact_id"]).replace("{decision_id}", beta["decision_id"])
    with live.client(None) as nobody:
        answer = nobody.request(method, address, json={"namespace": "beta", "text": "a"} if method == "POST" else None)
    if path in ("/healthz", "/readyz", "/docs"):
        assert answer.status_code == 200
    elif path.startswith("/activity"):
        assert answer.status_code in (303, 401, 403)
    else:
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert SECRET not in answer.text


def test_what_was_tried_changed_nothing_of_the_other_tenant(live: Live, beta: Tenant) -> None:
    """Commands for another's things never left."""
    with live.client("beta") as client:
        (standing,) = [one for one in client.get("/v1/facts").json()["facts"] if one["fact_id"] == beta["fact_id"]]
        commands = client.get("/v1/decisions", params={"limit": 500}).json()["decisions"]
    assert (standing["status"], standing["version"]) == ("current", 1)
    assert [one["command"] for one in commands if one.get("command")] == []


def test_a_target_of_another_tenant_is_refused(live: Live, beta: Tenant) -> None:
    """A review may name facts: those of another namespace are not there for it."""
    flagged = live.remember(
        {"namespace": "alpha", "text": "We use Redis for caching.", "occurred_at": "2025-01-01T09:00:00Z"},
        {"namespace": "alpha", "text": "We use Memcached for caching.", "occurred_at": "2025-01-02T09:00:00Z"},
        who="alpha",
    )[1]
    assert flagged["review"]
    with live.client("alpha") as alpha:
        url = f"/v1/decisions/{flagged['decision_id']}/review"
        for decision in ("supersede", "skip", "merge", "update"):
            body = {"decision": decision, "targets": [beta["fact_id"]]}
            if decision in ("merge", "update"):
                body["text"] = "We use both."
            for more in ({"dry_run": "true"}, {}):
                answer = alpha.post(url, params=more, json=body)
                assert SECRET not in answer.text
                assert answer.status_code == 409 or answer.json()["outcome"] in ("refused", "no_op")
    with live.client("beta") as client:
        assert client.get(f"/v1/facts/{beta['fact_id']}").json()["status"] == "current"
