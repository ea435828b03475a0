"""What every ledger does: records and pointers are inserted once and never change."""

import asyncio
import hashlib

import pytest
from contract_values import T0, Box, new_id, new_namespace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factsieve.core.errors import Transient
from factsieve.core.facts import FOREVER
from factsieve.core.ids import decision_id
from factsieve.ports import Ledger, LedgerPointer


def new_key() -> str:
    return hashlib.sha256(new_id().encode()).hexdigest()


def fields_of(namespace: str, *fact_ids: str) -> dict[str, object]:
    return {"namespace": namespace, "fact_ids": list(fact_ids), "skips_only": not fact_ids, "recorded_at": T0}


async def scanned(ledger: Ledger, namespace: str | None) -> list[bytes]:
    return sorted([body async for body in ledger.scan(namespace)])


class TestRecords:
    def test_a_record_is_read_back_as_it_was_inserted(self, ledger):
        """Insert returns what is stored, and so does a later read: the same bytes, also of any Unicode."""
        record_id, body = new_id(), '{"text":"\U0001f9e0 \u05e9\u05dc\u05d5\u05dd \u0000 \\" é e\u0301"}'.encode()

        async def scenario(store):
            assert await store.records([record_id]) == {}
            assert await store.insert({record_id: (body, fields_of(new_namespace(), new_id()))}) == {record_id: body}
            assert await store.records([record_id, new_id()]) == {record_id: body}

        ledger.run(scenario)

    def test_the_first_writer_wins_and_both_read_the_same(self, ledger):
        """A second insert of an id changes nothing and returns the body of the first, other records of its call are inserted."""
        record_id, other = new_id(), new_id()
        namespace = new_namespace()

        async def scenario(first, second):
            mine = await first.insert({record_id: (b'"first"', fields_of(namespace))})
            theirs = await second.insert(
                {other: (b'"other"', fields_of(namespace)), record_id: (b'"second"', fields_of(namespace, new_id()))}
            )
            assert mine == {record_id: b'"first"'}
            assert theirs == {record_id: b'"first"', other: b'"other"'}
            assert list(theirs) == [other, record_id]
            assert await first.records([record_id]) == {record_id: b'"first"'}

        ledger.run_two(scenario)

    def test_of_writers_at_once_exactly_one_wins(self, ledger):
        """Two writers race for 20 ids at once: each id keeps one of the two bodies, and both writers are told which."""
        record_ids = [new_id() for _ in range(20)]
        namespace = new_namespace()

        async def scenario(first, second):
            async def one(store, record_id, body):
                return (await store.insert({record_id: (body, fields_of(namespace))}))[record_id]

            for record_id in record_ids:
                told = await asyncio.gather(one(first, record_id, b'"one"'), one(second, record_id, b'"two"'))
                assert told[0] == told[1]
                assert told[0] in (b'"one"', b'"two"')
                assert await first.records([record_id]) == {record_id: told[0]}

        ledger.run_two(scenario)

    def test_the_same_record_again_is_the_same(self, ledger):
        """A repeated insert, as after a lost answer, is told its own body."""
        record = {new_id(): (b'{"attempt":"x"}', fields_of(new_namespace()))}
        told = [ledger.run(lambda store: store.insert(record)) for _ in range(2)]
        assert told[0] == told[1] == {record_id: body for record_id, (body, _) in record.items()}

    def test_many_and_large_records(self, ledger):
        """1,300 records in a call are all stored, and so are ten of 1.5 MB."""
        namespace = new_namespace()
        small = {new_id(): (f'"{number}"'.encode(), fields_of(namespace)) for number in range(1300)}
        large = {new_id(): (b'"' + b"x" * 1_500_000 + b'"', fields_of(namespace)) for _ in range(10)}

        async def scenario(store):
            for records in (small, large):
                bodies = {record_id: body for record_id, (body, _) in records.items()}
                assert await store.insert(records) == bodies
                assert await store.records(list(records)) == bodies

        ledger.run(scenario)

    def test_nothing(self, ledger):
        """Empty calls are no errors."""

        async def scenario(store):
            await store.point({})
            return [await store.insert({}), await store.records([]), await store.lookup([])]

        assert ledger.run(scenario) == [{}, {}, {}]

    def test_scan(self, ledger):
        """A scan gives every record of a namespace (more than a page of them), or of all, and no pointers."""
        namespace, other = new_namespace(), new_namespace()
        bodies = [f'"{namespace} {number:04}"'.encode() for number in range(1100)]
        theirs = f'"{other}"'.encode()

        async def scenario(store):
            await store.insert({new_id(): (body, fields_of(namespace)) for body in bodies})
            await store.insert({new_id(): (theirs, fields_of(other) | {"recorded_at": FOREVER})})
            await store.point({new_key(): LedgerPointer(new_id(), 0)})
            assert await scanned(store, namespace) == bodies
            assert await scanned(store, other) == [theirs]
            assert await scanned(store, new_namespace()) == []
            assert {*bodies, theirs} <= set(await scanned(store, None))

        ledger.run(scenario)


class TestPointers:
    def test_pointers_are_found_by_event_key(self, ledger):
        """Look-up gives the pointers of those keys that have one."""
        pointers = {new_key(): LedgerPointer(new_id(), number) for number in range(1200)}
        absent = [new_key() for _ in range(50)]

        async def scenario(store):
            await store.point(pointers)
            return await store.lookup([*absent, *pointers])

        assert ledger.run(scenario) == pointers

    def test_pointers_are_inserted_once(self, ledger):
        """A second pointer for an event is left aside, others of its call are inserted."""
        key, other = new_key(), new_key()
        first, second = LedgerPointer(new_id(), 0), LedgerPointer(new_id(), 1)

        async def scenario(one, two):
            await one.point({key: first})
            await two.point({key: second, other: second})
            assert await one.lookup([key, other]) == {key: first, other: second}

        ledger.run_two(scenario)

    def test_any_text_is_an_event_key(self, ledger):
        """Keys that look alike are different events."""
        keys = ["", " ", "a", "A", "é", "e\u0301", "\u0000", "a\u0000", "x" * 10_000]
        mark = new_id()
        pointers = {mark + key: LedgerPointer(new_id(), number) for number, key in enumerate(keys)}

        async def scenario(store):
            await store.point(pointers)
            return await store.lookup(list(pointers))

        assert ledger.run(scenario) == pointers

    def test_pointers_are_found_by_decision(self, ledger):
        """The id of an event's decision leads to the same pointer; ids of records and unknown ones lead nowhere."""
        pointers = {new_key(): LedgerPointer(new_id(), number) for number in range(20)}
        record_id = new_id()

        async def scenario(store):
            await store.point(pointers)
            await store.insert({record_id: (b'"x"', fields_of(new_namespace()))})
            return await store.decided([*map(decision_id, pointers), record_id, new_id()])

        assert ledger.run(scenario) == {decision_id(key): pointer for key, pointer in pointers.items()}


class TestScrubbing:
    def test_records_are_found_by_the_facts_whose_texts_they_hold(self, ledger):
        """Any of the facts will do, in that namespace alone; records of others and pointers are left out."""
        namespace, other = new_namespace(), new_namespace()
        facts = [new_id() for _ in range(3)]
        held = {new_id(): (f'"{n}"'.encode(), fields_of(namespace, *facts[: n % 3])) for n in range(60)}

        async def scenario(store):
            await store.insert(held)
            await store.insert({new_id(): (b'"theirs"', fields_of(other, *facts))})
            await store.point({new_key(): LedgerPointer(new_id(), 0)})
            first = {key: body async for key, body in store.holding(namespace, [facts[0]])}
            assert first == {key: body for n, (key, (body, _)) in enumerate(held.items()) if n % 3}
            assert {key async for key, _ in store.holding(namespace, [facts[1], new_id()])} == {
                key for n, key in enumerate(held) if n % 3 == 2
            }
            assert [key async for key, _ in store.holding(namespace, [facts[2]])] == []
            assert [key async for key, _ in store.holding(namespace, [])] == []

        ledger.run(scenario)

    def test_a_scrubbed_record_has_another_body_and_is_still_found(self, ledger):
        """Body and digest are replaced: later reads, scans and inserts meet the new one; doing it again changes nothing."""
        namespace, fact_id, record_id, other = new_namespace(), new_id(), new_id(), new_id()
        old, new = b'{"text":"secret"}', b'{"text":""}'

        async def scenario(store):
            await store.insert({record_id: (old, fields_of(namespace, fact_id)), other: (old, fields_of(namespace))})
            for _ in range(2):
                await store.scrub({record_id: (old, new)})
                assert await store.records([record_id, other]) == {record_id: new, other: old}
            assert await scanned(store, namespace) == sorted([new, old])
            assert [key async for key, _ in store.holding(namespace, [fact_id])] == [record_id]
            again = await store.insert({record_id: (old, fields_of(namespace, fact_id))})
            assert again == {record_id: new}
            await store.scrub({record_id: (new, b"{}")})
            assert await store.records([record_id]) == {record_id: b"{}"}
            await store.scrub({})

        ledger.run(scenario)

    def test_a_record_that_changed_meanwhile_is_not_overwritten(self, ledger):
        """Of two writers that read the same body the second is told to read again, and undoes nothing."""
        record_id = new_id()

        async def scenario(first, second):
            await first.insert({record_id: (b'"one two"', fields_of(new_namespace(), new_id()))})
            await first.scrub({record_id: (b'"one two"', b'"two"')})
            with pytest.raises(Transient, match="read it again"):
                await second.scrub({record_id: (b'"one two"', b'"one"')})
            assert await second.records([record_id]) == {record_id: b'"two"'}

        ledger.run_two(scenario)

    def test_of_writers_at_once_none_undoes_the_other(self, ledger):
        """Two writers scrub different things of 20 records at once, reading again when told so: nothing of either is left."""
        records = [new_id() for _ in range(20)]
        namespace = new_namespace()

        async def scenario(first, second):
            await first.insert({one: (b'"one two"', fields_of(namespace, new_id())) for one in records})

            async def scrub(store, record_id, word):
                for _ in range(20):
                    body = (await store.records([record_id]))[record_id]
                    try:
                        return await store.scrub({record_id: (body, body.replace(word, b""))})
                    except Transient:
                        continue
                raise AssertionError("never done")

            for record_id in records:
                await asyncio.gather(scrub(first, record_id, b"one"), scrub(second, record_id, b"two"))
                assert await first.records([record_id]) == {record_id: b'" "'}

        ledger.run_two(scenario)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(
        st.tuples(st.booleans(), st.dictionaries(st.integers(0, 3), st.integers(0, 9), min_size=1)),
        min_size=1,
        max_size=6,
    )
)
def test_the_first_value_stays(ledger: Box[Ledger], calls):
    """After any sequence of inserts by two writers, each id and each event has the value that was first."""
    mark, namespace = new_id()[:24], new_namespace()

    async def scenario(one, two):
        expected: dict[str, bytes] = {}
        for by_first, values in calls:
            writer = one if by_first else two
            records = {f"{mark}{number:012}": f'"{value}"'.encode() for number, value in values.items()}
            expected = records | expected
            told = await writer.insert({key: (body, fields_of(namespace)) for key, body in records.items()})
            assert told == {key: expected[key] for key in records}
            await writer.point({key: LedgerPointer(body.decode(), 0) for key, body in records.items()})
        pointers = {key: LedgerPointer(body.decode(), 0) for key, body in expected.items()}
        assert await one.lookup(list(expected)) == pointers
        assert await two.records(list(expected)) == expected

    ledger.run_two(scenario)
