"""Who is to blame for a failure, and which namespaces have stopped."""

import asyncio

import pytest

from factsieve.core.errors import BadInput, Bug
from factsieve.engine.poison import MAX_STOPPED, PoisonSettings, Quarantine, refusal
from factsieve.engine.ports import QuietObserver


class Observer(QuietObserver):
    """Keeps what it is told of failures."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def failed(self, error: str) -> None:
        self.told.append(("failed", error))

    def probe_failed(self, error: str) -> None:
        self.told.append(("probe failed", error))


class Probe:
    """A known-good statement that goes through, or does not."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.trouble: Exception | None = None

    async def __call__(self, number: int) -> None:
        self.numbers.append(number)
        await asyncio.sleep(0)
        if self.trouble is not None:
            raise self.trouble


def made(**settings: int) -> tuple[Quarantine, Probe, Observer]:
    probe, observer = Probe(), Observer()
    return Quarantine(PoisonSettings(**settings), probe, observer), probe, observer


def test_an_event_is_to_blame_where_a_known_good_one_goes_through() -> None:
    """Each failure is followed by a probe of its own, numbered anew."""
    quarantine, probe, observer = made()

    async def main() -> None:
        assert await quarantine.blames(ValueError("bad"))
        assert await quarantine.blames(KeyError("k"))

    asyncio.run(main())
    assert probe.numbers == [1, 2]
    assert observer.told == [("failed", "ValueError"), ("failed", "KeyError")]


def test_nobody_is_to_blame_for_an_outage() -> None:
    """Where the known-good statement fails too, the event is not to blame; once it goes through again, the next one is."""
    quarantine, probe, observer = made()
    probe.trouble = RuntimeError("the model is broken")

    async def main() -> None:
        assert not await quarantine.blames(ValueError("bad"))
        probe.trouble = None
        assert await quarantine.blames(ValueError("bad"))

    asyncio.run(main())
    assert observer.told == [("failed", "ValueError"), ("probe failed", "RuntimeError"), ("failed", "ValueError")]


def test_lanes_that_fail_together_share_a_probe() -> None:
    """Many lanes fail at once when something breaks: one statement tells all of them; one that gives up takes it from nobody."""
    quarantine, probe, _ = made()

    async def main() -> None:
        asked = [asyncio.create_task(quarantine.blames(ValueError())) for _ in range(5)]
        await asyncio.sleep(0)
        asked[0].cancel()
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(told[0], asyncio.CancelledError)
        assert told[1:] == [True] * 4

    asyncio.run(main())
    assert probe.numbers == [1]


def test_so_many_in_a_row_are_no_fault_of_theirs() -> None:
    """After so many set aside without one decided nothing more is laid to an event, until one is decided."""
    quarantine, probe, observer = made(in_a_row=2)

    async def main() -> None:
        for expected in (True, True, False, False):
            assert await quarantine.blames(ValueError()) is expected
            if expected:
                quarantine.refused()
        assert observer.told[-1] == ("probe failed", "in_a_row")
        assert quarantine.last_recorded is None
        quarantine.decided(("record", b"{}", {}))
        assert quarantine.last_recorded == ("record", b"{}", {})  # what a probe of the ledger writes again
        for expected in (True, True, False):
            assert await quarantine.blames(ValueError()) is expected
            if expected:
                quarantine.refused()

    asyncio.run(main())
    assert len(probe.numbers) == 7


def test_a_namespace_stops_until_its_partition_is_given_up() -> None:
    """Only the namespaces of the partition that is given up are tried again."""
    quarantine, _, _ = made()
    assert (quarantine.stopped, quarantine.is_stopped("a")) == (0, False)
    for name, partition in {"a": 0, "b": 0, "c": 1}.items():
        quarantine.stop(name, ("t", partition), ValueError())
    assert (quarantine.stopped, quarantine.is_stopped("a"), quarantine.is_stopped("x")) == (3, True, False)
    quarantine.forget(("t", 2))
    quarantine.forget(("other", 0))
    assert quarantine.stopped == 3
    quarantine.forget(("t", 0))
    assert [quarantine.is_stopped(name) for name in "abc"] == [False, False, True]


def test_too_many_stopped_namespaces_end_the_process() -> None:
    """Up to the bound namespaces stop one by one; one more means that something else is wrong."""
    quarantine, _, _ = made()
    for number in range(MAX_STOPPED):
        quarantine.stop(str(number), ("t", 0), ValueError())
    with pytest.raises(Bug, match=f"{MAX_STOPPED} namespaces have stopped: why"):
        quarantine.stop("one more", ("t", 0), ValueError("why"))
    assert not quarantine.is_stopped("one more")


def test_what_is_said_of_an_event_that_was_set_aside() -> None:
    """Bad input keeps its own words; anything else is named with the number of tries."""
    bad = BadInput("empty_text", "text is empty", field="text")
    assert refusal(bad, 3) is bad
    told = refusal(ValueError("odd"), 3)
    assert told.code == "unprocessable"
    assert str(told).startswith("ValueError at each of 3 tries (odd)")
    assert "(no message)" in str(refusal(ValueError(), 1))
