"""SIGTERM under load while the judge does not answer: the worker leaves in time, and what it leaves is done once by the next one."""

import asyncio
from datetime import UTC, datetime

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from chaos.judge import JudgeServer
from chaos.model import write_model
from chaos.rebuild import compare, rebuild_now
from chaos.run import as_chaos_outcome
from chaos.stage import SETTINGS
from chaos.stream import make_stream
from e2e.harness import BOTH_SITES, PARTITIONS, Room

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("site", BOTH_SITES, indirect=True)]

RECORDS = 120


async def committed(room: Room) -> dict[int, int]:
    """Return the committed offset of each input partition."""
    group = room.settings.kafka.group
    consumer = AIOKafkaConsumer(
        bootstrap_servers=room.site.kafka_bootstrap,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        wanted = [TopicPartition(room.topics.candidates, number) for number in range(PARTITIONS)]
        consumer.assign(wanted)
        return {one.partition: await consumer.committed(one) or 0 for one in wanted}
    finally:
        await consumer.stop()


def told_at(room: Room) -> set[tuple[int, int]]:
    """Return the coordinates of all records of which something was told."""
    places = (one["coordinates"] for one in room.follower.decisions())
    return {(place["partition"], place["offset"]) for place in places}


def test_sigterm_with_a_hung_judge(site, tmp_path):
    """Exit code 0 within the deadline; no record below the committed offsets is undone, the first one above them is not done; the next
    worker comes to the state of an undisturbed run, every event with one decision id.
    """
    with JudgeServer() as judge:
        words = {"embedder.kind": "folder", "embedder.path": str(write_model(tmp_path / "words"))}
        with site.room(**SETTINGS, **words, **{"judge.name": f"{judge.url}#hung"}) as room:
            stream = make_stream(11, RECORDS, room.topics, datetime.now(UTC))
            judge.hanging = True
            worker = room.worker()
            room.send(stream.messages)
            lanes_held = 3
            room.until(lambda: judge.asked >= lanes_held and room.follower.decided > 5, "lanes that wait for the judge")
            assert worker.ask("/healthz")[0] == 200
            assert worker.terminate(room.settings.worker.stop_deadline_s + 2) == 0
            assert "stop_deadline_passed" not in worker.log
            room.until(room.follower.caught_up, "the output topics being read to their ends", 30)

            done, told = asyncio.run(committed(room)), told_at(room)
            assert room.follower.lag(room.settings.kafka.group) > 0
            repeats = RECORDS - stream.events  # told at the place of their first
            untold = [(p, offset) for p, end in done.items() for offset in range(end) if (p, offset) not in told]
            assert len(untold) <= repeats
            assert room.follower.decided < stream.events

            judge.hanging = False
            room.worker()
            room.until_committed(timeout_s=120)
            found = room.outcome()
            real = as_chaos_outcome(found)
            expected, records = rebuild_now(room.settings, room.name, site.kafka_bootstrap)
            assert compare(real, expected, records).failures == []
