"""How a process that works in the background makes way for those on the same machine that answer somebody."""

import errno
import os
import sys
import time
from pathlib import Path
from typing import Final

import structlog

log = structlog.get_logger(__name__)

_GROUP: Final = Path("/proc/self/autogroup")
"""The niceness of the group of processes that this one is scheduled in: one per session (sched(7), "The autogroup feature")."""
_TRIES: Final = 4
_PAUSE_S: Final = 0.15
"""Linux lets somebody without privileges change a group's once in a tenth of a second, all such users together."""
_NICEST: Final = 19


def make_way(niceness: int) -> None:
    """Add `niceness` (0 to 19) to that of this process and of the threads that it is yet to start.

    Where Linux schedules sessions as groups, niceness counts among the processes of one session only: one that leads its own session, as
    a child of `factsieve up` does, is made a nicer group. In somebody else's session (a shell's) the group is left alone. What the system
    refuses is logged: nothing but speed depends on it.
    """
    if not niceness:
        return
    try:
        os.nice(niceness)
        if sys.platform == "linux" and os.getsid(0) == os.getpid() and _GROUP.exists():
            _make_group_nicer(niceness)
    except (OSError, ValueError) as error:
        log.warning("niceness_refused", niceness=niceness, error=str(error))


def _make_group_nicer(niceness: int) -> None:
    """Write the group's niceness; raises OSError where that is refused, ValueError where the file reads otherwise than known."""
    group = _GROUP.read_text(encoding="ascii").strip()
    if not group:
        return  # In the system's first session, or in none: scheduled beside everything else, by its own niceness.
    name, _, before = group.rpartition(" nice ")
    if not name:
        raise ValueError(f"{_GROUP} says {group!r}, not `/autogroup-N nice M`")
    wanted = str(min(_NICEST, int(before) + niceness))
    for attempt in range(1, _TRIES + 1):
        try:
            _GROUP.write_text(wanted, encoding="ascii")
        except OSError as error:
            if error.errno != errno.EAGAIN or attempt == _TRIES:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
