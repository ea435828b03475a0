"""Statements in other languages than English: only what shows in the form, plain negators and a few small verbs."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from typing import Final

from factsieve.core.guard import Comparison
from factsieve.core.guard.textnorm import normalise
from factsieve.core.relation import words as w
from factsieve.core.relation.reading import Reading, Relation

_SPACED: Final = re.compile(r"\w+(?:[.,:]\d+)*%?|[%€$£°+]+")
_UNSPACED: Final = re.compile("[\uac00-\ud7af\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_CJK_NUMBER: Final = re.compile("[0-9〇一二三四五六七八九十百千万億两]+")
_COUNTERS: Final = frozenset("本名個个人件円元台枚冊册回杯匹头頭位席点分%％度度钟米本张張辆辆棟间間")
_DENIALS: Final = (
    ("ではありません", "です"),
    ("じゃありません", "です"),
    ("できない", "できる"),
    ("していません", "しています"),
    ("ありません", "あります"),
    ("できません", "できます"),
    ("ません", "ます"),
)
"""Japanese endings that deny, and what they deny."""
_VALUE_VERBS: Final = w.words(
    "ist sind hat haben kostet beträgt betragen umfasst zählt fasst dauert öffnet schließt wiegt misst lautet beginnt endet es está son están tiene tienen cuesta cuestan mide pesa dura abre cierra cobra empieza termina vale"
    " est sont a ont coûte coûtent mesure pèse dure ouvre ferme commence s'élève compte è sono ha hanno costa costano misura pesa dura apre chiude inizia é são está tem têm custa mede abre fecha começa"
    " kost bedraagt heeft telt duurt opent sluit kosztuje ma wynosi trwa стоит имеет составляет длится весит открывается закрывается начинается стоят насчитывает"
)
_PLACES: Final = ["wohnt", "lebt", "liegt", "steht", "sitzt", "hängt", "arbeitet", "befindet", "vive", "reside", "está", "trabaja", "habite", "réside", "travaille", "abita", "risiede", "lavora", "mora", "reside", "fica", "trabalha", "woont", "ligt", "staat", "werkt", "mieszka", "живёт", "живет", "находится", "проживает", "работает", "расположен", "расположена"]  # fmt: skip
_SCHEDULED: Final = w.words("lieu reunión réunion")
_WEEKDAYS: Final = w.words(
    "montag dienstag mittwoch donnerstag freitag samstag sonntag lunes martes miércoles jueves viernes sábado domingo lundi mardi mercredi jeudi vendredi samedi dimanche lunedì martedì mercoledì giovedì venerdì sabato domenica"
    " januar februar märz april mai juni juli august september oktober november dezember enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre janvier février mars avril juin juillet août septembre octobre novembre décembre"
)


def relate_foreign(candidate: str, stored: str, comparison: Comparison) -> Reading:
    """Return what a candidate in another language than English is to a stored statement; in doubt both stand."""
    kinds = {f.kind for f in comparison.findings}
    if kinds == {"negation"} and not comparison.novelty and comparison.aligned >= 0.8:
        return Reading(Relation.REPLACES, 0.85, "denies what is stored")
    if (
        not comparison.novelty
        and not comparison.missing
        and kinds == {"antonym"}
        and comparison.aligned >= 0.5
        and len(comparison.findings) == 1
    ):
        return Reading(Relation.REPLACES, 0.82, "says the opposite of what is stored")
    new, old = normalise(candidate), normalise(stored)
    if _UNSPACED.search(new) or _UNSPACED.search(old):
        return _unspaced(new, old)
    return _spaced(new, old)


def _spaced(new: str, old: str) -> Reading:
    ours, theirs = _SPACED.findall(new), _SPACED.findall(old)
    matcher = SequenceMatcher(None, [t.casefold() for t in theirs], [t.casefold() for t in ours], autojunk=False)
    changes = [o for o in matcher.get_opcodes() if o[0] != "equal"]
    both = Reading(Relation.BOTH_STAND, 0.5, "another statement, as far as its form tells")
    if not changes or any(tag != "replace" for tag, *_ in changes) or len(changes) > 2:
        return both
    first = changes[0][1]
    before = [t.casefold() for t in theirs[:first]]
    verb = next((i for i in range(len(before) - 1, 0, -1) if before[i] in _VALUE_VERBS or before[i] in _PLACES), None)
    if verb is None:
        return both
    changed = [t.casefold() for _, a1, a2, b1, b2 in changes for t in (*theirs[a1:a2], *ours[b1:b2])]
    numbers = all(t[:1].isdigit() or t in _WEEKDAYS for t in changed)
    at_once = first - verb <= 4
    if numbers and at_once:
        return Reading(Relation.REPLACES, 0.82, "another number or time of the same statement")
    if len(changes) == 1 and before[verb] in _PLACES and 1 <= first - verb <= 3 and len(theirs) - first <= 4:
        return Reading(Relation.REPLACES, 0.8, "another place of the same thing") if _place(before, verb) else both
    return (
        Reading(Relation.CONFLICTS, 0.5, "another value; it is not known whether both can hold")
        if at_once and len(changes) == 1
        else both
    )


def _place(before: list[str], verb: int) -> bool:
    return any(
        t
        in (
            "in",
            "en",
            "à",
            "au",
            "a",
            "ad",
            "em",
            "na",
            "no",
            "w",
            "we",
            "op",
            "te",
            "bei",
            "am",
            "an",
            "im",
            "в",
            "во",
            "на",
        )
        for t in before[verb + 1 :]
    )


def _unspaced(new: str, old: str) -> Reading:
    if _affirmed(new) == _affirmed(old) and new != old:
        return Reading(Relation.REPLACES, 0.85, "denies what is stored")
    both = Reading(Relation.BOTH_STAND, 0.5, "another statement, as far as its form tells")
    matcher = SequenceMatcher(None, _pieces(old), _pieces(new), autojunk=False)
    changes = [o for o in matcher.get_opcodes() if o[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return both
    _, a1, a2, b1, b2 = changes[0]
    theirs, ours = _pieces(old), _pieces(new)
    if a2 - a1 == 1 and b2 - b1 == 1 and _CJK_NUMBER.fullmatch(theirs[a1]) and _CJK_NUMBER.fullmatch(ours[b1]):
        following = theirs[a2 : a2 + 1]
        if following and following[0] in _COUNTERS and theirs[a1 - 1 : a1] != ["第"] and a1 > 1:
            return Reading(Relation.REPLACES, 0.82, "another number of the same statement")
    return both


def _affirmed(text: str) -> str:
    """Return a Japanese, Korean or Chinese statement with its plain denial taken out."""
    bare = text.rstrip("。．.!！ ")
    if bare.endswith("지 않습니다"):  # Korean: stem + -ji anseumnida denies stem + -mnida or -seumnida
        stem = bare.removesuffix("지 않습니다")
        joined = unicodedata.normalize("NFC", unicodedata.normalize("NFD", stem) + "\u11b8니다")
        return joined if len(joined) == len(stem) + 2 else stem + "습니다"
    for negative, positive in _DENIALS:
        if bare.endswith(negative):
            return bare.removesuffix(negative) + positive
    return bare


def _pieces(text: str) -> list[str]:
    return re.findall("[0-9.]+|[〇一二三四五六七八九十百千万億两]+|[A-Za-z]+|.", text)
