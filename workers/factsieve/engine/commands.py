"""Operators' commands in their lane: authorised, planned by the core, recorded and performed like any decision."""

from collections.abc import Mapping

from factsieve.core import commands, ids
from factsieve.core.decision import Band, Decision, Entry
from factsieve.core.errors import BadInput
from factsieve.core.facts import NO_SIGNAL
from factsieve.core.plan import Draft
from factsieve.core.policy import Policies
from factsieve.engine.ports import Ports
from factsieve.engine.wave import Wave
from factsieve.wire.inbound import Command
from factsieve.wire.signing import authorise


class Commander:
    """Turns commands into ledger entries."""

    def __init__(self, ports: Ports, policies: Policies, keys: Mapping[str, bytes], max_age_s: float) -> None:
        self._ports = ports
        self._policies = policies
        self._keys = keys
        self._max_age_s = max_age_s

    async def entry(self, command: Command, wave: Wave) -> Entry:
        """Return the entry of a command. Raises BadInput for one that is not signed well, or of a kind that is not served."""
        now = self._ports.clock.now()
        authorise(command, self._keys, self._max_age_s, now)
        decision_id = ids.derived_id(command.event_key, "decision")
        draft = Draft(command.event_key, decision_id, command.namespace, now)
        if command.kind != "retract":
            raise BadInput("unknown_type", f"command {command.kind!r} is not served by this version", field="ce_type")
        fact_id = str(command.body["fact_id"])
        fact = (await self._ports.facts.get([fact_id])).get(fact_id)
        if fact is not None and (fact.namespace != command.namespace or not fact.is_head):
            fact = None
        reason = str(command.body.get("reason") or "retracted by an operator")
        outcome, why = commands.retract(draft, fact, reason, f"operator:{command.key_id}")
        policy = self._policies.of(command.namespace)
        decision = Decision(
            decision_id=decision_id,
            event_key=command.event_key,
            event_id=command.event_id,
            namespace=command.namespace,
            decision=None,
            command=command.kind,
            outcome=outcome,
            reason=why,
            fact_id=None if fact is None else fact.fact_id,
            matched_id=fact_id,
            dedup_signal=NO_SIGNAL,
            band=Band.NONE,
            thresholds=policy.thresholds,
            text="" if fact is None else fact.text,
            source=None,
            occurred_at=command.issued_at,
            resolved_at=command.issued_at,
            decided_at=now,
            coordinates=command.coordinates,
            policy=policy.fingerprint,
            embedder=self._ports.embedder.fingerprint,
            via="command",
            revision=None if fact is None else draft.points.get(fact.point_id, fact).revision,
            ce_source=command.ce_source,
            ce_id=command.ce_id,
            ce_time=command.ce_time,
            traceparent=command.traceparent,
        )
        entry = Entry(
            decision=decision,
            body_hash=command.body_hash,
            effects=tuple(draft.points.values()),
            inserts=tuple(draft.inserts),
            reworded=tuple(draft.reworded),
            changes=tuple(draft.changes),
            supersessions=tuple(draft.records),
        )
        return await wave.take_up(entry)
