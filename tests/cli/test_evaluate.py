"""`factsieve evaluate` through the real engine: what became of each pair, budgets, misses, the page, and scenarios."""

import json
import sys
from pathlib import Path

import pytest

from factsieve.cli.main import app
from factsieve.cli.main import run as run_command
from factsieve.cli.measure.pairs import read_pairs
from factsieve.cli.measure.scenarios import parse
from factsieve.core.errors import BadSettings

sys.path.insert(0, str(Path(__file__).parents[1] / "adapters"))
from tiny_onnx import write_nli

ROWS = [
    ("Ana lives in Porto.", "Ana lives in Porto!", "duplicate"),
    ("Ana lives in Porto.", "Ana lives in Porto.", "duplicate"),
    ("The request timeout is 30 seconds.", "The request timeout is 90 seconds.", "contradiction"),
    ("Ana lives in Porto.", "Ana lives in Lisbon now.", "contradiction"),
    ("Zoe knows Rust.", "The office has a red door.", "distinct"),
    ("Merged PR 260.", "Merged PR 480.", "distinct"),
]


def written(folder: Path, rows=ROWS, name="mine.jsonl") -> str:
    path = folder / name
    path.write_text(
        "".join(
            json.dumps({"id": n, "a": a, "b": b, "relation": label, "category": ""}) + "\n"
            for n, (a, b, label) in enumerate(rows)
        )
    )
    return str(path)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(args=list(words), prog_name="factsieve")
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_pair_is_decided_and_counted(tmp_path, capsys):
    """A repeat is skipped, a new value retires the old one, what both stands stays; every pair is in one cell."""
    assert run("evaluate", "--pairs", written(tmp_path), "--judge", "rules", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    mine = found["files"]["mine"]
    assert mine["confusion"]["duplicate"] == {"add": 0, "update": 0, "supersede": 0, "merge": 0, "skip": 2}
    assert mine["confusion"]["contradiction"]["supersede"] == 2
    assert mine["confusion"]["distinct"]["add"] == 2
    assert mine["rates"]["false_skips"]["part"] == 0
    assert mine["rates"]["right_retirements"] == {"part": 2, "whole": 2, "rate": 1.0}
    assert mine["rates"]["wrong_retirements"] == {"part": 0, "whole": 4, "rate": 0.0}
    assert found["judge"] == "rules"


def test_pairs_do_not_meet_each_other(tmp_path, capsys):
    """The same statement in two pairs is stored in each of their namespaces."""
    rows = [("Ana lives in Porto.", "Bo likes tea.", "distinct")] * 3
    assert run("evaluate", "--pairs", written(tmp_path, rows), "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["files"]["mine"]["confusion"]["distinct"]["add"] == 3


def test_a_broken_budget_is_a_no(tmp_path, capsys):
    """Exit code 1 and the budget's name, the file, the judge and both numbers; a kept one passes."""
    odd = written(tmp_path, [("Ana lives in Porto.", "Ana lives in Porto!", "contradiction"), *ROWS[:3]])
    assert run("evaluate", "--pairs", odd, "--max-false-skips", "0.4", "--min-yield", "0.9") == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "Broken: false skips of mine with rules are 50.0 % (1/2), at most 40.0% was asked for." in told
    assert "yield" not in told
    assert run("evaluate", "--pairs", odd, "--max-false-skips", "0.5", "--max-wrong-retirements", "0") == 0


def test_misses_are_listed_worst_first(tmp_path, capsys):
    """On the screen the first ones, in the file all of them, with their texts."""
    odd = [
        ("Ana lives in Porto.", "Ana lives in Porto!", "contradiction"),
        ("Bo likes tea.", "Cy sold a car.", "duplicate"),
    ]
    assert run("evaluate", "--pairs", written(tmp_path, odd), "--misses", "m.jsonl", "--show", "1") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "false skip" in told
    assert "missed skip" not in told
    rows = [json.loads(line) for line in Path("m.jsonl").read_text().splitlines()]
    assert [(row["miss"], row["pair_id"]) for row in rows] == [("false skip", "0"), ("missed skip", "1")]
    assert rows[1]["b"] == "Cy sold a car."


def test_the_page_tells_numbers_and_no_texts(tmp_path, capsys):
    """One table for each judge side by side; no statement of the data is on it."""
    folder = write_nli(tmp_path / "tiny")
    words = ["--judge", "rules", "--judge", f"nli:{folder}", "--report", "q.md", "--costs", "--show", "0"]
    assert run("evaluate", "--pairs", written(tmp_path, ROWS, "situatedqa_dev.jsonl"), *words) == 0
    page = Path("q.md").read_text()
    assert "## Sets with rules\n" in page
    assert "## Sets with nli:tiny\n" in page
    assert (
        "| contradictions whose stored statement is retired | situatedqa_dev | at least 80 % | 100.0 % (2/2) | yes |"
        in page
    )
    assert "| NLI: one pair, both directions (tiny) |" in page
    assert not any(text in page for row in ROWS for text in row[:2])
    capsys.readouterr()


SCORER = """
import json, sys
if sys.argv[1] == "flatten":
    for line in open(sys.argv[2]):
        print(line, end="")
elif len(sys.argv) == 5:
    rows = [json.loads(line) for line in open(sys.argv[3])]
    print("FAIL b-1 (tier 2)\\n       missed skip: #1")
    print("kind                      tier 1    tier 2")
    print("two words                  1/1       -")
    print(f"all                        1/1       {len(rows)}/3")
    print("\\noverall 1/4 scenarios, of those that need a judge 0/0\\n")
    print("decisions                 tier 1    tier 2")
    print("false skip                     0         1")
    sys.exit(1)
else:
    sys.exit("no")
"""


def test_scenarios_run_through_the_engine_and_their_own_scorer(tmp_path, capsys):
    """The scorer flattens and grades; its tables come out as numbers, and a failed tier is a grade, not an error."""
    (tmp_path / "score.py").write_text(SCORER)
    line = json.dumps({"id": "a/0", "namespace": "a", "text": "Ana lives in Porto.", "source": "remember"})
    (tmp_path / "s.jsonl").write_text(f"{line}\n{line.replace('a/0', 'a/1')}\n")
    words = ["--scenarios", "s.jsonl", "--scorer", "score.py", "--json"]
    assert run("evaluate", "--pairs", written(tmp_path), *words) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["scenarios"]["kinds"] == {"two words": [[1, 1], [0, 0]], "all": [[1, 1], [2, 3]]}
    assert found["scenarios"]["problems"] == {"false skip": [0, 1]}


def test_a_scorer_that_fails_is_told_of(tmp_path, capsys):
    """Its own words, exit code 2; and both files must be given."""
    (tmp_path / "score.py").write_text("import sys; sys.exit('broken scorer')")
    (tmp_path / "s.jsonl").write_text("")
    for words, named in (
        (["--scenarios", "s.jsonl", "--scorer", "score.py"], "broken scorer"),
        (["--scenarios", "s.jsonl"], "belong together"),
    ):
        with pytest.raises(SystemExit) as ended:
            run_command(["evaluate", "--pairs", written(tmp_path), *words])
        assert ended.value.code == 2
        assert named in " ".join(capsys.readouterr().err.split())


def test_a_scorer_without_tables_is_refused():
    """Better no grade than a wrong one."""
    with pytest.raises(BadSettings, match="no tables"):
        parse("all fine\n")


def test_failed_scenarios_are_known_by_name():
    """With their tier."""
    text = "FAIL b-1 (tier 2)\nok   c (tier 1)\nkind  tier 1 tier 2\nall  1/1  0/1\n\ndecisions tier 1 tier 2\nlost fact 0 0\n"
    assert parse(text).failed == {"b-1": 2}


def test_a_pair_needs_no_category(tmp_path):
    """Without one its label stands in."""
    (pair,) = read_pairs([written(tmp_path, ROWS[:1])])
    assert (pair.data, pair.pair_id, pair.category) == ("mine", "0", "duplicate")
