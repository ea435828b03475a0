"""What past decisions would be under another policy: read from the ledger, decided again by the rules as they are."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from factsieve.core import downstream, whatif
from factsieve.core.case import Ask, Case, LookBack, Ruling
from factsieve.core.decide import decide
from factsieve.core.decision import Entry
from factsieve.core.errors import BadSettings, Bug
from factsieve.core.facts import Scored, Status
from factsieve.core.judging import Verdict
from factsieve.core.plan import plan
from factsieve.core.policy import Policies, Policy
from factsieve.core.whatif import Foreseen, World
from factsieve.operations.foresight import Foresight
from factsieve.operations.rerun import Parts, Rerun
from factsieve.wire.ledger import decode_record

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.ports import Embedder, Judge, Ledger, Vector

_STEPS: Final = 8
"""As in the engine: more steps than a look back and two questions mean a loop."""
_RECORDS_AT_ONCE: Final = 32
_VECTORS_KEPT: Final = 20_000


class Place(msgspec.Struct, frozen=True):
    """Where a ledger record stands among those of its namespace, and how many events it holds."""

    topic: str
    partition: int
    offset: int
    recorded_at: datetime
    record_id: str
    events: int


class Logbook:
    """The ledger in the order in which things were decided. Kept in memory are the places of records, not their contents."""

    def __init__(self, ledger: "Ledger", places: dict[str, list[Place]]) -> None:
        self._ledger = ledger
        self._places = places

    @classmethod
    async def open(cls, ledger: "Ledger", namespace: str | None) -> "Logbook":
        """Read where everything stands, of one namespace or of all. Raises Transient."""
        places: dict[str, list[Place]] = {}
        async for body in ledger.scan(namespace):
            record = decode_record(body)
            at = record.entries[0].decision.coordinates
            place = Place(at.topic, at.partition, at.offset, record.recorded_at, record.record_id, len(record.entries))
            places.setdefault(record.namespace, []).append(place)
        for found in places.values():
            one_queue = len({(place.topic, place.partition) for place in found}) == 1
            # Offsets tell the order whatever clocks said; where a namespace moved to another partition, only clocks are left.
            found.sort(key=(lambda p: (p.offset,)) if one_queue else (lambda p: (p.recorded_at, p.offset)))
        return cls(ledger, places)

    @property
    def namespaces(self) -> list[str]:
        """Return the namespaces that have decisions, by name."""
        return sorted(self._places)

    @property
    def events(self) -> int:
        """Return how many decisions and commands there are."""
        return sum(place.events for found in self._places.values() for place in found)

    async def entries(self, namespace: str) -> AsyncIterator[Entry]:
        """Yield a namespace's entries in order. Raises Transient."""
        found = self._places.get(namespace, [])
        for start in range(0, len(found), _RECORDS_AT_ONCE):
            wanted = [place.record_id for place in found[start : start + _RECORDS_AT_ONCE]]
            bodies = await self._ledger.records(wanted)
            for record_id in wanted:
                if record_id in bodies:
                    for entry in decode_record(bodies[record_id]).entries:
                        yield entry


class Askers(msgspec.Struct, frozen=True):
    """Who may be asked now: None where nobody may. `confirms_skips`: whether the configured local judge wants to confirm skips."""

    judge: "Judge | None"
    local: "Judge | None"
    confirms_skips: bool

    async def answer(self, ask: Ask) -> Verdict | None:
        """Return the verdict on a question, None where nobody may be asked."""
        judge = self.local if ask.local_only or ask.question.confirm else self.judge
        return None if judge is None else await judge.answer(ask.question)


@asynccontextmanager
async def askers(settings: "Settings", *, ask: bool) -> AsyncIterator[Askers]:
    """Open the judges that may be asked: the rules always, for they cost nothing, models only with `ask`. Raises BadSettings."""
    from factsieve.adapters.rules_judge import RulesJudge
    from factsieve.assembly.judges import NLI, build_judges

    name = settings.judge.effective_name
    async with AsyncExitStack() as opened:
        if ask or name == "rules":
            judges = build_judges(settings, profile=settings.threshold_profile())
            opened.push_async_callback(judges.close)
            yield Askers(judges.judge, judges.local, judges.local.confirms_skips)
        elif name == "cascade" or name.startswith(NLI):
            confirms = name.startswith(NLI) or settings.judge.nli_path is not None
            yield Askers(None, None, confirms)
        else:
            yield Askers(None, RulesJudge(), False)


def policies_under(settings: "Settings", changes: Mapping[str, object]) -> Policies:
    """Return the policies with some of their fields changed, for every namespace. Raises BadSettings for what does not fit together."""
    now = settings.policies()
    return Policies(
        _changed(now.default, changes), {name: _changed(own, changes) for name, own in now.by_namespace.items()}
    )


def _changed(policy: Policy, changes: Mapping[str, object]) -> Policy:
    return Policy(**{**msgspec.structs.asdict(policy), **changes})  # made anew, so that it checks itself


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: which policies, since when, by which means."""

    now: Policies
    then: Policies
    since: datetime | None
    ask: bool
    simulate: bool


def question_of(settings: "Settings", then: Policies, *, since: datetime | None, ask: bool, simulate: bool) -> Query:
    """Return what is asked. Raises BadSettings where only a model could answer and none may be asked."""
    name = settings.judge.effective_name
    if simulate and not ask and name != "rules":
        raise BadSettings(
            f"--simulate decides everything anew, and the judge is {name}: add --ask so that it is asked "
            "(whatif without --simulate says how often), or --set judge.name=rules"
        )
    return Query(now=settings.policies(), then=then, since=since, ask=ask, simulate=simulate)


async def tell(
    settings: "Settings",
    embedder: "Embedder",
    logbook: Logbook,
    query: Query,
    *,
    examples: int,
    on_entry: Callable[[Entry], None] = lambda _entry: None,
) -> Foresight:
    """Return what all decisions of a logbook would be. Raises Transient, BadSettings."""
    foresight = Foresight(examples=examples)

    def seen_entry(entry: Entry) -> None:
        on_entry(entry)
        foresight.meet(entry)

    async with askers(settings, ask=query.ask) as asking:
        foreseer = Foreseer(
            now=query.now,
            then=query.then,
            embedder=embedder,
            max_unknown_share=settings.embedder.max_unknown_share,
            asking=asking,
        )
        for namespace in logbook.namespaces:
            entries = logbook.entries(namespace)
            if not query.simulate:
                async for seen in foreseer.foresee(namespace, entries, since=query.since, on_entry=seen_entry):
                    foresight.count(seen)
                continue
            rerun = Rerun(namespace, _parts(settings, embedder, asking), now=query.now, then=query.then)
            async for seen in rerun.run(entries, since=query.since, on_entry=seen_entry):
                foresight.count(seen)
            foresight.orders_left_out += rerun.orders_left_out
    return foresight


def _parts(settings: "Settings", embedder: "Embedder", asking: Askers) -> Parts:
    from factsieve.assembly.wiring import engine_settings

    told = engine_settings(settings, embedder)
    assert asking.judge is not None  # `question_of` sees to that
    assert asking.local is not None
    return Parts(
        embedder=embedder,
        judge=asking.judge,
        local_judge=asking.local,
        wave=told.wave,
        hold=told.hold,
        wave_events=told.lane.wave_events,
    )


class Foreseer:
    """Decides past decisions again, each in the world that the log tells, up to the first one that would be different.

    After that one the world would be another: what follows is told as if it were not, and marked (`Foreseen.certain`).
    """

    def __init__(
        self,
        *,
        now: Policies,
        then: Policies,
        embedder: "Embedder",
        max_unknown_share: float,
        asking: Askers,
    ) -> None:
        self._now = now
        self._then = then
        self._embedder = embedder
        self._max_unknown_share = max_unknown_share
        self._asking = asking
        self._vectors: dict[str, Vector] = {}

    async def foresee(
        self,
        namespace: str,
        entries: AsyncIterator[Entry],
        *,
        since: datetime | None = None,
        on_entry: Callable[[Entry], None] = lambda _entry: None,
    ) -> AsyncIterator[Foreseen]:
        """Yield what would be in the place of each decision from `since` on: as if the policy had been changed then."""
        world = World()
        certain = True
        async for entry in entries:
            on_entry(entry)
            if whatif.is_told(entry) and (since is None or entry.decision.decided_at >= since):
                seen = await self._one(namespace, entry, world, certain=certain)
                certain = certain and seen.state in ("same", "another_way")
                yield seen
            world.apply(entry.effects)

    async def _one(self, namespace: str, entry: Entry, world: World, *, certain: bool) -> Foreseen:
        decision = entry.decision
        then = whatif.policy_then(decision, self._now.of(namespace))
        recorded = whatif.Recorded(entry)
        before = await self._run(entry, world, then, then, recorded.next)
        told = whatif.told(decision)
        models = sum(whatif.is_model(note.judge) for note in decision.judges)
        seen = Foreseen(
            namespace=namespace,
            event_id=decision.event_id,
            event_key=decision.event_key,
            decision_id=decision.decision_id,
            text=decision.text,
            similarity=decision.dedup_signal.max_sim,
            occurred_at=decision.occurred_at,
            decided_at=decision.decided_at,
            state="unclear",
            before=told,
            after=None,
            certain=certain,
            questions_before=len(decision.judges),
            questions_after=len(decision.judges),
            model_calls_before=models,
            model_calls_after=models,
        )
        if not isinstance(before, _Decided) or not whatif.agrees(before.ruling, entry, before.planned):
            return msgspec.structs.replace(seen, why="the log does not tell all that it was decided on")
        after = await self._run(entry, world, then, self._then.of(namespace), recorded.again, ask=True)
        if isinstance(after, _Stopped):
            return msgspec.structs.replace(
                seen,
                state="needs_judge" if after.ask is not None else "unclear",
                questions_after=after.questions + (after.ask is not None),
                model_calls_after=after.models,
                unanswered=int(after.ask is not None),
                why=after.why,
            )
        notes = after.planned.decision.judges
        return msgspec.structs.replace(
            seen,
            state=whatif.state_of(entry, after.planned),
            after=whatif.told(after.planned.decision),
            questions_after=len(notes),
            model_calls_after=sum(whatif.is_model(note.judge) for note in notes),
        )

    async def _run(
        self,
        entry: Entry,
        world: World,
        then: Policy,
        policy: Policy,
        answers: Callable[[Ask], Verdict | None],
        *,
        ask: bool = False,
    ) -> "_Decided | _Stopped":
        """Decide a case, with the answers that are at hand and, with `ask`, those of the judges that may be asked."""
        trusted = self._is_trusted(entry, policy)
        case = whatif.case_of(entry, world, then, policy, confirms_skips=self._asking.confirms_skips, trusted=trusted)
        if case is None:
            return _Stopped(None, "a fact that it was decided on is not in the log as it was", 0, 0)
        for _ in range(_STEPS):
            match decide(case):
                case Ruling() as ruling:
                    decision = entry.decision
                    if decision.downstream is not None and downstream.is_asked(ruling):  # is known there now as then
                        ruling = downstream.noted(ruling, decision.downstream)
                    planned = plan(
                        case, ruling, now=decision.decided_at, policy=policy.fingerprint, embedder=decision.embedder
                    )
                    return _Decided(ruling, planned)
                case LookBack():
                    case = msgspec.structs.replace(case, past=await self._past(case, world))
                case Ask() as wanted:
                    verdict = answers(wanted)
                    if verdict is None and ask:
                        verdict = await self._asking.answer(wanted)
                    if verdict is None:
                        given = [answer.verdict for answer in case.answers]
                        models = sum(whatif.is_model(one.judge) for one in given)
                        return _Stopped(wanted, _question(wanted), len(given), models)
                    case = whatif.answered(case, wanted, verdict)
        raise Bug(f"no ruling for event {entry.decision.event_key} within {_STEPS} steps")

    def _is_trusted(self, entry: Entry, policy: Policy) -> bool:
        """Return whether the vector stands for the whole text; only asked where it might lead to a skip, as in the engine."""
        decision = entry.decision
        if entry.vectors or decision.dedup_signal.max_sim < policy.skip_threshold:
            return True
        coverage = self._embedder.coverage(decision.text)
        return not coverage.truncated and coverage.unknown_share <= self._max_unknown_share

    async def _past(self, case: Case, world: World) -> tuple[Scored, ...]:
        """Return the past rows near a candidate and those of its slot, as the engine looks them up; vectors are made anew."""
        from factsieve.engine.overlay import cosine
        from factsieve.engine.wave import unit

        candidate, policy = case.candidate, case.policy
        rows = world.past()
        slot_rows = [] if candidate.slot is None else world.of_slot(candidate.slot)
        given = candidate.embedding
        texts = [row.text for row in (*rows, *slot_rows)]
        vectors = await self._embedded(texts if given is not None else [candidate.text, *texts])
        ours = unit(given) if given is not None else vectors[candidate.text]
        near = sorted(
            (Scored(row, cosine(ours, vectors[row.text])) for row in rows),
            key=lambda scored: (-scored.similarity, scored.fact.point_id),
        )
        found = [s for s in near[: policy.supersede_scan_limit] if s.similarity >= policy.second_look_floor]
        known = {scored.fact.point_id for scored in (*found, *case.current)}
        found += sorted(
            (
                Scored(row, cosine(ours, vectors[row.text]), "slot")
                for row in slot_rows
                if row.point_id not in known and row.status in (Status.CURRENT, Status.PAST)
            ),
            key=lambda scored: (-scored.similarity, scored.fact.point_id),
        )
        return tuple(found)

    async def _embedded(self, texts: Sequence[str]) -> "dict[str, Vector]":
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            if len(self._vectors) + len(missing) > _VECTORS_KEPT:
                self._vectors.clear()
                missing = list(dict.fromkeys(texts))
            self._vectors |= dict(zip(missing, await self._embedder.embed(missing), strict=True))
        return self._vectors


class _Decided(msgspec.Struct, frozen=True):
    ruling: Ruling
    planned: Entry


class _Stopped(msgspec.Struct, frozen=True):
    ask: Ask | None
    why: str
    questions: int
    models: int


def _question(ask: Ask) -> str:
    about = "whether it says the same" if ask.question.confirm else "among " + ", ".join(sorted(ask.question.allowed))
    return f"a judge would be asked {about}: {ask.question.neighbours[0].text!r} stands nearest"
