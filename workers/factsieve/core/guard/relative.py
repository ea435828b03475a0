"""Relative time in a token list: tomorrow, next Monday, in two days, three weeks ago, last month."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

from factsieve.core.guard import days
from factsieve.core.guard.quantities import NUMBER_WORDS, unit
from factsieve.core.guard.scan import Token
from factsieve.core.guard.stems import stem

_IN: Final = frozenset(("in", "within", "dentro", "dans", "tra", "fra", "em", "over", "через", "за"))
_AGO: Final = frozenset(("ago", "geleden", "назад", "fa", "atrás", "önce", "temu", "earlier"))
_BEFORE_AMOUNT_AGO: Final = frozenset(("vor", "hace", "há"))
_ARTICLES: Final = {"a": 1, "an": 1, "one": 1, "einem": 1, "einer": 1, "un": 1, "una": 1, "une": 1, "few": 3}
_ROMANCE_NEXT: Final[dict[str, int]] = {
    **dict.fromkeys(["próximo", "próxima", "prochain", "prochaine", "prossimo", "prossima", "viene"], 1),
    **dict.fromkeys(
        ["pasado", "pasada", "dernier", "dernière", "passé", "passée", "scorso", "scorsa", "passado", "passada"], -1
    ),
    "que": 0,
}


_PERIODIC: Final = frozenset(("the", "each", "every", "a", "any"))


def _lower(tokens: Sequence[Token], index: int) -> str:
    if 0 <= index < len(tokens) and tokens[index].kind == "word":
        return tokens[index].text.lower()
    return ""


def at(tokens: Sequence[Token], index: int, language: str, day: date) -> tuple[str, int] | None:
    """Return the date in normal form that a relative expression at `index` means, and how many tokens it has; None if there is none."""
    lower = _lower(tokens, index)
    if tokens[index].kind == "char":
        return _unspaced(tokens, index, day)
    try:
        return (
            _named_day(tokens, index, lower, language, day)
            or _next(tokens, index, lower, day)
            or _amount(tokens, index, lower, language, day)
        )
    except (OverflowError, ValueError):  # a date beyond what the calendar holds
        return None


def _named_day(tokens: Sequence[Token], index: int, lower: str, language: str, day: date) -> tuple[str, int] | None:
    step = days.TODAY_WORDS.get(stem(lower, "ko") if language == "ko" else lower)
    if step is None or language not in days.LANGUAGE_OF_TODAY.get(lower, language).split():
        return None
    if lower == "morgen" and tokens[index].text[0].isupper() and language == "de" and index:
        return None
    if lower == "today" and _lower(tokens, index + 1) == "s":
        return None
    return days.shift_period("day", step, day), 1


def _next(tokens: Sequence[Token], index: int, lower: str, day: date) -> tuple[str, int] | None:
    step = days.NEXT_WORDS.get(lower)
    following = _lower(tokens, index + 1)
    if step is not None and following:
        if following in days.WEEKDAYS:
            if lower == "last" and _lower(tokens, index + 2) == "of" and _lower(tokens, index + 3) in _PERIODIC:
                return None  # which Monday of a month, not one that was
            return days.shift_weekday(days.WEEKDAYS[following], step, day), 2
        if following in days.PERIODS:
            if lower in ("past", "following", "previous"):
                return None  # "the past year" spans, "the following day" follows something said before
            return days.shift_period(days.PERIODS[following], step, day), 2
        if following in days.MONTHS and len(following) > 3:
            month = days.MONTHS[following]
            year = (
                day.year + step + (1 if step < 0 and month < day.month else -1 if step > 0 and month > day.month else 0)
            )
            return days.partial(year, month), 2
    step = _ROMANCE_NEXT.get(following)
    if step is not None and (lower in days.WEEKDAYS or lower in days.PERIODS):
        if following == "que":
            if _lower(tokens, index + 2) != "viene":
                return None
            step = 1
        size = 3 if following == "que" else 2
        if lower in days.WEEKDAYS:
            return days.shift_weekday(days.WEEKDAYS[lower], step, day), size
        return days.shift_period(days.PERIODS[lower], step, day), size
    return None


def _measure(tokens: Sequence[Token], index: int, language: str) -> tuple[float, str, float, int] | None:
    """Return amount, dimension, factor and tokens of `two days` or `2 days` at `index`."""
    if index >= len(tokens):
        return None
    token = tokens[index]
    if token.kind == "value" and token.family in ("number:time", "number:month"):
        return float(token.canonical), token.family.partition(":")[2], 1.0, 1
    word = _lower(tokens, index)
    if word == "a" and _lower(tokens, index + 1) in ("few", "couple"):
        return None
    amount = NUMBER_WORDS.get(language, NUMBER_WORDS["en"]).get(word, _ARTICLES.get(word))
    measure = unit(_lower(tokens, index + 1)) if amount is not None else None
    if (
        measure is None
        or amount is None
        or measure.dimension not in ("time", "month")
        or len(_lower(tokens, index + 1)) < 3
    ):
        return None
    return float(amount), measure.dimension, measure.factor, 2


def _amount(tokens: Sequence[Token], index: int, lower: str, language: str, day: date) -> tuple[str, int] | None:
    if lower in _IN and not (lower == "in" and language == "it") and lower != "within":
        measure = _measure(tokens, index + 1, language)
        if measure and lower != "за" and _lower(tokens, index + 1 + measure[3]) not in ("of", "or"):
            moved = days.moved(*measure[:3], 1, day)
            return (moved, 1 + measure[3]) if moved else None
        return None
    if lower in _BEFORE_AMOUNT_AGO and language in ("de", "es", "pt"):
        measure = _measure(tokens, index + 1, language)
        moved = days.moved(*measure[:3], -1, day) if measure else None
        return (moved, 1 + measure[3]) if moved and measure else None
    if language == "fr" and lower == "il" and _lower(tokens, index + 1) == "y" and _lower(tokens, index + 2) == "a":
        measure = _measure(tokens, index + 3, language)
        moved = days.moved(*measure[:3], -1, day) if measure else None
        return (moved, 3 + measure[3]) if moved and measure else None
    measure = _measure(tokens, index, language)
    if measure and _lower(tokens, index + measure[3]) in _AGO:
        moved = days.moved(*measure[:3], -1, day)
        return (moved, measure[3] + 1) if moved else None
    if measure and _lower(tokens, index + measure[3]) == "from" and _lower(tokens, index + measure[3] + 1) == "now":
        moved = days.moved(*measure[:3], 1, day)
        return (moved, measure[3] + 2) if moved else None
    return None


_UNSPACED_PERIODS: Final[dict[str, tuple[str, int]]] = {
    "下周": ("week", 1), "上周": ("week", -1), "本周": ("week", 0),
    "这周": ("week", 0), "来週": ("week", 1), "先週": ("week", -1), "今週": ("week", 0),
    "下个月": ("month", 1), "上个月": ("month", -1), "这个月": ("month", 0), "本月": ("month", 0),
    "来月": ("month", 1), "先月": ("month", -1), "今月": ("month", 0),
    "明年": ("year", 1), "去年": ("year", -1), "今年": ("year", 0), "来年": ("year", 1), "昨年": ("year", -1),
}  # fmt: skip


def _unspaced(tokens: Sequence[Token], index: int, day: date) -> tuple[str, int] | None:
    for size in (3, 2):
        piece = "".join(token.text for token in tokens[index : index + size] if token.kind == "char")
        if len(piece) != size:
            continue
        if piece in days.CJK_TODAY:
            return days.shift_period("day", days.CJK_TODAY[piece], day), size
        if piece in _UNSPACED_PERIODS:
            period, step = _UNSPACED_PERIODS[piece]
            try:
                return days.shift_period(period, step, day), size
            except (OverflowError, ValueError):
                return None
    return None


STARTERS: Final = frozenset(
    (
        *days.TODAY_WORDS,
        *days.NEXT_WORDS,
        *days.WEEKDAYS,
        *days.PERIODS,
        *_IN,
        *_BEFORE_AMOUNT_AGO,
        "il",
        *_ARTICLES,
        *(word for words in NUMBER_WORDS.values() for word in words),
    )
)
"""Words with which a relative expression can begin."""
