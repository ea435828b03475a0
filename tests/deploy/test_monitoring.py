"""Dashboard, alerts and runbooks name what the code measures, and all of it."""

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from factsieve.telemetry.declared import DECLARED, PREFIX, Declared

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
GRAFANA = ROOT / "deploy" / "grafana"
DASHBOARD = json.loads((GRAFANA / "factsieve.json").read_text(encoding="utf-8"))
RULES = [
    rule
    for group in yaml.safe_load((PROMETHEUS / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
TESTS = yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text(encoding="utf-8"))["tests"]
RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text(encoding="utf-8")
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
DASHBOARD_QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
ALERT_QUERIES = [rule["expr"] for rule in RULES]

NOT_ON_THE_DASHBOARD: dict[str, str] = {}
"""Metrics that no panel shows, each with the reason."""

FOREIGN = {"up", "process_open_fds", "process_max_fds", "process_resident_memory_bytes", "process_cpu_seconds_total"}
"""What Prometheus and its client bring themselves."""
EVERYWHERE = {"job", "instance"}


def series_of(declared: Declared) -> set[str]:
    """Return the names under which Prometheus knows a metric."""
    name = PREFIX + declared.name
    return {f"{name}_{part}" for part in ("bucket", "sum", "count")} if declared.kind == "histogram" else {name}


BY_SERIES = {series: declared for declared in DECLARED for series in series_of(declared)}


def named(text: str) -> set[str]:
    return set(re.findall(r"\bfactsieve_[a-z_]*[a-z]\b", text))


@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: declared.name)
def test_every_metric_is_on_the_dashboard_or_explained(declared):
    """What is measured can be seen; a metric that no panel shows has its reason here."""
    shown = any(series_of(declared) & named(query) for query in DASHBOARD_QUERIES)
    assert shown != (declared.name in NOT_ON_THE_DASHBOARD), (
        f"put {declared.name} on a panel of deploy/grafana/dashboard.py, then: "
        "python deploy/grafana/dashboard.py > deploy/grafana/factsieve.json"
    )


def test_nothing_is_explained_away_that_does_not_exist():
    """The list of exceptions holds metrics that there are."""
    assert set(NOT_ON_THE_DASHBOARD) <= {declared.name for declared in DECLARED}


@pytest.mark.parametrize("query", [*DASHBOARD_QUERIES, *ALERT_QUERIES])
def test_queries_name_metrics_and_labels_that_exist(query):
    """A renamed metric or label would leave a panel empty and an alert silent."""
    assert named(query) <= set(BY_SERIES)
    labels = set(EVERYWHERE)
    for series in named(query):
        labels |= {*BY_SERIES[series].labels, *(["le"] if BY_SERIES[series].kind == "histogram" else [])}
    for series, selector in re.findall(r"\b(factsieve_[a-z_]+)\{([^}]*)\}", query):
        used = set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)\s*\"", selector))
        assert used <= {*BY_SERIES[series].labels, *EVERYWHERE}
    for group in re.findall(r"\bby \(([^)]*)\)", query):
        assert {name.strip() for name in group.split(",")} <= labels
    others = set(re.findall(r"\b([a-z][a-z_]*)(?=\{|\[)", re.sub(r"\"[^\"]*\"", '""', query))) - named(query)
    assert others <= FOREIGN


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_legends_name_labels_that_the_query_keeps(panel):
    """A legend of a label that was summed away would be empty."""
    for target in panel["targets"]:
        wanted = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        kept = {name.strip() for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for name in group.split(",")}
        assert wanted <= kept or "by (" not in target["expr"]
        assert panel["description"].endswith(".")


def test_every_counter_is_read_as_a_rate():
    """The bare value of a counter says nothing: it starts anew with each process."""
    for query in [*DASHBOARD_QUERIES, *ALERT_QUERIES]:
        for series in named(query):
            if series.endswith("_total") and "unless" not in query:
                assert re.search(rf"(?:rate|increase)\({series}", query), query


def test_the_dashboard_is_what_its_source_says():
    """`factsieve.json` is made, not edited."""
    made = runpy.run_path(str(GRAFANA / "dashboard.py"))["render"]()
    assert (GRAFANA / "factsieve.json").read_text(encoding="utf-8") == made, (
        "run: python deploy/grafana/dashboard.py > deploy/grafana/factsieve.json"
    )


def test_panels_have_places_of_their_own():
    """No two panels overlap, none leaves the grid, ids are unique."""
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_has_its_runbook_and_its_words(rule):
    """`runbook_url` leads to a section of the alert's own name that says what it means, what to do and when it worked."""
    name = rule["alert"]
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["runbook_url"] == f"docs/runbooks.md#{name.lower()}"
    sections = re.split(r"^#{1,2} ", RUNBOOKS, flags=re.MULTILINE)
    [section] = [section for section in sections if section.startswith(f"{name}\n")]
    for part in ("**Means**", "**It worked**"):
        assert part in section, f"{name}: {part} is missing"
    assert "**Do**" in section or "**Look at** and **do**" in section


def test_no_runbook_is_left_without_an_alert():
    """A section of an alert that is gone would mislead."""
    sections = set(re.findall(r"^## (Factsieve\w+)$", RUNBOOKS, re.MULTILINE))
    assert sections == {rule["alert"] for rule in RULES}


def test_links_within_the_runbooks_lead_somewhere():
    """Anchors are the headings' names in lower case."""
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#{1,3} (.+)$", RUNBOOKS, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", RUNBOOKS)) <= headings


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_documents_name_metrics_that_exist(page):
    """Wherever a metric is written in full."""
    known = {PREFIX + declared.name for declared in DECLARED} | set(BY_SERIES)
    found = set(re.findall(r"`(factsieve_[a-z_]+)`", page.read_text(encoding="utf-8")))
    assert {name for name in found if re.search(r"_(total|seconds|events|state|info|held|open|flight)$", name)} <= known


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_is_tested_for_firing_and_for_silence(rule):
    """An alert that always fires passes half a test, and so does one that never does."""
    name = rule["alert"]
    asked = [
        len(check["exp_samples"])
        for test in TESTS
        for check in test.get("promql_expr_test", [])
        if f'alertname="{name}"' in check["expr"]
    ]
    assert 0 in asked
    assert 1 in asked


def promtool(*arguments: str) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not on PATH: install Debian's package prometheus, or Prometheus itself")
    done = subprocess.run(
        [program, *arguments], cwd=PROMETHEUS, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_rules():
    """Syntax, templates, and the configuration that goes with them."""
    promtool("check", "rules", "alerts.yml")
    promtool("check", "config", "prometheus.yml")


def test_alerts_fire_when_they_should_and_only_then():
    """Prometheus itself runs the alerts over made-up series."""
    promtool("test", "rules", "alerts_test.yml")
