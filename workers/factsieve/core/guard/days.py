"""Dates, times of day and relative time in a normal form.

A date is `YYYY-MM-DD` with `?` for what is not said, followed by `/w` and the ISO weekday where one is named. A time of day is minutes after
midnight, in UTC (`z`) where its zone is known.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

_MONTH_ROWS: Final = (
    "january jan januar enero janvier janv gennaio janeiro januari stycznia января январь ocak",
    "february feb februar febrero février févr febbraio fevereiro februari lutego февраля февраль şubat",
    "march mar märz marzo mars março maart marca марта март mart",
    "april apr abril avril aprile kwietnia апреля апрель nisan",
    "may mai mayo maggio maio mei maja мая май mayıs",
    "june jun juni junio juin giugno junho czerwca июня июнь haziran",
    "july jul juli julio juillet luglio julho lipca июля июль temmuz",
    "august aug agosto août augustus sierpnia августа август ağustos",
    "september sep sept septiembre septembre settembre setembro września сентября сентябрь eylül",
    "october oct oktober okt octubre octobre ottobre outubro października октября октябрь ekim",
    "november nov noviembre novembre novembro listopada ноября ноябрь kasım",
    "december dec dezember dez diciembre décembre dicembre dezembro grudnia декабря декабрь aralık",
)
MONTHS: Final[dict[str, int]] = {
    name: number for number, row in enumerate(_MONTH_ROWS, start=1) for name in row.split()
}
BARE_MONTHS: Final = frozenset(name for name in MONTHS if len(name) > 4 and name not in ("march", "marca", "mayıs")) | {
    "june",
    "july",
    "juni",
    "juli",
}
"""Month names that are taken for a month even without a day or a year beside them."""

_WEEKDAY_ROWS: Final = (
    "monday mon montag lunes lundi lunedì segunda-feira maandag понедельник понедельникам poniedziałek pazartesi",
    "tuesday tue tues dienstag martes mardi martedì terça-feira dinsdag вторник вторникам wtorek salı",
    "wednesday wed mittwoch miércoles mercredi mercoledì quarta-feira woensdag среда среду средам środa çarşamba",
    "thursday thu thur thurs donnerstag jueves jeudi giovedì quinta-feira donderdag четверг четвергам czwartek perşembe",
    "friday fri freitag viernes vendredi venerdì sexta-feira vrijdag пятница пятницу пятницам piątek cuma",
    "saturday samstag sonnabend sábado samedi sabato zaterdag суббота субботу субботам sobota cumartesi",
    "sunday sonntag domingo dimanche domenica zondag воскресенье воскресеньям niedziela pazar",
)
WEEKDAYS: Final[dict[str, int]] = {
    name: number for number, row in enumerate(_WEEKDAY_ROWS, start=1) for name in row.split()
}
WEEKDAYS.update({name + "s": number for name, number in list(WEEKDAYS.items()) if name.endswith("day")})
for _short in ("mon", "tue", "wed", "thu", "fri", "mar"):
    WEEKDAYS.pop(_short, None)
CJK_WEEKDAYS: Final[dict[str, int]] = dict(zip("月火水木金土日", range(1, 8), strict=True)) | dict(
    zip("一二三四五六天", range(1, 8), strict=True)
)
KOREAN_WEEKDAYS: Final[dict[str, int]] = dict(zip("월화수목금토일", range(1, 8), strict=True))

_OFFSETS: Final[dict[str, int]] = {
    "utc": 0, "gmt": 0, "z": 0, "cet": 60, "cest": 120, "eet": 120, "eest": 180, "msk": 180, "bst": 60, "wet": 0, "west": 60,
    "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "jst": 540, "kst": 540, "ist": 330,
    "aest": 600, "aedt": 660, "hkt": 480, "sgt": 480,
}  # fmt: skip
ZONE: Final = (
    r"(?-i:(?:UTC|GMT)\s?[+-]\s?\d{1,2}(?::?\d{2})?|[+-]\d{2}:\d{2}|Z\b|UTC|GMT|(?:CES|CE|EES|EE|ES|ED|CS|CD|MS|MD|PS|PD|JS|KS|IS|BS|WE|AES|AED|HK|SG)T|MSK|[ECMP]T"
    r"|(?:US[ ]|U\.S\.[ ])?(?:Eastern|Central|Pacific|Mountain)(?:[ ](?:Standard[ ]|Daylight[ ])?[Tt]ime)?|[A-Z][a-z]+[ ]time|local[ ]time)"
)
_NAMED_ZONE: Final = {"et": "eastern", "ct": "central", "mt": "mountain", "pt": "pacific"}


def zone_offset(text: str) -> tuple[int | None, str]:
    """Return the offset from UTC in minutes and the zone's plain name; the offset is None where it depends on the season or is unknown."""
    zone = (
        text.strip().lower().replace("u.s. ", "").replace("us ", "").replace(" standard", "").replace(" daylight", "")
    )
    if zone in _OFFSETS:
        return _OFFSETS[zone], zone
    found = re.fullmatch(r"(?:utc|gmt)?\s?([+-])\s?(\d{1,2}):?(\d{2})?", zone)
    if found:
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        return (-minutes if found[1] == "-" else minutes), zone
    name = zone.removesuffix(" time")
    return None, _NAMED_ZONE.get(name, name)


def partial(
    year: int | None = None, month: int | None = None, day: int | None = None, weekday: int | None = None
) -> str:
    """Return the normal form of a date of which some parts may be unknown."""
    text = f"{year or '????'}-{month or 0:02d}-{day or 0:02d}".replace("-00", "-??")
    return text + (f"/{weekday}" if weekday else "")


def compatible(a: str, b: str) -> bool:
    """Return whether two dates in normal form can be the same: every part that both name is equal."""
    if a == b:
        return True
    ranges = ("~" in a) or ("~" in b)
    if ranges:
        return False
    left, _, left_weekday = a.partition("/")
    right, _, right_weekday = b.partition("/")
    left_weekday = left_weekday or _weekday_of(left)
    right_weekday = right_weekday or _weekday_of(right)
    if left_weekday and right_weekday and left_weekday != right_weekday:
        return False
    shared = False
    for x, y in zip(left.split("-"), right.split("-"), strict=True):
        if x[0] != "?" and y[0] != "?":
            if x != y:
                return False
            shared = True
    return shared or bool(left_weekday and right_weekday)


def detail(canonical: str) -> int:
    """Return how many parts of a date are named."""
    if "-" not in canonical:
        return 1
    named = 3 - canonical.count("????") - canonical.count("-??")
    return named or 1  # a weekday adds nothing to a day that is named


def _weekday_of(canonical: str) -> str:
    if "?" in canonical:
        return ""
    try:
        return str(date.fromisoformat(canonical).isoweekday())
    except ValueError:
        return ""


TODAY_WORDS: Final[dict[str, int]] = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "heute": 0, "gestern": -1, "übermorgen": 2, "vorgestern": -2, "hoy": 0, "ayer": -1,
    "mañana": 1, "aujourd'hui": 0, "demain": 1, "hier": -1, "oggi": 0, "domani": 1, "ieri": -1, "hoje": 0, "amanhã": 1, "ontem": -1,
    "vandaag": 0, "morgen": 1, "gisteren": -1, "сегодня": 0, "завтра": 1, "вчера": -1, "послезавтра": 2, "позавчера": -2,
    "dziś": 0, "dzisiaj": 0, "jutro": 1, "wczoraj": -1, "bugün": 0, "yarın": 1, "dün": -1, "اليوم": 0, "غدا": 1, "أمس": -1, "היום": 0, "מחר": 1, "אתמול": -1,
    "오늘": 0, "내일": 1, "어제": -1, "आज": 0,
}  # fmt: skip
CJK_TODAY: Final[dict[str, int]] = {
    "今天": 0,
    "明天": 1,
    "后天": 2,
    "昨天": -1,
    "前天": -2,
    "今日": 0,
    "明日": 1,
    "昨日": -1,
    "明後日": 2,
    "一昨日": -2,
}
LANGUAGE_OF_TODAY: Final[dict[str, str]] = {"hier": "fr", "morgen": "de nl", "mañana": "es", "ayer": "es", "hoy": "es"}
"""Words that name a day only in these languages."""

NEXT_WORDS: Final[dict[str, int]] = {
    "next": 1, "last": -1, "this": 0, "coming": 1, "past": -1, "previous": -1, "following": 1, "nächste": 1, "nächsten": 1, "nächster": 1, "nächstes": 1,
    "letzte": -1, "letzten": -1, "letzter": -1, "letztes": -1, "diese": 0, "diesen": 0, "dieser": 0, "dieses": 0, "volgende": 1, "vorige": -1,
    "следующий": 1, "следующую": 1, "следующей": 1, "следующем": 1, "прошлый": -1, "прошлую": -1, "прошлой": -1, "прошлом": -1,
}  # fmt: skip
PERIODS: Final[dict[str, str]] = {
    "day": "day", "week": "week", "weekend": "weekend", "month": "month", "year": "year", "quarter": "quarter", "woche": "week", "monat": "month",
    "jahr": "year", "wochenende": "weekend", "week-end": "weekend", "maand": "month", "jaar": "year", "неделю": "week", "неделе": "week", "месяц": "month", "месяце": "month",
    "год": "year", "году": "year", "morning": "day", "afternoon": "day", "evening": "day", "night": "day", "summer": "season", "winter": "season",
    "spring": "season", "autumn": "season", "fall": "season", "semana": "week", "semaine": "week", "settimana": "week", "mes": "month", "mois": "month",
    "mese": "month", "mês": "month", "año": "year", "an": "year", "année": "year", "anno": "year", "ano": "year",
}  # fmt: skip


def shift_period(period: str, steps: int, at: date) -> str:
    """Return in normal form the day, week, month, quarter, season or year that lies `steps` from the one of `at`."""
    if period == "day":
        return (at + timedelta(days=steps)).isoformat()
    if period in ("week", "weekend"):
        start = at - timedelta(days=at.weekday()) + timedelta(weeks=steps)
        first = start + timedelta(days=5) if period == "weekend" else start
        return f"{first.isoformat()}~{(start + timedelta(days=6)).isoformat()}"
    if period == "month":
        months = at.year * 12 + at.month - 1 + steps
        return partial(months // 12, months % 12 + 1)
    if period == "quarter":
        quarters = at.year * 4 + (at.month - 1) // 3 + steps
        return f"{quarters // 4}~q{quarters % 4 + 1}"
    if period == "season":
        return f"{at.year + steps}~season"
    return partial(at.year + steps)


def shift_weekday(weekday: int, steps: int, at: date) -> str:
    """Return the date of `next`, `this` or `last` Monday seen from `at`: the nearest one after, on or after, or before it."""
    ahead = (weekday - at.isoweekday()) % 7
    if steps > 0:
        ahead = ahead or 7
    elif steps < 0:
        ahead -= 7
    return (at + timedelta(days=ahead)).isoformat()


def moved(amount: float, dimension: str, factor: float, sign: int, at: date) -> str | None:
    """Return the date (or month, or year) that lies an amount of time from `at`, at the precision of the unit; None below a day."""
    if dimension == "month":
        months = int(amount * factor) * sign
        if factor >= 12:
            return partial(at.year + int(amount * factor / 12) * sign)
        total = at.year * 12 + at.month - 1 + months
        return partial(total // 12, total % 12 + 1)
    days = amount * factor / 86400.0
    if days != int(days) or not 1 <= days <= 36500:
        return None
    return (at + timedelta(days=int(days)) * sign).isoformat()
