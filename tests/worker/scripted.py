"""An engine by script, and a worker process around it.

The value of a record says what becomes of it: `hang` is never done, `slow:SECONDS` is done after that time, `gate` once the file
beside the journal that is called like it, but `.gate`, exists (even if its partition was given up meanwhile), `bug` makes the
engine raise, anything else is done at once. Whatever it gets,
starts and does goes to a journal, one JSON line each, written through to the file before it goes on.
"""

import asyncio
import base64
import json
import os
import sys
import time
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry, Gauge

from factsieve.core.facts import Record
from factsieve.worker.app import WorkerConfig, make_app
from factsieve.worker.run import RunOptions, run_worker


class ScriptedEngine:
    """Takes at most `bound` records at a time."""

    def __init__(self, context, journal: Path, *, bound: int = 500) -> None:
        self.context = context
        self._file = journal.open("ab", buffering=0)
        self._gate = journal.with_suffix(".gate")
        self._slots = asyncio.Semaphore(bound)
        self._tasks: dict[asyncio.Task, tuple[str, int]] = {}
        self.app = None

    @property
    def in_flight(self) -> int:
        return len(self._tasks)

    def note(self, what: str, record: Record | None = None, **more) -> None:
        line = {"what": what, "pid": os.getpid(), "at": time.monotonic(), **more}
        if record is not None:
            line |= {"partition": record.partition, "offset": record.offset}
        self._file.write(json.dumps(line).encode() + b"\n")

    async def submit(self, record: Record, done) -> None:
        await self._slots.acquire()
        self.note(
            "got",
            record,
            timestamp_ms=record.timestamp_ms,
            key=_text(record.key),
            value=_text(record.value)
            if record.value is None or len(record.value) < 1000
            else f"{len(record.value)} bytes",
            waiting=max(state.waiting for state in self.app.feeds.states()),
            headers=[[name, _text(value)] for name, value in record.headers],
        )
        task = asyncio.create_task(self._work(record, done))
        self._tasks[task] = (record.topic, record.partition)
        task.add_done_callback(self._ended)

    def _ended(self, task) -> None:
        del self._tasks[task]
        self._slots.release()
        if not task.cancelled() and task.exception() is not None:
            self.context.on_bug(task.exception())

    async def _work(self, record: Record, done) -> None:
        script = (record.value or b"").decode(errors="replace")
        if script == "hang":
            await asyncio.Event().wait()
        if script == "bug":
            raise RuntimeError("scripted bug")
        while script == "gate" and not self._gate.exists():  # noqa: ASYNC110 - another process makes the file
            await asyncio.sleep(0.02)
        if script.startswith("slow:"):
            await asyncio.sleep(float(script.partition(":")[2]))
        self.note("done", record, holds=self.context.fence.holds(record.topic, record.partition))
        done()

    def discard(self, partitions) -> None:
        self.note("discard", partitions=sorted(partitions))

    async def drain(self, partitions, timeout_s: float) -> bool:
        mine = [task for task, name in self._tasks.items() if partitions is None or name in partitions]
        if not mine:
            return True
        _done, pending = await asyncio.wait(mine, timeout=timeout_s)
        self.note("drained", left=len(pending))
        return not pending

    async def start(self) -> None:
        self.note("started")

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*list(self._tasks), return_exceptions=True)
        self.note("stopped")
        self._file.close()


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


async def main(config: WorkerConfig, journal: Path, bound: int) -> int:
    engine = None

    def factory(context):
        nonlocal engine
        engine = ScriptedEngine(context, journal, bound=bound)
        return engine

    app = make_app(config, factory)
    engine.app = app
    registry = CollectorRegistry()
    Gauge("factsieve_test_answer", "For the tests.", registry=registry).set(42)
    return await run_worker(
        app, RunOptions(registry=registry, on_ready=lambda port: engine.note("listening", port=port))
    )


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    settings = msgspec.convert(arguments["config"], WorkerConfig)
    sys.exit(asyncio.run(main(settings, Path(arguments["journal"]), arguments["bound"])))
