"""Replay, export, import, rebuild, erase and compact, as an operator types them, on a stack that `factsieve up` started."""

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from aiokafka import AIOKafkaConsumer, TopicPartition
from qdrant_client import QdrantClient
from qdrant_client.models import PointStruct
from test_with_stack import ENVIRONMENT, Shell, up_in

from factsieve.cli import main
from factsieve.localstack.qdrant import Qdrant
from factsieve.localstack.stack import read_state

pytestmark = pytest.mark.stack

SECRET = "The archive opens with 4711-unforgettable"
LINES = [
    {"id": "p1", "text": "The API listens on port 8080.", "slot": "api.port", "occurred_at": "2026-03-01T09:00:00Z"},
    {"id": "p2", "text": "The API listens on port 8081.", "slot": "api.port", "occurred_at": "2026-03-03T09:00:00Z"},
    {"id": "p3", "text": "The API listens on port 8079.", "slot": "api.port", "occurred_at": "2026-03-02T09:00:00Z"},
    {"id": "d1", "text": "Deploys happen on Tuesday.", "occurred_at": "2026-03-04T09:00:00Z"},
    {"id": "d2", "text": "Deploys happen on Tuesday.", "occurred_at": "2026-03-05T09:00:00Z"},
    {"id": "s1", "text": SECRET, "namespace": "vault", "occurred_at": "2026-03-05T10:00:00Z"},
]


class Desk(Shell):
    """Types commands in the stack's folder, in this process: they are many. Can choose other collections, and read topics whole."""

    def run(self, *words: str, given: str | None = None, timeout_s: float = 120.0, **variables: str) -> Any:
        said, complained = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patched, contextlib.chdir(self.folder):
            for name in [name for name in os.environ if name.startswith("FACTSIEVE_")]:
                patched.delenv(name)
            for name, value in (ENVIRONMENT | variables).items():
                patched.setenv(name, value)
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((given or "").encode())))
            with (
                contextlib.redirect_stdout(said),
                contextlib.redirect_stderr(complained),
                pytest.raises(SystemExit) as ended,
            ):
                main.run(list(words))
        code = ended.value.code
        return subprocess.CompletedProcess(words, int(code or 0), said.getvalue(), complained.getvalue())

    def done(self, *words: str, **variables: str) -> str:
        """Run a command that has to succeed, and return what it prints."""
        ran = self.run(*words, **variables)
        assert ran.returncode == 0, f"{words}: {ran.stdout}{ran.stderr}"
        return str(ran.stdout)

    def rows(self, **variables: str) -> list[dict[str, Any]]:
        """Return every row of every fact."""
        printed = self.done("facts", "--all", "--limit", "1000", "--json", **variables)
        return sorted((json.loads(line) for line in printed.splitlines()), key=lambda row: row["point_id"])

    def topic(self, name: str) -> list[Any]:
        state = read_state(self.folder / ".factsieve")
        assert state is not None
        return asyncio.run(read_topic(state.kafka_bootstrap, name))


async def read_topic(bootstrap: str, name: str) -> list[Any]:
    """Return all records of a topic, by partition and offset."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    try:
        numbers = await consumer._client._wait_on_metadata(name)
        partitions = [TopicPartition(name, number) for number in sorted(numbers)]
        consumer.assign(partitions)
        found = []
        for part, end in (await consumer.end_offsets(partitions)).items():
            consumer.seek(part, 0)
            while await consumer.position(part) < end:
                found += (await consumer.getmany(part, timeout_ms=5_000)).get(part, [])
        return found
    finally:
        await consumer.stop()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("recovery")
    with up_in(folder):
        desk = Desk(folder)
        given = "\n".join(json.dumps({"namespace": "team", **line}) for line in LINES)
        told = desk.json("remember", "--file", "-", given=given)
        assert Counter(one["decision"] for one in told) == {"add": 4, "supersede": 1, "skip": 1}, told
        yield desk


def test_a_replay_tells_again_and_changes_nothing(desk: Desk) -> None:
    """A dry run counts; the replay reports every event under its first decision and tells new-facts nothing, with --emit everything.

    A second replay passes over what the first one sent. No point changes.
    """
    before = desk.rows()
    decided = {row["event_key"]: row["decision_id"] for row in desk.json("activity", "--limit", "1000")}
    candidates, changes = len(desk.topic("candidate-facts")), len(desk.topic("new-facts"))
    [would] = desk.json("replay", "--all", "--dry-run")
    assert (would["chosen"], would["known"]) == (
        candidates - would["fates"].get("replayed", 0) - would["fates"].get("command", 0),
        would["chosen"],
    )
    assert len(desk.topic("candidate-facts")) == candidates
    [done] = desk.json("replay", "--all")
    assert (done["sent"], done["told_again"], done["decided"], done["refused"]) == (
        would["chosen"],
        would["chosen"],
        {},
        {},
    )
    assert len(desk.topic("candidate-facts")) == candidates + done["sent"]
    assert len(desk.topic("new-facts")) == changes
    mine = [json.loads(one.value) for one in desk.topic("fact-decisions") if done["replay_id"].encode() in one.value]
    assert len(mine) == done["sent"]
    assert {(one["event_key"], one["decision_id"]) for one in mine} <= decided.items()
    assert all(one["replayed"] and one["met_at"]["offset"] != one["coordinates"]["offset"] for one in mine)

    [again] = desk.json("replay", "--namespace", "team", "--since", "2026-03-02", "--until", "2026-03-05", "--emit")
    assert again["sent"] == again["told_again"] == 3
    assert again["fates"]["replayed"] >= done["sent"]
    assert again["fates"]["other_time"] >= 2
    repeated = desk.topic("new-facts")[changes:]
    assert desk.rows() == before
    assert {json.loads(one.value)["decision_id"] for one in repeated} <= set(decided.values())
    assert len(repeated) >= 3


def test_usage_that_makes_no_sense_is_refused(desk: Desk) -> None:
    """Nothing chosen, a range that is none, a partition that is none, a time that is none, an unknown replay: exit code 2 with the fix."""
    for words, said in (
        ((), "--all"),
        (("--offsets", "0"), "PARTITION:FROM-TO"),
        (("--offsets", "99:0-1"), "no partition 99"),
        (("--offsets", "0:9-1"), "backwards"),
        (("--since", "yesterday"), "no time"),
        (("--by", "hand", "--all"), "--by"),
        (("--all", "--resume", "nobody"), "no replay nobody"),
    ):
        ran = desk.run("replay", *words)
        assert (ran.returncode, said in ran.stderr) == (2, True), ran.stderr
    for words in (("import", "nothing.jsonl"), ("rebuild", "--from", "nothing.jsonl")):
        assert desk.run(*words).returncode == 2


def test_export_import_and_rebuild_give_the_same_facts(desk: Desk) -> None:
    """Into other collections: an import of an export, a rebuild from the topic alone, and one from the export and the topic.

    All fields of all rows are the same, system times included. Repeated, each changes nothing.
    """
    said = desk.done("export", "whole.jsonl.gz")
    assert "ledger records" in said
    assert (desk.folder / "whole.jsonl.gz").stat().st_mode & 0o077 == 0
    later = {
        "id": "l1",
        "text": "The lift is out of order.",
        "namespace": "team",
        "occurred_at": "2026-03-06T09:00:00Z",
    }
    desk.json("remember", "--file", "-", given=json.dumps(later))
    rows = desk.rows()

    imported = {"FACTSIEVE_QDRANT__COLLECTION_PREFIX": "imported-"}
    desk.done("import", "whole.jsonl.gz", **imported)
    assert desk.rows(**imported) == [row for row in rows if row["text"] != later["text"]]
    second = json.loads(desk.done("import", "whole.jsonl.gz", "--json", **imported))
    assert (second["facts"], second["decisions"], second["embedded"]) == (0, 0, 0)

    for name, source in (("told-", ()), ("both-", ("--from", "whole.jsonl.gz"))):
        prefix = {"FACTSIEVE_QDRANT__COLLECTION_PREFIX": name}
        desk.done("rebuild", *source, "--beside-workers", "--dry-run", **prefix)
        desk.done("rebuild", *source, "--beside-workers", **prefix)
        assert desk.rows(**prefix) == rows
        full = desk.run("rebuild", *source, "--beside-workers", **prefix)
        assert (full.returncode, "not empty" in full.stderr) == (2, True)
        again = json.loads(desk.done("rebuild", *source, "--continue", "--json", **prefix))
        assert (again["told"]["facts"], again["told"]["decisions"]) == (0, 0)
    [known] = [
        json.loads(line)
        for line in desk.done(
            "replay", "--all", "--dry-run", "--json", FACTSIEVE_QDRANT__COLLECTION_PREFIX="told-"
        ).splitlines()
    ]
    assert known["known"] == known["chosen"]

    packed = (desk.folder / "whole.jsonl.gz").read_bytes()
    (desk.folder / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    assert desk.run("import", "cut.jsonl.gz").returncode == 2


def test_what_was_erased_is_in_no_store_after_compacting(desk: Desk) -> None:
    """Bytes of an erased text: gone from Qdrant's folder, Redis and what the topic `facts` says last; no replay brings it back."""
    folder = desk.folder / ".factsieve" / "qdrant"
    [fact] = [row for row in desk.rows() if row["text"] == SECRET]
    desk.done("export", "before.jsonl")
    assert SECRET in (desk.folder / "before.jsonl").read_text()
    desk.done("erase", fact["fact_id"], "--yes")
    (desk.folder / "before.jsonl").unlink()
    copied = ("imported-", "told-", "both-")  # by other tests of this module
    own = [one for one in (folder / "collections").iterdir() if not one.name.startswith(copied)]
    assert held_in(own, SECRET)
    said = desk.done("compact")
    assert "nothing overwritten is left" in said
    assert held_in(own, SECRET) == []

    [done] = desk.json("replay", "--all", "--emit")
    assert done["told_again"] == done["sent"] >= len(LINES)
    assert not [row for row in desk.rows() if "4711" in row["text"]]
    told = [row for row in desk.json("activity", "--namespace", "vault") if row["replay_id"] == done["replay_id"]]
    assert [(row["decision"], row["reason"], row["text"]) for row in told] == [("skip", "erased", "")]
    desk.done("compact")
    assert held_in(own, SECRET) == []

    state = read_state(desk.folder / ".factsieve")
    assert state is not None
    with redis.Redis.from_url(state.redis_url) as client:
        kept = [client.dump(key) for key in client.scan_iter()]
        client.save()
    assert SECRET.encode() not in b"".join(one for one in kept if one)
    assert SECRET.encode() not in (folder.parent / "redis" / "dump.rdb").read_bytes()
    told = {one.key: one.value for one in desk.topic("facts")}
    assert told[fact["fact_id"].encode()] is None
    assert not [value for value in told.values() if value is not None and SECRET.encode() in value]


def held_in(places: list[Path], text: str) -> list[Path]:
    """Return the files below folders whose bytes hold a text."""
    files = [one for place in places for one in place.rglob("*") if one.is_file()]
    return [one for one in files if text.encode() in one.read_bytes()]


def test_a_new_consumer_starts_from_the_topic_of_facts(desk: Desk) -> None:
    """Read to its end, each key's last value is a head as it stands; those that are current are the current facts, the erased are gone."""
    last = {one.key.decode(): one.value and json.loads(one.value) for one in desk.topic("facts")}
    heads = {row["fact_id"]: row for row in desk.rows() if row["point_id"] == row["fact_id"]}
    stand = {key: value for key, value in last.items() if value is not None}
    assert {key for key, row in heads.items() if row["status"] != "erased"} == set(stand)
    for key, value in stand.items():
        told = {name: content for name, content in value.items() if name in heads[key]}
        assert told == {name: heads[key][name] for name in told}
    current = {row["fact_id"] for row in desk.json("facts", "--limit", "1000")}
    assert {key for key, value in stand.items() if value["status"] == "current"} == current


def test_a_stopped_stack_is_compacted_where_it_lies(tmp_path: Path) -> None:
    """With the stack down its folder is opened here; where there is none, or another process has it open, the command says so."""
    folder = tmp_path / ".factsieve" / "qdrant"
    desk = Desk(tmp_path)
    service = Qdrant(folder=folder, log_path=tmp_path / "log")
    service.start()
    try:
        client = QdrantClient(url=service.url, check_compatibility=False)
        client.create_collection("ledger", vectors_config={})
        for body in (SECRET, "nothing"):
            client.upsert("ledger", [PointStruct(id=1, vector={}, payload={"body": body})])
        client.close()
        busy = desk.run("compact")
        assert (busy.returncode, "open in another process" in busy.stderr) == (2, True)
    finally:
        service.stop()
    assert held_in([folder], SECRET)
    [done] = [json.loads(line) for line in desk.done("compact", "--json").splitlines()]
    assert (done["collection"], done["certain"]) == ("ledger", True)
    assert held_in([folder], SECRET) == []
    assert held_in([folder], "nothing")
    assert desk.run("compact", "--state-dir", "nowhere").returncode == 2
