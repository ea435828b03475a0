"""Which words stand where the other text has another one, which come and go, and what of it is mere wording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from factsieve.core.guard.align import Alignment
from factsieve.core.guard.model import Features, Finding, Word
from factsieve.core.guard.thesaurus import DENIALS, has_denial, tells_deed
from factsieve.core.guard.values import shared_values


def _content(words: tuple[Word, ...]) -> list[Word]:
    return [word for word in words if word.role in "nwcp"]


def _named(words: list[Word]) -> bool:
    """Return whether a name is among the words."""
    return "n" in [word.role for word in words]


def word_findings(
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
    shared = shared_values(candidate.values, stored.values)
    cost = 0.0
    unspaced = False
    in_signs = "c" in candidate.roles or "c" in stored.roles
    for gap in alignment.gaps():
        ours, theirs = _content(gap.ours), _content(gap.theirs)
        unspaced = unspaced or (in_signs and "c" in [word.role for word in (*ours, *theirs)])
        if gap.framed and gap.ours and gap.theirs and not (ours and theirs):
            ours, theirs = [w for w in gap.ours if w.role != "r"], [w for w in gap.theirs if w.role != "r"]
            if ours and theirs and not _tells_existence(ours, theirs, candidate, stored):
                light.append(Finding("substitution", _excerpt(ours), _excerpt(theirs)))
        elif gap.framed and ours and theirs:
            name = _named(ours) or _named(theirs)
            swapped.append(Finding("entity" if name else "substitution", _excerpt(ours), _excerpt(theirs)))
            cost += len(ours)
        elif gap.framed and ours:
            added.append(Finding("entity" if _named(ours) else "novelty", _excerpt(ours)))
            cost += len(ours) * (1 if len(alignment.pairs) + shared >= _ENOUGH else 2)
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
        added.append(Finding("entity" if _named(loose_ours) else "novelty", _excerpt(loose_ours)))
    if light and not signs and not shorter and not swapped and (len(light) == 1 or "c" in candidate.roles):
        swapped = light
    names = [f for f in swapped + added if f.kind == "entity"]
    if not signs and not shorter and cost and _unlike(candidate.small, stored.small) >= _SMALL:
        signs = _SIGNS
    if edited or (swapped and not signs) or _denies_in_a_word(alignment):
        return swapped, added, dropped  # a text that only lost words elsewhere was edited, not reworded
    deeds = [word for word in loose_ours if tells_deed(word.surface)]
    others = [word for word in loose_theirs if tells_deed(word.surface)]
    if deeds and others and len(alignment.pairs) < _FEW:  # another deed of the same things
        swapped.append(Finding("substitution", _excerpt(deeds), _excerpt(others)))
        return swapped, added, dropped
    if signs + shorter >= _SIGNS and not unspaced and cost <= _TOLERANCE * (_weight(alignment) + shared):
        return [f for f in names if f in swapped], [f for f in names if f in added], dropped
    return swapped, added, dropped


def _unlike(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return how many words only one side has, each as often as it has it more often. Both sides are short."""
    left = list(theirs)
    only_ours = 0
    for word in ours:
        if word in left:
            left.remove(word)
        else:
            only_ours += 1
    return only_ours + len(left)


def _denies_in_a_word(alignment: Alignment) -> bool:
    """Return whether in short texts an adjective that denies by its beginning has no match and both have open words: unpaid, settled."""
    if len(alignment.pairs) >= _FEW:
        return False
    if not alignment.open_ours or not alignment.open_theirs:
        return False
    words = [alignment.ours[i] for i in alignment.open_ours] + [alignment.theirs[j] for j in alignment.open_theirs]
    return any(word.surface.startswith(DENIALS) and word.role in "wp" and has_denial(word.surface) for word in words)


def _weight(alignment: Alignment) -> int:
    """Return how many matches speak for one statement; in short texts those of prepositions do not: `sent by Ida`, `paid by Ida`."""
    content = sum(alignment.ours[i].role != "r" for i, _ in alignment.pairs)
    return content if content < _SHORT else len(alignment.pairs)


_TOLERANCE = 0.34
_SIGNS = 1
_SMALL = 3
_LOOSE = 0.5
_FEW = 8
_SHORT = 6
_ENOUGH = 4
"""Where fewer words match, a word that only the candidate has is no mere wording."""


def _tells_existence(ours: list[Word], theirs: list[Word], candidate: Features, stored: Features) -> bool:
    """Return whether both say no more than that something is there. What is available exists; what does not exist is not available."""
    if len(ours) != 1 or len(theirs) != 1:
        return False
    one, other = ours[0], theirs[0]
    denied = any(key == one.key for _, key in candidate.negations)
    if denied != any(key == other.key for _, key in stored.negations):
        return False
    wide, narrow = (other, one) if denied else (one, other)
    return wide.surface in _EXISTS and narrow.surface in _AT_HAND


_EXISTS: Final = frozenset(("exist", "exists", "existing", "existed"))
_AT_HAND: Final = frozenset(("available", "present"))


def _excerpt(words: list[Word]) -> str:
    return " ".join(word.surface for word in words)[:80]


def shorter_answer(candidate: Features, stored: Features, alignment: Alignment) -> list[Finding]:
    """Find what is gone from the answer in `subject: answer`: a list that lost a member is another answer, not a shorter text."""
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


def only_counts(finding: Finding, candidate: Features, stored: Features, alignment: Alignment) -> bool:
    """Return whether a number only tells how many the stored fact names: `two persons`, `a man and a woman` or `a pair of kids`.

    A zero that denies what it counts is a negation, and compared as one.
    """
    value = next((v for v in candidate.values if v.excerpt == finding.ours and v.family == "number"), None)
    if value is not None and value.canonical == "0" and any(word == "zero" for word, _ in candidate.negations):
        return True
    if value is None or value.canonical not in _COUNTS:
        return False
    if value.canonical == str(_listed(candidate, stored, alignment)):
        return True
    if value.canonical == "2" and any(word.surface in _PAIRS for word in alignment.theirs):
        return True
    listed = Counter(word.group for word in alignment.theirs if word.role != "r")
    return any(str(listed[alignment.theirs[j].group]) == value.canonical for j in alignment.open_theirs)


def _listed(candidate: Features, stored: Features, alignment: Alignment) -> int:
    """Return how many words and identifiers a candidate lists behind its colon, 0 where the stored fact names others, or more of them."""
    behind = candidate.answer_at
    if behind < 0 or any(alignment.theirs[j].role in "nw" for j in alignment.open_theirs):
        return 0
    if any(index >= behind for index in alignment.open_ours):
        return 0
    ours = {v.canonical for v in candidate.values if v.family == "identifier" and v.position >= behind}
    named = {v.canonical for v in candidate.values if v.family == "identifier"}
    theirs = {v.canonical for v in stored.values if v.family == "identifier"}
    return len(ours) + len(candidate.words) - behind if ours <= theirs <= named else 0


_COUNTS: Final = frozenset("23456789")
_PAIRS: Final = frozenset(("pair", "couple", "duo"))
