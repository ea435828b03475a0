"""`compare`: whether a candidate says the same as a stored fact, and if not, why."""

from __future__ import annotations

from typing import Final

from factsieve.core.guard.align import Alignment
from factsieve.core.guard.edits import claims_more, edit_findings, local_edit
from factsieve.core.guard.marks import compare_marks
from factsieve.core.guard.model import Comparison, Features, Finding
from factsieve.core.guard.order import bearing_finding, held_in, order_finding
from factsieve.core.guard.phrasing import whole_findings
from factsieve.core.guard.polarity import polarity_findings
from factsieve.core.guard.reach import reach_findings
from factsieve.core.guard.smallwords import small_findings
from factsieve.core.guard.unlike import last_look
from factsieve.core.guard.values import compare_values, shared_values
from factsieve.core.guard.wording import only_counts, shorter_answer, word_findings

_EXCLUSIVE: Final = frozenset(
    [
        "antonym",
        "currency",
        "date",
        "direction",
        "entity",
        "identifier",
        "negation",
        "number",
        "quantifier",
        "relative_time",
        "role_order",
        "substitution",
        "symbol",
        "time",
        "unit",
        "version",
    ]
)


def compare(candidate: Features, stored: Features) -> Comparison:
    """Compare a candidate with a stored fact. See `Comparison` for what comes back; no error is raised for any features."""
    if candidate.code != stored.code:  # code is compared sign by sign, its case included
        ours, theirs = candidate.code or candidate.folded, stored.code or stored.folded
        return Comparison(findings=(Finding("symbol", ours[:80], theirs[:80]),))
    if candidate.code or (candidate.folded == stored.folded and candidate.values == stored.values):
        return Comparison(same_subject=True, aligned=1.0)
    if not (candidate.judgeable and stored.judgeable):
        return Comparison(findings=(Finding("unknown_language", candidate.language, stored.language),), judgeable=False)
    if not (candidate.words or candidate.values) or not (stored.words or stored.values):
        return Comparison(findings=(Finding("coverage", candidate.folded[:80], stored.folded[:80]),))
    findings, novelty, missing = compare_values(candidate.values, stored.values)
    findings = [finding for finding in findings if not _qualified(finding, candidate, stored)]
    if not (candidate.whole and stored.whole):
        findings.append(Finding("coverage", "" if candidate.whole else "too long", "" if stored.whole else "too long"))
    alignment = Alignment(candidate, stored)
    _join_dotted(candidate, stored, alignment)
    novelty = [finding for finding in novelty if not only_counts(finding, candidate, stored, alignment)]
    order = order_finding(candidate, stored, alignment)
    held = held_in(candidate, stored)
    bearing = bearing_finding(candidate, stored, alignment)
    if bearing is not None:
        findings.append(bearing)
    if held is False and order is None:
        order = Finding("role_order", candidate.folded[:80], stored.folded[:80])
    turned = bool(order) and (held is True or _converse(candidate, stored, alignment))
    if not turned:
        findings += polarity_findings(candidate, stored, alignment)
        if order:
            findings.append(order)
    other_doer = turned or candidate.passive != stored.passive
    findings += [f for f in compare_marks(candidate, stored) if not (other_doer and {f.ours, f.theirs} <= _OWNERS)]
    edit = local_edit(candidate, stored)
    swapped, added, dropped = word_findings(
        alignment, candidate, stored, edited=edit is not None and (edit.deliberate or not edit.theirs)
    )
    findings += swapped + shorter_answer(candidate, stored, alignment)
    if edit is not None:
        findings += edit_findings(edit, candidate, alignment)
        findings += small_findings(edit, candidate, stored)
    findings += claims_more(candidate, len(stored.negations), alignment)
    findings += reach_findings(candidate, stored, alignment, missing)
    novelty += added
    missing += dropped
    aligned = alignment.share()
    if not findings and not novelty and aligned < _LEAST and not shared_values(candidate.values, stored.values):
        findings.append(Finding("coverage", candidate.folded[:80], stored.folded[:80]))
    if not findings and not novelty:
        findings += whole_findings(candidate, stored)
    if not findings and not novelty:
        last = last_look(candidate, stored)
        findings += [last] if last is not None else []
    conflict = tuple(f for f in findings if f.kind in _EXCLUSIVE) if not novelty else ()
    return Comparison(
        tuple(findings), tuple(novelty), tuple(missing), conflict, _same_subject(candidate, stored, alignment), aligned
    )


def _qualified(finding: Finding, candidate: Features, stored: Features) -> bool:
    """Return whether one of two names is the other with the place that it is in, which the other text tells in words: `os.walk`, `walk` of `os`."""
    if finding.kind != "identifier":
        return False
    for long, short, text in ((finding.ours, finding.theirs, stored), (finding.theirs, finding.ours, candidate)):
        places = long.removesuffix("." + short).split(".") if long.endswith("." + short) else ()
        if places and {word.surface for word in text.words}.issuperset(places):
            return True
    return False


def _join_dotted(candidate: Features, stored: Features, alignment: Alignment) -> None:
    """Match the words of one text with a dotted name in the other that is made of just these: `the Metric of datasets`, `datasets.Metric`."""
    for text, other, open_words in (
        (candidate, stored, alignment.open_ours),
        (stored, candidate, alignment.open_theirs),
    ):
        if not open_words or "identifier" not in [v.family for v in other.values]:
            continue
        here = {word.surface for word in text.words} | {v.canonical for v in text.values if v.family == "identifier"}
        for value in other.values:
            parts = value.canonical.split(".")
            if value.family == "identifier" and 1 < len(parts) <= _PARTS and here.issuperset(parts):
                open_words[:] = [i for i in open_words if text.words[i].surface not in parts]


_PARTS: Final = 4
_OWNERS: Final = frozenset(("his", "her"))
"""Whose they are follows from who stands first: `pushed by her father`, `pushes his daughter`."""
_LEAST: Final = 0.34
"""Below this share of aligned words nothing speaks for one statement, whatever else was found."""


def _converse(candidate: Features, stored: Features, alignment: Alignment) -> bool:
    """Return whether the relation turned with the roles: `A leases from B`, `B leases to A`; `A is taller than B`, `B is shorter than A`."""
    if len(alignment.opposites) == 1:
        i, j = alignment.opposites[0]
        ours, theirs = alignment.ours[i].surface, alignment.theirs[j].surface
        return (ours.endswith("er") and theirs.endswith("er")) or (ours in _TURNING and theirs in _TURNING)
    ours_r = {word.surface for word in candidate.words if word.role == "r"}
    theirs_r = {word.surface for word in stored.words if word.role == "r"}
    return any(a in ours_r - theirs_r and b in theirs_r - ours_r for pair in _CONVERSES for a, b in (pair, pair[::-1]))


_CONVERSES: Final = (("from", "to"), ("before", "after"), ("above", "below"), ("over", "under"))
_TURNING: Final = frozenset(
    [
        "before",
        "after",
        "above",
        "below",
        "over",
        "under",
        "more",
        "less",
        "fewer",
        "buy",
        "buys",
        "bought",
        "sell",
        "sells",
        "sold",
        "lend",
        "lends",
        "lent",
        "borrow",
        "borrows",
        "borrowed",
        "teach",
        "learn",
        "parent",
        "child",
        "follow",
        "follows",
        "lead",
        "leads",
        "precede",
        "precedes",
    ]
)


def _same_subject(candidate: Features, stored: Features, alignment: Alignment) -> bool:
    """Return whether both speak of one attribute of one subject: most aligns, and what differs stands in the second half of both texts.

    Most statements name subject and attribute first and the value last; `Gate B4 is closed` and `Gate B14 is closed` speak of two gates.
    """
    if alignment.share() < _SUBJECT_SHARE:
        return False
    sides = ((candidate, stored, alignment.open_ours), (stored, candidate, alignment.open_theirs))
    for one, other, open_words in sides:
        half = len(one.words) / 2
        if any(index + 1 <= half and one.words[index].role in "nwp" for index in open_words):
            return False
        known = {value.canonical for value in other.values}
        early = [value for value in one.values if value.position + 1 <= half and value.canonical not in known]
        if any(value.family in ("identifier", "number", "version") for value in early):
            return False
    return True


_SUBJECT_SHARE: Final = 0.5
