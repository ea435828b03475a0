"""A normalised text cut into tokens: values in normal form, words, characters of unspaced scripts, symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from itertools import islice
from typing import Final, NamedTuple

from factsieve.core.guard import days
from factsieve.core.guard.patterns import (
    FRACTION,
    MAY_BE_MORE,
    MIXED,
    NUMBER,
    RATE,
    SCAN,
    SCAN_WITHOUT_DIGITS,
    TAIL,
    WORDS,
)
from factsieve.core.guard.quantities import CURRENCIES, SCALES, plain, unit

_HAS_DIGIT: Final = re.compile(r"\d")
_DECIMAL_COMMA: Final = frozenset(("de", "es", "fr", "it", "pt", "nl", "pl", "ru", "tr"))
_HEX: Final = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,64}", re.IGNORECASE)
_SIGN_BEFORE: Final = re.compile(r"(?:^|[\s(\[=:~])-$")


class Token(NamedTuple):
    """One piece of a text. `kind` is word, char, symbol or value; a value has its `family` and `canonical`; `relative` as in `Value`."""

    kind: str
    text: str
    start: int
    end: int
    family: str = ""
    canonical: str = ""


def scan(text: str, language: str, limit: int) -> list[Token]:
    """Return the tokens of normalised `text` in order, about `limit` at most."""
    if _HAS_DIGIT.search(text):
        return list(_scan(SCAN, text, language, limit))
    if MAY_BE_MORE.search(text):
        return list(_scan(SCAN_WITHOUT_DIGITS, text, language, limit))
    return [
        Token("word" if found.lastgroup == "word" else "char", found[0], *found.span())
        for found in islice(WORDS.finditer(text), limit)
    ]


def _scan(pattern: re.Pattern[str], text: str, language: str, limit: int) -> Iterator[Token]:
    position, money = 0, ""
    for _ in range(limit):
        found = pattern.search(text, position)
        if found is None:
            return
        kind = found.lastgroup or ""
        start, position = found.span()
        if kind == "word":
            yield Token("word", found[0], start, position)
        elif kind == "unspaced":
            yield Token("char", found[0], start, position)
        elif kind == "digits" or kind in _SPANNED:
            if kind == "digits":
                tokens, position = _number(text, start, language, money)
            else:
                tokens = _SPANNED[kind](found)
                if not tokens:  # "5 may attend": no date after all
                    tokens, position = _fallback(text, found, language)
            yield from tokens
        elif kind == "money":
            money = _money(found[0].strip().lower())
            continue
        elif kind in ("operator", "other"):
            yield Token("symbol", found[0], start, position)
        else:
            yield _identifier(kind, found)
        money = ""


def _money(sign: str) -> str:
    return CURRENCIES.get(sign) or {"$us": "USD", "a$": "AUD", "c$": "CAD"}.get(sign, sign)


def _fallback(text: str, found: re.Match[str], language: str) -> tuple[list[Token], int]:
    if text[found.start()].isdigit():
        return _number(text, found.start(), language, "")
    word = re.match(r"[^\W\d_]+", found[0])
    end = found.start() + (word.end() if word else 1)
    return [Token("word", text[found.start() : end], found.start(), end)], end


def _identifier(kind: str, found: re.Match[str]) -> Token:
    raw = found[0]
    if kind == "version":
        return Token("value", raw, *found.span(), "version", raw.lower().removeprefix("v"))
    if kind == "langsym":
        return Token("value", raw, *found.span(), "symbol", raw.casefold())
    if kind == "flag":
        return Token(
            "value", raw, *found.span(), "identifier", raw if len(raw) < 3 or raw[1] != "-" else raw.casefold()
        )
    if kind in ("url", "path"):
        return Token("value", raw, *found.span(), "identifier", raw.rstrip("/"))
    return Token("value", raw, *found.span(), "identifier", raw.casefold())


def _value(found: re.Match[str], family: str, canonical: str) -> Token:
    return Token("value", found[0], *found.span(), family, canonical)


def _valid(year: int | None, month: int | None, day: int | None) -> bool:
    try:
        date(year or 2000, month or 1, day or 1)
    except ValueError:
        return False
    return True


def _iso(found: re.Match[str]) -> list[Token]:
    day = f"{found['iy']}-{found['im']}-{found['id']}"
    if not _valid(int(found["iy"]), int(found["im"]), int(found["id"])):
        return []
    if found["ih"] is None:
        return [_value(found, "date", day)]
    if found["iz"] and int(found["ih"]) < 24 and int(found["isec"] or 0) < 60:
        zone = found["iz"] if found["iz"][0] in "+-" else "+00:00"
        zone = zone if ":" in zone else zone[:3] + ":" + zone[3:]
        try:
            moment = datetime.fromisoformat(f"{day}T{found['ih']}:{found['imin']}:{found['isec'] or '00'}{zone}")
            utc = moment - (moment.utcoffset() or moment.replace(tzinfo=None) - moment.replace(tzinfo=None))
        except (ValueError, OverflowError):
            return [_value(found, "identifier", found[0].casefold())]
        return [
            _value(found, "date", utc.date().isoformat()),
            _value(found, "time", _clock(utc.hour, utc.minute, utc.second) + "z"),
        ]
    return [
        _value(found, "date", day),
        _value(found, "time", _clock(int(found["ih"]), int(found["imin"]), int(found["isec"] or 0))),
    ]


def _clock(hour: int, minute: int = 0, second: int = 0) -> str:
    return plain(hour * 60 + minute + second / 60)


def _cjk_date(found: re.Match[str]) -> list[Token]:
    year = found["cy"] or found["cy2"]
    return _date(found, year, found["cm"], found["cd"])


def _date(found: re.Match[str], year: str | None, month: str | int | None, day: str | None) -> list[Token]:
    numbers = (int(year) if year else None, int(month) if month else None, int(day) if day else None)
    if not _valid(*numbers):
        return []
    return [_value(found, "date", days.partial(*numbers))]


def _day_month(found: re.Match[str]) -> list[Token]:
    if found["dmm"] in ("may", "mar", "march", "mart"):
        return []
    return _date(found, found["dmy"], days.MONTHS[found["dmm"].lower()], found["dmd"])


def _month_day(found: re.Match[str]) -> list[Token]:
    if found["mdm"] in ("may", "mar", "march", "mart", "dec", "sep"):
        return []
    return _date(found, found["mdy"], days.MONTHS[found["mdm"].lower()], found["mdd"])


def _month_year(found: re.Match[str]) -> list[Token]:
    return _date(found, found["myy"], days.MONTHS[found["mym"].lower()], None)


def _numeric_date(found: re.Match[str]) -> list[Token]:
    if found["y1"]:
        return _date(found, found["y1"], found["y2"], found["y3"])
    first, second, year = int(found["n1"]), int(found["n2"]), found["n3"]
    if len(year) == 2:
        if found["nsep"] != "/" and found["nsep"] != ".":
            return [_value(found, "identifier", found[0])]
        year = "20" + year
    if found["nsep"] == "." or first > 12:
        return _date(found, year, found["n2"], found["n1"])
    if second > 12 or first == second:
        return _date(found, year, found["n1"], found["n2"])
    return [_value(found, "date", f"{year}~{first:02d}/{second:02d}")]  # 04/03/2026: day and month cannot be told apart


def _time(found: re.Match[str]) -> list[Token]:
    hour = int(found["th"])
    minute = int(found["tm"] or found["thm"] or found["tum"] or found["tjm"] or found["tzm"] or 0)
    half = (found["tap"] or found["tap2"] or "").lower().replace(".", "")
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "pm" else 0)
    if found["tpre"] and found["tpre"].strip() in ("午後", "下午", "晚上", "오후") and hour < 12:
        hour += 12
    second = int(found["ts"] or 0)
    if minute > 59 or second > 59:
        return []
    return [_value(found, "time", zoned(hour * 60 + minute + second / 60, found["tz"]))]


def zoned(minutes: float, zone: str | None) -> str:
    """Return the normal form of a time of day: minutes after midnight, in UTC with `z` where the zone's offset is known.

    A zone whose offset depends on the season follows by name.
    """
    if not zone:
        return plain(minutes)
    offset, name = days.zone_offset(zone)
    return plain(minutes) + "@" + name if offset is None else plain((minutes - offset) % 1440) + "z"


_SPANNED: Final = {
    "iso": _iso,
    "cjkdate": _cjk_date,
    "dm": _day_month,
    "md": _month_day,
    "my": _month_year,
    "numdate": _numeric_date,
    "time": _time,
}


def _number(text: str, start: int, language: str, money: str) -> tuple[list[Token], int]:
    """Return the tokens of a number (with unit, scale and currency) or of an identifier that begins with a digit, and where they end."""
    mixed = MIXED.match(text, start)
    raw = mixed[0] if mixed else text[start]
    end = start + len(raw)
    if not raw.isdigit() and not (raw[0].isdigit() and raw.replace(".", "").replace(",", "").isdigit()):
        identifier = _as_identifier(raw)
        if identifier:
            return [Token("value", raw, start, end, "identifier", identifier)], end
    found = NUMBER.match(text, start)
    if found is None:
        return [Token("value", raw, start, end, "identifier", raw.casefold())], end
    number = _magnitude(found["whole"], found["fraction"] or "", language)
    end = found.end()
    if number is None:
        return [Token("value", raw, start, start + len(raw), "identifier", raw.casefold())], start + len(raw)
    over = FRACTION.match(text, end - len(found[0])) if len(found[0]) <= 3 and text[end : end + 1] == "/" else None
    if over and int(over["bottom"]) and int(over["top"]) < int(over["bottom"]) <= 10:
        number, end = int(over["top"]) / int(over["bottom"]), over.end()
    if start and _SIGN_BEFORE.search(text[max(0, start - 2) : start]):
        number = -number
        start -= 1
    ordinal = re.compile(r"(?:st|nd|rd|th)(?!\w)").match(text, end)
    if ordinal:
        return [
            Token("value", text[start : ordinal.end()], start, ordinal.end(), "number", "#" + plain(number))
        ], ordinal.end()
    return _quantity(text, start, end, number, money)


def _as_identifier(raw: str) -> str:
    """Return the normal form of a mixed word such as `7f3a9c`, `2026-0192`, `555-1234`, or nothing for 10km, 3-year-old, 10-12."""
    if raw[1:2] in "xX" and raw[0] == "0" and len(raw) > 2:
        return raw.casefold()
    if _HEX.fullmatch(raw):
        return raw.casefold()
    parts = re.split(r"[-_/:#@.]+", raw)
    if len(parts) == 1:
        head = re.match(r"\d+(.*)", raw)
        rest = head[1] if head else ""
        known = (
            unit(rest) is not None
            or rest.lower() in SCALES
            or rest.lower() in ("st", "nd", "rd", "th", "x")
            or rest.lower() in CURRENCIES
        )
        return "" if known or (not rest.isalpha() and rest[-1:] in "23" and unit(rest)) else raw.casefold()
    if "." in raw and all(part.isdigit() for part in parts):
        return ""
    if all(part.isdigit() for part in parts):
        if "/" in raw or ":" in raw:
            return "" if len(parts) == 2 and "/" in raw else raw
        return (
            raw
            if len(parts) > 2
            or any(len(part) > 4 or (len(part) > 1 and part[0] == "0") for part in parts)
            or len(parts[0]) + len(parts[1]) == 7
            else ""
        )
    if any(part.isalpha() for part in parts[1:]) and parts[0].isdigit() and all(part.isalpha() for part in parts[1:]):
        return ""  # 3-year-old, 10/day
    if re.fullmatch(r"\d+(?:\.\d+)?", raw.split("-", maxsplit=1)[0].split("/", maxsplit=1)[0]) and all(
        part.isalpha() for part in re.split(r"[-/]", raw)[1:]
    ):
        return ""
    return (
        raw.casefold()
        if any(any(c.isdigit() for c in part) and not part.isdigit() for part in parts)
        and not re.match(r"\d+(?:\.\d+)+[A-Za-z%]*$", raw)
        else ""
    )


def _magnitude(whole: str, fraction: str, language: str) -> float | None:
    """Return the value of digits with separators. `1,200` is 1200 in English, `1.200` where the comma is the decimal sign."""
    comma_decimal = language in _DECIMAL_COMMA
    digits = re.sub(r"[ ',]", "", whole) if whole.count(".") < 2 else whole.replace(".", "")
    if comma_decimal and "," in whole and whole.count(",") == 1 and not fraction:
        digits = whole.replace(",", ".")
    if fraction:
        is_group = len(fraction) == 4 and 1 <= len(whole) <= 3 and whole[0] != "0"
        if is_group and fraction[0] == "." and comma_decimal:
            digits += fraction[1:]
        else:
            digits += "." + fraction[1:]
    if len(digits) > 15:
        return None
    return float(digits)


def _quantity(text: str, start: int, end: int, number: float, money: str) -> tuple[list[Token], int]:
    family = f"currency:{money}" if money else "number"
    for _ in range(2):
        tail = TAIL.match(text, end)
        if tail is None:
            break
        name = tail["unit"]
        lower = name.lower()
        attached = tail.start("unit") == end
        scale = SCALES.get(lower)
        if scale is not None and (family == "number" or money) and _scales(lower, attached, money):
            number *= scale
            end = tail.end()
            continue
        if lower in CURRENCIES and not money and (len(lower) != 3 or name.isupper() or lower in ("yen", "won")):
            family, end = f"currency:{CURRENCIES[lower]}", tail.end()
            break
        found = unit(name.replace(" ", "").replace("µ", "μ")) if not money else None
        if found is not None and _plausible(name, attached, text, tail.end()):
            number *= found.factor
            family, end = f"number:{found.dimension}", tail.end()
        break
    rate = RATE.match(text, end) if family != "number" else None
    per = unit(rate["per"]) if rate else None
    if rate and per and per.dimension in ("time", "month", "data", "length", "mass", "volume", "area"):
        number /= per.factor
        family = f"{family}/{per.dimension}"
        end = rate.end()
    if family == "number:speed":
        family = "number:length/time"
    elif family.startswith("number:rate:"):
        family = "number:" + family.removeprefix("number:rate:")
    return [Token("value", text[start:end], start, end, family, plain(number))], end


def _scales(lower: str, attached: bool, money: str) -> bool:
    """Return whether a scale is meant: a spelled one always, `k` and `bn` when attached, `m` after a sign of money only."""
    return len(lower) > 2 or not lower.isascii() or (attached and (lower in ("k", "bn") or bool(money)))


def _plausible(name: str, attached: bool, text: str, end: int) -> bool:
    """Return whether a unit is meant: one-letter symbols only when they close the quantity (`5 m`, not `5 C programmers`)."""
    if len(name) > 1 or attached or not name.isalpha():
        return name.lower() not in ("mi", "us", "bar", "d") or attached or name.islower()
    following = text[end : end + 2]
    return (
        name not in ("A", "B", "C", "F", "K", "V", "W", "J", "L", "d", "l")
        or not following.strip()
        or following[0] in ".,;:)/"
    )
