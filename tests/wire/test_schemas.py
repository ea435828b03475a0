"""Schemas, examples, AsyncAPI and codec say the same; what was released stays readable."""

import copy
import json
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import msgspec
import pytest
import yaml
from referencing import Registry, Resource
from schema_compatibility import Schemas, breaks
from wire_builders import NOW_MS, change, decision, fact, supersession

from factsieve.core import decision as d
from factsieve.core.errors import REJECT_CODES, BadInput, Bug
from factsieve.core.facts import Coordinates, Kind, Record, Source, Status
from factsieve.wire import outbound, topic_specs
from factsieve.wire.inbound import decode
from factsieve.wire.times import parse_rfc3339
from factsieve.wire.topics import COMMAND_TYPES, Limits, Topics
from factsieve.wire.values import ChangeValue, DecisionValue, FactValue, RejectValue

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "schemas"
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("fact.*.json"))}
RELEASED = {path.stem: json.loads(path.read_text()) for path in sorted((FOLDER / "released" / "v1").glob("*.json"))}
INPUTS = {"fact.candidate.v1", *COMMAND_TYPES}
VALID = {path.stem: json.loads(path.read_text()) for path in sorted((FOLDER / "examples" / "valid").glob("*.json"))}
INVALID = {path.stem: json.loads(path.read_text()) for path in sorted((FOLDER / "examples" / "invalid").glob("*.json"))}
ASYNCAPI = yaml.safe_load((FOLDER / "asyncapi.yaml").read_text())
TOPICS = Topics()
LIMITS = Limits(embedding_model="minilm", embedding_dimension=3)
NOW = datetime(2026, 3, 4, 14, 31, tzinfo=UTC)
FORMATS = jsonschema.FormatChecker(formats=())


@FORMATS.checks("date-time", raises=ValueError)
def _is_instant(value):
    return not isinstance(value, str) or bool(parse_rfc3339(value))


@FORMATS.checks("uuid", raises=ValueError)
def _is_uuid(value):
    return not isinstance(value, str) or str(uuid.UUID(value)) == value


def closed(node):
    """Return a schema that names every field: unknown ones are refused."""
    if isinstance(node, dict):
        inner = {name: closed(value) for name, value in node.items()}
        return inner | {"additionalProperties": False} if "properties" in node else inner
    return [closed(item) for item in node] if isinstance(node, list) else node


def validator(name, *, strict=False):
    schemas = {key: closed(schema) if strict else schema for key, schema in SCHEMAS.items()}
    resources = [(schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()]
    registry = Registry().with_resources(resources)
    return jsonschema.Draft7Validator(schemas[name], registry=registry, format_checker=FORMATS)


def arrived(example):
    raw = example["raw"].encode() if "raw" in example else json.dumps(example["value"]).encode()
    key = None if example["key"] is None else example["key"].encode()
    headers = tuple((name, text.encode()) for name, text in example["headers"].items())
    return Record(TOPICS.candidates, 0, 0, NOW_MS, key, raw, headers)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_sound(name):
    """Each schema is valid draft-07, named after its type, and explains itself and every field."""
    schema = SCHEMAS[name]
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["$id"] == f"{name}.json"
    assert schema["title"]
    for branch in [schema, *schema.get("oneOf", [])]:
        for field, content in branch.get("properties", {}).items():
            assert "description" in content or "$ref" in content or "properties" in content or "const" in content, field


@pytest.mark.parametrize("name", VALID)
def test_valid_examples_fit(name):
    """Each valid example fits its schema, and the codec reads those that go in."""
    example = VALID[name]
    validator(example["type"]).validate(example["value"])
    if example["type"] in INPUTS:
        assert decode(arrived(example), LIMITS, NOW).namespace == example["key"]


@pytest.mark.parametrize("name", INVALID)
def test_invalid_examples_are_refused(name):
    """Each invalid example names the rule that it breaks; the schema refuses it where it can, the codec with its code."""
    example = INVALID[name]
    assert example["breaks"]
    if "value" in example:
        assert validator(example["type"]).is_valid(example["value"]) is not example["schema_refuses"]
    if example["type"] in INPUTS:
        with pytest.raises(BadInput) as caught:
            decode(arrived(example), LIMITS, NOW)
        assert caught.value.code == example["code"]


def test_every_type_has_examples():
    """Each type has a valid and an invalid example."""
    assert {example["type"] for example in VALID.values()} == set(SCHEMAS)
    assert {example["type"] for example in INVALID.values()} == set(SCHEMAS)


def emitted():
    """Messages of every kind that the codec makes."""
    whole = {"effects": (fact(),), "changes": (change(),), "supersessions": (supersession(),)}
    came = {"vectors": {fact().point_id: (0.5, 1.0)}, "attributes": {"a": 1}, "reworded": (fact().point_id,)}
    yield outbound.decision_message(TOPICS, d.Entry(decision(), "ab" * 32, **whole, **came), replayed=False)
    empty = decision(judges=(), findings=(), neighbours=(), matched_id=None, fact_id=None)
    again = {"replay_id": "r1", "met_at": Coordinates("candidate-facts", 1, 2)}
    yield outbound.decision_message(TOPICS, d.Entry(empty, ""), replayed=True, **again)
    command = decision(decision=None, command="erase", outcome="no_op", source=None, text="")
    erases = d.Erasure(facts={fact().fact_id: (), "other": (1,)}, event_keys=("ab" * 32,))
    for undoes in (None, *Kind):
        yield outbound.decision_message(TOPICS, d.Entry(command, "", erases=erases, undoes=undoes), replayed=False)
    for code in REJECT_CODES:
        error = BadInput(code, "why", field=None)
        yield outbound.reject_message(TOPICS, arrived(VALID["candidate"]), error, "team", NOW)
        yield outbound.reject_message(TOPICS, Record("t", 0, 0, 0, None, None), error, None, NOW)
    for kind in d.ChangeType:
        yield outbound.change_message(TOPICS, change(type=kind), decision())
    for kind in ("supersede", "merge", "update", "late_history", "revert", "retract", "erase"):
        yield outbound.supersession_message(TOPICS, supersession(kind=kind))
    for status in set(Status) - {Status.ERASED}:
        for source in Source:
            yield outbound.fact_message(TOPICS, fact(status=status, source=source, attributes=None))


def test_emitted_messages_fit_their_schemas():
    """Whatever the codec emits fits the schema of its type, with not one field that the schema does not name."""
    types = set()
    strict = {name: validator(name, strict=True) for name in SCHEMAS}
    for message in emitted():
        headers = dict(message.headers)
        types.add(name := headers["ce_type"].decode())
        strict[name].validate(json.loads(message.value))
        assert uuid.UUID(headers["ce_id"].decode())
        assert parse_rfc3339(headers["ce_time"].decode())
    assert types == set(SCHEMAS) - INPUTS


@pytest.mark.parametrize(
    ("value", "properties"),
    [
        (FactValue, SCHEMAS["fact.state.v1"]["properties"]),
        (ChangeValue, SCHEMAS["fact.added.v1"]["properties"]),
        (DecisionValue, SCHEMAS["fact.decision.v1"]["oneOf"][0]["properties"]),
        (RejectValue, SCHEMAS["fact.decision.v1"]["oneOf"][1]["properties"]),
        (d.SupersessionRecord, SCHEMAS["fact.supersession.v1"]["properties"]),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_schemas_name_the_fields_of_the_values(value, properties):
    """A field that is added to a value must be added to its schema."""
    assert {field.encode_name for field in msgspec.structs.fields(value)} == set(properties)


def test_every_schema_was_released():
    """What exists now and what was released are the same types; a new one is copied to released/ when it is released."""
    assert set(RELEASED) == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_released_versions_stay_readable(name):
    """What producers of the released input schemas send is taken, and what is emitted now suits readers of the released ones."""
    now, then = Schemas({s["$id"]: s for s in SCHEMAS.values()}), Schemas({s["$id"]: s for s in RELEASED.values()})
    if name in INPUTS:
        assert breaks(RELEASED[name], SCHEMAS[name], then, now) == []
    else:
        assert breaks(SCHEMAS[name], RELEASED[name], now, then) == []


BASE = {
    "type": "object",
    "required": ["a"],
    "properties": {
        "a": {"enum": ["x", "y"]},
        "b": {"type": ["string", "null"], "maxLength": 5, "pattern": "^x"},
        "c": {"type": "array", "items": {"type": "integer", "minimum": 1}},
    },
}


def edited(edit):
    schema = copy.deepcopy(BASE)
    edit(schema, schema["properties"])
    return schema


@pytest.mark.parametrize(
    ("edit", "narrows", "widens"),
    [
        (lambda s, p: s["required"].append("b"), True, False),
        (lambda s, p: s["required"].clear(), False, True),
        (lambda s, p: p["a"]["enum"].append("z"), False, True),
        (lambda s, p: p["a"]["enum"].remove("y"), True, False),
        (lambda s, p: p["b"].update(type="string"), True, False),
        (lambda s, p: p["b"].update(maxLength=4), True, False),
        (lambda s, p: p["b"].pop("maxLength"), False, True),
        (lambda s, p: p["b"].update(pattern="^y"), True, True),
        (lambda s, p: p["c"]["items"].update(minimum=0), False, True),
        (lambda s, p: p["c"]["items"].update(type="number"), False, True),
        (lambda s, p: p["c"].pop("items"), False, True),
        (lambda s, p: p.update(d={"type": "string"}), False, False),
        (lambda s, p: s.update(title="x"), False, False),
        (lambda s, p: s.update({"not": {"required": ["e"]}}), True, False),
    ],
)
def test_the_checker_finds_breaks(edit, narrows, widens):
    """Narrowing breaks those who read with the new schema, widening those who read with the old one; a new field neither."""
    none = Schemas({})
    new = edited(edit)
    assert bool(breaks(BASE, new, none, none)) is narrows
    assert bool(breaks(new, BASE, none, none)) is widens


def test_the_checker_refuses_what_it_does_not_know():
    """An unknown keyword is not waved through."""
    with pytest.raises(AssertionError, match="patternProperties"):
        breaks({"patternProperties": {}}, {}, Schemas({}), Schemas({}))


def pointer(document, ref):
    node = document
    for part in ref.removeprefix("#/").split("/"):
        node = node[part]
    return node


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def test_asyncapi_names_what_exists():
    """Every reference leads somewhere, every type is a message of a topic, every topic is one of ours."""
    assert ASYNCAPI["asyncapi"] == "3.0.0"
    for ref in references(ASYNCAPI):
        assert pointer(ASYNCAPI, ref) if ref.startswith("#") else (FOLDER / ref).is_file(), ref
    messages = ASYNCAPI["components"]["messages"]
    used = {pointer(ASYNCAPI, ref)["name"] for c in ASYNCAPI["channels"].values() for ref in references(c["messages"])}
    assert used == {message["name"] for message in messages.values()} == {*SCHEMAS, "dead-letter"}
    assert {channel["address"] for channel in ASYNCAPI["channels"].values()} == {TOPICS.candidates, *TOPICS.outputs}
    for key, channel in ASYNCAPI["channels"].items():
        assert key == channel["address"] == channel["bindings"]["kafka"]["topic"]


def test_examples_go_where_asyncapi_says():
    """Each valid example is of a type that AsyncAPI puts on its topic."""
    allowed = {
        channel["address"]: {pointer(ASYNCAPI, ref)["name"] for ref in references(channel["messages"])}
        for channel in ASYNCAPI["channels"].values()
    }
    for name, example in VALID.items():
        assert example["type"] in allowed[example["topic"]], name


def test_topic_specs():
    """Partitions, configurations and names of the topics come from AsyncAPI, renamed as the settings say."""
    specs = topic_specs.load_specs(Topics(candidates="in", facts="states"))
    assert set(specs) == {"in", "states", "new-facts", "fact-decisions", "fact-supersessions", "candidate-facts-dlt"}
    assert (specs["in"].partitions, specs["in"].retention_ms) == (12, 604_800_000)
    assert specs["states"].configs["cleanup.policy"] == "compact"
    assert specs["states"].retention_ms is None
    assert specs["candidate-facts-dlt"].max_message_bytes > specs["in"].max_message_bytes
    assert specs["fact-supersessions"].retention_ms == -1
    partitions = {name: spec.partitions for name, spec in specs.items()}
    assert partitions["in"] == partitions["new-facts"] == partitions["fact-decisions"]


@pytest.mark.parametrize(
    ("channels", "said"),
    [
        (
            {"x": {"address": "x", "bindings": {"kafka": {"partitions": 1, "replicas": 1, "topicConfiguration": {}}}}},
            "does not know",
        ),
        ({}, "says nothing of"),
    ],
)
def test_other_topics_than_the_codes_are_a_bug(monkeypatch, channels, said):
    """A specification that does not go with the code stops the process."""
    monkeypatch.setattr(topic_specs, "_channels", lambda: channels)
    with pytest.raises(Bug, match=said):
        topic_specs.load_specs()


def test_topic_cards():
    """`docs/topics.md` has a card with every heading for each topic, and explains each error code."""
    text = (ROOT / "docs" / "topics.md").read_text()
    cards = dict(re.findall(r"^## `([a-z-]+)`\n(.*?)(?=^## )", text + "\n## ", re.DOTALL | re.MULTILINE))
    assert set(cards) == {TOPICS.candidates, *TOPICS.outputs}
    wanted = ["Purpose", "Key", "Order", "Delivery", "Retention", "Compatibility", "Example", "Personal data"]
    for name, card in cards.items():
        assert re.findall(r"^- \*\*([A-Za-z ]+)\.\*\*", card, re.MULTILINE) == wanted, name
        spec = topic_specs.load_specs()[name]
        if spec.retention_ms is not None and spec.retention_ms > 0:
            assert f"{spec.retention_ms // 86_400_000} days" in card, name
        for example in re.findall(r"`(examples/[a-z/-]+\.json)`", card):
            assert (FOLDER / example).is_file(), example
    assert set(re.findall(r"^\| `([a-z_0-9]+)` \|", text, re.MULTILINE)) == set(REJECT_CODES)
