"""Where a thing is put: small words of place that exclude each other."""

from __future__ import annotations

from typing import Final

from factsieve.core.guard.model import Finding
from factsieve.core.guard.oneplace import Place


def placing_finding(place: Place) -> Finding | None:
    """Return a finding where the one change puts a thing elsewhere: `in the drawer`, `under the drawer`."""
    ours, theirs = " ".join(place.ours), " ".join(place.theirs)
    here, there = _WHERE.get(ours), _WHERE.get(theirs)
    if here and there and (there in _ELSEWHERE.get(here, ()) or here in _ELSEWHERE.get(there, ())):
        return Finding("direction", ours, theirs)
    return None


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
        "over": ("over",),
        "along": ("along",),
        "across": ("across",),
        "at": ("at",),
        "above": ("above",),
    }.items()
    for phrase in phrases
}
"""Where small words put a thing. Words of one place say much the same."""
_ELSEWHERE: Final = {
    "at": ("near", "behind", "under"),
    "over": ("around", "through", "under"),
    "along": ("across", "through"),
    "in": ("on", "under", "behind", "front", "near", "between", "without"),
    "on": ("under", "behind", "front", "between", "above"),
    "under": ("behind", "front", "near"),
    "behind": ("front", "near"),
    "with": ("between", "without", "for"),
    "from": ("for", "to"),
    "through": ("around",),
}
"""Places that exclude each other."""
