"""The activity page over HTTP on a running stack: signing in, headers, filters and paging, the live stream, stories, undoing."""

import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

import httpx
import pytest
from api_stack import TOKENS, WAIT_S, Live

pytestmark = [pytest.mark.api, pytest.mark.stack]

PAGE = {"accept": "text/html"}


@contextmanager
def signed_in(live: Live, who: str = "ops") -> Iterator[httpx.Client]:
    with httpx.Client(base_url=live.url, headers=PAGE, timeout=WAIT_S) as client:
        answer = client.post("/activity/login", data={"token": TOKENS[who], "next": "/activity"})
        assert answer.status_code == 303, answer.text
        yield client


@pytest.fixture
def browser(live: Live) -> Iterator[httpx.Client]:
    """A client that signed in on the page, with a cookie and no header."""
    with signed_in(live) as client:
        yield client


def replaced(live: Live, namespace: str) -> tuple[dict[str, Any], dict[str, Any]]:
    slot = {"namespace": namespace, "slot": "api.port"}
    first, second = live.remember(
        {**slot, "text": "The API listens on port 8080."}, {**slot, "text": "The API listens on port 8081."}
    )
    assert second["decision"] == "supersede"
    return first, second


def field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return unescape(found[1])


def test_signing_in_and_out(live: Live) -> None:
    """Without a token the form comes, which leads back; the cookie is for the page alone and unreadable for scripts; out is out."""
    with httpx.Client(base_url=live.url, headers=PAGE, timeout=WAIT_S) as client:
        asked = client.get("/activity?text=port")
        assert asked.status_code == 303
        form = client.get(asked.headers["location"])
        assert field(form.text, "next") == "/activity?text=port"
        wrong = client.post("/activity/login", data={"token": "no such token", "next": "/activity"})
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
        assert "not known here" in wrong.text
        right = client.post("/activity/login", data={"token": TOKENS["ops"], "next": "/activity?text=port"})
        assert (right.status_code, right.headers["location"]) == (303, "/activity?text=port")
        cookie = right.headers["set-cookie"].lower()
        assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/activity")), cookie
        page = client.get("/activity")
        assert page.status_code == 200
        assert client.get("/v1/facts").status_code == 401  # the cookie opens nothing but the page
        assert client.post("/activity/logout", data={"word": "guessed"}).status_code == 403
        assert client.get("/activity").status_code == 200
        assert client.post("/activity/logout", data={"word": field(page.text, "word")}).status_code == 303
        assert client.get("/activity").status_code == 303


def test_the_browser_is_told_to_load_nothing_from_elsewhere(live: Live, browser: httpx.Client) -> None:
    """By a policy that knows this origin alone; pages are not kept, style and script are, under a name that changes with them."""
    page = browser.get("/activity")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"
    for address in re.findall(r'(?:href|src)="(/activity/static/[^"]*)"', page.text):
        answer = httpx.get(live.url + unescape(address))
        assert (answer.status_code, "immutable" in answer.headers["cache-control"]) == (200, True)
    assert not re.findall(r'(?:href|src|action)="(?!/activity|#)[^"]*"', page.text)
    assert browser.get("/activity/static/..%2frouting.py").status_code == 404


def test_the_log_is_filtered_by_url_and_read_page_by_page(live: Live, browser: httpx.Client) -> None:
    """The form is filled in as the URL asks; what matches is there and nothing else; pages meet."""
    namespace = live.fresh("paged")
    live.remember(*[{"namespace": namespace, "text": f"Locker {n} belongs to person {n * 7}."} for n in range(60)])
    seen: list[str] = []
    address: str | None = f"/activity?namespace={namespace}"
    while address:
        page = browser.get(address).text
        seen += re.findall(r'<article class="card" id="d-([0-9a-f-]{36})"', page)
        following = re.search(r'href="([^"]*)" rel="next"', page)
        address = unescape(following[1]) if following else None
    assert (len(seen), len(set(seen))) == (60, 60)
    one = browser.get("/activity", params={"namespace": namespace, "text": " LOCKER 17", "decision": "add"}).text
    cards = [re.sub("<[^>]*>", "", card) for card in one.split("<article")[1:]]
    assert 0 < len(cards) < 10
    assert all("Locker 17" in card for card in cards)
    assert 'value="LOCKER 17"' in one
    assert f"<option selected>{namespace}</option>" in one
    assert "Nothing matches" in browser.get("/activity", params={"namespace": namespace, "text": "nowhere"}).text
    odd = browser.get("/activity", params={"decision": "perhaps"})
    assert (odd.status_code, "is none of" in odd.text, "<h1>" in odd.text) == (422, True, True)


def lines_of(answer: httpx.Response) -> Iterator[str]:
    rest = b""
    for chunk in answer.iter_raw():
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode() for line in whole)


def events(answer: httpx.Response) -> Iterator[dict[str, str]]:
    """Read a stream as browsers do: a line ends at LF alone, and U+2028 is a character like others."""
    event: dict[str, str] = {}
    for line in lines_of(answer):
        if not line:
            if "event" in event:
                yield event
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = f"{event[name]}\n{value}" if name in event else value


def test_decisions_come_live_as_they_are_asked_for(live: Live, browser: httpx.Client) -> None:
    """Of the filter's kind alone, as a part of the page; who comes back goes on where it was."""
    namespace = live.fresh("streamed")
    text = "Line one\nline two\r\n\u2028event: forged\n\ndata: <b>bold</b>"
    with browser.stream("GET", "/activity/stream", params={"namespace": namespace, "decision": "add"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        coming = events(answer)
        live.remember({"namespace": live.fresh("other"), "text": "Elsewhere"})
        first, _again, third = live.remember(
            {"namespace": namespace, "text": text},
            {"namespace": namespace, "text": text},
            {"namespace": namespace, "text": "Another thing altogether"},
        )
        got = [next(coming), next(coming)]
    assert [(one["event"], one["id"]) for one in got] == [
        ("decision", first["decision_id"]),
        ("decision", third["decision_id"]),
    ]
    assert "&lt;b&gt;bold&lt;/b&gt;" in got[0]["data"]
    assert f'id="d-{first["decision_id"]}"' in got[0]["data"]
    again = {"last-event-id": first["decision_id"]}
    with browser.stream("GET", "/activity/stream", params={"namespace": namespace}, headers=again) as answer:
        coming = events(answer)
        assert [next(coming)["id"] for _ in range(2)] == [_again["decision_id"], third["decision_id"]]


def test_a_fact_tells_its_story(live: Live, browser: httpx.Client) -> None:
    """Who said it, what it replaced, what was true when; each decision has a page of its own, with what is near."""
    namespace = live.fresh("told")
    first, second = replaced(live, namespace)
    page = browser.get(f"/activity/facts/{second['fact_id']}").text
    assert '<h1 class="fact-text" dir="auto">The API listens on port 8081.</h1>' in page
    assert "took the place of what was there" in page
    assert "port <del>8080</del>" in page
    assert f'/activity/facts/{first["fact_id"]}"' in page
    assert "no language model was asked" in page
    decision = browser.get(f"/activity/decisions/{second['decision_id']}").text
    assert second["event_key"] in decision
    assert "Thresholds then: supersede 0.72, ambiguous 0.78, skip 0.88" in decision
    for address in (f"/activity/facts/{uuid.uuid4()}", "/activity/facts/x", f"/activity/decisions/{uuid.uuid4()}"):
        assert browser.get(address).status_code == 404


def test_a_decision_is_reverted_as_it_was_shown(live: Live, browser: httpx.Client, ops: httpx.Client) -> None:
    """What would happen is shown and nothing done; another way is shown first; confirmed it is done, once however often sent."""
    namespace = live.fresh("undone")
    first, second = replaced(live, namespace)
    address = f"/activity/decisions/{second['decision_id']}/revert"
    form = browser.get(address).text
    assert "The API listens on port 8080." in form
    assert texts(ops, namespace) == {"The API listens on port 8081."}
    given = {name: field(form, name) for name in ("word", "command_id", "previewed")} | {"reason": "both are open"}
    assert browser.post(address, data=given | {"word": "guessed"}).status_code == 403
    assert browser.post(address, data=given, headers={"origin": "https://elsewhere.example"}).status_code == 403
    changed = browser.post(address, data=given | {"drop": "yes"})
    assert (changed.status_code, "You changed how" in changed.text, "withdrawn" in changed.text) == (200, True, True)
    assert texts(ops, namespace) == {"The API listens on port 8081."}
    done = browser.post(address, data=given)
    assert done.status_code == 303, done.text
    assert texts(ops, namespace) == {"The API listens on port 8080.", "The API listens on port 8081."}
    assert browser.post(address, data=given).headers["location"] == done.headers["location"]
    outcome = browser.get(done.headers["location"]).text
    assert "Carried out: both are open" in outcome
    assert f'/activity/facts/{first["fact_id"]}"' in outcome
    again = browser.get(address).text
    assert "Nothing would happen" in again
    assert ">Revert it<" not in again


def texts(ops: httpx.Client, namespace: str) -> set[str]:
    return {one["text"] for one in ops.get("/v1/facts", params={"namespace": namespace}).json()["facts"]}


def test_a_token_that_may_only_read_undoes_nothing(live: Live) -> None:
    """It is offered nothing, and what it sends all the same is refused."""
    (only,) = live.remember({"namespace": "alpha", "text": f"Alpha has {uuid.uuid4()}."})
    address = f"/activity/decisions/{only['decision_id']}/revert"
    with signed_in(live, "reader") as reader:
        listed = reader.get("/activity").text
        assert only["decision_id"] in listed
        assert "/revert" not in listed
        form = reader.get(address).text
        assert "may only read" in form
        sent = {"word": field(form, "word"), "command_id": str(uuid.uuid4()), "previewed": "plainly"}
        assert reader.post(address, data=sent).status_code == 403


def test_markup_in_a_statement_stays_text_on_every_page(live: Live, browser: httpx.Client) -> None:
    """As it was said, to be read; JSON and pages agree."""
    namespace = live.fresh("markup")
    evil = '<script>alert(1)</script><img src=x onerror=alert(2)> & "it\'s" {{7*7}}'
    (told,) = live.remember({"namespace": namespace, "text": evil, "slot": "<i>slot</i>"})
    for address in (
        f"/activity?namespace={namespace}",
        f"/activity/facts/{told['fact_id']}",
        f"/activity/decisions/{told['decision_id']}",
        f"/activity/decisions/{told['decision_id']}/revert",
    ):
        page = browser.get(address).text
        assert "<img" not in page
        assert "alert(1)</script>" not in page
        assert "<i>" not in page
        assert evil in unescape(re.sub(r"<[^>]*>", "", page))
    assert json.loads(json.dumps(told))["text"] == evil
