"""What every store gives when it is read whole."""

from datetime import UTC, datetime

import numpy as np
from contract_values import axis, full_fact, insert, make_fact, new_id, new_namespace


def test_facts_come_whole_each_once_with_their_vectors(facts):
    """Of one namespace every point comes, whatever its status, in order of id, over several pages, as it was written."""
    namespace, other = new_namespace(), new_namespace()
    rows = [make_fact(namespace, f"Fact {number}") for number in range(600)] + [full_fact(namespace)]
    vectors = {row.point_id: axis(number % 4) for number, row in enumerate(rows)}

    async def scenario(store):
        before = await store.count(None)
        await store.write([insert(row, vectors[row.point_id]) for row in rows] + [insert(make_fact(other))])
        pages = [page async for page in store.pages(namespace)]
        found = [point for page in pages for point in page]
        assert len(pages) > 1
        assert [fact for fact, _ in found] == sorted(rows, key=lambda row: row.point_id)
        for fact, vector in found:
            assert np.allclose(vector, vectors[fact.point_id], atol=1e-6)
        assert (await store.count(namespace), await store.count(other)) == (601, 1)
        everything = {fact.point_id async for page in store.pages(None) for fact, _ in page}
        assert len(everything) == await store.count(None) == before + 602
        assert [page async for page in store.pages(new_namespace()) if page] == []

    facts.run(scenario)


def test_records_come_whole_with_what_is_indexed(ledger):
    """Bodies and indexed fields come as they were inserted, pointers do not come; a scrubbed record says that it is kept for good."""
    namespace = new_namespace()
    at = datetime(2026, 3, 4, tzinfo=UTC).isoformat()
    fields = {"namespace": namespace, "fact_ids": [new_id()], "skips_only": True, "recorded_at": at}
    records = {new_id(): (f'{{"n":{number},"é":"\\u0000"}}'.encode(), fields) for number in range(40)}
    scrubbed = min(records)

    async def scenario(store):
        await store.insert(records)
        await store.scrub({scrubbed: (records[scrubbed][0], b'{"n":"gone"}')})
        found = {one: (body, dict(more)) async for page in store.pages(namespace) for one, body, more in page}
        assert found == records | {scrubbed: (b'{"n":"gone"}', {**fields, "skips_only": False})}
        assert await store.count(namespace) == 40

    ledger.run(scenario)
