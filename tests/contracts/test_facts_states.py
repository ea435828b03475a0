"""Any sequence of writes leaves the same facts in memory and in every other store."""

import asyncio
import uuid

import pytest
from contract_values import DIMENSION, T0, Box, at_cosine, axis, changed, make_fact, new_namespace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factsieve.adapters.memory import MemoryFacts
from factsieve.core.facts import Status
from factsieve.core.ids import text_hash
from factsieve.ports import FactStore, FactWrite, NeighbourQuery

TEXTS = ["8080", "8081", "caf\u00e9", "cafe\u0301", ""]
SLOTS = [None, "port", "caf\u00e9"]
COSINES = [1.0, 0.9, 0.9, 0.72, 0.1, -1.0]
POINTS = 5

WRITE = st.tuples(
    st.integers(0, POINTS - 1),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from(list(Status)),
    st.sampled_from(TEXTS),
    st.sampled_from(SLOTS),
    st.integers(0, len(COSINES) - 1),
    st.integers(0, 3),
)
CALLS = st.lists(st.lists(WRITE, min_size=1, max_size=POINTS, unique_by=lambda write: write[0]), min_size=1, max_size=6)


def writes_of(call, namespace, seed):
    for point, version, is_insert, status, text, slot, cosine, hours in call:
        point_id = str(uuid.uuid5(seed, str(point)))
        fact = make_fact(namespace, text, point_id=point_id, fact_id=str(uuid.uuid5(seed, f"story {point % 2}")))
        fact = changed(
            fact,
            version=version,
            status=status,
            slot=slot,
            valid_from=T0.replace(hour=hours),
            attributes={"v": version},
        )
        yield FactWrite(fact, at_cosine(COSINES[cosine], 1 + cosine), insert=is_insert)


async def everything(store: FactStore, namespace: str, seed: uuid.UUID) -> list[object]:
    """Return every answer that the store can give about a namespace."""
    texts = [(namespace, text_hash(text, slot)) for text in TEXTS for slot in SLOTS]
    slots = [(namespace, slot) for slot in SLOTS if slot]
    queries = [NeighbourQuery(namespace, axis(), limit, 0.72, past) for limit in (1, 3, 8) for past in (False, True)]
    vectors = await store.vectors([str(uuid.uuid5(seed, str(point))) for point in range(POINTS)])
    return [
        await store.select(namespace, current_only=False),
        await store.select(namespace, limit=2),
        await store.select(namespace, as_of=T0.replace(hour=2)),
        await store.select(namespace, known_at=T0),
        await store.by_text(texts),
        await store.by_slot(slots),
        await store.by_slot(slots, past=True),
        await store.neighbours(queries),
        await store.history(namespace, str(uuid.uuid5(seed, "story 0"))),
        {point: vector.round(5).tolist() for point, vector in vectors.items()},
    ]


@pytest.mark.parametrize("batched", [True, False], ids=["in-calls", "one-by-one"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=CALLS)
def test_any_sequence_of_writes(facts: Box[FactStore], batched, calls):
    """Random inserts and updates, whole calls or one by one, lead to the answers that the memory store gives, and so do repeats."""
    namespace, seed = new_namespace(), uuid.uuid4()
    model = MemoryFacts(DIMENSION)

    async def scenario(store: FactStore) -> list[object]:
        for call in [*calls, *calls[-1:]]:
            writes = list(writes_of(call, namespace, seed))
            for part in [writes] if batched else [[write] for write in writes]:
                await store.write(part)
        return await everything(store, namespace, seed)

    assert facts.run(scenario) == asyncio.run(scenario(model))
