"""The tool finds what a weak test misses, and nothing else; it touches no file."""

import ast
from functools import cache
from pathlib import Path

import pytest

from mutation.__main__ import explained, main, sample, survivors
from mutation.mutants import Mutant, mutants_of
from mutation.targets import TARGETS
from mutation.trial import ROOT, Target, TrialError, Verdict, attempt, measure

TALLY = '''"""Counts."""

LIMIT: int = 3


def is_over(count: int) -> bool:
    """Return whether a count is above the limit."""
    return count > LIMIT
'''
WEAK = """from tally import is_over


def test_far_off():
    assert is_over(100)
    assert not is_over(-100)
"""
STRONG = """from tally import is_over


def test_at_the_limit():
    assert is_over(4)
    assert not is_over(3)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a module and two tests of it, of which one is weak."""
    for name, text in {"tally.py": TALLY, "test_weak.py": WEAK, "test_strong.py": STRONG}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def target(*tests: str) -> Target:
    return Target("tally", "tally.py", tests)


def boundary() -> Mutant:
    return next(one for one in mutants_of(TALLY, "tally.py") if one.text == "(count >= LIMIT)")


def test_a_weak_test_lets_a_mutant_live_and_a_strong_one_does_not(project: Path) -> None:
    """At its boundary a comparison is only kept by a test that goes there. The file stays as it was."""
    assert attempt(target("test_weak.py"), boundary(), 60, project) is Verdict.SURVIVED
    assert attempt(target("test_strong.py"), boundary(), 60, project) is Verdict.KILLED
    assert (project / "tally.py").read_text(encoding="utf-8") == TALLY
    assert sorted(path.name for path in project.iterdir()) == ["tally.py", "test_strong.py", "test_weak.py"]


def test_a_mutant_without_end_is_stopped(project: Path) -> None:
    """A test that does not come to an end counts as noticed, and is told apart."""
    endless = "while True:\n        pass"
    start = TALLY.index("return count")
    mutant = Mutant("tally.py", start, len(TALLY.rstrip()), endless, 8, "loop", "endless")
    assert attempt(target("test_weak.py"), mutant, 3, project) is Verdict.TIMED_OUT


def test_tests_that_fail_or_look_elsewhere_prove_nothing(project: Path) -> None:
    """Unbroken code must pass, and its tests must be of that code: else the trial says so, and gives no verdict."""
    (project / "test_red.py").write_text("import tally\n\n\ndef test_red():\n    assert not tally\n", encoding="utf-8")
    with pytest.raises(TrialError, match="fail as it is"):
        measure(target("test_red.py"), project)
    (project / "test_other.py").write_text("def test_other():\n    assert 1\n", encoding="utf-8")
    with pytest.raises(TrialError, match="do not import tally"):
        measure(target("test_other.py"), project)


def test_what_is_broken() -> None:
    """Each kind of change is made once, and only what is a program of its own is kept."""
    source = '''"""Doc."""
import asyncio
async def f(x: int, names: list[str] = [], *, flag: bool = False) -> int:
    """Doc 1."""
    assert x != 7
    if x < 3 and not flag:
        raise ValueError(f"{x + 1} is low")
    while names:
        names.pop()
    for name in names:
        x += 2
    await asyncio.sleep(0)
    return min(x, 5) if flag else x * 2
'''
    made = {" ".join(one.name.split(": ", 1)[1].split()) for one in mutants_of(source, "f.py")}
    assert {
        'early return: if x < 3 and not flag: raise ValueError(f"{x + 1} is low") -> return None',
        "condition: x < 3 and not flag -> True",
        "condition: x < 3 and not flag -> False",
        "boolean: x < 3 and not flag -> (x < 3 or not flag)",
        "left out: x < 3 and not flag -> (x < 3)",
        "left out: x < 3 and not flag -> (not flag)",
        "compared: x < 3 -> (x <= 3)",
        "compared: x < 3 -> (x >= 3)",
        "number: 3 -> (4)",
        "number: 3 -> (2)",
        "sign: not flag -> (flag)",
        "condition: names -> False",
        "loop: names -> ()",
        "removed: x += 2 -> pass",
        "computed: x += 2 -> x = x - 2",
        "removed: await asyncio.sleep(0) -> pass",
        "not awaited: await asyncio.sleep(0) -> (asyncio.sleep(0))",
        "return: return min(x, 5) if flag else x * 2 -> return None",
        "condition: min(x, 5) if flag else x * 2 -> (min(x, 5))",
        "called: min -> max",
        "computed: x * 2 -> (x // 2)",
        "flag: False -> True",
    } <= made
    assert not any("7" in one.split(": ")[1] or "x + 1 ->" in one or "Doc" in one for one in made)


@cache
def mutants_in(path: str) -> list[Mutant]:
    return mutants_of((ROOT / path).read_text(encoding="utf-8"), path)


@pytest.mark.parametrize("name", TARGETS)
def test_mutants_of_the_files_are_programs(name: str) -> None:
    """All that is tried of a file parses, differs from the file, and has a name of its own."""
    path = TARGETS[name].path
    source = (ROOT / path).read_text(encoding="utf-8")
    every = mutants_in(path)
    assert len(every) > 50
    assert len({mutant.name for mutant in every}) == len(every)
    for mutant in sample(every, 20, 3):
        assert mutant.applied(source) != source
        ast.parse(mutant.applied(source))


def test_tests_of_targets_exist() -> None:
    """Every test that a mutant is tried against is there."""
    for one in TARGETS.values():
        assert [test for test in one.tests if not (ROOT / test.partition("::")[0]).is_file()] == []


def test_a_seed_draws_the_same_mutants() -> None:
    """A sample is repeatable; 0 stands for all."""
    every = mutants_of(TALLY, "tally.py")
    assert sample(every, 3, 1) == sample(reversed(every), 3, 1)
    assert sample(every, 0, 1) == sample(every, 1000, 2) == sorted(every)
    assert len({tuple(sample(every, 3, seed)) for seed in range(20)}) > 1


def test_what_is_explained_exists() -> None:
    """An explanation belongs to a mutant that there is: a changed line loses its excuse."""
    names = {f"{path}: {one.name}" for path in {key.split(": ")[0] for key in explained()} for one in mutants_in(path)}
    assert set(explained()) <= names


def test_an_unknown_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the files that there are."""
    with pytest.raises(SystemExit) as ended:
        main(["--files", "offset"])
    assert ended.value.code == 2
    assert "no such file: offset; there are offsets, timeline" in capsys.readouterr().err


def test_the_list_names_mutants(capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` says what would be tried."""
    assert main(["--files", "offsets", "--mutants", "5", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert all(line.startswith("workers/factsieve/core/offsets.py:") for line in lines)


def test_survivors_are_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are read from the output of a run, from its verdicts and from its list alike, and nothing else is."""
    offsets = TARGETS["offsets"].path
    first, second, third = mutants_in(offsets)[:3]
    output = "\n".join(
        [
            "the tests hold unbroken; limits: x 20 s",
            f"1/3 killed: {offsets}:{first.line}: {first.name}",
            f"2/3 survived: {offsets}:{second.line}: {second.name}",
            f"survived: {offsets}:{third.line}: {third.name}",
            "  -    survived: nothing",
        ]
    )
    assert survivors(output) == {f"{offsets}: {second.name}", f"{offsets}: {third.name}"}
    (tmp_path / "output").write_text(output, encoding="utf-8")
    assert main(["--again", str(tmp_path / "output"), "--mutants", "0", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed == [f"{offsets}:{one.line}: {one.name}" for one in (second, third)]
