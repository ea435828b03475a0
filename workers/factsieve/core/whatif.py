"""Past decisions under another policy: the case that each was, built again from what was recorded, and what would come of it.

`core.decide` decides, then as now; here is no rule. What a case needs beyond the record (a judge's answer to a question that was not
put, a look at past facts) is asked for, never guessed.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec

from factsieve.core import ids
from factsieve.core.case import Answer, Ask, Case, Ruling
from factsieve.core.decision import Band, Decision, Entry, JudgeNote
from factsieve.core.facts import Candidate, Fact, Kind, Scored, Source, Status
from factsieve.core.judging import Verdict
from factsieve.core.policy import Policy, SkipGuard
from factsieve.core.undo import SCRUBBED_HASH

State = Literal["same", "another_way", "changed", "needs_judge", "unclear"]
"""What a past decision would be: the same; the same in effect, for another reason or in another band; another one; not to be told without
a judge's answer; not to be told from the log."""

STATES: Final[tuple[State, ...]] = ("same", "another_way", "changed", "needs_judge", "unclear")
_GUARDS: Final[tuple[SkipGuard, ...]] = ("ask", "local", "off")
_NO_ANSWER: Final = "no_answer: "
_BELIEVED: Final = frozenset({Status.CURRENT, Status.PAST})


class World:
    """The points of one namespace as its recorded decisions made them, one after the other."""

    def __init__(self) -> None:
        self._points: dict[str, Fact] = {}
        self._by_text: dict[str, set[str]] = {}
        self._past: set[str] = set()
        self._by_slot: dict[str, set[str]] = {}

    def apply(self, effects: Iterable[Fact]) -> None:
        """Take up the effects of a decision or command."""
        for fact in effects:
            former = self._points.get(fact.point_id)
            if former is not None:
                self._by_text.get(ids.text_hash(former.text, former.slot), set()).discard(fact.point_id)
                if former.slot is not None:
                    self._by_slot.get(former.slot, set()).discard(fact.point_id)
            self._points[fact.point_id] = fact
            self._past.discard(fact.point_id)
            if fact.status is Status.CURRENT:
                self._by_text.setdefault(ids.text_hash(fact.text, fact.slot), set()).add(fact.point_id)
            elif fact.status is Status.PAST:
                self._past.add(fact.point_id)
            if fact.slot is not None and fact.status in _BELIEVED:
                self._by_slot.setdefault(fact.slot, set()).add(fact.point_id)

    def get(self, point_id: str) -> Fact | None:
        """Return a point, if it is there."""
        return self._points.get(point_id)

    def exact(self, text: str, slot: str | None) -> tuple[Fact, ...]:
        """Return the current facts of this text and slot, by point id."""
        return tuple(self._points[one] for one in sorted(self._by_text.get(ids.text_hash(text, slot), ())))

    def past(self) -> list[Fact]:
        """Return the past rows, by point id."""
        return [self._points[one] for one in sorted(self._past)]

    def of_slot(self, slot: str) -> list[Fact]:
        """Return the current and past rows of a slot, by point id."""
        return [self._points[one] for one in sorted(self._by_slot.get(slot, ()))]


def is_told(entry: Entry) -> bool:
    """Return whether an entry is a decision about a statement that is still there: no command, not erased."""
    return entry.decision.decision is not None and entry.body_hash != SCRUBBED_HASH


def candidate_of(entry: Entry, policy: Policy) -> Candidate:
    """Return the statement that a decision under `policy` is about (a vector of its own that led to no new fact was not recorded)."""
    decision = entry.decision
    signal = decision.thresholds.update_signal
    own = next((fact for fact in entry.effects if fact.point_id == decision.fact_id), None)
    mine = own if own is not None and own.event_key == decision.event_key and own.revision == 1 else None
    vector = entry.vectors.get(decision.fact_id) if decision.fact_id is not None else None
    return Candidate(
        event_key=decision.event_key,
        event_id=decision.event_id,
        body_hash=entry.body_hash,
        coordinates=decision.coordinates,
        namespace=decision.namespace,
        text=decision.text,
        source=decision.source or Source.REMEMBER,
        occurred_at=decision.occurred_at,
        ce_source=decision.ce_source,
        ce_id=decision.ce_id,
        ce_time=decision.ce_time,
        slot=decision.slot,
        session_id=decision.session_id,
        embedding=vector,
        dedup_threshold=None if signal == policy.dedup_update_threshold else signal,
        attributes=entry.attributes if mine is None else mine.attributes,
        traceparent=decision.traceparent,
    )


def policy_then(decision: Decision, now: Policy) -> Policy:
    """Return the policy that a decision was made under; `now` stands in for what was not recorded of it.

    A decision names its thresholds and the fingerprint of the whole: the guard's setting is found by trying. The threshold of the dedup
    signal may have been the statement's own, so the policy's is tried first.
    """
    if decision.policy == now.fingerprint:
        return now
    told = decision.thresholds
    floor = min(now.second_look_floor, told.supersede)
    candidates = [
        msgspec.structs.replace(
            now,
            skip_threshold=told.skip,
            ambiguous_threshold=told.ambiguous,
            supersede_threshold=told.supersede,
            dedup_update_threshold=signal,
            second_look_floor=floor,
            skip_guard=guard,
        )
        for signal in (told.update_signal, now.dedup_update_threshold)
        for guard in (now.skip_guard, *(one for one in _GUARDS if one != now.skip_guard))
    ]
    return next((one for one in candidates if one.fingerprint == decision.policy), candidates[0])


def case_of(
    entry: Entry, world: World, then: Policy, policy: Policy, *, confirms_skips: bool, trusted: bool
) -> Case | None:
    """Return the case that a decision made under `then` is under `policy`, before any look at the past.

    None where a neighbour of it is not in the world as the log tells it. `confirms_skips` and `trusted` are as in `Case`: they were
    not recorded.
    """
    decision = entry.decision
    current = []
    for note in decision.neighbours:
        fact = world.get(note.fact_id)
        if fact is None or fact.revision != note.revision:
            return None
        current.append(Scored(fact, note.similarity, note.via))
    window = None
    if decision.via == "hash_window":
        window = world.get(decision.matched_id or "")
        if window is None:
            return None
    return Case(
        candidate=candidate_of(entry, then),
        policy=policy,
        current=tuple(current),
        best=_best(decision, current),
        exact=world.exact(decision.text, decision.slot),
        window=window,
        trusted=trusted,
        confirms_skips=confirms_skips,
        resolved=True,
    )


def _best(decision: Decision, current: Sequence[Scored]) -> tuple[str, float] | None:
    if decision.band is Band.EXACT and current:
        nearest = max(current, key=lambda scored: scored.similarity)
        return nearest.fact.fact_id, nearest.similarity
    signal = decision.dedup_signal
    return None if signal.matched_id is None else (signal.matched_id, signal.max_sim)


class Recorded:
    """The answers that a decision's judges gave, given again where the same question comes up."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._left = list(entry.decision.judges)
        self._given: list[tuple[Ask, Verdict]] = []

    def next(self, ask: Ask) -> Verdict | None:
        """Return what was answered to the next question, in the order in which they were put; None where that was another one."""
        wanted = "confirm" if ask.question.confirm else "choose"
        if not self._left or self._left[0].asked != wanted:
            return None
        verdict = self._verdict(self._left.pop(0), ask)
        self._given.append((ask, verdict))
        return verdict

    def again(self, ask: Ask) -> Verdict | None:
        """Return what was answered to the very same question, None where it was not put."""
        return next((v for then, v in self._given if then == ask), None)

    def _verdict(self, note: JudgeNote, ask: Ask) -> Verdict:
        decision = self._entry.decision
        verdict = Verdict(
            choice=note.choice,
            judge=note.judge,
            reason=note.reason,
            confidence=note.confidence,
            failure=note.failure,
            model=note.model,
            latency_ms=note.latency_ms,
            prompt_tokens=note.prompt_tokens,
            completion_tokens=note.completion_tokens,
        )
        if ask.question.confirm:
            return msgspec.structs.replace(verdict, targets=(0,))
        if decision.reason == "no_answer":
            return msgspec.structs.replace(
                verdict, choice=None, failure=(decision.review or "").removeprefix(_NO_ANSWER)
            )
        index = {scored.fact.fact_id: i for i, scored in reversed(list(enumerate(ask.facts)))}
        named: tuple[str | None, ...] = note.targets or (
            decision.matched_id,
            *decision.superseded_ids,
        )  # older records name none
        about = [one for one in dict.fromkeys(named) if one is not None and one in index]
        targets = () if note.choice is Kind.ADD else tuple(index[one] for one in about)
        return msgspec.structs.replace(
            verdict,
            targets=targets,
            text=self._wording(note.choice),
            review=decision.review,
            conflicts=tuple(index[one] for one in decision.conflicts_with if one in index),
        )

    def _wording(self, choice: Kind | None) -> str | None:
        decision = self._entry.decision
        if choice not in (Kind.UPDATE, Kind.MERGE):
            return None
        if decision.reason == "unusable_wording":
            return ""
        return next((fact.text for fact in self._entry.effects if fact.point_id == decision.fact_id), None)


class Told(msgspec.Struct, frozen=True):
    """What was or would be decided, in short."""

    decision: Kind
    reason: str
    band: Band
    matched_id: str | None
    matched_text: str | None
    superseded_ids: tuple[str, ...]
    fact_id: str | None
    review: str | None
    is_update: bool


def told(decision: Decision) -> Told:
    """Return a decision in short. Commands have none (their `decision` must not be None)."""
    assert decision.decision is not None
    return Told(
        decision=decision.decision,
        reason=decision.reason,
        band=decision.band,
        matched_id=decision.matched_id,
        matched_text=decision.matched_text,
        superseded_ids=decision.superseded_ids,
        fact_id=decision.fact_id,
        review=decision.review,
        is_update=decision.dedup_signal.is_update,
    )


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """One past decision and what would be in its place.

    `after` is None where that can not be told. `certain`: nothing before it in its namespace would be different, so that the
    world that it was made in would be the same; else it is told as if that were so. `questions` and `model_calls` count what judges, and
    models among them, were asked (`_before`) and would be (`_after`); `unanswered` questions would be put, and nobody was asked.
    """

    namespace: str
    event_id: str
    event_key: str
    decision_id: str
    text: str
    similarity: float
    occurred_at: datetime
    decided_at: datetime
    state: State
    before: Told
    after: Told | None
    certain: bool
    questions_before: int = 0
    questions_after: int = 0
    model_calls_before: int = 0
    model_calls_after: int = 0
    unanswered: int = 0
    why: str = ""


def state_of(before: Entry, after: Entry) -> State:
    """Return how another entry for the same event in the same world compares: its effects, then reason, band and match."""
    if before.effects != after.effects:
        return "changed"
    one, other = told(before.decision), told(after.decision)
    return "same" if same_way(one, other) else "another_way"


def same_way(one: Told, other: Told) -> bool:
    """Return whether two decisions are the same for the same reason; the dedup signal decides nothing and is left out."""
    return msgspec.structs.replace(one, is_update=other.is_update) == other


def agrees(ruling: Ruling, entry: Entry, planned: Entry) -> bool:
    """Return whether a decision made again comes out as it was recorded: then the case was built right."""
    decision = entry.decision
    return (
        ruling.kind is decision.decision
        and planned.decision.reason == decision.reason
        and planned.decision.superseded_ids == decision.superseded_ids
        and planned.effects == entry.effects
    )


def answered(case: Case, ask: Ask, verdict: Verdict) -> Case:
    """Return the case with one more answer."""
    return case.answered(Answer(ask, verdict))


def is_model(judge: str) -> bool:
    """Return whether a judge of this name is a language model (or another remote service), whose answers cost money and time."""
    return judge.partition(":")[0] not in ("rules", "nli", "")
