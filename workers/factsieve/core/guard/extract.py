"""`features`: all that a comparison needs to know about one text, computed once; and what the text says about time."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Final

from factsieve.core.guard.builder import Builder
from factsieve.core.guard.cjk import asian_marks, negation_count
from factsieve.core.guard.code import code_of
from factsieve.core.guard.language import JUDGED, detect
from factsieve.core.guard.model import FEATURES_VERSION, Features
from factsieve.core.guard.scan import scan
from factsieve.core.guard.textnorm import fold, normalise

MAX_TOKENS: Final = 800
"""A longer text is compared by its beginning and, besides, as a whole by its fold: bounded work for unbounded input."""
_QUESTION: Final = re.compile(r"[?？؟]\W*$")
_TAG: Final = re.compile(
    r",\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|am)(?:n't)?\s+(?:i|you|he|she|it|we|they|there)\s*\?\s*$",
    re.IGNORECASE,
)
"""`..., isn't it?` denies nothing and asks little."""
_ANSWER: Final = re.compile(r"\s*(?:yes|no|well|so|and|but)\s*,\s*", re.IGNORECASE)
_FOR_EXAMPLE: Final = re.compile(r"(^|[\s(])(?:e\.g\.|i\.e\.),?\s", re.IGNORECASE)
_BY: Final = frozenset(["by", "von", "par", "por", "da", "door", "przez"])


def _short(folded: str) -> str:
    """Return the fold itself, or its digest where it is long: only its equality is ever asked for then."""
    return (
        folded
        if len(folded) <= _FOLD_LIMIT
        else "sha256:" + hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()
    )


_FOLD_LIMIT: Final = 600


def features(text: str, occurred_at: datetime) -> Features:
    """Return the features of `text`, relative dates resolved against `occurred_at`.

    Pure: the same arguments give the same result. Any string is accepted; a text without words has none.
    """
    normal = normalise(text)
    language = detect(normal)
    said = normal
    if language == "en":
        said = _FOR_EXAMPLE.sub(r"\1such as ", normal) if normal.count(".") > 1 else normal
        said = _TAG.sub("?", said) if normal.rstrip().endswith("?") else said
        answer = _ANSWER.match(said)
        said = said if answer is None else said[answer.end() :]
    tokens = scan(said, language, MAX_TOKENS)
    builder = Builder(said, language, occurred_at.date(), tokens)
    builder.walk()
    negations = builder.negations
    if language in ("zh", "ja", "ko"):
        builder.marks.extend(asian_marks(normal, language))
        negations = [("not", "")] * negation_count(normal, language)
    if _QUESTION.search(normal):
        builder.marks.append(("question", "?", "?"))
    return Features(
        features_version=FEATURES_VERSION,
        language=language,
        judgeable=language in JUDGED,
        folded=_short(fold(normal)),
        words=tuple(builder.words),
        values=tuple(builder.values),
        negations=tuple(negations),
        marks=tuple(dict.fromkeys(builder.marks)),
        small=tuple(sorted(builder.small)),
        whole=len(tokens) < MAX_TOKENS,
        answer_at=builder.answer_at,
        code=code_of(normal, language),
        passive=builder.participle and not _BY.isdisjoint(builder.lowers),
    ).prepare()


def names_relative_time(text: str) -> bool:
    """Return whether `text` names a time that depends on when it is said: tomorrow, next Monday, two days ago."""
    return any(value.relative for value in features(text, _PROBE).values)


_PROBE: Final = datetime(2024, 5, 15, 12)


def resolves_same(text: str, at_a: datetime, at_b: datetime) -> bool:
    """Return whether the relative times in `text` mean the same days when it is said at `at_a` and at `at_b`. True if it has none."""
    if at_a.date() == at_b.date():
        return True
    first = [value.canonical for value in features(text, at_a).values if value.relative]
    return first == [value.canonical for value in features(text, at_b).values if value.relative]
