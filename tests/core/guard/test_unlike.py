"""Texts of the same content words that say different things: by their order, their endings and their small words."""

import pytest
from guard_helpers import against

HELD = [
    # the same ones, the other way round
    ("Ravi trained Elin on the lathe.", "Ravi was trained by Elin on the lathe."),
    ("The broker calls the ledger.", "The broker is called by the ledger."),
    ("Service A reads the topics of service B.", "Service B reads the topics of service A."),
    ("They sailed to Bergen via Stavanger.", "They sailed to Stavanger via Bergen."),
    ("Call move(src, dst) first.", "Call move(dst, src) first."),
    ("Grandma visited us at Easter.", "We visited Grandma at Easter."),
    # a word that describes another thing
    ("The old captain with the dog sold the boat.", "The captain with the old dog sold the boat."),
    ("Nils's old phone is in the drawer.", "Nils's phone is in the old drawer."),
    # whose it is, and which part
    ("My boss's cousin runs the museum.", "My cousin's boss runs the museum."),
    ("Jon's brother runs the bakery in Faro.", "Jon runs his brother's bakery in Faro."),
    ("Kit's sister's dog chased the postman.", "Kit's dog chased the postman."),
    ("The lid of the kettle is cracked.", "The kettle is cracked."),
    ("The back door of the mill is painted green.", "The mill is painted green."),
    ("The child's coat is wet.", "The children's coat is wet."),
    ("Omar's landlord owes him two months of rent.", "Omar owes his landlord two months of rent."),
    ("Julia's best friend moved to Denver.", "Julia moved to Denver with her best friend."),
    ("The road to the lake is blocked.", "The lake is blocked."),
    ("A friend of Dana's is a judge.", "Dana is a judge."),
    # another occasion, another one, a habit
    ("The nightly build failed on main.", "The nightly build failed on main again."),
    ("Bea adopted a dog from the shelter.", "Bea adopted another dog from the shelter."),
    ("Bea adopted a dog from the shelter.", "Bea adopted one more dog from the shelter."),
    ("The router rebooted during the night.", "The router reboots every night."),
    ("Kit joined Norvia as an engineer.", "Kit rejoined Norvia as an engineer."),
    ("The cache was flushed after the deploy.", "The cache was flushed after each deploy."),
    ("The first interview with Norvia went well.", "The interview with Norvia went well."),
    # where it is
    ("The spare key is in the drawer.", "The spare key is under the drawer."),
    ("The ladder is on the wall.", "The ladder is behind the wall."),
    ("The kiosk is next to the station.", "The kiosk is in the station."),
    ("The note is on the fridge.", "The note is in the fridge."),
    ("The trail goes over the pass.", "The trail goes around the pass."),
    ("Yara lives on the third floor.", "Yara lives above the third floor."),
    ("The letter came from Ida.", "The letter came for Ida."),
    # a state, and what leads to it or is over
    ("The valve is closed.", "The valve is being closed."),
    ("Mila is a vegetarian.", "Mila is becoming a vegetarian."),
    ("The stove is hot.", "The stove gets hot."),
    ("Karl is writing his thesis.", "Karl has written his thesis."),
    ("Karl works as a nurse.", "Karl worked as a nurse."),
    ("Karl smokes.", "Karl used to smoke."),
    ("When does the shop open?", "When did the shop open?"),
    ("Max swims.", "Max can swim."),
    ("The bridge is closed.", "The bridge is closing."),
    ("Bram moved to Ghent.", "Bram is moving to Ghent."),
    ("The contract is signed.", "The contract is to be signed."),
    ("Lotte may sell the boat.", "Lotte may have sold the boat."),
    ("Lotte called her dad on Sunday.", "Lotte calls her dad on Sundays."),
    ("Lotte had the job at Norvia.", "Lotte got the job at Norvia."),
    ("Nils will start at Norvia.", "Nils started at Norvia."),
    # a question for something else
    ("How do I enable the cache?", "Why do I enable the cache?"),
    ("Where is the spare key?", "Who has the spare key?"),
    # what is only told, wished, offered or forgotten, and who stands in for another
    ("Ruth paid the fine.", "Ruth offered to pay the fine."),
    ("Ruth forgot to pay the rent.", "Ruth paid the rent."),
    ("Ruth said she would call the bank.", "Ruth called the bank."),
    ("Ruth wishes she had a boat.", "Ruth has a boat."),
    ("Ruth doubts that the plan works.", "Ruth thinks that the plan works."),
    ("The deputy director signs the contracts.", "The director signs the contracts."),
    ("Lotte suggested selling the boat.", "Lotte is selling the boat."),
    ("In the story, the captain drowns.", "The captain drowns."),
    # the denial of another clause
    ("Bram didn't say that he is ill.", "Bram said that he isn't ill."),
    # names of which one is part of the other
    ("The billing-job depends on Redis.", "The billing-jobs depends on Redis."),
    ("Ask team Falcon for the key.", "Ask team Falcons for the key."),
    ("Ida's mother-in-law lives in Turku.", "Ida's mother lives in Turku."),
    # sign by sign
    ("The button is labelled 'Save'.", "The button is labelled 'Saved'."),
    ('His hint is "first dog".', 'His hint is "first dogs".'),
    ("Run `make test` before a push.", "Run `make tests` before a push."),
    ("The function returns x[1:].", "The function returns x[:1]."),
    ("The glob is *.py.", "The glob is **/*.py."),
    ("Press Ctrl+Shift+T to reopen.", "Press Ctrl+T to reopen."),
    ("The code is in acme/web.", "The code is in web/acme."),
    ("The entry point is src/Main.py.", "The entry point is src/main.py."),
    # other languages: order, small words, endings, what is left out in the midst
    ("Anna hat Peter angerufen.", "Peter hat Anna angerufen."),
    ("Ich fahre mit dem Zug nach Wien.", "Ich fahre mit dem Zug von Wien."),
    ("La clé est sur la table.", "La clé est sous la table."),
    ("La société a été vendue par Luc.", "La société a été vendue à Luc."),
    ("A Pedro le gusta el café.", "A Pedro le gustaba el café."),
    ("El hermano de Lucía vive en Quito.", "Lucía vive en Quito."),
    ("Luc veut acheter une maison.", "Luc a acheté une maison."),
    ("Иван купил машину.", "Иван купит машину."),
    ("Учитель спросил ученика.", "Учителя спросил ученик."),
    ("Иван почти закончил отчёт.", "Иван закончил отчёт."),
    ("سافر أحمد من عمّان.", "سافر أحمد إلى عمّان."),
    ("小李想去北京。", "小李去了北京。"),
    ("小王比小李高。", "小李比小王高。"),
    ("小王的哥哥住在上海。", "小王住在上海。"),
    ("犬が猫を追いかけた。", "猫が犬を追いかけた。"),
    ("田中さんは鍵をなくした。", "田中さんはまた鍵をなくした。"),
    ("田中さんはコーヒーが好きだ。", "田中さんはコーヒーが好きだった。"),
]


@pytest.mark.parametrize(("stored", "candidate"), HELD)
def test_the_same_words_do_not_always_say_the_same(stored: str, candidate: str) -> None:
    """Order, endings and small words keep a candidate from a skip though all its content words are stored."""
    assert not against(stored, candidate).clear, against(stored, candidate)


SAME = [
    ("The pump was repaired by Olga.", "Olga repaired the pump."),
    ("The parcel was sent on Monday.", "The parcel has been sent on Monday."),
    ("Team Kestrel maintains the gateway.", "The gateway is maintained by team Kestrel."),
    ("Ravi and Elin run the bakery.", "Elin and Ravi run the bakery."),
    ("On Monday the crew paints the hull.", "The crew paints the hull on Monday."),
    ("The seat of Norvia is Tessel.", "Tessel is the seat of Norvia."),
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
