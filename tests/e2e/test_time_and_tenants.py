"""What was true when, what was believed when, and whose it is: through the whole stack and the commands."""

import asyncio
import itertools
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from e2e.harness import Room
from factsieve.assembly.wiring import open_stores
from factsieve.cli.local import environment_of
from factsieve.core.facts import FOREVER, Source
from factsieve.wire import times

pytestmark = [pytest.mark.stack, pytest.mark.slow]

DAY = timedelta(days=1)
START = datetime(2026, 1, 10, 9, tzinfo=UTC)
PORTS = [8080, 8081, 8082, 8083]
"""The port that the api listens on from each of four days on."""


def at(day: int) -> datetime:
    return START + day * DAY


def text_of(day: int) -> str:
    return f"The api listens on port {PORTS[day]}."


def facts(room: Room, namespace: str, *options: str) -> list[str]:
    """Return the texts that `factsieve facts --json` prints, run as a user would."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FACTSIEVE_")}
    shown = subprocess.run(
        [sys.executable, "-m", "factsieve", "facts", "--json", "--namespace", namespace, *options],
        cwd=room.folder,
        env=kept | environment_of(room.overrides, None),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line)["text"] for line in shown.stdout.splitlines()]


def test_what_was_true_and_what_was_believed_has_an_answer_at_every_instant(quiet):
    """Four statements about one slot arrive in the order third, first, fourth, second.

    At each moment of learning (known-at) and for each day (as-of) the answer is the latest statement up to that day among those
    that had arrived; before the first of them nothing was true. What the commands say is what the store says.
    """
    arrival = [2, 0, 3, 1]
    before = quiet.follower.decided
    learned = [datetime.now(UTC)]
    for number, day in enumerate(arrival, start=1):
        quiet.send([quiet.candidate(text_of(day), namespace="ports", slot="api.port", occurred_at=at(day))])
        quiet.until_decided(before + number)
        quiet.until_committed()
        learned.append(datetime.now(UTC))
    asyncio.run(check_every_answer(quiet, arrival, learned))
    half_day, early = times.format_rfc3339(at(1) + DAY / 2), times.format_rfc3339(learned[2])
    assert facts(quiet, "ports") == [text_of(3)]
    assert facts(quiet, "ports", "--as-of", half_day) == [text_of(1)]
    assert facts(quiet, "ports", "--as-of", half_day, "--known-at", early) == [text_of(0)]
    assert facts(quiet, "ports", "--known-at", early) == [text_of(2)]
    assert facts(quiet, "ports", "--as-of", "2026-01-01") == []


async def check_every_answer(room: Room, arrival: list[int], learned: list[datetime]) -> None:
    """Ask the store for every pair of instants, and compare with what the order of arrival says."""
    halves = [at(day) + shift for day in range(4) for shift in (timedelta(0), DAY / 2)]
    instants = [at(0) - DAY, *halves, at(3) + 30 * DAY]
    async with open_stores(room.settings) as stores:
        for known, moment in [*enumerate(learned), (4, None)]:
            arrived = sorted(arrival[:known])
            for instant in instants:
                said = [day for day in arrived if at(day) <= instant]
                found = await stores.facts.select("ports", as_of=instant, known_at=moment)
                assert [fact.text for fact in found] == [text_of(day) for day in said[-1:]], (
                    f"{instant}, {known} arrived"
                )
            believed = await stores.facts.select("ports", known_at=moment)
            assert [fact.text for fact in believed] == [text_of(day) for day in arrived[-1:]]


def test_every_order_of_arrival_ends_in_the_same_timeline(quiet):
    """All 24 orders of four statements about one slot, each in a namespace of its own."""
    orders = {f"order-{''.join(map(str, order))}": order for order in itertools.permutations(range(4))}
    before = quiet.follower.decided
    quiet.send(
        [
            quiet.candidate(text_of(day), slot="api.port", occurred_at=at(day), namespace=namespace)
            for namespace, order in orders.items()
            for day in order
        ]
    )
    quiet.until_decided(before + 4 * len(orders))
    quiet.until_committed()
    timelines = {namespace: [] for namespace in orders}
    for fact in quiet.facts(None, current_only=False):
        if fact.namespace in orders and fact.status in ("current", "past") and fact.valid_from < fact.valid_to:
            timelines[fact.namespace].append((fact.valid_from, fact.valid_to, fact.text))
    expected = [(at(day), FOREVER if day == 3 else at(day + 1), text_of(day)) for day in range(4)]
    assert {namespace for namespace, found in timelines.items() if sorted(found) != expected} == set()


def test_the_same_statement_of_two_tenants_is_two_facts(quiet):
    """Nothing of one namespace is met in another: not the exact text, not a neighbour, not a slot, not the hash window."""
    statements = [
        ("The api listens on port 8080.", "api.port", Source.REMEMBER),
        ("Tests passed.", None, Source.POST_TOOL_USE),
        ("The api of ours listens on port 8080.", None, Source.REMEMBER),
        ("Tests passed.", None, Source.POST_TOOL_USE),
    ]
    tenants = ("team-a", "team-b")
    before = quiet.follower.decided
    quiet.send(
        [
            quiet.candidate(text, namespace=namespace, slot=slot, source=source, occurred_at=START)
            for text, slot, source in statements
            for namespace in tenants
        ]
    )
    quiet.until_decided(before + 2 * len(statements))
    quiet.until_committed()
    outcome = quiet.outcome()
    seen = {namespace: [] for namespace in tenants}
    for one in outcome.decisions.values():
        if one["namespace"] in seen:
            signal = one["dedup_signal"]
            seen[one["namespace"]].append((one["text"], one["decision"], one["reason"], one["via"], signal["max_sim"]))
            linked = [one["fact_id"], one["matched_id"], *one["superseded_ids"]]
            linked += [note["fact_id"] for note in one["neighbours"]]
            assert {outcome.facts[fact_id].namespace for fact_id in linked if fact_id} <= {one["namespace"]}
    assert sorted(seen["team-a"]) == sorted(seen["team-b"])
    assert ("Tests passed.", "skip", "exact_duplicate", "hash_window", 1.0) in seen["team-a"]
    held = {namespace: [] for namespace in tenants}
    for fact in outcome.facts.values():
        if fact.namespace in held:
            held[fact.namespace].append((fact.text, fact.slot, fact.status, fact.stated_count))
    assert sorted(held["team-a"]) == sorted(held["team-b"])
    assert ("Tests passed.", None, "current", 2) in held["team-a"]
