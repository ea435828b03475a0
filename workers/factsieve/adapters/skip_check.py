"""How skips are confirmed: by an NLI model, on texts from which equal values written differently are gone.

The rules are not asked to confirm: before a confirming question the guard, which reads the same texts by the same rules, has spoken
already.
"""

from typing import Final

import msgspec

from factsieve.core.alike import aligned, same_words
from factsieve.core.facts import Kind
from factsieve.core.judging import Question, Verdict
from factsieve.ports import Judge

REVIEW: Final = "conflict"
DOUBT: Final = 0.3
"""The confidence of an `add` where one judge would skip and another sees a contradiction."""
_SKIP_OR_ADD: Final = frozenset({Kind.SKIP, Kind.ADD})


class SkipCheck:
    """A judge (`ports.Judge`) whose confirming questions are answered by `checker`, all others by `judge`.

    With `choices` a skip that `judge` chooses needs the checker's word too; refused, it becomes an `add` that nobody is sure of.
    """

    def __init__(self, judge: Judge, checker: Judge, *, choices: bool = True) -> None:
        self._judge = judge
        self._checker = checker
        self._choices = choices

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
        if question.confirm:
            return await self._confirm(question)
        verdict = await self._judge.answer(question)
        if not self._choices or verdict.choice is not Kind.SKIP or not verdict.targets:
            return verdict
        about = question.neighbours[verdict.targets[0]]
        asked = msgspec.structs.replace(question, neighbours=(about,), allowed=_SKIP_OR_ADD, confirm=True)
        checked = await self._confirm(asked)
        latency_ms = verdict.latency_ms + checked.latency_ms
        if checked.choice is Kind.SKIP:
            return msgspec.structs.replace(verdict, latency_ms=latency_ms)
        against = checked.failure or checked.reason
        return Verdict(
            choice=Kind.ADD,
            judge=verdict.judge,
            reason=f"{verdict.reason}; {checked.judge}: {against}",
            confidence=DOUBT,
            review=REVIEW,
            conflicts=verdict.targets[:1],
            model=checked.model,
            latency_ms=latency_ms,
        )

    async def _confirm(self, question: Question) -> Verdict:
        near = question.neighbours[0]
        text = aligned(question.text, question.occurred_at, near.text, near.stated_at)
        if same_words(text, near.text):
            return Verdict(
                choice=Kind.SKIP, judge="rules", targets=(0,), reason="the same words and values", confidence=1.0
            )
        return await self._checker.answer(msgspec.structs.replace(question, text=text))
