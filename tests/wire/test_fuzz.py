"""Whatever bytes lie on a topic or in the ledger: reading them ends in a value or in the error that is documented, never in another.

Rubbish is drawn in three ways: bytes without any sense, the examples of `schemas/` with parts exchanged for odd ones, and the bytes of
such examples bent. `make test` draws a few of each, `make fuzz EXAMPLES=100000` many.
"""

import contextlib
import json
import os
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_builders import LIMITS, NOW, NOW_MS

from factsieve.core.decision import LedgerRecord
from factsieve.core.errors import REJECT_CODES, BadInput, Bug
from factsieve.core.facts import Candidate, Record
from factsieve.wire import deadletters, outbound, producing, signing
from factsieve.wire.headers import Headers, origin_of
from factsieve.wire.inbound import Command, decode
from factsieve.wire.ledger import decode_record, encode_record
from factsieve.wire.recorded import NotADecision, decided_entry, outline, told
from factsieve.wire.replaying import Selection, look
from factsieve.wire.topics import DECISION, Topics

EXAMPLES = int(os.environ.get("FACTSIEVE_FUZZ_EXAMPLES", "200"))
FUZZ = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
TOPICS = Topics()
FOLDER = Path(__file__).resolve().parents[2] / "schemas" / "examples"
SHOWN = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*/*.json"))]
INPUTS = [example for example in SHOWN if "value" in example and "key" in example and "headers" in example]
DECISIONS = [example["value"] for example in SHOWN if example["type"] == DECISION and "value" in example]
NAMES = [
    "ce_id",
    "ce_source",
    "ce_time",
    "ce_type",
    "ce_specversion",
    "content-type",
    "traceparent",
    "ce_traceparent",
    "signature",
    "key-id",
    "replay-id",
    "replay-emit",
    "origin-topic",
    "origin-partition",
    "origin-offset",
    "origin-timestamp",
    "original-kafka_dlt-x",
    "CE_ID",
    "Origin-Offset",
    "x",
    *(
        f"kafka_dlt-{name}"
        for name in (
            "original-topic",
            "original-partition",
            "original-offset",
            "original-timestamp",
            "error-code",
            "error-field",
            "exception-message",
            "dead-lettered-at",
            "redriven-partition",
            "redriven-offset",
            "redriven-at",
        )
    ),
]
ODD_TEXTS = [
    *(
        "",
        " ",
        "\x00",
        "\ud800",
        "\udfff\ud800",
        "é",
        "e\u0301",
        "\u202e",
        "\u2028",
        "𐀀" * 3,
        "a" * 9000,
        "null",
        "true",
    ),
    *("0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:60Z", "9999-12-31T23:59:59-23:59"),
    *(
        "2026-03-04T09:30:00Z",
        "2026-02-30T00:00:00Z",
        "2026-03-04T24:00:00Z",
        "2026-03-04",
        "１２",
        "-1",
        "1_0",
        "9" * 18,
    ),
    *(
        "9" * 400,
        "1e5",
        "+7",
        " 7 ",
        "NaN",
        "fact.erase.v1",
        "fact.candidate.v1",
        "1.0",
        "application/cloudevents+json",
    ),
]
ODD_NUMBERS = [0, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64, 10**40, -(10**400), 0.1, -0.0, 5e-324, 1.7e308]
odd_leaf = (
    st.none()
    | st.booleans()
    | st.sampled_from(ODD_NUMBERS)
    | st.sampled_from([float("nan"), float("inf"), float("-inf")])
    | st.floats()
    | st.integers()
    | st.sampled_from(ODD_TEXTS)
    | st.text(max_size=20)
)
odd_value = (
    odd_leaf
    | st.lists(odd_leaf, max_size=4)
    | st.dictionaries(st.text(max_size=5), odd_leaf, max_size=3)
    | st.sampled_from([31, 32, 33, 500]).map(lambda depth: json.loads("[" * depth + "]" * depth))
)
odd_bytes = st.binary(max_size=40) | st.sampled_from(ODD_TEXTS).map(lambda text: text.encode("utf-8", "surrogatepass"))
header = st.tuples(st.sampled_from(NAMES) | st.text(max_size=8), st.none() | odd_bytes)
deep = st.sampled_from([b'{"event_key": "k", "x": ' + b"[" * depth + b"]" * depth + b"}" for depth in (400, 100_000)])


def places(node, path=()):
    """Return the path of every node of a document."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for name, item in inner for place in places(item, (*path, name)))]


def exchanged(node, path, new):
    """Return the document with the node at a path exchanged, or left out where `new` is `...`."""
    if not path:
        return None if new is ... else new
    copy = dict(node) if isinstance(node, dict) else list(node)
    if len(path) == 1 and new is ...:
        del copy[path[0]]
    else:
        copy[path[0]] = exchanged(copy[path[0]], path[1:], new)
    return copy


@st.composite
def bent(draw, documents):
    """Return the bytes of a document in which some parts are odd, are missing, or stand where another belongs."""
    document = draw(st.sampled_from(documents))
    for _ in range(draw(st.integers(0, 3))):
        spots = places(document)
        copied = document
        for name in draw(st.sampled_from(spots)):
            copied = copied[name]
        new = draw(odd_value | st.just(...) | st.just(copied))
        document = exchanged(document, draw(st.sampled_from(spots)), new)
    text = json.dumps(document, ensure_ascii=draw(st.booleans()))
    body = text.encode("utf-8", "surrogatepass")
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.integers(0, 3)))
        body = body[:start] + draw(st.binary(max_size=3)) + body[end:]
    return body


@st.composite
def records(draw):
    """Return a record that was an example once, or never was anything."""
    example = draw(st.sampled_from(INPUTS))
    value = draw(bent([example["value"]]) | st.none() | st.binary(max_size=60) | deep)
    key = draw(st.just((example["key"] or "").encode()) | st.none() | odd_bytes)
    headers = [(name, text.encode()) for name, text in example["headers"].items()]
    headers = draw(st.just(headers) | st.permutations(headers)) if headers else []
    for _ in range(draw(st.integers(0, 3))):
        where = draw(st.integers(0, len(headers)))
        headers = [*headers[:where], draw(header), *headers[where + draw(st.integers(0, 1)) :]]
    timestamp_ms = draw(st.just(NOW_MS) | st.sampled_from([-1, 0, 2**63 - 1, -(2**63), 253402300800000]))
    return Record(
        TOPICS.candidates,
        draw(st.integers(0, 3)),
        draw(st.integers(0, 2**63 - 1)),
        timestamp_ms,
        key,
        value,
        tuple(headers),
    )


def outcome(record):
    """Return the event of a record, or the code of its refusal; any other error is the test's failure."""
    try:
        return decode(record, LIMITS, NOW)
    except BadInput as error:
        return code_of(error)


def code_of(error):
    """Return the code of a refusal that can be told: its code is known, its message can be sent."""
    assert error.code in REJECT_CODES
    str(error).encode("utf-8")
    return error.code


def arrived(message):
    return Record(message.topic, 1, 77, NOW_MS + 5, message.key, message.value, message.headers)


@FUZZ
@given(records())
def test_any_record_is_an_event_or_bad_input(record):
    """Reading is repeatable, what was read can be written, and a refusal can be reported and laid aside."""
    first = outcome(record)
    assert outcome(record) == first
    msgspec.json.encode(first)
    look(record, Selection(), LIMITS, NOW)
    origin_of(record, Headers(record.headers))
    if isinstance(first, str):
        json.loads(outbound.reject_message(TOPICS, record, BadInput(first, "said why"), None, NOW).value)
    if isinstance(first, Command):
        try:
            signing.authorise(first, {"ops": b"k" * 32}, 600, NOW)
        except BadInput as error:
            refused = code_of(error)
            assert refused == "command_unauthorised"


@FUZZ
@given(records())
def test_an_event_stays_the_same_on_its_way_round(record):
    """Through the dead letter topic or a replay, once or twice, an event keeps key, body, name and time, and a refusal its code."""
    first = outcome(record)
    letter = deadletters.dead_letter_message(TOPICS, record, BadInput("not_json", "said why"), NOW)
    dead = deadletters.read_dead_letter(arrived(letter))
    assert (dead.key, dead.value, dead.headers) == (record.key, record.value, record.headers)
    redriven = deadletters.redrive_message(TOPICS, dead)
    replayed = deadletters.replay_message(TOPICS, record, "r", emit=True)
    twice = deadletters.replay_message(TOPICS, arrived(replayed), "s", emit=False)
    for message in (redriven, replayed, twice):
        again = outcome(arrived(message))
        if isinstance(first, str):
            assert again == first
        else:
            for name in ("event_key", "event_id", "body_hash", "namespace"):
                assert getattr(again, name) == getattr(first, name)
        if isinstance(first, Candidate):
            assert (again.occurred_at, again.text, again.slot) == (first.occurred_at, first.text, first.slot)


@FUZZ
@given(records())
def test_a_candidate_that_is_said_again_reads_the_same(record):
    """What our own producers write of a candidate is read as that candidate, and written of that the same once more."""
    first = outcome(record)
    if not isinstance(first, Candidate):
        return
    said = _said(first)
    again = outcome(arrived(said))
    assert isinstance(again, Candidate)
    for name in (
        "namespace",
        "text",
        "source",
        "occurred_at",
        "slot",
        "session_id",
        "dedup_threshold",
        "attributes",
        "embedding",
    ):
        assert getattr(again, name) == getattr(first, name), name
    assert _said(again) == said


def _said(candidate):
    extra = {name: getattr(candidate, name) for name in ("slot", "session_id", "dedup_threshold", "attributes")}
    if candidate.embedding is not None:
        extra |= {"embedding": candidate.embedding, "embedding_model": candidate.embedding_model}
    return producing.candidate_message(
        TOPICS, namespace=candidate.namespace, text=candidate.text, source=candidate.source,
        occurred_at=candidate.occurred_at, ce_source="s", ce_id="i", now=NOW, extra=extra,
    )  # fmt: skip


@FUZZ
@given(st.none() | odd_bytes, st.none() | odd_bytes, st.lists(header, max_size=14), st.integers(0, 2))
def test_any_record_of_the_dead_letter_topic_is_a_letter_or_bad_input(key, value, headers, bare):
    """A record that is no dead letter of ours is refused as bad input; a mark of a redrive is one or is none."""
    whole = deadletters.dead_letter_message(
        TOPICS, Record("t", 0, 1, NOW_MS, key, value), BadInput("not_json", "m"), NOW
    )
    # What stands first counts: the odd ones before the letter's own, or alone.
    record = Record("d", 0, 0, NOW_MS, key, value, tuple(headers) + (whole.headers if bare else ()))
    deadletters.read_redriven(record)
    try:
        letter = deadletters.read_dead_letter(record)
    except BadInput as error:
        code_of(error)
    else:
        message = deadletters.redrive_message(TOPICS, letter)
        assert message.value == value


LEDGER = [
    json.loads(encode_record(LedgerRecord("r", "team", "a", NOW, (entry,))))
    for path in sorted((FOLDER / "valid").glob("decision*.json"))
    if (entry := decided_entry(msgspec.json.encode(json.loads(path.read_text(encoding="utf-8"))["value"]))) is not None
]


@FUZZ
@given(bent(LEDGER) | st.binary(max_size=60) | deep)
def test_any_body_is_a_ledger_record_or_a_bug(body):
    """A damaged record stops the process by name; one that is read is written as it is read, however often."""
    try:
        record = decode_record(body)
    except Bug:
        return
    written = encode_record(record)
    assert decode_record(written) == record
    assert encode_record(decode_record(written)) == written


@FUZZ
@given(bent(DECISIONS) | st.binary(max_size=60) | deep)
def test_any_message_is_a_decision_or_a_bug(value):
    """A message of `fact-decisions` is an entry, a reject, or none of ours; an entry that is told again is the same entry."""
    with contextlib.suppress(NotADecision):
        assert told(value)["decision_id"]
    try:
        outline(value)
        entry = decided_entry(value)
    except (Bug, NotADecision):
        return
    if entry is not None:
        again = outbound.decision_message(TOPICS, entry, replayed=False)
        assert decided_entry(again.value) == entry
