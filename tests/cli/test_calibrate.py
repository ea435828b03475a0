"""`factsieve calibrate` with the real embedder and guard: a sweep, a choice, a profile that works, a picture, and errors by line."""

import json
import sys
from pathlib import Path

import pytest

from factsieve.assembly.settings import load_settings
from factsieve.assembly.wiring import build_embedder
from factsieve.cli.main import app
from factsieve.cli.main import run as run_command
from factsieve.core.profile import decode_profile

sys.path.insert(0, str(Path(__file__).parents[1] / "adapters"))
from tiny_onnx import write_nli

ROWS = [
    ("The deadline for the report is 15 October.", "The report's deadline is 15 October.", "duplicate", "paraphrase"),
    (
        "The deadline for the report is 15 October.",
        "The deadline for the report is 16 October.",
        "contradiction",
        "date",
    ),
    ("Ana lives in Porto.", "Ana lives in Porto!", "duplicate", "format"),
    ("Ana lives in Porto.", "Ana does not live in Porto.", "contradiction", "negation"),
    ("The gate closes at 23:30 every day.", "The gate closes at 11:30 p.m. every day.", "duplicate", "format"),
    ("The request timeout is 30 seconds.", "The request timeout is 90 seconds.", "contradiction", "number"),
    ("Zoe knows Rust.", "The office has a red door.", "distinct", "other"),
]


def written(folder: Path, rows=ROWS, name="pairs.jsonl") -> str:
    path = folder / name
    lines = [
        json.dumps({"id": str(n), "a": a, "b": b, "relation": relation, "category": category})
        for n, (a, b, relation, category) in enumerate(rows)
    ]
    path.write_text("\n".join([*lines[:1], "", *lines[1:]]) + "\n", encoding="utf-8")
    return str(path)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(args=list(words), prog_name="factsieve")
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_sweep_says_what_each_threshold_costs(tmp_path, capsys):
    """The number alone skips contradictions that the guard keeps back at the same threshold, and duplicates stay skipped."""
    assert run("calibrate", "--pairs", written(tmp_path), "--judge", "rules", "--budget", "0.0", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    points = {(point["gate"], point["skip_threshold"]): point for point in found["points"]}
    assert len(points) == 2 * 16
    number, guard = points["number", 0.88], points["guard", 0.88]
    assert (number["duplicates"], number["others"]) == (3, 4)
    assert number["false_skips"] >= 2
    assert guard["false_skips"] == 0
    assert guard["true_skips"] == 3
    assert number["groups"]["pairs / contradiction / date"] == {"false_skips": 1, "pairs": 1}
    assert found["chosen"]["false_skip_rate"] == 0.0
    assert found["chosen"]["recall"] == max(p["recall"] for p in found["points"] if p["gate"] == "guard")


def test_the_profile_is_of_this_embedder_and_puts_the_choice_to_use(tmp_path, capsys):
    """What is written can be named in the settings: its thresholds are in force, and they fit the embedder."""
    out, picture = tmp_path / "p.json", tmp_path / "p.png"
    words = ["--pick", "recall", "--recall", "0.6", "--name", "mine", "--profile", str(out), "--plot", str(picture)]
    assert run("calibrate", "--pairs", written(tmp_path), "--keep", str(tmp_path / "k.sqlite"), *words) == 0
    told = capsys.readouterr()
    profile = decode_profile(out.read_bytes())
    settings = load_settings({"policy.profile_path": str(out)}, environ={})
    policy = settings.policies().default
    assert (policy.profile, policy.skip_threshold) == ("mine", profile.skip_threshold)
    assert f"skip from {profile.skip_threshold:g} on" in " ".join(told.out.split())
    assert profile.measured.rows == {"pairs": 7}
    assert build_embedder(settings).fingerprint == profile.embedder_fingerprint
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_model_that_tells_entailment_has_that_swept_too(tmp_path, capsys):
    """The profile holds both cut-offs with the model's fingerprint, and the same command with it in force is accepted."""
    folder, out = write_nli(tmp_path / "tiny"), tmp_path / "p.json"
    rows = [
        ("ana is alive", "ana is living", "duplicate", ""),
        ("the door", "the door extra", "distinct", ""),
    ]
    words = [
        "--judge",
        f"nli:{folder}",
        "--from",
        "0.5",
        "--pick",
        "f1",
        "--profile",
        str(out),
        "--plot",
        "p.png",
        "--json",
    ]
    assert run("calibrate", "--pairs", written(tmp_path, rows), *words) == 0
    found = json.loads(capsys.readouterr().out)
    profile = decode_profile(out.read_bytes())
    assert found["chosen"]["nli_veto"] == profile.nli.veto
    assert found["chosen"]["nli_entailment"] == profile.nli.entailment
    assert {point["gate"] for point in found["points"]} == {"number", "guard", "judge"}
    assert len({point["nli_veto"] for point in found["vetoes"]}) == 11
    again = ["--judge", f"nli:{folder}", "--from", "0.5", "--pick", "f1", "--set", f"policy.profile_path={out}"]
    assert run("calibrate", "--pairs", written(tmp_path, rows), *again) == 0
    assert "entailment from" in capsys.readouterr().out


def test_a_low_choice_takes_the_lower_thresholds_along(tmp_path):
    """A skip threshold below the ambiguous one would be refused: the profile keeps the order."""
    out = tmp_path / "p.json"
    words = ["--from", "0.6", "--to", "0.65", "--pick", "f1", "--profile", str(out)]
    assert run("calibrate", "--pairs", written(tmp_path), *words) == 0
    profile = decode_profile(out.read_bytes())
    assert profile.supersede_threshold == profile.ambiguous_threshold == profile.skip_threshold <= 0.65


def test_an_unreachable_wish_is_a_no(tmp_path, capsys):
    """Exit code 1, no profile, and what to do."""
    out = tmp_path / "p.json"
    never = [("Ana lives in Porto.", "Ana lives in Porto!", "distinct", "odd"), ROWS[0]]
    words = ["--to", "0.85", "--budget", "0", "--profile", str(out)]
    assert run("calibrate", "--pairs", written(tmp_path, never), *words) == 1
    assert "ask for less" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_every_bad_row_is_named_by_line_and_field(tmp_path, capsys):
    """All of them at once, and nothing is measured."""
    path = tmp_path / "bad.jsonl"
    path.write_text(
        '{"id": "1", "a": "x", "b": "y", "relation": "same"}\n'
        "no json\n"
        '{"id": "3", "a": "x", "b": "  ", "relation": "distinct"}\n'
        '{"id": null, "a": 5, "relation": "distinct", "b": "y", "category": 7}\n'
        "[1]\n"
    )
    with pytest.raises(SystemExit) as ended:
        run_command(["calibrate", "--pairs", str(path)])
    assert ended.value.code == 2
    told = " ".join(capsys.readouterr().err.split())
    for part in (
        'line 1: relation is "same": give one of duplicate, update, contradiction, distinct',
        "line 2: is not JSON",
        'line 3: b is " "',
        "line 4: a is 5",
        "line 4: id is missing",
        "line 4: category is 7",
        "line 5: is not a JSON object",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--from", "0.9", "--to", "0.8"], "no range"),
        (["--step", "0"], "no range"),
        (["--plot", "missing/p.png"], "can not be written"),
        (["--profile", "missing/p.json"], "can not be written"),
    ],
)
def test_what_can_not_be_done_is_said(tmp_path, capsys, words, named):
    """Wrong usage ends with exit code 2 and one line."""
    with pytest.raises(SystemExit) as ended:
        run_command(["calibrate", "--pairs", written(tmp_path), *words])
    assert ended.value.code == 2
    assert named in " ".join(capsys.readouterr().err.split())


def test_files_of_one_name_and_empty_files_are_refused(tmp_path, capsys):
    """Rows are told apart by their file's name."""
    (tmp_path / "other").mkdir()
    (tmp_path / "empty.jsonl").write_text("\n")
    pairs = [written(tmp_path), written(tmp_path / "other")]
    for words, named in (
        (["--pairs", pairs[0], "--pairs", pairs[1]], "same name"),
        (["--pairs", "empty.jsonl"], "has no rows"),
        (["--pairs", "absent.jsonl"], "absent.jsonl"),
    ):
        with pytest.raises(SystemExit) as ended:
            run_command(["calibrate", *words])
        assert ended.value.code == 2
        assert named in " ".join(capsys.readouterr().err.split())
