"""Values to messages and back: emitted messages, ledger records, dead letters, signatures."""

import base64
import bz2
import json
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_builders import (
    CE,
    FACT_ID,
    LIMITS,
    NOW,
    NOW_MS,
    OTHER_ID,
    TOPIC,
    candidate,
    change,
    decision,
    fact,
    record,
    supersession,
)

from factsieve.core import decision as d
from factsieve.core.errors import BadInput, Bug
from factsieve.core.facts import FOREVER, Kind, Record, Source, Status
from factsieve.wire import deadletters, outbound, producing, signing
from factsieve.wire.inbound import decode
from factsieve.wire.ledger import decode_record, encode_record
from factsieve.wire.recorded import decided_entry
from factsieve.wire.topics import Topics
from factsieve.wire.values import DecisionValue, FactValue

TOPICS = Topics()
ERROR = BadInput("empty_text", "text is empty: send a statement", field="text")


def headers_of(message):
    names = [name for name, _ in message.headers]
    assert len(set(names)) == len(names)
    return {name: value.decode() for name, value in message.headers}


def ledger_record(**fields):
    entry = d.Entry(
        decision=decision(),
        body_hash="cd" * 32,
        effects=(fact(), fact(status=Status.PAST, valid_to=NOW)),
        inserts=(FACT_ID,),
        changes=(change(),),
        supersessions=(supersession(),),
        vectors={FACT_ID: (0.6, 0.0, -0.8)},
        text_hash="ef" * 32,
    )
    base = {"record_id": FACT_ID, "namespace": "team", "attempt": "a", "recorded_at": NOW, "entries": (entry,)}
    return d.LedgerRecord(**(base | fields))


def test_decision_message_carries_everything():
    """Every field of a decision and its whole effect is written out, and reads back as the same values."""
    entry = d.Entry(
        decision=decision(),
        body_hash="cd" * 32,
        effects=(fact(),),
        inserts=(FACT_ID,),
        reworded=(OTHER_ID,),
        changes=(change(),),
        supersessions=(supersession(),),
        vectors={FACT_ID: (0.6, 0.0, -0.8)},
        text_hash="ef" * 32,
        attributes={"n": [1, None]},
        erases=d.Erasure(facts={FACT_ID: (), OTHER_ID: (2, 3)}, event_keys=("ab" * 32,)),
        undoes=Kind.MERGE,
    )
    message = outbound.decision_message(TOPICS, entry, replayed=False, traceparent="00-a")
    value = json.loads(message.value)
    extra = {field.name for field in msgspec.structs.fields(d.Entry)} | {"replayed", "replay_id", "met_at"}
    assert set(value) == {field.name for field in msgspec.structs.fields(d.Decision)} | extra
    assert decided_entry(message.value) == entry
    assert value["replayed"] is False
    assert value["matched_text"] is None
    assert value["effects"][0]["valid_to"] == "9999-12-31T23:59:59Z"
    back = msgspec.json.decode(message.value, type=DecisionValue)
    assert msgspec.structs.asdict(back.effects[0]) == msgspec.structs.asdict(fact())
    assert back.supersessions == (supersession(),)
    assert (message.topic, message.key) == ("fact-decisions", b"team")
    headers = headers_of(message)
    assert headers["ce_type"] == "fact.decision.v1"
    assert headers["ce_id"] == decision().decision_id
    assert (headers["ce_source"], headers["ce_specversion"], headers["traceparent"]) == ("factsieve", "1.0", "00-a")
    assert headers["ce_time"] == "2026-03-04T09:30:00Z"


@pytest.mark.parametrize("kind", list(d.ChangeType))
def test_change_message(kind):
    """Each change has its own type, the fact's namespace as key, and an id that repeats with it."""
    first = outbound.change_message(TOPICS, change(type=kind), decision())
    assert headers_of(first)["ce_type"] == f"fact.{kind.value}.v1"
    assert (first.topic, first.key) == ("new-facts", b"team")
    assert first == outbound.change_message(TOPICS, change(type=kind), decision())
    other = outbound.change_message(TOPICS, change(type=kind, revision=2), decision())
    assert headers_of(other)["ce_id"] != headers_of(first)["ce_id"]
    assert json.loads(first.value)["fact"]["superseded_by"] is None


def test_supersession_message():
    """A supersession record is its own value, under its own id."""
    message = outbound.supersession_message(TOPICS, supersession())
    assert msgspec.json.decode(message.value, type=d.SupersessionRecord) == supersession()
    assert headers_of(message)["ce_id"] == supersession().record_id
    assert (message.topic, message.key) == ("fact-supersessions", b"team")


def test_fact_message_and_tombstone():
    """`facts` is keyed by the fact; an erased one leaves a tombstone."""
    message = outbound.fact_message(TOPICS, fact())
    assert (message.topic, message.key) == ("facts", FACT_ID.encode())
    back = msgspec.json.decode(message.value, type=FactValue)
    assert back.valid_to == FOREVER
    assert back.attributes == fact().attributes
    assert outbound.fact_message(TOPICS, fact(status=Status.ERASED)).value is None


def test_reject_message():
    """A reject says null, the error and the filtered signal, and where the input lay."""
    rec = record(candidate(text=""))
    value = json.loads(outbound.reject_message(TOPICS, rec, ERROR, "team", NOW).value)
    assert value["decision"] is None
    assert value["error"] == {"code": "empty_text", "message": "text is empty: send a statement", "field": "text"}
    assert value["dedup_signal"] == {"is_update": False, "max_sim": 0.0, "matched_id": None, "filtered": True}
    assert value["coordinates"] == {"topic": TOPIC, "partition": 2, "offset": 7}
    assert (value["event_id"], value["namespace"]) == ("e-1", "team")


@given(
    st.none() | st.binary(max_size=20),
    st.none() | st.binary(max_size=20),
    st.lists(
        st.tuples(st.sampled_from(["ce_id", "origin-topic", "kafka_dlt-error-code", "x"]), st.binary(max_size=6)),
        max_size=5,
    ),
    st.text(st.characters(), max_size=30),
)
def test_any_refused_record_can_be_reported(key, value, headers, text):
    """Reject and dead letter can be written of any record, with any message, the same each time."""
    rec = Record(TOPIC, 0, 1, NOW_MS, key, value, tuple(headers))
    error = BadInput("not_json", text)
    reject = outbound.reject_message(TOPICS, rec, error, None, NOW)
    assert json.loads(reject.value)["namespace"] is None
    assert reject == outbound.reject_message(TOPICS, rec, error, None, NOW)
    letter = deadletters.dead_letter_message(TOPICS, rec, error, NOW)
    assert (letter.key, letter.value) == (key, value)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["ce_id", "kafka_dlt-original-topic", "KAFKA_DLT-error-code", "original-kafka_dlt-x", "original-x"]
            ),
            st.binary(max_size=6),
        ),
        max_size=6,
    )
)
def test_dead_letters_read_back(headers):
    """A dead letter gives its record back exactly, also where the input looked like a dead letter itself."""
    rec = Record("in", 3, 9, NOW_MS, b"k", b"\xff\x00", tuple(headers))
    letter = deadletters.dead_letter_message(TOPICS, rec, ERROR, NOW)
    ours = [name for name, _ in letter.headers if name.lower().startswith("kafka_dlt-")]
    assert len(set(map(str.lower, ours))) == len(ours)
    back = deadletters.read_dead_letter(
        Record("candidate-facts-dlt", 0, 0, 1, letter.key, letter.value, letter.headers)
    )
    assert (back.key, back.value, back.headers) == (rec.key, rec.value, rec.headers)
    assert (back.coordinates, back.timestamp_ms) == (rec.coordinates, NOW_MS)
    assert (back.code, back.message, back.field, back.dead_lettered_at) == ("empty_text", str(ERROR), "text", NOW)


def test_dead_letter_headers_are_text():
    """The headers have the usual names and values that a person can read."""
    message = deadletters.dead_letter_message(TOPICS, record(candidate()), ERROR, NOW)
    headers = headers_of(message)
    assert headers["kafka_dlt-original-topic"] == TOPIC
    assert (headers["kafka_dlt-original-partition"], headers["kafka_dlt-original-offset"]) == ("2", "7")
    assert headers["kafka_dlt-original-timestamp"] == str(NOW_MS)
    assert headers["kafka_dlt-exception-message"] == str(ERROR)
    assert (headers["kafka_dlt-error-code"], headers["kafka_dlt-error-field"]) == ("empty_text", "text")
    assert headers["ce_id"] == "e-1"


@pytest.mark.parametrize("headers", [(), (("kafka_dlt-original-partition", b"x"),)])
def test_other_records_are_no_dead_letters(headers):
    """A record without our headers is refused, not guessed at."""
    with pytest.raises(BadInput):
        deadletters.read_dead_letter(Record("candidate-facts-dlt", 0, 0, 1, b"k", b"v", headers))


@pytest.mark.parametrize("headers", [(), CE])
def test_replay_and_redrive_keep_the_event(headers):
    """An event that goes round by replay or by the dead letter topic has the key and the time that it had."""
    first = record(candidate(), headers=headers)
    letter = deadletters.dead_letter_message(TOPICS, first, ERROR, NOW)
    dead = deadletters.read_dead_letter(Record("d", 0, 0, 1, letter.key, letter.value, letter.headers))
    redriven = deadletters.redrive_message(TOPICS, dead)
    replayed = deadletters.replay_message(TOPICS, first, "r", emit=True)
    twice = deadletters.replay_message(TOPICS, arrived(replayed), "r2", emit=False)
    want = decode(first, LIMITS, NOW)
    for message, replay_id, emit in ((redriven, None, False), (replayed, "r", True), (twice, "r2", False)):
        got = decode(arrived(message), LIMITS, NOW)
        assert (got.event_key, got.event_id, got.occurred_at) == (want.event_key, want.event_id, want.occurred_at)
        assert (got.body_hash, got.replay_id, got.replay_emit) == (want.body_hash, replay_id, emit)


def arrived(message):
    return Record(message.topic, 5, 500, NOW_MS + 9_000, message.key, message.value, message.headers)


def test_ledger_record_reads_back():
    """What is stored is what was decided."""
    assert decode_record(encode_record(ledger_record())) == ledger_record()


@given(
    st.text(),
    st.dictionaries(
        st.text(), st.text() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    ),
)
def test_ledger_record_reads_back_for_any_text(text, attributes):
    """Texts and attributes survive the ledger as they are."""
    written = d.Entry(decision=decision(text=text), body_hash="", effects=(fact(text=text, attributes=attributes),))
    assert decode_record(encode_record(ledger_record(entries=(written,)))).entries == (written,)


def test_older_and_newer_ledger_records():
    """Unknown fields are passed over; a damaged body stops the process instead of being guessed at."""
    body = json.loads(encode_record(ledger_record()))
    body["added_later"] = 1
    assert decode_record(json.dumps(body).encode()) == ledger_record()
    for broken in (b"", b"{}", b"\xff", encode_record(ledger_record())[:-5]):
        with pytest.raises(Bug, match="ledger record"):
            decode_record(broken)


KEY = b"k" * 32
KEYS = {"ops": KEY, "other": b"o" * 32}


def signed(**over):
    base = {"kind": "erase", "namespace": "team", "body": {"fact_id": FACT_ID}, "ce_source": "cli", "ce_id": "c-1"}
    message = producing.command_message(TOPICS, **(base | {"now": NOW, "key_id": "ops", "key": KEY} | over))
    return decode(arrived(message), LIMITS, NOW)


def test_signed_command_is_authorised():
    """A command signed by a known key and issued lately may be performed."""
    signing.authorise(signed(), KEYS, 600, NOW + timedelta(seconds=600))


@pytest.mark.parametrize(
    ("change_of", "field"),
    [
        ({"signature": None}, "signature"),
        ({"key_id": None}, "signature"),
        ({"key_id": "unknown"}, "key-id"),
        ({"key_id": "other"}, "signature"),
        ({"signature": "é"}, "signature"),
        ({"signature": "00" * 32}, "signature"),
        ({"namespace": "tea"}, "signature"),
        ({"ce_type": "fact.retract.v1"}, "signature"),
        ({"ce_source": "clic"}, "signature"),
        ({"ce_id": "c-2"}, "signature"),
        ({"ce_time": "2026-03-04T09:31:00Z"}, "signature"),
        ({"value": b"{}"}, "signature"),
        ({"issued_at": NOW - timedelta(seconds=601)}, "ce_time"),
        ({"issued_at": NOW + timedelta(seconds=61)}, "ce_time"),
    ],
)
def test_any_change_voids_a_command(change_of, field):
    """The signature covers type, namespace, source, id, time and body; an old command is not taken up again."""
    with pytest.raises(BadInput) as caught:
        signing.authorise(msgspec.structs.replace(signed(), **change_of), KEYS, 600, NOW)
    assert (caught.value.code, caught.value.field) == ("command_unauthorised", field)


def test_parts_can_not_be_shifted():
    """Moving a character from one signed part to the next gives another signature."""
    parts = {"ce_type": "t", "namespace": "ab", "ce_source": "c", "ce_id": "d", "ce_time": "e", "value": b"f"}
    assert signing.sign(KEY, **parts) != signing.sign(KEY, **(parts | {"namespace": "a", "ce_source": "bc"}))


def test_signature_is_stable():
    """The bytes that are signed are part of the contract with other languages."""
    parts = {
        "ce_type": "fact.erase.v1",
        "namespace": "team",
        "ce_source": "cli",
        "ce_id": "c-1",
        "ce_time": "2026-03-04T09:30:00Z",
    }
    import hashlib
    import hmac

    prefixed = b"".join(
        len(p).to_bytes(8, "big") + p for p in [b"factsieve-command-v1", *(v.encode() for v in parts.values()), b"{}"]
    )
    assert signing.sign(KEY, **parts, value=b"{}") == hmac.new(KEY, prefixed, hashlib.sha256).hexdigest()


def test_candidate_message_decodes():
    """What our own producers send is what the worker reads, and `extra` overrides nothing."""
    message = producing.candidate_message(
        TOPICS,
        namespace="team",
        text=" Ünï ",
        source=Source.INGEST,
        occurred_at=NOW,
        ce_source="cli",
        ce_id="1",
        now=NOW,
        extra={"slot": "a", "text": "no", "namespace": "evil"},
    )
    got = decode(arrived(message), LIMITS, NOW)
    assert (got.namespace, got.text, got.source, got.slot, got.occurred_at) == (
        "team",
        " Ünï ",
        Source.INGEST,
        "a",
        NOW,
    )


def test_topics_that_a_worker_writes():
    """Every topic but the input is an output."""
    assert set(TOPICS.outputs) == {getattr(TOPICS, f) for f in TOPICS.__struct_fields__} - {TOPICS.candidates}


def messy_strings(folder):
    for encoded in json.loads((folder / "naughty_strings.base64.json").read_text()):
        yield base64.b64decode(encoded).decode("utf-8")
    for line in bz2.decompress((folder / "NormalizationTest.txt.bz2").read_bytes()).decode("utf-8").splitlines():
        columns = line.split("#")[0].strip().split(";")
        for column in columns[:5] if len(columns) > 4 else []:
            yield "".join(chr(int(point, 16)) for point in column.split())


@pytest.mark.shared
def test_messy_strings_go_through_unchanged(shared):
    """Strings that break parsers, and every canonical form, come back as they went in; blank ones are refused as empty."""
    texts = sorted(set(messy_strings(shared / "data" / "messy")))
    assert len(texts) > 1000
    blank = [text for text in texts if not text.strip()]
    kept = [text for text in texts if text.strip()]
    for text in blank:
        with pytest.raises(BadInput) as caught:
            decode(record(candidate(text=text)), LIMITS, NOW)
        assert caught.value.code == "empty_text"
    decided = [decode(record(candidate(text=text)), LIMITS, NOW).text for text in kept]
    assert decided == kept
    entries = tuple(d.Entry(decision=decision(text=text), body_hash="") for text in decided)
    back = decode_record(encode_record(ledger_record(entries=entries)))
    assert [entry.decision.text for entry in back.entries] == kept
    entry = d.Entry(decision=decision(), body_hash="", effects=tuple(fact(text=text) for text in kept))
    message = outbound.decision_message(TOPICS, entry, replayed=False)
    assert [effect["text"] for effect in json.loads(message.value)["effects"]] == kept
