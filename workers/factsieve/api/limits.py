"""Bounds of the API: how much is under way at once, and how much a token may write."""

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

MAX_BUCKETS: Final = 10_000
"""So many callers' rates are remembered; the one that wrote least recently is forgotten first, its bucket being full again by then."""
_ROUNDING: Final = 1e-6
"""So much of a write is no write: times are floating-point numbers, and the promised pause is to be enough."""


class TooBusy(Exception):
    """As much is under way as may be: the request is refused at once, and may be tried again."""


class TooFast(Exception):
    """A caller wrote more than it may; `retry_after_s` (whole seconds) is when the same request fits again."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"too many writes: try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class Gate:
    """Lets at most `most` requests in at once, `each` of one caller (None: all of them).

    It has no queue: beyond that the answer is no, at once.
    """

    def __init__(self, most: int, each: int | None = None) -> None:
        self._most = most
        self._each = most if each is None else each
        self._of: Counter[str] = Counter()
        self.inside = 0

    @contextmanager
    def entered(self, caller: str = "") -> Iterator[None]:
        """Be inside for the length of the context. Raises TooBusy."""
        if self.inside >= self._most or self._of[caller] >= self._each:
            raise TooBusy
        self.inside += 1
        self._of[caller] += 1
        try:
            yield
        finally:
            self.inside -= 1
            self._of[caller] -= 1
            if not self._of[caller]:
                del self._of[caller]  # those who left are not remembered


class TokenBuckets:
    """One token bucket per caller: `burst` writes at once, `per_s` more each second. `now_s` is a monotonic clock in seconds."""

    def __init__(self, *, per_s: float, burst: int, now_s: Callable[[], float]) -> None:
        self._per_s = per_s
        self._burst = burst
        self._now_s = now_s
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, writes: int) -> None:
        """Count writes of a caller. Raises TooFast, and then counts none of them."""
        now = self._now_s()
        level, at = self._levels.get(caller, (float(self._burst), now))
        level = min(float(self._burst), level + max(0.0, now - at) * self._per_s)
        missing = writes - level
        if missing > _ROUNDING:
            raise TooFast(max(1, math.ceil(missing / self._per_s)))
        self._levels[caller] = (max(0.0, level - writes), now)
        self._levels.move_to_end(caller)
        while len(self._levels) > MAX_BUCKETS:
            self._levels.popitem(last=False)
