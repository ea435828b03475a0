"""A consumer of `new-facts`: keeps a searchable collection of its own in Qdrant, of what is in force just now.

    python deploy/examples/ingest_new_facts.py                                             # follow `factsieve up` in this folder
    python deploy/examples/ingest_new_facts.py --once --ask "which port does the API use?"

It is meant to be copied. What is worth copying:

- **One rule for all seven operations.** A change carries the whole fact after it: what is current is indexed, anything else is taken out.
  What it `replaced` is taken out besides. No operation needs a case of its own, so a new one would not need one either.
- **Idempotent by revision.** A fact has one *head* in the collection, with the revision that is held. A change is applied only where its
  revision is above that. So a message may come twice, late, or after a newer one.
- **Crash-safe by order.** Chunks and head are written, then what is left of former revisions is deleted, then the offset is committed. A
  process that is killed in between does it again. Readers take only chunks that agree with their fact's head, so that nobody sees the
  half of it.

Texts are cut into chunks and embedded by the model that factsieve ships; put your own embedder in its place.
"""

import argparse
import asyncio
import json
import logging
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import ApiException

log = logging.getLogger("ingest")

CHUNK_CHARS: Final = 400
SESSION_MS = 9_000
"""After so long without a heartbeat another member takes over."""
RETRY_S: Final = (0.5, 1.0, 2.0, 5.0)
GONE: Final = 2**53
"""Held in place of the revision of an erased fact, whose id never comes back: above any other."""

Embed = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]


# What a change means: pure, and the part to test


@dataclass(frozen=True)
class Head:
    """What is held of one fact. `text` is None where it is not in force."""

    fact_id: str
    revision: int
    namespace: str
    text: str | None = None
    slot: str | None = None
    valid_from: str | None = None


def apply(change: Mapping[str, Any], held: Mapping[str, Head]) -> list[Head]:
    """Return the heads that a message of `new-facts` changes, given those that are held: none where it brings nothing new."""
    fact = change["fact"]
    heads = []
    is_current = fact["status"] == "current"
    before = held.get(fact["fact_id"])
    # The same revision again is written again while it is in force: a crash may have left it half written.
    if (
        before is None
        or fact["revision"] > before.revision
        or (fact["revision"] == before.revision and is_current and before.text is not None)
    ):
        revision = GONE if fact["status"] == "erased" else fact["revision"]
        kept = (fact["text"], fact["slot"], fact["valid_from"]) if is_current else ()
        heads.append(Head(fact["fact_id"], revision, fact["namespace"], *kept))
    for old in change.get("replaced", ()):
        before = held.get(old["fact_id"])
        if old["fact_id"] != fact["fact_id"] and (before is None or before.revision <= old["revision"]):
            # Unknown ones too: should the message that brought it come late, it must not bring it back.
            heads.append(Head(old["fact_id"], old["revision"], fact["namespace"]))
    return heads


def apply_state(fact_id: str, state: Mapping[str, Any] | None, held: Mapping[str, Head]) -> list[Head]:
    """The same for a message of the compacted topic `facts`, where a new consumer starts; None stands for an erased fact."""
    if state is None:
        return [Head(fact_id, GONE, held[fact_id].namespace if fact_id in held else "")]
    return apply({"fact": state}, held)


def touched(change: Mapping[str, Any]) -> set[str]:
    """Return the facts that a change speaks of."""
    return {change["fact"]["fact_id"], *(old["fact_id"] for old in change.get("replaced", ()))}


def chunks_of(text: str, limit: int = CHUNK_CHARS) -> list[str]:
    """Return the text in pieces of at most `limit` characters, cut between words where there are any."""
    pieces, rest = [], text.strip()
    while len(rest) > limit:
        cut = max(rest.rfind(mark, limit // 2, limit) for mark in (". ", "\n", " ")) + 1 or limit
        pieces.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return [*pieces, rest]


# Where it is kept


class Index:
    """The collection: one point per fact (its head), and one per chunk of what is in force."""

    def __init__(self, client: AsyncQdrantClient, collection: str, embed: Embed, dimension: int) -> None:
        self._client = client
        self._collection = collection
        self._embed = embed
        self._blank = [1.0] + [0.0] * (dimension - 1)  # heads are never searched, but some engines want a vector

    async def prepare(self) -> None:
        """Create the collection and its indexes, where they are not there."""
        if not await self._client.collection_exists(self._collection):
            parameters = models.VectorParams(size=len(self._blank), distance=models.Distance.COSINE)
            await self._client.create_collection(self._collection, vectors_config=parameters)
        for field in ("kind", "namespace", "fact_id"):
            await self._client.create_payload_index(
                self._collection, field, models.PayloadSchemaType.KEYWORD, wait=True
            )
        await self._client.create_payload_index(
            self._collection, "revision", models.PayloadSchemaType.INTEGER, wait=True
        )

    async def heads(self, fact_ids: Iterable[str]) -> dict[str, Head]:
        """Return the heads that are held of these facts."""
        found = await self._client.retrieve(self._collection, sorted(set(fact_ids)), with_payload=True)
        fields = ("fact_id", "revision", "namespace", "text", "slot", "valid_from")
        payloads = [point.payload or {} for point in found]
        return {payload["fact_id"]: Head(**{name: payload[name] for name in fields}) for payload in payloads}

    async def write(self, heads: Sequence[Head]) -> None:
        """Write heads with their chunks, then delete the chunks of other revisions. Harmless to repeat."""
        cut = [(head, index, text) for head in heads for index, text in enumerate(chunks_of(head.text or ""))]
        cut = [one for one in cut if one[2]]
        vectors = await self._embed([text for _, _, text in cut]) if cut else []
        points = [
            models.PointStruct(
                id=str(uuid.uuid5(uuid.UUID(head.fact_id), f"{head.revision}/{index}")),
                vector=list(map(float, vector)),
                payload={"kind": "chunk", "chunk": text, **_payload(head)},
            )
            for (head, index, text), vector in zip(cut, vectors, strict=True)
        ]
        points += [
            models.PointStruct(id=head.fact_id, vector=self._blank, payload={"kind": "head", **_payload(head)})
            for head in heads
        ]
        operations: list[models.UpdateOperation] = [
            models.UpsertOperation(upsert=models.PointsList(points=points)),
            *(models.DeleteOperation(delete=models.FilterSelector(filter=_former(head))) for head in heads),
        ]
        await self._client.batch_update_points(self._collection, operations, wait=True)

    async def search(self, namespace: str, question: str, limit: int = 5) -> list[tuple[float, Head, str]]:
        """Return the chunks in force that are nearest to a question: similarity, their fact, and the chunk's text."""
        [vector] = await self._embed([question])
        nearest = await self._client.query_points(
            self._collection,
            query=list(map(float, vector)),
            query_filter=models.Filter(must=[_is("kind", "chunk"), _is("namespace", namespace)]),
            limit=2 * limit,
            with_payload=True,
        )
        hits = [(point.score, point.payload or {}) for point in nearest.points]
        heads = await self.heads(payload["fact_id"] for _, payload in hits)
        return [
            (score, heads[payload["fact_id"]], payload["chunk"])
            for score, payload in hits
            if payload["fact_id"] in heads and heads[payload["fact_id"]].revision == payload["revision"]
        ][:limit]


def _payload(head: Head) -> dict[str, Any]:
    return {
        "fact_id": head.fact_id,
        "revision": head.revision,
        "namespace": head.namespace,
        "text": head.text,
        "slot": head.slot,
        "valid_from": head.valid_from,
    }


def _is(field: str, value: str | int) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def _former(head: Head) -> models.Filter:
    """Return the chunks of a fact that are not of what is in force."""
    every: list[models.Condition] = [_is("kind", "chunk"), _is("fact_id", head.fact_id)]
    return models.Filter(must=every, must_not=[_is("revision", head.revision)] if head.text is not None else None)


# From the topic to the collection


class Ingest:
    """Applies messages, as many at once as were fetched."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.applied = 0
        self.passed_over = 0

    async def changes(self, changes: Sequence[Mapping[str, Any]]) -> None:
        """Apply messages of `new-facts`, in their order."""
        held = await self._index.heads(fact_id for change in changes for fact_id in touched(change))
        await self._write(held, ((lambda h, change=change: apply(change, h)) for change in changes))

    async def states(self, states: Sequence[tuple[str, Mapping[str, Any] | None]]) -> None:
        """Apply messages of `facts`: (fact id, state), in their order."""
        held = await self._index.heads(fact_id for fact_id, _ in states)
        await self._write(held, ((lambda h, one=one: apply_state(*one, h)) for one in states))

    async def _write(self, held: dict[str, Head], steps: Iterable[Callable[[dict[str, Head]], list[Head]]]) -> None:
        fresh: dict[str, Head] = {}
        for step in steps:
            heads = step(held)
            self.applied += bool(heads)
            self.passed_over += not heads
            for head in heads:
                held[head.fact_id] = fresh[head.fact_id] = head
        if fresh:
            await self._index.write(list(fresh.values()))


async def insist(doing: Callable[[], Awaitable[None]]) -> None:
    """Do it until it works: a store that is away costs time, never a message."""
    for attempt in range(sys.maxsize):
        try:
            await doing()
            return
        except (ApiException, OSError) as error:
            pause_s = RETRY_S[min(attempt, len(RETRY_S) - 1)]
            log.warning("the collection does not answer (%s), trying again in %g s", error, pause_s)
            await asyncio.sleep(pause_s)


def read_change(record: Any) -> Mapping[str, Any] | None:  # noqa: ANN401 - an aiokafka record
    """Return a message's value, or None (reported) where it is of a kind that this consumer does not know."""
    ce_type = dict(record.headers).get("ce_type", b"").decode()
    change = json.loads(record.value)
    if ce_type.startswith("fact.") and ce_type.endswith(".v1") and "fact" in change:
        return dict(change)
    log.warning("passed over %s at %s/%d/%d", ce_type, record.topic, record.partition, record.offset)
    return None


async def follow(kafka: str, ingest: Ingest, *, group: str, once: bool) -> None:
    """Read `new-facts` in a consumer group, commit what is applied. `once`: until the end, as it was at the start."""
    consumer = AIOKafkaConsumer(
        "new-facts",
        bootstrap_servers=kafka,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=SESSION_MS // 3,
    )
    await consumer.start()
    try:
        while True:
            fetched = await consumer.getmany(timeout_ms=500, max_records=256)
            for partition, records in fetched.items():
                changes = [change for record in records if (change := read_change(record)) is not None]
                await insist(lambda changes=changes: ingest.changes(changes))
                try:
                    await consumer.commit({partition: records[-1].offset + 1})
                except KafkaError as error:  # the partition went to another member: it reads these again, without harm
                    log.warning("not committed: %s", error)
            if once and not fetched and consumer.assignment():
                ends = await consumer.end_offsets(list(consumer.assignment()))
                if all([await consumer.position(part) >= end for part, end in ends.items()]):
                    return
    finally:
        await consumer.stop()


async def bootstrap(kafka: str, ingest: Ingest) -> None:
    """Read `facts` from the beginning to its end: how a consumer starts that was not there before."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    try:
        await consumer.topics()
        partitions = [TopicPartition("facts", number) for number in consumer.partitions_for_topic("facts") or ()]
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        while not all([await consumer.position(part) >= end for part, end in ends.items()]):
            for records in (await consumer.getmany(timeout_ms=500, max_records=256)).values():
                states = [
                    (record.key.decode(), None if record.value is None else json.loads(record.value))
                    for record in records
                ]
                await insist(lambda states=states: ingest.states(states))
    finally:
        await consumer.stop()


def shipped_embedder() -> tuple[Embed, int, Callable[[], None]]:
    """Return the model that comes with factsieve's extra `local`, its dimension, and what closes it."""
    from factsieve.adapters.onnx_embedder import OnnxEmbedder  # noqa: PLC0415 - replaced by your own

    embedder = OnnxEmbedder()

    async def embed(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [vector.tolist() for vector in await embedder.embed(texts)]

    return embed, embedder.dimension, embedder.close


async def run(arguments: argparse.Namespace) -> None:
    """Run what the command line asks for."""
    embed, dimension, close = shipped_embedder()
    client = AsyncQdrantClient(url=arguments.qdrant, check_compatibility=False)
    try:
        index = Index(client, arguments.collection, embed, dimension)
        await index.prepare()
        ingest = Ingest(index)
        if arguments.bootstrap:
            await bootstrap(arguments.kafka, ingest)
        if arguments.once or arguments.ask is None:
            await follow(arguments.kafka, ingest, group=arguments.group, once=arguments.once)
            log.info("%d messages applied, %d brought nothing new", ingest.applied, ingest.passed_over)
        if arguments.ask is not None:
            for score, _head, chunk in await index.search(arguments.namespace, arguments.ask):
                print(f"{score:.2f}  {chunk}")  # noqa: T201 - the answer
    finally:
        await client.close()
        close()


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line; addresses that are not given are those of `factsieve up` in this folder."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog='example: ingest_new_facts.py --once --ask "which port?"',
    )
    parser.add_argument("--kafka", help="bootstrap servers")
    parser.add_argument("--qdrant", help="URL of the Qdrant that keeps the collection")
    parser.add_argument("--state-dir", type=Path, default=Path(".factsieve"), help="folder of `factsieve up`")
    parser.add_argument("--collection", default="my-rag", help="name of the collection")
    parser.add_argument("--group", default="my-rag-ingest", help="consumer group")
    parser.add_argument("--once", action="store_true", help="stop at the end of the topic")
    parser.add_argument("--bootstrap", action="store_true", help="read the compacted topic `facts` first")
    parser.add_argument("--ask", metavar="QUESTION", help="search the collection (after --once) and stop")
    parser.add_argument("--namespace", default="default", help="where to search")
    given = parser.parse_args(arguments)
    state = given.state_dir / "stack.json"
    if (given.kafka is None or given.qdrant is None) and not state.exists():
        parser.error(f"there is no {state}: start `factsieve up` in this folder, or give --kafka and --qdrant")
    local = json.loads(state.read_text()) if state.exists() else {}
    given.kafka = given.kafka or local["kafka_bootstrap"]
    given.qdrant = given.qdrant or local["qdrant_url"]
    return given


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    asyncio.run(run(parse()))
