"""The packaged demo input is what it promises to be."""

import itertools
import json
from collections import Counter
from datetime import UTC, datetime
from importlib import resources

import pytest

from factsieve.core import ids
from factsieve.core.facts import Candidate, Record, Source
from factsieve.wire.inbound import decode
from factsieve.wire.topics import Limits

LINES = [
    json.loads(line)
    for line in (resources.files("factsieve.cli") / "demo" / "facts.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_every_line_is_an_acceptable_candidate_with_an_id_of_its_own() -> None:
    """The codec takes each line as it is, and no id stands twice in a namespace."""
    for line in LINES:
        value = {name: field for name, field in line.items() if name != "id"}
        record = Record("candidate-facts", 0, 0, 0, line["namespace"].encode(), json.dumps(value).encode())
        candidate = decode(record, Limits(), datetime.now(UTC))
        assert isinstance(candidate, Candidate)
        assert candidate.text == line["text"]
    names = Counter((line["namespace"], line["id"]) for line in LINES)
    assert max(names.values()) == 1


def test_it_is_a_few_hundred_statements_of_several_namespaces_sources_and_languages() -> None:
    """Two namespaces and more, every source, texts outside ASCII, slots and statements without one."""
    assert 250 <= len(LINES) <= 350
    assert len({line["namespace"] for line in LINES}) >= 2
    assert {line["source"] for line in LINES} == {source.value for source in Source}
    assert any(not line["text"].isascii() for line in LINES)
    assert 0 < sum("slot" in line for line in LINES) < len(LINES) / 2


def test_it_holds_what_the_demo_is_to_show() -> None:
    """Late arrivals, a value that comes back, the same relative words a month apart, and tool loops within the hash window."""
    times = [(line["namespace"], datetime.fromisoformat(line["occurred_at"])) for line in LINES]
    latest: dict[str, datetime] = {}
    late = 0
    for namespace, at in times:
        late += at < latest.get(namespace, at)
        latest[namespace] = max(at, latest.get(namespace, at))
    assert 3 <= late <= 20

    ports = [line["text"] for line in LINES if line.get("slot") == "harbor-api.port"]
    assert ports[0] == ports[2] != ports[1]

    visits = [
        datetime.fromisoformat(line["occurred_at"]) for line in LINES if line["text"].startswith("Dentist tomorrow")
    ]
    assert len({line["text"] for line in LINES if line["text"].startswith("Dentist tomorrow")}) == 1
    assert min(second - first for first, second in itertools.pairwise(visits)).days >= 28

    loops = Counter(ids.text_hash(line["text"], None) for line in LINES if line["source"] == "post_tool_use")
    assert sum(count >= 20 for count in loops.values()) >= 2


@pytest.mark.parametrize("line", [LINES[0], LINES[-1]], ids=["first", "last"])
def test_it_lies_in_the_past(line: dict[str, str]) -> None:
    """No statement is ahead of any clock that the demo may run under."""
    assert datetime.fromisoformat(line["occurred_at"]) < datetime(2026, 1, 1, tzinfo=UTC)
