"""The activity page without a stack: what is shown of a decision, the filter form, signing in, charts; markup in facts is data."""

import json
import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from factsieve.api.access import Caller
from factsieve.api.limits import TooFast
from factsieve.api.page import charts, query, rendering, session, views
from factsieve.api.problems import Problem, as_problem
from factsieve.operations.log_counts import count_rows
from factsieve.operations.log_ring import DecisionFilter, Ring
from tests.operations.decisions import decision_value, reject_value, skip_value, uid

pytestmark = pytest.mark.api

EVERYBODY = Caller("ops", None, may_write=True)
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}&lt;\x07"


def shown(value: dict[str, Any]) -> str:
    return rendering.fragment("live.html", card=views.card(value), may_write=True, fresh=False)


class Elements(HTMLParser):
    """Collects the elements of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_supersede_shows_both_texts_with_what_changed() -> None:
    """Side by side, each with its own direction; the judge, its cost, and what the guard found are told."""
    value = decision_value(
        "a",
        decision="supersede",
        reason="replaces",
        band="known",
        similarity=0.974,
        text="listens on port 8081",
        matched_text="listens on port 8080",
        matched_id=uid("b"),
        superseded_ids=[uid("b")],
        findings=[{"kind": "number", "ours": "8081", "theirs": "8080"}],
        judges=[
            {
                "judge": "openai:some-model",
                "asked": "choose",
                "choice": "supersede",
                "latency_ms": 812.0,
                "prompt_tokens": 300,
                "completion_tokens": 12,
            }
        ],
        review="conflict",
    )
    page = shown(value)
    assert "listens on port <ins>8081</ins>" in page
    assert "listens on port <del>8080</del>" in page
    text = " ".join(Elements(page).text.split())
    for words in (
        "Known until then",
        "0.974 at or above the skip threshold",
        "another number: “8081”, known is “8080”",
        "Decided by language model openai:some-model in 812 ms, 300 + 12 tokens",
        "may contradict something known",
    ):
        assert words in text
    assert f'href="/activity/facts/{uid("a")}"' in page
    assert f'href="/activity/decisions/{value["decision_id"]}/revert"' in page


def test_what_stands_beside_something_known_is_not_shown_as_its_change() -> None:
    """An add marks differences neutrally, and none at all where next to nothing is in common."""
    near = shown(decision_value("a", text="Release 1.11.0 is live", matched_text="Release 1.10.0 is live"))
    assert "Release <mark>1.11.0</mark> is live" in near
    assert "<del>" not in near
    far = shown(decision_value("a", text="Ella plays the piano", matched_text="Bins are emptied on Friday"))
    assert "<mark>" not in far
    assert "in the same words" not in far
    same = shown(skip_value("b", "a", text="caf\u00e9", matched_text="cafe\u0301"))
    assert "Known already, in the same words." in same


@pytest.mark.parametrize(
    "value",
    [
        decision_value(
            "a", text=EVIL, matched_text=EVIL + "!", slot=EVIL, session_id=EVIL, ce_source=EVIL, namespace=EVIL
        ),
        decision_value("a", reason=EVIL, review=EVIL, findings=[{"kind": EVIL, "ours": EVIL, "theirs": EVIL}]),
        decision_value(
            "a", judges=[{"judge": EVIL, "asked": "choose", "choice": "add", "model": EVIL, "reason": EVIL}]
        ),
        reject_value("a") | {"event_id": EVIL, "error": {"code": "bad", "message": EVIL, "field": None}},
        decision_value("a", decision=None, command="revert", outcome="applied", reason=EVIL, fact_id=None),
    ],
    ids=["statement", "reason", "judge", "refusal", "command"],
)
def test_markup_in_facts_is_data(value: dict[str, Any]) -> None:
    """No element and no attribute comes of it, on a card or on the decision's own page; templates are not run on it."""
    harmless = json.loads(json.dumps(value).replace(json.dumps(EVIL)[1:-1], "harmless"))
    for template in ("live.html", "decision.html"):
        pages = []
        for one in (value, harmless):
            values = {"card": views.card(one), "may_write": True, "fresh": False}
            if template == "decision.html":
                values |= {"who": EVERYBODY, "signed_in": True, "word": "w"}
            pages.append(Elements(rendering.fragment(template, **values)))
        evil, good = pages
        assert {"img", "script"} & set(evil.tags) == {"script"} & set(good.tags)
        assert evil.tags.count("script") == good.tags.count("script")
        assert "onerror" not in {name for name, _ in evil.attributes}
        assert "49" not in evil.text.replace("4957", "")
        assert "\x07" not in evil.text


def test_what_shows_nothing_is_made_visible() -> None:
    """Control characters stand as their pictures; line breaks stay."""
    assert views.visible("a\x00b\x1b[31m\n\tc\x7f") == "a␀b␛[31m\n\tc␡"


def test_a_refusal_a_command_and_an_erased_statement_are_told() -> None:
    """Each in its way; none of them offers what can not be undone."""
    refused = shown(reject_value("odd-1"))
    assert "text is empty: send a statement" in refused
    assert "/revert" not in refused
    changed = {"type": "reverted", "fact": {"fact_id": uid("b"), "text": "old one", "status": "current"}}
    command = decision_value(
        "c", decision=None, command="revert", outcome="applied", reason="by hand", changes=[changed]
    )
    assert ("back" in shown(command), "old one" in shown(command), "/revert" in shown(command)) == (True, True, True)
    assert "/revert" not in shown(command | {"command": "erase"})
    assert "/revert" not in shown(command | {"outcome": "refused"})
    erased = shown(decision_value("e", decision="skip", reason="erased", text="", fact_id=None))
    assert "Its text was erased." in erased
    assert "/revert" not in erased


# The filter form


def test_a_form_becomes_a_filter_and_a_url_to_share() -> None:
    """Empty and unknown fields ask for nothing; the URL asks for the same again."""
    given = {
        "text": " port 80 ",
        "decision": "skip",
        "review": "yes",
        "namespace": "",
        "other": "x",
        "since": "2026-03-04",
    }
    asked = query.asked(given)
    wanted = asked.wanted(EVERYBODY)
    assert (wanted.text, wanted.decision, wanted.review, wanted.namespaces) == ("port 80", "skip", True, None)
    assert wanted.since is not None
    again = query.asked(dict(parse_qsl(urlsplit(asked.url()).query)))
    assert again.wanted(EVERYBODY) == wanted
    assert asked.without("decision") == "/activity?review=yes&text=port+80&since=2026-03-04"
    assert query.asked({}).url() == "/activity"
    assert (
        query.asked({"before": uid("x"), "band": "known"}).url(before=uid("y"))
        == f"/activity?band=known&before={uid('y')}"
    )


@pytest.mark.parametrize(
    "given",
    [{"decision": "drop"}, {"band": "high"}, {"review": "maybe"}, {"since": "soon"}, {"text": "x" * 2000}],
)
def test_a_form_that_can_not_be_is_refused(given: dict[str, str]) -> None:
    """By name, with what would do."""
    with pytest.raises(Problem) as refused:
        query.asked(given).wanted(EVERYBODY)
    assert refused.value.status_code == 422
    assert next(iter(given)) in refused.value.detail


def test_a_filter_stays_within_what_a_token_may_see() -> None:
    """All of its namespaces, or the one that is named; never another."""
    tenant = Caller("alpha", frozenset({"alpha", "beta"}))
    assert query.asked({}).wanted(tenant).namespaces == frozenset({"alpha", "beta"})
    assert query.asked({"namespace": "beta"}).wanted(tenant).namespaces == frozenset({"beta"})
    with pytest.raises(Problem) as refused:
        query.asked({"namespace": "gamma"}).wanted(tenant)
    assert refused.value.status_code == 403


# Signing in


@pytest.mark.parametrize(
    ("target", "goes"),
    [
        ("/activity?text=a", "/activity?text=a"),
        ("/activity/facts/019cadc6-9a80", "/activity/facts/019cadc6-9a80"),
        ("https://elsewhere.example/activity", "/activity"),
        ("//elsewhere.example", "/activity"),
        ("/activity.elsewhere.example", "/activity"),
        ("/activity/../v1/facts\r\nSet-Cookie: a=b", "/activity"),
        ("/activity\\@elsewhere.example", "/activity"),
        ("javascript:alert(1)", "/activity"),
        (None, "/activity"),
    ],
)
def test_signing_in_leads_to_this_page_alone(target: str | None, goes: str) -> None:
    """Wherever a link wants to send the visitor afterwards."""
    assert session.own_path(target) == goes


def request_of(body: bytes, **headers: str) -> Request:
    names = {"host": "127.0.0.1:8080", "content_type": "application/x-www-form-urlencoded", **headers}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/activity/logout",
        "scheme": "http",
        "query_string": b"",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in names.items()],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope, receive)


def read(body: bytes, **headers: str) -> dict[str, str]:
    import asyncio

    return dict(asyncio.run(session.read_form(request_of(body, **headers))))


def test_a_form_is_taken_from_this_page_alone() -> None:
    """It carries the word that only this page knows for this token; a browser's word on where it comes from is heeded."""
    word = session.form_word(request_of(b"", cookie="factsieve_token=abc"))
    own = f"word={word}&reason=a+b%C3%A9".encode()
    cookie = {"cookie": "factsieve_token=abc"}
    assert read(own, **cookie) == {"word": word, "reason": "a bé"}
    assert read(own, **cookie, origin="http://127.0.0.1:8080", sec_fetch_site="same-origin")["word"] == word
    for headers in (
        {"cookie": "factsieve_token=other"},
        {},
        {**cookie, "origin": "https://elsewhere.example"},
        {**cookie, "origin": "http://127.0.0.1:9"},
        {**cookie, "sec_fetch_site": "cross-site"},
        {**cookie, "sec_fetch_site": "same-site"},
        {**cookie, "origin": "null"},
    ):
        with pytest.raises(Problem) as refused:
            read(own, **headers)
        assert refused.value.status_code == 403
    for body, headers in ((b"reason=x", cookie), (b"\xff=1", cookie), (b"&".join([b"a=1"] * 50), cookie)):
        with pytest.raises(Problem):
            read(body, **headers)
    with pytest.raises(Problem):
        read(own, **cookie, content_type="application/json")


@pytest.mark.parametrize(
    ("token", "can"), [("abc-_.~+/=", True), ("a;b", False), ("a b", False), ("é", False), ("", False)]
)
def test_only_what_a_cookie_can_hold_is_put_in_one(token: str, can: bool) -> None:
    """Other tokens are not those of anybody who signs in here."""
    assert session.is_sendable(token) is can


def test_too_many_writes_are_answered_429() -> None:
    """With the time after which one more fits, on pages as for programs."""
    problem = as_problem(TooFast(3))
    assert problem is not None
    assert (problem.status_code, problem.code, dict(problem.headers or {})) == (
        429,
        "too_many_writes",
        {"Retry-After": "3"},
    )


# Charts


def counted(*values: dict[str, Any]) -> Any:
    ring = Ring(100)
    for value in values:
        ring.add(value)
    return count_rows(ring.rows(), DecisionFilter(), 48)


MANY = (
    decision_value("a", at=0),
    skip_value("b", "a", at=10, similarity=0.99, via="text"),
    skip_value("c", "a", at=100, similarity=0.91),
    decision_value("d", at=100, similarity=0.3, matched_id=uid("a")),
    decision_value(
        "e",
        at=200,
        similarity=0.8,
        matched_id=uid("a"),
        judges=[{"judge": "openai:m", "asked": "choose", "choice": "add", "prompt_tokens": 10, "latency_ms": 5.0}],
    ),
    reject_value("f", at=300),
    decision_value("g", at=300, decision=None, command="revert", outcome="applied", reason="x", fact_id=None),
)


def test_bars_stand_beside_each_other_and_are_as_high_as_their_counts() -> None:
    """Nothing leaves the drawing; the parts of a bar add up to it; the marks are where the thresholds are."""
    counts = counted(*MANY)
    for chart in (charts.over_time(counts), charts.by_similarity(counts)):
        ends = [0.0]
        for bar in chart.bars:
            assert bar.x >= ends[-1] - 1e-6
            ends.append(bar.x + bar.width)
            assert sum(part.count for part in bar.parts) == bar.total == sum(bar.counts.values())
            heights = sum(part.height for part in bar.parts)
            assert heights == pytest.approx(bar.total / chart.highest * charts.HEIGHT, abs=0.1)
            assert all(part.y >= -0.01 for part in bar.parts)
        assert ends[-1] <= 100
    assert [name for _, name in charts.by_similarity(counts).marks] == ["supersede 0.72", "ambiguous 0.78", "skip 0.88"]
    assert charts.over_time(counts).kinds == ("add", "skip", "command", "refused")


def test_who_settled_it_is_shared_out() -> None:
    """Shares add up to a hundred; what no candidate was about has none."""
    slices = charts.deciders(counted(*MANY))
    assert {one.kind: one.count for one in slices} == {"text": 1, "bands": 3, "model": 1}
    assert sum(one.width for one in slices) == pytest.approx(100, abs=0.01)
    assert charts.deciders(counted()) == ()


def test_the_numbers_are_there_as_a_table_too() -> None:
    """Each drawing has its numbers in words, for those who do not see it; an empty log draws nothing."""
    values = page_values(counted(*MANY))
    page = rendering.fragment("charts.html", **values)
    assert page.count("<table") == 3
    assert page.count('role="img"') == 3
    text = " ".join(Elements(page).text.split())
    assert "2 of 3 statements near something known needed no language model." in text
    assert "1 question to language models, 10 tokens, 0.0 s." in text
    assert page.count("style=") == 0
    assert rendering.fragment("charts.html", **page_values(counted())).count("Nothing to draw yet.") == 3


def page_values(counts: Any) -> dict[str, Any]:
    return {
        "counts": counts,
        "summary": charts.grouped(counts.kinds),
        "times": charts.over_time(counts),
        "similarities": charts.by_similarity(counts),
        "deciders": charts.deciders(counts),
        "saved": counts.reached - counts.asked,
    }


@given(st.floats(-1, 1), st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(sorted))
def test_a_similarity_stands_on_its_bar_whatever_the_thresholds(similarity: float, limits: list[float]) -> None:
    """Within it, and the bands fill it without gap or overlap."""
    scale = charts.scale(similarity, dict(zip(("supersede", "ambiguous", "skip"), limits, strict=True)))
    assert 0 <= scale.place <= 100
    assert sum(width for _, _, width in scale.bands) == pytest.approx(100, abs=0.1)
    starts = [start for _, start, _ in scale.bands]
    assert starts == sorted(starts)


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    """No address of another site is in what is sent, and no style or script stands in the page itself."""
    for name in rendering.STATIC:
        text = rendering.static_file(name).decode()
        assert set(re.findall(r"//[a-z][\w.-]*\.[a-z]+", text)) <= {
            "//www.w3.org"
        }  # the name of SVG, which nobody fetches
    page = rendering.fragment("login.html", who=None, signed_in=False, word="w", target="/activity", wrong=True)
    elements = Elements(page)
    assert "style" not in {*elements.tags, *(name for name, _ in elements.attributes)}
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
