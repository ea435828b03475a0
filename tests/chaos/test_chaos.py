"""A short run of what `make chaos` does for long, and that its own instruments are sharp."""

import json
import random
from datetime import UTC, datetime

import pytest

from chaos import judge, stream
from chaos.run import Plan, run_chaos
from chaos.schedule import BROKER, DISTURBING, make_schedule
from factsieve.wire.topics import Topics

SEED = 2


@pytest.mark.stack
@pytest.mark.slow
def test_a_run_full_of_faults_comes_to_the_rebuilt_state(tmp_path):
    """Five faults over 300 records with two workers: facts, ledger, decisions, records and counters are those of an undisturbed engine."""
    lines: list[str] = []
    report = run_chaos(Plan(events=300, faults=5, seed=SEED, broker="local"), tmp_path / "stage", lines.append)
    assert report.failures == []
    assert sum(report.happened.values()) == 5
    assert sum("worker" in line and " decided " in line for line in lines) >= 5, "the schedule is printed"


@pytest.mark.kafka
@pytest.mark.stack
@pytest.mark.slow
def test_a_run_full_of_faults_on_apache_kafka(tmp_path):
    """The same on a broker that is killed and stopped too."""
    report = run_chaos(Plan(events=500, faults=8, seed=SEED, broker="apache"), tmp_path / "stage", print)
    assert report.failures == []


def test_one_seed_makes_one_stream_and_one_schedule():
    """A run that failed can be had again; another seed is another run."""
    now = datetime(2026, 6, 1, tzinfo=UTC)
    first, second, other = (stream.make_stream(seed, 500, Topics(), now) for seed in (1, 1, 2))
    assert first == second != other
    assert make_schedule(1, 50, 500, durable_broker=True) == make_schedule(1, 50, 500, durable_broker=True)
    assert make_schedule(1, 50, 500, durable_broker=True) != make_schedule(2, 50, 500, durable_broker=True)


@pytest.mark.parametrize("durable", [False, True])
def test_a_long_schedule_holds_every_kind_of_fault(durable):
    """Fifty faults leave no kind out, and none but a durable broker is killed."""
    kinds = {fault.kind for fault in make_schedule(3, 50, 20_000, durable_broker=durable)}
    assert kinds == set(DISTURBING) | (set(BROKER) if durable else set())


def test_the_stream_holds_what_streams_hold():
    """Repeats, late statements, slots, rubbish, repeated events, commands and erasures are all in it."""
    made = stream.make_stream(1, 2_000, Topics(), datetime(2026, 6, 1, tzinfo=UTC))
    values = [message.value for message in made.messages]
    types = {dict(message.headers)["ce_type"].decode() for message in made.messages}
    assert types == {f"fact.{kind}.v1" for kind in ("candidate", "retract", "revert", "review", "erase")}
    assert len(set(values)) < len(values)
    assert b"{rubbish" in values
    assert any(b'"slot"' in (value or b"") for value in values)
    names = [(message.key, dict(message.headers)["ce_id"]) for message in made.messages]
    assert len(set(names)) < made.events < len(names)


def test_the_judge_answers_alike_in_any_order():
    """What it says does not depend on the order of neighbours, so that similarities that differ in a last digit change nothing."""
    texts = [
        "The harbor service listens on port 8001.",
        "Port 8002 is where the harbor service listens.",
        "ana likes tea very much.",
    ]
    stored = [{"text": text, "stated_at": f"2026-03-0{n}T00:00:00Z", "slot": None} for n, text in enumerate(texts, 1)]
    answers = set()
    for seed in range(6):
        shuffled = random.Random(seed).sample(stored, k=3)
        numbered = [{**one, "index": index} for index, one in enumerate(shuffled)]
        document = {
            "candidate": {"text": "The harbor service listens on port 8003."},
            "stored": numbered,
            "allowed": ["add", "supersede"],
        }
        said = json.loads(judge.answer(document).content)
        answers.add((said["decision"], frozenset(shuffled[index]["text"] for index in said["targets"])))
    assert answers == {("supersede", frozenset(texts[:2]))}
