"""What guard and NLI model cost, as ratios to embedding one text: in one run, by processor time, so that a busy machine tells the same."""

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from factsieve.assembly import memory
from factsieve.cli.measure.pairs import Pair
from factsieve.cli.measure.trials import COMES_AT, STORED_AT
from factsieve.core import guard
from factsieve.core.errors import BadSettings

if TYPE_CHECKING:
    from factsieve.assembly.wiring import Models

ROUNDS: Final = 3
PAIRS_A_ROUND: Final = 120
WARM_UP: Final = 40
LEAST_PAIRS: Final = 4
FEATURES_GOAL: Final = 0.05
COMPARE_GOAL: Final = 0.02
NLI_GOAL: Final = 6.0


class Costs(msgspec.Struct, frozen=True):
    """`embed_ms` is the processor time of embedding one text alone; the others are ratios to it. `batched`: one text of a full batch."""

    embed_ms: float
    batched: float
    features: float
    compare: float
    nli: dict[str, float]


def measure_costs(
    overrides: Mapping[str, object], config: Path | None, nli_names: Sequence[str], pairs: Sequence[Pair]
) -> Costs:
    """Return the costs on these pairs' texts, each of them new to every cache. Raises BadSettings."""
    thresholds = gc.get_threshold()
    memory.settle()  # as a worker does
    try:
        return asyncio.run(_measure(overrides, config, nli_names, pairs))
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


async def _measure(
    overrides: Mapping[str, object], config: Path | None, nli_names: Sequence[str], pairs: Sequence[Pair]
) -> Costs:
    from factsieve.assembly.settings import load_settings
    from factsieve.assembly.wiring import open_models

    uncached = {"embedder.cache_size": 0, "embedder.threads": 1, "judge.nli_threads": 1}
    chosen = _sample(pairs, WARM_UP + ROUNDS * PAIRS_A_ROUND)
    if len(chosen) < LEAST_PAIRS:
        raise BadSettings(
            f"--costs needs {LEAST_PAIRS} pairs of texts that occur once, there are {len(chosen)}: give more pairs"
        )
    warm = min(WARM_UP, len(chosen) // 4)
    async with open_models(load_settings({**overrides, **uncached, "judge.name": "rules"}, path=config)) as models:
        await _round(models, chosen[:warm])
        rounds = [
            await _round(models, chosen[start : start + PAIRS_A_ROUND])
            for start in range(warm, len(chosen), PAIRS_A_ROUND)
        ]
    embed_s = statistics.median(round_[0] for round_ in rounds)
    batched, features, compare = (statistics.median(r[i] / r[0] for r in rounds) for i in (1, 2, 3))
    nli = {
        name: await _nli_seconds({**overrides, **uncached, "judge.name": name}, config, chosen, warm) / embed_s
        for name in nli_names
    }
    return Costs(embed_s * 1000, batched, features, compare, nli)


async def _round(models: "Models", part: Sequence[Pair]) -> tuple[float, float, float, float]:
    """Return the seconds of embedding a text alone, embedding it among others, reading it, and comparing a pair."""
    texts = [text for pair in part for text in (pair.a, pair.b)]
    marks = [time.process_time()]
    for text in texts:
        await models.embedder.embed([text])
    marks.append(time.process_time())
    await models.embedder.embed(texts)
    marks.append(time.process_time())
    read = [(guard.features(pair.b, COMES_AT), guard.features(pair.a, STORED_AT)) for pair in part]
    marks.append(time.process_time())
    for ours, theirs in read:
        guard.compare(ours, theirs)
    marks.append(time.process_time())
    alone, batched, features, compare = (later - before for before, later in pairwise(marks))
    return alone / len(texts), batched / len(texts), features / len(texts), compare / len(part)


async def _nli_seconds(overrides: Mapping[str, object], config: Path | None, pairs: Sequence[Pair], warm: int) -> float:
    from factsieve.assembly.settings import load_settings
    from factsieve.assembly.wiring import open_models

    async with open_models(load_settings(overrides, path=config)) as models:
        nli = models.judges.nli
        assert nli is not None  # the name says so
        await nli.score_pairs([(pair.a, pair.b) for pair in pairs[:warm]])
        timed = pairs[warm : warm + PAIRS_A_ROUND]
        started = time.process_time()
        for pair in timed:
            await nli.score_pairs([(pair.a, pair.b)])
        return (time.process_time() - started) / len(timed)


def _sample(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Return so many pairs of texts that occur once, the same ones for the same input."""
    seen: set[str] = set()
    fresh = []
    for pair in pairs:
        if pair.a != pair.b and not {pair.a, pair.b} & seen:
            seen |= {pair.a, pair.b}
            fresh.append(pair)
    random.Random(7).shuffle(fresh)
    return fresh[:count]
