"""What a worker would say of a statement, by the very look-ups that it makes, and without changing anything.

A check is a wave of one that is never recorded, performed or told: what it would change stays in its own overlay.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from factsieve.core.case import Ask
from factsieve.core.decision import Decision
from factsieve.core.errors import Bug
from factsieve.core.facts import Candidate, DedupSignal, Kind, Record
from factsieve.core.ids import text_hash
from factsieve.core.judging import Verdict
from factsieve.core.plan import dedup_signal
from factsieve.core.policy import Policies
from factsieve.engine.desk import HoldSettings, JudgeDesk
from factsieve.engine.items import Item, Prepared
from factsieve.engine.ports import Gathered, Observer, Ports
from factsieve.engine.wave import Wave, WaveSettings
from factsieve.ports import Clock, Embedder, FactStore, HashWindow, Judge, Ledger, Message

_NO_PAYLOADS: Final = 2.0
"""A payload floor above every similarity: ids and scores are enough."""
_NO_HOLD: Final = HoldSettings(hold_s=0.0, retry_s=0.1)
"""Nobody's lane waits here: one answer, or none."""


class Asked(msgspec.Struct, frozen=True):
    """A question that a worker would put to a judge. `answered_by` names who answered here."""

    judge: str
    remote: bool
    purpose: str  # confirm | choose
    allowed: tuple[Kind, ...]
    fact_ids: tuple[str, ...]
    answered_by: str


class Explained(msgspec.Struct, frozen=True):
    """What the worker would decide of a candidate now, and the questions on the way there."""

    decision: Decision
    asked: tuple[Asked, ...]


class _Silent:
    """An outbox and a fence for those who write nothing."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Refuse. Raises Bug."""
        raise Bug(f"a check would have sent {len(messages)} messages")

    def holds(self, topic: str, partition: int) -> bool:
        """Return False: nothing may be written."""
        del topic, partition
        return False


class _NotingDesk(JudgeDesk):
    """Notes who would be asked. Remote judges are asked only if `ask_remote` is set; else the local one answers in their place."""

    def __init__(self, ports: Ports, observer: Observer, *, ask_remote: bool) -> None:
        super().__init__(ports.judge, ports.local_judge, ports.clock, observer, _NO_HOLD)
        self._here = JudgeDesk(ports.local_judge, ports.local_judge, ports.clock, observer, _NO_HOLD)
        self._names = ports.judge.name, ports.local_judge.name
        self._ask_remote = ask_remote
        self.asked: list[Asked] = []

    async def ask(self, ask: Ask) -> Verdict:
        """Return the verdict, and remember the question."""
        remote = self.is_remote(ask)
        verdict = await (super().ask(ask) if self._ask_remote or not remote else self._here.ask(ask))
        local = ask.local_only or ask.question.confirm
        self.asked.append(
            Asked(
                judge=self._names[1 if local else 0],
                remote=remote,
                purpose="confirm" if ask.question.confirm else "choose",
                allowed=tuple(sorted(ask.question.allowed)),
                fact_ids=tuple(scored.fact.fact_id for scored in ask.facts),
                answered_by=verdict.judge,
            )
        )
        return verdict


class _Look(Wave):
    """A wave of one candidate that ends with what is known of it."""

    async def signal(self, item: Item, candidate: Candidate) -> DedupSignal:
        """Return the dedup signal that a candidate's decision would carry, by the look-ups that deciding it would make.

        No judge is asked, but where several facts say exactly this and it depends on the ruling which one counts. The vector is
        computed while the exact text is looked up.
        """
        p = Prepared(item, candidate, text_hash(candidate.text, candidate.slot))
        await self._find_in_window([p])
        ahead = asyncio.ensure_future(self._find_vectors([p]))
        ahead.add_done_callback(_retrieve)
        try:
            if p.window is None:
                await self._find_exact([p])
            case, ruling = await self._recognised(p)
            if ruling is not None:
                return dedup_signal(case, ruling)
            if case.exact:
                return dedup_signal(*await self._rule(p, case, pending=False))
            await ahead
        finally:
            ahead.cancel()
        query = msgspec.structs.replace(self._query(p), payload_floor=_NO_PAYLOADS)
        [near] = await self._gathered.neighbours([query])
        best = (near[0].point_id, near[0].similarity) if near else None
        return dedup_signal(msgspec.structs.replace(case, best=best), None)

    async def explained(self, item: Item, candidate: Candidate) -> Decision:
        """Return the decision as it would be reported."""
        [prepared] = await self.prepare([(item, candidate)])
        return (await self.decide(prepared, pending=False)).decision


class Checker:
    """Answers for statements that nobody made: their dedup signal, or the whole decision. Concurrent checks share batches.

    `judge` and `local_judge` are those of a worker. The stores are only read; `ledger` is not even that.
    """

    def __init__(
        self,
        *,
        facts: FactStore,
        ledger: Ledger,
        window: HashWindow,
        embedder: Embedder,
        judge: Judge,
        local_judge: Judge,
        clock: Clock,
        policies: Policies,
        wave: WaveSettings,
        batch_items: int,
        observer: Observer,
    ) -> None:
        silent = _Silent()
        self._ports = Ports(facts, ledger, window, embedder, judge, local_judge, silent, clock, silent)
        self._gathered = Gathered(self._ports, observer, batch_items=batch_items)
        self._policies = policies
        self._settings = wave
        self._observer = observer

    async def signal(self, record: Record, candidate: Candidate) -> DedupSignal:
        """Return the dedup signal that the worker would report of this candidate now. Raises Transient."""
        return await self._look(ask_remote=False)[0].signal(_item(record, candidate), candidate)

    async def explain(self, record: Record, candidate: Candidate, *, ask_remote: bool) -> Explained:
        """Return what the worker would decide of this candidate now; a remote judge is asked only with `ask_remote`. Raises Transient."""
        look, desk = self._look(ask_remote=ask_remote)
        decision = await look.explained(_item(record, candidate), candidate)
        return Explained(decision, tuple(desk.asked))

    def _look(self, *, ask_remote: bool) -> tuple[_Look, _NotingDesk]:
        desk = _NotingDesk(self._ports, self._observer, ask_remote=ask_remote)
        return _Look(self._ports, self._gathered, desk, self._policies, self._settings, self._observer), desk


def _item(record: Record, candidate: Candidate) -> Item:
    return Item(record, candidate, _nothing, _nothing, 0)


def _nothing() -> None:
    """Nobody waits for a check to be committed."""


def _retrieve(task: "asyncio.Task[None]") -> None:
    """Look at what became of a task that may not be waited for any more, so that it is not reported as forgotten."""
    if not task.cancelled():
        task.exception()
