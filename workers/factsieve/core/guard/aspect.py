"""What is so, what goes on, what is done and what may be: one verb in two forms."""

from __future__ import annotations

from typing import Final

from factsieve.core.guard.lexicon import BE, words
from factsieve.core.guard.model import Finding
from factsieve.core.guard.oneplace import SMALL, Place, only_in
from factsieve.core.guard.stems import PARTICIPLES, base_form


def aspect_finding(ours: tuple[str, ...], theirs: tuple[str, ...], place: Place) -> Finding | None:
    """Return a finding where one text tells a state and the other a becoming, one what is and the other what was, or what may be."""
    if max(len(place.ours), len(place.theirs)) <= SMALL:
        for one, other in ((place.ours, place.theirs), (place.theirs, place.ours)):
            kind = _kind(one, other, place) if one else ""
            if kind:
                return Finding(kind, *place.excerpts)
    return _then_and_now(ours, theirs)


def _kind(one: tuple[str, ...], other: tuple[str, ...], place: Place) -> str:
    """Return `tense` or `modality` where `one` says so against `other`, else nothing."""
    single = len(one) == len(other) == 1
    becoming = (
        ("being" in one and tuple(word for word in one if word != "being") == other)
        or (_BECOMING.intersection(one) and not _BECOMING.intersection(other))
        or (single and one[0] in _GETS and (other[0] in _HAVE or (other[0] in BE and not _done(place.behind))))
    )
    over = (
        (one[0] in _HAVE and len(other) > 1 and other[0] in BE and other[-1].endswith("ing"))
        or (one[:2] == ("used", "to") and len(other) == 1 and other[0] not in _WERE and place.before not in BE)
        or (place.before in _MODALS and one[0] == "have" and "have" not in other)
        or (single and _today_and_then(one[0], other[0]))
        or (one[0] == "will" and len(one) == 2 and len(other) == 1 and _past_of(other[0], one[1]))
    )
    if becoming or over or _goes_on(one, other, place):
        return "tense"
    to_do = one[0] == "to" and "to" not in other and (one[1:2] == ("be",) or other[:1] == ("been",))
    able = one[0] in _MODAL and len(one) == 2 and len(other) == 1 and _same_verb(other[0], one[1])
    return "modality" if able or (to_do and (place.before in BE or place.before in _HAVE)) else ""


def _then_and_now(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Finding | None:
    """Find a verb in the past in one text and in the present in the other where hardly anything else differs."""
    one, other = only_in(ours, theirs, _FEW_WORDS), only_in(theirs, ours, _FEW_WORDS)
    if one is None or other is None or not BE.isdisjoint((*one, *other)) or "by" in (*one, *other):
        return None
    for a in one:
        for b in other:
            if _today_and_then(a, b) or _today_and_then(b, a):
                return Finding("tense", a, b)
    return None


_FEW_WORDS: Final = 3


def _goes_on(one: tuple[str, ...], other: tuple[str, ...], place: Place) -> bool:
    """Return whether one text tells what goes on and the other what is done: `is closing`, `is closed`; `is moving`, `moved`."""
    if not one or not one[-1].endswith("ing") or not other or other[-1].endswith("ing"):
        return False
    if len(one) == len(other) == 1:
        return place.before in BE and _akin(one[0], other[0])
    past = base_form(other[0]) != other[0] or other[0].endswith("ed")
    return len(one) == 2 and one[0] in BE and len(other) == 1 and past and _akin(one[1], other[0])


def _akin(going: str, word: str) -> bool:
    base = base_form(word)
    start = going[: max(2, min(len(going) - 3, len(base)) - 1)]
    return base.startswith(start)


def _done(word: str) -> bool:
    return word.endswith("ed") or word in PARTICIPLES


def _same_verb(told: str, base: str) -> bool:
    """Return whether `told` is a finite form of the verb `base`: swims, swam, tries."""
    return told != base and (
        base_form(told) == base or told in (base + "s", base + "es", base + "ed", base + "d", base[:-1] + "ies")
    )


def _past_of(told: str, base: str) -> bool:
    return not told.endswith("s") and _same_verb(told, base)


def _today_and_then(now: str, then: str) -> bool:
    """Return whether one word is the present of a verb and the other its simple past: works, worked; sells, sold; does, did."""
    if now == then or not now.endswith("s") or now.endswith("ss"):
        return False
    bases = {now[:-1], now[:-2], now[:-3] + "y"} | {base_form(now)}
    if base_form(then) != then:
        return not then.endswith("s") and base_form(then) in bases
    return then.endswith("ed") and (
        then[:-2] in bases or then[:-1] in bases or then[:-3] + "y" in bases or then[:-3] in bases
    )


_BECOMING: Final = words("become becomes becoming became getting")
_GETS: Final = words("get gets got grows grew turns turned went goes")
_HAVE: Final = words("has have had")
_WERE: Final = words("was were formerly previously once former")
_MODAL: Final = words("can could should would shall")
_MODALS: Final = words("can could should would may might must will")
