"""What differs between two short texts, word by word, for people to see.

Words are runs of letters, marks and digits of any script; scripts that put no spaces between words (Han, Kana, Thai, Lao, Khmer,
Myanmar) are compared character by character. Nothing is ever cut inside what is seen as one character: combining marks, variation
selectors, emoji joined by U+200D, skin tones and flags stay with their base.
"""

import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

import msgspec

MAX_COMPARED: Final = 800
"""Words on either side beyond which only what is common at the start and at the end is set apart."""

_UNSPACED: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x303F),  # radicals, CJK punctuation
    (0x3040, 0x30FF),  # Kana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_JOINER: Final = "\u200d"
_INNER: Final = ".,:'’·"
"""Between two letters or two digits they belong to the word: 8.5, 09:30, don't."""


class Piece(msgspec.Struct, frozen=True):
    """A stretch of a text. `differs`: it has no counterpart in the other one."""

    text: str
    differs: bool


def diff(one: str, other: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return the two texts as stretches; joined they are the texts again. Texts are the same where their NFC is."""
    ours, theirs = words_of(one), words_of(other)
    left, right = _differing(ours, theirs)
    return _pieces(ours, left), _pieces(theirs, right)


def words_of(text: str) -> list[str]:
    """Return a text cut into words, spaces and signs; joined they are the text again."""
    words: list[str] = []
    kinds: list[str] = []
    for cluster in _clusters(text):
        kind = _kind(cluster[0])
        if words and kind == kinds[-1] and kind in ("word", "space"):
            words[-1] += cluster
        else:
            words.append(cluster)
            kinds.append(kind)
    return _rejoined(words, kinds)


def _clusters(text: str) -> list[str]:
    """Return what is seen as single characters; a good part of Unicode's UAX 29, enough not to cut what belongs together."""
    clusters: list[str] = []
    for char in text:
        if clusters and _continues(clusters[-1], char):
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def _continues(before: str, char: str) -> bool:
    if unicodedata.category(char) in ("Mn", "Me", "Mc") or char == _JOINER or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    if before[-1] == _JOINER:
        return True
    is_flag = "\U0001f1e6" <= char <= "\U0001f1ff"
    return is_flag and len(before) == 1 and "\U0001f1e6" <= before <= "\U0001f1ff"


def _kind(char: str) -> str:
    if char.isspace():
        return "space"
    code = ord(char)
    if any(first <= code <= last for first, last in _UNSPACED):
        return "unspaced"
    return "word" if char == "_" or unicodedata.category(char)[0] in "LNM" else "sign"


def _rejoined(words: list[str], kinds: list[str]) -> list[str]:
    """Join words over a sign that stands inside them."""
    joined: list[str] = []
    skip = 0
    for place, word in enumerate(words):
        if skip:
            skip -= 1
            continue
        whole = word
        end = place
        while (
            kinds[end] == "word"
            and end + 2 < len(words)
            and words[end + 1] in _INNER
            and kinds[end + 2] == "word"
            and words[end][-1].isdigit() == words[end + 2][0].isdigit()
        ):
            whole += words[end + 1] + words[end + 2]
            end += 2
        skip = end - place
        joined.append(whole)
    return joined


def _differing(ours: Sequence[str], theirs: Sequence[str]) -> tuple[list[bool], list[bool]]:
    left_keys = [unicodedata.normalize("NFC", word) for word in ours]
    right_keys = [unicodedata.normalize("NFC", word) for word in theirs]
    left, right = [True] * len(ours), [True] * len(theirs)
    if max(len(ours), len(theirs)) > MAX_COMPARED:
        blocks = _ends(left_keys, right_keys)
    else:
        matcher = SequenceMatcher(None, left_keys, right_keys, autojunk=False)
        blocks = [(match.a, match.b, match.size) for match in matcher.get_matching_blocks()]
    for start, other, size in blocks:
        left[start : start + size] = [False] * size
        right[other : other + size] = [False] * size
    return left, right


def _ends(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return what two long texts have in common at their start and at their end."""
    least = min(len(left), len(right))
    head = next((place for place in range(least) if left[place] != right[place]), least)
    tail = next((n for n in range(least - head) if left[-1 - n] != right[-1 - n]), least - head)
    return [(0, 0, head), (len(left) - tail, len(right) - tail, tail)]


def _pieces(words: Sequence[str], differing: list[bool]) -> tuple[Piece, ...]:
    """Join neighbours of a kind; spaces between two words that differ go with them, others are left unmarked."""
    marks = list(differing)
    for place, word in enumerate(words):
        if word.isspace():
            before = place > 0 and differing[place - 1]
            after = place + 1 < len(words) and differing[place + 1]
            marks[place] = before and after
    pieces: list[Piece] = []
    for word, mark in zip(words, marks, strict=True):
        if pieces and pieces[-1].differs == mark:
            pieces[-1] = Piece(pieces[-1].text + word, mark)
        else:
            pieces.append(Piece(word, mark))
    return tuple(pieces)
