"""Text to the form in which it is compared: nothing that carries meaning is lost, what carries none is made equal."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

_TABLE: Final[dict[int, str]] = {
    **dict.fromkeys(map(ord, "‘’‛ʼ＇´`ʹ׳"), "'"),
    **dict.fromkeys(map(ord, "“”„‟«»″〝〞״"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒−﹣－"), "-"),
    **dict.fromkeys(map(ord, "–—―"), " - "),
    **dict.fromkeys(
        map(
            ord,
            "\u00ad\u200b\u2060\ufeff\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u0640",
        ),
        "",
    ),
    **{ord(sup): "^" + unicodedata.normalize("NFKC", sup) for sup in "⁰¹²³⁴⁵⁶⁷⁸⁹"},
    ord("⁄"): "/",
    ord("×"): "x",
    **{
        code: unicodedata.normalize("NFKC", chr(code)).replace("⁄", "/").rjust(4)
        for code in (*range(0xBC, 0xBF), *range(0x2150, 0x215F))
    },
}
_BETWEEN_DIGITS: Final = re.compile(r"(?<=\d)[–—―](?=\d)")
_MARKS_DROPPED: Final = re.compile("[\u064b-\u065f\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")
_LONE: Final = re.compile("[\ud800-\udfff]")  # half a character: it cannot be stored as UTF-8
_DIGIT: Final = re.compile(r"[^\W\D0-9]")


@lru_cache(maxsize=8192)
def normalise(text: str) -> str:
    """Return `text` in compatibility form (NFKC) with plain quotes, dashes, digits and without invisible marks.

    Superscripts become `^2`, vulgar fractions `1/2`, digits of any script ASCII digits. Case stays.
    """
    if text.isascii():
        return text
    text = _LONE.sub("\ufffd", text)
    text = _BETWEEN_DIGITS.sub("-", text)
    text = unicodedata.normalize("NFKC", text.translate(_TABLE))
    text = _MARKS_DROPPED.sub("", text)
    return _DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Return normalised `text` in one case, with single spaces and without final punctuation: equal folds say the same."""
    folded = " ".join(text.casefold().split())
    return folded.rstrip(" .!。！．…")


def same_statement_text(a: str, b: str) -> bool:
    """Return whether two texts are canonically equal (NFC): the rule for exact repeats."""
    return a == b or unicodedata.normalize("NFC", a) == unicodedata.normalize("NFC", b)
