"""Which language a short text is in, from its script and its small words: good enough to choose stemmer and word lists."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from factsieve.core.guard.lexicon import VOTES

_SCRIPTS: Final = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("ar", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORD: Final = re.compile(r"[^\W\d_]+")

JUDGED: Final = frozenset(
    ("en", "de", "es", "fr", "it", "pt", "nl", "pl", "tr", "ru", "ar", "he", "hi", "zh", "ja", "ko")
)
"""Languages whose negators are known."""


@lru_cache(maxsize=8192)
def detect(text: str) -> str:
    """Return the language code of normalised `text`; `en` where nothing speaks for another, `und` for a script without rules here."""
    if not text.isascii():
        latin = len(_LATIN.findall(text))
        best, most = "", 0
        for code, pattern in _SCRIPTS:
            count = len(pattern.findall(text))
            if count and code == "ja":
                count += len(_SCRIPTS[2][1].findall(text))
            if count > most:
                best, most = code, count
        others = len(_LETTER.findall(text)) - latin - most
        if others > max(latin, most):
            return "und"
        if most and most * 2 >= latin:
            return best
        if not latin:
            return "en"
    words = set(_WORD.findall(text.lower()))
    best, most = "en", len(words & VOTES["en"])
    for code, votes in VOTES.items():
        count = len(words & votes)
        if count > most:
            best, most = code, count
    return best
