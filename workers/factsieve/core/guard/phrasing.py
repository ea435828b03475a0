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
    if len(candidate.words) < _SHORT:
        found += [*_shares(candidate, stored), *_allowed(candidate, stored), *_told(candidate, stored)]
    return found


def _shares(candidate: Features, stored: Features) -> list[Finding]:
    """Find the whole against a part of it, one against one of several, both against either of two, a dozen against dozens."""
    found = []
    ours, theirs = candidate.folded, stored.folded
    for one, other, order in ((candidate, stored, 1), (stored, candidate, -1)):
        marks, others = one.marked.get("quantifier", {}), other.marked.get("quantifier", {})
        both = "both" in marks
        if (
            (both or "all" in marks)
            and "all" not in others
            and _PART_OF.search(other.folded)
            and not _PART_OF.search(one.folded)
        ):
            found.append(Finding("quantifier", *("all", "part of")[::order]))
        denied = candidate.negations or stored.negations
        if both and "both" not in others and not denied and "either " in other.folded and "either " not in one.folded:
            found.append(Finding("quantifier", *("both", "either")[::order]))
    if (" of " in ours or " of " in theirs) and bool(_DOZENS.search(ours)) != bool(_DOZENS.search(theirs)):
        found.append(Finding("quantifier", _said(_DOZENS, ours), _said(_DOZENS, theirs)))
    if bool(_AMONG.search(ours)) != bool(_AMONG.search(theirs)) and _MOST.search(ours) and _MOST.search(theirs):
        found.append(Finding("quantifier", _said(_AMONG, ours), _said(_AMONG, theirs)))
    return found


def _allowed(candidate: Features, stored: Features) -> list[Finding]:
    """Find what need not be against what must not."""
    if not candidate.negations or not stored.negations:
        return []
    ours, theirs = candidate.folded, stored.folded
    for one, other in ((ours, theirs), (theirs, ours)):
        if _FREE.search(one) and not _FREE.search(other) and _BANNED.search(other):
            return [
                Finding(
                    "modality",
                    _said(_FREE, ours) or _said(_BANNED, ours),
                    _said(_FREE, theirs) or _said(_BANNED, theirs),
                )
            ]
    return []


def _told(candidate: Features, stored: Features) -> list[Finding]:
    """Find what was done against what was only tried or asked, what will be against what has been, more than against as much as."""
    found = []
    ours, theirs = candidate.folded, stored.folded
    if (" to " in ours) != (" to " in theirs) and (_INDUCED.search(ours) or _INDUCED.search(theirs)):
        found.append(Finding("hedge", _said(_INDUCED, ours), _said(_INDUCED, theirs)))
    future, other = "future" in candidate.marked.get("modality", ()), "future" in stored.marked.get("modality", ())
    if future != other and _HAS_BEEN.search(theirs if future else ours):
        found.append(Finding("tense", *(("will", "has been") if future else ("has been", "will"))))
    if (" than " in ours) != (" than " in theirs) and _AS_AS.search(ours if " than " in theirs else theirs):
        found.append(Finding("direction", *(("than", "as") if " than " in ours else ("as", "than"))))
    return found


def _said(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[0].strip() if found else ""


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
_FREE: Final = re.compile(
    r"\b(?:need not|needn't|(?:do|does)(?:n't| not) (?:need|have) to|not (?:required|obliged|needed|necessary))\b"
)
_BANNED: Final = re.compile(
    r"\b(?:must not|mustn't|may not|cannot|can't|can not|should not|shouldn't|not (?:allowed|permitted))\b"
)
_INDUCED: Final = re.compile(
    r"\b(?:try|tries|tried|trying|attempt(?:s|ed|ing)?|asked|told|invited|ordered|urged|supposed|meant|encouraged) to\b"
)
"""What was only tried, or only asked of somebody: `tried to sell`, `sold`."""
_DOZENS: Final = re.compile(r"\b(?:tens|dozens|scores|hundreds|thousands|millions) of\b")
_AS_AS: Final = re.compile(r"\bas (?!well|soon|long|far|if|though)[^\s,;]+ as\b")
