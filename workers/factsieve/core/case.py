"""What a decision depends on and what it comes to: the case, what is asked about it, and the ruling."""

from datetime import datetime, timedelta
from functools import cached_property

import msgspec

from factsieve.core import guard, memo, timeline
from factsieve.core.decision import Band, DownstreamNote, FindingNote, JudgeNote
from factsieve.core.facts import Candidate, Fact, Kind, Scored
from factsieve.core.judging import Question, Verdict
from factsieve.core.policy import Policy
from factsieve.core.replace import second_look


class LookBack(msgspec.Struct, frozen=True):
    """The candidate is late: the past facts near it (and of its slot) are needed."""


class Ask(msgspec.Struct, frozen=True):
    """A judge is needed; `facts` are the question's neighbours in its order. `local_only`: no remote judge may be asked."""

    question: Question
    facts: tuple[Scored, ...]
    local_only: bool = False


class Answer(msgspec.Struct, frozen=True):
    """What was asked, and what came back."""

    ask: Ask
    verdict: Verdict


class Case(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that a decision depends on.

    `current`: current neighbours whose text is at hand, best first, those by slot included. `best`: id and similarity of the
    nearest current fact, whether or not its text is at hand. `exact`: current facts with this text and slot. `window`: the fact that
    the hash window names, if it is current and unrevised; for its own rule alone, since the window may be away. `past`: past rows near
    the candidate or of its slot, None if not looked up. `trusted`: whether the vector stands for the whole text. `confirms_skips`:
    whether a local judge wants to confirm skips. `resolved`: whether neighbours were looked up at all.
    """

    candidate: Candidate
    policy: Policy
    current: tuple[Scored, ...] = ()
    best: tuple[str, float] | None = None
    exact: tuple[Fact, ...] = ()
    window: Fact | None = None
    past: tuple[Scored, ...] | None = None
    answers: tuple[Answer, ...] = ()
    trusted: bool = True
    confirms_skips: bool = False
    resolved: bool = False

    @property
    def at(self) -> datetime:
        """Return when the statement was made."""
        return self.candidate.occurred_at

    @property
    def tolerance(self) -> timedelta:
        """Return how much older than a fact a statement may be and still count as on time."""
        return timedelta(seconds=self.policy.clock_skew_tolerance_s)

    @cached_property
    def relevant(self) -> tuple[Scored, ...]:
        """Return the neighbours that a judge may see: near enough, of the same slot, or alike at a second look."""
        return tuple(scored for scored in self.current if self._is_relevant(scored))

    @cached_property
    def questioned(self) -> tuple[Scored, ...]:
        """Return the relevant neighbours without those that a person said can stand beside a nearer one: that pair is decided."""
        kept: list[Scored] = []
        for scored in self.relevant:
            if not any(scored.fact.fact_id in nearer.fact.compatible_with for nearer in kept):
                kept.append(scored)
        return tuple(kept)

    def _is_relevant(self, scored: Scored) -> bool:
        if scored.similarity >= self.policy.supersede_threshold or self.same_slot(scored.fact):
            return True
        if self.policy.skip_guard == "off" or scored.similarity < self.policy.second_look_floor:
            return False
        theirs = memo.features_of(scored.fact.text, first_stated(scored.fact))
        return second_look(self._features, theirs, scored.similarity)

    @cached_property
    def _features(self) -> guard.Features:
        return memo.features_of(self.candidate.text, self.at)

    def same_slot(self, fact: Fact) -> bool:
        """Return whether candidate and fact are about one slot."""
        return fact.slot is not None and fact.slot == self.candidate.slot

    def compare(self, fact: Fact) -> guard.Comparison:
        """Return the guard's comparison of the candidate with a stored fact."""
        return memo.compare(self.candidate.text, self.at, fact.text, first_stated(fact))

    def is_late(self, fact: Fact) -> bool:
        """Return whether the candidate is late against a fact."""
        return timeline.is_late(self.at, fact, self.tolerance)

    def is_in_force(self, fact: Fact) -> bool:
        """Return whether a current fact is in force at the time that the candidate counts as made at."""
        return self.at >= fact.valid_from or not self.is_late(fact)

    def answered(self, answer: Answer) -> "Case":
        """Return the case with one more answer; what was found out about its neighbours stays."""
        case = msgspec.structs.replace(self, answers=(*self.answers, answer))
        case.__dict__.update(self.__dict__)
        return case

    def answer(self, *, confirm: bool) -> Answer | None:
        """Return the answer to the confirming (or choosing) question, if it was asked."""
        return next((a for a in self.answers if a.ask.question.confirm == confirm), None)


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about a case, for the plan to be made of it.

    `matched` is the fact that it is about, `targets` those to retire (supersede) or to take up besides `matched` (merge), `text` the
    new wording of an update or merge, `placement` what a late statement does to its chain, `downstream` what was found there.
    """

    kind: Kind
    reason: str
    resolved_at: datetime
    band: Band
    matched: Fact | None = None
    targets: tuple[Fact, ...] = ()
    text: str | None = None
    placement: timeline.Placement | None = None
    via: str = "rules"
    findings: tuple[FindingNote, ...] = ()
    judges: tuple[JudgeNote, ...] = ()
    review: str | None = None
    conflicts: tuple[str, ...] = ()
    downstream: DownstreamNote | None = None


Step = Ruling | Ask | LookBack


def first_stated(fact: Fact) -> datetime:
    """Return when a fact was stated first: its relative times are meant from then."""
    return fact.stated_at[0] if fact.stated_at else fact.valid_from
