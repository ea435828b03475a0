"""Making stores anew from what was told: which texts must not come back, and which state of a point is the last."""

from collections.abc import Iterable, Mapping

import msgspec

from factsieve.core.decision import Entry, Erasure
from factsieve.core.facts import Fact, Status

NOTHING_ERASED = Erasure()


def merged(one: Erasure, other: Erasure) -> Erasure:
    """Return what two erasures take together: of a fact that either takes whole, everything."""
    facts = dict(one.facts)
    for fact_id, revisions in other.facts.items():
        known = facts.get(fact_id, revisions)
        # An empty one stands for all revisions.
        facts[fact_id] = tuple(sorted({*known, *revisions})) if known and revisions else ()
    return Erasure(facts=facts, event_keys=tuple(dict.fromkeys((*one.event_keys, *other.event_keys))))


def is_gone(erasure: Erasure, fact: Fact) -> bool:
    """Return whether a state of a point is of a fact that was erased whole: all its points are without text in the end.

    Where only wordings were erased, the states that held them are overwritten by later ones; which those are can not be told from
    revisions, since a row of the history may have come to the same number by a retract or a revert.
    """
    return fact.status is not Status.ERASED and erasure.facts.get(fact.fact_id) == ()


def last_states(entries: Iterable[Entry], erasure: Erasure = NOTHING_ERASED) -> dict[str, Fact]:
    """Return the last state of each point that entries wrote, by point id, without those of facts that are erased whole.

    States are absolute and numbered by `version`, so that neither order nor repetition of the entries matters.
    """
    last: dict[str, Fact] = {}
    for entry in entries:
        for fact in entry.effects:
            known = last.get(fact.point_id)
            if not is_gone(erasure, fact) and (known is None or known.version < fact.version):
                last[fact.point_id] = fact
    return last


def without_given_vectors(entry: Entry) -> Entry:
    """Return an entry for another embedding model: vectors that came along are of no use to it."""
    if not entry.vectors and not any(fact.embedded for fact in entry.effects):
        return entry
    effects = tuple(not_embedded(fact) for fact in entry.effects)
    return msgspec.structs.replace(entry, effects=effects, vectors={})


def not_embedded(fact: Fact) -> Fact:
    """Return a fact whose vector is made by the configured model."""
    return msgspec.structs.replace(fact, embedded=False) if fact.embedded else fact


def erasures_by_namespace(found: Iterable[tuple[str, Erasure]]) -> Mapping[str, Erasure]:
    """Return all erasures of each namespace as one."""
    together: dict[str, Erasure] = {}
    for namespace, erasure in found:
        together[namespace] = merged(together.get(namespace, NOTHING_ERASED), erasure)
    return together
