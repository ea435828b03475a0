"""What becomes of the packaged input, offline with the rules judge: nothing that says something new is lost."""

import asyncio
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest

from factsieve.cli.decide import decide_lines
from factsieve.cli.demo import read_input

Decisions = dict[str, list[dict[str, Any]]]

NEWS = [
    "Retries of carrier calls stop after 5 attempts.",
    "The load balancer times out requests after 60 seconds.",
    "Release 1.4.1 of Harbor is live.",
    "Biscuit gets 150 grams of dry food twice a day.",
    "Harbor stores parcels in Postgres 16.",
    "The client now needs Go 1.23.",
    "Some delivery predictions are checked by a person.",
    "Couriers scan the label after they load a parcel.",
    "Priya approved Tomás's pull request.",
    "The flag -V prints every request of the client.",
    "Max is allergic to cat hair.",
    "Aiko knows Go.",
    "Harbor may store payment data from June on.",
    'Nora finished reading "The Overstory".',
    "The office is on the fifth floor of Speicherstadt 12 in Hamburg.",
    'curl https://beta.harbor.example/healthz: HTTP 200, body "ok"',
]
"""Alike to something said before, and saying something else."""

STANDING = [
    "Max is allergic to cat hair.",
    "Aiko knows Rust.",
    "Aiko knows Go.",
    "Harbor's staging cluster runs in Frankfurt.",
    "Release 1.4.0 of Harbor is live.",
    "Merged PR 260: carrier webhooks are verified by signature.",
    "Nordpost is one of the beta customers.",
    "Harbor uses Postgres and OpenSearch.",
]
"""Of many values, events, or more than what was taken back: still true, whatever came after."""

KNOWN = [
    "Mara Lindgren is the lead of the Kestrel team.",
    "Customer Nordpost sends 40000 parcels per day.",
    "Retries of carrier calls stop after five attempts.",
    "The closed beta of Harbor starts on 2025-03-17.",
    "The public API answers in 45 milliseconds on average.",
    "The Okafors next door have the spare key.",
]
"""The same in other words, numbers or notations."""


@pytest.fixture(scope="module")
def decided() -> Decisions:
    now = datetime.now(UTC)
    by_text: Decisions = defaultdict(list)
    for one in asyncio.run(decide_lines(read_input(None, now), {"judge.name": "rules"}, None, now)):
        by_text[one["text"]].append(one)
    return by_text


@pytest.mark.parametrize("text", NEWS)
def test_what_says_something_else_is_not_skipped(decided: Decisions, text: str) -> None:
    """A wrong skip is the worst mistake there is."""
    assert decided[text][0]["decision"] != "skip"


@pytest.mark.parametrize("text", STANDING)
def test_what_still_stands_is_not_retired(decided: Decisions, text: str) -> None:
    """A wrong retirement is the second worst."""
    (stated, *_) = decided[text]
    retired = {fact_id for all_of in decided.values() for one in all_of for fact_id in one["superseded_ids"]}
    assert stated["fact_id"] is not None
    assert stated["fact_id"] not in retired


@pytest.mark.parametrize("text", KNOWN)
def test_what_was_said_in_other_words_is_known(decided: Decisions, text: str) -> None:
    """Repeats cost the ingest nothing."""
    assert decided[text][0]["decision"] == "skip"


def test_a_value_that_comes_back_is_new_each_time(decided: Decisions) -> None:
    """8080, 8081, 8080 and OFF, ON, OFF: each statement of the slot that differs from the one before is stored."""
    ports = [one["decision"] for one in decided["The Harbor API listens on port 8080."]]
    assert ports[:2] == ["add", "supersede"]
    assert "skip" not in [one["decision"] for one in decided["Thermostat away mode is ON."]]


def test_late_statements_become_history(decided: Decisions) -> None:
    """They retire nothing that was said after them."""
    for text in (
        "During the load test the Harbor API listened on port 8090.",
        "Ella spends two trial days at Hillcrest School.",
    ):
        (late,) = decided[text]
        assert late["reason"] == "late_history"
        assert late["superseded_ids"] == []


def test_tool_loops_leave_one_fact(decided: Decisions) -> None:
    """All but the first are exact repeats that the window held back."""
    loop = decided["go test ./...: FAIL TestRetryBackoff (want 3 attempts, got 4)"]
    assert [one["via"] for one in loop[1:]] == ["hash_window"] * (len(loop) - 1)
    assert len(loop) > 20
