"""The desk where judges are asked: holds a lane for a bounded time, once per outage, before a failed answer counts (section 4)."""

from dataclasses import dataclass

from factsieve.core.case import Ask
from factsieve.core.judging import Question, Verdict
from factsieve.engine.ports import Observer
from factsieve.ports import Clock, Judge


@dataclass(frozen=True)
class HoldSettings:
    """How long a lane is held while a judge does not answer, and how often it is asked meanwhile (seconds)."""

    hold_s: float = 30.0
    retry_s: float = 2.0


class JudgeDesk:
    """Asks the judge that a question is for.

    While a judge does not answer, the question is put again until its lane was held for `hold_s`. From then on a failure counts at
    once, for every lane, until some answer ends the outage.
    """

    def __init__(
        self, judge: Judge, local_judge: Judge, clock: Clock, observer: Observer, settings: HoldSettings
    ) -> None:
        self._judge = judge
        self._local = local_judge
        self._clock = clock
        self._observer = observer
        self._settings = settings
        self._given_up = False
        self.held = 0  # lanes that wait just now
        self.holds_total = 0
        self.given_up_total = 0

    def is_remote(self, ask: Ask) -> bool:
        """Return whether the answer may take long."""
        return self._for(ask).is_remote

    @property
    def confirms_skips(self) -> bool:
        """Return whether the local judge wants to confirm skips by similarity."""
        return self._local.confirms_skips

    def _for(self, ask: Ask) -> Judge:
        return self._local if ask.local_only or ask.question.confirm else self._judge

    async def ask(self, ask: Ask) -> Verdict:
        """Return the verdict; one without a choice is final."""
        judge = self._for(ask)
        verdict = await _answer(judge, ask.question)
        if verdict.choice is None and judge.is_remote and not self._given_up:
            self.held += 1
            self.holds_total += 1
            try:
                verdict = await self._hold(judge, ask, verdict)
            finally:
                self.held -= 1
        if judge.is_remote and verdict.choice is not None:
            self._given_up = False
        return verdict

    async def _hold(self, judge: Judge, ask: Ask, verdict: Verdict) -> Verdict:
        """Put the question again until it is answered, or the lane was held long enough."""
        held_s = verdict.latency_ms / 1000
        while verdict.choice is None and not self._given_up:
            if held_s >= self._settings.hold_s:
                self._given_up = True
                self.given_up_total += 1
                return verdict
            self._observer.waited("judge", verdict.failure or "no answer")
            await self._clock.sleep(self._settings.retry_s)
            verdict = await _answer(judge, ask.question)
            held_s += self._settings.retry_s + verdict.latency_ms / 1000  # summed up and not the clock's: clocks jump
        return verdict


async def _answer(judge: Judge, question: Question) -> Verdict:
    """Return a judge's verdict; a judge that breaks its promise never to raise has given no answer."""
    try:
        return await judge.answer(question)
    except Exception as error:
        return Verdict(choice=None, judge=judge.name, failure=f"{type(error).__name__}: {error}")
