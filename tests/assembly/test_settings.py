"""Settings: sources, names, secrets, relations, and that documents speak only of those that exist."""

import re
from pathlib import Path

import pytest

from factsieve.assembly import settings_checks, settings_docs
from factsieve.assembly.settings import (
    ALIASES,
    OTHER_VARIABLES,
    Settings,
    load_settings,
    parse_override,
    setting_names,
    variable_of,
)
from factsieve.assembly.settings_groups import NamespacePolicy, PolicySettings
from factsieve.core.errors import BadSettings
from factsieve.core.facts import Source
from factsieve.core.policy import Policy
from factsieve.wire.topic_specs import TopicSpec
from factsieve.wire.topics import Limits, Topics

ROOT = Path(__file__).resolve().parents[2]
KEY = "k" * 32


def loaded(overrides=None, environ=None, path=None):
    return load_settings(overrides, environ=environ or {}, path=path)


def refusal(overrides=None, environ=None, path=None):
    with pytest.raises(BadSettings) as caught:
        loaded(overrides, environ, path)
    return str(caught.value)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def toml(tmp_path, text):
    path = tmp_path / "some.toml"
    path.write_text(text)
    return path


def test_defaults_fit_together():
    """Out of the box the settings contradict neither each other nor the topics' specification."""
    settings = loaded()
    assert settings == Settings()
    assert settings.policies().default == Policy()
    assert settings.topics == Topics()
    assert settings.input_limits("m", 3) == Limits(embedding_model="m", embedding_dimension=3)


def test_policy_settings_are_the_policy():
    """Every field of the core's policy can be set, under its own name and with its own default."""
    fields = {name: getattr(Policy(), name) for name in Policy.__struct_fields__}
    assert PolicySettings().model_dump(exclude={"namespaces", "profile_path"}) == fields
    own = set(NamespacePolicy.model_fields)
    assert own == set(fields) - {"future_limit_s", "profile"}


def test_each_source_overrides_the_one_before(tmp_path):
    """Command line over environment over file over default."""
    path = toml(tmp_path, '[kafka]\nbootstrap = "file:1"\ngroup = "file"\nclient_id = "file"\n')
    environ = {"FACTSIEVE_KAFKA__GROUP": "env", "factsieve_kafka__client_id": "env"}
    kafka = loaded({"kafka.client_id": "cli"}, environ, path).kafka
    assert (kafka.bootstrap, kafka.group, kafka.client_id, kafka.session_timeout_s) == ("file:1", "env", "cli", 12.0)


def test_file_is_found_by_name_and_by_variable(tmp_path):
    """`factsieve.toml` of the working folder is read, unless FACTSIEVE_CONFIG names another."""
    (tmp_path / "factsieve.toml").write_text('[kafka]\ngroup = "here"\n')
    other = toml(tmp_path, '[kafka]\ngroup = "there"\n')
    assert loaded().kafka.group == "here"
    assert loaded(environ={"FACTSIEVE_CONFIG": str(other)}).kafka.group == "there"
    assert "can not be read" in refusal(environ={"FACTSIEVE_CONFIG": "/absent.toml"})
    assert "is not TOML" in refusal(path=toml(tmp_path, "= 1"))


def test_lists_and_tables_in_variables():
    """Lists and tables are JSON in a variable; a key of its own variable works too; an empty variable is none."""
    settings = loaded(
        environ={
            "FACTSIEVE_REDIS__WINDOW_SOURCES": '["ingest", "post_tool_use"]',
            "FACTSIEVE_POLICY__NAMESPACES": '{"Team A": {"skip_threshold": 0.95}}',
            "FACTSIEVE_COMMANDS__KEYS__OPS": KEY,
            "FACTSIEVE_KAFKA__GROUP": "",
        }
    )
    assert settings.redis.window_sources == (Source.INGEST, Source.POST_TOOL_USE)
    assert settings.policies().of("Team A").skip_threshold == 0.95
    assert settings.policies().of("team a").skip_threshold == 0.88
    assert settings.command_keys() == {"ops": KEY.encode()}
    assert settings.kafka.group == "factsieve"
    assert "FACTSIEVE_REDIS__WINDOW_SOURCES is not JSON" in refusal(
        environ={"FACTSIEVE_REDIS__WINDOW_SOURCES": "ingest"}
    )


@pytest.mark.parametrize("alias", ALIASES)
def test_reference_names_are_accepted(alias, tmp_path):
    """The reference's names work in the file, in the environment and on the command line."""
    values = {"llm.decisionModel": "openai:x", "memory.supersedeScanLimit": 9, "memory.supersedeThreshold": 0.75}
    value = values.get(alias, 0.8)
    group, field = ALIASES[alias].split(".")
    written = f'"{value}"' if isinstance(value, str) else value
    for settings in (
        loaded({alias: value}),
        loaded(environ={variable_of(alias): str(value)}),
        loaded(path=toml(tmp_path, f"{alias} = {written}\n")),
    ):
        assert getattr(getattr(settings, group), field) == value


def test_reference_name_and_ours_must_agree():
    """The same number under both names is fine, two different ones are refused."""
    assert loaded({"memory.skipThreshold": 0.9, "policy.skip_threshold": 0.9}).policy.skip_threshold == 0.9
    assert "leave one out" in refusal({"memory.skipThreshold": 0.9, "policy.skip_threshold": 0.91})


@pytest.mark.parametrize(
    ("overrides", "environ", "nearest"),
    [
        ({"kafka.bootstrp": 1}, {}, "kafka.bootstrap"),
        ({"kafka.topics.newfacts": "x"}, {}, "kafka.topics.new_facts"),
        ({"memory.skipTreshold": 1}, {}, "memory.skipThreshold"),
        ({"ledger_retention": 1}, {}, "ledger_retention_d"),
        ({}, {"FACTSIEVE_KAFKA_BOOTSTRAP": "x"}, "FACTSIEVE_KAFKA__BOOTSTRAP"),
        ({}, {"FACTSIEVE_REDIS__URI": "x"}, "FACTSIEVE_REDIS__URL"),
        ({"policy.namespaces": {"team": {"skip_treshold": 0.9}}}, {}, "skip_threshold"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(overrides, environ, nearest):
    """A misspelt setting never goes unnoticed."""
    assert f"did you mean {nearest}?" in refusal(overrides, environ)


def test_all_problems_are_told_at_once():
    """One start tells everything that is wrong of a kind."""
    text = refusal({"qdrant.timeout_s": -1, "kafka.linger_ms": "soon", "worker.health_port": 70_000})
    assert text.count("\n  - ") == 3
    assert "qdrant.timeout_s" in text
    assert "(given: '-1')" in text
    text = refusal({"worker.drain_timeout_s": 60, "commands.key_id": "nobody", "policy.skip_threshold": 0.5})
    assert text.count("\n  - ") >= 3


def test_secrets_never_show():
    """Neither a representation nor an error nor the shown settings hold a secret."""
    secret = "verysecretvalue" * 3
    given = {
        "redis.url": f"redis://user:{secret}@host:6379/0",
        "qdrant.api_key": secret,
        "embedder.api_key": secret,
        "judge.api_key": secret,
        "kafka.sasl_password": secret,
        "kafka.sasl_username": "me",
        "kafka.security_protocol": "SASL_SSL",
        "commands.keys": {"ops": secret},
    }
    settings = loaded(given)
    for text in (repr(settings), str(settings.shown()), settings.model_dump_json()):
        assert secret not in text
        assert "user:***@host" in text
    assert settings.redis.url.get_secret_value() == given["redis.url"]
    for broken in (
        {"redis.url": f"http://u:{secret}@h"},
        {"qdrant.api_key": [secret]},
        {"commands.keys": {"a": [secret]}},
    ):
        assert secret not in refusal(given | broken)
    assert secret not in refusal({"judge.name": f"http://u:{secret}@h/v1#m"})


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"judge.hold_s": 300}, "worker.watchdog_timeout_s"),
        ({"worker.watchdog_timeout_s": 50}, "judge.hold_s"),
        ({"worker.stop_deadline_s": 10}, "worker.drain_timeout_s"),
        ({"worker.pod_grace_s": 20}, "worker.pod_grace_s"),
        ({"kafka.rebalance_timeout_s": 21}, "join again in time"),
        ({"kafka.request_timeout_s": 25}, "kafka.request_timeout_s"),
        ({"kafka.session_timeout_s": 26}, "kafka.rebalance_timeout_s"),
        ({"kafka.heartbeat_interval_s": 5}, "kafka.heartbeat_interval_s"),
        ({"kafka.commit_interval_s": 12}, "kafka.commit_interval_s"),
        ({"kafka.max_request_bytes": 1_000_000}, "dead letter"),
        ({"limits.max_value_bytes": 2_000_000}, "never arrive"),
        ({"limits.max_text_chars": 300_000}, "do not fit"),
        ({"policy.supersede_scan_limit": 64}, "retires 64 facts"),
        ({"ledger_retention_d": 30}, "candidate-facts-dlt keeps records 30 days"),
        ({"ledger_retention_d": 5}, "topic candidate-facts keeps records 7 days"),
        ({"policy.ambiguous_threshold": 0.9}, "in order"),
        ({"policy.namespaces": {"t": {"skip_threshold": 0.1}}}, "policy.namespaces.t"),
        ({"engine.wave_size": 64, "engine.max_in_flight": 63}, "engine.wave_size"),
        ({"engine.retry_first_s": 9}, "engine.retry_most_s"),
        ({"kafka.security_protocol": "SASL_SSL"}, "kafka.sasl_username"),
        ({"kafka.sasl_password": "x"}, "SASL_SSL"),
        ({"kafka.ssl_cert_file": "a.pem"}, "belong together"),
        ({"kafka.topics.facts": "new-facts"}, "share a name"),
        ({"embedder.kind": "folder"}, "embedder.path"),
        ({"embedder.path": "x"}, "choose folder"),
        ({"embedder.kind": "openai"}, "embedder.dimension"),
        ({"judge.name": "cascade"}, "judge.model"),
        ({"judge.name": "nli:"}, "nli:DIR"),
        ({"judge.name": "gpt"}, "is not known"),
        ({"judge.name": "http://host/v1"}, "is not known"),
        ({"judge.namespace_calls_per_minute": 601}, "use up all calls"),
        ({"commands.keys": {"a": "short"}}, "openssl rand"),
        ({"commands.key_id": "a"}, "commands.keys"),
        ({"commands.max_age_s": 9e6}, "commands.max_age_s"),
    ],
)
def test_contradictions_are_refused(overrides, said):
    """Each relation between settings is checked at the start, and its breach names the settings and the reason."""
    assert said in refusal(overrides)


def test_topics_kept_for_ever_outlast_the_ledger():
    """A topic without a limit of retention can not be outlasted by the ledger."""
    spec = TopicSpec(name="t", partitions=1, replicas=1, configs={"retention.ms": "-1"})
    assert "for ever" in next(settings_checks.retention_problems(spec, 90))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "rules"),
        ({"judge.model": "openai:x"}, "cascade"),
        ({"judge.model": "openai:x", "judge.name": "rules"}, "rules"),
        ({"judge.name": "openrouter:a/b"}, "openrouter:a/b"),
        ({"judge.name": "https://host/v1#model"}, "https://host/v1#model"),
        ({"judge.name": "nli:models/x"}, "nli:models/x"),
    ],
)
def test_judge_in_use(given, name):
    """Without a name the cascade judges where a language model is configured, else the rules."""
    assert loaded(given).judge.effective_name == name


def test_overrides_are_toml_or_text():
    """`--set` takes numbers, lists and tables as TOML writes them, and anything else as text."""
    assert parse_override("kafka.linger_ms=5") == ("kafka.linger_ms", 5)
    assert parse_override('redis.window_sources=["ingest"]') == ("redis.window_sources", ["ingest"])
    assert parse_override("kafka.bootstrap=a:1,b:2") == ("kafka.bootstrap", "a:1,b:2")
    with pytest.raises(BadSettings, match="write name=value"):
        parse_override("kafka.linger_ms")


def test_every_setting_is_documented():
    """`docs/settings.md` is what the generator writes now, and every setting says what it means."""
    assert (ROOT / "docs" / "settings.md").read_text() == settings_docs.render(), (
        "run: python -m factsieve.assembly.settings_docs > docs/settings.md"
    )
    for name, model, field in setting_names():
        assert model.model_fields[field].description, name


def written_files():
    names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", ".ci/run"]
    yield from (ROOT / name for name in names)
    for folder in ("docs", "deploy"):
        yield from (ROOT / folder).rglob("*")


def test_variables_in_documents_exist():
    """Every FACTSIEVE_* name that documents, deployment files and the Makefile write is one that the code reads."""
    known = (
        {variable_of(name) for name, _, _ in setting_names()}
        | {variable_of(name) for name in ALIASES}
        | OTHER_VARIABLES
    )
    mappings = ("FACTSIEVE_COMMANDS__KEYS__",)
    for path in written_files():
        if path.is_file():
            for found in re.findall(r"FACTSIEVE_[A-Z0-9_]*[A-Z0-9]", path.read_text(errors="ignore")):
                assert found in known or found.startswith(mappings), f"{path.name} writes {found}, which is no setting"


def test_an_override_may_be_json_as_in_a_variable() -> None:
    """A table reads the same as TOML and as JSON; what is neither is plain text."""
    as_json = """api.tokens={"ops": {"sha256": "%s", "namespaces": ["*"]}}""" % ("0" * 64)
    as_toml = """api.tokens={ops = {sha256 = "%s", namespaces = ["*"]}}""" % ("0" * 64)
    assert parse_override(as_json) == parse_override(as_toml)
    assert load_settings(dict([parse_override(as_json)]), environ={}).api.tokens["ops"].namespaces == ("*",)
    assert parse_override("judge.model={broken") == ("judge.model", "{broken")
