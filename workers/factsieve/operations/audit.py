"""A scan of what stands: facts that say one thing, and facts that can not both be true, each with the decision that let it through."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from factsieve.core import audit
from factsieve.core.audit import FindingKind, Groups, Pair
from factsieve.core.case import Answer, Ask, LookBack, Ruling, first_stated
from factsieve.core.decide import decide
from factsieve.core.decision import Decision
from factsieve.core.errors import Bug
from factsieve.core.facts import Fact, Status
from factsieve.core.policy import Policies
from factsieve.ports import NeighbourQuery
from factsieve.wire.ledger import decode_record

if TYPE_CHECKING:
    from factsieve.assembly.settings import Settings
    from factsieve.ports import Embedder, FactPages, Judge, Ledger, Vector

_STEPS: Final = 8
_QUERIES_AT_ONCE: Final = 64
_PAIRS_KEPT: Final = 50_000
"""So many pairs are remembered as looked at: a pair is met from both sides."""
FOUND_KEPT: Final = 100_000
"""So many findings are grouped; further ones are counted only."""
MEMBERS_SHOWN: Final = 12


@asynccontextmanager
async def local_judge(settings: "Settings") -> "AsyncIterator[Judge]":
    """Open the judge of this process that the settings name: rules, or rules and NLI. A language model is never asked."""
    from factsieve.adapters.rules_judge import RulesJudge
    from factsieve.assembly.judges import NLI, build_judges

    name = settings.judge.effective_name
    if name not in ("rules", "cascade") and not name.startswith(NLI):
        yield RulesJudge()
        return
    alone = settings.model_copy(update={"judge": settings.judge.model_copy(update={"name": name, "model": None})})
    judges = build_judges(alone, profile=settings.threshold_profile())
    try:
        yield judges.local
    finally:
        await judges.close()


class Found(msgspec.Struct, frozen=True):
    """A pair that something is wrong with: what, why, and whether it waits for review already."""

    kind: FindingKind
    pair: Pair
    reason: str
    flagged: bool


class Audit:
    """Looks at every current fact with its neighbours, and keeps what it found. Memory is bounded by what is found, not by what is stored.

    Each fact costs one neighbour query of `policy.supersede_scan_limit` neighbours; facts of its slot and those that it was flagged
    against are looked at besides.
    """

    def __init__(
        self,
        facts: "FactPages",
        policies: Policies,
        embedder: "Embedder",
        judge: "Judge",
        *,
        max_unknown_share: float,
        found_kept: int = FOUND_KEPT,
    ) -> None:
        self._store = facts
        self._policies = policies
        self._embedder = embedder
        self._judge = judge
        self._max_unknown_share = max_unknown_share
        self._found_kept = found_kept
        self._seen: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.facts = 0
        self.namespaces: set[str] = set()
        self.pairs = 0
        self.refinements = 0
        self.found: dict[FindingKind, dict[tuple[str, str], Found]] = {kind: {} for kind in FindingKind}
        self.groups: dict[FindingKind, Groups] = {kind: Groups() for kind in FindingKind}
        self.left_out = 0

    async def scan(self, namespace: str | None, *, on_points: Callable[[int], None] = lambda _count: None) -> None:
        """Look at all facts of one namespace or of all. Raises Transient."""
        async for page in self._store.pages(namespace):
            current = [(fact, vector) for fact, vector in page if fact.status is Status.CURRENT]
            for start in range(0, len(current), _QUERIES_AT_ONCE):
                for pair in await self._pairs(current[start : start + _QUERIES_AT_ONCE]):
                    await self._look_at(pair)
            on_points(len(page))

    async def _pairs(self, current: "Sequence[tuple[Fact, Vector]]") -> list[Pair]:
        """Return the pairs of some facts with those near them, of their slot, and those that they are flagged against."""
        from factsieve.engine.overlay import cosine

        self.facts += len(current)
        self.namespaces.update(fact.namespace for fact, _ in current)
        queries = []
        for fact, vector in current:
            policy = self._policies.of(fact.namespace)
            limit = policy.supersede_scan_limit + 1  # itself is among them
            queries.append(NeighbourQuery(fact.namespace, vector, limit, policy.second_look_floor))
        near = await self._store.neighbours(queries)
        slots = [(fact.namespace, fact.slot) for fact, _ in current if fact.slot is not None]
        by_slot = dict(zip(slots, await self._store.by_slot(slots), strict=True)) if slots else {}
        rivals = await self._store.get(list(dict.fromkeys(r for fact, _ in current for r in fact.conflicts_with)))
        found: dict[tuple[str, str], Pair] = {}
        others: list[tuple[Fact, Vector, Fact, str]] = []
        for (fact, vector), hits in zip(current, near, strict=True):
            for hit in hits:
                if hit.fact is not None and (pair := audit.pair_of(fact, hit.fact, hit.similarity)) is not None:
                    found.setdefault(pair.key, pair)
            mates = by_slot.get((fact.namespace, fact.slot or ""), []) if fact.slot is not None else []
            flagged = [rivals[one] for one in fact.conflicts_with if one in rivals]
            others += [(fact, vector, mate, "slot") for mate in mates]
            others += [(fact, vector, rival, "flag") for rival in flagged]
        wanted = [one for one in others if (p := audit.pair_of(one[0], one[2], 0.0)) and p.key not in found]
        vectors = await self._store.vectors(list(dict.fromkeys(one[2].point_id for one in wanted)))
        for fact, vector, other, via in wanted:
            if other.point_id in vectors:
                pair = audit.pair_of(fact, other, cosine(vector, vectors[other.point_id]), via)
                if pair is not None:
                    found.setdefault(pair.key, pair)
        return list(found.values())

    async def _look_at(self, pair: Pair) -> None:
        if pair.key in self._seen:
            return
        self._seen[pair.key] = None
        if len(self._seen) > _PAIRS_KEPT:
            self._seen.popitem(last=False)
        self.pairs += 1
        ruling = await self._rule(pair)
        kind = audit.finding_of(ruling)
        if kind is None and pair.is_flagged:
            kind = FindingKind.CONFLICT
        if kind is None:
            self.refinements += ruling.kind in ("update", "merge")
            return
        kept = self.found[kind]
        if pair.key not in kept and sum(map(len, self.found.values())) >= self._found_kept:
            self.left_out += 1
            return
        judged = ruling.judges[-1].reason if ruling.judges else ""
        kept[pair.key] = Found(kind, pair, judged or ruling.reason, pair.is_flagged)
        self.groups[kind].join(*pair.key)

    async def _rule(self, pair: Pair) -> Ruling:
        policy = self._policies.of(pair.later.namespace)
        trusted = self._is_trusted(pair, policy.skip_threshold)
        case = audit.case_of(pair, policy, trusted=trusted, confirms_skips=self._judge.confirms_skips)
        for _ in range(_STEPS):
            match decide(case):
                case Ruling() as ruling:
                    return ruling
                case LookBack():
                    case = msgspec.structs.replace(case, past=())
                case Ask() as ask:
                    case = case.answered(Answer(ask, await self._judge.answer(ask.question)))
        raise Bug(f"no ruling on facts {pair.key} within {_STEPS} steps")

    def _is_trusted(self, pair: Pair, skip_threshold: float) -> bool:
        if pair.later.embedded or pair.similarity < skip_threshold:
            return True
        coverage = self._embedder.coverage(pair.later.text)
        return not coverage.truncated and coverage.unknown_share <= self._max_unknown_share

    @property
    def surplus(self) -> int:
        """Return how many facts should not stand: all but one of each group that says one thing, or of each that conflicts."""
        return sum(groups.surplus for groups in self.groups.values()) + self.left_out

    @property
    def rate(self) -> float:
        """Return the number to watch: how many of a thousand facts should not stand."""
        return audit.rate(self.surplus, self.facts)

    async def value(self, ledger: "Ledger", limit: int) -> dict[str, Any]:
        """Return what was found as JSON has it, the `limit` largest groups with their facts and decisions. Raises Transient."""
        told: dict[str, Any] = {
            "facts": self.facts,
            "namespaces": len(self.namespaces),
            "pairs": self.pairs,
            "rate_per_1000": self.rate,
            "refinements": self.refinements,
            "left_out": self.left_out,
        }
        for kind, groups in self.groups.items():
            found = groups.groups()
            told[f"{kind}s"] = {
                "groups": len(found),
                "surplus": groups.surplus,
                "rate_per_1000": audit.rate(groups.surplus, self.facts),
                "largest": [await self._group(kind, members, ledger) for members in found[:limit]],
            }
        return told

    async def _group(self, kind: FindingKind, members: list[str], ledger: "Ledger") -> dict[str, Any]:
        shown = set(members[:MEMBERS_SHOWN])
        pairs = [found for key, found in self.found[kind].items() if shown.issuperset(key)]
        facts = {fact.fact_id: fact for found in pairs for fact in (found.pair.earlier, found.pair.later)}
        ordered = sorted(facts.values(), key=lambda fact: (first_stated(fact), fact.fact_id))
        decisions = await self._decisions([fact.decision_id for fact in ordered], ledger)
        return {
            "size": len(members),
            "namespace": ordered[0].namespace,
            "facts": [_fact_value(fact, decisions.get(fact.decision_id)) for fact in ordered],
            "pairs": [_pair_value(found) for found in pairs],
        }

    @staticmethod
    async def _decisions(decision_ids: list[str], ledger: "Ledger") -> dict[str, Decision]:
        """Return those decisions that the ledger holds."""
        pointers = await ledger.decided(list(dict.fromkeys(decision_ids)))
        bodies = await ledger.records(list(dict.fromkeys(pointer.record_id for pointer in pointers.values())))
        records = {record_id: decode_record(body) for record_id, body in bodies.items()}
        return {
            decision_id: records[pointer.record_id].entries[pointer.index].decision
            for decision_id, pointer in pointers.items()
            if pointer.record_id in records
        }


def _fact_value(fact: Fact, decision: Decision | None) -> dict[str, Any]:
    return {
        "fact_id": fact.fact_id,
        "text": fact.text,
        "slot": fact.slot,
        "valid_from": fact.valid_from.isoformat(),
        "stated_count": fact.stated_count,
        "review": fact.review,
        "decision_id": fact.decision_id,
        "let_through": None if decision is None else _let_through(decision),
    }


def _let_through(decision: Decision) -> dict[str, Any]:
    return {
        "decision": decision.decision or decision.command,
        "reason": decision.reason,
        "band": decision.band,
        "max_sim": decision.dedup_signal.max_sim,
        "event_id": decision.event_id,
        "judges": [{"judge": note.judge, "choice": note.choice, "reason": note.reason} for note in decision.judges],
        "findings": [msgspec.to_builtins(finding) for finding in decision.findings],
    }


def _pair_value(found: Found) -> dict[str, Any]:
    return {
        "earlier": found.pair.earlier.fact_id,
        "later": found.pair.later.fact_id,
        "similarity": found.pair.similarity,
        "reason": found.reason,
        "flagged": found.flagged,
    }
