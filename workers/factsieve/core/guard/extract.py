"""`features`: all that a comparison needs to know about one text, computed once."""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from typing import Final

from factsieve.core.guard import days, relative
from factsieve.core.guard.cjk import FUNCTION_CHARACTERS, asian_marks, negation_count
from factsieve.core.guard.language import JUDGED, detect
from factsieve.core.guard.lexicon import (
    CONDITIONALS,
    FUNCTION,
    LIGHT,
    MODALS,
    NEGATIVE_VERBS,
    NEGATORS,
    PRONOUNS,
    QUANTIFIERS,
    RELATIONS,
)
from factsieve.core.guard.model import FEATURES_VERSION, Features, Value, Word
from factsieve.core.guard.patterns import PHRASES_BY_FIRST_WORD
from factsieve.core.guard.quantities import (
    CURRENCIES,
    MULTIPLIERS,
    NUMBER_WORDS,
    ORDINALS,
    SCALES,
    SPELLED_SCALES,
    plain,
    unit,
)
from factsieve.core.guard.scan import Token, scan
from factsieve.core.guard.stems import PARTICIPLES, open_contraction, stem
from factsieve.core.guard.textnorm import fold, normalise
from factsieve.core.guard.thesaurus import normal_form

_QUESTION: Final = re.compile(r"[?？؟]\W*$")
_LIST_GLUE: Final = frozenset(
    (
        ",",
        "and",
        "or",
        "und",
        "oder",
        "y",
        "et",
        "ou",
        "e",
        "и",
        "или",
        "en",
        "of",
        "&",
        ", and",
        ",and",
        ", or",
        "、",
        "和",
        "と",
    )
)
_CONNECTIVES: Final = frozenset(("and", "or", "und", "oder", "y", "et", "ou", "e", "и", "или", "with"))
_NUMBER_GLUE: Final = frozenset(("and", "-"))
_WAS: Final = frozenset(
    (
        "was",
        "were",
        "used",
        "formerly",
        "previously",
        "former",
        "war",
        "waren",
        "era",
        "fue",
        "était",
        "был",
        "была",
        "были",
        "было",
    )
)
_IS: Final = frozenset(("is", "are", "am", "currently", "now", "ist", "sind", "es", "est", "è", "é"))
_HAS: Final = frozenset(("has", "have", "had", "hat", "haben", "ha", "a", "been"))
MAX_TOKENS: Final = 800
"""A longer text is compared by its beginning and, besides, as a whole by its fold: bounded work for unbounded input."""


class _Builder:
    """Collects the features of one text while its tokens go by."""

    def __init__(self, text: str, language: str, at: date, tokens: list[Token]) -> None:
        self.text = text
        self.language = language
        self.at = at
        self.tokens = tokens
        self.lowers = [token.text.lower() if token.kind == "word" else "" for token in tokens]
        self.words: list[Word] = []
        self.values: list[Value] = []
        self.pending: list[str] = []
        self.negations: list[tuple[str, str]] = []
        self.marks: list[tuple[str, str, str]] = []
        self.function = FUNCTION.get(language, frozenset())
        own = NEGATORS.get(language, frozenset())
        self.negators = own | NEGATORS["any"]
        self.shouting = not any(map(str.islower, text))
        self.numbers = NUMBER_WORDS.get(language, NUMBER_WORDS["en"])
        self.conditionals = CONDITIONALS.get(language, _NO_WORDS)
        self.group = 0
        self.glue: list[str] = []
        self.after_be = 0
        self.small: list[str] = []
        self.answer_at = -1
        self.colon = text.rfind(": ")

    def walk(self) -> None:
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if 0 <= self.colon < token.start and self.answer_at < 0:
                self.answer_at = len(self.words)
            if token.kind == "value":
                index += self._written_value(index, token)
            elif token.kind == "symbol":
                self._add_value("symbol", token.text, token.text)
                index += 1
            elif token.kind == "char":
                index += self._char(index)
            else:
                index += self._word(index)
        for negation in self.pending:
            self.negations.append((negation, ""))

    def _written_value(self, index: int, token: Token) -> int:
        if token.family in ("number:time", "number:month"):
            found = relative.at(self.tokens, index, self.language, self.at)
            if found:
                last = self.tokens[index + found[1] - 1]
                self._add_value("date", found[0], self.text[token.start : last.end], related=True)
                return found[1]
        self._add_value(token.family, token.canonical, token.text)
        return 1

    def _add_value(self, family: str, canonical: str, excerpt: str, related: bool = False) -> None:
        self.values.append(Value(family, canonical, excerpt, len(self.words), related))

    def _char(self, index: int) -> int:
        found = relative.at(self.tokens, index, self.language, self.at)
        if found:
            self._add_value(
                "date", found[0], "".join(token.text for token in self.tokens[index : index + found[1]]), related=True
            )
            return found[1]
        text = self.tokens[index].text
        self.words.append(
            Word(text, text, "l" if text in FUNCTION_CHARACTERS.get(self.language, ()) else "c", self.group)
        )
        return 1

    def _word(self, index: int) -> int:
        lower = self.lowers[index]
        phrase = self._phrase(index, lower)
        if phrase:
            return phrase
        found = (
            relative.at(self.tokens, index, self.language, self.at)
            if lower in relative.STARTERS or self.language == "ko"
            else None
        )
        if found:
            last = self.tokens[index + found[1] - 1]
            self._add_value("date", found[0], self.text[self.tokens[index].start : last.end], related=True)
            return found[1]
        used = self._calendar(index, lower) or self._number(index, lower)
        if used:
            return used
        for part in open_contraction(lower):
            self._plain_word(part, self.tokens[index], index)
        return 1

    def _phrase(self, index: int, lower: str) -> int:
        for rest, kind, value in PHRASES_BY_FIRST_WORD.get(lower, ()):
            size = len(rest)
            if tuple(self.lowers[index + 1 : index + 1 + size]) != rest:
                continue
            excerpt = " ".join((lower, *rest))
            if kind == "negation":
                self.pending.append(value)
            elif kind == "dislike":
                self._content("dislike", self.tokens[index])
            elif kind not in ("skip", "also"):
                self.marks.append((kind, value, excerpt))
            return size + 1
        return 0

    def _calendar(self, index: int, lower: str) -> int:
        token = self.tokens[index]
        weekday = days.WEEKDAYS.get(lower)
        if weekday is not None and (len(lower) > 4 or token.text[0].isupper() or not lower.isascii()):
            following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
            if (
                following is not None
                and following.kind == "value"
                and following.family == "date"
                and "/" not in following.canonical
                and following.start - token.end < 5
            ):
                self._add_value("date", f"{following.canonical}/{weekday}", self.text[token.start : following.end])
                return 2
            self._add_value("date", days.partial(weekday=weekday), token.text)
            return 1
        if lower in days.BARE_MONTHS or (lower in ("may", "march") and token.text[0].isupper() and index):
            self._add_value("date", days.partial(month=days.MONTHS[lower]), token.text)
            return 1
        if lower in _WORD_TIMES:
            self._add_value("time", str(_WORD_TIMES[lower]), token.text)
            return 1
        return 0

    def _number(self, index: int, lower: str) -> int:
        """Read a spelled number: `twenty-five`, `one thousand two hundred`, with its unit; `second` after none is an ordinal."""
        if lower not in self.numbers:
            if lower in SPELLED_SCALES and SCALES[lower] >= 1000 and lower not in ("mil", "mille"):
                self._add_value("number", plain(SCALES[lower]), lower)
                return 1
            if self.language == "en":
                ordinal = ORDINALS.get(lower)
                if ordinal is not None and not (
                    index and lower == "second" and self.lowers[index - 1] in ("a", "per", "each")
                ):
                    self._add_value("number", "#" + str(ordinal), lower)
                    return 1
                if lower in MULTIPLIERS and lower != "once":
                    self._add_value("number", str(MULTIPLIERS[lower]), lower)
                    return 1
                if lower in ("dozen", "dozens"):
                    self._add_value("number", "12", lower)
                    return 1
            return 0
        total, current, size = 0.0, float(self.numbers[lower]), 1
        while index + size < len(self.tokens):
            word = self.lowers[index + size]
            gap = self.text[self.tokens[index + size - 1].end : self.tokens[index + size].start]
            if gap.strip() not in ("", "-"):
                break
            value = self.numbers.get(word)
            if word in SPELLED_SCALES and word not in ("mm",):
                if SCALES[word] >= 1000:
                    total, current = (total + current) * SCALES[word], 0.0
                else:
                    current *= SCALES[word]
            elif (
                value is not None
                and current
                and (current % 100 == 0 or (current % 100 >= 20 and current % 10 == 0 and value < 10))
            ):
                current += value
            elif value is not None and current == 0 and total:
                current = float(value)
            elif (
                word == "and"
                and (total or current >= 100)
                and self.lowers[index + size + 1 : index + size + 2]
                and self.lowers[index + size + 1] in self.numbers
            ):
                pass
            else:
                break
            size += 1
        number = total + current
        start = self.tokens[index].start
        family, end = "number", self.tokens[index + size - 1].end
        if index + size < len(self.tokens):
            word = self.lowers[index + size]
            measure = unit(word) if len(word) > 2 else None
            if word in CURRENCIES and len(word) > 3:
                family, end, size = f"currency:{CURRENCIES[word]}", self.tokens[index + size].end, size + 1
            elif measure is not None:
                number, family = number * measure.factor, f"number:{measure.dimension}"
                end, size = self.tokens[index + size].end, size + 1
        if number == 1 and size == 1:
            if lower == "one":
                self._add_value("one", "1", lower)
            return 1
        self._add_value(family, plain(number), self.text[start:end])
        return size

    def _plain_word(self, lower: str, token: Token, index: int) -> None:
        if lower in _BE:
            self.after_be = 3
        elif self.after_be:
            self.after_be -= 1
        if self._denies(lower, index) or self._qualifies(lower, token, index):
            return
        self._colours(lower)
        if lower in self.function and lower not in RELATIONS:
            if lower in _CONNECTIVES:
                self.glue.append("and")
            self.small.append(lower)
            return
        self._content(lower, token)

    def _denies(self, lower: str, index: int) -> bool:
        """Note a negator; `failed` is one before `to` only."""
        negates = lower in self.negators
        if not negates and self.language == "en" and lower in NEGATIVE_VERBS:
            negates = lower[:4] != "fail" or self.lowers[index + 1 : index + 2] == ["to"]
        if negates:
            self.pending.append(lower)
        return negates

    def _qualifies(self, lower: str, token: Token, index: int) -> bool:
        """Note a quantifier, a modal verb or a bound, which then is no content word."""
        if lower in QUANTIFIERS:
            self.marks.append(("quantifier", QUANTIFIERS[lower], lower))
            return True
        if lower in MODALS and not (lower == "may" and token.text[0].isupper() and index):
            self.marks.append(("modality", MODALS[lower], lower))
            return True
        if lower in _BOUNDS and self._number_follows(index + 1):
            self.marks.append(("quantifier", _BOUNDS[lower], lower))
            return True
        if (
            lower == "used"
            and self.language == "en"
            and not self.after_be
            and self.lowers[index + 1 : index + 2] == ["to"]
        ):
            self.marks.append(("tense", "past", "used to"))
            return True
        return False

    def _colours(self, lower: str) -> None:
        """Note a condition, a tense, a person."""
        condition = self.conditionals.get(lower)
        if condition is not None:
            self.marks.append(("hedge", condition, lower))
        if lower in _WAS:
            self.marks.append(("tense", "past", lower))
        elif lower in _IS:
            self.marks.append(("tense", "present", lower))
        person = PRONOUNS.get(lower)
        if person is not None and lower in self.function:
            self.marks.append(("entity", person, lower))

    def _number_follows(self, index: int) -> bool:
        if index >= len(self.tokens):
            return False
        following = self.tokens[index]
        return following.family.startswith(("number", "currency")) or self.lowers[index] in self.numbers

    def _content(self, lower: str, token: Token) -> None:
        key = normal_form(lower, self.language, written_small=token.text.islower())
        role = "w"
        if lower in RELATIONS:
            role = "r"
        elif self.language == "en" and key in _LIGHT_STEMS:
            role = "l"
        elif self._is_name(token):
            role = "n"
        elif self.after_be and (lower.endswith(_PARTICIPLE_ENDINGS) or lower in PARTICIPLES):
            role = "p"
        if role != "r" or not self.words:
            gap = self.text[max(0, token.start - 2) : token.start].strip()
            if not (self.words and (gap == "," or self.glue)):
                self.group += 1
        self.glue.clear()
        self.words.append(
            Word(
                key,
                lower,
                role,
                self.group,
                token.text.endswith(("'s", "'S")) or self.text[token.end : token.end + 2] == "' ",
            )
        )
        if role != "r":
            for negation in self.pending:
                self.negations.append((negation, key))
            self.pending.clear()

    def _is_name(self, token: Token) -> bool:
        surface = token.text
        if self.shouting:
            return False
        if surface.islower():
            return False
        if any(map(str.isupper, surface[1:])):
            return True
        if not surface[0].isupper() or self.language == "de":
            return False
        before = self.text[: token.start].rstrip(" \t\"'([*-")
        return bool(before) and before[-1] not in ".!?:;\n。！？"


_LIGHT_STEMS: Final = frozenset(stem(word, "en") for word in LIGHT)
_BOUNDS: Final = {
    "over": "more_than",
    "above": "more_than",
    "under": "less_than",
    "below": "less_than",
    "über": "more_than",
    "unter": "less_than",
}
_BE: Final = frozenset(
    [
        "be",
        "is",
        "are",
        "was",
        "were",
        "been",
        "being",
        "am",
        "wird",
        "werden",
        "wurde",
        "wurden",
        "ist",
        "est",
        "sont",
        "été",
        "es",
        "fue",
        "son",
    ]
)
_PARTICIPLE_ENDINGS: Final = ("ed", "en", "wn", "ert", "iert", "té", "ée", "ado", "ada", "ido", "ida", "to", "ta")
_TAG: Final = re.compile(
    r",\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|am)(?:n't)?\s+(?:i|you|he|she|it|we|they|there)\s*\?\s*$",
    re.IGNORECASE,
)
_ANSWER: Final = re.compile(r"^\s*(?:yes|no|well|so|and|but)\s*,\s*", re.IGNORECASE)
_WORD_TIMES: Final = {
    "noon": 720,
    "midnight": 0,
    "mittag": 720,
    "mitternacht": 0,
    "mediodía": 720,
    "medianoche": 0,
    "minuit": 0,
}
_NO_WORDS: Final[dict[str, str]] = {}
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
        said = _ANSWER.sub("", _TAG.sub("?", normal) if normal.rstrip().endswith("?") else normal)
    tokens = list(scan(said, language, MAX_TOKENS))
    builder = _Builder(said, language, occurred_at.date(), tokens)
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
        passive=any(word.role == "p" for word in builder.words) and not _BY.isdisjoint(builder.lowers),
    )


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
