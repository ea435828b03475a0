"""Negation, modality and relative days in Chinese, Japanese and Korean, which mark them inside words or without spaces."""

from __future__ import annotations

import re
from typing import Final

_ZH_NOT: Final = re.compile(
    "(?:不(?![断仅但管过论久同少错妨禁愧凡]|得不|可或缺|是吗)|没(?!关系|收)|未(?![来必])|(?<![特区类级性个分告])别(?=[再去让把碰动])|勿|无(?![论线数疑锡]))"
)
_ZH_NOT_EXCEPT_BEFORE: Final = re.compile(
    "[差]不多|不好意思|对不起|了不起|来不及|不得不|要不|是不是|能不能|会不会|有没有|可不可以"
)
_JA_NOT: Final = re.compile(
    "ませ[んぬ]|(?<![少危切汚])な(?:い(?!か|と(?:いけ|なら))|かった|く(?:な|て))|(?<=[わかさたなまらばえけせてねへめれ])ず(?:に)?(?=[、。ぁ-ん一-龥]|$)|[不未無非](?=[一-龥])"
)
_JA_NOT_EXCEPT: Final = re.compile(
    "かもしれ(?:ない|ません)|(?:なければ|なくては|ないと|ねば)(?:なら|いけ)(?:ない|ません)|に違いない|じゃないか|ではないか|すみません"
)
_KO_NOT: Final = re.compile("지\\s?(?:않|못|말)|(?:^|\\s)(?:안|못)\\s|없(?!이)|아니(?!라)|아닙|아닌")
_MUST: Final = {
    "ja": re.compile("(?:なければ|なくては|ないと)(?:なら|いけ)|べき"),
    "zh": re.compile("必须|必須|一定要|得(?=[去在把])"),
    "ko": re.compile("야\\s?(?:하|합|한|해)"),
}
_MIGHT: Final = {
    "ja": re.compile("かもしれ|でしょう|だろう"),
    "zh": re.compile("可能|也许|或许|大概"),
    "ko": re.compile("[을ㄹ할될일]\\s?(?:수도|지도)|아마"),
}
_PLAN: Final = {"ja": re.compile("予定|つもり"), "zh": re.compile("计划|打算|将要|准备"), "ko": re.compile("예정|계획")}
_ALSO: Final = {
    "ja": re.compile("だけで(?:は)?なく"),
    "zh": re.compile("不仅|不但|不只"),
    "ko": re.compile("뿐만\\s?아니라|뿐\\s?아니라"),
}
_QUANTITIES: Final = {
    "ja": (("all", re.compile("すべて|全て|全員|毎")), ("only", re.compile("だけ|のみ|しか")), ("at_least", re.compile("以上|少なくとも")), ("at_most", re.compile("以下|以内|最大")), ("some", re.compile("一部|いくつか"))),
    "zh": (("all", re.compile("所有|全部|每[个天周月年]|都")), ("only", re.compile("只(?!有)|仅(?<!不仅)")), ("at_least", re.compile("至少|不少于|以上")), ("at_most", re.compile("至多|最多|不超过|以下")), ("some", re.compile("有些|一些|部分"))),
    "ko": (("all", re.compile("모든|모두|매[일주월년]")), ("only", re.compile("오직|뿐|만(?=\\s)")), ("at_least", re.compile("이상|최소|적어도")), ("at_most", re.compile("이하|최대|이내")), ("some", re.compile("일부|몇몇"))),
}  # fmt: skip
_PAST: Final = {
    "ja": re.compile("(?:し|っ|い|ん|まし|だっ|でし|かっ)[ただ](?=[。、！!]|$)"),
    "ko": re.compile("[았었였했됐갔왔]습?(?:다|니다|어요)"),
    "zh": re.compile("(?<=[一-龥])过(?=[一-龥。]|$)|曾经|曾"),
}


def negation_count(text: str, language: str) -> int:
    """Return how often normalised `text` negates."""
    if language == "zh":
        return len(_ZH_NOT.findall(_ZH_NOT_EXCEPT_BEFORE.sub("", text)))
    if language == "ja":
        return len(_JA_NOT.findall(_ALSO["ja"].sub("", _JA_NOT_EXCEPT.sub("", text))))
    return len(_KO_NOT.findall(_ALSO["ko"].sub("", text)))


def asian_marks(text: str, language: str) -> list[tuple[str, str, str]]:
    """Return the marks (kind, value, excerpt) of modality, quantity and tense in a Chinese, Japanese or Korean text."""
    marks = []
    for kind, value, patterns in (
        ("modality", "must", _MUST),
        ("modality", "might", _MIGHT),
        ("modality", "plan", _PLAN),
    ):
        found = patterns[language].search(text)
        if found:
            marks.append((kind, value, found[0]))
    for value, pattern in _QUANTITIES[language]:
        found = pattern.search(text)
        if found:
            marks.append(("quantifier", value, found[0]))
    past = _PAST[language].search(text)
    if past:
        marks.append(("tense", "past", past[0]))
    return marks


FUNCTION_CHARACTERS: Final = {
    "zh": frozenset("的了着地得是在有和与及或就也都还又把被给对从到向为以而于之其这那个们吗呢吧啊很再"),
    "ja": frozenset("はがをにでとのもへやかねよなすますいるただてしりこそあっれらさせうくきけ・ー"),
}
"""Characters that carry grammar more often than content: their coming and going is no new content."""
