"""What every fact store answers page by page: the same as all at once, the other way round."""

import random
from datetime import timedelta

import pytest
from contract_values import T0, insert, make_fact, new_namespace

from factsieve.core.facts import Status

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_pages_join_to_the_whole_list_latest_first(facts, limit):
    """Each fact once, in order, also where many became true at one instant and the page ends among them."""
    namespace = new_namespace()
    hours = [0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 4, 4, 9]
    random.Random(limit).shuffle(hours)
    rows = [make_fact(namespace, f"fact {n}", valid_from=T0 + hour * HOUR) for n, hour in enumerate(hours)]
    other = make_fact(new_namespace(), "another's", valid_from=T0 + HOUR)
    past = make_fact(namespace, "past", status=Status.PAST, valid_from=T0, valid_to=T0 + HOUR)
    facts.run(lambda store: store.write([insert(fact) for fact in (*rows, other, past)]))
    for times in ({}, {"current_only": False}, {"as_of": T0 + 2 * HOUR}):
        whole = facts.run(lambda store, times=times: store.select(namespace, **times))
        seen, place = [], None
        while True:
            page = facts.run(
                lambda store, times=times, place=place: store.recent(namespace, limit=limit, before=place, **times)
            )
            assert len(page) <= limit
            seen += page
            if len(page) < limit:
                break
            place = (page[-1].valid_from, page[-1].point_id)
        assert [fact.point_id for fact in seen] == [fact.point_id for fact in reversed(whole)]
    assert facts.run(lambda store: store.recent(namespace, limit=0)) == []
