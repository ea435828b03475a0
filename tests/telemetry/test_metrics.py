"""Metrics: declared once, bounded, documented, and true to what was reported."""

import inspect
import re
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from factsieve.core import decision as d
from factsieve.core.facts import NO_SIGNAL, Coordinates, Kind, Source
from factsieve.engine.ports import Observer
from factsieve.telemetry import metrics_docs
from factsieve.telemetry.declared import DECLARED, PREFIX
from factsieve.telemetry.metrics import Metrics, make_metrics
from factsieve.wire.times import from_ms

ROOT = Path(__file__).resolve().parents[2]
AT = from_ms(0)
SKIP = d.Decision(
    decision_id="d",
    event_key="k",
    event_id="e",
    namespace="secret-namespace",
    decision=Kind.SKIP,
    reason="known",
    fact_id=None,
    matched_id="f",
    dedup_signal=NO_SIGNAL,
    band=d.Band.KNOWN,
    thresholds=d.Thresholds(0.88, 0.78, 0.72, 0.85),
    text="secret text",
    source=Source.INGEST,
    occurred_at=AT,
    resolved_at=AT,
    decided_at=AT,
    coordinates=Coordinates("t", 0, 0),
    policy="p",
    embedder="e",
)


def value(metrics, name, **labels):
    return metrics.registry.get_sample_value(PREFIX + name, labels)


def test_registries_are_apart():
    """Two sets of metrics in one process know nothing of each other, nor of the library's global registry."""
    one, other = make_metrics(), make_metrics()
    one.rejected("not_json")
    assert value(one, "events_rejected_total", code="not_json") == 1
    assert value(other, "events_rejected_total", code="not_json") == 0


def test_a_decision_is_counted_once_with_everything_about_it():
    """Kind and band, window, review, and each judge that was asked, with failures, tokens and time."""
    metrics = make_metrics()
    notes = (
        d.JudgeNote(judge="nli:x", asked="confirm", choice=Kind.SKIP, latency_ms=10),
        d.JudgeNote(judge="llm", asked="choose", choice=None, failure="timeout", prompt_tokens=7),
    )
    metrics.decided(msgspec.structs.replace(SKIP, judges=notes, review="no_answer", via="hash_window"), replayed=False)
    assert value(metrics, "events_decided_total", decision="skip", band="known") == 1
    assert value(metrics, "window_hits_total") == 1
    assert value(metrics, "events_reviewed_total") == 1
    assert value(metrics, "judge_calls_total", judge="nli:x", asked="confirm", choice="skip") == 1
    assert value(metrics, "judge_failures_total", judge="llm", asked="choose") == 1
    assert value(metrics, "judge_duration_seconds_sum", judge="nli:x") == pytest.approx(0.01)
    assert value(metrics, "judge_tokens_total", judge="llm", direction="prompt") == 7


def test_a_replayed_event_is_no_new_decision():
    """What is only told again is counted apart."""
    metrics = make_metrics()
    metrics.decided(SKIP, replayed=True)
    assert value(metrics, "events_replayed_total") == 1
    assert value(metrics, "events_decided_total", decision="skip", band="known") is None


@pytest.mark.parametrize(
    ("band", "judges", "by"),
    [
        ("ambiguous", ("rules",), "rules"),
        ("supersede_eligible", ("rules", "nli:folder"), "nli"),
        ("ambiguous", (), "nobody"),
        ("ambiguous", ("rules", "openai:gpt"), None),
        ("ambiguous", ("http://host/v1#m",), None),
        ("known", ("rules",), None),
        ("new", (), None),
    ],
)
def test_a_call_is_saved_where_the_bands_would_have_asked_a_language_model(band, judges, by):
    """Inside the asking bands a decision without a language model is a saved call; outside none would have been asked."""
    metrics = make_metrics()
    notes = tuple(d.JudgeNote(judge=name, asked="choose", choice=Kind.ADD) for name in judges)
    metrics.decided(msgspec.structs.replace(SKIP, band=d.Band(band), judges=notes), replayed=False)
    assert total(metrics, "judge_calls_saved_total") == (by is not None)
    if by is not None:
        assert value(metrics, "judge_calls_saved_total", by=by) == 1


def test_a_command_is_counted_as_one():
    """A command's outcome is no decision about a candidate."""
    metrics = make_metrics()
    metrics.decided(msgspec.structs.replace(SKIP, decision=None, command="erase", outcome="applied"), replayed=False)
    assert value(metrics, "commands_decided_total", kind="erase", outcome="applied") == 1


REPORTS = {
    "events_redelivered_total": lambda m: m.redelivered(1),
    "events_rejected_total": lambda m: m.rejected("not_json"),
    "events_fenced_total": lambda m: m.fenced(1),
    "facts_changed_total": lambda m: m.changed("added"),
    "services_awaited_total": lambda m: m.waited("qdrant", "timeout"),
    "services_bypassed_total": lambda m: m.degraded("redis", "timeout"),
    "embeddings_requested_total": lambda m: m.searched(1, 0),
    "neighbour_queries_total": lambda m: m.searched(0, 1),
    "wave_events_count": lambda m: m.recorded(3),
    "call_duration_seconds_count": lambda m: m.called("embed", 0.2),
    "decisions_reverted_total": lambda m: m.reverted("supersede"),
    "foreign_embeddings_ignored_total": lambda m: m.ignored_foreign_embedding(),
    "vectors_distrusted_total": lambda m: m.distrusted("truncated"),
    "wrong_partitions_seen_total": lambda m: m.saw_wrong_partition(),
    "event_tries_failed_total": lambda m: m.failed("ZeroDivisionError"),
    "probes_failed_total": lambda m: m.probe_failed("ZeroDivisionError"),
    "build_info": lambda m: m.built(version="1", embedder="e", judge="rules", policy="p"),
}


def total(metrics, name):
    samples = [s for family in metrics.registry.collect() for s in family.samples if s.name == PREFIX + name]
    return sum(sample.value for sample in samples)


@pytest.mark.parametrize("name", REPORTS)
def test_each_report_reaches_its_metric(name):
    """Every report adds one to its metric, and to no other counter."""
    metrics = make_metrics()
    REPORTS[name](metrics)
    assert total(metrics, name) == 1
    others = {d.name for d in DECLARED if d.kind == "counter"} - {name}
    assert [other for other in others if total(metrics, other)] == []


@pytest.mark.parametrize("declared", [d for d in DECLARED if d.observed], ids=lambda d: d.name)
def test_observed_metrics_are_asked_for(declared):
    """A metric that is counted elsewhere shows what its source says at the time of reading."""
    metrics = make_metrics()
    state = {"value": 1}
    labels = dict.fromkeys(declared.labels, "x")
    metrics.observe(declared.name, lambda: [(labels, state["value"])] if labels else state["value"])
    assert value(metrics, declared.name, **labels) == 1
    state["value"] = 5
    assert value(metrics, declared.name, **labels) == 5


def test_a_failing_source_costs_its_metric_only():
    """Metrics are read while things break: one source that raises hides nothing else."""
    metrics = make_metrics()
    metrics.observe("lanes_open", lambda: 1 / 0)
    metrics.observe("rebalances_total", lambda: 2)
    text = generate_latest(metrics.registry).decode()
    assert "factsieve_rebalances_total 2.0" in text
    assert "\nfactsieve_lanes_open " not in text


@pytest.mark.parametrize("name", ["events_rejected_total", "unheard_of"])
def test_only_declared_metrics_are_observed(name):
    """A source for a metric that is not declared so is a mistake that shows at once."""
    with pytest.raises(KeyError):
        make_metrics().observe(name, lambda: 1)


def test_declarations_keep_the_rules():
    """Names say what and end in the unit, labels hold no unbounded names, every metric can be reported."""
    for declared in DECLARED:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", declared.name)
        assert (declared.kind == "counter") == declared.name.endswith("_total")
        assert not set(declared.labels) & {"namespace", "text", "fact_id", "event_id"}
        assert declared.help.endswith(".")
    names = [declared.name for declared in DECLARED]
    assert len(set(names)) == len(names)
    with pytest.raises(ValueError, match="Duplicated"):
        Metrics(registry := CollectorRegistry()) and Metrics(registry)


@pytest.mark.parametrize("declared", [d for d in DECLARED if d.starts], ids=lambda d: d.name)
def test_known_values_of_a_label_start_at_zero(declared):
    """So that the first one counted is an increase, which an alert sees."""
    metrics = make_metrics()
    [label] = declared.labels
    assert {value(metrics, declared.name, **{label: start}) for start in declared.starts} == {0}


def test_no_namespace_and_no_text_is_exposed():
    """Nothing that is read from /metrics holds a namespace or a text."""
    metrics = make_metrics()
    metrics.decided(SKIP, replayed=False)
    assert b"secret" not in generate_latest(metrics.registry)


def test_every_metric_is_documented():
    """`docs/metrics.md` is what the generator writes now."""
    assert (ROOT / "docs" / "metrics.md").read_text() == metrics_docs.render(), (
        "run: python -m factsieve.telemetry.metrics_docs > docs/metrics.md"
    )


def test_metrics_take_what_the_engine_reports():
    """Every report of the engine's observer has its method here, with the same arguments."""
    reports = {name: method for name, method in vars(Observer).items() if inspect.isfunction(method) and name[0] != "_"}
    assert reports
    for name, method in reports.items():
        own, theirs = inspect.signature(getattr(Metrics, name)), inspect.signature(method)
        assert [(p.name, p.kind) for p in own.parameters.values()] == [
            (p.name, p.kind) for p in theirs.parameters.values()
        ], name
