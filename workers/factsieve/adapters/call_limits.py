"""What keeps calls to a shared service within bounds: a breaker, calls per minute, and calls under way, overall and per namespace.

All state is of one event loop; times are monotonic seconds from a clock that is given.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Literal

Monotonic = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]

_WINDOW_S: Final = 60.0
_NAMESPACES_KEPT: Final = 10_000


class Breaker:
    """A circuit breaker: after `failures` in a row no call is let through for `pause_s`, then one is, as a probe.

    The probe's outcome closes the circuit, or opens it for another pause.
    """

    def __init__(self, failures: int, pause_s: float, monotonic: Monotonic) -> None:
        self._limit = failures
        self._pause_s = pause_s
        self._monotonic = monotonic
        self._in_a_row = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def state(self) -> Literal["closed", "open", "half_open"]:
        """Return the state as it is now."""
        if self._opened_at is None:
            return "closed"
        return "half_open" if self._probing or self._monotonic() - self._opened_at >= self._pause_s else "open"

    def admits(self) -> bool:
        """Return whether a call may be made now; a True must be followed by `succeeded`, `failed` or `abandoned`."""
        if self._opened_at is None:
            return True
        if self._probing or self._monotonic() - self._opened_at < self._pause_s:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """Count a call that was answered."""
        self._in_a_row = 0
        self._opened_at = None
        self._probing = False

    def failed(self) -> None:
        """Count a call that was not."""
        self._in_a_row += 1
        if self._probing or self._in_a_row >= self._limit:
            self._opened_at = self._monotonic()
        self._probing = False

    def abandoned(self) -> None:
        """Forget a call whose outcome nobody waited for."""
        self._probing = False


class CallRate:
    """At most `per_minute` calls within any sixty seconds."""

    def __init__(self, per_minute: int, monotonic: Monotonic) -> None:
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._calls: deque[float] = deque()

    def wait_s(self) -> float:
        """Return how long it takes until a call is allowed; 0 when it is now."""
        now = self._monotonic()
        while self._calls and now - self._calls[0] >= _WINDOW_S:
            self._calls.popleft()
        return 0.0 if len(self._calls) < self._per_minute else self._calls[0] + _WINDOW_S - now

    def take(self) -> None:
        """Count a call made now."""
        self._calls.append(self._monotonic())

    @property
    def idle(self) -> bool:
        """Return whether no call of the last minute is remembered."""
        self.wait_s()
        return not self._calls


class _Namespace:
    def __init__(self, rate: CallRate, slots: int) -> None:
        self.rate = rate
        self.slots = asyncio.Semaphore(slots)
        self.users = 0


class Limits:
    """Calls per minute and calls under way, overall and per namespace. A waiting namespace holds nothing that another could use."""

    def __init__(
        self,
        *,
        concurrency: int,
        namespace_concurrency: int,
        per_minute: int,
        namespace_per_minute: int,
        monotonic: Monotonic,
        sleep: Sleep,
    ) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._rate = CallRate(per_minute, monotonic)
        self._namespace_slots = namespace_concurrency
        self._namespace_per_minute = namespace_per_minute
        self._monotonic = monotonic
        self._sleep = sleep
        self._namespaces: OrderedDict[str, _Namespace] = OrderedDict()

    @asynccontextmanager
    async def call(self, namespace: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it. How long to wait is the caller's to bound."""
        own = self._of(namespace)
        own.users += 1
        try:
            async with own.slots:
                while True:
                    await self._until_allowed(own)
                    async with self._slots:
                        if own.rate.wait_s() > 0 or self._rate.wait_s() > 0:
                            continue  # others came first while this one waited for its slot
                        own.rate.take()
                        self._rate.take()
                        yield
                        return
        finally:
            own.users -= 1

    async def _until_allowed(self, own: _Namespace) -> None:
        while (wait_s := max(own.rate.wait_s(), self._rate.wait_s())) > 0:
            await self._sleep(wait_s)

    def _of(self, namespace: str) -> _Namespace:
        own = self._namespaces.get(namespace)
        if own is None:
            own = _Namespace(CallRate(self._namespace_per_minute, self._monotonic), self._namespace_slots)
            self._namespaces[namespace] = own
            self._forget_idle()
        self._namespaces.move_to_end(namespace)
        return own

    def _forget_idle(self) -> None:
        """Drop namespaces that have not called for a minute, so that many of them do not fill the memory."""
        while len(self._namespaces) > _NAMESPACES_KEPT:
            oldest, own = next(iter(self._namespaces.items()))
            if own.users or not own.rate.idle:
                return
            del self._namespaces[oldest]
