"""An event loop on virtual time: nothing waits, and one seed gives one order of events."""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 6, 1, tzinfo=UTC)


class Deadlock(Exception):
    """Everything waits for something that will not come."""


class _Selector(selectors.BaseSelector):
    """Never waits: where the loop would, virtual time moves on instead."""

    def __init__(self) -> None:
        self._inner = selectors.DefaultSelector()
        self.now_s = 0.0

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Deadlock
        self.now_s += max(0.0, timeout)
        return []

    def get_map(self) -> Any:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose time is the selector's."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now_s


class VirtualClock:
    """The `Clock` port on a virtual loop; `skew_s` makes its reading lie."""

    def __init__(self) -> None:
        self.skew_s = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time() + self.skew_s)

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s)


def run_virtually(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end on a fresh virtual loop, and cancel what it left behind."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        # What a process that died left behind is nobody's to look at.
        runner.get_loop().set_exception_handler(lambda _loop, _context: None)
        return runner.run(main)
