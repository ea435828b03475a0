"""Records to candidates and commands."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_builders import CE, FACT_ID, LIMITS, NOW, NOW_MS, TOPIC, candidate, record

from factsieve.core import ids
from factsieve.core.errors import BadInput
from factsieve.core.facts import Candidate, Source
from factsieve.wire.inbound import Command, decode
from factsieve.wire.topics import Limits


def refusal(rec, limits=LIMITS):
    with pytest.raises(BadInput) as caught:
        decode(rec, limits, NOW)
    assert str(caught.value), "a refusal explains itself"
    return caught.value.code, caught.value.field


def accepted(rec, limits=LIMITS):
    result = decode(rec, limits, NOW)
    assert isinstance(result, Candidate)
    return result


def test_every_field_arrives():
    """All fields of a full candidate come out as they were sent."""
    value = candidate(
        occurred_at="2026-03-04T10:15:30.123456789+01:00",
        slot="api.port",
        session_id="s-9",
        embedding=[0.6, 0, 0.8],
        embedding_model="minilm",
        dedup_threshold=0.9,
        attributes={"a": [1, {"b": None}]},
        text=" kept, with its spaces \n",
        unknown={"is": "ignored"},
    )
    trace = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    headers = (*CE, ("traceparent", trace), ("replay-id", b"r-1"), ("replay-emit", b"true"))
    result = accepted(record(value, headers=headers))
    assert result.text == " kept, with its spaces \n"
    assert result.occurred_at == datetime(2026, 3, 4, 9, 15, 30, 123456, tzinfo=UTC)
    assert result.event_key == ids.event_key("team", "chat", "e-1")
    assert (result.event_id, result.ce_source, result.ce_id) == ("e-1", "chat", "e-1")
    assert (result.slot, result.session_id, result.dedup_threshold) == ("api.port", "s-9", 0.9)
    assert (result.embedding, result.embedding_model) == ((0.6, 0.0, 0.8), "minilm")
    assert result.attributes == {"a": [1, {"b": None}]}
    assert result.source is Source.REMEMBER
    assert (result.replay_id, result.replay_emit, result.traceparent) == ("r-1", True, trace.decode())


def test_null_is_absent():
    """Null in an optional field is the same as no field."""
    optional = [
        "namespace",
        "occurred_at",
        "slot",
        "session_id",
        "embedding",
        "embedding_model",
        "dedup_threshold",
        "attributes",
    ]
    with_nulls = accepted(record(candidate(**dict.fromkeys(optional))))
    without = accepted(record(candidate(namespace=...)))
    assert with_nulls.occurred_at == without.occurred_at
    assert [getattr(with_nulls, name) for name in optional[2:]] == [None] * 6


@pytest.mark.parametrize(
    ("rec", "code", "field"),
    [
        (record(candidate(), key=None), "null_key", "key"),
        (record(candidate(), key=b"\xff"), "not_utf8", "key"),
        (record(candidate(), key=b""), "bad_namespace", "key"),
        (record(candidate(), key=b"a\x00b"), "bad_namespace", "key"),
        (record(candidate(), key="a\u2028b".encode()), "bad_namespace", "key"),
        (record(candidate(), key=b"n" * 257), "bad_namespace", "key"),
        (record(raw=b"x" * 262_145), "record_too_large", None),
        (record(raw=b""), "not_json", None),
        (record(raw=b"{"), "not_json", None),
        (record(raw=b"{'text': 1}"), "not_json", None),
        (record(raw=b'{"text": "a", "source": "remember"} tail'), "not_json", None),
        (record(raw=b"\xef\xbb\xbf{}"), "not_json", None),
        (record(raw=b'{"text": "\xff"}'), "not_utf8", None),
        (record(raw=b'{"text": "\\ud800", "source": "remember"}'), "not_utf8", None),
        (record(raw=b'{"text": "\xed\xa0\x80", "source": "remember"}'), "not_utf8", None),
        (record(raw=b'{"x": NaN, "text": "a", "source": "remember"}'), "not_json", None),
        (record(raw=b'{"x": 1e999, "text": "a", "source": "remember"}'), "not_json", None),
        (record(raw=b'{"x": ' + b"9" * 5000 + b"}"), "not_json", None),
        (record(raw=b"[" * 100_000), "not_json", None),
        (record(raw=b'{"x":' * 33 + b"1" + b"}" * 33), "not_json", None),
        (record([]), "not_an_object", None),
        (record("text"), "not_an_object", None),
        (record(raw=b"null"), "not_an_object", None),
        (record(raw=b"12"), "not_an_object", None),
        (record(candidate(text=...)), "missing_field", "text"),
        (record(candidate(text=None)), "missing_field", "text"),
        (record(candidate(text="")), "empty_text", "text"),
        (record(candidate(text=" \t\r\n\u3000\u2003")), "empty_text", "text"),
        (record(candidate(text="é" * 8193)), "text_too_long", "text"),
        (record(candidate(text=5)), "wrong_type", "text"),
        (record(candidate(text=["a"])), "wrong_type", "text"),
        (record(candidate(source=...)), "missing_field", "source"),
        (record(candidate(source="email")), "unknown_source", "source"),
        (record(candidate(source="Remember")), "unknown_source", "source"),
        (record(candidate(source=True)), "wrong_type", "source"),
        (record(candidate(namespace="other")), "namespace_mismatch", "namespace"),
        (record(candidate(namespace="")), "bad_namespace", "namespace"),
        (record(candidate(namespace=7)), "wrong_type", "namespace"),
        (record(candidate(namespace=..., session_id="other")), "namespace_mismatch", "session_id"),
        (record(candidate(session_id="a\nb")), "bad_namespace", "session_id"),
        (record(candidate(occurred_at="yesterday")), "bad_time", "occurred_at"),
        (record(candidate(occurred_at="2026-03-04T09:30:00")), "bad_time", "occurred_at"),
        (record(candidate(occurred_at="2026-02-30T09:30:00Z")), "bad_time", "occurred_at"),
        (record(candidate(occurred_at="0001-01-01T00:00:00+10:00")), "bad_time", "occurred_at"),
        (record(candidate(occurred_at="２０２６-03-04T09:30:00Z")), "bad_time", "occurred_at"),
        (record(candidate(occurred_at=1772616600)), "wrong_type", "occurred_at"),
        (record(candidate(occurred_at="2026-03-04T10:30:01Z")), "future_time", "occurred_at"),
        (record(candidate(), headers=(("ce_time", b"soon"),)), "bad_time", "ce_time"),
        (record(candidate(), headers=(("ce_time", b"9999-12-31T23:59:59Z"),)), "future_time", "ce_time"),
        (record(candidate(), headers=(), timestamp_ms=-1), "bad_time", "timestamp"),
        (record(candidate(), headers=(), timestamp_ms=2**62), "bad_time", "timestamp"),
        (record(candidate(), headers=(), timestamp_ms=NOW_MS + 3_600_001), "future_time", "timestamp"),
        (record(candidate(embedding="0.1")), "wrong_type", "embedding"),
        (record(candidate(embedding=[0, 0, 0], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[1e-60, 0, 0], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[1, 2], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[1, 2, "3"], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[1, 2, True], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[1, 2, 1e39], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[1, 2, 10**400], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[1, 2, float("nan")], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(candidate(embedding=[1, 2, float("-inf")], embedding_model="minilm")), "bad_embedding", "embedding"),
        (record(raw=b'{"text":"a","source":"remember","embedding":[1,2,1e999]}'), "bad_embedding", "embedding"),
        (record(candidate(embedding_model=3, embedding=[1, 2, 3])), "wrong_type", "embedding_model"),
        (record(candidate(dedup_threshold=1.0001)), "bad_threshold", "dedup_threshold"),
        (record(candidate(dedup_threshold=-1.5)), "bad_threshold", "dedup_threshold"),
        (record(candidate(dedup_threshold=10**400)), "bad_threshold", "dedup_threshold"),
        (record(candidate(dedup_threshold=float("nan"))), "bad_threshold", "dedup_threshold"),
        (record(candidate(dedup_threshold="0.9")), "wrong_type", "dedup_threshold"),
        (record(candidate(dedup_threshold=True)), "wrong_type", "dedup_threshold"),
        (record(candidate(slot="")), "bad_slot", "slot"),
        (record(candidate(slot=" ")), "bad_slot", "slot"),
        (record(candidate(slot="a\tb")), "bad_slot", "slot"),
        (record(candidate(slot="s" * 129)), "bad_slot", "slot"),
        (record(candidate(slot=1)), "wrong_type", "slot"),
        (record(candidate(attributes=[1])), "wrong_type", "attributes"),
        (record(candidate(attributes={"a": "x" * 16_384})), "attributes_too_large", "attributes"),
        (record(candidate(attributes={"a": [2**63]})), "wrong_type", "attributes"),
        (record(candidate(), headers=(("ce_type", b"fact.candidate.v2"),)), "unknown_type", "ce_type"),
        (record(candidate(), headers=(("ce_type", b"fact.added.v1"),)), "unknown_type", "ce_type"),
        (record(candidate(), headers=(("ce_type", b"\xff"),)), "not_utf8", "ce_type"),
        (record(candidate(), headers=(("ce_id", b"1" * 4097), ("ce_source", b"x"))), "record_too_large", "ce_id"),
        (record(candidate(), headers=(("ce_specversion", b"0.3"),)), "unknown_type", "ce_specversion"),
        (
            record(candidate(), headers=(("content-type", b"application/cloudevents+json"),)),
            "unknown_type",
            "content-type",
        ),
    ],
)
def test_each_offence_has_its_code(rec, code, field):
    """Every way of being wrong is refused with its own code and names the field."""
    assert refusal(rec) == (code, field)


def test_null_value_is_refused():
    """A tombstone is no candidate."""
    rec = record(candidate())
    assert refusal(type(rec)(TOPIC, 0, 1, NOW_MS, b"team", None, CE)) == ("null_value", None)


def test_refusals_name_value_and_fix():
    """A message quotes what was sent, printable and bounded, and says what to send."""
    with pytest.raises(BadInput, match=r"source is a number 5: send a string"):
        decode(record(candidate(source=5)), LIMITS, NOW)
    with pytest.raises(BadInput) as caught:
        decode(record(raw=b"\x1b[31m" + b"y" * 5000), LIMITS, NOW)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_limits_are_inclusive():
    """Exactly at a limit is still taken."""
    accepted(record(candidate(text="é" * 8192)))
    accepted(record(candidate(slot="s" * 128)))
    accepted(record(candidate(dedup_threshold=-1)))
    accepted(record(candidate(occurred_at="2026-03-04T10:30:00Z")))
    accepted(record(candidate(attributes={"n": [2**63 - 1, -(2**63)]})))
    accepted(record(candidate(x=eval("[" * 30 + "]" * 30))))
    accepted(record(candidate(text="[" * 100 + '\\"{')), Limits())


def test_foreign_vector_is_left_out_and_named():
    """A vector of another model is ignored whatever is in it, but its model is kept, so that it can be counted."""
    for vector in ([0, 0, 0], [1, 2], ["x"], [1.0, 2.0, 3.0]):
        result = accepted(record(candidate(embedding=vector, embedding_model="other")))
        assert (result.embedding, result.embedding_model) == (None, "other")
    unnamed = accepted(record(candidate(embedding=[1, 2, 3])))
    assert (unnamed.embedding, unnamed.embedding_model) == (None, "")
    assert refusal(record(candidate(embedding=[0, 0, 0]))) == ("bad_embedding", "embedding")
    none_there = accepted(record(candidate(embedding_model="minilm")))
    assert (none_there.embedding, none_there.embedding_model) == (None, None)


def test_no_configured_model_takes_no_vector():
    """Without a configured model every vector is foreign."""
    result = accepted(record(candidate(embedding=[1, 2, 3], embedding_model="minilm")), Limits())
    assert (result.embedding, result.embedding_model) == (None, "minilm")


def test_time_of_a_statement():
    """`occurred_at` comes first, then `ce_time`, then the record's timestamp (the origin's, where a replay stamped it)."""
    origin = (
        ("origin-topic", b"t"),
        ("origin-partition", b"0"),
        ("origin-offset", b"3"),
        ("origin-timestamp", b"1000"),
    )
    assert accepted(record(candidate(occurred_at="2020-01-01T00:00:00z"))).occurred_at.year == 2020
    assert accepted(record(candidate())).occurred_at == NOW - timedelta(minutes=30)
    assert accepted(record(candidate(), headers=())).occurred_at == NOW
    assert accepted(record(candidate(), headers=origin)).occurred_at == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert accepted(record(candidate(occurred_at="2016-12-31T23:59:60Z"))).occurred_at == datetime(
        2017, 1, 1, tzinfo=UTC
    )


def test_anonymous_event_has_its_key_from_its_coordinates():
    """Without `ce_id`, or without the `ce_source` that makes it unique, coordinates and body name the event."""
    body = json.dumps(candidate()).encode()
    expected = ids.anonymous_event_key(TOPIC, 2, 7, NOW_MS, body)
    for headers in ((), CE[:3], (("ce_id", b"1"),), (("ce_id", b""), ("ce_source", b"chat"))):
        assert accepted(record(candidate(), headers=headers)).event_key == expected
    assert accepted(record(candidate(), headers=())).event_id == f"{TOPIC}/2/7"
    assert accepted(record(candidate(), headers=(), offset=8)).event_key != expected


def test_replayed_anonymous_event_keeps_its_key():
    """The stamped origin stands for the coordinates; incomplete or malformed stamps count for nothing."""
    stamps = {
        "Origin-Topic": TOPIC.encode(),
        "origin-partition": b"2",
        "origin-offset": b"7",
        "origin-timestamp": b"%d" % NOW_MS,
    }
    first = accepted(record(candidate(), headers=()))
    again = accepted(record(candidate(), headers=tuple(stamps.items()), offset=99, timestamp_ms=5))
    assert (again.event_key, again.event_id, again.occurred_at) == (first.event_key, first.event_id, first.occurred_at)
    assert again.coordinates.offset == 99
    for broken in (
        {"origin-offset": b"x"},
        {"origin-offset": b""},
        {"origin-timestamp": b"\xff"},
        {"origin-partition": b"9" * 40},
    ):
        headers = tuple((stamps | broken).items())
        own = accepted(record(candidate(), headers=headers, offset=99))
        assert own.event_key == accepted(record(candidate(), headers=(), offset=99)).event_key


def test_headers_without_regard_to_case_and_first_wins():
    """`CE_ID` is `ce_id`, and of a repeated header the first one counts."""
    headers = (("CE_ID", b"first"), ("ce_source", b"chat"), ("ce_id", b"second"), ("Ce_Type", b"fact.candidate.v1"))
    assert accepted(record(candidate(), headers=headers)).ce_id == "first"


def test_malformed_trace_context_is_ignored():
    """W3C asks to start afresh where `traceparent` makes no sense; the event itself is fine."""
    assert accepted(record(candidate(), headers=(("traceparent", b"\xffnonsense"),))).traceparent is None


def test_repeated_key_last_one_counts():
    """Of a repeated JSON key the last one counts, and the namespace border holds all the same."""
    raw = b'{"text":"one","text":"two","source":"remember","namespace":"team"}'
    assert accepted(record(raw=raw)).text == "two"
    assert (
        refusal(record(raw=b'{"text":"a","source":"remember","namespace":"team","namespace":"evil"}'))[0]
        == "namespace_mismatch"
    )


def test_attributes_override_nothing():
    """Names of real fields inside `attributes` stay inside."""
    result = accepted(record(candidate(attributes={"namespace": "evil", "text": "no", "source": "x"})))
    assert (result.namespace, result.text) == ("team", "The API listens on port 8080")


COMMANDS = {
    "revert": {"decision_id": FACT_ID, "drop_newer": True, "reason": "mistake"},
    "retract": {"fact_id": FACT_ID},
    "erase": {"fact_id": FACT_ID, "reason": "asked by the person"},
    "review": {"decision_id": FACT_ID, "decision": "update", "targets": [FACT_ID], "text": "both"},
}


def command_headers(kind, **over):
    named = {
        "ce_type": f"fact.{kind}.v1",
        "ce_source": "cli",
        "ce_id": "c-1",
        "ce_time": "2026-03-04T09:30:00Z",
        **over,
    }
    return tuple((name, text.encode()) for name, text in named.items() if text is not None)


@pytest.mark.parametrize("kind", COMMANDS)
def test_commands_are_read(kind):
    """Each command comes out with its body and everything that its signature covers."""
    headers = (*command_headers(kind), ("signature", b"ab"), ("key-id", b"ops"))
    result = decode(record(COMMANDS[kind], headers=headers), LIMITS, NOW)
    assert isinstance(result, Command)
    assert (result.kind, result.namespace, result.body) == (kind, "team", COMMANDS[kind])
    assert result.event_key == ids.event_key("team", "cli", "c-1")
    assert (result.signature, result.key_id, result.ce_time) == ("ab", "ops", "2026-03-04T09:30:00Z")
    assert result.issued_at == NOW
    assert json.loads(result.value) == COMMANDS[kind]


@pytest.mark.parametrize(
    ("kind", "body", "code", "field"),
    [
        ("revert", {}, "missing_field", "decision_id"),
        ("revert", {"decision_id": "x"}, "wrong_type", "decision_id"),
        ("revert", {"decision_id": FACT_ID.upper()}, "wrong_type", "decision_id"),
        ("revert", {"decision_id": FACT_ID, "drop_newer": "yes"}, "wrong_type", "drop_newer"),
        ("retract", {"fact_id": 5}, "wrong_type", "fact_id"),
        ("erase", {"fact_id": None}, "missing_field", "fact_id"),
        ("erase", {"fact_id": FACT_ID, "reason": " "}, "wrong_type", "reason"),
        ("review", {"decision_id": FACT_ID}, "missing_field", "decision"),
        ("review", {"decision_id": FACT_ID, "decision": "keep"}, "wrong_type", "decision"),
        ("review", {"decision_id": FACT_ID, "decision": ["add"]}, "wrong_type", "decision"),
        ("review", {"decision_id": FACT_ID, "decision": "add", "targets": FACT_ID}, "wrong_type", "targets"),
        ("review", {"decision_id": FACT_ID, "decision": "add", "targets": ["a"]}, "wrong_type", "targets[0]"),
        ("review", {"decision_id": FACT_ID, "decision": "merge", "text": 1}, "wrong_type", "text"),
        ("retract", {"fact_id": FACT_ID, "namespace": "other"}, "namespace_mismatch", "namespace"),
    ],
)
def test_malformed_commands_are_refused(kind, body, code, field):
    """A command's body is checked by shape."""
    assert refusal(record(body, headers=command_headers(kind))) == (code, field)


@pytest.mark.parametrize("name", ["ce_id", "ce_source", "ce_time"])
def test_commands_name_themselves(name):
    """A command without one of the headers that its signature covers is refused."""
    assert refusal(record(COMMANDS["erase"], headers=command_headers("erase", **{name: None}))) == (
        "missing_field",
        name,
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
fields = st.sampled_from(
    [
        "namespace",
        "text",
        "source",
        "occurred_at",
        "slot",
        "session_id",
        "embedding",
        "embedding_model",
        "dedup_threshold",
        "attributes",
    ]
)
header_names = st.sampled_from(
    [
        "ce_id",
        "ce_source",
        "ce_time",
        "ce_type",
        "ce_specversion",
        "content-type",
        "origin-topic",
        "origin-partition",
        "origin-offset",
        "origin-timestamp",
        "traceparent",
        "replay-id",
        "signature",
    ]
)
headers_of = st.lists(
    st.tuples(header_names, st.binary(max_size=12) | st.sampled_from([b"fact.erase.v1", b"fact.candidate.v1", b"1"])),
    max_size=8,
)


def either(rec):
    try:
        result = decode(rec, LIMITS, NOW)
    except BadInput as error:
        return error
    return result


@given(st.none() | st.binary(max_size=300), st.none() | st.binary(max_size=12), headers_of, st.integers(-5, 2**63))
def test_any_bytes_give_a_value_or_a_refusal(value, key, headers, timestamp_ms):
    """Nothing but BadInput ever leaves the decoder."""
    rec = record(raw=value or b"", key=key, headers=headers, timestamp_ms=timestamp_ms)
    assert isinstance(either(rec), (Candidate, Command, BadInput))


@given(st.dictionaries(fields | st.text(max_size=5), json_values, max_size=8), headers_of, st.booleans())
def test_any_document_gives_a_value_or_a_refusal(document, headers, plausible):
    """Any JSON-like document, with NaN and surrogates among it, is taken or refused; what is taken is unchanged."""
    value = candidate() | document if plausible else document
    result = either(record(raw=json.dumps(value).encode(), headers=headers))
    if isinstance(result, Candidate):
        assert result.text == value["text"]
        assert result.namespace == "team"


@given(st.text(min_size=1, max_size=60).filter(lambda text: bool(text.strip())))
def test_text_goes_through_unchanged(text):
    """Whatever is in a text, it is neither stripped nor normalised."""
    assert accepted(record(candidate(text=text))).text == text
