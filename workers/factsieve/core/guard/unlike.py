"""The last look at two texts that seem to say the same: who did it, whose it is, which part, which occasion, where, how it stands.

Content words that all match leave this open. What is read here stands in small words, in endings and in the order of words.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from factsieve.core.guard.aspect import aspect_finding
from factsieve.core.guard.exchange import exchanged
from factsieve.core.guard.foreign import foreign_finding
from factsieve.core.guard.lexicon import BE, words
from factsieve.core.guard.literal import literal_finding
from factsieve.core.guard.model import Features, Finding
from factsieve.core.guard.oneplace import SMALL, Place, place_of_change
from factsieve.core.guard.placing import placing_finding
from factsieve.core.guard.possession import owner_finding


def last_look(candidate: Features, stored: Features) -> Finding | None:
    """Return what keeps two texts apart of which nothing else does: asked only where a skip would be allowed."""
    if candidate.language != stored.language or "sha256:" in (candidate.folded[:7], stored.folded[:7]):
        return None
    ours, theirs = candidate.tokens, stored.tokens
    found = literal_finding(candidate, stored) or exchanged(ours, theirs, candidate, stored)
    if found is not None:
        return found
    place = place_of_change(ours, theirs)
    if candidate.language != "en":
        return foreign_finding(place, candidate, stored)
    return (
        owner_finding(candidate, stored, place.ours, place.theirs)
        or _other_doer(ours, theirs, candidate, stored)
        or _occasion(ours, theirs, place)
        or _asks_otherwise(ours, theirs, candidate, stored)
        or _told(place)
        or _fiction(candidate, stored)
        or _denied_elsewhere(candidate, stored)
        or _other_name(candidate, stored)
        or _other_one(place)
        or placing_finding(place)
        or aspect_finding(ours, theirs, place)
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
    small = max(len(place.ours), len(place.theirs)) <= SMALL
    for telling, kind in ((_OTHER, "novelty"), (_HABIT, "quantifier")) if small else ():
        fresh = [word for word in place.ours if word in telling]
        if fresh and (telling | _ALL).isdisjoint(theirs) and (place.ours[:1] != ("each",)):
            return Finding(kind, " ".join(fresh))
    if place.ours[:2] == ("one", "more") and "more" not in theirs:
        return Finding("novelty", "one more")
    if len(place.ours) == len(place.theirs) == 1:
        one, other = place.ours[0], place.theirs[0]
        if one in (f"re{other}", f"re-{other}") or other in (f"re{one}", f"re-{one}"):
            return Finding("substitution", one, other)
    return None


_OTHER: Final = words("again another other different twice anew replacement follow-up additional")
"""Words of one more occasion, or of another one of a kind."""
_HABIT: Final = words("every always usually often regularly constantly keeps keep kept")
_ALL: Final = words("each all any")


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


_ASKS_FOR: Final = words("how why when where who")


def _told(place: Place) -> Finding | None:
    """Find what one text states and the other only tells as said, wished, offered or forgotten; and who stands in for another."""
    if max(len(place.ours), len(place.theirs)) > _FEW:
        return None
    for one, other in ((place.ours, place.theirs), (place.theirs, place.ours)):
        if _DOUBTS.intersection(one) and _DOUBTS.isdisjoint(other):
            return Finding("hedge", *place.excerpts)
        held_back = _HELD_BACK.intersection(one)
        if held_back and _HELD_BACK.isdisjoint(other) and one[0] in held_back | _BEFORE_IT:
            return Finding("hedge", *place.excerpts)
    return None


_FEW: Final = 5
_BEFORE_IT: Final = words("he she it they the a an his her their once also still never")
_DOUBTS: Final = words("doubt doubts doubted")
_HELD_BACK: Final = words(
    "said says say claimed claims thinks thought believes believed hopes hoped wishes wished wish dreamt dreamed"
    " dreams imagines imagined offered offers promised promises forgot forgets vowed agreed decided intends"
    " intended asked told rumour rumor supposedly suggested suggests proposed proposes needs willing eager joked jokes bets"
    " fears feared considered deputy vice assistant acting interim honorary cancelled canceled would-be"
)
"""Words after which nothing is yet done or known, or that name another than the one they stand before."""


def _fiction(candidate: Features, stored: Features) -> Finding | None:
    """Find what one text tells of a story or a dream, and the other as it is."""
    ours, theirs = _IN_A_STORY.match(candidate.folded), _IN_A_STORY.match(stored.folded)
    if (ours is None) == (theirs is None):
        return None
    return Finding("hedge", ours[0] if ours else "", theirs[0] if theirs else "")


_IN_A_STORY: Final = re.compile(
    r"in (?:the|a|an|my|his|her|their|our|your|this|that|one) (?:\w+ )?"
    r"(?:story|tale|book|novel|film|movie|play|dream|game|song|joke|episode)\b"
)


def _denied_elsewhere(candidate: Features, stored: Features) -> Finding | None:
    """Find the same words with the denial in another clause: `did not say that he is ill`, `said that he is not ill`."""
    ours, theirs = candidate.negations, stored.negations
    if (
        len(ours) != 1
        or len(theirs) != 1
        or ours[0][1] == theirs[0][1]
        or sorted(candidate.keys) != sorted(stored.keys)
    ):
        return None
    if not _CLAUSE.search(candidate.folded) or not _CLAUSE.search(stored.folded):
        return None
    return Finding("negation", " ".join(ours[0]), " ".join(theirs[0]))


_CLAUSE: Final = re.compile(r"\b(?:that|if|whether|because)\b")


def _other_name(candidate: Features, stored: Features) -> Finding | None:
    """Find two names of which one is the plural of the other: `team Falcon`, `team Falcons`."""
    if candidate.keys != stored.keys:
        return None
    for one, other in zip(candidate.words, stored.words, strict=False):
        if one.role == other.role == "n" and one.key == other.key and one.owner == other.owner:
            a, b = one.surface, other.surface
            if a != b and (a == b + "s" or b == a + "s"):
                return Finding("entity", a, b)
    return None


def _other_one(place: Place) -> Finding | None:
    """Find the first of several, each of them, or a hyphened name of which the other is a part."""
    for one, other in ((place.ours, place.theirs), (place.theirs, place.ours)):
        if len(one) != 1:
            continue
        if one[0] in _ORDER and not other:
            return Finding("novelty", *place.excerpts)
        if one[0] == "each" and other in (("the",), ("a",), ("an",)):
            return Finding("quantifier", *place.excerpts)
        if len(other) == 1 and "-" in one[0] and _compound(one[0], other[0]):
            return Finding("identifier", *place.excerpts)
    return None


_ORDER: Final = words("first second third fourth fifth next last final initial previous latest")


def _compound(one: str, other: str) -> bool:
    """Return whether a hyphened name is another's: `user-service`, `user-services`; `mother-in-law`, `mother`."""
    return one.startswith(other + "-") or ("-" in other and (one == other + "s" or other == one + "s"))
