"""Phrases that decide wherever they stand: not all and none, hardly anybody and nobody, as old as and older than, until and since."""

from __future__ import annotations

import re
from typing import Final

from factsieve.core.guard.lexicon import NEGATIVE_ADVERBS
from factsieve.core.guard.model import Features, Finding
from factsieve.core.guard.quantities import NUMBER_WORDS


def whole_findings(candidate: Features, stored: Features) -> list[Finding]:
    """Return what phrases of two English texts set against each other say, wherever they stand.

    `not all` against `none`, `hardly anybody` against `nobody`, `all` against `three of the`, `as old as` against `older than`.
    """
    if candidate.language != "en" or stored.language != "en":
        return []
    found = []
    ours, theirs = candidate.folded, stored.folded
    if (
        candidate.negations
        and stored.negations
        and ((_NOT_ALL.search(ours) and not _whole(stored)) or (_NOT_ALL.search(theirs) and not _whole(candidate)))
    ):
        found.append(Finding("quantifier", *_denials(candidate, stored)))
    if candidate.negations and stored.negations and _nearly(candidate) != _nearly(stored) and not _often(ours + theirs):
        found.append(Finding("negation", *_denials(candidate, stored)))
    if candidate.values and stored.values and (turned := _turned_span(candidate, stored)):
        found.append(turned)
    if len(candidate.words) >= _SHORT:
        return found
    for whole, part in ((candidate, stored), (stored, candidate)):
        both = _whole(whole) or "both" in whole.marked.get("quantifier", ())
        if both and not _whole(part) and _PART_OF.search(part.folded) and not _PART_OF.search(whole.folded):
            found.append(Finding("quantifier", *(("all", "part of") if whole is candidate else ("part of", "all"))))
    if bool(_AMONG.search(ours)) != bool(_AMONG.search(theirs)) and _MOST.search(ours) and _MOST.search(theirs):
        found.append(Finding("quantifier", *(("one of", "") if _AMONG.search(ours) else ("", "one of"))))
    future, other = "future" in candidate.marked.get("modality", ()), "future" in stored.marked.get("modality", ())
    if future != other and _HAS_BEEN.search(theirs if future else ours):
        found.append(Finding("tense", *(("will", "has been") if future else ("has been", "will"))))
    if (" than " in ours) != (" than " in theirs) and _AS_AS.search(ours if " than " in theirs else theirs):
        found.append(Finding("direction", *(("than", "as") if " than " in ours else ("as", "than"))))
    return found


def _turned_span(candidate: Features, stored: Features) -> Finding | None:
    """Find one time up to which something holds in one text, and from which on in the other: `until 2022`, `since 2022`."""
    for value in candidate.values:
        twin = next((v for v in stored.values if v.canonical == value.canonical and v.family == value.family), None)
        if twin is None or value.family not in _MOMENTS:
            continue
        ours, theirs = _end(value.excerpt, candidate), _end(twin.excerpt, stored)
        if ours and theirs and _SPAN[ours] != _SPAN[theirs]:
            return Finding("direction", f"{ours} {value.excerpt}", f"{theirs} {twin.excerpt}")
    return None


def _end(excerpt: str, text: Features) -> str:
    """Return the preposition of a span right before a value, or nothing."""
    before = text.folded.partition(excerpt.casefold())[0].split()
    return before[-1] if before and before[-1] in _SPAN else ""


_MOMENTS: Final = frozenset(("date", "time", "number"))
_SPAN: Final = {
    **dict.fromkeys(("until", "till"), "until"),
    **dict.fromkeys(("since", "from", "after"), "since"),
    "before": "before",
}


def _denials(candidate: Features, stored: Features) -> tuple[str, str]:
    ours, theirs = (" ".join(word for word, _ in text.negations) for text in (candidate, stored))
    return ours, theirs


def _whole(text: Features) -> bool:
    return "all" in text.marked.get("quantifier", ())


def _nearly(text: Features) -> bool:
    return any(word in NEGATIVE_ADVERBS for word, _ in text.negations)


def _often(texts: str) -> bool:
    return "often" in texts or "much" in texts


_NOT_ALL: Final = re.compile(
    r"\b(?:not|n't) (?:all|every|everyone|everybody|everything|each|both|always|entirely|fully|completely|quite|necessarily)\b"
)
_PART_OF: Final = re.compile(
    r"\b(?:one|some|most|many|few|half|"
    + "|".join(NUMBER_WORDS["en"])
    + r"|\d+) (?:out )?of (?:the|these|those|its|my|our|your|his|her|their)\b"
)
_SHORT: Final = 10
"""In longer texts the two phrases may speak of different things."""
_AMONG: Final = re.compile(r"\b(?:one of|among) ")
_MOST: Final = re.compile(r"\b(?:most|least|best|worst|first|last|\w{2,}est)\b")
_HAS_BEEN: Final = re.compile(r"\b(?:has|have) (?:already |now )?been\b")
_AS_AS: Final = re.compile(r"\bas (?!well|soon|long|far|if|though)[^\s,;]+ as\b")
