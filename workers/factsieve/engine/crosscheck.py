"""The look into downstream collections before ingest is told of a new fact: what is surely there already is not told again."""

from collections.abc import Sequence
from typing import Final

import structlog

from factsieve.core import downstream
from factsieve.core.alike import same_words
from factsieve.core.case import Answer, Ask, Case, LookBack, Ruling
from factsieve.core.decide import decide
from factsieve.core.decision import DownstreamNote, DownstreamOutcome
from factsieve.core.downstream import Foreign
from factsieve.core.errors import Transient
from factsieve.core.facts import Kind, Status
from factsieve.core.policy import Policies
from factsieve.engine.desk import JudgeDesk
from factsieve.engine.items import Prepared
from factsieve.engine.overlay import Overlay
from factsieve.engine.ports import Gathered, Observer, Ports
from factsieve.ports import NeighbourQuery, Wanted

log = structlog.get_logger(__name__)

_RETIRED: Final = frozenset({Status.PAST, Status.ARCHIVED, Status.RETRACTED})
_SAME_TEXT: Final = 0.95
"""Vectors of one text are nearer than this, also where one came along and was rounded on its way."""
_RETIRED_LOOKED_AT: Final = 16
_STEPS: Final = 4


class CrossCheck:
    """Asks the downstream collections about what is new. Costs nothing where none is configured."""

    def __init__(self, ports: Ports, gathered: Gathered, desk: JudgeDesk, observer: Observer) -> None:
        self._ports = ports
        self._gathered = gathered
        self._desk = desk
        self._observer = observer

    async def look_ahead(self, prepared: Sequence[Prepared], policies: Policies) -> None:
        """Look for those statements that seem to be new, all at once; the others are looked for where they turn out to be."""
        if self._ports.downstream is None:
            return
        likely = [p for p in prepared if _seems_new(p, policies.of(p.candidate.namespace).supersede_threshold)]
        await self._look([(p, policies.of(p.candidate.namespace).skip_threshold) for p in likely])

    async def _look(self, wanted: Sequence[tuple[Prepared, float]]) -> None:
        there = self._ports.downstream
        asked = [(p, cut) for p, cut in wanted if there is not None and there.covers(p.candidate.namespace)]
        if there is None or not asked:
            return
        queries = []
        for p, cut in asked:
            assert p.vector is not None
            queries.append(Wanted(p.candidate.namespace, p.candidate.text, p.vector, cut))
        looks = await there.find(queries)
        for (p, _), look in zip(asked, looks, strict=True):
            p.downstream = look
        if missing := sorted({name for look in looks for name in look.missing}):
            self._observer.degraded("downstream", f"no answer of {', '.join(missing)}")

    async def checked(self, p: Prepared, case: Case, ruling: Ruling, overlay: Overlay) -> Ruling:
        """Return the ruling with what was found; an `add` that is known downstream is not told to ingest."""
        if self._ports.downstream is None or not downstream.is_asked(ruling):
            return ruling
        if p.downstream is None:
            await self._look([(p, case.policy.skip_threshold)])
        look = p.downstream
        if look is None:
            return ruling
        retired: Foreign | None = None
        missing = list(look.missing)
        for hit in look.hits:
            try:
                if not await self._is_known(case, hit):
                    continue
                if not await self._was_retired(case.candidate.namespace, hit.text, overlay):
                    return downstream.noted(ruling, _note("known", hit))
            except Transient:
                raise  # our own services: asked again
            except Exception as error:  # somebody else's text, on which something fails, is no fault of the event
                log.warning("downstream_text_failed", collection=hit.collection, point=hit.point_id, error=repr(error))
                self._observer.degraded("downstream", f"{hit.collection}: {error!r}")
                missing.append(hit.collection)
                continue
            retired = retired or hit
        if retired is not None:
            return downstream.noted(ruling, _note("retired", retired))
        if missing:
            return downstream.noted(ruling, DownstreamNote("unavailable", collection=missing[0]))
        return downstream.noted(ruling, DownstreamNote("absent"))

    async def _is_known(self, case: Case, hit: Foreign) -> bool:
        """Return whether a foreign text says all that the candidate says, by the rules, and by a local model where one confirms skips."""
        foreign = downstream.case_of(case, hit)
        if foreign is None:
            return False
        for _ in range(_STEPS):
            async with self._ports.risk.running(case.candidate.text, hit.text):
                step = decide(foreign)
            match step:
                case Ruling() as ruling:
                    return ruling.kind is Kind.SKIP
                case Ask() as ask if ask.question.confirm:
                    foreign = foreign.answered(Answer(ask, await self._desk.ask(ask)))
                case Ask() | LookBack():
                    return False
        return False

    async def _was_retired(self, namespace: str, text: str, overlay: Overlay) -> bool:
        """Return whether a text is one that was retired, reworded or withdrawn here: downstream may hold it from us, and stale."""
        if any(same_words(fact.text, text) for fact in overlay.retired()):
            return True
        [vector] = await self._gathered.embed([text])
        query = NeighbourQuery(namespace, vector, _RETIRED_LOOKED_AT, _SAME_TEXT, retired=True)
        [hits] = await self._gathered.neighbours([query])
        rows = [overlay.latest(hit.fact) for hit in hits if hit.fact is not None]
        return any(row.status in _RETIRED and same_words(row.text, text) for row in rows)


def _seems_new(p: Prepared, supersede_threshold: float) -> bool:
    return not p.hits or p.hits[0].similarity < supersede_threshold


def _note(outcome: DownstreamOutcome, hit: Foreign) -> DownstreamNote:
    return DownstreamNote(outcome, hit.collection, hit.point_id, hit.similarity)
