"""What the rules of `decide` share: how a ruling is put together, where a late statement belongs, what follows from a judge's verdict."""

from factsieve.core import guard, timeline
from factsieve.core.case import Answer, Case, Ruling, Step, first_stated
from factsieve.core.decision import Band, FindingNote, JudgeNote
from factsieve.core.facts import Fact, Kind, Scored
from factsieve.core.judging import Choice, Question, Verdict


def best_similarity(case: Case) -> float | None:
    """Return the true best similarity, 1.0 for an exact match, None without any current fact."""
    if case.exact:
        return 1.0
    return None if case.best is None else case.best[1]


def ruled(
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
    """Return a ruling on a case: what the arguments say, when it is in force from, and what guard and judges said to it."""
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


def question_about(
    case: Case, facts: tuple[Scored, ...], allowed: frozenset[Kind], *, confirm: bool = False
) -> Question:
    """Return what a judge is asked about the candidate beside these facts."""
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


def rivals_of(case: Case, fact: Fact) -> list[Fact]:
    """Return the current neighbours that may contradict a fact, as was noted when the later of the two came."""
    return [
        s.fact for s in case.current if s.fact.fact_id in fact.conflicts_with or fact.fact_id in s.fact.conflicts_with
    ]


def stated_last(case: Case, fact: Fact) -> bool:
    """Return whether no rival of a fact was stated after it."""
    return all(rival.last_stated_at <= fact.last_stated_at for rival in rivals_of(case, fact))


def says_the_same(case: Case, scored: Scored) -> bool:
    """Return whether the candidate says what a row of a timeline says: its text, or its slot and by the guard nothing else."""
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
        if row.point_id in repeated or says_the_same(case, by_id.get(row.point_id, Scored(row, -1.0)))
    }
    return timeline.place(case.at, chain, same)


def place_in(case: Case, head: Fact) -> Ruling | None:
    """Return the ruling for a late candidate in the chain of `head`, or None where it comes after all of it."""
    placement = _placement(case, head)
    match placement:
        case None:
            return None
        case timeline.Repeat(row) | timeline.Extend(row):
            return ruled(case, Kind.SKIP, "late_repeat", matched=row, placement=placement)
        case timeline.Insert():
            return ruled(case, Kind.ADD, "late_history", matched=head, placement=placement)


def skip_or_place(case: Case, fact: Fact, reason: str) -> Step:
    """Return a skip on `fact`; a candidate older than the fact's validity is placed in its timeline instead."""
    if case.is_in_force(fact):
        return ruled(case, Kind.SKIP, reason, matched=fact)
    placement = _placement(case, fact, frozenset({fact.point_id}))
    if isinstance(placement, timeline.Insert):
        return ruled(case, Kind.ADD, "late_history", matched=fact, placement=placement)
    row = placement.row if placement is not None else fact
    return ruled(case, Kind.SKIP, reason, matched=row, placement=placement)


def judged(case: Case, answer: Answer) -> Ruling | Step:
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
        return ruled(case, Kind.ADD, "no_answer", review=f"no_answer: {why}", conflicts=(facts[0].fact.fact_id,))
    targets = tuple(facts[i].fact for i in dict.fromkeys(verdict.targets))
    conflicts = tuple(facts[i].fact.fact_id for i in verdict.conflicts)
    match verdict.choice:
        case Kind.SKIP:
            return skip_or_place(case, targets[0], "judged_same")
        case Kind.SUPERSEDE:
            return _retire(case, targets)
        case Kind.UPDATE | Kind.MERGE:
            return _revise(case, verdict, targets)
        case _:
            return ruled(case, Kind.ADD, "judged_new", review=verdict.review, conflicts=conflicts)


def _retire(case: Case, targets: tuple[Fact, ...]) -> Ruling:
    """Return the retirement of those targets that were not stated after the candidate, else its place in history."""
    on_time = tuple(fact for fact in targets if not case.is_late(fact))
    if on_time:
        return ruled(case, Kind.SUPERSEDE, "replaces", matched=on_time[0], targets=on_time)
    placed = place_in(case, targets[0])
    return placed if placed is not None else ruled(case, Kind.ADD, "judged_new", matched=targets[0])


def _revise(case: Case, verdict: Verdict, targets: tuple[Fact, ...]) -> Ruling:
    """Return an update or merge whose wording brings in nothing of its own, or an `add` where none can be made."""
    head = targets[0]
    kind = verdict.choice
    assert kind is not None
    if any(case.is_late(fact) for fact in targets):
        return ruled(case, Kind.ADD, "late_detail", matched=head)
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
        return ruled(case, Kind.ADD, "unusable_wording", review="unusable_wording", conflicts=(head.fact_id,))
    reason = "refines" if kind is Kind.UPDATE else "merged"
    return ruled(case, kind, reason, matched=head, targets=targets[1:], text=text or own)


def signal_of(case: Case, ruling: Ruling | None) -> tuple[float, str | None]:
    """Return the best similarity and the fact that has it, as the dedup signal reports them; without a ruling, as far as it needs none."""
    if case.window is not None and ruling is not None and ruling.via == "hash_window":
        return 1.0, case.window.fact_id
    if case.exact:
        exact = ruling.matched if ruling is not None and ruling.matched in case.exact else case.exact[0]
        assert exact is not None
        return 1.0, exact.fact_id
    return (0.0, None) if case.best is None else (case.best[1], case.best[0])
