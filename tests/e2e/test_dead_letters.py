"""`factsieve dlt` on a real topic: what lies there is found, shown as it came, corrected and sent in again under its own name."""

import asyncio
import json
from typing import Any

import pytest
from typer.testing import CliRunner

from e2e.harness import BOTH_SITES, Room
from factsieve.cli.local import environment_of
from factsieve.cli.main import app
from factsieve.core import ids
from factsieve.operations.connected import connected_to
from factsieve.ports import Message

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("site", BOTH_SITES, indirect=True)]

ODD = (("trace", b"1"), ("trace", b"2"), ("none", None), ("empty", b""), ("raw", b"\xff\x00"))
"""Headers that are hard to keep: repeated, null, empty, no text."""


def record(value: Any, *, key: bytes | None = b"team", ce_id: str | None = None) -> dict[str, Any]:
    encoded = value if isinstance(value, bytes) else json.dumps(value).encode()
    named = [("ce_id", ce_id.encode()), ("ce_source", b"test")] if ce_id else []
    return {"key": key, "value": encoded, "headers": [*ODD, *named], "timestamp_ms": None}


async def send_nothing(room: Room) -> None:
    """Send a record without key and value, which Kafka takes."""
    outbox = connected_to(room.settings, local=True).kafka.outbox()
    try:
        await outbox.send([Message(topic=room.topics.candidates, key=None, value=None, headers=(("null", None),))])
    finally:
        await outbox.stop()


class Desk:
    """Types `factsieve dlt` in this process."""

    def __init__(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in environment_of(room.overrides, None).items():
            monkeypatch.setenv(name, value)
        self.room = room

    def run(self, *words: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, ["dlt", *words], catch_exceptions=True)
        assert (done.exit_code == 0) == (code == 0), (done.output, done.exception)
        return done

    def json(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*words, "--json").stdout.splitlines()]

    def letters(self) -> int:
        """How many dead letters were told (marks have no value and no code)."""
        found = self.room.follower.records[self.room.topics.dead_letters]
        return sum(any(name == "kafka_dlt-error-code" for name, _ in one.headers) for one in found)


GOOD = {"namespace": "team", "text": "The api listens on port 8080.", "source": "remember"}


def test_dead_letters_are_found_shown_corrected_and_sent_in_again(
    site, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    """With their own key, headers and bytes, once each; a corrected one is decided under the id that it had, and only once."""
    with site.room() as room:
        room.worker()
        desk = Desk(room, monkeypatch)
        sent = [
            record({**GOOD, "source": "gossip"}, ce_id="wrong-source"),
            record(b"\xff{not json", ce_id=None),
            record({**GOOD, "text": "Nobody knows whose this is."}, key=None, ce_id="no-key"),
            record({**GOOD, "namespace": "other", "text": ""}, key=b"other", ce_id="empty"),
        ]
        room.send(sent)
        asyncio.run(send_nothing(room))
        room.until(lambda: desk.letters() == 5, "five dead letters")

        listed = desk.json("list")
        by_code = {one["code"]: one for one in listed}
        assert set(by_code) == {"unknown_source", "not_utf8", "null_key", "empty_text"}
        assert [one["code"] for one in desk.json("list", "--code", "null_key")] == ["null_key"] * 2
        assert [one["code"] for one in desk.json("list", "--namespace", "other")] == ["empty_text"]
        assert desk.json("list", "--until", "2020-01-01") == desk.json("list", "--since", "2999-01-01") == []
        assert len(desk.json("list", "--limit", "2")) == 2
        assert "unknown_source" in desk.run("list").stdout
        desk.run("list", "--code", "no_such_code", code=2)
        desk.run("show", "0/99999", code=2)

        wrong = by_code["unknown_source"]["name"]
        nothing, no_key = (
            next(one["name"] for one in desk.json("list", "--code", "null_key") if (one["value"] is None) is empty)
            for empty in (True, False)
        )
        [shown] = desk.json("show", nothing)
        assert (shown["key"], shown["value"], shown["headers"]) == (None, None, [{"name": "null", "value": None}])
        [shown] = desk.json("show", wrong)
        headers = [(one["name"], one.get("value", one.get("value_base64"))) for one in shown["headers"]]
        assert headers[:5] == [("trace", "1"), ("trace", "2"), ("none", None), ("empty", ""), ("raw", "/wA=")]
        assert (shown["key"], json.loads(shown["value"])) == ("team", {**GOOD, "source": "gossip"})
        raw = desk.run("show", by_code["not_utf8"]["name"], "--value")
        assert raw.stdout_bytes == b"\xff{not json"
        assert "gossip" in desk.run("show", wrong).stdout

        assert "would be sent" in desk.run("redrive", "--all", "--dry-run").stdout
        assert [one["name"] for one in desk.json("redrive", wrong, "--dry-run")] == [wrong]
        desk.run("redrive", code=2)
        desk.run("redrive", "7/7", code=2)
        desk.run("redrive", "--all", "--key", "team", code=2)

        # As it is: refused again, in a new dead letter that still has all that it had.
        desk.run("redrive", by_code["not_utf8"]["name"])
        room.until(lambda: desk.letters() == 6, "the same dead letter again")
        [again] = desk.json("list", "--code", "not_utf8")
        assert again["name"] != by_code["not_utf8"]["name"]
        assert again["value_base64"] == by_code["not_utf8"]["value_base64"]
        kept = [one for one in again["headers"] if not one["name"].startswith("origin-")]
        assert kept == by_code["not_utf8"]["headers"]

        # Corrected: decided under its own id, and once, however often it is sent.
        fixed = tmp_path / "fixed.json"
        fixed.write_text(json.dumps(GOOD))
        for _ in range(2):
            desk.run("redrive", wrong, "--value-file", str(fixed))
        desk.run("redrive", no_key, "--key", "team")
        room.until_committed()
        outcome = room.outcome()
        entries = outcome.entries()
        assert set(entries) == {ids.event_key("team", "test", name) for name in ("wrong-source", "no-key")}
        assert {fact.text: fact.stated_count for fact in outcome.facts.values()} == {
            GOOD["text"]: 1,
            "Nobody knows whose this is.": 1,
        }

        # What was sent is marked and passed over, what was not is still there.
        assert sorted(one["code"] for one in desk.json("list")) == ["empty_text", "not_utf8", "null_key"]
        marked = {one["name"] for one in desk.json("list", "--all") if one["redriven_at"]}
        assert marked == {wrong, by_code["not_utf8"]["name"], no_key}
        assert len(desk.json("redrive", "--code", "empty_text")) == 1
        room.until(lambda: desk.letters() == 7, "the empty one again")
