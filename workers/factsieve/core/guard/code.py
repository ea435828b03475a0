"""Texts that are program code, markup or a query: there every sign counts, and so does its case."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from factsieve.core.guard.lexicon import FUNCTION

_SIGN: Final = re.compile(
    r"</?[a-z!?][^<>]*/?>|</?[a-z]\w*\s+\w+\s*=|;\s*\S*\s*(?:$|--|/\*)|;\w|[\w)\]'\"]\s*[{};]\s*$|\w--|--\s*\w*$|/\*|\*/|=>|->|&&|\|\||[=!<>]=|<\?|\?>|\$[{(]|\{\{|\}\}|\w::\w"
    r"|^\s*[\w.$]+\([^()]*\)\s*$|\w\(['\"]|\bon\w+\s*=\s*\S|\\x[0-9a-f]{2}|%[0-9a-f]{2}%|(?:\.\./){2}",
    re.IGNORECASE,
)
"""Signs that prose hardly has."""
_MAY_BE_CODE: Final = re.compile(r"[<>;{}=&|$(\\%*]|--|::|\.\./")
"""What each of these signs holds: a look at single characters spares most texts the search for all of them."""
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_MOST_PROSE: Final = 0.2
"""The share of small words from which on a text is taken for prose that quotes code."""
_SMALL_WORDS: Final = 5
"""So many small words are prose, however much code is quoted."""
_LEAST_SIGNS: Final = 0.05
"""The least share of signs among the characters of code."""
_LIMIT: Final = 600


def code_of(text: str, language: str) -> str:
    """Return the tokens of a normalised text that looks like code, exactly as written but for spacing; nothing for prose."""
    if _MAY_BE_CODE.search(text) is None or _SIGN.search(text) is None:
        return ""
    signs = sum(not (c.isalnum() or c.isspace()) for c in text)
    if signs < _LEAST_SIGNS * len(text):
        return ""
    words = _WORD.findall(text)
    function = FUNCTION.get(language, FUNCTION["en"])
    small = sum(word.lower() in function for word in words if not word.isupper())  # FROM, WHERE and IN are no prose
    if small >= _MOST_PROSE * max(len(words), 1) or small >= _SMALL_WORDS:
        return ""
    tokens = " ".join(_TOKEN.findall(text))
    if len(tokens) <= _LIMIT:
        return tokens
    return "sha256:" + hashlib.sha256(tokens.encode("utf-8", "surrogatepass")).hexdigest()
