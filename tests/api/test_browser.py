"""The activity page in a real browser (Chromium): live, by keyboard, in both themes, at the width of a phone, and with markup in facts."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from api_stack import TOKENS, Live
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from factsieve.wire.times import parse_rfc3339

pytestmark = [pytest.mark.api, pytest.mark.stack, pytest.mark.slow]

LIMIT_MS = 60_000
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
COMPLAINTS = (Path(__file__).parent / "page_checks.js").read_text(encoding="utf-8")
EVIL = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script> & </article>"
SCRIPTS = {
    "arabic": ("يستمع المنفذ على 8081 كل يوم", "يستمع المنفذ على 8080 كل يوم"),
    "chinese": ("会议改到周五举行", "会议改到周四举行"),
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser; where there is none the tests are skipped, under FACTSIEVE_REQUIRE_BROWSER=1 they fail."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        said = f"no browser: none of {', '.join(PROGRAMS)} is on the PATH (Debian: apt-get install chromium)"
        if os.environ.get("FACTSIEVE_REQUIRE_BROWSER") == "1":
            pytest.fail(said)
        pytest.skip(said)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(OPTIONS))
        yield browser
        browser.close()


def is_complaint(said: ConsoleMessage) -> bool:
    """Whether a message is one that a page in order does not cause; that a wrong token was refused is told as an error, too."""
    return said.type in ("error", "warning") and not ("status of 401" in said.text and "/login" in said.location["url"])


@pytest.fixture
def visit(chromium: Browser, live: Live) -> Iterator[Callable[..., Page]]:
    """Open signed-in visits; afterwards none may have complained, or asked for anything from elsewhere."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def asked(url: str) -> None:
        if urlsplit(url).netloc != urlsplit(live.url).netloc:
            complaints.append(f"asked for {url}")

    def open_visit(path: str = "/activity", who: str | None = "ops", **options: Any) -> Page:
        context = chromium.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(LIMIT_MS)
        if who is not None:
            cookie = {"name": "factsieve_token", "value": TOKENS[who], "url": f"{live.url}/activity"}
            context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if is_complaint(said) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked(request.url))
        page.goto(live.url + path)
        return page

    yield open_visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def told(live: Live) -> dict[str, Any]:
    """What the page shows: a repeat, a replacement, an addition, something for review, a refusal, other scripts, markup."""
    namespace = live.fresh("shown")
    base = {"namespace": namespace}
    port = {**base, "slot": "api.port"}
    first, second, _again = live.remember(
        {**port, "text": "The API listens on port 8080."},
        {**port, "text": "The API listens on port 8081."},
        {**port, "text": "The API listens on port 8081."},
    )
    live.remember(
        {**base, "text": "Couriers scan the label before they load a parcel.", "occurred_at": "2025-01-01T09:00:00Z"},
        {**base, "text": "Couriers scan the label after they load a parcel.", "occurred_at": "2025-01-02T09:00:00Z"},
        {**base, "text": EVIL, "slot": "<b>slot</b>"},
        *({**base, "text": text, "slot": name} for name, (old, new) in SCRIPTS.items() for text in (old, new)),
    )
    return {"namespace": namespace, "first": first, "second": second, "address": f"/activity?namespace={namespace}"}


def is_live(page: Page) -> None:
    expect(page.locator(".live.on")).to_be_visible(timeout=LIMIT_MS)


def test_a_decision_is_on_the_screen_within_a_second(live: Live, visit: Callable[..., Page]) -> None:
    """Of several, told one after the other, the quickest; each is announced, and the charts follow."""
    namespace = live.fresh("watched")
    page = visit(f"/activity?namespace={namespace}")
    is_live(page)
    expect(page.locator("#nothing")).to_be_visible()
    took_s = []
    for n in range(4):
        (decision,) = live.remember({"namespace": namespace, "text": f"Locker {n} belongs to person {n * 7}."})
        card = page.locator(f"#d-{decision['decision_id']}")
        seen_at = page.evaluate(
            """(id) => new Promise((resolve) => {
                const look = () => document.getElementById(id) ? resolve(Date.now()) : setTimeout(look, 20);
                look();
            })""",
            f"d-{decision['decision_id']}",
        )
        took_s.append(seen_at / 1000 - parse_rfc3339(decision["decided_at"]).timestamp())
        expect(card).to_contain_text(f"Locker {n}")
    assert page.locator("#log article").first.get_attribute("id") == f"d-{decision['decision_id']}"
    expect(page.locator("#news")).to_contain_text("new decision", timeout=LIMIT_MS)
    expect(page.locator("#nothing")).to_have_count(0)
    expect(page.locator(".tally .total")).to_contain_text("4", timeout=LIMIT_MS)
    assert min(took_s) < 1.0, took_s  # each was looked for only once the API had told of it: an upper bound


def test_the_stream_can_be_paused_and_goes_on_where_it_was(live: Live, visit: Callable[..., Page]) -> None:
    """While it is paused nothing moves; then what came meanwhile is there."""
    namespace = live.fresh("paused")
    live.remember({"namespace": namespace, "text": "The first of all."})
    page = visit(f"/activity?namespace={namespace}")
    is_live(page)
    pause = page.get_by_role("button", name="Pause")
    pause.click()
    live.remember({"namespace": namespace, "text": "Said in the meantime."})
    expect(page.locator("#log article")).to_have_count(1)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#log article").first).to_contain_text("Said in the meantime.", timeout=LIMIT_MS)
    expect(page.locator("#log article")).to_have_count(2)


def test_signing_in_filtering_history(live: Live, visit: Callable[..., Page], told: dict[str, Any]) -> None:
    """From the form for the token to one fact's story, as a visitor goes."""
    page = visit(told["address"], who=None)
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known here")
    page.get_by_label("Token").fill(TOKENS["ops"])
    page.keyboard.press("Enter")
    page.wait_for_url(live.url + told["address"])
    page.get_by_label("Text", exact=True).fill("PORT 808")
    page.get_by_label("Decision", exact=True).select_option("supersede")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#log article")).to_have_count(1)
    assert "decision=supersede" in page.url
    card = page.locator("#log article")
    assert (card.locator("ins").inner_text(), card.locator("del").inner_text()) == ("8081", "8080")
    card.get_by_role("link", name=re.compile("^History")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The API listens on port 8081.")
    expect(page.locator(".story")).to_contain_text("took the place of what was there")
    expect(page.locator(".eras li")).to_have_count(2)
    page.go_back()
    page.get_by_role("link", name="Clear all").click()
    assert page.url == f"{live.url}/activity"


def test_a_decision_is_reverted(live: Live, visit: Callable[..., Page]) -> None:
    """Shown, confirmed, done; the fact is back, and the command stands in the log."""
    namespace = live.fresh("reverted")
    base = {"namespace": namespace, "slot": "api.port"}
    live.remember({**base, "text": "The API listens on port 1."}, {**base, "text": "The API listens on port 2."})
    page = visit(f"/activity?namespace={namespace}&decision=supersede")
    page.get_by_role("link", name=re.compile("^Revert")).click()
    expect(page.locator("section", has_text="What would happen")).to_contain_text("The API listens on port 1.")
    page.get_by_label("Withdraw the newer statement").check()
    page.get_by_label("Reason, for the record").fill("a slip of the tongue")
    page.get_by_role("button", name="Revert it").click()
    expect(page.get_by_role("alert")).to_contain_text("You changed how")
    page.get_by_role("button", name="Revert it").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Revert", timeout=LIMIT_MS)
    expect(page.locator("article")).to_contain_text("a slip of the tongue")
    with live.client() as client:
        facts = client.get("/v1/facts", params={"namespace": namespace}).json()["facts"]
    assert [fact["text"] for fact in facts] == ["The API listens on port 1."]


def focused(page: Page) -> str:
    """Return what has the focus, in words; it must be seen."""
    found: dict[str, Any] = page.evaluate(
        """() => {
            const node = document.activeElement, style = getComputedStyle(node);
            return { name: (node.getAttribute("aria-label") || node.innerText || node.id || node.tagName).trim(),
                     seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && node.getClientRects().length > 0 };
        }"""
    )
    assert found["seen"], f"{found['name']} has the focus, and nothing shows it"
    return str(found["name"])


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what is named has the focus."""
    passed = []
    for _ in range(80):
        page.keyboard.press("Tab")
        passed.append(focused(page))
        if passed[-1].startswith(name):
            return
    raise AssertionError(f"{name!r} is not reached by Tab: {passed}")


def test_the_page_is_walked_by_keyboard_alone(live: Live, visit: Callable[..., Page], told: dict[str, Any]) -> None:
    """Skip link, pause, filters, charts as tables, a story, and back; the focus is always seen."""
    page = visit(told["address"], viewport={"width": 1280, "height": 800})
    is_live(page)
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    tab_to(page, "Pause")
    page.keyboard.press("Space")
    expect(page.locator(".live-state")).to_have_text("paused")
    tab_to(page, "f-text")
    page.keyboard.type("port 808")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("text=port"))
    tab_to(page, "As a table")
    page.keyboard.press("Enter")
    expect(page.locator(".as-table table").first).to_be_visible()
    tab_to(page, "History")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/activity/facts/"))
    tab_to(page, "Its decisions")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("fact_id="))
    assert page.locator("#log article").count() >= 2


def test_markup_and_scripts_of_all_directions_are_shown_as_they_are(
    live: Live, visit: Callable[..., Page], told: dict[str, Any]
) -> None:
    """Markup is text, also where it comes live; Arabic runs from right to left, and only what differs is marked."""
    page = visit(told["address"])
    is_live(page)
    live.remember({"namespace": told["namespace"], "text": f"{EVIL} once more, live"})
    expect(page.locator("#log article").first).to_contain_text("once more, live", timeout=LIMIT_MS)
    assert EVIL in page.locator("#log").inner_text()
    assert page.locator("main img, main script, main b:has-text('slot')").count() == 0
    assert "taken" not in page.title()
    for name, (old, new) in SCRIPTS.items():
        card = page.locator("#log article", has_text=new).filter(has_text=old)
        statement = card.locator(".side.said .statement").first
        marked = card.locator(".side.said").first.locator("ins, mark").all_inner_texts()
        directions = statement.evaluate("node => [node.dir, node.matches(':dir(rtl)')]")
        assert directions == ["auto", name == "arabic"]
        assert "".join(marked) in new
        assert 0 < len("".join(marked)) < len(new) / 2, name


VIEWS = ("light", "dark", "phone", "dark phone")


@pytest.mark.parametrize("view", VIEWS)
def test_everybody_can_read_it(live: Live, visit: Callable[..., Page], told: dict[str, Any], view: str) -> None:
    """Contrast, names, headings, labels, sizes and widths on every page, in both themes, at the width of a phone."""
    options: dict[str, Any] = {"color_scheme": "dark" if "dark" in view else "light"}
    options["viewport"] = {"width": 360, "height": 740} if "phone" in view else {"width": 1280, "height": 900}
    decision = f"/activity/decisions/{told['second']['decision_id']}"
    page = visit(told["address"], **options)
    is_live(page)
    for address in (
        None,
        f"/activity/facts/{told['second']['fact_id']}",
        decision,
        f"{decision}/revert",
        "/activity/login",
    ):
        if address is not None:
            page.goto(live.url + address)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert page.evaluate(COMPLAINTS) == [], address


def test_nothing_moves_for_those_who_asked_for_it(live: Live, visit: Callable[..., Page]) -> None:
    """With reduced motion no animation runs, on what comes live either."""
    namespace = live.fresh("still")
    page = visit(f"/activity?namespace={namespace}", reduced_motion="reduce")
    is_live(page)
    live.remember({"namespace": namespace, "text": "Nothing moves."})
    expect(page.locator("#log article")).to_have_count(1, timeout=LIMIT_MS)
    assert page.evaluate("document.getAnimations().length") == 0


def test_without_script_the_page_is_read_and_reloaded(
    live: Live, visit: Callable[..., Page], told: dict[str, Any]
) -> None:
    """Decisions, filters and charts are there; what only a script can do is not offered."""
    page = visit(told["address"], java_script_enabled=False)
    assert page.locator("#log article").count() >= 8
    assert page.locator(".live").is_hidden()
    expect(page.get_by_label("Text", exact=True)).to_be_visible()  # open, since something is asked for


def test_a_page_that_comes_back_goes_on_where_it_was(live: Live, visit: Callable[..., Page]) -> None:
    """A browser may put a page aside and show it again (back and forward): what came meanwhile is there then."""
    namespace = live.fresh("aside")
    live.remember({"namespace": namespace, "text": "Before it was put aside."})
    page = visit(f"/activity?namespace={namespace}")
    is_live(page)
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pagehide'))")
    live.remember({"namespace": namespace, "text": "While it was away."})
    expect(page.locator("#log article")).to_have_count(1)
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(page.locator("#log article")).to_have_count(2, timeout=LIMIT_MS)
