"""The decision rules: ordered, first match wins (DESIGN section 4).

`decide` takes a case (candidate, neighbours, policy, answers so far) and returns a value: a ruling, or what is needed first (a
judge's answer, or a look at past facts). It does no IO and reads no clock, so that the same case is always decided alike. The
table in ARCHITECTURE.md is generated from `RULES`.
"""

from collections.abc import Callable
from typing import Final

from factsieve.core import guard, memo, timeline
from factsieve.core.case import Ask, Case, LookBack, Ruling, Step, first_stated
from factsieve.core.decision import Band
from factsieve.core.facts import Kind
from factsieve.core.ruling import (
    judged,
    place_in,
    question_about,
    rivals_of,
    ruled,
    says_the_same,
    skip_or_place,
    stated_last,
)

ALL_KINDS: Final = frozenset(Kind)
RETIRE_OR_ADD: Final = frozenset({Kind.SUPERSEDE, Kind.ADD})
SKIP_OR_ADD: Final = frozenset({Kind.SKIP, Kind.ADD})


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
    return ruled(case, Kind.SKIP, "exact_duplicate", matched=fact, band=Band.EXACT, via="hash_window")


def exact_text(case: Case) -> Step | None:
    """Same text (NFC) and slot as a current fact, no relative time that resolves to another day: `skip`, `exact_duplicate`."""
    for fact in case.exact:
        if fact.conflicts_with and not (case.resolved and stated_last(case, fact)):
            continue
        if case.is_in_force(fact) and guard.resolves_same(case.candidate.text, case.at, first_stated(fact)):
            return ruled(case, Kind.SKIP, "exact_duplicate", matched=fact, band=Band.EXACT, via="text")
    return None


def reasserted(case: Case) -> Step | None:
    """Same text as a current fact, after another that may contradict it was stated: `add`, `reasserted`, with review."""
    for fact in case.exact:
        if not case.is_late(fact) and guard.resolves_same(case.candidate.text, case.at, first_stated(fact)):
            rivals = tuple(f.fact_id for f in rivals_of(case, fact) if f.last_stated_at > fact.last_stated_at)
            return ruled(case, Kind.ADD, "reasserted", matched=fact, review="conflict", conflicts=rivals)
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
        if row.valid_from <= case.at < row.valid_to and says_the_same(case, scored):
            return ruled(case, Kind.SKIP, "late_repeat", matched=row, placement=timeline.Repeat(row))
    return None


def late_in_slot(case: Case) -> Step | None:
    """Late, of a slot that has a timeline: placed in it, as history (`add`, `late_history`) or as a repeat (`skip`)."""
    if case.past is None or case.candidate.slot is None:
        return None
    heads = [scored.fact for scored in case.current if case.same_slot(scored.fact)]
    late_heads = [fact for fact in heads if case.is_late(fact)]
    if not late_heads:
        return None
    return place_in(case, max(late_heads, key=lambda fact: (fact.valid_from, fact.fact_id)))


def late_exact(case: Case) -> Step | None:
    """Late, same text as a current fact: placed in that fact's timeline."""
    for fact in case.exact:
        if (
            case.past is not None
            and case.at < fact.valid_from
            and guard.resolves_same(case.candidate.text, case.at, fact.valid_from)
        ):
            return place_in(case, fact)
    return None


def cold_start(case: Case) -> Step | None:
    """No current fact in the namespace: `add`, `cold_start`."""
    return ruled(case, Kind.ADD, "cold_start") if case.best is None and not case.current else None


def known(case: Case) -> Step | None:
    """Best similarity >= skip, guard clear, no contradiction seen by a local NLI model: `skip`, `similar`, without an LLM call."""
    if not case.trusted and case.policy.skip_guard != "off":
        return None
    for scored in case.relevant:
        if scored.similarity < case.policy.skip_threshold:
            break
        if case.policy.skip_guard == "off":
            return skip_or_place(case, scored.fact, "similar")
        if not case.compare(scored.fact).clear:
            continue
        if not case.confirms_skips:
            return skip_or_place(case, scored.fact, "similar")
        answer = case.answer(confirm=True)
        if answer is None:
            return Ask(question_about(case, (scored,), SKIP_OR_ADD, confirm=True), (scored,), local_only=True)
        if answer.verdict.choice is Kind.SKIP:
            return skip_or_place(case, scored.fact, "similar")
        return None
    return None


def asked(case: Case) -> Step | None:
    """A neighbour >= ambiguous: the judge chooses among all five; >= supersede, by slot or by second look: `supersede` or `add`."""
    if not case.relevant:
        return None
    answer = case.answer(confirm=False)
    if answer is not None:
        return judged(case, answer)
    wide = case.relevant[0].similarity >= case.policy.ambiguous_threshold
    local_only = case.policy.skip_guard == "local" and case.relevant[0].similarity >= case.policy.skip_threshold
    facts = case.questioned
    return Ask(question_about(case, facts, ALL_KINDS if wide else RETIRE_OR_ADD), facts, local_only)


def below(case: Case) -> Step | None:
    """Nothing near enough: `add`, `new`."""
    return ruled(case, Kind.ADD, "new")


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
