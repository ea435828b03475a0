"""Values that the contract suites are made of."""

import math
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from factsieve.core.facts import Fact, Source, Status
from factsieve.ports import FactWrite, Near, NeighbourQuery, Vector

DIMENSION = 8
T0 = datetime(2026, 3, 4, 12, 0, 0, 123456, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

Port = TypeVar("Port")
Answer = TypeVar("Answer")


class Box(Generic[Port]):
    """A port to test: `run` opens it in a fresh event loop; what it holds stays until the test ends."""

    def __init__(self, open_port: Callable[[], AbstractAsyncContextManager[Port]], run: Callable[[Any], Any]) -> None:
        self._open = open_port
        self._run = run

    def run(self, scenario: Callable[[Port], Awaitable[Answer]]) -> Answer:
        """Return what the scenario returns."""

        async def opened() -> Answer:
            async with self._open() as port:
                return await scenario(port)

        return self._run(opened())

    def run_two(self, scenario: Callable[[Port, Port], Awaitable[Answer]]) -> Answer:
        """Run a scenario with two handles on the same store, as two processes have them."""

        async def opened() -> Answer:
            async with self._open() as one, self._open() as two:
                return await scenario(one, two)

        return self._run(opened())


def new_id() -> str:
    """Return an id that nothing else has."""
    return str(uuid.uuid4())


def new_namespace(stem: str = "tenant") -> str:
    """Return a namespace that nothing else has."""
    return f"{stem}-{uuid.uuid4().hex}"


def make_fact(namespace: str, text: str = "The cache runs on port 8080", **fields: Any) -> Fact:
    """Return a current fact, head of its story, unless `fields` say otherwise."""
    point_id = fields.pop("point_id", None) or new_id()
    defaults: dict[str, Any] = {
        "fact_id": point_id,
        "status": Status.CURRENT,
        "revision": 1,
        "version": 1,
        "valid_from": T0,
        "recorded_at": T0,
        "last_stated_at": T0,
        "source": Source.REMEMBER,
        "event_key": "0" * 64,
        "decision_id": point_id,
    }
    return Fact(point_id=point_id, namespace=namespace, text=text, **(defaults | fields))


def full_fact(namespace: str) -> Fact:
    """Return a fact that uses every field, with values that differ from the defaults."""
    return make_fact(
        namespace,
        'Größe \u2264 5\u202fkm \u2014 \U0001f9e0 \u05e9\u05dc\u05d5\u05dd e\u0301 \u0000 "quoted" \\ \n end',
        slot="user.größe",
        status=Status.PAST,
        revision=3,
        version=7,
        valid_from=datetime(1, 1, 1, tzinfo=UTC),
        valid_to=T0 + timedelta(days=3, microseconds=1),
        recorded_at=T0 - MICROSECOND,
        retired_at=T0 + timedelta(days=400),
        last_stated_at=T0 + timedelta(hours=1),
        stated_count=12,
        stated_at=(T0, T0 + timedelta(hours=1)),
        supersedes=(new_id(), new_id()),
        superseded_by=new_id(),
        absorbed=(new_id(),),
        merged_into=new_id(),
        compatible_with=(new_id(),),
        conflicts_with=(new_id(),),
        review="judge_unavailable",
        history=True,
        embedded=True,
        session_id="session|7;{}",
        attributes={"a": [1, 2.5, None, {"ü": "\U0001f600"}], "status": "current", "namespace": "other", "": ""},
    )


def changed(fact: Fact, **fields: Any) -> Fact:
    """Return the fact with other fields."""
    return msgspec.structs.replace(fact, **fields)


def axis(number: int = 0) -> Vector:
    """Return a unit vector along an axis."""
    vector = np.zeros(DIMENSION, dtype=np.float32)
    vector[number] = 1.0
    return vector


def at_cosine(cosine: float, other: int = 1) -> Vector:
    """Return a unit vector whose cosine to `axis(0)` is the given one."""
    vector = np.zeros(DIMENSION, dtype=np.float32)
    vector[0] = cosine
    vector[other] = math.sqrt(1.0 - cosine * cosine)
    return vector


def insert(fact: Fact, vector: Vector | None = None) -> FactWrite:
    """Return the write that inserts a fact."""
    return FactWrite(fact, axis() if vector is None else vector, insert=True)


def update(fact: Fact, vector: Vector | None = None) -> FactWrite:
    """Return the write that puts a fact in place of a lower version."""
    return FactWrite(fact, axis() if vector is None else vector, insert=False)


def near_axis(namespace: str, limit: int = 8, floor: float = 0.72, *, past: bool = False) -> NeighbourQuery:
    """Return the query for what lies near `axis(0)`."""
    return NeighbourQuery(namespace, axis(), limit, floor, past)


def ids(facts: list[Fact]) -> list[str]:
    """Return the point ids, in order."""
    return [fact.point_id for fact in facts]


def hits(near: list[Near]) -> list[tuple[str, float]]:
    """Return ids and similarities, in order."""
    return [(hit.point_id, hit.similarity) for hit in near]
