"""Whether what an API process needs answers: looked at once for all who ask at the same time, and not more than once a second.

Everybody may ask, as often as they like: it must not cost the stores more than one look.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

CHECK_TIMEOUT_S: Final = 3.0
HOLD_S: Final = 1.0
"""For so long an answer stands."""

Check = Callable[[], Awaitable[object]]
"""Raises, or returns False, where something is not as it should be."""


class Readiness:
    """The checks by name, and what they last said."""

    def __init__(self, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self.checks: dict[str, Check] = {}
        self._now_s = now_s
        self._looking: asyncio.Task[Mapping[str, dict[str, Any]]] | None = None
        self._looked_at_s = 0.0

    async def looked_at(self) -> Mapping[str, dict[str, Any]]:
        """Return for each check whether it is well (`ok`) and how long it took (`duration_ms`)."""
        task = self._looking
        if task is None or (task.done() and self._now_s() - self._looked_at_s >= HOLD_S):
            task = self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(task)  # whoever goes away does not end it for the others

    async def _look(self) -> Mapping[str, dict[str, Any]]:
        names = list(self.checks)
        found = dict(zip(names, await asyncio.gather(*(self._checked(name) for name in names)), strict=True))
        self._looked_at_s = self._now_s()
        return found

    async def _checked(self, name: str) -> dict[str, Any]:
        began = time.perf_counter()
        try:
            ok = await asyncio.wait_for(self.checks[name](), CHECK_TIMEOUT_S) is not False
        except Exception:  # a check says by any exception that something is wrong
            ok = False
        return {"ok": ok, "duration_ms": round((time.perf_counter() - began) * 1000, 3)}
