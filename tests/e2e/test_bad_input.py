"""Input that can not be used, and input that looks as if it could not."""

import json
import random
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest

from e2e import streams
from e2e.harness import Room
from factsieve.core.facts import Record
from factsieve.wire.deadletters import read_dead_letter

pytestmark = [pytest.mark.stack, pytest.mark.slow]

SAMPLE = 300
"""So many lines of the normalisation test, of its 19,000."""

GOOD = {"namespace": "team", "text": "The api listens on port 8080.", "source": "remember"}


def record(value, *, key: bytes | None = b"team", headers=(), timestamp_ms: int | None = None) -> dict:
    """Return a record as a careless producer may send it."""
    encoded = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
    return {"key": key, "value": encoded, "headers": list(headers), "timestamp_ms": timestamp_ms}


def changed(**fields) -> dict:
    return record({**GOOD, **fields})


def bad_records() -> list[tuple[str, dict]]:
    """Return records with the code that each is refused with."""
    ahead = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    model = {"embedding_model": "all-MiniLM-L6-v2-int8"}
    unit = [1.0] + [0.0] * 383
    vector = json.dumps({**GOOD, **model, "embedding": unit})
    return [
        ("not_json", record(b'{"text": ')),
        ("not_json", record(b"\xef\xbb\xbf{}")),
        ("not_json", record(b"[" * 100_000)),
        ("not_json", record(b"")),
        ("not_utf8", record(b'{"text": "caf\xe9", "source": "remember"}')),
        ("not_utf8", record(b'{"text": "\\ud800", "source": "remember"}')),
        ("not_utf8", record(GOOD, key=b"\xff\xfe")),
        ("not_utf8", record(GOOD, headers=[("ce_id", b"\xff"), ("ce_source", b"s")])),
        ("not_an_object", record(b'["text"]')),
        ("missing_field", record({"namespace": "team", "source": "remember"})),
        ("missing_field", record({"namespace": "team", "text": "No source."})),
        ("missing_field", record({**GOOD, "text": None})),
        ("empty_text", changed(text="")),
        ("empty_text", changed(text=" \t\u00a0\u3000\n")),
        ("text_too_long", changed(text="long " * 2_000)),
        ("wrong_type", changed(text=["a", "list"])),
        ("wrong_type", changed(occurred_at=1_700_000_000)),
        ("wrong_type", changed(attributes="none")),
        ("unknown_source", changed(source="gossip")),
        ("unknown_type", record(GOOD, headers=[("ce_type", b"fact.rumour.v1")])),
        ("bad_time", changed(occurred_at="yesterday")),
        ("bad_time", changed(occurred_at="2026-02-30T00:00:00Z")),
        ("bad_time", changed(occurred_at="2026-03-04T09:30:00")),
        ("future_time", changed(occurred_at=ahead)),
        ("bad_embedding", record(vector.replace("1.0", "NaN", 1).encode())),
        ("bad_embedding", record(vector.replace("1.0", "Infinity", 1).encode())),
        ("bad_embedding", record(vector.replace("1.0", "1e39", 1).encode())),
        ("bad_embedding", changed(**model, embedding=[0.0] * 384)),
        ("bad_embedding", changed(**model, embedding=unit[:-1])),
        ("bad_threshold", changed(dedup_threshold=1.5)),
        ("bad_slot", changed(slot="")),
        ("attributes_too_large", changed(attributes={"blob": "x" * 20_000})),
        ("namespace_mismatch", changed(namespace="other")),
        ("namespace_mismatch", record({"session_id": "other", "text": "In another session.", "source": "remember"})),
        ("bad_namespace", record({**GOOD, "namespace": ""}, key=b"")),
        ("null_key", record(GOOD, key=None)),
        ("null_value", record(None)),
        ("record_too_large", changed(text="x" * 1_000_000)),
        ("command_unauthorised", record({"fact_id": "00000000-0000-0000-0000-000000000000"}, headers=_command())),
    ]


def _command() -> list[tuple[str, bytes]]:
    at = datetime.now(UTC).isoformat().encode()
    return [("ce_type", b"fact.retract.v1"), ("ce_source", b"operator"), ("ce_id", b"c1"), ("ce_time", at)]


def test_each_kind_of_bad_input_has_its_code_its_bytes_are_kept_and_the_stream_goes_on(quiet):
    """In the dead letter topic the record as it came, on `fact-decisions` a refusal with the same code; what follows is decided."""
    given = [
        (code, {**one, "headers": [("n", b"%d" % n), *one["headers"]]}) for n, (code, one) in enumerate(bad_records())
    ]
    good = [changed(text=f"Fact number {n} is about {n * 17}.") for n in range(len(given))]
    before = quiet.follower.decided
    quiet.send([one for pair in zip((bad for _, bad in given), good, strict=True) for one in pair])
    quiet.until_decided(before + 2 * len(given))
    quiet.until_committed()
    outcome = quiet.outcome()
    letters = {}
    for one in outcome.dead_letters:
        number = dict(one.headers).get("n")
        if number is not None:
            raw = Record(one.topic, one.partition, one.offset, one.timestamp, one.key, one.value, one.headers)
            letters[int(number)] = read_dead_letter(raw)
    refused = {(one["coordinates"]["partition"], one["coordinates"]["offset"]): one for one in outcome.rejects}
    assert sorted(letters) == list(range(len(given)))
    for number, (code, sent) in enumerate(given):
        letter = letters[number]
        assert (number, letter.code) == (number, code), letter.message
        assert letter.key == sent["key"]
        assert letter.value == sent["value"]
        assert list(letter.headers) == sent["headers"]
        told = refused[letter.coordinates.partition, letter.coordinates.offset]
        assert told["error"]["code"] == code
        assert told["error"]["message"] == letter.message
        assert told["decision"] is None
        assert told["dedup_signal"] == {"is_update": False, "max_sim": 0.0, "matched_id": None, "filtered": True}
    decided = {one["text"] for one in outcome.decisions.values()}
    assert {json.loads(one["value"])["text"] for one in good} <= decided


def test_a_refused_id_is_free_and_a_decided_one_is_not(quiet):
    """A corrected resend of a refused event under its id is taken; another body under the id of a decided one is a conflict."""
    before = quiet.follower.decided

    def event(text: str, source: str = "producer") -> dict:
        headers = [("ce_id", b"e1"), ("ce_source", source.encode())]
        return record({"text": text, "source": "remember"}, key=b"ids", headers=headers)

    quiet.send([event(" ")])
    quiet.until_decided(before + 1)
    quiet.send([event("The build takes 7 minutes.")])
    quiet.until_decided(before + 2)
    quiet.send([event("The build takes 9 minutes."), event("The build takes 7 minutes.", "another producer")])
    quiet.until_decided(before + 4)
    quiet.until_committed()
    outcome = quiet.outcome()
    assert [one["error"]["code"] for one in outcome.rejects if one["namespace"] == "ids"] == [
        "empty_text",
        "event_id_conflict",
    ]
    decided = [one["decision"] for one in outcome.decisions.values() if one["namespace"] == "ids"]
    assert sorted(decided) == ["add", "skip"]
    [fact] = quiet.facts("ids")
    assert fact.text == "The build takes 7 minutes."
    assert fact.stated_count == 2


def texts_come_back(room: Room, texts: list[str], namespace: str) -> list[dict]:
    """Send texts as candidates; each is a fact or a repeat of one, and comes back as it was sent. Return the decisions."""
    source = "ingest"
    values = [{"namespace": namespace, "text": text, "source": source, "attributes": {"said": text}} for text in texts]
    before = room.follower.decided
    room.send([record(value, key=namespace.encode()) for value in values])
    room.until_decided(before + len(texts), timeout_s=170)
    room.until_committed()
    outcome = room.outcome()
    assert not [letter for letter in outcome.dead_letters if letter.key == namespace.encode()]
    mine = [one for one in outcome.decisions.values() if one["namespace"] == namespace]
    ordered = sorted(mine, key=lambda one: (one["coordinates"]["partition"], one["coordinates"]["offset"]))
    assert [one["text"] for one in ordered] == texts
    stored = {fact.fact_id: fact for fact in room.facts(namespace, current_only=False)}
    added = {one["fact"]["fact_id"]: one["fact"] for one in outcome.values(outcome.topics.new_facts)}
    for said, one in zip(texts, ordered, strict=True):
        if one["decision"] == "add":
            fact = stored[one["fact_id"]]
            assert fact.text == said
            assert fact.attributes == {"said": said}
            assert added[one["fact_id"]]["text"] == said
        else:
            assert one["decision"] in ("skip", "update", "supersede", "merge")
    return ordered


@pytest.mark.shared
@pytest.mark.timeout(300)
def test_strings_that_break_parsers_come_back_unchanged(quiet, shared):
    """All of them go through without a crash; what is stored and told is what was sent, to the code point."""
    texts = streams.naughty(shared)
    assert len(texts) > 400
    texts_come_back(quiet, texts, "naughty")


@pytest.mark.shared
@pytest.mark.timeout(300)
def test_canonically_equal_texts_are_one_fact(quiet, shared):
    """Of a sample of Unicode's normalisation test: NFC, NFD and the source form are the same statement, stored as it came first."""
    lines = [columns for columns in streams.normalisation_columns(shared) if len(set(columns)) > 1]
    sample = random.Random(20_260_301).sample(lines, SAMPLE)
    groups = {unicodedata.normalize("NFC", columns[0]): list(dict.fromkeys(columns)) for columns in sample}
    decisions = texts_come_back(quiet, [form for group in groups.values() for form in group], "forms")
    by_text = {one["text"]: one for one in decisions}
    stored = 0
    for first, *others in groups.values():
        if by_text[first]["decision"] != "add":
            continue  # these texts of one or two characters are near to each other: it was taken for another group's
        stored += 1
        for other in others:
            assert by_text[other]["reason"] == "exact_duplicate", ascii(other)
            assert by_text[other]["matched_id"] == by_text[first]["fact_id"]
    assert stored > 0.9 * len(groups)
