"""What is meant sign by sign in the midst of prose: quoted words, code, key strokes, paths."""

from __future__ import annotations

import re
from typing import Final

from factsieve.core.guard.model import Features, Finding

_QUOTED: Final = re.compile(r"\"([^\"]{1,120})\"|`([^`]{1,120})`|(?<!\w)'([^']{1,120})'(?!\w)")
_SIGNS: Final = re.compile(r"[\[\]{}$^*<>=|&\\~+/_@#]|\w\(")
_EDGES: Final = ".,;:!?\"'`"
_LONGEST: Final = 400
_FEW: Final = 3


def literal_finding(candidate: Features, stored: Features) -> Finding | None:
    """Return a finding where what both quote differs, or a word that carries signs of code, or the case of a path."""
    ours, theirs = candidate.folded, stored.folded
    if len(ours) > _LONGEST or len(theirs) > _LONGEST:
        return None
    if ours == theirs or ours.split() == theirs.split():
        return _path_in_other_case(candidate, stored)
    quoted, known = _quotes(ours), _quotes(theirs)
    if quoted and known and quoted != known and len(_bare(ours)) == len(_bare(theirs)):
        return Finding("substitution", " ".join(sorted(quoted - known))[:80], " ".join(sorted(known - quoted))[:80])
    if _SIGNS.search(ours) is None or _SIGNS.search(theirs) is None:
        return None
    words, others = ours.split(), theirs.split()
    if len(words) != len(others):
        return None
    pairs = [(a.strip(_EDGES), b.strip(_EDGES)) for a, b in zip(words, others, strict=True)]
    changed = [(a, b) for a, b in pairs if a != b]
    if 0 < len(changed) <= _FEW and any(_SIGNS.search(a) and _SIGNS.search(b) for a, b in changed):
        return Finding("symbol", changed[0][0][:80], changed[0][1][:80])
    return None


def _quotes(folded: str) -> set[str]:
    if '"' not in folded and "`" not in folded and folded.count("'") < 2:
        return set()
    return {next(filter(None, found)).strip(" .,;:!?") for found in _QUOTED.findall(folded)}


def _bare(folded: str) -> list[str]:
    """Return the words of a text without what it quotes."""
    return _QUOTED.sub(" ", folded).split()


def _path_in_other_case(candidate: Features, stored: Features) -> Finding | None:
    """Find `src/Main.py` against `src/main.py`: file systems tell them apart, unlike hosts."""
    if "://" in candidate.folded:
        return None
    for ours, theirs in zip(candidate.values, stored.values, strict=False):
        a, b = ours.excerpt, theirs.excerpt
        if (
            ours.family == "identifier"
            and a != b
            and a.casefold() == b.casefold()
            and f"/{a.casefold()}" in candidate.folded
        ):
            return Finding("identifier", a, b)
    return None
