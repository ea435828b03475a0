"""The walk over the tokens of one text: which words are content, what is a value, what denies, bounds or colours the statement."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Final

from factsieve.core.guard import days, relative
from factsieve.core.guard.cjk import FUNCTION_CHARACTERS
from factsieve.core.guard.lexicon import (
    ASKING,
    ATTRIBUTES,
    BE,
    BOUNDS,
    CONDITIONALS,
    CONNECTIVES,
    FUNCTION,
    IS,
    LIGHT,
    MODALS,
    NEGATIVE_ADVERBS,
    NEGATIVE_VERBS,
    NEGATORS,
    PRONOUNS,
    PURPOSES,
    QUANTIFIERS,
    RELATIONS,
    WAS,
)
from factsieve.core.guard.model import Value, Word
from factsieve.core.guard.patterns import PHRASES_BY_FIRST_WORD
from factsieve.core.guard.quantities import MULTIPLIERS, NUMBER_WORDS, ORDINALS, SPELLED_SCALES
from factsieve.core.guard.scan import Token
from factsieve.core.guard.spelled import spelled_number
from factsieve.core.guard.stems import CONTRACTIONS, PARTICIPLES, open_contraction, stem
from factsieve.core.guard.thesaurus import normal_form

_LIGHT_STEMS: Final = frozenset(stem(word, "en") for word in LIGHT)
_PARTICIPLE_ENDINGS: Final = ("ed", "en", "wn", "ert", "iert", "té", "ée", "ado", "ada", "ido", "ida", "to", "ta")
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


@cache
def _telling(language: str) -> frozenset[str]:
    """Return the words that any rule of the walk looks at: any other word of a language with spaces and without particles is content."""
    return frozenset(
        (
            *PHRASES_BY_FIRST_WORD,
            *relative.STARTERS,  # weekdays and number words are among them
            *PURPOSES,
            *ATTRIBUTES,
            *days.BARE_MONTHS,
            *("may", "march"),
            *_WORD_TIMES,
            *SPELLED_SCALES,
            *ORDINALS,
            *MULTIPLIERS,
            *("dozen", "dozens"),
            *CONTRACTIONS,
            *BE,
            *NEGATORS.get(language, ()),
            *NEGATORS["any"],
            *NEGATIVE_VERBS,
            *QUANTIFIERS,
            *MODALS,
            *BOUNDS,
            "used",
            *CONDITIONALS.get(language, ()),
            *WAS,
            *IS,
            *PRONOUNS,
            *FUNCTION.get(language, ()),
        )
    )


class Builder:
    """Collects the features of one text while its tokens go by: `walk` once, then read the lists."""

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
        self.telling = _telling(language)
        self.group = 0
        self.glue: list[str] = []
        self.after_be = 0
        self.small: list[str] = []
        self.answer_at = -1
        self.participle = False
        self.colon = text.rfind(": ")

    def walk(self) -> None:
        """Read all tokens."""
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
        self._denies_by_zero(index, 1)
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
        # No rule below looks at most words: what they leave is themselves.
        if lower not in self.telling and "'" not in lower and self.language != "ko":
            if self.after_be:
                self.after_be -= 1
            self._content(lower, self.tokens[index])
            return 1
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
        purpose = lower in PURPOSES and not self.after_be and self.lowers[index + 1 : index + 2] == ["for"]
        if purpose or self._tells_what_is_measured(index, lower):
            self.small.append(lower)
            return 1
        used = self._calendar(index, lower) or self._number(index)
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
            if kind in ("negation", "absence"):
                self.pending.append(value)
                if kind == "absence":  # where a thing is not there: said of a case
                    self.marks.append(("hedge", "when", excerpt))
            elif kind in ("dislike", "persist"):  # a verb of its own
                self._content(kind, self.tokens[index])
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

    def _number(self, index: int) -> int:
        found = spelled_number(self.tokens, self.lowers, self.text, index, self.language)
        if found is None:
            return 0
        last = self.tokens[index + found.size - 1]
        if found.family != "one" or self.lowers[index] == "one":
            self._add_value(found.family, found.canonical, self.text[self.tokens[index].start : last.end])
        self._denies_by_zero(index, found.size)
        return found.size

    def _denies_by_zero(self, index: int, size: int) -> None:
        """Note that `zero errors` and `0 errors` deny what they count, as `no errors` does."""
        value = self.values[-1] if self.values else None
        following = self.tokens[index + size] if index + size < len(self.tokens) else None
        if value is None or value.family != "number" or value.canonical != "0" or following is None:
            return
        lower = following.text.lower()
        if (
            following.kind == "word"
            and lower not in self.function
            and following.start - self.tokens[index + size - 1].end < 2
        ):
            self.pending.append("zero")

    def _plain_word(self, lower: str, token: Token, index: int) -> None:
        if lower in BE:
            self.after_be = 3
        elif self.after_be:
            self.after_be -= 1
        if self._denies(lower, index) or self._qualifies(lower, token, index):
            return
        self._colours(lower, index)
        if lower in self.function and lower not in RELATIONS:
            if lower in CONNECTIVES:
                self.glue.append("and")
            self.small.append(lower)
            return
        self._content(lower, token)

    def _denies(self, lower: str, index: int) -> bool:
        """Note a negator. `stopped` denies a verb that follows it (`stopped working`), not a thing (`stopped the pump`)."""
        negates = lower in self.negators
        if not negates and self.language == "en" and lower in NEGATIVE_VERBS:
            following = self.lowers[index + 1] if index + 1 < len(self.lowers) else ""
            negates = (
                lower in NEGATIVE_ADVERBS or following == "to" or following.endswith("ing") or lower.startswith("lack")
            )
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
        if lower in BOUNDS and self._number_follows(index + 1):
            self.marks.append(("quantifier", BOUNDS[lower], lower))
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

    def _colours(self, lower: str, index: int) -> None:
        """Note a condition, a tense, a person."""
        condition = self.conditionals.get(lower)
        if condition is not None and not (condition == "if" and self._asks_before(index)):
            self.marks.append(("hedge", condition, lower))
        if lower in WAS:
            self.marks.append(("tense", "past", lower))
        elif lower in IS:
            self.marks.append(("tense", "present", lower))
        person = PRONOUNS.get(lower)
        if person is not None and lower in self.function:
            self.marks.append(("entity", person, lower))

    def _tells_what_is_measured(self, index: int, lower: str) -> bool:
        """Return whether a word only names what a value before it measures: `2 m in length`."""
        return (
            lower in ATTRIBUTES
            and index > 1
            and self.lowers[index - 1] == "in"
            and bool(self.values)
            and self.values[-1].position >= len(self.words) - 1
        )

    def _asks_before(self, index: int) -> bool:
        """Return whether a verb of asking stands right before: `check if`, `find out if`."""
        before = index - 2 if index > 1 and self.lowers[index - 1] == "out" else index - 1
        if before < 0 or self.lowers[before] not in ASKING:
            return False
        return not self.text[self.tokens[before].end : self.tokens[index].start].strip(" out")

    def _number_follows(self, index: int) -> bool:
        if index >= len(self.tokens):
            return False
        following = self.tokens[index]
        return following.family.startswith(("number", "currency")) or self.lowers[index] in self.numbers

    def _content(self, lower: str, token: Token) -> None:
        small = token.text.islower()
        key = normal_form(lower, self.language, written_small=small)
        participle = bool(self.after_be) and (lower.endswith(_PARTICIPLE_ENDINGS) or lower in PARTICIPLES)
        self.participle = self.participle or participle
        role = "w"
        if lower in RELATIONS:
            role = "r"
        elif self.language == "en" and key in _LIGHT_STEMS:
            role = "l"
        elif not small and self._is_name(token):
            role = "n"
        elif participle:
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
        if any(map(str.isupper, surface[1:])):
            return True
        if not surface[0].isupper() or self.language == "de":
            return False
        before = self.text[: token.start].rstrip(" \t\"'([*-")
        return bool(before) and before[-1] not in ".!?:;\n。！？"
