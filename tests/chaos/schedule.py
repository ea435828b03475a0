"""What goes wrong when, from a seed: printed before it begins, and the same for the same seed."""

import random
from dataclasses import dataclass

DISTURBING = {
    # kind: (weight, seconds it lasts from, to)
    "kill a worker": (8, 0.0, 2.0),
    "end a worker": (5, 0.0, 1.0),
    "stop a worker briefly": (4, 0.5, 2.0),
    "stop a worker beyond its session": (5, 7.0, 10.0),
    "rolling restart": (2, 0.0, 0.0),
    "a worker joins while the judge is slow": (4, 2.0, 4.0),
    "slow judge": (2, 1.0, 3.0),
    "flush redis": (3, 0.0, 0.0),
    "kill redis": (4, 0.5, 4.0),
    "kill qdrant": (5, 0.5, 4.0),
    "stop qdrant": (3, 0.5, 5.0),
    "cut qdrant": (3, 0.5, 4.0),
    "half-open qdrant": (3, 1.0, 5.0),
    "deaf qdrant": (4, 0.5, 4.0),
    "slow qdrant": (2, 2.0, 4.0),
    "cut redis": (1, 0.5, 3.0),
    "half-open redis": (2, 1.0, 4.0),
    "cut kafka": (4, 0.5, 6.0),
    "half-open kafka": (4, 1.0, 8.0),
    "deaf kafka": (4, 0.5, 5.0),
    "slow kafka": (2, 2.0, 4.0),
}
BROKER = {
    "kill the broker": (8, 0.5, 4.0),
    "stop the broker": (6, 1.0, 6.0),
}
"""Only for a broker that keeps its data."""


@dataclass(frozen=True)
class Fault:
    """`kind` happens to the worker of number `victim` (modulo those that run) when `at` events were decided, and lasts `lasts_s`."""

    number: int
    at: int
    kind: str
    victim: int
    lasts_s: float

    def __str__(self) -> str:
        return f"{self.number:3d}  at {self.at:6d} decided  {self.kind:40s} worker {self.victim}  {self.lasts_s:4.1f} s"


def make_schedule(seed: int, faults: int, events: int, *, durable_broker: bool) -> list[Fault]:
    """Return so many faults, spread over the events with some at close quarters.

    A schedule that is long enough holds every kind at least once; the rest is drawn by weight.
    """
    rng = random.Random(f"schedule {seed}")
    kinds = DISTURBING | (BROKER if durable_broker else {})
    dealt: list[str] = list(kinds) if faults >= len(kinds) else []
    while len(dealt) < faults:
        dealt += rng.choices(list(kinds), [weight for weight, _, _ in kinds.values()])
    dealt = dealt[:faults]
    rng.shuffle(dealt)
    first, last = events // 50, events - events // 12
    places = sorted(rng.randint(first, last) for _ in range(faults))
    return [
        Fault(number, at, kind, rng.randrange(2), round(rng.uniform(*kinds[kind][1:]), 1))
        for number, (at, kind) in enumerate(zip(places, dealt, strict=True), start=1)
    ]
