"""What a candidate is to a stored statement. First rule that speaks wins; in doubt both stand."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from factsieve.core.guard import Comparison
from factsieve.core.guard.language import detect
from factsieve.core.guard.textnorm import fold, normalise
from factsieve.core.relation import mood
from factsieve.core.relation.align import is_time, items_of
from factsieve.core.relation.changes import STILL_SAYS, ends_state, explicit_change, has_change_words, strip_correction
from factsieve.core.relation.foreign import relate_foreign
from factsieve.core.relation.frames import OTHER_AGENT, relate_frames
from factsieve.core.relation.labelled import relate_labelled
from factsieve.core.relation.order import ORDER_REASONS
from factsieve.core.relation.parse import parse
from factsieve.core.relation.reading import NliScores, Reading, Relation
from factsieve.core.relation.value import BOTH_ADD, UNKNOWN_VALUE
from factsieve.core.relation.words import UNIT_WORDS

SURE: Final = 0.8
"""From this sureness on a `replaces` may retire."""
CLOSE: Final = 0.7
"""From this share of aligned words on two statements may say the same in words that no rule knows."""
APART: Final = 0.5
"""Below this share of aligned words two statements have little to do with each other, whatever their frame."""
LITTLE: Final = 0.4
"""Below this share of aligned words a denial in one text is of something else."""
ALIKE: Final = 0.78
"""Of texts less similar than this a denial is of something else below `APART` already."""
UNPROVEN: Final = "not the same, and nothing shows that one puts the other out of force"
SURE_FORM: Final = 0.88
"""From this sureness on a reading rests on the form of the texts, which no model's score outweighs."""
NLI_LOUD: Final = 0.993
QUESTION: Final = "a question, condition or guess puts nothing out of force"
PLAN: Final = "a plan puts nothing out of force"
_DENIALS: Final = frozenset(("negation", "antonym"))
_MEASURES: Final = frozenset(("unit", "currency", "time"))
NLI_VETO: Final = 0.92
"""A contradiction score from which two texts are not taken for one statement."""
NLI_CALM: Final = 0.5
"""A contradiction score below which a model sees none."""


def relate(
    candidate_text: str,
    candidate_at: datetime,
    stored_text: str,
    stored_at: datetime,
    similarity: float,
    same_slot: bool,
    comparison: Comparison,
    nli: NliScores | None = None,
) -> Reading:
    """Return what a candidate is to a stored statement. Never raises; the same arguments give the same reading."""
    alike = fold(normalise(candidate_text)) == fold(normalise(stored_text))
    if alike and (comparison.clear or candidate_text == stored_text):  # case can carry meaning: 20 MB, 20 Mb
        if any(finding.kind == "relative_time" for finding in comparison.findings):
            return Reading(Relation.BOTH_STAND, 0.95, "the same words, said of another day")
        return Reading(Relation.SAME, 1.0, "the same words")
    tone = _tone(candidate_text, stored_text, comparison)
    if tone is not None:
        return _doubt(tone, comparison, similarity)
    if same_slot:
        return _same_slot(comparison)
    reading = _content(candidate_text, stored_text, similarity, comparison)
    if reading.relation in (Relation.SAME, Relation.COVERED) and not comparison.clear:
        reading = Reading(Relation.BOTH_STAND, 0.5, "says nearly the same, and the guard objects")
    if nli is not None and _is_reworded(reading, similarity, comparison, nli):
        return Reading(Relation.SAME, 0.78, "one word is another, and the NLI model sees no contradiction in it")
    return _weigh(_turn(_doubt(reading, comparison, similarity), candidate_text, stored_text), nli)


def _is_reworded(reading: Reading, similarity: float, comparison: Comparison, nli: NliScores) -> bool:
    """Return whether three witnesses agree that one word for another is only wording: no rule objects, vector and model see no difference.

    Never where a number, name or denial differs, or where the candidate brings in something: only a substitution can be waved through.
    """
    if reading.relation not in (Relation.BOTH_STAND, Relation.UNRELATED, Relation.CONFLICTS):
        return False
    if reading.sureness >= NOT_KNOWN or similarity < HARDLY_APART or nli.stronger > NLI_NEUTRAL:
        return False
    if comparison.novelty or [f.kind for f in comparison.findings] != ["substitution"] or comparison.aligned < APART:
        return False
    if nli.entailed is not None and min(nli.entailed, nli.entails or 0.0) < NLI_CALM:
        return False
    swapped = comparison.findings[0]
    return all(0 < len(side.split()) <= _FEW_WORDS for side in (swapped.ours, swapped.theirs))


NOT_KNOWN: Final = 0.6
"""Below this sureness a reading says that no rule told anything."""
HARDLY_APART: Final = 0.95
NLI_NEUTRAL: Final = 0.7
"""Up to this score a model of two answers sees no contradiction: of 714 contradictions of the training sets that look alike 1 has less."""
_FEW_WORDS: Final = 2


def _tone(candidate: str, stored: str, comparison: Comparison) -> Reading | None:
    """Return a reading where one of both asks, guesses or plans: nothing firm is retired by it."""
    ours, theirs = mood.weight(candidate), mood.weight(stored)
    if ours <= 1 and ours <= theirs:
        if comparison.clear and not comparison.missing and ours == theirs:
            return Reading(Relation.SAME, 0.8, "asks or guesses the same")
        return Reading(Relation.BOTH_STAND, 0.9, QUESTION)
    if ours == 2 and theirs == 3:
        return Reading(Relation.BOTH_STAND, 0.85, PLAN)
    if theirs < ours and theirs == 1:
        only = {f.kind for f in comparison.findings} <= {"hedge", "modality", "tense", "question", "novelty"} and bool(
            comparison.findings
        )
        if only and not comparison.missing and comparison.aligned >= 0.8:
            return Reading(Relation.REFINES, 0.8, "states what was a guess")
        return Reading(Relation.BOTH_STAND, 0.76, "a guess and a statement")
    if theirs == 0:
        return Reading(Relation.BOTH_STAND, 0.9, "a question was stored")
    return None


def _same_slot(comparison: Comparison) -> Reading:
    """Return the reading of two statements of one slot: a slot has one value at a time."""
    if comparison.clear:
        if comparison.missing:
            return Reading(Relation.COVERED, 0.9, "the slot's fact says it already, and more")
        return Reading(Relation.SAME, 0.9, "the slot's fact says it already")
    if not comparison.findings and not comparison.missing:
        return Reading(Relation.REFINES, 0.9, "says all of the slot's fact, and more")
    return Reading(Relation.REPLACES, 0.95, "another value of the same slot")


def _content(candidate: str, stored: str, similarity: float, comparison: Comparison) -> Reading:
    labelled = relate_labelled(candidate, stored, comparison.clear and not comparison.missing)
    if labelled is not None:
        return labelled
    text, corrected = strip_correction(candidate)
    english = detect(normalise(text)) == "en" and detect(normalise(stored)) == "en"
    framed = relate_frames(parse(text), parse(stored)) if english else None
    if framed is not None and framed.reason in ORDER_REASONS:
        return framed  # the same words in another order: no bag of words tells it
    if framed is not None and framed.reason == OTHER_AGENT and (comparison.missing or not comparison.clear):
        return framed
    change = explicit_change(text, stored) if english else None
    if comparison.clear and comparison.judgeable and (change is None or not change.whole):
        if framed is not None and framed.relation is Relation.REPLACES and _brings_words(candidate, stored):
            return Reading(Relation.CONFLICTS, 0.5, "looks like another value, in words that may mean the same")
        return _clear(candidate, stored, similarity, comparison)
    if not english:
        return relate_foreign(text, stored, comparison)
    if change is not None and change.reason == STILL_SAYS:
        return Reading(Relation.REFINES, 0.7, change.reason)
    if change is not None:
        return (
            Reading(Relation.REPLACES, 0.9, change.reason)
            if change.whole
            else Reading(Relation.CONFLICTS, 0.6, change.reason)
        )
    if framed is not None:
        return _checked(framed, corrected, comparison)
    if ends_state(parse(text), parse(stored)):
        return Reading(Relation.REPLACES, 0.83, "tells what ended the stored state")
    return _unframed(candidate, stored, similarity, comparison)


def _brings_words(candidate: str, stored: str) -> bool:
    """Return whether a candidate has content words, no numbers or times, that the stored text lacks."""
    known = {i.key for i in items_of(parse(stored))}
    fresh = [i for i in items_of(parse(candidate)) if i.key not in known]
    return any(not i.token.number and not is_time((i,)) and i.key not in UNIT_WORDS for i in fresh)


def _clear(candidate: str, stored: str, similarity: float, comparison: Comparison) -> Reading:
    """Return the reading where the guard has nothing against a skip: surest where the very words are the same."""
    ours = [i.key for i in items_of(parse(candidate))]
    theirs = [i.key for i in items_of(parse(stored))]
    if not comparison.missing:
        sureness = 0.9 if sorted(ours) == sorted(theirs) else 0.7
        return Reading(Relation.SAME, sureness, "says the same in other words")
    in_order = _in_order(candidate, stored)
    apart = comparison.aligned < APART or (comparison.aligned < CLOSE and similarity < 0.83)
    if apart and not in_order:
        return Reading(Relation.BOTH_STAND, 0.76, "about the same things, not the same statement")
    return Reading(Relation.COVERED, 0.85 if in_order else 0.6, "the stored fact says it already, and more")


def _checked(framed: Reading, corrected: bool, comparison: Comparison) -> Reading:
    """Return the reading by form, as far as the guard's findings do not speak against it."""
    kinds = {f.kind for f in comparison.findings}
    if framed.relation is Relation.CONFLICTS:
        if corrected:
            return Reading(Relation.REPLACES, 0.85, "corrects what is stored")
        if comparison.aligned < (CLOSE if framed.reason == BOTH_ADD else APART):
            return Reading(Relation.BOTH_STAND, 0.8, "the same beginning, about something else")
        measured = framed.reason == UNKNOWN_VALUE and bool(kinds) and kinds <= _MEASURES
        if measured and not comparison.novelty and not comparison.missing:
            return Reading(Relation.REPLACES, 0.85, "another unit or time zone of the same amount")
    if framed.relation is Relation.BOTH_STAND and comparison.aligned < CLOSE:
        return Reading(Relation.BOTH_STAND, max(framed.sureness, 0.76), framed.reason)
    if framed.relation in (Relation.REFINES, Relation.COVERED) and kinds - {"number", "quantifier"}:
        return Reading(Relation.CONFLICTS, 0.4, "says nearly the same, but not quite")
    if framed.relation is Relation.REPLACES and not kinds:
        return Reading(Relation.BOTH_STAND, 0.4, "nothing in it excludes what is stored")
    return framed


def _unframed(candidate: str, stored: str, similarity: float, comparison: Comparison) -> Reading:
    if not comparison.findings and not comparison.missing and _in_order(stored, candidate):
        return Reading(Relation.REFINES, 0.75, "says all of it and adds to it")
    if comparison.conflict and comparison.same_subject and comparison.aligned >= CLOSE:
        return Reading(Relation.CONFLICTS, 0.4, "may exclude what is stored")
    # measured on real conversation facts: of those this far apart 3 in 100 were repeats, of the nearer ones 1 in 8
    far = comparison.aligned < CLOSE - 0.1 and similarity < 0.83
    sureness = 0.85 if far else 0.76 if comparison.aligned < APART and similarity < 0.88 else 0.5
    if not comparison.same_subject:
        other = 0.5 if similarity >= 0.95 or (similarity >= CLOSELY and _same_names(candidate, stored)) else 0.76
        if other < sureness < SURE_FORM and similarity >= CLOSELY:
            sureness = other
        return Reading(Relation.UNRELATED, max(sureness, other), "about something else")
    return Reading(Relation.BOTH_STAND, sureness, UNPROVEN)


CLOSELY: Final = 0.81
"""From this similarity on two short statements about the same two names may say one thing about them."""


def _same_names(candidate: str, stored: str) -> bool:
    """Return whether two short statements speak of the same two or more names, and of no other."""
    ours, theirs = items_of(parse(candidate)), items_of(parse(stored))
    if max(len(ours), len(theirs)) > _SHORT:
        return False
    names = {i.key for i in ours if i.token.name}
    return len(names) > 1 and names == {i.key for i in theirs if i.token.name}


_SHORT: Final = 7


def _in_order(part: str, whole: str) -> bool:
    """Return whether all content words of one text stand in another, in order."""
    rest = iter(i.key for i in items_of(parse(whole)))
    return all(i.key in rest for i in items_of(parse(part)))


def _doubt(reading: Reading, comparison: Comparison, similarity: float) -> Reading:
    """Return the reading, less sure of two standing side by side where the texts are close or one seems to deny the other."""
    if reading.relation not in (Relation.BOTH_STAND, Relation.UNRELATED):
        return reading
    denied = (
        reading.sureness < SURE_FORM
        and comparison.aligned >= (LITTLE if similarity >= ALIKE else APART)
        and any(f.kind in _DENIALS for f in comparison.findings)
    )
    firm = reading.reason in (QUESTION, PLAN)
    if denied or (firm and comparison.aligned >= CLOSE):
        return Reading(reading.relation, min(reading.sureness, 0.5), reading.reason)
    return reading


def _turn(reading: Reading, candidate: str, stored: str) -> Reading:
    """Return the reading, less sure of two standing side by side where the candidate speaks of a change, or outdoes a stored superlative.

    What a change puts out of force need not be said in the stored statement's words, and no rule here reads further than words.
    """
    if reading.relation not in (Relation.BOTH_STAND, Relation.UNRELATED) or reading.sureness >= SURE_FORM:
        return reading
    if has_change_words(candidate) or _outdoes(candidate, stored):
        return Reading(reading.relation, min(reading.sureness, 0.5), reading.reason)
    return reading


def _outdoes(candidate: str, stored: str) -> bool:
    """Return whether the candidate compares two things and the stored statement puts one above all."""
    low = candidate.lower()
    return "than" in low and bool(_MORE_THAN.search(low) and _MOST.search(stored.lower()))


_MORE_THAN: Final = re.compile(r"\b(?:more|less|fewer|\w{2,}er)\b[^.]*\bthan\b")
_MOST: Final = re.compile(r"\b(?:most|least|best|worst|\w{2,}est)\b")


def _weigh(reading: Reading, nli: NliScores | None) -> Reading:
    """Return the reading with an NLI model's opinion counted in."""
    if nli is None:
        return reading
    if reading.relation in (Relation.SAME, Relation.COVERED) and nli.stronger >= NLI_VETO:
        return Reading(Relation.CONFLICTS, 0.5, "the NLI model sees a contradiction")
    unproven = reading.relation in (Relation.BOTH_STAND, Relation.UNRELATED) and reading.sureness < SURE_FORM
    if unproven and nli.weaker >= NLI_LOUD:
        return Reading(reading.relation, min(reading.sureness, 0.5), reading.reason)
    if reading.relation is Relation.REPLACES and nli.stronger < NLI_CALM:
        return Reading(Relation.CONFLICTS, 0.5, reading.reason + "; the NLI model sees no contradiction")
    return reading


__all__ = ["SURE", "relate"]
