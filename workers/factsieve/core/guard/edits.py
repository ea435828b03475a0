"""Two texts that are the same but for one place: what changed there is what the author wanted to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from factsieve.core.guard.align import Alignment
from factsieve.core.guard.lexicon import FUNCTION, REFERRING, RELATING, TURNING, WEAKENING
from factsieve.core.guard.model import Features, Finding, Word
from factsieve.core.guard.oneplace import common_ends
from factsieve.core.guard.stems import open_contraction
from factsieve.core.guard.thesaurus import says_the_same

_KEPT: Final = 0.6
"""The share of a text, of the longer one's words, that must stand unchanged around an edit."""
_MOST: Final = 8
"""Longer stretches that differ are rewording."""
_LONG: Final = 16
_NEARLY_ALL: Final = 0.75
_UNSURE: Final = frozenset(("might", "may", "could", "probable"))


class Edit(NamedTuple):
    """The words, in lower case, that stand in one place of the candidate and of the stored text, all others being the same."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    deliberate: bool
    """Whether the edit is small in a long text: nobody rewords so little of so much."""
    before: str = ""
    """The word right before the edit, the same in both texts; nothing at the beginning."""
    after: str = ""
    """The word right behind it, nothing at the end."""


def local_edit(candidate: Features, stored: Features) -> Edit | None:
    """Return the one place in which two texts differ, or nothing where they differ in several, or in too much."""
    if candidate.language != stored.language or candidate.folded.startswith("sha256:") or candidate.folded == "":
        return None
    ours, theirs = candidate.tokens, stored.tokens
    most = max(len(ours), len(theirs))
    if min(len(ours), len(theirs)) < _KEPT * most:
        return None
    head, tail = common_ends(candidate.agreeing, stored.agreeing)
    if head + tail < _KEPT * most or most - head - tail > _MOST:
        return None
    deliberate = most >= _LONG and head + tail >= _NEARLY_ALL * most
    before, after = ours[head - 1] if head else "", ours[-tail] if tail else ""
    return Edit(ours[head : len(ours) - tail], theirs[head : len(theirs) - tail], deliberate, before, after)


def edit_findings(edit: Edit, candidate: Features, alignment: Alignment) -> list[Finding]:
    """Return what an edit says that a comparison of the content words alone does not show.

    A comparand or a turning preposition that comes or goes; a preposition for one that puts things elsewhere;
    a name where the other text has a pronoun; a word that the text holds
    elsewhere too, but not here.
    """
    function = FUNCTION.get(candidate.language, frozenset())
    ours, theirs = _without_contrast(_opened(edit.ours)), _without_contrast(_opened(edit.theirs))
    excerpts = " ".join(edit.ours)[:80], " ".join(edit.theirs)[:80]
    content_ours = [word for word in ours if word not in function]
    content_theirs = [word for word in theirs if word not in function]
    for here, there in ((ours, theirs), (theirs, ours)):
        if any(word in TURNING and not any(says_the_same(word, other) for other in there) for word in here):
            return [Finding("direction", *excerpts)]
    if len(ours) == len(theirs) == 1 and _relates_otherwise(ours[0], theirs[0]):
        return [Finding("direction", *excerpts)]
    for here, there, content_here, content_there in (
        (ours, theirs, content_ours, content_theirs),
        (theirs, ours, content_theirs, content_ours),
    ):
        named = content_there and not content_here and REFERRING & set(here) and not REFERRING & set(there)
        if named and _is_subject(content_there, candidate):
            return []
        if named:
            return [Finding("entity", *excerpts)]
    again = [alignment.ours[index].surface for index in sorted(alignment.repeated_ours)]
    fresh = [word for word in again if word in content_ours and word not in theirs]
    if any(not any(says_the_same(word, other) for other in content_theirs) for word in fresh):
        return [Finding("substitution" if content_theirs else "novelty", *excerpts)]
    return []


def _relates_otherwise(one: str, other: str) -> bool:
    """Return whether two prepositions put a thing elsewhere: `during the flood`, `before the flood`."""
    return one in RELATING and other in RELATING and RELATING[one] != RELATING[other]


def _is_subject(named: list[str], text: Features) -> bool:
    """Return whether a text begins with just what is named: the one that a pronoun further on speaks of."""
    size = len(named)
    beginning = text.words[: size + 1]
    if [word.surface for word in beginning[:size]] != named:
        return False
    return len(beginning) == size or beginning[size].role != "n"


def _opened(words: tuple[str, ...]) -> list[str]:
    return [part for word in words for part in open_contraction(word)]


def _without_contrast(words: list[str]) -> list[str]:
    """Leave out `rather than`, which is no comparison but a negation, and compared as one."""
    return [
        word
        for index, word in enumerate(words)
        if not (word == "than" and index and words[index - 1] == "rather")
        and not (word == "rather" and words[index + 1 : index + 2] == ["than"])
    ]


def claims_more(candidate: Features, denied: int, alignment: Alignment) -> list[Finding]:
    """Return where a candidate says more by saying less.

    It lacks a word that weakened the next one (`facing extinction`, `low power`), or the thing of which the stored text names the
    owner only (`the leader's assassin`, `the leader`). `denied` is the number of denials in the stored text.
    """
    theirs = alignment.theirs
    telling = [j for j in alignment.open_theirs if theirs[j].surface in WEAKENING or (j and theirs[j - 1].owner)]
    if not telling:
        return []
    here = {word.surface for word in alignment.ours} & WEAKENING
    weakened = (
        bool(here - {word.surface for word in theirs})
        or len(candidate.negations) > denied
        or any(kind == "modality" and value in _UNSURE for kind, value, _ in candidate.marks)
    )
    open_theirs = set(alignment.open_theirs)
    twins = {j: alignment.ours[i] for i, j in alignment.pairs}
    found = []
    for j in telling:
        word, before = theirs[j], theirs[j - 1]
        following = twins.get(_next(theirs, j))
        if word.surface in WEAKENING and following is not None and not weakened:
            found.append(Finding("hedge", following.surface, f"{word.surface} {following.surface}"))
        elif j and before.owner and j - 1 not in open_theirs:
            twin = twins.get(j - 1)
            if twin is not None and not twin.owner:
                found.append(Finding("entity", twin.surface, f"{before.surface} {word.surface}"))
    return found


def _next(words: Sequence[Word], index: int) -> int:
    """Return the index of the next word that is no relation, -1 without one."""
    return next((j for j in range(index + 1, len(words)) if words[j].role != "r"), -1)
