"""The system clock."""

import asyncio
from datetime import UTC, datetime


class SystemClock:
    """System time and real waiting."""

    def now(self) -> datetime:
        """Return the system time, UTC."""
        return datetime.now(UTC)

    async def sleep(self, duration_s: float) -> None:
        """Wait `duration_s` seconds."""
        await asyncio.sleep(duration_s)
