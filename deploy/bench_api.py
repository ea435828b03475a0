"""How long a dedup check takes over HTTP while a worker works: percentiles against the median time of embedding one text.

Prints numbers of this machine, now. A local stack is started; the worker's capacity is measured first (statements sent at once, until the
last one is decided), then it is kept at a quarter of it while checks are asked at a steady rate, each of a text never seen before. The
worker's statements go to Kafka one by one, as evenly as the checks go to the API: neither load is a burst. All of it, this program too,
shares the machine's cores. `make bench-api`.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Final

import aiohttp
import typer

from factsieve.adapters.kafka_outbox import KafkaOutbox
from factsieve.assembly.settings import load_settings
from factsieve.assembly.wiring import build_embedder
from factsieve.cli.connect import local_overrides
from factsieve.cli.local import running, serving
from factsieve.cli.operator_key import TOKEN_FILE, read_key
from factsieve.core.ids import event_key
from factsieve.localstack.stack import StackConfig
from factsieve.operations.connected import Connected, connected_to
from factsieve.ports import Message
from factsieve.wire.outbound import cloud_event_headers
from factsieve.wire.topics import CANDIDATE

GOAL = 5.0
"""The 99th percentile is to be at most so many times the median of embedding one text."""
_CE_SOURCE: Final = "factsieve/bench"


def texts(what: str) -> Iterator[str]:
    """Yield texts like the demonstration's, none of them twice."""
    raw = (resources.files("factsieve.cli") / "demo" / "facts.jsonl").read_text(encoding="utf-8")
    known = [str(json.loads(line)["text"]) for line in raw.splitlines()]
    number = 0
    while True:
        yield f"{known[number % len(known)]} ({what} {number})"
        number += 1


async def embedding_ms(count: int) -> float:
    """Return the median milliseconds of embedding one text, alone, in one thread."""
    embedder = build_embedder(load_settings({"embedder.threads": 1}, environ={}))
    source = texts("alone")
    took = []
    for _ in range(count):
        text = next(source)
        began = time.perf_counter()
        await embedder.embed([text])
        took.append(time.perf_counter() - began)
    getattr(embedder, "close", lambda: None)()
    return statistics.median(took) * 1000


class Worker:
    """What the measurement tells the worker, over Kafka: statements into several namespaces, none of them said twice."""

    def __init__(self, connected: Connected, outbox: KafkaOutbox, lanes: int = 20) -> None:
        self._connected = connected
        self._outbox = outbox
        self._texts = texts("stated")
        self._lanes = lanes
        self._number = 0

    async def tell(self) -> str:
        """Send one statement; return the key of its event."""
        namespace, ce_id = f"lane-{self._number % self._lanes}", str(self._number)
        self._number += 1
        value = json.dumps({"namespace": namespace, "text": next(self._texts), "source": "remember"}).encode()
        headers = cloud_event_headers(CANDIDATE, ce_id, datetime.now(UTC), ce_source=_CE_SOURCE)
        await self._outbox.send([Message(self._connected.topics.candidates, namespace.encode(), value, headers)])
        return event_key(namespace, _CE_SOURCE, ce_id)


class Api:
    """What the measurement asks of the API."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def decided(self, key: str) -> None:
        """Wait for a decision."""
        while True:
            params = {"event_key": key, "wait": "30"}
            async with self._session.get("/v1/decisions", params=params) as answer:
                answer.raise_for_status()
                if (await answer.json())["decisions"]:
                    return

    async def check(self, text: str) -> tuple[int, float]:
        """Return status and milliseconds of one dedup check."""
        began = time.perf_counter()
        body = {"namespace": "lane-1", "text": text}
        async with self._session.post("/v1/dedup-check", json=body) as answer:
            await answer.read()
            return answer.status, (time.perf_counter() - began) * 1000


async def capacity(worker: Worker, api: Api, count: int) -> float:
    """Return how many statements a second the worker decides."""
    began = time.perf_counter()
    keys = await asyncio.gather(*(worker.tell() for _ in range(count)))
    await asyncio.gather(*(api.decided(key) for key in keys[-20:]))
    return count / (time.perf_counter() - began)


async def every(interval_s: float, duration_s: float) -> AsyncIterator[None]:
    """Yield at even intervals; one that comes late does not move those after it."""
    began = time.perf_counter()
    for number in range(int(duration_s / interval_s)):
        await asyncio.sleep(max(0.0, began + number * interval_s - time.perf_counter()))
        yield


async def load(
    worker: Worker, api: Api, *, per_s: float, checks_per_s: float, duration_s: float
) -> tuple[list[tuple[int, float]], float]:
    """Tell the worker `per_s` statements a second and ask `checks_per_s` checks a second.

    Return the checks' results, and for how many seconds after the last statement the worker was still busy.
    """

    async def tell() -> float:
        told = [asyncio.create_task(worker.tell()) async for _ in every(1 / per_s, duration_s)]
        last, ended = await told[-1], time.perf_counter()
        await asyncio.gather(*told)
        await api.decided(last)
        return time.perf_counter() - ended

    telling = asyncio.create_task(tell())
    source = texts("asked")
    asked = [asyncio.create_task(api.check(next(source))) async for _ in every(1 / checks_per_s, duration_s)]
    return list(await asyncio.gather(*asked)), await telling


async def measure(
    url: str, token: str, connected: Connected, *, duration_s: float, rate: float, count: int
) -> dict[str, float]:
    """Return the numbers of a run."""
    alone_ms = await embedding_ms(200)
    headers = {"Authorization": f"Bearer {token}"}
    async with contextlib.AsyncExitStack() as opened:
        connector = aiohttp.TCPConnector(limit=0)
        session = await opened.enter_async_context(aiohttp.ClientSession(url, headers=headers, connector=connector))
        outbox = connected.kafka.outbox()
        opened.push_async_callback(outbox.stop)
        await outbox.start()
        worker, api = Worker(connected, outbox), Api(session)
        await capacity(worker, api, 40)  # warm
        able = await capacity(worker, api, count)
        results, behind_s = await load(worker, api, per_s=able / 4, checks_per_s=rate, duration_s=duration_s)
    took = sorted(ms for status, ms in results if status == 200)
    return {
        "embed_one_ms": alone_ms,
        "capacity_per_s": able,
        "behind_s": behind_s,
        "checks": len(results),
        "refused": len(results) - len(took),
        "p50_ms": took[len(took) // 2],
        "p90_ms": took[int(len(took) * 0.9)],
        "p99_ms": took[int(len(took) * 0.99)],
        "p99_ratio": took[int(len(took) * 0.99)] / alone_ms,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to ask")
    parser.add_argument("--rate", type=float, default=50.0, help="checks a second")
    parser.add_argument("--count", type=int, default=500, help="statements that the capacity is measured with")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    overrides: dict[str, object] = {"api.max_streams": 1_000, "api.token_share": 1.0}
    with contextlib.ExitStack() as opened:
        state = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="factsieve-bench-")))
        stack, _ = opened.enter_context(running(StackConfig(state_dir=state), overrides, config=None))
        api = opened.enter_context(serving(stack, overrides, config=None))
        token = read_key(state, TOKEN_FILE) or ""
        connected = connected_to(load_settings({**local_overrides(stack), **overrides}), local=True)
        url = f"http://{api.address}"
        asking = measure(url, token, connected, duration_s=asked.seconds, rate=asked.rate, count=asked.count)
        told = asyncio.run(asking)
    if asked.json:
        typer.echo(json.dumps({name: round(value, 2) for name, value in told.items()}))
        return 0
    typer.echo(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    typer.echo(f"{told['embed_one_ms']:8.1f} ms   embedding one text, median")
    typer.echo(
        f"{told['capacity_per_s']:8.0f} /s   statements that the worker decides alone; it is kept at a quarter of that,"
    )
    typer.echo(f"{told['behind_s']:8.2f} s    after the last of which it was done")
    typer.echo(f"{told['checks']:8.0f}      checks at {asked.rate:g}/s, {told['refused']:.0f} refused")
    for name in ("p50", "p90", "p99"):
        typer.echo(f"{told[f'{name}_ms']:8.1f} ms   {name}  ({told[f'{name}_ms'] / told['embed_one_ms']:.1f} x)")
    return 0 if told["p99_ratio"] <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
