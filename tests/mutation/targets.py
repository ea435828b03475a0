"""Which files are broken, and which tests have to notice."""

from typing import Final

from mutation.trial import Target

_ENGINE: Final = (
    "tests/engine/test_engine.py",
    "tests/engine/test_lane.py",
    "tests/engine/test_wave.py",
    "tests/engine/test_window.py",
    "tests/engine/test_performer.py",
    "tests/engine/test_intake.py",
    "tests/engine/test_pauses.py",
    "tests/engine/test_poison.py",
    "tests/engine/test_dialogues.py",
    "tests/engine/test_replays.py",
    "tests/engine/test_reports.py",
    "tests/engine/test_commands.py",
    "tests/engine/test_limits.py",
    "tests/engine/test_ledger_fields.py",
    "tests/engine/test_erase_recovery.py",
    "tests/engine/test_quarantine.py",
    "tests/engine/test_overlay.py",
    "tests/engine/test_batcher.py",
    "tests/engine/test_downstream.py",
    "tests/engine/test_ahead.py",
    "tests/engine/test_sizes.py::test_what_can_not_be_told_is_refused_and_the_rest_goes_on",
    "tests/engine/test_sizes.py::test_at_the_bound_it_is_told",
)
"""Cheap ones: most mutants are noticed by them."""
THOROUGH: Final = (
    "tests/mutation/seeds_hold.py",
    "tests/engine/test_recovery.py",
    "tests/engine/test_equivalence.py::test_waves_equal_one_at_a_time",
    "tests/engine/test_command_properties.py",
)
"""Of the engine's tests those that take half of the time, by many examples and seeds."""
_PACKAGE: Final = "workers/factsieve"


def _engine(room: str, name: str, own: tuple[str, ...] = ()) -> Target:
    rest = tuple(test for test in (*_ENGINE, *THOROUGH) if test not in own)
    return Target(f"factsieve.{room}.{name}", f"{_PACKAGE}/{room}/{name}.py", (*own, *rest))


TARGETS: Final = {
    "offsets": Target("factsieve.core.offsets", f"{_PACKAGE}/core/offsets.py", ("tests/core/test_offsets.py",)),
    "timeline": _engine("core", "timeline", ("tests/core/test_timeline.py", "tests/engine/test_dialogues.py")),
    "batcher": _engine("engine", "batcher", ("tests/engine/test_batcher.py",)),
    "lane": _engine("engine", "lane", ("tests/engine/test_lane.py",)),
    "wave": _engine("engine", "wave", ("tests/engine/test_wave.py",)),
    "perform": _engine("engine", "perform", ("tests/engine/test_performer.py",)),
    "overlay": _engine("engine", "overlay", ("tests/engine/test_overlay.py",)),
    "engine": _engine("engine", "engine", ("tests/engine/test_intake.py",)),
    "poison": _engine("engine", "poison", ("tests/engine/test_quarantine.py", "tests/engine/test_poison.py")),
}
