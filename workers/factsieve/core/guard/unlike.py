"""The last look at two texts that seem to say the same: who did it, whose it is, which part, which occasion, where, how it stands.

Content words that all match leave this open. What is read here stands in small words, in endings and in the order of words.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Final, NamedTuple

from factsieve.core.guard.exchange import exchanged
from factsieve.core.guard.foreign import foreign_finding
from factsieve.core.guard.lexicon import BE
from factsieve.core.guard.literal import literal_finding
from factsieve.core.guard.model import Features, Finding
from factsieve.core.guard.possession import owner_finding
from factsieve.core.guard.stems import PARTICIPLES, base_form

_TOKEN: Final = re.compile(r"[^\s.,;:!?\"()\[\]]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Place(NamedTuple):
    """The one stretch in which two texts differ, with the word before it and the word behind it; empty where there is none."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    before: str
    behind: str


@lru_cache(maxsize=4096)
def _tokens(folded: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(folded))


def last_look(candidate: Features, stored: Features) -> Finding | None:
    """Return what keeps two texts apart of which nothing else does: asked only where a skip would be allowed."""
    if candidate.language != stored.language or "sha256:" in (candidate.folded[:7], stored.folded[:7]):
        return None
    ours, theirs = _tokens(candidate.folded), _tokens(stored.folded)
    found = literal_finding(candidate, stored) or exchanged(ours, theirs, candidate, stored)
    if found is not None:
        return found
    place = _place(ours, theirs)
    if candidate.language != "en":
        return foreign_finding(place, candidate, stored)
    return (
        owner_finding(candidate, stored, place.ours, place.theirs)
        or _other_doer(ours, theirs, candidate, stored)
        or _occasion(ours, theirs, place)
        or _asks_otherwise(ours, theirs, candidate, stored)
        or _told(place)
        or _one_place(place)
    )


def _place(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Place:
    least = min(len(ours), len(theirs))
    head = 0
    while head < least and ours[head] == theirs[head]:
        head += 1
    tail = 0
    while tail < least - head and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    return Place(
        ours[head : len(ours) - tail],
        theirs[head : len(theirs) - tail],
        ours[head - 1] if head else "",
        ours[len(ours) - tail] if tail else "",
    )


def _other_doer(
    ours: tuple[str, ...], theirs: tuple[str, ...], candidate: Features, stored: Features
) -> Finding | None:
    """Find `A trained B` against `A was trained by B`: the passive turns the roles, and the same one stands first."""
    if candidate.passive == stored.passive or not candidate.words or not stored.words:
        return None
    passive, active = (ours, theirs) if candidate.passive else (theirs, ours)
    if candidate.words[0].key != stored.words[0].key or "by" in active or "by" not in passive:
        return None
    one = Counter(word for word in passive if word not in BE and word != "by")
    other = Counter(word for word in active if word not in ("to", "from", "has", "have", "had"))
    if sum((one - other).values()) > 1 or sum((other - one).values()) > 1:
        return None
    return Finding("role_order", candidate.folded[:80], stored.folded[:80])


def _occasion(ours: tuple[str, ...], theirs: tuple[str, ...], place: Place) -> Finding | None:
    """Find another occasion, another one of a kind, or a habit, of which the stored text says nothing."""
    small = max(len(place.ours), len(place.theirs)) <= _SMALL
    for words, kind in ((_OTHER, "novelty"), (_HABIT, "quantifier")) if small else ():
        fresh = [word for word in place.ours if word in words]
        if fresh and (words | _ALL).isdisjoint(theirs) and (place.ours[:1] != ("each",)):
            return Finding(kind, " ".join(fresh))
    if place.ours[:2] == ("one", "more") and "more" not in theirs:
        return Finding("novelty", "one more")
    if len(place.ours) == len(place.theirs) == 1:
        one, other = place.ours[0], place.theirs[0]
        if one in (f"re{other}", f"re-{other}") or other in (f"re{one}", f"re-{one}"):
            return Finding("substitution", one, other)
    return None


_OTHER: Final = _words("again another other different twice anew replacement follow-up additional")
"""Words of one more occasion, or of another one of a kind."""
_HABIT: Final = _words("every always usually often regularly constantly keeps keep kept")
_ALL: Final = _words("each all any")
_SMALL: Final = 4
"""Longer stretches that differ are rewording."""


def _asks_otherwise(
    ours: tuple[str, ...], theirs: tuple[str, ...], candidate: Features, stored: Features
) -> Finding | None:
    """Find two questions that ask for different things: `how` and `why`, `where` and `who`."""
    if "question" not in candidate.marked or "question" not in stored.marked or not ours or not theirs:
        return None
    one, other = ours[0], theirs[0]
    if one in _ASKS_FOR and other in _ASKS_FOR and one != other:
        return Finding("question", one, other)
    return None


_ASKS_FOR: Final = _words("how why when where who")


def _told(place: Place) -> Finding | None:
    """Find what one text states and the other only tells as said, wished, offered or forgotten; and who stands in for another."""
    if max(len(place.ours), len(place.theirs)) > _FEW:
        return None
    for one, other in ((place.ours, place.theirs), (place.theirs, place.ours)):
        if _DOUBTS.intersection(one) and _DOUBTS.isdisjoint(other):
            return Finding("hedge", " ".join(place.ours)[:80], " ".join(place.theirs)[:80])
        words = _HELD_BACK.intersection(one)
        if words and _HELD_BACK.isdisjoint(other) and one[0] in words | _BEFORE_IT:
            return Finding("hedge", " ".join(place.ours)[:80], " ".join(place.theirs)[:80])
    return None


_FEW: Final = 5
_BEFORE_IT: Final = _words("he she it they the a an his her their once also still never")
_DOUBTS: Final = _words("doubt doubts doubted")
_HELD_BACK: Final = _words(
    "said says say claimed claims thinks thought believes believed hopes hoped wishes wished wish dreamt dreamed"
    " dreams imagines imagined offered offers promised promises forgot forgets vowed agreed decided intends"
    " intended asked told rumour rumor supposedly deputy vice assistant acting interim honorary cancelled canceled"
    " would-be"
)
"""Words after which nothing is yet done or known, or that name another than the one they stand before."""


def _one_place(place: Place) -> Finding | None:
    """Find where the one change turns the statement: another place, a becoming, another aspect or tense, what is only possible."""
    ours, theirs = place.ours, place.theirs
    if max(len(ours), len(theirs)) > _SMALL:
        return None
    excerpts = " ".join(ours)[:80], " ".join(theirs)[:80]
    here, there = _WHERE.get(" ".join(ours)), _WHERE.get(" ".join(theirs))
    if here and there and (there in _ELSEWHERE.get(here, ()) or here in _ELSEWHERE.get(there, ())):
        return Finding("direction", *excerpts)
    for one, other in ((ours, theirs), (theirs, ours)):
        if "being" in one and tuple(word for word in one if word != "being") == other:
            return Finding("tense", *excerpts)
        if _BECOMING.intersection(one) and not _BECOMING.intersection(other):
            return Finding("tense", *excerpts)
        if set(one) & _GETS and other and other[0] in BE and len(one) == len(other) == 1 and not _done(place.behind):
            return Finding("tense", *excerpts)
        if (
            one[:1]
            and one[0] in _HAVE
            and other[:1]
            and other[0] in BE
            and other[-1].endswith("ing")
            and len(other) > 1
        ):
            return Finding("tense", *excerpts)
        if one[:2] == ("used", "to") and len(other) == 1 and other[0] not in _WERE and place.before not in BE:
            return Finding("tense", *excerpts)
        if one[:1] and one[0] in _MODAL and len(one) == 2 and len(other) == 1 and _same_verb(other[0], one[1]):
            return Finding("modality", *excerpts)
        if len(one) == len(other) == 1 and _today_and_then(one[0], other[0]):
            return Finding("tense", *excerpts)
        if len(one) == len(other) == 1 and "-" in one[0] and _compound(one[0], other[0]):
            return Finding("identifier", *excerpts)
    return None


def _done(word: str) -> bool:
    return word.endswith("ed") or word in PARTICIPLES


def _same_verb(told: str, base: str) -> bool:
    """Return whether `told` is a finite form of the verb `base`: swims, swam, tries."""
    return told != base and (
        base_form(told) == base or told in (base + "s", base + "es", base + "ed", base + "d", base[:-1] + "ies")
    )


def _today_and_then(now: str, then: str) -> bool:
    """Return whether one word is the present of a verb and the other its simple past: works, worked; sells, sold; does, did."""
    if now == then or not now.endswith("s"):
        return False
    bases = {now[:-1], now[:-2], now[:-3] + "y"} | {base_form(now)}
    if base_form(then) != then:
        return not then.endswith("s") and base_form(then) in bases
    return then.endswith("ed") and (
        then[:-2] in bases or then[:-1] in bases or then[:-3] + "y" in bases or then[:-3] in bases
    )


def _compound(one: str, other: str) -> bool:
    """Return whether a hyphened name is another's: `user-service`, `user-services`; `mother-in-law`, `mother`."""
    return one.startswith(other + "-") or ("-" in other and (one == other + "s" or other == one + "s"))


_BECOMING: Final = _words("become becomes becoming became getting")
_GETS: Final = _words("get gets got grows grew turns turned went goes")
_HAVE: Final = _words("has have had")
_WERE: Final = _words("was were formerly previously once former")
_MODAL: Final = _words("can could should would shall")
_WHERE: Final = {
    phrase: place
    for place, phrases in {
        "in": ("in", "inside", "within", "in the"),
        "on": ("on", "on top of", "atop"),
        "under": ("under", "beneath", "below", "underneath"),
        "behind": ("behind",),
        "front": ("in front of",),
        "near": ("near", "next to", "beside", "close to", "by", "opposite", "across from"),
        "between": ("between",),
        "with": ("with",),
        "without": ("without",),
        "from": ("from",),
        "for": ("for",),
        "to": ("to",),
        "through": ("through",),
        "around": ("around",),
    }.items()
    for phrase in phrases
}
"""Where small words put a thing. Words of one place say much the same."""
_ELSEWHERE: Final = {
    "in": ("under", "behind", "front", "near", "between", "without"),
    "on": ("under", "behind", "front", "between"),
    "under": ("behind", "front", "near"),
    "behind": ("front", "near"),
    "with": ("between", "without", "for"),
    "from": ("for", "to"),
    "through": ("around",),
}
"""Places that exclude each other."""
