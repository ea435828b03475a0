"""Small words that decide: of two texts that are the same but for one place, what it means that one of them stands there.

Such words carry little content and come and go in rewording, so that a comparison of content words passes over them. Where nothing else
differs, they are all that was said anew: `is always late`, `is often late`.
"""

from __future__ import annotations

from typing import Final

from factsieve.core.guard.edits import Edit
from factsieve.core.guard.lexicon import ATTITUDES, BE, FUNCTION, RELATING, WEAKENING, WISHING
from factsieve.core.guard.model import Features, Finding
from factsieve.core.guard.quantities import NUMBER_WORDS
from factsieve.core.guard.scales import SCALES
from factsieve.core.guard.stems import is_past_of

_VAGUE: Final = frozenset(("some", "several"))
_TWO: Final = frozenset(("two", "both"))
_EXCHANGED: Final = (frozenset(("and", "or")), frozenset(("odd", "even")))
_ADDING: Final = frozenset(
    (
        "more",
        "less",
        "too",
        "enough",
        "part",
        "sometimes",
        "occasionally",
        "always",
        "probably",
        "likely",
        "presumably",
        "possibly",
        "perhaps",
        "even",
    )
)
"""Words of degree, frequency or share that say more by standing beside what both texts say."""
_HAVING: Final = frozenset(("has", "have", "had", "got", "owns", "own", "possesses"))
_PER: Final = frozenset(("per", "a", "an", "each", "every", "apiece"))
_PERFECT: Final = frozenset(("has", "have", "had"))
_LASTING: Final = (" for ", " since ")
_DEGREE: Final = 2
_FEW_WORDS: Final = 4
"""In a longer stretch a small word is not what was exchanged."""


def small_findings(edit: Edit, candidate: Features, stored: Features) -> list[Finding]:
    """Return what the small words in the one place where two English texts differ change."""
    if candidate.language != "en":
        return []
    ours, theirs = frozenset(edit.ours), frozenset(edit.theirs)
    excerpts = " ".join(edit.ours)[:80], " ".join(edit.theirs)[:80]
    kind = (
        _graded(ours, theirs)
        or _modal(ours, theirs)
        or _joined(edit)
        or _possessed(ours, theirs)
        or _per_each(ours, theirs)
    )
    if kind:
        return [Finding(kind, *excerpts)]
    if len(edit.ours) == len(edit.theirs) == 1 and _other_form(edit):
        return [Finding("tense" if not _compared(edit.ours[0], edit.theirs[0]) else "quantifier", *excerpts)]
    if _adds(edit) or _every_other(edit) or _some_after_all(edit):
        return [Finding("quantifier", *excerpts)]
    if {*edit.ours, *edit.theirs} in _WHEN or _put_elsewhere(edit):
        return [Finding("direction", *excerpts)]
    if _thought(edit):
        return [Finding("hedge", *excerpts)]
    if ours ^ theirs <= _PERFECT and ours ^ theirs and any(word in candidate.folded for word in _LASTING):
        return [Finding("tense", *excerpts)]
    return []


def _graded(ours: frozenset[str], theirs: frozenset[str]) -> str:
    """Return the kind of the scale on which both sides name one grade, and not the same.

    A number covers `some`; `few` is `some` behind an `a`.
    """
    if max(len(ours), len(theirs)) > _FEW_WORDS:
        return ""
    ours, theirs = (side - {"few"} | {"some"} if {"a", "few"} <= side else side for side in (ours, theirs))
    if ours & _VAGUE and any(_is_number(word) or word in _TWO for word in theirs):
        return ""
    if _GRADED.isdisjoint(ours) or _GRADED.isdisjoint(theirs):
        return ""
    for kind, grades in SCALES:
        here = [grades[word] for word in ours if word in grades]
        there = [grades[word] for word in theirs if word in grades]
        if len(here) == len(there) == 1 and not here[0] & there[0]:
            if kind == "hedge" and max(len(ours), len(theirs)) > 1:
                continue
            numbered = kind == "unit" and any(_is_number(word) for word in ours | theirs)
            if not numbered:  # 60 seconds are a minute: amounts are compared as values
                return kind
    return ""


_GRADED: Final = frozenset(word for _, grades in SCALES for word in grades)
"""All words that name a grade on some scale."""


def _modal(ours: frozenset[str], theirs: frozenset[str]) -> str:
    """Return a kind where one text tells what is so and the other what could, would or should be."""
    if max(len(ours), len(theirs)) > _FEW_WORDS:
        return ""
    for here, there in ((ours, theirs), (theirs, ours)):
        if here & _UNREAL and there and not there & _MODAL:
            return "modality"
    return ""


_UNREAL: Final = frozenset(("could", "would", "should", "might"))
_MODAL: Final = frozenset(("can", "may", "must", "shall", "will", "ought", "need", "needs", "recommended", *_UNREAL))


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMBER_WORDS["en"] or word == "half"


def _joined(edit: Edit) -> str:
    """Return a kind where `and` stands for `or`, or what all are for what only some are: `everyone`, `members`."""
    if len(edit.ours) == len(edit.theirs) == 1:
        if frozenset((*edit.ours, *edit.theirs)) in _EXCHANGED:
            return "quantifier"
        for here, there in ((edit.ours[0], edit.theirs[0]), (edit.theirs[0], edit.ours[0])):
            if here in _UNIVERSAL and there not in _DETERMINING:
                return "quantifier"
    return ""


_UNIVERSAL: Final = frozenset(
    ("all", "each", "every", "everyone", "everybody", "everything", "anyone", "anybody", "anything")
)
_DETERMINING: Final = _UNIVERSAL | frozenset(
    (
        "the",
        "a",
        "an",
        "any",
        "this",
        "that",
        "these",
        "those",
        "both",
        "my",
        "our",
        "your",
        "his",
        "her",
        "its",
        "their",
        "per",
    )
)


def _possessed(ours: frozenset[str], theirs: frozenset[str]) -> str:
    """Return a kind where one has what one only wants in the other text, or wants no more."""
    for here, there in ((ours, theirs), (theirs, ours)):
        if here & _HAVING and there & WISHING and "to" not in there and not here & WISHING:
            return "modality"
    return ""


def _per_each(ours: frozenset[str], theirs: frozenset[str]) -> str:
    """Return a kind where an amount is one of each in one text only: `in total`, `per person`."""
    for here, there in ((ours, theirs), (theirs, ours)):
        if "per" in here and not there & _PER:
            return "unit"
    return ""


def _other_form(edit: Edit) -> bool:
    one, other = edit.ours[0], edit.theirs[0]
    if _compared(one, other):
        return True
    if edit.before in BE or edit.before in _PERFECT:  # a participle: opened, built
        return False
    return is_past_of(one, other) or is_past_of(other, one)


def _compared(one: str, other: str) -> bool:
    """Return whether one of two words is the other's comparative or superlative: fast, faster."""
    if any(one in degrees and other in degrees for degrees in _DEGREES):
        return True
    if {one[-2:], other[-3:]} == {"er", "est"} or {one[-3:], other[-2:]} == {"er", "est"}:
        return one.removesuffix("er").removesuffix("est") == other.removesuffix("er").removesuffix("est")
    plain, compared = sorted((one, other), key=len)
    for ending in ("er", "est"):
        stem = compared.removesuffix(ending)
        if stem != compared and len(stem) > _DEGREE:
            if plain in (stem, stem + "e") or (plain.endswith("y") and stem == plain[:-1] + "i"):
                return True
            if stem[-1] == stem[-2] and plain == stem[:-1]:
                return True
    return False


_DEGREES: Final = (
    frozenset(("good", "better", "best")),
    frozenset(("bad", "worse", "worst")),
    frozenset(("far", "farther", "further", "farthest", "furthest")),
    frozenset(("well", "better", "best")),
)


def _adds(edit: Edit) -> bool:
    """Return whether the candidate adds a word of degree, frequency or share to what it repeats."""
    ours = frozenset(edit.ours)
    if any(word not in FUNCTION["en"] for word in edit.theirs) or edit.theirs or ours & {"any", "no", "than"}:
        return False
    if ours & WEAKENING:
        return True
    if "too" in ours and not edit.after:  # `he likes it too`: also
        return False
    return len(edit.ours) <= _DEGREE and bool(ours & _ADDING)


def _some_after_all(edit: Edit) -> bool:
    """Return whether `little` became `a little`, or the other way round."""
    return (*edit.ours, *edit.theirs) == ("a",) and edit.after in ("few", "little")


_WHEN: Final = tuple(
    {at, put}
    for at in ("in", "on", "at", "with", "for", "every")
    for put in ("until", "till", "since", "before", "after")
)
"""At a time, and up to it or from it on."""


def _put_elsewhere(edit: Edit) -> bool:
    """Return whether a preposition that puts things elsewhere came or went: `is normal`, `is above normal`."""
    words = (*edit.ours, *edit.theirs)
    if {*words} == {"for", "in"} and _is_number(edit.after or "-"):  # `for two hours`, `in two hours`
        return True
    if len(words) == 2 and not (edit.ours and edit.theirs) and words[0] in ("and", "or"):  # `before and after`
        return words[1] in RELATING
    return len(words) == 1 and (words[0] in _APART or (words[0] == "over" and edit.after in ("half", "a")))


_APART: Final = frozenset(("above", "below", "under", "underneath", "beyond", "against", "near"))


def _thought(edit: Edit) -> bool:
    """Return whether the candidate states what somebody only thinks or hopes in the stored text."""
    return not edit.ours and not ATTITUDES.isdisjoint(edit.theirs)


def _every_other(edit: Edit) -> bool:
    """Return whether `every` day became `every other` one."""
    words = (*edit.ours, *edit.theirs)
    return edit.before == "every" and words == ("other",)
