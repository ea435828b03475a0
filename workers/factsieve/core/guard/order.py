"""Who did what to whom: the same words in an order that changes the roles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from factsieve.core.guard.align import Alignment
from factsieve.core.guard.model import Features, Finding, Word
from factsieve.core.guard.stems import stem
from factsieve.core.guard.thesaurus import known

_DIRECTED: Final = frozenset(
    [
        "before",
        "after",
        "above",
        "below",
        "under",
        "over",
        "from",
        "to",
        "into",
        "than",
        "since",
        "until",
        "against",
        "behind",
        "vor",
        "nach",
        "bis",
        "antes",
        "después",
        "desde",
        "hasta",
        "avant",
        "après",
        "до",
        "после",
    ]
)
_RECEIVING: Final = frozenset(["from", "von", "de", "da", "от"])
_LONG: Final = 8
"""Above so many content words common nouns move for other reasons than a change of roles."""


def order_finding(candidate: Features, stored: Features, alignment: Alignment) -> Finding | None:
    """Return a finding where two aligned words, or two values, have changed places while what stands between them has not."""
    if "c" in candidate.roles:
        return None
    pairs = sorted(alignment.pairs)
    targets = [j for _, j in pairs]
    if targets == sorted(targets):
        return _subject_changed(candidate, stored) or _values_swapped(candidate, stored, alignment)
    return (
        _subject_changed(candidate, stored)
        or _comparands_exchanged(candidate, stored, alignment)
        or _exchanged(candidate, stored, alignment, pairs)
        or _blocks_exchanged(candidate, stored, alignment, pairs)
    )


def held_in(candidate: Features, stored: Features) -> bool | None:
    """Tell whether one text's container is the other's: `the box contains the key`, `the key is in the box`.

    True where it is, False where it is what the other text says to be inside, None where nothing of the kind is said.
    """
    for one, other in ((candidate, stored), (stored, candidate)):
        if one.language != "en" or _HOLDING.isdisjoint(one.places) or _INSIDE.isdisjoint(other.surfaces):
            continue
        holding = next((i for i, word in enumerate(one.words) if i and word.key in _HOLDING), 0)
        if not holding:
            continue
        spot = next((i for i, word in enumerate(other.words) if word.surface in _INSIDE), -1)
        if spot < 1 or not _INSIDE.isdisjoint(one.surfaces):
            continue
        if any(word.key in _HOLDING for word in other.words[: spot - 1]):
            continue
        around = _phrase_after(other, spot)
        if one.words[holding - 1].key in around:
            return True
        if _phrase_after(one, holding) & around:
            return False
    return None


def _phrase_after(text: Features, index: int) -> set[str]:
    """Return the next words behind one, up to the next relation."""
    found = set()
    for word in text.words[index + 1 : index + 1 + _PHRASE]:
        if word.role == "r":
            break
        found.add(word.key)
    return found


_PHRASE: Final = 3
_INSIDE: Final = frozenset(("in", "inside", "within"))
_HOLDING: Final = frozenset(stem(word, "en") for word in ("contain", "hold", "include", "comprise", "house"))


def bearing_finding(candidate: Features, stored: Features, alignment: Alignment) -> Finding | None:
    """Return a finding where one text moves `towards` what no preposition stands before in the other: `water scooter`."""
    if _TOWARDS.isdisjoint(candidate.surfaces) and _TOWARDS.isdisjoint(stored.surfaces):
        return None
    twins = {j: i for i, j in alignment.pairs}
    for here, there, pairs in ((candidate, stored, dict(alignment.pairs)), (stored, candidate, twins)):
        for index, word in enumerate(here.words[:-1]):
            twin = pairs.get(index + 1, -1) if word.surface in _TOWARDS else -1
            if twin < 0:
                continue
            before = re.search(_BEFORE.format(re.escape(there.words[twin].surface)), there.folded)
            if before is None or before[1] not in _BEARINGS:
                goal = f"{word.surface} {here.words[index + 1].surface}"
                return Finding("direction", *((goal, "") if here is candidate else ("", goal)))
    return None


_TOWARDS: Final = frozenset(("toward", "towards"))
_BEARINGS: Final = frozenset(("of", "to", "for", *_TOWARDS))
_BEFORE: Final = r"(\w+) (?:(?:the|an?|his|her|its|their|my|our|your) )?{}\b"


def _values_swapped(candidate: Features, stored: Features, alignment: Alignment) -> Finding | None:
    """Find `line 2 ... line 3` against `line 3 ... line 2` where the words kept their order."""
    ours = [(_counts(v.family), v.canonical) for v in candidate.values]
    theirs = [(_counts(v.family), v.canonical) for v in stored.values]
    if len(ours) < 2 or ours == theirs or sorted(ours) != sorted(theirs) or alignment.share() < 0.8:
        return None
    moved = [
        (a, b)
        for a, b in zip(candidate.values, stored.values, strict=True)
        if a.canonical != b.canonical and _counts(a.family) == _counts(b.family)
    ]
    if moved and all(a.position == b.position for a, b in zip(candidate.values, stored.values, strict=True)):
        return Finding("role_order", moved[0][0].excerpt, moved[0][1].excerpt)
    return None


def _counts(family: str) -> str:
    """Return a value's family; a spelled `one`, which may be an article, counts beside other numbers."""
    return "number" if family == "one" else family


def _subject_changed(candidate: Features, stored: Features) -> Finding | None:
    """Find another doer: the text begins with a name that stands later in the other text, which begins with a name of its own."""
    if candidate.passive != stored.passive or not candidate.words or not stored.words:
        return None
    first, other = candidate.words[0], stored.words[0]
    if first.key == other.key or first.owner or other.owner:
        return None
    ours, theirs = candidate.later_names, stored.later_names
    if first.key not in theirs or (known(first.surface) and known(other.surface)):
        return None
    if other.key not in ours and (candidate.language != "en" or other.role in "rlc" or known(other.surface)):
        return None
    if ours.get(other.key) == first.group or theirs[first.key] == other.group:  # members of one list
        return None
    if _one_thing(candidate, other.key) or _one_thing(stored, first.key):
        return None
    if _RECEIVING.isdisjoint(candidate.surfaces) != _RECEIVING.isdisjoint(stored.surfaces):
        return None
    return Finding("role_order", first.surface, other.surface)


def _one_thing(text: Features, last: str) -> bool:
    """Return whether a text begins with one name of a thing that ends in `last`: `Harbour Point archive`, `Harbour Point's old archive`."""
    for index, word in enumerate(text.words[1:_NAME], start=1):
        if word.key == last:
            before = text.words[:index]
            named = word.role == "w" and index > 1 and all(w.role == "n" for w in before[1:])
            return named or any(w.owner for w in before)
    return False


_NAME: Final = 5


def _exchanged(
    candidate: Features, stored: Features, alignment: Alignment, pairs: list[tuple[int, int]]
) -> Finding | None:
    whole = not alignment.open_ours or not alignment.open_theirs  # one of both says nothing more
    if candidate.passive != stored.passive or alignment.share() < (_FULLER if whole else _LIKE):
        return None
    words, others = alignment.ours, alignment.theirs
    short = len(words) <= _LONG
    if not short and alignment.share() < _SAME_WORDS:
        return None
    for low, (i, j) in enumerate(pairs):
        if words[i].role not in "nw" or (alignment.share() < _LIKE and words[i].surface in _OCCASIONS):
            continue
        for middle in range(low + 1, len(pairs)):
            between, twin = words[pairs[middle][0]], others[pairs[middle][1]]
            if (
                pairs[middle][1] >= j
                or between.role == "l"
                or between.role != twin.role
                or (between.role == "r" and between.surface not in _DIRECTED)
            ):
                continue
            for high in range(middle + 1, len(pairs)):
                k = pairs[high][0]
                if pairs[high][1] >= pairs[middle][1] or words[k].role not in "nw" or words[i].group == words[k].group:
                    continue
                if _compound(words, i, k) and _compound_opened(others, pairs[high][1], j):
                    continue
                if _compound(others, pairs[high][1], j) and _compound_opened(words, i, k):
                    continue
                firm = short or (words[i].role == "n" and words[k].role == "n")
                if firm and not _by_means_of(candidate, stored, words[i], words[k]):
                    return Finding("role_order", words[i].surface, words[k].surface)
    return None


_SAME_WORDS: Final = 0.95


def _comparands_exchanged(candidate: Features, stored: Features, alignment: Alignment) -> Finding | None:
    """Find two words that changed places around `more than` or `less than`, which is no bound there: `tea more than coffee`."""
    phrase = next((p for p in _COMPARING if p in candidate.folded and p in stored.folded), "")
    if not phrase or candidate.passive != stored.passive:
        return None
    (first, _, last), (left, _, right) = candidate.folded.partition(phrase), stored.folded.partition(phrase)
    before, after, left_of, right_of = ({*_PUNCTUATION.sub(" ", text).split()} for text in (first, last, left, right))
    went: dict[bool, str] = {}
    for i, j in alignment.pairs:
        here, there = alignment.ours[i], alignment.theirs[j]
        if here.role not in "nw":
            continue
        if here.surface in before - after and there.surface in right_of - left_of:
            went[True] = here.surface
        elif here.surface in after - before and there.surface in left_of - right_of:
            went[False] = here.surface
    return Finding("role_order", went[True], went[False]) if len(went) > 1 else None


_COMPARING: Final = (" more than ", " less than ")


def _by_means_of(candidate: Features, stored: Features, one: Word, other: Word) -> bool:
    """Return whether one of two words is the means in both texts: `the lever is used to open the gate`, `open the gate via the lever`."""
    for word in (one, other):
        used, via = _USED.format(re.escape(word.surface)), _VIA.format(re.escape(word.surface))
        for here, there in ((candidate, stored), (stored, candidate)):
            if re.search(used, here.folded) and re.search(via, there.folded):
                return True
    return False


_USED: Final = r"^(?:[^\s.,;]+ ){{0,4}}{} (?:is|are|can be|may be|could be) (?:used|utili[sz]ed|employed) (?:to|for)\b"
_VIA: Final = r"\b(?:via|using|by means of|through|with the help of) (?:[^\s.,;]+ ){{0,3}}{}\b"


def _compound(words: Sequence[Word], first: int, last: int) -> bool:
    """Return whether words stand one behind the other, with no relation between them: `package management system`."""
    return last - first <= _COMPOUND and all(words[index].role in "nw" for index in range(first, last + 1))


def _compound_opened(words: Sequence[Word], first: int, last: int) -> bool:
    """Return whether the parts of a compound are told apart by what they are for: `system for managing packages`."""
    return last - first <= _COMPOUND + 1 and any(words[index].surface == "for" for index in range(first, last))


_COMPOUND: Final = 2
_LIKE: Final = 0.85
_FULLER: Final = 0.7
_OCCASIONS: Final = frozenset(
    ["morning", "noon", "afternoon", "evening", "night", "day", "week", "weekend", "month", "year", "today"]
)
"""When something happens may stand at the beginning or at the end: it is no doer."""


def _blocks_exchanged(
    candidate: Features, stored: Features, alignment: Alignment, pairs: list[tuple[int, int]]
) -> Finding | None:
    """Find two pieces that changed places around a third while every word stayed: `A ... but not B` against `B ... but not A`."""
    if (
        candidate.passive != stored.passive
        or alignment.share() < 1
        or sorted(_PUNCTUATION.sub(" ", candidate.folded).split())
        != sorted(_PUNCTUATION.sub(" ", stored.folded).split())
    ):
        return None
    ranks = {j: rank for rank, j in enumerate(sorted(j for _, j in pairs))}
    order = [ranks[j] for _, j in pairs]
    low, high = 0, len(order)
    while low < high and order[low] == low:
        low += 1
    while high > low and order[high - 1] == high - 1:
        high -= 1
    runs = [low] + [at for at in range(low + 1, high) if order[at] != order[at - 1] + 1]
    if len(runs) != 3 or not order[runs[0]] > order[runs[1]] > order[runs[2]]:
        return None
    first, last = alignment.ours[pairs[runs[0]][0]], alignment.ours[pairs[runs[2]][0]]
    return Finding("role_order", first.surface, last.surface) if first.group != last.group else None


_PUNCTUATION: Final = re.compile(r"[^\w']+")
