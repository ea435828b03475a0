"""Statements that state nothing for certain: questions, conditions, guesses, wishes, orders to the reader."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from factsieve.core.guard.textnorm import normalise

# The patterns read lower case: a search that passes over case takes two to three times as long.
_QUESTION: Final = re.compile(r"[?？؟]\s*[\"')\]]*\s*$")
_CONDITION: Final = re.compile(
    r"(?:^|[,;] )(?:if|unless|provided(?: that)?|assuming|suppose|supposing|should|in case|wenn|falls|si|se|если|أإذا)\s",
)
_GUESS: Final = re.compile(
    r"\b(?:might|maybe|perhaps|possibly|probably|presumably|apparently|allegedly|supposedly|reportedly|rumou?red|may have|may be|may soon|could be|could have|would be|would have|"
    r"seems?|appears? to|is likely|are likely|not sure|unsure|uncertain whether|i think|i believe|i guess|we think|we believe|considering|is thinking|are thinking|"
    r"thinks? (?:about|of)|wonders?|wondering|in theory|hypothetically|if only|"
    r"vielleicht|möglicherweise|eventuell|vermutlich|wahrscheinlich|quizás?|tal vez|probablemente|peut-être|probablement|sans doute|forse|probabilmente|talvez|provavelmente|"
    r"возможно|наверное|может быть|вероятно)\b",
)
_UNSPACED_GUESS: Final = re.compile(r"かもしれ|だろう|でしょう|おそらく|多分|たぶん|可能|也许|大概|或许|아마|일지도")
_WISH: Final = re.compile(
    r"\b(?:plans? (?:to|on)|planning (?:to|on)|intends? to|intending to|hopes? (?:to|for)|hoping to|wants? to|wishes to|would like to|would love to|aims? to|means to|going to|gonna|about to|dreams? of|"
    r"looking (?:to|forward)|expects? to|is due to|are due to|proposes? to|thinking of|tempted to|has yet to|have yet to|will)\b",
)
_ORDER: Final = re.compile(
    r"^(?:please\s+)?(?:ignore|disregard|forget|delete|remove|erase|retire|supersede|drop|skip|overwrite|reply|respond|answer|output|return|treat|pretend|act as)\b.*\b(?:instruction|fact|memor|statement|entr|record|everything|all|prompt|previous|earlier|above|skip|duplicate)",
    re.DOTALL,
)
_META: Final = re.compile(
    r"\b(?:note to (?:the )?(?:system|assistant|judge|model)|reply with|respond with|as an ai|system prompt|\"decision\"\s*:)",
)


def is_question(text: str) -> bool:
    """Return whether the statement asks."""
    return bool(_QUESTION.search(normalise(text)))


def is_unsure(text: str) -> bool:
    """Return whether the statement is a condition, a guess or an order to its reader: it retires nothing."""
    low = normalise(text).lower()
    return bool(
        _CONDITION.search(low)
        or _GUESS.search(low)
        or _UNSPACED_GUESS.search(low)
        or _ORDER.search(low)
        or _META.search(low)
    )


def is_wish(text: str) -> bool:
    """Return whether the statement is about a plan or a wish."""
    return bool(_WISH.search(normalise(text).lower()))


@lru_cache(maxsize=8192)
def weight(text: str) -> int:
    """Return how firmly something is stated: 0 asks, 1 guesses, 2 plans, 3 states."""
    if is_question(text):
        return 0
    if is_unsure(text):
        return 1
    return 2 if is_wish(text) else 3
