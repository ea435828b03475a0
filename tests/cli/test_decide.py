"""`factsieve decide` end to end with the real embedder: a dozen lines, one decision each, in input order."""

import json
from pathlib import Path
from typing import Any

import pytest

from factsieve.cli.main import app
from factsieve.cli.telling import telling
from factsieve.wire.values import DecisionValue

PORT = "The Harbor API listens on port"
LINES: list[dict[str, Any]] = [
    {"id": "a", "text": f"{PORT} 8080.", "slot": "api.port", "occurred_at": "2025-01-01T09:00:00Z"},
    {"id": "b", "text": "Parcels are stored in Postgres.", "occurred_at": "2025-01-01T09:01:00Z"},
    {"id": "c", "text": f"{PORT} 8080.", "slot": "api.port", "occurred_at": "2025-01-02T09:00:00Z"},
    {"id": "d", "text": f"{PORT} 8081.", "slot": "api.port", "occurred_at": "2025-01-03T09:00:00Z"},
    {"id": "e", "text": f"{PORT} 8080.", "slot": "api.port", "occurred_at": "2025-01-04T09:00:00Z"},
    {"id": "f", "text": "Parcels are stored in Postgres.", "namespace": "other", "occurred_at": "2025-01-05T09:00:00Z"},
    *(
        {"id": f"g{n}", "text": "go test: FAIL", "source": "post_tool_use", "occurred_at": f"2025-01-06T09:00:{n:02}Z"}
        for n in range(3)
    ),
    {"id": "h", "text": f"{PORT} 8090.", "slot": "api.port", "occurred_at": "2025-01-02T12:00:00Z"},
    {"id": "i", "text": "", "occurred_at": "2025-01-07T09:00:00Z"},
    {"id": "j", "text": "日本語のテスト", "occurred_at": "2025-01-07T09:00:00Z"},
]
EXPECTED = ["add", "add", "skip", "supersede", "supersede", "add", "add", "skip", "skip", "add", None, "add"]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(args=list(words), prog_name="factsieve")
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("decide")
    raw = [json.dumps(line).encode() for line in LINES]
    (folder / "in.jsonl").write_bytes(b"\n".join([*raw[:2], b"", b"no json", *raw[2:]]))
    assert (
        run("decide", "--input", str(folder / "in.jsonl"), "--output", str(folder / "out.jsonl"), "--judge", "rules")
        == 1
    )
    return [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]


def good(decided: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in decided if not one["event_id"].startswith("line ")]


def test_there_is_one_decision_a_line_in_input_order(decided: list[dict[str, Any]]) -> None:
    """Blank lines give none; what can not be read has its place too."""
    assert [one["event_id"] for one in decided] == ["a", "b", "line 4", *(line["id"] for line in LINES[2:])]
    assert [one["decision"] for one in good(decided)] == EXPECTED


def test_a_decision_has_the_fields_of_the_decision_topic(decided: list[dict[str, Any]]) -> None:
    """The lines are values of `fact-decisions`, rejects at least with what both have in common."""
    for one in decided:
        assert {"event_id", "namespace", "decision", "reason", "dedup_signal"} <= set(one)
        if one["decision"] is not None:
            assert set(DecisionValue.__struct_fields__) == set(one)
        else:
            assert one["dedup_signal"] == {"is_update": False, "max_sim": 0.0, "matched_id": None, "filtered": True}


def test_bad_lines_are_named_by_their_number(decided: list[dict[str, Any]]) -> None:
    """In the file, and so in an editor: blank lines count."""
    errors = {one["event_id"]: one["error"] for one in decided if one["decision"] is None}
    assert errors["line 4"]["code"] == "not_json"
    assert errors["line 4"]["message"].startswith("line 4: ")
    assert errors["i"]["code"] == "empty_text"
    assert errors["i"]["message"].startswith("line 13: ")


def test_the_decisions_refer_to_each_other(decided: list[dict[str, Any]]) -> None:
    """A repeat names its fact, a supersession what it retired, a late statement is history, another namespace knows nothing."""
    by_id = {one["event_id"]: one for one in decided}
    assert by_id["c"]["matched_id"] == by_id["a"]["fact_id"]
    assert by_id["d"]["superseded_ids"] == [by_id["a"]["fact_id"]]
    assert by_id["e"]["superseded_ids"] == [by_id["d"]["fact_id"]]
    assert by_id["e"]["fact_id"] not in (by_id["a"]["fact_id"], None)
    assert by_id["h"]["reason"] == "late_history"
    assert by_id["f"]["matched_id"] is None
    assert [by_id[f"g{n}"]["via"] for n in (1, 2)] == ["hash_window"] * 2


def test_twice_the_same_file_gives_the_same_decisions(decided: list[dict[str, Any]], tmp_path: Path) -> None:
    """Ids derive from the events, so two runs agree on all but the time of day."""
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in LINES), encoding="utf-8")
    run("decide", "-i", str(path), "-o", str(tmp_path / "out.jsonl"))
    again = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    names = ("event_id", "decision", "reason", "decision_id", "fact_id", "matched_id", "superseded_ids")
    assert [[one.get(name) for name in names] for one in again if one["decision"]] == [
        [one.get(name) for name in names] for one in decided if one["decision"]
    ]


def test_each_kind_of_telling_decision_is_found(decided: list[dict[str, Any]]) -> None:
    """An exact repeat, a new value, a value that came back, a late one, a tool loop with its count; none stands twice."""
    rows = telling([one for one in decided if one["decision"] is not None])
    cases = {row.case: row for row in reversed(rows)}
    assert cases["exact repeat"].decision["event_id"] == "c"
    assert {row.decision["event_id"] for row in rows if row.case in ("new value", "and back again")} == {"d", "e"}
    assert cases["and back again"].decision["event_id"] == "e"
    assert cases["told late"].decision["event_id"] == "h"
    assert cases["tool loop"].times == 2
    assert len({row.decision["decision_id"] for row in rows}) == len(rows)
