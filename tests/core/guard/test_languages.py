"""Languages and scripts: negators of the main ones, text without spaces, right-to-left text, and scripts without rules."""

import pytest
from guard_helpers import against, kinds

NEGATED = [
    ("Der Zugang ist offen.", "Der Zugang ist nicht offen."),
    ("Wir haben Strom im Keller.", "Wir haben keinen Strom im Keller."),
    ("La puerta está cerrada con llave.", "La puerta no está cerrada con llave."),
    ("Le magasin vend des lampes.", "Le magasin ne vend pas de lampes."),
    ("Il treno passa di notte.", "Il treno non passa di notte."),
    ("O forno está ligado de noite.", "O forno não está ligado de noite."),
    ("De deur is open.", "De deur is niet open."),
    ("Sklep jest otwarty w piątek.", "Sklep nie jest otwarty w piątek."),
    ("Kapı gece açık.", "Kapı gece açık değil."),
    ("Склад открыт ночью.", "Склад не открыт ночью."),
    ("المتجر مفتوح ليلا", "المتجر ليس مفتوح ليلا"),
    ("החנות פתוחה בלילה", "החנות לא פתוחה בלילה"),
    ("दुकान रात में खुली है", "दुकान रात में खुली नहीं है"),
    ("仓库晚上开门。", "仓库晚上不开门。"),
    ("他已经付款。", "他没有付款。"),
    ("この扉は開きます。", "この扉は開きません。"),
    ("駐車できる。", "駐車できない。"),
    ("이 문은 열립니다.", "이 문은 열리지 않습니다."),
]


@pytest.mark.parametrize(("stored", "candidate"), NEGATED)
def test_negation_is_found_in_the_main_languages(stored: str, candidate: str) -> None:
    """The plain negators of each language are known, in both directions."""
    assert "negation" in kinds(against(stored, candidate)), against(stored, candidate)
    assert "negation" in kinds(against(candidate, stored))


@pytest.mark.parametrize(
    ("stored", "candidate"),
    [
        ("团队在改进流程。", "团队在不断改进流程。"),
        ("价格差别很大。", "价格差别很大！"),
        ("行かなければならない。", "行かなければならない"),
    ],
)
def test_what_only_looks_like_negation_is_none(stored: str, candidate: str) -> None:
    """不断 means continually, 差别 a difference, なければならない an obligation."""
    assert "negation" not in kinds(against(stored, candidate))


@pytest.mark.parametrize(
    ("stored", "candidate"),
    [
        ("客户的联系人叫林屿晴。", "客户的联系人叫林屿清。"),
        ("会議室は二階です。", "会議室は三階です。"),
        ("ร้านเปิดวันจันทร์", "ร้านเปิดวันอังคาร"),
        ("يفتح المخزن في الثامنة", "يغلق المخزن في الخامسة"),
        ("주문 담당자는 3층에서 일합니다.", "배송 담당자는 3층에서 일합니다."),
        ("ეს კარი ღიაა", "ეს კარი დაკეტილია"),
    ],
)
def test_another_word_fires_in_every_script(stored: str, candidate: str) -> None:
    """One other character or word is never clear, with or without spaces between words."""
    assert not against(stored, candidate).clear


def test_a_script_without_rules_says_so() -> None:
    """Georgian has no rules here: an equal text is clear, any other is not, and the finding says why."""
    comparison = against("ეს კარი ღიაა", "ეს კარი დაკეტილია")
    assert not comparison.judgeable
    assert kinds(comparison) == {"unknown_language"}
    assert against("ეს კარი ღიაა", " ეს კარი  ღიაა.").clear


def test_full_width_forms_are_equal() -> None:
    """Compatibility forms carry no meaning."""
    assert against("ＡＢＣ会議は５階です。", "ABC会議は5階です。").clear
