"""The safe consumer in real processes on a real broker, with an engine by script."""

import asyncio
import signal
import struct
import time
from itertools import pairwise

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.record.util import calc_crc32c
from processes import QUICK, Journal, Worker, text, until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(150)]


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal.jsonl")


@pytest.fixture
def names(broker):
    """A topic and a group of this test's own."""
    return broker.name("candidates"), broker.name("group")


def run(coroutine):
    return asyncio.run(coroutine)


def records(values, partition=0, key=b"k"):
    return [{"value": value, "key": key, "partition": partition} for value in values]


def wait_committed(broker, group, topic, wanted: dict[int, int | None], timeout_s: float = 30.0) -> None:
    """Wait until the committed offsets are these; each look is a connection of its own."""

    async def watch():
        deadline = time.monotonic() + timeout_s
        while True:
            found = await broker.committed(group, topic, max(wanted) + 1)
            if {partition: found[partition] for partition in wanted} == wanted:
                return
            assert time.monotonic() < deadline, f"committed {found}, wanted {wanted}"
            await asyncio.sleep(0.05)

    run(watch())


def test_a_fresh_group_never_commits_past_a_head_in_flight(broker, names, journal):
    """The first record hangs, hundreds behind it finish, and commits go on elsewhere: the partition stays uncommitted."""
    topic, group = names
    run(broker.create(topic, 2))
    run(broker.produce(topic, records([b"hang", *[b"ok"] * 300])))
    with Worker(broker, topic, group, journal) as worker:
        journal.wait_for("done", [(0, offset) for offset in range(1, 301)])
        run(broker.produce(topic, records([b"ok"] * 5, partition=1)))  # its commit is later than all of the above
        wait_committed(broker, group, topic, {1: 5, 0: None})
        assert worker.process.poll() is None


def test_a_restart_after_a_crash_brings_back_exactly_what_was_not_acknowledged(broker, names, journal):
    """Everything from the first incomplete record on comes again, nothing before it."""
    topic, group = names
    run(broker.create(topic, 1))
    run(broker.produce(topic, records([*[b"ok"] * 120, b"hang", *[b"ok"] * 40])))
    with Worker(broker, topic, group, journal) as first:
        journal.wait_for("done", [(0, offset) for offset in range(161) if offset != 120])
        wait_committed(broker, group, topic, {0: 120})
        first.kill()
    with Worker(broker, topic, group, journal) as second:
        journal.wait_for("got", [(0, 160)], pid=second.pid)
        assert journal.places("got", second.pid) == [(0, offset) for offset in range(120, 161)]


def test_rebalances_lose_nothing_and_orderly_ones_repeat_nothing(broker, names, journal):
    """Workers come and go under load, in good order: every record is done exactly once, and all is committed."""
    topic, group = names
    run(broker.create(topic, 4))
    sent = dict.fromkeys(range(4), 0)

    def load(count):
        for number in range(4):
            run(broker.produce(topic, records([b"ok"] * count, partition=number)))
            sent[number] += count

    load(200)
    with Worker(broker, topic, group, journal) as first:
        first.wait_assigned(4)
        load(200)
        with Worker(broker, topic, group, journal) as second:
            second.wait_assigned(2)
            load(200)
            assert first.stop() == 0
            load(200)
            second.wait_assigned(4)
            load(100)
            everything = [(number, offset) for number, count in sent.items() for offset in range(count)]
            journal.wait_for("done", everything)
            wait_committed(broker, group, topic, sent)
    assert sorted(journal.places("done")) == sorted(everything)


def test_a_crash_in_the_middle_loses_nothing(broker, names, journal):
    """Two workers, one is killed with records in flight: the other does them all, and order in a partition holds."""
    topic, group = names
    run(broker.create(topic, 4))
    for number in range(4):
        run(broker.produce(topic, records([b"slow:0.05"] * 150, partition=number)))
    everything = [(number, offset) for number in range(4) for offset in range(150)]
    with (
        Worker(broker, topic, group, journal, bound=5) as first,
        Worker(broker, topic, group, journal, bound=5) as second,
    ):
        second.wait_assigned(2)
        first.wait_assigned(2)
        until(lambda: len(journal.places("done", first.pid)) > 20)
        first.kill()
        journal.wait_for("done", everything, timeout_s=60)
        wait_committed(broker, group, topic, dict.fromkeys(range(4), 150))
        for pid in (first.pid, second.pid):
            for number in range(4):
                got = [offset for partition, offset in journal.places("got", pid) if partition == number]
                restarts = sum(later <= earlier for earlier, later in pairwise(got))
                assert restarts <= 2, "a partition starts again only where it was assigned anew"


def test_what_has_started_is_finished_before_partitions_are_given_up(broker, names, journal):
    """A rebalance waits for records in flight, writes are still allowed meanwhile, and nobody sees them again.

    Giving up commits by itself: the next regular commit would be a minute away.
    """
    topic, group = names
    run(broker.create(topic, 2))
    for number in range(2):
        run(broker.produce(topic, records([b"slow:1.5"] * 3, partition=number)))
    with Worker(broker, topic, group, journal, commit_interval_s=60.0) as first:
        journal.wait_for("got", [(number, offset) for number in range(2) for offset in range(3)])
        with Worker(broker, topic, group, journal, commit_interval_s=60.0) as second:
            second.wait_assigned(1)
            journal.wait_for("done", [(number, offset) for number in range(2) for offset in range(3)])
            wait_committed(broker, group, topic, {0: 3, 1: 3})
            assert journal.places("got", second.pid) == []
            assert all(line["holds"] for line in journal.lines("done"))
            assert first.process.poll() is None


def test_a_hung_record_holds_a_rebalance_up_only_for_the_drain_timeout(broker, names, journal):
    """After the bound the partition is given up with the record incomplete, and whoever has it next gets it again."""
    topic, group = names
    run(broker.create(topic, 1))
    run(broker.produce(topic, records([b"ok", b"hang", b"ok"])))
    with Worker(broker, topic, group, journal, drain_timeout_s=1.0) as first:
        journal.wait_for("done", [(0, 0), (0, 2)])
        wait_committed(broker, group, topic, {0: 1})
        with Worker(broker, topic, group, journal, drain_timeout_s=1.0) as second:
            until(lambda: journal.places("got").count((0, 1)) == 2, what="the second delivery of the hung record")
            assert journal.lines("drained")[0]["left"] == 1
            wait_committed(broker, group, topic, {0: 1})
            assert first.process.poll() is None
            assert second.process.poll() is None


def test_a_partition_that_comes_back_is_followed_from_scratch(broker, names, journal):
    """The same worker gets its partition back, twice, while its first attempt at a record still runs: old attempts count for nothing."""
    topic, group = names
    run(broker.create(topic, 1))
    run(broker.produce(topic, records([b"ok", b"gate", b"ok"])))
    with Worker(broker, topic, group, journal, drain_timeout_s=0.5) as first:
        journal.wait_for("done", [(0, 0), (0, 2)])
        for times in (2, 3):
            with Worker(broker, topic, group, journal, drain_timeout_s=0.5) as guest:
                guest.wait_listening()
                until(lambda: "partitions_assigned" in guest.log, what="the guest's joining")
                assert guest.stop() == 0
            # The guest may have had it in between, or not: then it came back to the first at its coming and at its going.
            # The next guest waits for it: the broker may make one change of a going and a coming, of which the first hears little.
            until(lambda times=times: journal.places("got", first.pid).count((0, 1)) >= times, what=f"delivery {times}")
        journal.path.with_suffix(".gate").touch()

        def all_ended():
            got, done = (journal.places(what, first.pid).count((0, 1)) for what in ("got", "done"))
            return done >= got

        until(all_ended, what="the end of all attempts")
        wait_committed(broker, group, topic, {0: 3})
        assert first.process.poll() is None
        assert first.stop() == 0


def test_sigterm_with_a_hung_record_ends_in_time_and_leaves_the_right_lag(broker, names, journal):
    """Exit code 0 within the deadline; what was done in front of the hung record is committed, it and what follows are not."""
    topic, group = names
    run(broker.create(topic, 1))
    run(broker.produce(topic, records([*[b"ok"] * 10, b"hang", *[b"ok"] * 10])))
    with Worker(broker, topic, group, journal, commit_interval_s=60.0) as worker:
        journal.wait_for("done", [(0, offset) for offset in range(21) if offset != 10])
        assert worker.stop(timeout_s=QUICK["stop_deadline_s"] + 1.0) == 0
    assert run(broker.committed(group, topic, 1)) == {0: 10}
    assert "stop_deadline_passed" not in worker.log, "the orderly way was quick enough"


def test_a_second_signal_cuts_the_wait_short(broker, names, journal):
    """Ctrl-C twice: what is done is committed, what hangs is left, the exit code is still 0."""
    topic, group = names
    run(broker.create(topic, 1))
    run(broker.produce(topic, records([b"ok", b"hang"])))
    with Worker(broker, topic, group, journal, stop_deadline_s=60.0, drain_timeout_s=3.0) as worker:
        journal.wait_for("done", [(0, 0)])
        journal.wait_for("got", [(0, 1)])
        worker.signal(signal.SIGINT)
        until(lambda: "signal_received" in worker.log)
        worker.signal(signal.SIGINT)
        assert worker.process.wait(20) == 0
    assert run(broker.committed(group, topic, 1)) == {0: 1}


def test_sigterm_while_joining_does_not_wait_for_the_others(broker, names, journal):
    """A member holds the rebalance up by a hung record; the one that wanted to join leaves in time, and the first goes on."""
    topic, group = names
    run(broker.create(topic, 1))
    run(broker.produce(topic, records([b"hang"])))
    slow = {"drain_timeout_s": 8.0, "rebalance_timeout_s": 15.0, "stop_deadline_s": 30.0}
    with Worker(broker, topic, group, journal, **slow) as first:
        journal.wait_for("got", [(0, 0)])
        with Worker(broker, topic, group, journal, stop_deadline_s=4.0) as second:
            until(lambda: journal.lines("discard", first.pid), what="the first giving up for the second")
            assert second.stop(timeout_s=5.0) == 0
            assert "stop_deadline_passed" not in second.log
        run(broker.produce(topic, records([b"ok"])))
        journal.wait_for("done", [(0, 1)], pid=first.pid)


def test_a_bug_in_the_engine_ends_the_process_and_acknowledges_nothing_of_it(broker, names, journal):
    """The exit code says so, and the record is there for the next attempt."""
    topic, group = names
    run(broker.create(topic, 1))
    run(broker.produce(topic, records([b"ok", b"bug", b"ok"])))
    with Worker(broker, topic, group, journal) as worker:
        assert worker.process.wait(40) == 1
        assert "scripted bug" in worker.log
    assert run(broker.committed(group, topic, 1))[0] in (None, 1)


def test_records_arrive_as_they_were_sent(broker, names, journal):
    """Repeated, empty and binary headers in order, no key, no value, empty ones, a megabyte, the timestamp to the millisecond."""
    topic, group = names
    run(broker.create(topic, 1))
    headers = [("a", b"1"), ("b", b""), ("a", b"2"), ("ce_id", bytes(range(256))), ("a", b"1")]
    sent = [
        {"key": b"k", "value": b"v", "headers": headers, "timestamp_ms": 1_700_000_000_123},
        {"key": None, "value": b"no key"},
        {"key": b"no value", "value": None},
        {"key": b"", "value": b""},
        {"key": b"\xff\x00", "value": bytes(1_000_000)},
    ]
    run(broker.produce(topic, [{**record, "partition": 0} for record in sent]))
    stored = run(broker.read_all(topic))
    with Worker(broker, topic, group, journal):
        journal.wait_for("got", [(0, offset) for offset in range(5)])
    got = journal.lines("got")
    assert [text(line["key"]) for line in got] == [record["key"] for record in sent]
    assert [text(line["value"]) for line in got[:4]] == [record["value"] for record in sent[:4]]
    assert got[4]["value"] == "1000000 bytes"
    assert [(name, text(value)) for name, value in got[0]["headers"]] == headers
    assert [line["timestamp_ms"] for line in got] == [record.timestamp for record in stored]


def test_a_header_name_that_is_no_utf8_does_not_stop_the_partition(broker, names, journal):
    """Kafka takes any bytes there; the record arrives with its key and value, and those behind it too."""
    topic, group = names

    async def produce():
        await broker.create(topic)
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, acks="all")
        await producer.start()
        try:
            batch = producer.create_batch()
            batch.append(timestamp=None, key=b"k", value=b"spoilt", headers=[("zz", b"1")])
            data = bytearray(batch._build())
            data[data.index(b"zz")] = 0xFF
            struct.pack_into(">I", data, 17, calc_crc32c(bytes(data[21:])))
            batch._buffer = data
            await (await producer.send_batch(batch, topic, partition=0))
            await producer.send_and_wait(topic, b"next", key=b"k")
        finally:
            await producer.stop()

    run(produce())
    with Worker(broker, topic, group, journal):
        journal.wait_for("done", [(0, 0), (0, 1)])
        wait_committed(broker, group, topic, {0: 2})
    got = journal.lines("got")
    assert [(text(line["key"]), text(line["value"])) for line in got] == [(b"k", b"spoilt"), (b"k", b"next")]
    assert [name for name, _value in got[0]["headers"]] == ["\ufffdz"]


def test_a_corrupt_batch_is_told_and_not_passed_over(tansu, journal):
    """Its partition stands still, with an error that names the place, since nobody has seen its records; others go on."""
    topic, group = tansu.name("candidates"), tansu.name("group")

    async def produce():
        await tansu.create(topic, 2)
        await tansu.produce(topic, records([b"ok", b"ok"]))
        producer = AIOKafkaProducer(bootstrap_servers=tansu.bootstrap, acks="all")
        await producer.start()
        try:
            batch = producer.create_batch()
            batch.append(timestamp=None, key=b"k", value=b"spoilt", headers=[])
            data = bytearray(batch._build())
            data[-2] ^= 0xFF  # in the value: the checksum does not fit any more
            batch._buffer = data
            await (await producer.send_batch(batch, topic, partition=0))
        finally:
            await producer.stop()
        await tansu.produce(topic, records([b"ok"] * 3))

    run(produce())
    with Worker(tansu, topic, group, journal) as worker:
        until(lambda: "batch_corrupt" in worker.log, what="the error")
        run(tansu.produce(topic, records([b"ok"] * 3, partition=1)))
        wait_committed(tansu, group, topic, {1: 3})
        assert topic in worker.log.partition("batch_corrupt")[2].partition("\n")[0]
        assert (0, 2) not in journal.places("got")
        assert run(tansu.committed(group, topic, 1))[0] in (None, 2)


def test_more_than_fits_is_pulled_bit_by_bit(broker, names, journal):
    """A slow engine and small bounds: nothing is dropped on the way, nothing comes twice, and order holds."""
    topic, group = names
    run(broker.create(topic, 2))
    for number in range(2):
        run(broker.produce(topic, records([b"ok"] * 1_500, partition=number)))
    limits = {"max_records": 20, "max_bytes": 10_000}
    with Worker(broker, topic, group, journal, bound=7, max_poll_records=50, feed=limits):
        everything = [(number, offset) for number in range(2) for offset in range(1_500)]
        journal.wait_for("done", everything, timeout_s=60)
        wait_committed(broker, group, topic, {0: 1_500, 1: 1_500})
    assert sorted(journal.places("got")) == everything
    assert max(line["waiting"] for line in journal.lines("got")) <= 20 + 50, "what waits is bounded, but for one pull"
    for number in range(2):
        assert [offset for partition, offset in journal.places("got") if partition == number] == list(range(1_500))


def test_a_slow_partition_does_not_hold_up_another(broker, names, journal):
    """The records of one partition wait for room, those of the other go through."""
    topic, group = names
    run(broker.create(topic, 2))
    run(broker.produce(topic, records([b"hang"] * 400)))
    with Worker(broker, topic, group, journal, feed={"max_records": 30, "max_bytes": 100_000}, max_poll_records=30):
        until(lambda: len(journal.places("got")) >= 400)  # the script takes 500 at a time: all hang inside
        run(broker.produce(topic, records([b"ok"] * 60, partition=1)))
        journal.wait_for("done", [(1, offset) for offset in range(60)])


@pytest.mark.slow
def test_a_process_that_slept_does_not_write_when_it_wakes(broker, names, journal):
    """SIGSTOP beyond the session time-out: another takes over, and the sleeper knows at once that it holds nothing."""
    topic, group = names
    run(broker.create(topic, 1))
    run(broker.produce(topic, records([b"ok", b"slow:2", b"ok"])))
    with Worker(broker, topic, group, journal) as sleeper:
        journal.wait_for("got", [(0, 0), (0, 1), (0, 2)])
        sleeper.signal(signal.SIGSTOP)
        with Worker(broker, topic, group, journal) as other:
            journal.wait_for("done", [(0, 1)], pid=other.pid, timeout_s=60)
            wait_committed(broker, group, topic, {0: 3})
            sleeper.signal(signal.SIGCONT)
            journal.wait_for("done", [(0, 1)], pid=sleeper.pid)
            slept = next(line for line in journal.lines("done", sleeper.pid) if line["offset"] == 1)
            assert slept["holds"] is False
            wait_committed(broker, group, topic, {0: 3})
            assert sleeper.stop() == 0
            assert other.stop() == 0


def test_health_over_http(broker, names, journal):
    """Not ready before partitions are assigned, then ready with their names; alive all along; metrics as Prometheus text."""
    topic, group = names
    run(broker.create(topic, 3))
    with Worker(broker, topic, group, journal) as worker:
        port = worker.wait_listening()
        status, body = worker.ask(port, "/readyz")
        assert (status, body["status"], body["checks"]["kafka"]["ok"]) == (503, "unavailable", False)
        assert worker.ask(port, "/healthz")[0] == 200
        assert worker.wait_assigned(3) == [f"{topic}-{number}" for number in range(3)]
        status, body = worker.ask(port, "/healthz")
        assert (status, set(body["checks"])) == (200, {"loop", "progress"})
        status, body = worker.ask(port, "/metrics")
        assert status == 200
        assert "factsieve_test_answer 42.0" in body


def test_no_broker_is_told_apart_from_a_bug(broker, names, journal):
    """Exit code 3 where no broker can be reached at the start."""
    topic, group = names
    with Worker(broker, topic, group, journal, bootstrap_servers=["127.0.0.1:1"]) as worker:
        assert worker.process.wait(40) == 3
        assert "127.0.0.1:1" in worker.log
