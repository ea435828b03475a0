"""What a process that is to answer quickly does with its memory, once, before the first request or record."""

import gc
from typing import Final

COLLECT_AFTER: Final = (20_000, 20, 50)
"""So many new objects before the youngest are looked at, and so many such looks before older ones are. An event leaves some thousand
objects behind for as long as it is under way, a request some hundred, hardly any of them in a cycle: with Python's own 700, up to a sixth
of the time goes there."""


def settle() -> None:
    """Keep the garbage collector from looking at what stays for good, and let it look at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
