"""What every endpoint works with, made once per process."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from fastapi import Request

from factsieve.api.access import Tokens
from factsieve.api.limits import Gate, TokenBuckets
from factsieve.api.readiness import Readiness
from factsieve.assembly.judges import Judges
from factsieve.assembly.settings import Settings
from factsieve.assembly.wiring import Stores
from factsieve.operations.connected import Connected
from factsieve.ports import Clock, HashWindow, Outbox
from factsieve.telemetry.metrics import Metrics
from factsieve.wire.topics import Limits

if TYPE_CHECKING:
    from factsieve.engine.check import Checker
    from factsieve.operations.desk import OrderDesk
    from factsieve.operations.log import DecisionLog


@dataclass
class Gates:
    """What may be under way at once: dedup checks, other requests, live streams."""

    checks: Gate
    requests: Gate
    streams: Gate


@dataclass
class ApiContext:
    """The parts of an API process. `closing` is set when it is asked to stop: streams end then."""

    settings: Settings
    connected: Connected
    stores: Stores
    window: HashWindow
    log: "DecisionLog"
    outbox: Outbox
    orders: "OrderDesk"
    checker: "Checker"
    judges: Judges
    tokens: Tokens
    metrics: Metrics
    clock: Clock
    limits: Limits
    gates: Gates
    writes: TokenBuckets
    readiness: Readiness = field(default_factory=Readiness)
    closing: asyncio.Event = field(default_factory=asyncio.Event)


def current(request: Request) -> ApiContext:
    """Return the context of the process that answers a request."""
    return cast(ApiContext, request.app.state.context)
