"""Whether one statement denies the other: negation, opposite words, liking and disliking."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from factsieve.core.guard.lexicon import ANTONYM_PAIRS
from factsieve.core.relation import words as w
from factsieve.core.relation.parse import Clause
from factsieve.core.relation.tokens import key_of

_PREFIXES: Final = ("un", "in", "im", "ir", "il", "dis", "non", "de", "mis")
_NOT_STATES: Final = w.words(
    "inner outer upper lower left right front rear back top bottom east west north south eastern western northern southern aisle window breakfast dinner day night morning evening weekday weekend weekdays weekends"
    " man woman mother father brother sister son daughter boy girl husband wife uncle aunt king queen male female older younger oldest youngest senior junior input output inlet outlet import export question answer"
    " teacher student buyer seller lender borrower employer employee debit credit winter summer daily weekly monthly yearly guest host parent child indoor outdoor local remote first last former latter upstream downstream"
    " domestic international internal external domestic foreign major minor red blue black white upload download read write old new debtor creditor"
)


@lru_cache(maxsize=1)
def _opposites() -> frozenset[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for pair in " ".join(ANTONYM_PAIRS.split()).split(";"):
        two = pair.split()
        if len(two) == 2:
            one, other = key_of(two[0]), key_of(two[1])
            pairs |= {(one, other), (other, one), (two[0], two[1]), (two[1], two[0])}
    return frozenset(pairs)


def opposite(one: str, other: str) -> bool:
    """Return whether two words, in lower case, exclude each other as states."""
    if one == other or one in _NOT_STATES or other in _NOT_STATES:
        return False
    if (one, other) in _opposites() or (key_of(one), key_of(other)) in _opposites():
        return True
    if (one in w.LIKE_VERBS and other in w.DISLIKE_VERBS) or (one in w.DISLIKE_VERBS and other in w.LIKE_VERBS):
        return True
    return prefixed(one, other) or prefixed(other, one)


def prefixed(negative: str, positive: str) -> bool:
    """Return whether one word is the other with a denying prefix: unlocked of locked."""
    return (len(positive) > 3 and any(negative == prefix + positive for prefix in _PREFIXES)) or (
        positive.endswith("ful") and negative == positive[:-3] + "less"
    )


def liking(clause: Clause) -> int:
    """Return 1 where the main verb is one of liking, -1 of disliking, 0 neither; negation counted in."""
    sign = 0
    key = clause.verb or ""
    if key in w.LIKE_VERBS:
        sign = 1
    elif key in w.DISLIKE_VERBS:
        sign = -1
    elif key == "stand" and clause.negated and clause.modal in ("can", "could"):
        return -1
    return -sign if clause.negated else sign
