"""`compare`: whether a candidate says the same as a stored fact, and if not, why."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Final

from factsieve.core.guard.align import Alignment
from factsieve.core.guard.edits import claims_more, edit_findings, local_edit
from factsieve.core.guard.marks import compare_marks
from factsieve.core.guard.model import Comparison, Features, Finding, Word
from factsieve.core.guard.order import order_finding
from factsieve.core.guard.reach import reach_findings
from factsieve.core.guard.values import compare_values

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
    if not (candidate.whole and stored.whole):
        findings.append(Finding("coverage", "" if candidate.whole else "too long", "" if stored.whole else "too long"))
    alignment = Alignment(candidate.words, stored.words)
    novelty = [finding for finding in novelty if not _counted(finding, candidate, alignment)]
    order = order_finding(candidate, stored, alignment)
    turned = bool(order) and _converse(candidate, stored, alignment)
    if not turned:
        findings += _polarity(candidate, stored, alignment)
        if order:
            findings.append(order)
    other_doer = turned or candidate.passive != stored.passive
    findings += [f for f in compare_marks(candidate, stored) if not (other_doer and {f.ours, f.theirs} <= _OWNERS)]
    edit = local_edit(candidate, stored)
    swapped, added, dropped = _words(alignment, candidate, stored, edited=edit is not None and edit.deliberate)
    findings += swapped + _shorter_answer(candidate, stored, alignment)
    if edit is not None:
        findings += edit_findings(edit, candidate, alignment)
    findings += claims_more(candidate, len(stored.negations), alignment)
    findings += reach_findings(candidate, stored, alignment, missing)
    novelty += added
    missing += dropped
    aligned = alignment.share()
    if (
        not findings
        and not novelty
        and aligned < _LEAST
        and not {v.canonical for v in candidate.values} & {v.canonical for v in stored.values}
    ):
        findings.append(Finding("coverage", candidate.folded[:80], stored.folded[:80]))
    conflict = tuple(f for f in findings if f.kind in _EXCLUSIVE) if not novelty else ()
    return Comparison(
        tuple(findings), tuple(novelty), tuple(missing), conflict, _same_subject(candidate, stored, alignment), aligned
    )


def _counted(finding: Finding, candidate: Features, alignment: Alignment) -> bool:
    """Return whether a number only tells how many the stored fact names: `two persons`, `a man and a woman`; `two kids`, `a pair of kids`."""
    value = next((v for v in candidate.values if v.excerpt == finding.ours and v.family == "number"), None)
    if value is None or value.canonical not in _COUNTS:
        return False
    if value.canonical == "2" and any(word.surface in _PAIRS for word in alignment.theirs):
        return True
    listed = Counter(word.group for word in alignment.theirs if word.role != "r")
    return any(str(listed[alignment.theirs[j].group]) == value.canonical for j in alignment.open_theirs)


_OWNERS: Final = frozenset(("his", "her"))
"""Whose they are follows from who stands first: `pushed by her father`, `pushes his daughter`."""
_COUNTS: Final = frozenset("23456")
_PAIRS: Final = frozenset(("pair", "couple", "duo"))

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


def _polarity(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Compare who denies what. `not open` and `closed` cancel each other: a negation that bears on one of two opposite words."""
    ours, theirs = len(candidate.negations), len(stored.negations)
    if ours != theirs and not alignment.opposites and _avoided(candidate, stored, alignment):
        return []
    if alignment.opposites:
        denied = {key for _, key in candidate.negations} if ours > theirs else {key for _, key in stored.negations}
        cancelled = [
            (i, j)
            for i, j in alignment.opposites
            if ours != theirs and (alignment.ours[i].key in denied or alignment.theirs[j].key in denied)
        ]
        if len(cancelled) == len(alignment.opposites) == abs(ours - theirs):
            return []
        return [
            Finding("antonym", alignment.ours[i].surface, alignment.theirs[j].surface) for i, j in alignment.opposites
        ]
    if ours == theirs:
        return _scope(candidate, stored, alignment) if ours else []
    if (
        ours
        and theirs
        and not _denied_elsewhere(candidate, stored, alignment)
        and not _denied_elsewhere(stored, candidate, alignment)
    ):
        return []
    return [Finding("negation", " ".join(n[0] for n in candidate.negations), " ".join(n[0] for n in stored.negations))]


def _avoided(candidate: Features, stored: Features, alignment: Alignment) -> bool:
    """Return whether all that one text denies more, the other avoids: `not copy`, `avoid copying`. What tells so is content of neither then."""
    ours, theirs = len(candidate.negations), len(stored.negations)
    here = ours < theirs
    fewer, more = (candidate, stored) if here else (stored, candidate)
    open_words = alignment.open_ours if here else alignment.open_theirs
    keys = {key for _, key in more.negations}
    avoiding = [
        index
        for index in open_words
        if fewer.words[index].surface in _AVOIDING and any(w.key in keys for w in fewer.words[index + 1 : index + 4])
    ]
    if len(avoiding) != abs(ours - theirs):
        return False
    for index in avoiding:
        open_words.remove(index)
    return True


_AVOIDING: Final = frozenset(
    (
        "avoid",
        "avoids",
        "avoided",
        "avoiding",
        "prevent",
        "prevents",
        "prevented",
        "preventing",
        "zero",
        "absent",
        "missing",
    )
)


def _shorter_answer(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Find what is gone from the answer in texts of the form `subject: answer`: a list that lost a member is another answer, not a shorter text."""
    if candidate.answer_at < 0 or stored.answer_at < 0 or len(stored.words) - stored.answer_at > _ANSWER:
        return []
    gone = [
        alignment.theirs[j]
        for j in alignment.open_theirs
        if j >= stored.answer_at and alignment.theirs[j].role in "nwcp"
    ]
    return [Finding("substitution", "", _excerpt(gone))] if gone else []


_ANSWER: Final = 10
"""What stands behind a colon and has more words is told, not listed."""


def _denied_elsewhere(one: Features, other: Features, alignment: Alignment) -> bool:
    """Return whether `one` denies a word that `other` states."""
    twins: dict[str, str] = {}
    for i, j in alignment.pairs:
        ours, theirs = alignment.ours[i].key, alignment.theirs[j].key
        twins[ours], twins[theirs] = theirs, ours
    denied_there = {key for _, key in other.negations}
    return any(
        not key or (key in twins and twins[key] not in denied_there and key not in denied_there)
        for _, key in one.negations
    )


def _scope(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Find a negation that bears on another of the shared words: `tea rather than coffee`, `coffee rather than tea`."""
    if alignment.share() < _SAME_WORDS:
        return []
    left = list(stored.negations)
    ours = [negation for negation in candidate.negations if not _take_denial(negation, left)]
    if not ours:
        return _moved_out_of(candidate, stored, alignment)
    if any(not key for _, key in (*ours, *left)):
        return []
    words, others = [word.key for word in candidate.words], [word.key for word in stored.words]
    for (our_word, our_key), (their_word, their_key) in zip(ours, left, strict=True):
        if our_key not in others or their_key not in words:
            continue
        if our_word == their_word and (_follows(their_key, our_key, words) or _follows(our_key, their_key, others)):
            continue  # `not in the formats of CSV`, `not in CSV`
        if {our_word, their_word} == {"no", "not"} and (words.index(our_key) < words.index(their_key)) != (
            others.index(our_key) < others.index(their_key)
        ):
            continue  # `no way is mentioned`, `does not mention any way`
        return [Finding("negation", f"{our_word} {our_key}", f"{their_word} {their_key}")]
    return []


def _moved_out_of(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Find a word that a contrast denies in one text only: `found in one pit, but rarely whole`, `found, but rarely whole or in one pit`."""
    denied = candidate.negations[0][1] if len(candidate.negations) == 1 else ""
    if not denied or not (_CONTRASTS & set(candidate.small) & set(stored.small)) or alignment.share() < 1:
        return []
    here, there = (next((i for i, w in enumerate(f.words) if w.key == denied), -1) for f in (candidate, stored))
    if here < 0 or there < 0:
        return []
    for i, j in alignment.pairs:
        if (i > here) != (j > there) and i and j and alignment.ours[i].role != "r":
            return [Finding("negation", alignment.ours[i].surface, alignment.ours[here].surface)]
    return []


_CONTRASTS: Final = frozenset(("but", "although", "though", "yet"))


def _take_denial(negation: tuple[str, str], left: list[tuple[str, str]]) -> bool:
    """Take out of `left` a negation of the same word."""
    for index, (_, key) in enumerate(left):
        if key == negation[1]:
            del left[index]
            return True
    return False


def _follows(key: str, before: str, words: list[str]) -> bool:
    """Return whether a word stands right behind another one."""
    return any(
        one == before and key in (other, *words[i + 2 : i + 3]) for i, (one, other) in enumerate(pairwise(words))
    )


_SAME_WORDS: Final = 0.9


def _content(words: tuple[Word, ...]) -> list[Word]:
    return [word for word in words if word.role in "nwcp"]


def _words(
    alignment: Alignment, candidate: Features, stored: Features, *, edited: bool
) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """Return words that stand where the other text has another one, words that only the candidate has, words that only the stored fact has.

    A text that equals the other but for one word was edited to say something else; a text that differs in many small ways was reworded.
    So a gap in an otherwise identical frame always counts, and gaps beside other signs of rewording count against a tolerance that grows
    with what aligns (`_TOLERANCE`, tuned on the training sets).
    """
    swapped: list[Finding] = []
    added: list[Finding] = []
    dropped: list[Finding] = []
    loose_ours: list[Word] = []
    loose_theirs: list[Word] = []
    signs = alignment.reworded + len(alignment.narrowed)
    shorter = 0
    light: list[Finding] = []
    shared = len({value.canonical for value in candidate.values} & {value.canonical for value in stored.values})
    cost = 0.0
    unspaced = False
    for gap in alignment.gaps():
        ours, theirs = _content(gap.ours), _content(gap.theirs)
        unspaced = unspaced or any(word.role == "c" for word in (*ours, *theirs))
        if gap.framed and gap.ours and gap.theirs and not (ours and theirs):
            ours, theirs = [w for w in gap.ours if w.role != "r"], [w for w in gap.theirs if w.role != "r"]
            if ours and theirs:
                light.append(Finding("substitution", _excerpt(ours), _excerpt(theirs)))
        elif gap.framed and ours and theirs:
            name = any(word.role == "n" for word in (*ours, *theirs))
            swapped.append(Finding("entity" if name else "substitution", _excerpt(ours), _excerpt(theirs)))
            cost += len(ours)
        elif gap.framed and ours:
            added.append(Finding("entity" if any(word.role == "n" for word in ours) else "novelty", _excerpt(ours)))
            cost += len(ours)
        elif gap.framed and theirs:
            dropped.append(Finding("novelty", "", _excerpt(theirs)))
            shorter += len(theirs)
        else:
            loose_ours += ours
            loose_theirs += theirs
    if loose_theirs:
        dropped.append(Finding("novelty", "", _excerpt(loose_theirs)))
    both = min(len(loose_ours), len(loose_theirs))
    signs += both
    cost += both * _LOOSE + (len(loose_ours) - both)
    if loose_ours:
        added.append(
            Finding("entity" if any(word.role == "n" for word in loose_ours) else "novelty", _excerpt(loose_ours))
        )
    if (
        light
        and not signs
        and not shorter
        and not swapped
        and (len(light) == 1 or any(word.role == "c" for word in alignment.ours))
    ):
        swapped = light
    names = [f for f in swapped + added if f.kind == "entity"]
    if (
        not signs
        and not shorter
        and cost
        and sum(((one := Counter(candidate.small)) - (other := Counter(stored.small)) + (other - one)).values())
        >= _SMALL
    ):
        signs = _SIGNS
    if edited or (swapped and not signs):
        return swapped, added, dropped  # a text that only lost words elsewhere was edited, not reworded
    if signs + shorter >= _SIGNS and not unspaced and cost <= _TOLERANCE * (len(alignment.pairs) + shared):
        return [f for f in names if f in swapped], [f for f in names if f in added], dropped
    return swapped, added, dropped


_TOLERANCE = 0.34
_SIGNS = 1
_SMALL = 3
_LOOSE = 0.5


def _excerpt(words: list[Word]) -> str:
    return " ".join(word.surface for word in words)[:80]


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
