"""Modality, quantity, tense, questions and conditions of two texts set against each other."""

from __future__ import annotations

from typing import Final

from factsieve.core.guard.model import Features, Finding

_OBLIGED: Final = frozenset(("must", "should"))
_FREE: Final = frozenset(("may", "can", "could"))
_UNSURE: Final = frozenset(("might", "probable"))
_PLANNED: Final = frozenset(("plan", "hope", "want"))
_AHEAD: Final = frozenset(("future", *_PLANNED, *_UNSURE))
_BOUNDS: Final = frozenset(("at_least", "at_most", "more_than", "less_than"))
_PARTS: Final = frozenset(("some", "most", "few", "half", "many"))


def _texts(ours: dict[str, str], theirs: dict[str, str]) -> tuple[str, str]:
    return " ".join(t for v, t in sorted(ours.items()) if v not in theirs), " ".join(
        t for v, t in sorted(theirs.items()) if v not in ours
    )


def compare_marks(candidate: Features, stored: Features) -> list[Finding]:
    """Return the differences in modality, quantity, tense, question and condition that change what is said."""
    if candidate.marks == stored.marks:
        return []
    findings: list[Finding] = []
    ours, theirs = candidate.marked, stored.marked
    for kind, differs in _RULES.items():
        if kind not in ours and kind not in theirs:
            continue
        a, b = ours.get(kind, {}), theirs.get(kind, {})
        if a.keys() != b.keys() and differs(frozenset(a), frozenset(b)):
            findings.append(Finding(kind, *_texts(a, b)))
    modal_a, modal_b = ours.get("modality", {}).keys(), theirs.get("modality", {}).keys()
    past_a, past_b = "past" in ours.get("tense", ()), "past" in theirs.get("tense", ())
    if (modal_a & _AHEAD and not modal_b & _AHEAD and past_b and not past_a) or (
        modal_b & _AHEAD and not modal_a & _AHEAD and past_a and not past_b
    ):
        findings.append(Finding("tense", *_texts(ours.get("modality", {}), theirs.get("modality", {}))))
    return findings


def _always(a: frozenset[str], b: frozenset[str]) -> bool:
    return a != b


def _quantifiers_differ(a: frozenset[str], b: frozenset[str]) -> bool:
    if (
        a & _BOUNDS != b & _BOUNDS
        or ("only" in a) != ("only" in b)
        or ("except" in a) != ("except" in b)
        or ("nearly" in a) != ("nearly" in b)
    ):
        return True
    parts_a, parts_b = a & _PARTS, b & _PARTS
    if ("all" in a and parts_b and "all" not in b) or ("all" in b and parts_a and "all" not in a):
        return True
    if parts_a and parts_b and parts_a != parts_b:
        return True
    if (parts_a ^ parts_b) & {"most", "few", "half"}:
        return True
    return ("always" in a and "sometimes" in b) or ("always" in b and "sometimes" in a)


def _modals_differ(a: frozenset[str], b: frozenset[str]) -> bool:
    for x, y in ((a, b), (b, a)):
        if x & _OBLIGED and y & _FREE and not y & (_OBLIGED | {"need"}) and not x & _FREE:
            return True
        if x & (_UNSURE | _PLANNED) and not y & (_UNSURE | _PLANNED | {"may", "future", "could"}):
            return True
        if "need" in x and "may" in y and not y & _OBLIGED and "may" not in x:
            return True
        if "should" in x and "must" in y and "must" not in x:
            return True
    return False


def _tenses_differ(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a and b and not a & b)


def _conditions_differ(a: frozenset[str], b: frozenset[str]) -> bool:
    """`when` may stand for `if`, but its coming and going alone says little."""
    if ("unless" in a) != ("unless" in b):
        return True
    return ("if" in a and not b & {"if", "when"}) or ("if" in b and not a & {"if", "when"})


def _persons_differ(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a - b) and bool(b - a)


_RULES: Final = {
    "question": _always,
    "hedge": _conditions_differ,
    "quantifier": _quantifiers_differ,
    "modality": _modals_differ,
    "tense": _tenses_differ,
    "entity": _persons_differ,
}
