"""What every hash window answers: whether a text was written within 300 seconds of event time, to the microsecond."""

from datetime import UTC, datetime, timedelta

import pytest
from contract_values import MICROSECOND, Box, new_id, new_namespace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factsieve.core.ids import text_hash
from factsieve.ports import HashWindow, WindowHit

WINDOW = timedelta(seconds=300)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXT = text_hash("make test: 212 passed", None)
TIMES = [
    EPOCH,  # a bucket's first instant
    EPOCH + WINDOW - MICROSECOND,  # a bucket's last one
    EPOCH - MICROSECOND,
    EPOCH - 7 * WINDOW,
    datetime(1, 1, 1, 0, 20, tzinfo=UTC),
    datetime(1931, 5, 6, 7, 8, 9, 10, tzinfo=UTC),
    datetime(2026, 3, 4, 12, 0, 0, 123456, tzinfo=UTC),
    datetime(2262, 4, 11, 23, 47, 16, 854776, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 30, tzinfo=UTC),
]


def new_hit() -> WindowHit:
    return WindowHit(new_id(), 1)


@pytest.mark.parametrize("at", TIMES, ids=str)
@pytest.mark.parametrize("direction", [1, -1], ids=["after", "before"])
def test_the_window_is_exact_to_either_side(window, at, direction):
    """Exactly 300 seconds before or after is a hit, one microsecond more is none, wherever the buckets lie."""
    namespace, hit = new_namespace(), new_hit()
    inside, outside = at + direction * WINDOW, at + direction * (WINDOW + MICROSECOND)

    async def scenario(store):
        await store.put(namespace, [(TEXT, at, hit)])
        return await store.find(
            namespace, [(TEXT, at), (TEXT, inside), (TEXT, outside), (TEXT, at + direction * WINDOW / 2)]
        )

    assert window.run(scenario) == [hit, hit, None, hit]


@pytest.mark.parametrize("offset_s", range(-300, 301, 50))
@pytest.mark.parametrize("start_s", [0, 1, 149, 299])
def test_all_neighbouring_buckets(window, start_s, offset_s):
    """Every distance up to the window is a hit from every place in a bucket."""
    namespace, hit = new_namespace(), new_hit()
    at = EPOCH + 100 * WINDOW + timedelta(seconds=start_s)

    async def scenario(store):
        await store.put(namespace, [(TEXT, at, hit)])
        return await store.find(namespace, [(TEXT, at + timedelta(seconds=offset_s))])

    assert window.run(scenario) == [hit]


def test_namespaces_and_texts_do_not_mix(window):
    """A text is found in its own namespace only (awkward names too), another text not at all."""
    mark = new_namespace()
    names = [
        mark,
        mark.upper(),
        mark + " ",
        f"{mark}{{x}}",
        f"{mark}}}:w:",
        f"{mark}é",
        f"{mark}e\u0301",
        f"{mark}\u0000",
        f"{mark}\U0001f3e0",
    ]
    stored = {name: new_hit() for name in names}
    other = text_hash("make test: 213 passed", None)
    slotted = text_hash("make test: 212 passed", "ci")

    async def scenario(store):
        for name, hit in stored.items():
            await store.put(name, [(TEXT, EPOCH, hit)])
        for name, hit in stored.items():
            assert await store.find(name, [(TEXT, EPOCH), (other, EPOCH), (slotted, EPOCH)]) == [hit, None, None]

    window.run(scenario)


def test_a_thousand_texts_in_a_call(window):
    """1,000 texts are written in one call and found in one, in order; so is one text 1,000 times."""
    namespace = new_namespace()
    written = [
        (text_hash(f"text {number}", None), EPOCH + timedelta(minutes=number), new_hit()) for number in range(1000)
    ]
    repeated = [(TEXT, EPOCH + timedelta(seconds=number * 0.3), WindowHit("f", number)) for number in range(1000)]

    async def scenario(store):
        await store.put(namespace, written)
        asked = [(text, at + WINDOW) for text, at, _ in written] + [(text_hash("absent", None), EPOCH)]
        assert await store.find(namespace, asked) == [hit for _, _, hit in written] + [None]
        await store.put(namespace, repeated)
        found = await store.find(namespace, [(TEXT, at) for _, at, _ in repeated])
        assert all(hit is not None for hit in found)
        assert (found[0].revision, found[-1].revision) == (0, 999)

    window.run(scenario)


def test_the_nearest_entry_is_found(window):
    """Of several entries of a text the nearest in event time answers, of two equally near ones the later."""
    namespace = new_namespace()
    early, late = new_hit(), WindowHit(new_id(), 4)
    at = EPOCH + 10 * WINDOW

    async def scenario(store):
        await store.put(
            namespace, [(TEXT, at + timedelta(seconds=10), early), (TEXT, at + timedelta(seconds=110), late)]
        )
        seconds = [0, 59, 60, 61, 200, -290, -291]
        return await store.find(namespace, [(TEXT, at + timedelta(seconds=second)) for second in seconds])

    assert window.run(scenario) == [early, early, late, late, late, early, None]


@pytest.mark.parametrize("start", [EPOCH, EPOCH - WINDOW, EPOCH + 1000 * WINDOW, EPOCH - 1000 * WINDOW], ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_both_ends_of_a_bucket_are_kept(window, start, reverse):
    """Whatever the order of writes, the first and the last entry of a bucket reach as far as the window to either side.

    At the epoch and before it the microseconds of one bucket have different numbers of digits, and signs.
    """
    namespace = new_namespace()
    instants = [
        start + timedelta(microseconds=us) for us in (0, 5, 70, 9_999_999, 10_000_000, 299_999_995, 299_999_999)
    ]

    async def scenario(store):
        for at in reversed(instants) if reverse else instants:
            await store.put(namespace, [(TEXT, at, WindowHit(str(at), 1))])
        edges = [instants[0] - WINDOW, instants[-1] + WINDOW, instants[0] - WINDOW - MICROSECOND]
        return await store.find(namespace, [(TEXT, at) for at in edges])

    assert window.run(scenario) == [WindowHit(str(instants[0]), 1), WindowHit(str(instants[-1]), 1), None]


def test_a_repeated_write_changes_nothing_and_a_later_one_at_the_same_instant_stays(window):
    """Redelivery writes what is there; another fact at the same instant takes the place."""
    namespace, first, second = new_namespace(), new_hit(), new_hit()

    async def scenario(store):
        for _ in range(2):
            await store.put(namespace, [(TEXT, EPOCH, first)])
        before = await store.find(namespace, [(TEXT, EPOCH)])
        await store.put(namespace, [(TEXT, EPOCH, second)])
        return before + await store.find(namespace, [(TEXT, EPOCH)])

    assert window.run(scenario) == [first, second]


def test_nothing(window):
    """Empty calls are no errors."""

    async def scenario(store):
        await store.put(new_namespace(), [])
        return await store.find(new_namespace(), [])

    assert window.run(scenario) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.sampled_from([0, -1_500_000_000, 1_772_625_600_000_000, -62_000_000_000_000_000, 250_000_000_000_000_000]),
    written=st.lists(st.integers(-900_000_000, 900_000_000), min_size=1, max_size=8),
    asked=st.lists(st.integers(-1_300_000_000, 1_300_000_000), min_size=1, max_size=8),
    near=st.booleans(),
    together=st.booleans(),
)
def test_a_hit_exactly_where_one_was_written(window: Box[HashWindow], start, written, asked, near, together):
    """For any times, in any order and grouping: a hit exactly where some entry lies within the window, and one that does."""
    namespace = new_namespace()
    if near:  # ask exactly at the edges
        asked = [time + step for time in written for step in (300_000_000, -300_000_000, 300_000_001, -300_000_001)]

    def instant(time_us: int) -> datetime:
        return EPOCH + timedelta(microseconds=start + time_us)

    async def scenario(store):
        entries = [(TEXT, instant(time), WindowHit(str(time), 1)) for time in written]
        for part in [entries] if together else [[entry] for entry in entries]:
            await store.put(namespace, part)
        return await store.find(namespace, [(TEXT, instant(time)) for time in asked])

    for time, hit in zip(asked, window.run(scenario), strict=True):
        assert (hit is not None) == any(abs(time - other) <= 300_000_000 for other in written)
        assert hit is None or abs(int(hit.fact_id) - time) <= 300_000_000
