"""Two workers at a part of what they can do, for long: memory, open files and sockets, and lanes stay as they are.

First it is measured what they can do, on a backlog. Then the stream comes at a pace, and each worker is looked at every few seconds.
Where the machine can no longer do what it did while that was measured, the stream waits, and the report says so.
"""

import os
import statistics
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from chaos.run import Mischief, Say, as_chaos_outcome, open_lanes
from chaos.stage import Stage, open_stage
from chaos.stream import make_stream
from e2e.harness import Worker

SHARE = 0.7
MEMORY_MARGIN = 0.05
SPARE_DESCRIPTORS = 8
"""A connection more or less that a pool opens again is no leak."""

SAMPLE_S = 2.0
BACKLOG = 3_000
BEHIND_MOST_S = 30.0
"""Nothing is sent while so many seconds' worth of events waits to be decided."""


@dataclass
class Samples:
    """What was seen of one worker."""

    memory_bytes: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    sockets: list[int] = field(default_factory=list)
    lanes: list[float] = field(default_factory=list)

    def look(self, worker: Worker) -> None:
        """Look once."""
        assert worker.pid is not None, f"{worker.log_path} ended by itself"
        self.memory_bytes.append(_resident_bytes(worker.pid))
        links = [_link(f"/proc/{worker.pid}/fd/{one}") for one in os.listdir(f"/proc/{worker.pid}/fd")]
        self.descriptors.append(len(links))
        self.sockets.append(sum(link.startswith("socket:") for link in links))
        self.lanes.append(open_lanes(worker))

    def judge(self, name: str) -> tuple[list[str], list[str]]:
        """Return what there is to say, and what is wrong: the last third against the second."""
        said, wrong = [], []
        second, last = (_third(self.memory_bytes, part) for part in (1, 2))
        change = statistics.median(last) / statistics.median(second) - 1
        said.append(
            f"  {name}: resident {statistics.median(second) / 2**20:.1f} MiB in the second third, "
            f"{statistics.median(last) / 2**20:.1f} MiB in the last ({change:+.1%})"
        )
        if change > MEMORY_MARGIN:
            wrong.append(f"{name} grew by {change:.1%}")
        for what, values, spare in (
            ("descriptors", self.descriptors, SPARE_DESCRIPTORS),
            ("sockets", self.sockets, SPARE_DESCRIPTORS),
            ("lanes", self.lanes, max(_third(self.lanes, 1))),
        ):
            second, last = (_third(values, part) for part in (1, 2))
            said.append(f"  {name}: {what} {min(second):g}-{max(second):g}, then {min(last):g}-{max(last):g}")
            if statistics.median(last) > statistics.median(second) + spare:
                wrong.append(f"{name}: {what} grew from {statistics.median(second):g} to {statistics.median(last):g}")
        return said, wrong


@dataclass
class Soak:
    """What a soak came to."""

    capacity_per_s: float
    pace_per_s: float
    decided: int
    lines: list[str]
    failures: list[str]
    took_s: float


def run_soak(folder: Path, say: Say, *, broker: str, seed: int, minutes: float) -> Soak:
    """Measure, then soak for so many minutes."""
    began = time.monotonic()
    with open_stage(folder, broker=broker, **{"embedder.cache_size": 2_048}) as stage:
        for _ in range(2):
            stage.start_worker()
        stage.room.until_ready(*stage.live.values(), timeout_s=120)
        stage.room.until_shared(*stage.live.values(), timeout_s=120)
        mischief = Mischief(stage)
        capacity = _capacity(stage, seed)
        pace = SHARE * capacity
        say(f"two workers decide {capacity:.0f} events/s of a backlog; {minutes:g} minutes at {pace:.0f}/s")
        samples = {name: Samples() for name in stage.live}
        sent = _soak(stage, seed, pace, minutes * 60, samples, say)
        stage.room.until_committed(timeout_s=120)
        as_chaos_outcome(stage.room.outcome()).check()
        for name in sorted(stage.live):
            mischief.end(name)
        lines, failures = [], list(mischief.problems)
        if sent < 0.95 * pace * minutes * 60:
            lines.append(
                f"  the workers could not keep the pace: {sent / (minutes * 60):.0f} events/s came, all they could do"
            )
        for name, seen in samples.items():
            said, wrong = seen.judge(name)
            lines += said
            failures += wrong
    return Soak(capacity, pace, sent, lines, failures, time.monotonic() - began)


def _capacity(stage: Stage, seed: int) -> float:
    """Return how many events a second both workers decide of a backlog."""
    room = stage.room
    backlog = make_stream(seed, BACKLOG, room.topics, datetime.now(UTC))
    room.send(backlog.messages)
    room.until(lambda: room.follower.decided >= BACKLOG // 10, "the first decisions", 120)
    since, before = time.monotonic(), room.follower.decided
    room.until(lambda: room.follower.decided >= backlog.events * 9 // 10, "most decisions", 600)
    rate = (room.follower.decided - before) / (time.monotonic() - since)
    room.until_committed(timeout_s=120)
    return rate


def _soak(stage: Stage, seed: int, pace: float, lasting_s: float, samples: dict[str, Samples], say: Say) -> int:
    room = stage.room
    stream = make_stream(seed + 1, int(pace * lasting_s) + 1, room.topics, datetime.now(UTC), prefix="soak-")
    began = looked = time.monotonic()
    sent, before = 0, room.follower.decided
    messages_per_event = len(stream.messages) / stream.events
    while (now := time.monotonic() - began) < lasting_s:
        done = messages_per_event * (room.follower.decided - before)
        due = min(int(pace * now), int(done + pace * BEHIND_MOST_S), len(stream.messages))
        if due > sent:
            room.send(stream.messages[sent:due])
            sent = due
        if time.monotonic() - looked >= SAMPLE_S:
            looked = time.monotonic()
            for name, worker in stage.live.items():
                samples[name].look(worker)
            if len(next(iter(samples.values())).lanes) % 30 == 0:
                say(f"  {now:6.0f} s  {sent} sent, {room.follower.decided} decided in all")
        time.sleep(0.2)
    return sent


def _third(values: list[float] | list[int], part: int) -> list[float]:
    size = max(1, len(values) // 3)
    return [float(one) for one in values[part * size : (part + 1) * size]]


def _resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} is gone")


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # closed meanwhile
        return ""
