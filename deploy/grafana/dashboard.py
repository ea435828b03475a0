"""Writes the Grafana dashboard: `python deploy/grafana/dashboard.py > deploy/grafana/factsieve.json`.

A panel is a title, what it tells a person, its queries and its unit; places and ids follow from the order. In queries `$m` stands for
the selector of the dashboard's variables, so that no panel forgets it.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any, Final, Literal

Kind = Literal["stat", "timeseries", "table"]

WIDTH: Final = 24
SELECTOR: Final = 'job=~"$job", instance=~"$instance"'
DATASOURCE: Final = {"type": "prometheus", "uid": "$datasource"}
RED, ORANGE, GREEN = "red", "orange", "green"


@dataclass(frozen=True)
class Panel:
    """One panel. `queries`: (expression, legend). `steps`: values from which a stat turns orange and red."""

    title: str
    text: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: Kind = "timeseries"
    width: int = 8
    height: int = 8
    stacked: bool = False
    steps: tuple[float, float] | None = None


def one(expression: str, legend: str = "") -> tuple[tuple[str, str], ...]:
    """Return a single query."""
    return ((expression, legend),)


def quantiles(metric: str, by: str) -> tuple[tuple[str, str], ...]:
    """Return the median and the slowest twentieth of a histogram."""
    label = f"{{{{{by}}}}} " if by else ""
    grouped = f"{by}, le" if by else "le"
    return tuple(
        (
            f"histogram_quantile({q}, sum by ({grouped}) (rate({metric}_bucket{{$m}}[$__rate_interval])))",
            f"{label}{name}",
        )
        for q, name in ((0.5, "median"), (0.95, "95 %"))
    )


def rate(metric: str, by: str = "", more: str = "") -> str:
    """Return a counter's rate per second, summed over workers."""
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({metric}{{$m{more}}}[$__rate_interval]))"


def share(part: str, whole: str, window: str, more: str = "") -> str:
    """Return one counter's increase over another's; nothing where nothing happened."""
    return f"sum(increase({part}{{$m{more}}}[{window}])) / (sum(increase({whole}{{$m{more}}}[{window}])) > 0)"


FALSE_ALARMS: Final = share(
    "factsieve_decisions_reverted_total", "factsieve_events_decided_total", "1d", ', decision=~"skip|supersede"'
)

ROWS: Final[tuple[tuple[str, tuple[Panel, ...]], ...]] = (
    (
        "At a glance",
        (
            Panel(
                "Oldest waiting", "Age of the oldest candidate that is not done.", one("max(factsieve_lag_seconds{$m})"),
                "s", "stat", 4, 4, steps=(60, 300),
            ),
            Panel(
                "Waiting", "Candidates at the brokers and in the workers that are not done.",
                one("sum(factsieve_lag_events{$m})"), "short", "stat", 4, 4,
            ),
            Panel("Decided", "Decisions a second.", one(rate("factsieve_events_decided_total")), "ops", "stat", 4, 4),
            Panel(
                "Review rate, 6 h", "Decisions that ask for a person's look.",
                one(share("factsieve_events_reviewed_total", "factsieve_events_decided_total", "6h")),
                "percentunit", "stat", 4, 4, steps=(0.05, 0.1),
            ),
            Panel(
                "False alarms, 1 d", "Skips and supersessions that operators took back.", one(FALSE_ALARMS),
                "percentunit", "stat", 4, 4, steps=(0.005, 0.01),
            ),
            Panel(
                "Dead letters, 1 h", "Input that could not be used.",
                one("sum(increase(factsieve_events_rejected_total{$m}[1h]))"), "short", "stat", 4, 4, steps=(1, 100),
            ),
        ),
    ),
    (
        "Decisions",
        (
            Panel(
                "Decisions by kind", "What candidates turn out to be.",
                one(rate("factsieve_events_decided_total", "decision"), "{{decision}}"), "ops", stacked=True,
            ),
            Panel(
                "Decisions by band", "Where the best similarity lies, whatever was decided.",
                one(rate("factsieve_events_decided_total", "band"), "{{band}}"), "ops", stacked=True,
            ),
            Panel(
                "Changes told to ingest", "Messages to new-facts. Skips are none: this is what ingest has to do.",
                one(rate("factsieve_facts_changed_total", "type"), "{{type}}"), "ops", stacked=True,
            ),
            Panel(
                "Flagged and taken back", "Decisions that ask for a look, and decisions that operators reverted, by what they were.",
                (
                    ("sum(increase(factsieve_events_reviewed_total{$m}[1h]))", "flagged"),
                    ("sum by (decision) (increase(factsieve_decisions_reverted_total{$m}[1h]))", "{{decision}} reverted"),
                ),
            ),
            Panel(
                "Operators' commands", "By kind and outcome, an hour.",
                one("sum by (kind, outcome) (increase(factsieve_commands_decided_total{$m}[1h]))", "{{kind}} {{outcome}}"),
            ),
            Panel(
                "Dead letters by code", "Why input could not be used, an hour.",
                one("sum by (code) (increase(factsieve_events_rejected_total{$m}[1h])) > 0", "{{code}}"), stacked=True,
            ),
        ),
    ),
    (
        "Stream",
        (
            Panel(
                "Age of what waits", "Of the oldest candidate that is not done, by partition.",
                one("max by (topic, partition) (factsieve_lag_seconds{$m})", "{{topic}}-{{partition}}"), "s",
            ),
            Panel(
                "What waits", "Candidates that are not done, by partition.",
                one("sum by (topic, partition) (factsieve_lag_events{$m})", "{{topic}}-{{partition}}"), stacked=True,
            ),
            Panel(
                "Done", "Events whose offset may be committed, and what came again: replayed, redelivered, or decided in vain.",
                (
                    (rate("factsieve_events_done_total"), "done"),
                    (rate("factsieve_events_redelivered_total"), "redelivered"),
                    (rate("factsieve_events_replayed_total"), "replayed"),
                    (rate("factsieve_events_fenced_total"), "another worker was first"),
                ),
                "ops",
            ),
            Panel(
                "In the workers", "Events taken in and not done, and namespaces that have some.",
                (("sum(factsieve_events_in_flight{$m})", "events"), ("sum(factsieve_lanes_open{$m})", "namespaces")),
            ),
            Panel(
                "Partitions", "How many each worker holds.",
                one("sum by (instance) (factsieve_partitions_assigned{$m})", "{{instance}}"), stacked=True,
            ),
            Panel(
                "Group", "Rebalances, commits that failed, revocations that could not wait, keys in another partition, an hour.",
                (
                    ("sum(increase(factsieve_rebalances_total{$m}[1h]))", "rebalances"),
                    ("sum(increase(factsieve_commit_failures_total{$m}[1h]))", "commits failed"),
                    ("sum(increase(factsieve_drain_timeouts_total{$m}[1h]))", "drains timed out"),
                    ("sum(increase(factsieve_wrong_partitions_seen_total{$m}[1h]))", "wrong partitions"),
                ),
            ),
            Panel(
                "Output", "Messages acknowledged by the brokers, and those that have to be sent again.",
                (
                    (rate("factsieve_messages_sent_total"), "sent"),
                    (rate("factsieve_messages_failed_total"), "failed"),
                    (rate("factsieve_facts_restated_total"), "facts told anew"),
                    (rate("factsieve_commits_total"), "commits"),
                ),
                "ops",
            ),
            Panel(
                "What fails", "Tries and known-good statements that failed, fetches that failed, an hour; what stands still.",
                (
                    ("sum(increase(factsieve_event_tries_failed_total{$m}[1h]))", "tries"),
                    ("sum(increase(factsieve_probes_failed_total{$m}[1h]))", "known-good statements"),
                    ("sum(increase(factsieve_fetches_failed_total{$m}[1h]))", "fetches"),
                    ("sum(factsieve_namespaces_stopped{$m})", "namespaces stopped"),
                    ("sum(factsieve_suspects_known{$m})", "suspects after a crash"),
                ),
            ),
            Panel(
                "Waves", "Events that a namespace decided and recorded together, and waves a second.",
                (*quantiles("factsieve_wave_events", ""), (rate("factsieve_wave_events_count"), "waves a second")),
            ),
        ),
    ),
    (
        "Judge",
        (
            Panel(
                "Answers", "Questions that a judge answered, by its choice.",
                one(rate("factsieve_judge_calls_total", "judge, choice"), "{{judge}} {{choice}}"), "ops", stacked=True,
            ),
            Panel(
                "Unanswered", "Questions without a usable answer.",
                one(rate("factsieve_judge_failures_total", "judge, asked"), "{{judge}} {{asked}}"), "ops",
            ),
            Panel("Time to an answer", "By judge.", quantiles("factsieve_judge_duration_seconds", "judge"), "s"),
            Panel(
                "Tokens", "What language models read and wrote, a second.",
                one(rate("factsieve_judge_tokens_total", "judge, direction"), "{{judge}} {{direction}}"), "short", stacked=True,
            ),
            Panel(
                "Calls saved", "Decisions inside the asking bands that needed no language model, by who made them.",
                one(rate("factsieve_judge_calls_saved_total", "by"), "{{by}}"), "ops", stacked=True,
            ),
            Panel(
                "Held", "Namespaces that wait for an answer, and the breaker: 0 closed, 1 half open, 2 open.",
                (
                    ("sum(factsieve_lanes_held{$m})", "namespaces held"),
                    ("sum(increase(factsieve_lane_holds_total{$m}[1h]))", "holds, 1 h"),
                    ("sum(increase(factsieve_lane_holds_given_up_total{$m}[1h]))", "given up, 1 h"),
                    ("max(factsieve_judge_breaker_state{$m})", "breaker"),
                ),
            ),
        ),
    ),
    (
        "Looking up",
        (
            Panel(
                "Who had to look", "Exact repeats that the hash window caught, texts to embed, searches for neighbours.",
                (
                    (rate("factsieve_window_hits_total"), "caught by the window"),
                    (rate("factsieve_embeddings_requested_total"), "texts to embed"),
                    (rate("factsieve_neighbour_queries_total"), "searches"),
                ),
                "ops",
            ),
            Panel(
                "Embeddings", "Texts that the model computed, and those whose vector was kept.",
                (
                    (rate("factsieve_embeddings_computed_total"), "computed"),
                    (rate("factsieve_embeddings_cached_total"), "from the cache"),
                ),
                "ops", stacked=True,
            ),
            Panel(
                "Vectors not used", "Too little of the text seen, or of another model, an hour.",
                (
                    ("sum by (cause) (increase(factsieve_vectors_distrusted_total{$m}[1h]))", "{{cause}}"),
                    ("sum(increase(factsieve_foreign_embeddings_ignored_total{$m}[1h]))", "of another model"),
                ),
            ),
        ),
    ),
    (
        "Services",
        (
            Panel(
                "Slowest twentieth of calls", "By call: embed, the stores', and send.",
                one(
                    "histogram_quantile(0.95, sum by (call, le) (rate(factsieve_call_duration_seconds_bucket{$m}[$__rate_interval])))",
                    "{{call}}",
                ),
                "s", width=12,
            ),
            Panel(
                "Calls", "Batched calls a second.", one(rate("factsieve_call_duration_seconds_count", "call"), "{{call}}"), "ops",
                width=12, stacked=True,
            ),
            Panel(
                "Awaited", "Calls that a service did not answer and that are repeated until it does.",
                one(rate("factsieve_services_awaited_total", "service"), "{{service}}"), "ops", width=12,
            ),
            Panel(
                "Done without", "Calls to a service that can be missed. Redis: repeats cost a look-up in the store instead.",
                one(rate("factsieve_services_bypassed_total", "service"), "{{service}}"), "ops", width=12,
            ),
            Panel(
                "Known downstream", "New facts looked for in the downstream collections. Known ones are stored, and ingest is not told.",
                one(rate("factsieve_downstream_looked_up_total", "outcome"), "{{outcome}}"), "ops", width=12,
            ),
        ),
    ),
    (
        "HTTP",
        (
            Panel(
                "Answers", "By route and status. 503 and 429 are refusals under load, and do the workers no harm.",
                one(rate("factsieve_http_requests_total", "route, status"), "{{route}} {{status}}"), "ops", width=12, stacked=True,
            ),
            Panel(
                "Time to an answer", "Of requests that wait for nothing but the work itself.",
                quantiles("factsieve_http_request_duration_seconds", "route"), "s", width=12,
            ),
            Panel(
                "Under way", "Requests by kind.", one("sum by (kind) (factsieve_http_requests_in_flight{$m})", "{{kind}}"), stacked=True,
            ),
            Panel(
                "Dedup checks", "By their answer.", one(rate("factsieve_dedup_checks_total", "is_update"), "{{is_update}}"), "ops",
                stacked=True,
            ),
            Panel("Candidates taken", "Put on the topic by the API.", one(rate("factsieve_candidates_accepted_total")), "ops"),
            Panel(
                "Decision log behind", "What the API shows of decisions is complete up to so long ago.",
                one("max by (instance) (factsieve_decision_log_behind_seconds{$m})", "{{instance}}"), "s", width=12,
            ),
            Panel(
                "Decision log", "Read; lost connections, records that are no decision, and what slow readers of a live stream missed.",
                (
                    (rate("factsieve_decision_log_read_total"), "read"),
                    (rate("factsieve_decision_log_disconnects_total"), "connections lost"),
                    (rate("factsieve_decision_log_unreadable_total"), "unreadable"),
                    (rate("factsieve_decision_log_missed_total"), "missed"),
                ),
                "ops", width=12,
            ),
        ),
    ),
    (
        "Processes",
        (
            Panel("Memory", "Resident memory.", one("process_resident_memory_bytes{$m}", "{{instance}}"), "bytes"),
            Panel("Processor", "Cores in use.", one("rate(process_cpu_seconds_total{$m}[$__rate_interval])", "{{instance}}")),
            Panel("Open files", "Sockets and files.", one("process_open_fds{$m}", "{{instance}}")),
            Panel(
                "What decides", "Version, models and policy of each worker: all of a group should be the same.",
                one("max by (instance, version, embedder, judge, policy) (factsieve_build_info{$m})", ""),
                kind="table", width=24, height=6,
            ),
        ),
    ),
)  # fmt: skip


def _panel(panel: Panel, panel_id: int, x: int, y: int) -> dict[str, Any]:
    instant = panel.kind in ("stat", "table")
    targets = [
        {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": expression.replace("$m", SELECTOR),
            "legendFormat": legend or "__auto",
            "refId": chr(ord("A") + index),
            "instant": instant,
            "range": not instant,
            **({"format": "table"} if panel.kind == "table" else {}),
        }
        for index, (expression, legend) in enumerate(panel.queries)
    ]
    made: dict[str, Any] = {
        "id": panel_id,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": DATASOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "targets": targets,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }
    if panel.kind == "table":
        hidden = {"Time": True, "Value": True}
        made["transformations"] = [{"id": "organize", "options": {"excludeByName": hidden}}]
    return made


def _defaults(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": GREEN, "value": None}]
    if panel.steps is not None:
        steps += [{"color": color, "value": value} for color, value in zip((ORANGE, RED), panel.steps, strict=True)]
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.kind == "timeseries":
        mode = "normal" if panel.stacked else "none"
        defaults["custom"] = {
            "drawStyle": "line",
            "fillOpacity": 25 if panel.stacked else 8,
            "lineWidth": 1,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": mode, "group": "A"},
        }
    return defaults


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "stat":
        return {
            "colorMode": "value" if panel.steps is None else "background",
            "graphMode": "none",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        }
    if panel.kind == "table":
        return {"showHeader": True}
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _panels() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    y = 0
    for title, panels in ROWS:
        place = {"x": 0, "y": y, "w": WIDTH, "h": 1}
        made.append(
            {"id": len(made) + 1, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}
        )
        x, y, deepest = 0, y + 1, 0
        for panel in panels:
            if x + panel.width > WIDTH:
                x, y, deepest = 0, y + deepest, 0
            made.append(_panel(panel, len(made) + 1, x, y))
            x, deepest = x + panel.width, max(deepest, panel.height)
        y += deepest
    return made


def _variable(name: str, label: str) -> dict[str, Any]:
    query = (
        f'label_values(factsieve_build_info{{job=~"$job"}}, {name})'
        if name != "job"
        else f"label_values(factsieve_build_info, {name})"
    )
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"selected": True, "text": "All", "value": "$__all"},
        "refresh": 2,
        "sort": 1,
    }


def dashboard() -> dict[str, Any]:
    """Return the whole dashboard."""
    return {
        "uid": "factsieve",
        "title": "factsieve",
        "description": "Workers that let only new facts through: what they decide, how far they are, and what they wait for.",
        "tags": ["factsieve"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Data source",
                    "type": "datasource",
                    "query": "prometheus",
                    "current": {},
                    "refresh": 1,
                },
                _variable("job", "Job"),
                _variable("instance", "Worker"),
            ]
        },
        "annotations": {"list": []},
        "panels": _panels(),
    }


def render() -> str:
    """Return the file's text."""
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render())
