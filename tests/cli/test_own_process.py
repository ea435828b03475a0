"""What a command does with the process that it runs in."""

import gc

import pytest

from factsieve.assembly import memory
from factsieve.cli import main


@pytest.mark.usefixtures("collector")
def test_a_process_of_its_own_looks_for_garbage_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of decisions keeps some hundred objects of each. Whoever calls a command from their own program keeps theirs as it is."""
    before = gc.get_threshold()
    assert before != memory.COLLECT_AFTER
    with pytest.raises(SystemExit):
        main.run(["--version"])
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
    monkeypatch.setattr("sys.argv", ["factsieve", "--version"])
    with pytest.raises(SystemExit):
        main.run()
    assert gc.get_threshold() == memory.COLLECT_AFTER
    assert gc.get_freeze_count() > 10_000
