"""What every fact store answers about times: as-of (what was true) and known-at (what was believed)."""

from datetime import UTC, datetime, timedelta

import pytest
from contract_values import MICROSECOND, T0, ids, insert, make_fact, new_namespace

from factsieve.core.facts import FOREVER, Status

HOUR = timedelta(hours=1)


@pytest.fixture
def story(facts):
    """A fact revised once and superseded once, with every row that this leaves.

    Believed from T0: A (open). From T0+10h: A until T0+4h, then B (open). From T0+20h: B withdrawn, nothing after T0+4h.
    """
    namespace = new_namespace()
    rows = {
        "A, open": make_fact(
            namespace, "A", status=Status.ARCHIVED, valid_from=T0, recorded_at=T0, retired_at=T0 + 10 * HOUR
        ),
        "A, closed": make_fact(
            namespace, "A", status=Status.PAST, valid_from=T0, valid_to=T0 + 4 * HOUR, recorded_at=T0 + 10 * HOUR
        ),
        "B": make_fact(
            namespace,
            "B",
            status=Status.RETRACTED,
            valid_from=T0 + 4 * HOUR,
            recorded_at=T0 + 10 * HOUR,
            retired_at=T0 + 20 * HOUR,
        ),
        "C": make_fact(namespace, "C", valid_from=T0 + 4 * HOUR, recorded_at=T0 + 20 * HOUR),
        "erased": make_fact(namespace, "", status=Status.ERASED, valid_from=T0, recorded_at=T0),
    }
    facts.run(lambda store: store.write([insert(fact) for fact in rows.values()]))
    names = {fact.point_id: name for name, fact in rows.items()}

    def ask(**times):
        found = facts.run(lambda store: store.select(namespace, **times))
        return {names[fact.point_id] for fact in found}

    return ask


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        (T0 - MICROSECOND, set()),
        (T0, {"A, closed"}),
        (T0 + 4 * HOUR - MICROSECOND, {"A, closed"}),
        (T0 + 4 * HOUR, {"C"}),
        (T0 + 1000 * HOUR, {"C"}),
        (FOREVER - MICROSECOND, {"C"}),
        (datetime(1, 1, 1, tzinfo=UTC), set()),
    ],
)
def test_as_of(story, as_of, expected):
    """`valid_from` belongs to an interval and `valid_to` does not; only what is believed now counts."""
    assert story(as_of=as_of) == expected


@pytest.mark.parametrize(
    ("known_at", "expected"),
    [
        (T0 - MICROSECOND, set()),
        (T0, {"A, open"}),
        (T0 + 10 * HOUR - MICROSECOND, {"A, open"}),
        (T0 + 10 * HOUR, {"B"}),
        (T0 + 20 * HOUR - MICROSECOND, {"B"}),
        (T0 + 20 * HOUR, {"C"}),
    ],
)
def test_known_at(story, known_at, expected):
    """Alone, it gives what was believed then and open then; `recorded_at` belongs to the interval and `retired_at` does not."""
    assert story(known_at=known_at) == expected


@pytest.mark.parametrize(
    ("as_of", "known_at", "expected"),
    [
        (T0 + 5 * HOUR, T0, {"A, open"}),
        (T0 + 5 * HOUR, T0 + 10 * HOUR - MICROSECOND, {"A, open"}),
        (T0 + 5 * HOUR, T0 + 10 * HOUR, {"B"}),
        (T0 + 4 * HOUR - MICROSECOND, T0 + 10 * HOUR, {"A, closed"}),
        (T0 + 4 * HOUR - MICROSECOND, T0 + 30 * HOUR, {"A, closed"}),
        (T0 + 4 * HOUR, T0 + 19 * HOUR, {"B"}),
        (T0 + 4 * HOUR, T0 + 20 * HOUR, {"C"}),
        (T0, T0 - MICROSECOND, set()),
    ],
)
def test_as_of_as_believed_then(story, as_of, known_at, expected):
    """Both together give what was then believed to be true at the instant."""
    assert story(as_of=as_of, known_at=known_at) == expected


def test_times_in_another_zone_are_the_same_instant(story):
    """An instant asks for the same facts in whatever zone it is written."""
    from datetime import timezone

    zone = timezone(timedelta(hours=5, minutes=45))
    assert story(as_of=(T0 + 4 * HOUR).astimezone(zone)) == {"C"}
    assert story(as_of=(T0 + 4 * HOUR - MICROSECOND).astimezone(zone)) == {"A, closed"}


def test_without_times(story):
    """Without times the current facts come, or every row."""
    assert story() == {"C"}
    assert story(current_only=False) == {"A, open", "A, closed", "B", "C", "erased"}


class TestOrder:
    def test_by_valid_from_then_point_id_and_the_limit_cuts_there(self, facts):
        """Order and limit go by `valid_from`, then point id, also where many facts became true at one instant."""
        namespace = new_namespace()
        stored = [make_fact(namespace, f"{number}", valid_from=T0 + (number // 10) * HOUR) for number in range(40)]
        stored.append(make_fact(namespace, "old", valid_from=datetime(1, 1, 1, tzinfo=UTC)))
        facts.run(lambda store: store.write([insert(fact) for fact in stored]))
        expected = ids(sorted(stored, key=lambda fact: (fact.valid_from, fact.point_id)))
        for limit in (None, 0, 1, 5, 11, 15, 40, 41, 100):
            found = facts.run(lambda store, limit=limit: store.select(namespace, limit=limit))
            assert ids(found) == expected[:limit]

    def test_of_all_namespaces(self, own_facts):
        """Without a namespace the facts of all of them come, in one order."""
        stored = [make_fact(new_namespace(), f"{number}", valid_from=T0 - number * HOUR) for number in range(30)]
        own_facts.run(lambda store: store.write([insert(fact) for fact in stored]))
        assert ids(own_facts.run(lambda store: store.select(None))) == ids(stored[::-1])
        assert ids(own_facts.run(lambda store: store.select(None, limit=7))) == ids(stored[::-1])[:7]
        assert ids(own_facts.run(lambda store: store.select(None, as_of=T0 - 28 * HOUR))) == ids(stored[:-3:-1])

    def test_more_than_one_page(self, facts):
        """A namespace with 2,300 facts is read whole, without repetition."""
        namespace = new_namespace()
        stored = [make_fact(namespace, f"{number}") for number in range(2300)]
        facts.run(lambda store: store.write([insert(fact) for fact in stored]))
        assert ids(facts.run(lambda store: store.select(namespace))) == sorted(ids(stored))
