"""Writes `docs/metrics.md` from the declarations: `python -m factsieve.telemetry.metrics_docs > docs/metrics.md`."""

import sys

from factsieve.telemetry.declared import DECLARED, PREFIX

_HEAD = """# Metrics

Made by `python -m factsieve.telemetry.metrics_docs`; do not edit.

Served at `/metrics` of the worker's health port, for Prometheus. Names end in their unit. Labels are of bounded vocabularies: no
metric carries a namespace or a text. Prometheus' own `process_*` (memory, processor, files) are served besides.

The dashboard is `deploy/grafana/factsieve.json`, made by `deploy/grafana/dashboard.py`; alerts are in `deploy/prometheus/`, and
[runbooks.md](runbooks.md) has a runbook for each.

| metric | kind | labels | meaning |
| --- | --- | --- | --- |
"""


def render() -> str:
    """Return the whole page."""
    rows = []
    for declared in DECLARED:
        labels = ", ".join(f"`{label}`" for label in declared.labels) or "none"
        rows.append(f"| `{PREFIX}{declared.name}` | {declared.kind} | {labels} | {declared.help} |\n")
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    sys.stdout.write(render())
