"""How skips by similarity are confirmed: by an NLI model, on texts from which equal values written differently are gone.

Everything else is left to the judge behind it. The rules are not asked to confirm: before a confirming question the guard, which reads
the same texts by the same rules, has spoken already.
"""

import msgspec

from factsieve.core.alike import aligned, same_words
from factsieve.core.facts import Kind
from factsieve.core.judging import Question, Verdict
from factsieve.ports import Judge


class SkipCheck:
    """A judge (`ports.Judge`) whose confirming questions are answered by `checker`, all others by `judge`."""

    def __init__(self, judge: Judge, checker: Judge) -> None:
        self._judge = judge
        self._checker = checker

    @property
    def name(self) -> str:
        """Return the name of the judge behind it."""
        return self._judge.name

    @property
    def is_remote(self) -> bool:
        """Return whether an answer may take long."""
        return self._judge.is_remote

    @property
    def confirms_skips(self) -> bool:
        """Return True: that is what it is for."""
        return True

    async def answer(self, question: Question) -> Verdict:
        """Return the verdict; a candidate of the stored statement's own words needs no model."""
        if not question.confirm:
            return await self._judge.answer(question)
        near = question.neighbours[0]
        text = aligned(question.text, question.occurred_at, near.text, near.stated_at)
        if same_words(text, near.text):
            return Verdict(
                choice=Kind.SKIP, judge="rules", targets=(0,), reason="the same words and values", confidence=1.0
            )
        return await self._checker.answer(msgspec.structs.replace(question, text=text))
