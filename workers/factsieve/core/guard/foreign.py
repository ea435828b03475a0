"""The last look in other languages than English, where no thesaurus tells which other word or ending is mere wording."""

from __future__ import annotations

import unicodedata
from typing import Final

from factsieve.core.guard.lexicon import FUNCTION, PRONOUNS, words
from factsieve.core.guard.model import Features, Finding
from factsieve.core.guard.oneplace import UNSPACED, Place, common_ends

_PLACING: Final = words(
    "in im an am auf aus bei mit nach von vom zu zum zur für über unter vor zwischen durch gegen ohne a al de del"
    " en con por para sin sobre entre desde hasta encima debajo au aux à dans sur sous avec sans par pour entre"
    " depuis vers chez du da dal dalla nel nella su sul sulla per tra fra senza verso di do das dos na no ao op"
    " uit bij met naar van voor onder tussen door tegen zonder z w na od po za o u przez в во на с со к от до из у"
    " о об по за для при без над под между через من إلى على عن مع في"
)
"""Words that put one thing somewhere against another."""
_MORE: Final = {
    "zh": ("又", "再", "再次", "另"),
    "ja": ("また", "再び", "別の", "もう一"),
}
"""Words of another occasion, in scripts without spaces."""
_WISH: Final = {"zh": ("想", "打算"), "ja": ("たい", "つもり")}
_ENDING: Final = {"ja": ("だった", "でした", "かった", "ました")}


def foreign_finding(place: Place, candidate: Features, stored: Features) -> Finding | None:
    """Return a finding where one ending, one small word of place or one word in the midst differs."""
    if candidate.language in UNSPACED:
        return _unspaced(candidate, stored)
    ours, theirs = place.ours, place.theirs
    if not ours and not theirs:
        return None
    bent = _bent(candidate, stored)
    if bent is not None:
        return bent
    if len(ours) == len(theirs) == 1 and _PLACING.issuperset((*ours, *theirs)):
        return Finding("direction", *place.excerpts)
    function = FUNCTION.get(candidate.language, frozenset())
    content_ours = [word for word in ours if word not in function]
    content_theirs = [word for word in theirs if word not in function]
    moved = sorted(content_ours) == sorted(content_theirs)
    if not moved and len(content_ours) == len(content_theirs) and len(content_ours) <= _FEW:
        pairs = [(_plain(a), _plain(b)) for a, b in zip(content_ours, content_theirs, strict=True)]
        if any(a != b and a.isalpha() and b.isalpha() for a, b in pairs):
            return Finding("substitution", *place.excerpts)
    topic = any(word in PRONOUNS for word in theirs)  # `as for A, she ...`
    if place.behind and len(content_theirs) > len(content_ours) and not topic:
        return Finding("coverage", *place.excerpts)
    return None


_FEW: Final = 2


def _plain(word: str) -> str:
    """Return a word without accents and hyphens: `e-mail`, `straße` and `ё` are written in two ways."""
    bare = unicodedata.normalize("NFD", word.replace("-", "").replace("ß", "ss"))
    return "".join(c for c in bare if not unicodedata.combining(c))


def _bent(candidate: Features, stored: Features) -> Finding | None:
    """Find the same words with other endings in languages whose endings tell who does it and when."""
    if sorted(candidate.keys) != sorted(stored.keys):
        return None
    ours = sorted((word.key, _plain(word.surface)) for word in candidate.words if word.role != "r")
    theirs = sorted((word.key, _plain(word.surface)) for word in stored.words if word.role != "r")
    for (_, one), (_, other) in zip(ours, theirs, strict=True):
        if one != other:
            return Finding("role_order", one, other)
    return None


def _unspaced(candidate: Features, stored: Features) -> Finding | None:
    """Find a word of another occasion, a past, or a possessor whose thing is gone, in scripts without spaces."""
    ours, theirs = candidate.folded, stored.folded
    for mark in (*_MORE[candidate.language], *_ENDING.get(candidate.language, ())):
        if (mark in ours) != (mark in theirs):
            return Finding(
                "tense" if mark in _ENDING.get(candidate.language, ()) else "novelty", ours[:80], theirs[:80]
            )
    for mark in _WISH[candidate.language]:
        if (mark in ours) != (mark in theirs):
            return Finding("modality", ours[:80], theirs[:80])
    of = "的" if candidate.language == "zh" else "の"
    longer, shorter = (theirs, ours) if len(theirs) > len(ours) else (ours, theirs)
    head, _ = common_ends(longer, shorter)
    gone = longer[head : len(longer) - len(shorter) + head]
    if head and gone.startswith(of) and len(gone) > 1 and longer[head + len(gone) :] == shorter[head:]:
        return Finding("entity", ours[:80], theirs[:80])
    return None
