"""What was true when, what was believed when, and whose it is: through the whole stack and the commands."""

import itertools
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from e2e.harness import Room
from factsieve.cli.local import environment_of
from factsieve.core.facts import Source
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


def facts(room: Room, *options: str) -> list[dict]:
    """Return what `factsieve facts --json` prints, run as a user would."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FACTSIEVE_")}
    shown = subprocess.run(
        [sys.executable, "-m", "factsieve", "facts", "--json", *options],
        cwd=room.folder,
        env=kept | environment_of(room.overrides, None),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line) for line in shown.stdout.splitlines()]


def test_what_was_true_and_what_was_believed_has_an_answer_at_every_instant(site):
    """Four statements about one slot arrive in the order third, first, fourth, second.

    At each moment of learning (known-at) and for each day (as-of) the answer is the latest statement up to that day among those
    that had arrived; before the first of them nothing was true. What the commands say is what the store says.
    """
    arrival = [2, 0, 3, 1]
    with site.room() as room:
        room.worker()
        learned = [datetime.now(UTC)]
        for number, day in enumerate(arrival, start=1):
            room.send([room.candidate(text_of(day), slot="api.port", occurred_at=at(day), ce_id=f"day-{day}")])
            room.until_decided(number)
            room.until_committed()
            learned.append(datetime.now(UTC))
        room.outcome().check()
        instants = [
            at(0) - DAY,
            *(at(day) + shift for day in range(4) for shift in (timedelta(0), DAY / 2)),
            at(3) + 30 * DAY,
        ]
        for known, moment in enumerate(learned):
            arrived = arrival[:known]
            for instant in instants:
                said = [day for day in sorted(arrived) if at(day) <= instant]
                expected = [text_of(said[-1])] if said else []
                found = room.facts("team", as_of=instant, known_at=moment)
                assert [fact.text for fact in found] == expected, (
                    f"as of {instant}, known at {moment} ({known} arrived)"
                )
            believed = room.facts("team", known_at=moment)
            assert [fact.text for fact in believed] == [text_of(day) for day in sorted(arrived)[-1:]]
        for instant in instants:
            said = [day for day in range(4) if at(day) <= instant]
            found = room.facts("team", as_of=instant)
            assert [fact.text for fact in found] == [text_of(day) for day in said[-1:]]
        half_day = times.format_rfc3339(at(1) + DAY / 2)
        assert [one["text"] for one in facts(room)] == [text_of(3)]
        assert [one["text"] for one in facts(room, "--as-of", half_day)] == [text_of(1)]
        early = times.format_rfc3339(learned[2])
        assert [one["text"] for one in facts(room, "--as-of", half_day, "--known-at", early)] == [text_of(0)]
        assert [one["text"] for one in facts(room, "--known-at", early)] == [text_of(2)]
        assert facts(room, "--as-of", "2026-01-01") == []


def test_every_order_of_arrival_ends_in_the_same_timeline(site):
    """All 24 orders of four statements about one slot, each in a namespace of its own."""
    orders = list(itertools.permutations(range(4)))
    with site.room() as room:
        room.worker(wait=False)
        room.send(
            [
                room.candidate(
                    text_of(day), slot="api.port", occurred_at=at(day), namespace=f"order-{'-'.join(map(str, order))}"
                )
                for order in orders
                for day in order
            ]
        )
        room.until_decided(4 * len(orders))
        room.until_committed()
        room.outcome().check()
        timelines = {}
        for fact in room.facts(None, current_only=False):
            if fact.status in ("current", "past") and fact.valid_from < fact.valid_to:
                timelines.setdefault(fact.namespace, []).append((fact.valid_from, fact.valid_to, fact.text))
        assert len(timelines) == len(orders)
        ends = [at(1), at(2), at(3), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)]
        expected = [(at(day), ends[day], text_of(day)) for day in range(4)]
        assert all(sorted(found) == expected for found in timelines.values()), timelines


def test_the_same_statement_of_two_tenants_is_two_facts(site):
    """Nothing of one namespace is met in another: not the exact text, not a neighbour, not a slot, not the hash window."""
    statements = [
        ("The api listens on port 8080.", "api.port", Source.REMEMBER),
        ("Tests passed.", None, Source.POST_TOOL_USE),
        ("The api of ours listens on port 8080.", None, Source.REMEMBER),
    ]
    said = [text for text, _, _ in statements]
    with site.room() as room:
        room.worker(wait=False)
        room.send(
            [
                room.candidate(text, namespace=namespace, slot=slot, source=source, occurred_at=START)
                for text, slot, source in statements
                for namespace in ("team-a", "team-b")
            ]
        )
        room.until_decided(2 * len(said))
        room.until_committed()
        outcome = room.outcome()
        outcome.check()
        per_tenant = {}
        for one in outcome.decisions.values():
            seen = (one["text"], one["decision"], one["reason"], one["dedup_signal"]["max_sim"])
            per_tenant.setdefault(one["namespace"], []).append(seen)
            linked = [
                one["fact_id"],
                one["matched_id"],
                *one["superseded_ids"],
                *(note["fact_id"] for note in one["neighbours"]),
            ]
            assert {outcome.facts[fact_id].namespace for fact_id in linked if fact_id} <= {one["namespace"]}
        assert sorted(per_tenant["team-a"]) == sorted(per_tenant["team-b"])
        assert {fact.namespace: fact.text for fact in room.facts() if fact.slot} == dict.fromkeys(
            ("team-a", "team-b"), said[0]
        )
        assert len({fact.fact_id for fact in room.facts() if fact.text == said[1]}) == 2
