"""What a process that is to answer quickly does with its memory, once, before the first request or record, and how it is started.

A command that runs for as long as its input is long, and then ends, does the cheap half of it (`look_less_often`).
"""

import gc
import sys
from pathlib import Path
from typing import Final

COLLECT_AFTER: Final = (20_000, 20, 50)
"""So many new objects before the youngest are looked at, and so many such looks before older ones are. An event leaves some thousand
objects behind for as long as it is under way, a request some hundred, hardly any of them in a cycle: with Python's own 700, up to a sixth
of the time goes there."""


HUGE_PAGES: Final = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""The environment of a process that asks for memory in pages of 2 MB (glibc 2.35 and later). A comparison looks at some hundred objects
all over the memory, an embedding at every weight: with pages of 4 KB both wait for addresses, on a virtual machine for a third of the
time. Python's own allocator takes pieces too small for such pages."""
_OFFERED: Final = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def huge_pages() -> dict[str, str]:
    """Return the environment to start a process with that is to use huge pages; nothing where the system offers none."""
    try:
        offered = _OFFERED.read_text(encoding="ascii")
    except (OSError, ValueError):
        return {}
    return {} if sys.platform != "linux" or "[never]" in offered else dict(HUGE_PAGES)


def settle() -> None:
    """Keep the garbage collector from looking at what stays for good, and let it look at the rest less often."""
    gc.collect()
    look_less_often()


def look_less_often() -> None:
    """Take what is there now for what stays, and let the garbage collector look at the rest less often; takes no time itself.

    A reader of decisions keeps some hundred objects of each: looking at them again and again took it longer than reading them.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
