"""Whether what is new to us is known downstream: the same bands and guard, over a text that is not ours.

Only what is surely there is held back: nobody chooses, and a language model is never asked.
"""

from typing import Final

import msgspec

from factsieve.core import memo
from factsieve.core.case import Case, Ruling
from factsieve.core.decision import Band, DownstreamNote
from factsieve.core.facts import Fact, Kind, Scored, Source, Status

KNOWN: Final = "known_downstream"
_NEW: Final = frozenset({"new", "cold_start", "judged_new"})


class Foreign(msgspec.Struct, frozen=True):
    """A text of a downstream collection near a candidate: its cosine similarity there, and the threshold that holds there.

    `trusted`: whether the vector that it was found by stands for the whole candidate.
    """

    collection: str
    point_id: str
    text: str
    similarity: float
    skip_threshold: float
    trusted: bool = True


def is_asked(ruling: Ruling) -> bool:
    """Return whether a ruling is an `add` from the `new` band (or a cold start) that nobody doubts and that is no history."""
    return (
        ruling.kind is Kind.ADD
        and ruling.reason in _NEW
        and ruling.band in (Band.NEW, Band.NONE)
        and ruling.placement is None
        and ruling.review is None
    )


def case_of(case: Case, foreign: Foreign) -> Case | None:
    """Return the case that a candidate is, were a foreign text all that is stored; None where a time in it depends on when it is said.

    When the foreign text was stated is not known, so that "tomorrow" in either of them can not be compared.
    """
    candidate = case.candidate
    if memo.names_relative_time(candidate.text) or memo.names_relative_time(foreign.text):
        return None
    at = candidate.occurred_at
    stored = Fact(
        point_id=foreign.point_id,
        fact_id=foreign.point_id,
        namespace=candidate.namespace,
        text=foreign.text,
        status=Status.CURRENT,
        revision=1,
        version=1,
        valid_from=at,
        recorded_at=at,
        last_stated_at=at,
        source=Source.INGEST,
        event_key="",
        decision_id="",
        slot=candidate.slot,
        stated_at=(at,),
    )
    cut = foreign.skip_threshold
    policy = msgspec.structs.replace(
        case.policy,
        skip_threshold=cut,
        ambiguous_threshold=min(cut, case.policy.ambiguous_threshold),
        supersede_threshold=min(cut, case.policy.supersede_threshold),
        second_look_floor=min(cut, case.policy.second_look_floor),
    )
    return Case(
        candidate=candidate,
        policy=policy,
        current=(Scored(stored, foreign.similarity),),
        best=(stored.fact_id, foreign.similarity),
        trusted=foreign.trusted,
        confirms_skips=case.confirms_skips,
        resolved=True,
    )


def noted(ruling: Ruling, note: DownstreamNote) -> Ruling:
    """Return the ruling with what was found downstream: where it is known there, for that reason."""
    reason = KNOWN if note.outcome == "known" else ruling.reason
    return msgspec.structs.replace(ruling, reason=reason, downstream=note)
