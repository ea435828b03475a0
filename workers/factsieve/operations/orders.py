"""Operators' commands as orders: previewed over the stores, or signed, sent into their namespace's lane and awaited."""

import re
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from factsieve.core import ids
from factsieve.core.decision import Change
from factsieve.core.errors import BadSettings, Transient
from factsieve.core.facts import Fact
from factsieve.operations.connected import Connected
from factsieve.operations.conversation import Conversation, Decision
from factsieve.operations.signing import signing_key
from factsieve.ports import Message
from factsieve.wire.inbound import CommandKind
from factsieve.wire.ledger import decode_record
from factsieve.wire.producing import command_message
from factsieve.wire.topics import Topics
from factsieve.wire.values import change_value

if TYPE_CHECKING:
    from factsieve.assembly.judges import Judges
    from factsieve.assembly.settings import Settings
    from factsieve.assembly.wiring import Stores
    from factsieve.ports import FactStore, Ledger

CE_SOURCE: Final = "factsieve/operator"
SCAN_LIMIT: Final = 1_000_000
"""So many decisions are looked at for an event that is named by its id alone."""


class Order(msgspec.Struct, frozen=True):
    """One command: its kind, the namespace in whose lane it has its place, and its body."""

    kind: CommandKind
    namespace: str
    body: Mapping[str, Any]

    def with_reason(self, reason: str | None) -> "Order":
        """Return the order with a reason, where one is given."""
        return self if reason is None else msgspec.structs.replace(self, body={**self.body, "reason": reason})


class Orders:
    """Gives orders one after the other, each when the outcome of the last one is known. An async context manager."""

    def __init__(self, connected: Connected, *, timeout_s: float) -> None:
        self._key_id, self._key = signing_key(connected.settings)
        self._topics = connected.topics
        self._conversation = Conversation(connected.kafka, connected.topics)
        self._timeout_s = timeout_s

    async def __aenter__(self) -> "Orders":
        await self._conversation.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:  # noqa: ANN401 - handed on as they come
        await self._conversation.__aexit__(*raised)

    async def give(self, order: Order) -> Decision:
        """Return the outcome as it is told on `fact-decisions` (a reject has `error`). Raises Transient where none comes."""
        name = (order.namespace, CE_SOURCE, str(uuid.uuid4()))
        message = signed(self._topics, order, name[2], (self._key_id, self._key))
        told = await self._conversation.tell([(name, message)], idle_timeout_s=self._timeout_s)
        if name not in told:
            raise Transient(
                "worker",
                f"no outcome within {self._timeout_s:g} s. The command {name[2]} is on the topic and will be performed when a "
                "worker runs (`factsieve up`, `factsieve worker`), if it is not too old by then",
            )
        return told[name]


def signed(topics: Topics, order: Order, ce_id: str, key: tuple[str, bytes]) -> Message:
    """Return an order as a command of this moment, under an id of its own. `key`: the signing key's id and bytes."""
    return command_message(
        topics,
        kind=order.kind,
        namespace=order.namespace,
        body=order.body,
        ce_source=CE_SOURCE,
        ce_id=ce_id,
        now=datetime.now(UTC),
        key_id=key[0],
        key=key[1],
    )


async def preview(settings: "Settings", stores: "Stores", order: Order, *, judges: "Judges | None" = None) -> Decision:
    """Return the outcome that an order would have now, and the changes that it would make; reads only.

    Where the order asks a judge: one of `judges`, which stay open, else one that is made for this. Raises BadSettings where it can not be
    made, Transient.
    """
    from factsieve.adapters.clock import SystemClock
    from factsieve.adapters.rules_judge import RulesJudge
    from factsieve.assembly.judges import Judges as Made
    from factsieve.assembly.judges import build_judges
    from factsieve.engine.commands import Issue, Planner
    from factsieve.engine.commands import Stores as Read
    from factsieve.engine.desk import HoldSettings, JudgeDesk
    from factsieve.engine.ports import QuietObserver

    async with AsyncExitStack() as opened:
        if not order.body.get("ask"):
            judges = Made(RulesJudge(), RulesJudge())  # nobody is asked
        elif judges is None:
            judges = build_judges(settings, profile=settings.threshold_profile())
            opened.push_async_callback(judges.close)
        desk = JudgeDesk(judges.judge, judges.local, SystemClock(), QuietObserver(), HoldSettings(0.0, 0.1))
        planner = Planner(Read(stores.facts, stores.ledger, stores.embedder), settings.policies(), desk)
        issue = Issue(
            kind=order.kind,
            namespace=order.namespace,
            body=order.body,
            event_key=ids.event_key(order.namespace, CE_SOURCE, f"preview {uuid.uuid4()}"),
            decided_by="operator:preview",
            now=datetime.now(UTC),
        )
        planned = await planner.plan(issue)
    return {
        "dry_run": True,
        "command": order.kind,
        "namespace": order.namespace,
        "outcome": planned.outcome.kind,
        "reason": planned.outcome.reason,
        "fact_id": None if planned.outcome.fact is None else planned.outcome.fact.fact_id,
        "changes": [_change(change) for change in planned.draft.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    return cast(dict[str, Any], msgspec.to_builtins(change_value(change)))


# Finding what an order is about


async def find_fact(facts: "FactStore", fact_id: str) -> Fact:
    """Return a fact. Raises BadSettings where there is none of that id."""
    try:
        wanted = str(uuid.UUID(fact_id))
    except ValueError:
        raise BadSettings(f"{fact_id!r} is no fact id: `factsieve facts` shows them") from None
    fact = (await facts.get([wanted])).get(wanted)
    if fact is None or not fact.is_head:
        raise BadSettings(f"there is no fact {wanted}: `factsieve facts --all` shows the ids")
    return fact


async def find_decision(stores: "Stores", name: str, namespace: str | None) -> tuple[str, str]:
    """Return namespace and id of the decision that a name means: decision id, event key, or event id.

    Raises BadSettings where there is none, or several.
    """
    if re.fullmatch("[0-9a-f]{64}", name):
        return await _one(stores.ledger, ids.decision_id(name), name)
    try:
        wanted = str(uuid.UUID(name))
    except ValueError:
        return await _by_event_id(stores.ledger, name, namespace)
    if await stores.ledger.decided([wanted]):
        return await _one(stores.ledger, wanted, name)
    fact = (await stores.facts.get([wanted])).get(wanted)
    if fact is not None:
        raise BadSettings(
            f"{name} is a fact and no decision: the decision that made it what it is now is {fact.decision_id}"
        )
    return await _by_event_id(stores.ledger, name, namespace)


async def _one(ledger: "Ledger", decision_id: str, name: str) -> tuple[str, str]:
    pointer = (await ledger.decided([decision_id])).get(decision_id)
    body = None if pointer is None else (await ledger.records([pointer.record_id])).get(pointer.record_id)
    if body is None:
        raise BadSettings(f"there is no decision {name}: `factsieve activity --json` shows the ids")
    return decode_record(body).namespace, decision_id


async def _by_event_id(ledger: "Ledger", event_id: str, namespace: str | None) -> tuple[str, str]:
    found: list[tuple[str, str]] = []
    seen = 0
    async for body in ledger.scan(namespace):
        entries = decode_record(body).entries
        seen += len(entries)
        found += [(e.decision.namespace, e.decision.decision_id) for e in entries if e.decision.event_id == event_id]
        if seen > SCAN_LIMIT:
            raise BadSettings(
                f"event {event_id!r} is not among {SCAN_LIMIT:,} decisions looked at: name its decision id"
            )
    if not found:
        raise BadSettings(
            f"there is no decision about an event {event_id!r}: `factsieve activity --json` shows the ids"
        )
    if len(found) > 1:
        named = ", ".join(f"{decision_id} in {where}" for where, decision_id in found[:5])
        raise BadSettings(f"{len(found)} events are called {event_id!r}: name the decision, one of {named}")
    return found[0]
