"""How long a dedup check takes over HTTP while a worker works: percentiles against the median time of embedding one text.

Prints numbers of this machine, now. A local stack is started; the worker's capacity is measured first, then it is kept at a quarter of it
while checks are asked at a steady rate, each of a text never seen before. `make bench-api`.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import aiohttp
import typer

from factsieve.assembly.settings import load_settings
from factsieve.assembly.wiring import build_embedder
from factsieve.cli.local import running, serving
from factsieve.cli.operator_key import TOKEN_FILE, read_key
from factsieve.localstack.stack import StackConfig

GOAL = 5.0
"""The 99th percentile is to be at most so many times the median of embedding one text."""


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


class Api:
    """What the measurement asks of the API."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._statements = texts("stated")

    async def send(self, count: int, lanes: int = 20) -> list[str]:
        """Send statements into several namespaces; return their event keys."""
        body = {
            "candidates": [{"namespace": f"lane-{n % lanes}", "text": next(self._statements)} for n in range(count)]
        }
        async with self._session.post("/v1/candidates", json=body) as answer:
            answer.raise_for_status()
            return [event["event_key"] for event in (await answer.json())["events"]]

    async def decided(self, key: str) -> None:
        """Wait for a decision."""
        while True:
            params = {"event_key": key, "wait": "30"}
            async with self._session.get("/v1/decisions", params=params) as answer:
                answer.raise_for_status()
                if (await answer.json())["decisions"]:
                    return

    async def capacity(self, count: int) -> float:
        """Return how many statements a second the worker decides."""
        keys = await self.send(count)
        began = time.perf_counter()
        await asyncio.gather(*(self.decided(key) for key in keys[-20:]))
        return count / (time.perf_counter() - began)

    async def check(self, text: str) -> tuple[int, float]:
        """Return status and milliseconds of one dedup check."""
        began = time.perf_counter()
        body = {"namespace": "lane-1", "text": text}
        async with self._session.post("/v1/dedup-check", json=body) as answer:
            await answer.read()
            return answer.status, (time.perf_counter() - began) * 1000


async def load(api: Api, *, per_s: float, checks_per_s: float, duration_s: float) -> list[tuple[int, float]]:
    """Keep the worker busy at `per_s` statements a second and ask `checks_per_s` checks a second; return the checks' results."""
    source = texts("asked")
    results: list[asyncio.Task[tuple[int, float]]] = []
    began = time.perf_counter()
    sent = 0
    for number in range(int(duration_s * checks_per_s)):
        due = number / checks_per_s
        await asyncio.sleep(max(0.0, began + due - time.perf_counter()))
        results.append(asyncio.create_task(api.check(next(source))))
        if (behind := int(due * per_s) - sent) >= max(1, per_s / 10):
            await api.send(behind)
            sent += behind
    return list(await asyncio.gather(*results))


async def measure(url: str, token: str, *, duration_s: float, rate: float, count: int) -> dict[str, float]:
    """Return the numbers of a run."""
    alone_ms = await embedding_ms(200)
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(url, headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:
        api = Api(session)
        await api.capacity(40)  # warm
        capacity = await api.capacity(count)
        results = await load(api, per_s=capacity / 4, checks_per_s=rate, duration_s=duration_s)
    took = sorted(ms for status, ms in results if status == 200)
    return {
        "embed_one_ms": alone_ms,
        "capacity_per_s": capacity,
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
    overrides: dict[str, object] = {"api.writes_per_s": 100_000, "api.write_burst": 100_000, "api.max_batch": 5_000}
    overrides |= {"api.max_streams": 1_000, "api.token_share": 1.0}
    with contextlib.ExitStack() as opened:
        state = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="factsieve-bench-")))
        stack, _ = opened.enter_context(running(StackConfig(state_dir=state), overrides, config=None))
        api = opened.enter_context(serving(stack, overrides, config=None))
        token = read_key(state, TOKEN_FILE) or ""
        asking = measure(f"http://{api.address}", token, duration_s=asked.seconds, rate=asked.rate, count=asked.count)
        told = asyncio.run(asking)
    if asked.json:
        typer.echo(json.dumps({name: round(value, 2) for name, value in told.items()}))
        return 0
    typer.echo(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    typer.echo(f"{told['embed_one_ms']:8.1f} ms   embedding one text, median")
    typer.echo(
        f"{told['capacity_per_s']:8.0f} /s   statements that the worker decides alone; it was kept at a quarter of that"
    )
    typer.echo(f"{told['checks']:8.0f}      checks at {asked.rate:g}/s, {told['refused']:.0f} refused")
    for name in ("p50", "p90", "p99"):
        typer.echo(f"{told[f'{name}_ms']:8.1f} ms   {name}  ({told[f'{name}_ms'] / told['embed_one_ms']:.1f} x)")
    return 0 if told["p99_ratio"] <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
