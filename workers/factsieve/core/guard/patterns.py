"""The one pattern that cuts a normalised text into values, words and symbols, compiled once."""

from __future__ import annotations

import re
from typing import Final

from factsieve.core.guard.days import MONTHS, ZONE

UNSPACED: Final = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana and Han: scripts that do not put spaces between words."""
_MARKS: Final = r"\u0300-\u036f\u0483-\u0487\u06d6-\u06ed\u0900-\u0903\u093a-\u0963\u0971-\u0983\u09bc-\u09e3\u0a01-\u0d63\u200c\u200d"
LETTERS: Final = rf"[^\W\d_{UNSPACED}]+(?:[{_MARKS}]+[^\W\d_{UNSPACED}]*)*"

_MONTH: Final = "(?:" + "|".join(sorted((re.escape(name) for name in MONTHS), key=len, reverse=True)) + r")(?![^\W\d_])"
_YEAR: Final = r"[1-9][0-9]{3}(?!\d|[.,]\d)"
_ORDINAL: Final = r"(?:st|nd|rd|th|er|º|ª|\.)?"

PHRASES: Final[dict[str, tuple[str, str]]] = {
    "no longer": ("negation", "no longer"),
    "no more than": ("quantifier", "at_most"),
    "no less than": ("quantifier", "at_least"),
    "no fewer than": ("quantifier", "at_least"),
    "not more than": ("quantifier", "at_most"),
    "not less than": ("quantifier", "at_least"),
    "any more": ("skip", ""),
    "yet to": ("negation", "yet to"),
    "instead of": ("negation", "instead of"),
    "instead of only": ("negation", "instead of"),
    "instead of just": ("negation", "instead of"),
    "instead of merely": ("negation", "instead of"),
    "rather than": ("negation", "rather than"),
    "rather than only": ("negation", "rather than"),
    "rather than just": ("negation", "rather than"),
    "rather than merely": ("negation", "rather than"),
    "not only": ("also", ""),
    "not just": ("also", ""),
    "not merely": ("also", ""),
    "all that is needed": ("quantifier", "only"),
    "all that is required": ("quantifier", "only"),
    "all that you need": ("quantifier", "only"),
    "all you need": ("quantifier", "only"),
    "you may want to": ("modality", "can"),
    "you might want to": ("modality", "can"),
    "eliminate the need": ("negation", "no need"),
    "eliminates the need": ("negation", "no need"),
    "remove the need": ("negation", "no need"),
    "removes the need": ("negation", "no need"),
    "obviate the need": ("negation", "no need"),
    "obviates the need": ("negation", "no need"),
    "no doubt": ("skip", ""),
    "no matter": ("skip", ""),
    "you want to": ("skip", ""),
    "in the absence of": ("absence", "absence of"),
    "in absence of": ("absence", "absence of"),
    "the absence of": ("negation", "absence of"),
    "without exception": ("quantifier", "all"),
    "without fail": ("quantifier", "always"),
    "without doubt": ("skip", ""),
    "without question": ("skip", ""),
    "at least": ("quantifier", "at_least"),
    "a minimum of": ("quantifier", "at_least"),
    "at most": ("quantifier", "at_most"),
    "a maximum of": ("quantifier", "at_most"),
    "up to": ("quantifier", "at_most"),
    "more than": ("quantifier", "more_than"),
    "less than": ("quantifier", "less_than"),
    "greater than": ("quantifier", "more_than"),
    "want to": ("modality", "want"),
    "hope to": ("modality", "hope"),
    "fewer than": ("quantifier", "less_than"),
    "used to be": ("tense", "past"),
    "going to": ("modality", "future"),
    "about to": ("modality", "plan"),
    "plans to": ("modality", "plan"),
    "plan to": ("modality", "plan"),
    "planning to": ("modality", "plan"),
    "intends to": ("modality", "plan"),
    "wants to": ("modality", "want"),
    "hopes to": ("modality", "hope"),
    "has to": ("modality", "must"),
    "have to": ("modality", "must"),
    "needs to": ("modality", "need"),
    "need to": ("modality", "need"),
    "required to": ("modality", "need"),
    "give up": ("negation", "give up"),
    "gives up": ("negation", "gives up"),
    "gave up": ("negation", "gave up"),
    "given up": ("negation", "given up"),
    "giving up": ("negation", "giving up"),
    "anything but": ("negation", "anything but"),
    "all but": ("quantifier", "except"),
    "everyone but": ("quantifier", "except"),
    "everybody but": ("quantifier", "except"),
    "everything but": ("quantifier", "except"),
    "nobody but": ("quantifier", "only"),
    "no one but": ("quantifier", "only"),
    "none but": ("quantifier", "only"),
    "nothing but": ("quantifier", "only"),
    "at the earliest": ("quantifier", "at_least"),
    "at the soonest": ("quantifier", "at_least"),
    "not give up": ("persist", ""),
    "never give up": ("persist", ""),
    "not giving up": ("persist", ""),
    "never giving up": ("persist", ""),
    "without giving up": ("persist", ""),
    "can't stand": ("dislike", ""),
    "cannot stand": ("dislike", ""),
    "can not stand": ("dislike", ""),
    "such as": ("skip", ""),
    "as well as": ("skip", ""),
    "each other": ("skip", ""),
    "a few": ("quantifier", "some"),
    "a lot of": ("skip", ""),
    "in order to": ("skip", ""),
    "mindestens": ("quantifier", "at_least"),
    "höchstens": ("quantifier", "at_most"),
    "mehr als": ("quantifier", "more_than"),
    "weniger als": ("quantifier", "less_than"),
    "nicht mehr": ("negation", "nicht mehr"),
    "nicht nur": ("also", ""),
    "al menos": ("quantifier", "at_least"),
    "como máximo": ("quantifier", "at_most"),
    "no solo": ("also", ""),
    "no sólo": ("also", ""),
    "au moins": ("quantifier", "at_least"),
    "au plus": ("quantifier", "at_most"),
    "non seulement": ("also", ""),
    "almeno": ("quantifier", "at_least"),
    "al massimo": ("quantifier", "at_most"),
    "не менее": ("quantifier", "at_least"),
    "не более": ("quantifier", "at_most"),
    "не только": ("also", ""),
    "больше не": ("negation", "больше не"),
}
"""Phrases whose meaning is not that of their words: what kind of mark each leaves, and its value."""

_BY_FIRST: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}
for _phrase, (_kind, _value) in PHRASES.items():
    _first, *_rest = _phrase.split()
    _BY_FIRST.setdefault(_first, []).append((tuple(_rest), _kind, _value))
PHRASES_BY_FIRST_WORD: Final = {
    first: tuple(sorted(rest, key=lambda row: -len(row[0]))) for first, rest in _BY_FIRST.items()
}

_NAMES = r"""
(?P<url>(?:https?|ftp|s3|git|ssh|jdbc|file)://[^\s<>"']*[^\s<>"'.,;:!?)\]}]|www\.[^\s<>"']*[^\s<>"'.,;:!?)\]}])
|(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
"""
_DIGITS = rf"""
|(?P<iso>(?<![\w.-])(?P<iy>\d{{4}})-(?P<im>0[1-9]|1[0-2])-(?P<id>0[1-9]|[12]\d|3[01])
    (?:[Tt ](?P<ih>[01]\d|2[0-4]):(?P<imin>[0-5]\d)(?::(?P<isec>\d\d)(?:[.,]\d+)?)?\s?(?P<iz>Z\b|[+-]\d\d:?\d\d(?!\d)|(?:UTC|GMT)\b)?)?(?![\w-]))
|(?P<cjkdate>(?:(?P<cy>\d{{4}})年\s?)?(?P<cm>\d{{1,2}})月(?:\s?(?P<cd>\d{{1,2}})[日号])?|(?P<cy2>\d{{4}})年)
|(?P<dm>(?<![\w.-])(?P<dmd>\d{{1,2}}){_ORDINAL}[ \t-]?(?:of[ ]|de[ ]|do[ ])?(?P<dmm>{_MONTH})(?:\.(?=\s?\d))?(?:(?:,|[ ]de|[ ]of|-)?\s?(?P<dmy>{_YEAR}))?)
|(?P<md>(?<![\w.-])(?P<mdm>{_MONTH})\.?[ ](?:the[ ])?(?P<mdd>\d{{1,2}}){_ORDINAL}(?![\w:%]|[.,]\d)(?:,?\s(?P<mdy>{_YEAR}))?)
|(?P<my>(?<![\w.-])(?P<mym>{_MONTH})\.?,?\s(?:of[ ]|de[ ])?(?P<myy>{_YEAR}))
|(?P<numdate>(?<![\w./-])(?:(?P<n1>\d{{1,2}})(?P<nsep>[./-])(?P<n2>\d{{1,2}})(?P=nsep)(?P<n3>\d{{4}}|\d{{2}})
    |(?P<y1>\d{{4}})[./](?P<y2>\d{{1,2}})[./](?P<y3>\d{{1,2}}))(?![\w./-]*\d))
|(?P<time>(?<![0-9.:])(?<![^\W{UNSPACED}])(?P<tpre>午前|午後|上午|下午|晚上|早上|凌晨|오전[ ]|오후[ ])?(?P<th>[01]?\d|2[0-4])(?::(?P<tm>[0-5]\d)(?!\d)(?::(?P<ts>[0-5]\d)(?!\d))?(?:\s?(?P<tap>[ap]\.?m\b\.?))?|\s?(?P<tap2>[ap]\.?m\b\.?)
    |\s?(?:h(?P<thm>[0-5]\d)|Uhr(?:\s(?P<tum>[0-5]\d))?|時(?!間)(?:(?P<tjm>\d\d?)分)?|点(?:(?P<tzm>\d\d?)分)?|시(?!간))(?![^\W{UNSPACED}])|\s?o'clock)
    (?:\s?\(?(?P<tz>{ZONE})\)?(?!\w))?)
|(?P<ip>(?<![\w.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d{{1,5}}|/\d{{1,2}})?(?![\w.]*\w))
|(?P<version>(?<![\w.])v?\d+(?:\.\d+){{2,}}(?:[-+]?[a-z]\w*(?:[.-]\w+)*|-\d[\w.]*)?(?!\w)|(?<![\w.])v\d+(?:\.\d+)*(?:-[\w.]*\w)?(?!\w))
|(?P<ident>(?<!\w)(?=[^\s\d,;()'"]*\d)[^\W\d_{UNSPACED}][^\W{UNSPACED}]*(?:[-_./:\#@]+[^\W{UNSPACED}]+)*)
|(?P<money>(?:US\$|\$US|[AC]\$|[$€£¥₹₩₽₺]|(?<!\w)(?:USD|EUR|GBP|CHF|JPY|CAD|AUD))\s?(?=\d))
"""
_WORDS = rf"""
(?P<word>{LETTERS}(?:'{LETTERS})*)
|(?P<unspaced>[{UNSPACED}])
"""
_REST = rf"""
|(?P<flag>(?<![\w-])--?[A-Za-z][\w-]*(?:=[^\s,;]+)?)
|(?P<path>(?<![\w.~/<])(?:~|\.{{1,2}})?/[\w.@+-]+(?:/[\w.@+-]*)*(?<![.,])|\b[A-Za-z]:\\[^\s"']*)
|(?P<langsym>(?<!\w)[A-Za-z]{{1,8}}(?:\+\+|\#|\+(?![\w+]))(?![\w+]))
|(?P<name>(?<!\w)[^\W\d_]+(?:_+\w+)+|(?<!\w)_+\w+|(?<![\w.])[a-z][\w-]*(?:\.[a-z][\w-]*)+(?![\w.]*\w))
|(?P<digits>\d)
|{_WORDS}
|(?P<operator><=|>=|!=|==|->|=>|<-|&&|\|\||[<>=+*^~%&@\#$€£¥₹₽₩→←↑↓↔⇒≤≥≠≈±÷√∞])
|(?P<other>[^\w\s.,;:!?'"()\[\]{{}}/\\`|-])
"""
SCAN: Final = re.compile(_NAMES + _DIGITS + _REST, re.VERBOSE | re.IGNORECASE)
SCAN_WITHOUT_DIGITS: Final = re.compile(_NAMES.lstrip().lstrip("|") + _REST, re.VERBOSE | re.IGNORECASE)
"""The same for a text in which no digit occurs: the shorter pattern is several times faster."""
MAY_BE_MORE: Final = re.compile(r"[^\w\s.,;:!?'\"()\[\]{}`|-]|_|\.\w|(?<!\w)-|[Ww]{3}\.")
"""What every match of that but a word holds: in a text without digits in which this finds nothing, there are words alone."""
WORDS: Final = re.compile(_WORDS, re.VERBOSE | re.IGNORECASE)

NUMBER: Final = re.compile(
    r"(?P<whole>\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[ ']\d{3})+(?!\d)|\d{1,3}(?:\.\d{3}){2,}(?!\d)|\d+)(?P<fraction>[.,]\d+(?!\d))?"
)
MIXED: Final = re.compile(rf"[^\W{UNSPACED}]+(?:[-_/.:#@]+[^\W{UNSPACED}]+)*")
"""A word that begins with a digit, with everything that hangs on it."""
TAIL: Final = re.compile(r"[ -]?(?P<unit>°\s?[CFcf](?!\w)|[%‰°€£$¥₽₺₩₹]|[^\W\d_]+(?:\^?[23](?!\w))?)")
RATE: Final = re.compile(r"(?:\s?/\s?|\s+per\s+|\s+pro\s+|\s+por\s+|\s+par\s+)(?P<per>[^\W\d_]+)")
FRACTION: Final = re.compile(r"\s?(?P<top>\d{1,3})/(?P<bottom>\d{1,3})(?![\d/])")
