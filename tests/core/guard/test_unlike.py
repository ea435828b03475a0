"""Texts of the same content words that say different things: by their order, their endings and their small words."""

import pytest
from guard_helpers import against, kinds

HELD = [
    # the same ones, the other way round
    ("Ravi trained Elin on the lathe.", "Ravi was trained by Elin on the lathe.", "role_order"),
    ("The broker calls the ledger.", "The broker is called by the ledger.", "role_order"),
    ("Service A reads the topics of service B.", "Service B reads the topics of service A.", "role_order"),
    ("They sailed to Bergen via Stavanger.", "They sailed to Stavanger via Bergen.", "role_order"),
    ("Call move(src, dst) first.", "Call move(dst, src) first.", "symbol"),
    # a word that describes another thing
    ("The old captain with the dog sold the boat.", "The captain with the old dog sold the boat.", "role_order"),
    # whose it is, and which part
    ("My boss's cousin runs the museum.", "My cousin's boss runs the museum.", "entity"),
    ("Jon's brother runs the bakery in Faro.", "Jon runs his brother's bakery in Faro.", "entity"),
    ("Kit's sister's dog chased the postman.", "Kit's dog chased the postman.", "entity"),
    ("The lid of the kettle is cracked.", "The kettle is cracked.", "entity"),
    ("The back door of the mill is painted green.", "The mill is painted green.", "entity"),
    ("The child's coat is wet.", "The children's coat is wet.", "entity"),
    # another occasion, another one, a habit
    ("The nightly build failed on main.", "The nightly build failed on main again.", "novelty"),
    ("Bea adopted a dog from the shelter.", "Bea adopted another dog from the shelter.", "novelty"),
    ("Bea adopted a dog from the shelter.", "Bea adopted one more dog from the shelter.", "novelty"),
    ("The router rebooted during the night.", "The router reboots every night.", "quantifier"),
    ("Kit joined Norvia as an engineer.", "Kit rejoined Norvia as an engineer.", "substitution"),
    # where it is
    ("The spare key is in the drawer.", "The spare key is under the drawer.", "direction"),
    ("The ladder is on the wall.", "The ladder is behind the wall.", "direction"),
    ("The kiosk is next to the station.", "The kiosk is in the station.", "direction"),
    ("The letter came from Ida.", "The letter came for Ida.", "direction"),
    # a state, and what leads to it or is over
    ("The valve is closed.", "The valve is being closed.", "tense"),
    ("Mila is a vegetarian.", "Mila is becoming a vegetarian.", "tense"),
    ("The stove is hot.", "The stove gets hot.", "tense"),
    ("Karl is writing his thesis.", "Karl has written his thesis.", "tense"),
    ("Karl works as a nurse.", "Karl worked as a nurse.", "tense"),
    ("Karl smokes.", "Karl used to smoke.", "tense"),
    ("When does the shop open?", "When did the shop open?", "tense"),
    ("Max swims.", "Max can swim.", "modality"),
    # a question for something else
    ("How do I enable the cache?", "Why do I enable the cache?", "question"),
    ("Where is the spare key?", "Who has the spare key?", "question"),
    # names of which one is part of the other
    ("The billing-job depends on Redis.", "The billing-jobs depends on Redis.", "identifier"),
    ("Ida's mother-in-law lives in Turku.", "Ida's mother lives in Turku.", "identifier"),
    # sign by sign
    ("The button is labelled 'Save'.", "The button is labelled 'Saved'.", "substitution"),
    ('His hint is "first dog".', 'His hint is "first dogs".', "substitution"),
    ("Run `make test` before a push.", "Run `make tests` before a push.", "substitution"),
    ("The function returns x[1:].", "The function returns x[:1].", "symbol"),
    ("The glob is *.py.", "The glob is **/*.py.", "symbol"),
    ("Press Ctrl+Shift+T to reopen.", "Press Ctrl+T to reopen.", "symbol"),
    ("The code is in acme/web.", "The code is in web/acme.", "symbol"),
    # other languages: order, small words, endings, what is left out in the midst
    ("Anna hat Peter angerufen.", "Peter hat Anna angerufen.", "role_order"),
    ("Ich fahre mit dem Zug nach Wien.", "Ich fahre mit dem Zug von Wien.", "direction"),
    ("La clé est sur la table.", "La clé est sous la table.", "direction"),
    ("La société a été vendue par Luc.", "La société a été vendue à Luc.", "direction"),
    ("A Pedro le gusta el café.", "A Pedro le gustaba el café.", "role_order"),
    ("El hermano de Lucía vive en Quito.", "Lucía vive en Quito.", "coverage"),
    ("Luc veut acheter une maison.", "Luc a acheté une maison.", "coverage"),
    ("Иван купил машину.", "Иван купит машину.", "role_order"),
    ("Учитель спросил ученика.", "Учителя спросил ученик.", "role_order"),
    ("Иван почти закончил отчёт.", "Иван закончил отчёт.", "coverage"),
    ("سافر أحمد من عمّان.", "سافر أحمد إلى عمّان.", "direction"),
    ("小王比小李高。", "小李比小王高。", "role_order"),
    ("小王的哥哥住在上海。", "小王住在上海。", "entity"),
    ("犬が猫を追いかけた。", "猫が犬を追いかけた。", "role_order"),
    ("田中さんは鍵をなくした。", "田中さんはまた鍵をなくした。", "novelty"),
    ("田中さんはコーヒーが好きだ。", "田中さんはコーヒーが好きだった。", "tense"),
]


@pytest.mark.parametrize(("stored", "candidate", "kind"), HELD)
def test_the_same_words_do_not_always_say_the_same(stored: str, candidate: str, kind: str) -> None:
    """Order, endings and small words keep a candidate from a skip though all its content words are stored."""
    assert kind in kinds(against(stored, candidate)), against(stored, candidate)


SAME = [
    ("The pump was repaired by Olga.", "Olga repaired the pump."),
    ("Ravi and Elin run the bakery.", "Elin and Ravi run the bakery."),
    ("On Monday the crew paints the hull.", "The crew paints the hull on Monday."),
    ("Nina is Jonas's manager.", "Nina is the manager of Jonas."),
    ("A group of people is waiting at the gate.", "People are waiting at the gate."),
    ("The kiosk is near the station.", "The kiosk is close to the station."),
    ("How do I reset my password?", "How can I reset my password?"),
    ("Ida is also a trained nurse.", "Ida is a trained nurse."),
    ("Use the `equals` method to compare two tables.", "To compare two tables, use the `equals` method."),
    ("Luc habite à Lyon.", "Luc habite à Lyon !"),
    ("Dienstags ist der Laden geschlossen.", "Der Laden ist dienstags geschlossen."),
]


@pytest.mark.parametrize(("stored", "candidate"), SAME)
def test_another_order_or_small_word_may_be_mere_wording(stored: str, candidate: str) -> None:
    """What only moved, or is said with another small word of the same place, may be skipped."""
    assert against(stored, candidate).clear, against(stored, candidate)
