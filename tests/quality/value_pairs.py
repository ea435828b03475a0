"""Pairs of sentences that differ in one number, date, unit or identifier and in nothing else, made by rule from real sentences."""

import random
import re
import string
from collections.abc import Iterator, Sequence

NUMBERS = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "twenty",
    "thirty",
    "forty",
    "fifty",
]
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
UNITS = [
    ("seconds", "minutes"),
    ("minutes", "hours"),
    ("hours", "days"),
    ("days", "weeks"),
    ("weeks", "months"),
    ("MB", "GB"),
    ("GB", "TB"),
    ("km", "m"),
    ("kg", "g"),
    ("euros", "dollars"),
    ("million", "billion"),
    ("°C", "°F"),
    ("percent", "euros"),
    ("Mbit", "MB"),
    ("litres", "gallons"),
    ("kHz", "MHz"),
    ("am", "pm"),
]


def changed(text: str, random_: random.Random) -> Iterator[tuple[str, str]]:
    """Yield (kind of change, changed text) for what can be changed in `text`."""
    for found in re.finditer(r"\d+", text):
        digits, before, after = found[0], text[: found.start()], text[found.end() :]
        at = random_.randrange(len(digits))
        other = random_.choice([digit for digit in "123456789" if digit != digits[at]])
        yield "digit", before + digits[:at] + other + digits[at + 1 :] + after
        yield "longer", before + digits + "7" + after
        if len(digits) > 1 and digits[0] != digits[1] and digits[1] != "0":
            yield "transposed", before + digits[1] + digits[0] + digits[2:] + after
    for kind, names in (("number word", NUMBERS), ("month", MONTHS), ("weekday", WEEKDAYS)):
        for name in names:
            for found in re.finditer(rf"\b{name}\b", text):
                if name in ("May", "March") and not found.start():
                    continue  # a verb at the beginning of a sentence
                yield (
                    kind,
                    text[: found.start()] + random_.choice([n for n in names if n != name]) + text[found.end() :],
                )
    for pair in UNITS:
        for unit, other in (pair, pair[::-1]):
            for found in re.finditer(rf"(?<=\d )(?:{unit})\b|(?<=\d)(?:{unit})\b", text):
                yield "unit", text[: found.start()] + other + text[found.end() :]
    for found in re.finditer(r"\b[A-Za-z]+[-_]?\d[\w-]*\b|\b[A-Za-z]\w*_\w+\b", text):
        word = found[0]
        at = random_.randrange(len(word))
        if word[at].isascii() and word[at].isalpha():
            other = random_.choice([letter for letter in string.ascii_lowercase if letter != word[at].lower()])
            other = other.upper() if word[at].isupper() else other
            yield "identifier", text[: found.start()] + word[:at] + other + word[at + 1 :] + text[found.end() :]


def value_pairs(texts: Sequence[str], count: int, seed: int) -> list[tuple[str, str, str]]:
    """Return up to `count` (kind, sentence, changed sentence), at most one of each kind for one sentence."""
    random_ = random.Random(seed)
    rows = []
    for text in sorted(set(texts)):
        changes = list(changed(text, random_))
        random_.shuffle(changes)
        seen: set[str] = set()
        for kind, other in changes:
            if kind not in seen and other != text:
                seen.add(kind)
                rows.append((kind, text, other))
    random_.shuffle(rows)
    return rows[:count]
