"""What may name a namespace, a session or a slot."""

import unicodedata
from typing import Final

from factsieve.core.errors import BadInput, RejectCode

_FORBIDDEN: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def check_name(name: str, limit: int, *, code: RejectCode, field: str) -> None:
    """Raise BadInput `code` where a name is empty, only whitespace, too long, or holds control characters or line breaks."""
    if not name.strip():
        raise BadInput(code, f"{field} is empty or only whitespace: send a name", field=field)
    if len(name) > limit:
        raise BadInput(
            code, f"{field} has {len(name)} characters, at most {limit} are taken: {name[:40]!r}...", field=field
        )
    if name.isprintable():
        return
    for index, char in enumerate(name):
        if unicodedata.category(char) in _FORBIDDEN:
            raise BadInput(
                code, f"{field} holds the control character U+{ord(char):04X} at {index}: leave it out", field=field
            )
