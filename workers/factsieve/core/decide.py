"""The decision rules: ordered, first match wins (DESIGN section 4).

`decide` takes a case (candidate, neighbours, policy, answers so far) and returns a value: a ruling, or what is needed first (a
judge's answer, or a look at past facts). It does no IO and reads no clock, so that the same case is always decided alike. The
table in ARCHITECTURE.md is generated from `RULES`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

import msgspec

from factsieve.core import guard, memo, timeline
from factsieve.core.decision import Band, DownstreamNote, FindingNote, JudgeNote
from factsieve.core.facts import Candidate, Fact, Kind, Scored
from factsieve.core.judging import Choice, Question, Verdict
from factsieve.core.policy import Policy
from factsieve.core.replace import second_look

ALL_KINDS: Final = frozenset(Kind)
RETIRE_OR_ADD: Final = frozenset({Kind.SUPERSEDE, Kind.ADD})
SKIP_OR_ADD: Final = frozenset({Kind.SKIP, Kind.ADD})


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


# The rules. Each returns None where it does not apply; its docstring's first line is its row in the docs.


def hash_window(case: Case) -> Step | None:
    """Same text and slot within the hash window, its fact still current and unrevised, no relative time: `skip`, `exact_duplicate`.

    The fact may say it in other words, which were decided to be known. Of a slot that is not the fact's, the rules must see what else
    was said: late in it, the statement has a place there.
    """
    fact = case.window
    if (
        fact is None
        or not case.is_in_force(fact)
        or fact.conflicts_with
        or (case.candidate.slot is not None and fact.slot != case.candidate.slot)
        or memo.names_relative_time(case.candidate.text)
    ):
        return None
    return _ruling(case, Kind.SKIP, "exact_duplicate", matched=fact, band=Band.EXACT, via="hash_window")


def exact_text(case: Case) -> Step | None:
    """Same text (NFC) and slot as a current fact, no relative time that resolves to another day: `skip`, `exact_duplicate`."""
    for fact in case.exact:
        if fact.conflicts_with and not (case.resolved and _stated_last(case, fact)):
            continue
        if case.is_in_force(fact) and guard.resolves_same(case.candidate.text, case.at, first_stated(fact)):
            return _ruling(case, Kind.SKIP, "exact_duplicate", matched=fact, band=Band.EXACT, via="text")
    return None


def reasserted(case: Case) -> Step | None:
    """Same text as a current fact, after another that may contradict it was stated: `add`, `reasserted`, with review."""
    for fact in case.exact:
        if not case.is_late(fact) and guard.resolves_same(case.candidate.text, case.at, first_stated(fact)):
            rivals = tuple(f.fact_id for f in _rivals(case, fact) if f.last_stated_at > fact.last_stated_at)
            return _ruling(case, Kind.ADD, "reasserted", matched=fact, review="conflict", conflicts=rivals)
    return None


def late_look(case: Case) -> Step | None:
    """Older than what a related fact was last stated at: the past facts are looked up first."""
    related = (*(scored.fact for scored in case.relevant), *case.exact)
    if case.past is None and any(case.is_late(fact) for fact in related):
        return LookBack()
    return None


def late_repeat(case: Case) -> Step | None:
    """Late, and a past fact valid at its time says the same: `skip`, `late_repeat`."""
    for scored in case.past or ():
        row = scored.fact
        if row.valid_from <= case.at < row.valid_to and _says_the_same(case, scored):
            return _ruling(case, Kind.SKIP, "late_repeat", matched=row, placement=timeline.Repeat(row))
    return None


def late_in_slot(case: Case) -> Step | None:
    """Late, of a slot that has a timeline: placed in it, as history (`add`, `late_history`) or as a repeat (`skip`)."""
    if case.past is None or case.candidate.slot is None:
        return None
    heads = [scored.fact for scored in case.current if case.same_slot(scored.fact)]
    late_heads = [fact for fact in heads if case.is_late(fact)]
    if not late_heads:
        return None
    return _placed(case, max(late_heads, key=lambda fact: (fact.valid_from, fact.fact_id)))


def late_exact(case: Case) -> Step | None:
    """Late, same text as a current fact: placed in that fact's timeline."""
    for fact in case.exact:
        if (
            case.past is not None
            and case.at < fact.valid_from
            and guard.resolves_same(case.candidate.text, case.at, fact.valid_from)
        ):
            return _placed(case, fact)
    return None


def cold_start(case: Case) -> Step | None:
    """No current fact in the namespace: `add`, `cold_start`."""
    return _ruling(case, Kind.ADD, "cold_start") if case.best is None and not case.current else None


def known(case: Case) -> Step | None:
    """Best similarity >= skip, guard clear, no contradiction seen by a local NLI model: `skip`, `similar`, without an LLM call."""
    if not case.trusted and case.policy.skip_guard != "off":
        return None
    for scored in case.relevant:
        if scored.similarity < case.policy.skip_threshold:
            break
        if case.policy.skip_guard == "off":
            return _skip_or_place(case, scored.fact, "similar")
        if not case.compare(scored.fact).clear:
            continue
        if not case.confirms_skips:
            return _skip_or_place(case, scored.fact, "similar")
        answer = case.answer(confirm=True)
        if answer is None:
            return Ask(_question(case, (scored,), SKIP_OR_ADD, confirm=True), (scored,), local_only=True)
        if answer.verdict.choice is Kind.SKIP:
            return _skip_or_place(case, scored.fact, "similar")
        return None
    return None


def asked(case: Case) -> Step | None:
    """A neighbour >= ambiguous: the judge chooses among all five; >= supersede, by slot or by second look: `supersede` or `add`."""
    if not case.relevant:
        return None
    answer = case.answer(confirm=False)
    if answer is not None:
        return _judged(case, answer)
    wide = case.relevant[0].similarity >= case.policy.ambiguous_threshold
    local_only = case.policy.skip_guard == "local" and case.relevant[0].similarity >= case.policy.skip_threshold
    facts = case.questioned
    return Ask(_question(case, facts, ALL_KINDS if wide else RETIRE_OR_ADD), facts, local_only)


def below(case: Case) -> Step | None:
    """Nothing near enough: `add`, `new`."""
    return _ruling(case, Kind.ADD, "new")


Rule = Callable[[Case], Step | None]

RULES: Final[tuple[Rule, ...]] = (
    hash_window,
    exact_text,
    late_look,
    late_repeat,
    late_in_slot,
    late_exact,
    reasserted,
    cold_start,
    known,
    asked,
    below,
)
"""In order; the last one always matches."""


def recognise(case: Case) -> Ruling | None:
    """Return the ruling of those rules that need neither vector nor neighbours, if one applies."""
    for rule in (hash_window, exact_text):
        step = rule(case)
        if isinstance(step, Ruling):
            return step
    return None


def decide(case: Case) -> Step:
    """Return the first rule's result that applies: a ruling, or what is needed before one can be given."""
    for rule in RULES:
        step = rule(case)
        if step is not None:
            return step
    raise AssertionError("the last rule matches every case")


# What the rules share.


def best_similarity(case: Case) -> float | None:
    """Return the true best similarity, 1.0 for an exact match, None without any current fact."""
    if case.exact:
        return 1.0
    return None if case.best is None else case.best[1]


def _ruling(
    case: Case,
    kind: Kind,
    reason: str,
    *,
    matched: Fact | None = None,
    targets: tuple[Fact, ...] = (),
    text: str | None = None,
    placement: timeline.Placement | None = None,
    band: Band | None = None,
    via: str = "rules",
    review: str | None = None,
    conflicts: tuple[str, ...] = (),
) -> Ruling:
    about = (*([matched] if matched else ()), *targets)
    resolved_at = case.at
    if kind is not Kind.ADD and placement is None:
        for fact in about:
            resolved_at = max(resolved_at, timeline.resolve(case.at, fact, case.tolerance))
    return Ruling(
        kind=kind,
        reason=reason,
        resolved_at=resolved_at,
        band=band or case.policy.band(best_similarity(case)),
        matched=matched,
        targets=targets,
        text=text,
        placement=placement,
        via=via,
        findings=() if via == "hash_window" else _findings(case, matched),
        judges=tuple(_note(answer) for answer in case.answers),
        review=review,
        conflicts=conflicts,
    )


def _findings(case: Case, matched: Fact | None) -> tuple[FindingNote, ...]:
    """Return what the guard has against the matched fact (for an `add`: against the nearest one, if it is near)."""
    if case.exact:
        return ()
    fact = matched
    if fact is None and case.relevant and case.relevant[0].similarity >= case.policy.ambiguous_threshold:
        fact = case.relevant[0].fact
    if fact is None or case.policy.skip_guard == "off":
        return ()
    comparison = case.compare(fact)
    notes = [FindingNote(f.kind, f.ours, f.theirs) for f in (*comparison.findings, *comparison.novelty)]
    if not case.trusted:
        notes.append(FindingNote("coverage", "the vector stands for only part of the text", ""))
    return tuple(notes)


def _note(answer: Answer) -> JudgeNote:
    verdict, facts = answer.verdict, answer.ask.facts
    return JudgeNote(
        judge=verdict.judge,
        asked="confirm" if answer.ask.question.confirm else "choose",
        choice=verdict.choice,
        reason=verdict.reason,
        model=verdict.model,
        confidence=verdict.confidence,
        failure=verdict.failure,
        latency_ms=verdict.latency_ms,
        prompt_tokens=verdict.prompt_tokens,
        completion_tokens=verdict.completion_tokens,
        targets=tuple(facts[i].fact.fact_id for i in verdict.targets if 0 <= i < len(facts)),
    )


def _question(case: Case, facts: tuple[Scored, ...], allowed: frozenset[Kind], *, confirm: bool = False) -> Question:
    return Question(
        text=case.candidate.text,
        occurred_at=case.at,
        neighbours=tuple(_choice(scored) for scored in facts),
        allowed=allowed,
        slot=case.candidate.slot,
        confirm=confirm,
        namespace=case.candidate.namespace,
    )


def _choice(scored: Scored) -> Choice:
    fact = scored.fact
    return Choice(fact.text, scored.similarity, first_stated(fact), fact.slot)


def _rivals(case: Case, fact: Fact) -> list[Fact]:
    """Return the current neighbours that may contradict a fact, as was noted when the later of the two came."""
    return [
        s.fact for s in case.current if s.fact.fact_id in fact.conflicts_with or fact.fact_id in s.fact.conflicts_with
    ]


def _stated_last(case: Case, fact: Fact) -> bool:
    """Return whether no rival of a fact was stated after it."""
    return all(rival.last_stated_at <= fact.last_stated_at for rival in _rivals(case, fact))


def _says_the_same(case: Case, scored: Scored) -> bool:
    fact = scored.fact
    if guard.same_statement_text(case.candidate.text, fact.text):
        return guard.resolves_same(case.candidate.text, case.at, first_stated(fact))
    if fact.slot != case.candidate.slot or scored.similarity < case.policy.skip_threshold or not case.trusted:
        return False
    return case.policy.skip_guard == "off" or case.compare(fact).clear


def _placement(case: Case, head: Fact, repeated: frozenset[str] = frozenset()) -> timeline.Placement | None:
    """Return what a late candidate does to the chain of `head`, or None where it comes after all of it.

    `repeated` are the rows that it is known to repeat; of the others it is found out here.
    """
    past = case.past or ()
    by_id = {scored.fact.point_id: scored for scored in (*case.current, *past)}
    chain = timeline.chain_of(head, [scored.fact for scored in past])
    same = {
        row.point_id
        for row in chain
        if row.point_id in repeated or _says_the_same(case, by_id.get(row.point_id, Scored(row, -1.0)))
    }
    return timeline.place(case.at, chain, same)


def _placed(case: Case, head: Fact) -> Ruling | None:
    """Return the ruling for a late candidate in the chain of `head`, or None where it comes after all of it."""
    placement = _placement(case, head)
    match placement:
        case None:
            return None
        case timeline.Repeat(row) | timeline.Extend(row):
            return _ruling(case, Kind.SKIP, "late_repeat", matched=row, placement=placement)
        case timeline.Insert():
            return _ruling(case, Kind.ADD, "late_history", matched=head, placement=placement)


def _skip_or_place(case: Case, fact: Fact, reason: str) -> Step:
    """Return a skip on `fact`; a candidate older than the fact's validity is placed in its timeline instead."""
    if case.is_in_force(fact):
        return _ruling(case, Kind.SKIP, reason, matched=fact)
    placement = _placement(case, fact, frozenset({fact.point_id}))
    if isinstance(placement, timeline.Insert):
        return _ruling(case, Kind.ADD, "late_history", matched=fact, placement=placement)
    row = placement.row if placement is not None else fact
    return _ruling(case, Kind.SKIP, reason, matched=row, placement=placement)


def _judged(case: Case, answer: Answer) -> Ruling | Step:
    """Return the ruling that follows from a judge's verdict; an unusable one never skips and never retires."""
    verdict = answer.verdict
    facts = answer.ask.facts
    usable = (
        verdict.choice is not None
        and verdict.choice in answer.ask.question.allowed
        and all(0 <= i < len(facts) for i in (*verdict.targets, *verdict.conflicts))
        and (verdict.choice is Kind.ADD or verdict.targets)
    )
    if not usable:
        why = verdict.failure or f"unusable verdict {verdict.choice} {list(verdict.targets)}"
        return _ruling(case, Kind.ADD, "no_answer", review=f"no_answer: {why}", conflicts=(facts[0].fact.fact_id,))
    targets = tuple(facts[i].fact for i in dict.fromkeys(verdict.targets))
    conflicts = tuple(facts[i].fact.fact_id for i in verdict.conflicts)
    match verdict.choice:
        case Kind.SKIP:
            return _skip_or_place(case, targets[0], "judged_same")
        case Kind.SUPERSEDE:
            return _retire(case, targets)
        case Kind.UPDATE | Kind.MERGE:
            return _revise(case, verdict, targets)
        case _:
            return _ruling(case, Kind.ADD, "judged_new", review=verdict.review, conflicts=conflicts)


def _retire(case: Case, targets: tuple[Fact, ...]) -> Ruling:
    """Return the retirement of those targets that were not stated after the candidate, else its place in history."""
    on_time = tuple(fact for fact in targets if not case.is_late(fact))
    if on_time:
        return _ruling(case, Kind.SUPERSEDE, "replaces", matched=on_time[0], targets=on_time)
    placed = _placed(case, targets[0])
    return placed if placed is not None else _ruling(case, Kind.ADD, "judged_new", matched=targets[0])


def _revise(case: Case, verdict: Verdict, targets: tuple[Fact, ...]) -> Ruling:
    """Return an update or merge whose wording brings in nothing of its own, or an `add` where none can be made."""
    head = targets[0]
    kind = verdict.choice
    assert kind is not None
    if any(case.is_late(fact) for fact in targets):
        return _ruling(case, Kind.ADD, "late_detail", matched=head)
    own = case.candidate.text
    sources = [own, *(fact.text for fact in targets)]
    text = verdict.text
    if text is not None:
        within = len(text) <= min(
            case.policy.merge_text_limit, sum(len(source) for source in sources) + len(targets) * 16
        )
        if not text.strip() or not within or guard.introduces(text, sources):
            text = None
    if text is None and (len(targets) > 1 or (verdict.text is not None and case.compare(head).missing)):
        return _ruling(case, Kind.ADD, "unusable_wording", review="unusable_wording", conflicts=(head.fact_id,))
    reason = "refines" if kind is Kind.UPDATE else "merged"
    return _ruling(case, kind, reason, matched=head, targets=targets[1:], text=text or own)


def signal_of(case: Case, ruling: Ruling | None) -> tuple[float, str | None]:
    """Return the best similarity and the fact that has it, as the dedup signal reports them; without a ruling, as far as it needs none."""
    if case.window is not None and ruling is not None and ruling.via == "hash_window":
        return 1.0, case.window.fact_id
    if case.exact:
        exact = ruling.matched if ruling is not None and ruling.matched in case.exact else case.exact[0]
        assert exact is not None
        return 1.0, exact.fact_id
    return (0.0, None) if case.best is None else (case.best[1], case.best[0])
