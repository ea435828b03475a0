"""Pairs of facts that both stand, looked at as the rules would look at them had the later one come just now.

One of them is taken for the candidate and the other for all that is stored; `core.decide` says what it would be. A skip means that they say
one thing, a retirement or a conflict that they can not both be true. Pairs that a person said can stand together are passed over.
"""

from enum import StrEnum
from typing import Final

import msgspec

from factsieve.core import ids
from factsieve.core.case import Case, Ruling, first_stated
from factsieve.core.facts import Candidate, Coordinates, Fact, Kind, Scored, Status
from factsieve.core.policy import Policy

CONFLICT_REVIEW: Final = "conflict"
_NOWHERE: Final = Coordinates("", 0, 0)


class FindingKind(StrEnum):
    """What is wrong with two facts that both stand."""

    DUPLICATE = "duplicate"
    CONFLICT = "conflict"


class Pair(msgspec.Struct, frozen=True):
    """Two current facts of one namespace, the one stated first in front, and their similarity."""

    earlier: Fact
    later: Fact
    similarity: float
    via: str = "vector"

    @property
    def key(self) -> tuple[str, str]:
        """Return what the pair is known by."""
        return self.earlier.fact_id, self.later.fact_id

    @property
    def is_flagged(self) -> bool:
        """Return whether somebody is to decide about the two already."""
        ours, theirs = self.earlier, self.later
        return theirs.fact_id in ours.conflicts_with or ours.fact_id in theirs.conflicts_with


def pair_of(one: Fact, other: Fact, similarity: float, via: str = "vector") -> Pair | None:
    """Return two facts as a pair, None where there is nothing to compare: not both current, or known to be compatible."""
    if one.fact_id == other.fact_id or one.namespace != other.namespace:
        return None
    if not all(fact.status is Status.CURRENT and fact.is_head for fact in (one, other)):
        return None
    if one.fact_id in other.compatible_with or other.fact_id in one.compatible_with:
        return None
    earlier, later = sorted((one, other), key=lambda fact: (first_stated(fact), fact.fact_id))
    return Pair(earlier, later, similarity, via)


def case_of(pair: Pair, policy: Policy, *, trusted: bool, confirms_skips: bool) -> Case:
    """Return the case that the later fact would be, were the earlier one all that is stored.

    It is never late, and what was noted about conflicts is left out: the texts alone decide. `trusted` and `confirms_skips` are as in
    `Case`.
    """
    later = pair.later
    at = first_stated(later)
    stored = msgspec.structs.replace(
        pair.earlier, last_stated_at=min(pair.earlier.last_stated_at, at), conflicts_with=(), compatible_with=()
    )
    candidate = Candidate(
        event_key=later.event_key,
        event_id="",
        body_hash="",
        coordinates=_NOWHERE,
        namespace=later.namespace,
        text=later.text,
        source=later.source,
        occurred_at=max(at, stored.valid_from),
        slot=later.slot,
    )
    same = ids.text_hash(stored.text, stored.slot) == ids.text_hash(later.text, later.slot)
    return Case(
        candidate=candidate,
        policy=policy,
        current=(Scored(stored, pair.similarity, pair.via),),
        best=(stored.fact_id, pair.similarity),
        exact=(stored,) if same else (),
        trusted=trusted,
        confirms_skips=confirms_skips,
        resolved=True,
    )


def finding_of(ruling: Ruling) -> FindingKind | None:
    """Return what a ruling about a pair means for the two."""
    if ruling.kind is Kind.SKIP:
        return FindingKind.DUPLICATE
    if ruling.kind is Kind.SUPERSEDE or (ruling.kind is Kind.ADD and ruling.review == CONFLICT_REVIEW):
        return FindingKind.CONFLICT
    return None


class Groups:
    """Facts that hang together by findings (disjoint sets). Holds only facts that something was found about."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def join(self, one: str, other: str) -> None:
        """Put two facts into one group."""
        a, b = self._root(one), self._root(other)
        if a != b:
            self._parents[max(a, b)] = min(a, b)

    def _root(self, one: str) -> str:
        self._parents.setdefault(one, one)
        root = one
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[one] != root:
            self._parents[one], one = root, self._parents[one]
        return root

    def groups(self) -> list[list[str]]:
        """Return the groups, the largest first, then by id; their members by id, which is by time."""
        found: dict[str, list[str]] = {}
        for one in self._parents:
            found.setdefault(self._root(one), []).append(one)
        return sorted((sorted(members) for members in found.values()), key=lambda members: (-len(members), members))

    @property
    def surplus(self) -> int:
        """Return how many facts there are beyond one of each group."""
        return len(self._parents) - len({self._root(one) for one in list(self._parents)})


def rate(found: int, facts: int) -> float:
    """Return how many of a thousand facts, 0.0 of none."""
    return round(1000 * found / facts, 3) if facts else 0.0
