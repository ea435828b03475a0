"""Times as people write them on a command line."""

from datetime import datetime

from factsieve.core.errors import BadSettings
from factsieve.wire import times


def instant(text: str | None, option: str) -> datetime | None:
    """Return the instant that an option names, None where it is not given. Raises BadSettings for what is no time."""
    if text is None:
        return None
    try:
        return times.parse_day_or_instant(text)
    except ValueError:
        raise BadSettings(
            f"{option} {text!r} is no time: write a day (2026-03-04, its beginning in UTC) or an instant (2026-03-04T09:30:00Z)"
        ) from None
