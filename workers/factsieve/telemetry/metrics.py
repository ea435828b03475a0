"""Metrics: kept in a registry of their own, reported by what happened; `declared.py` says which there are.

`Metrics` also answers to what the engine reports of its work.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from factsieve.core.decision import Band, Decision
from factsieve.telemetry.declared import DECLARED, PREFIX, Declared

_BY_NAME: Final[Mapping[str, Declared]] = {declared.name: declared for declared in DECLARED}
_ASKING: Final = frozenset({Band.AMBIGUOUS, Band.SUPERSEDE_ELIGIBLE})
_LOCAL: Final[Mapping[str, str]] = {"rules": "rules", "nli": "nli"}
"""Judges that answer in this process, by the first part of their name."""

Labels = Mapping[str, str]
Source = Callable[[], float] | Callable[[], Iterable[tuple[Labels, float]]]


class Metrics:
    """The metrics of one process. Every method is cheap, never raises for bad luck, and may be called from any thread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._counters = {d.name: self._counter(d) for d in DECLARED if d.kind == "counter" and not d.observed}
        self._gauges = {d.name: self._gauge(d) for d in DECLARED if d.kind == "gauge" and not d.observed}
        self._histograms = {d.name: self._histogram(d) for d in DECLARED if d.kind == "histogram"}
        self._observed = _Observed()
        registry.register(self._observed)

    def _counter(self, declared: Declared) -> Counter:
        counter = Counter(PREFIX + declared.name, declared.help, declared.labels, registry=self.registry)
        for start in declared.starts:
            counter.labels(start)
        return counter

    def _gauge(self, declared: Declared) -> Gauge:
        return Gauge(PREFIX + declared.name, declared.help, declared.labels, registry=self.registry)

    def _histogram(self, declared: Declared) -> Histogram:
        return Histogram(
            PREFIX + declared.name, declared.help, declared.labels, buckets=declared.buckets, registry=self.registry
        )

    # What is counted elsewhere

    def observe(self, name: str, source: Source) -> None:
        """Ask `source` for a metric's value, or for (labels, value) pairs, whenever metrics are read.

        Raises KeyError for a name that is not declared as observed.
        """
        if not _BY_NAME[name].observed:
            raise KeyError(f"{name} is counted here: report what happened instead")
        self._observed.sources[name] = source

    def built(self, *, version: str, embedder: str, judge: str, policy: str) -> None:
        """Tell what decides in this process."""
        self._gauges["build_info"].labels(version=version, embedder=embedder, judge=judge, policy=policy).set(1)

    # What the engine reports

    def decided(self, decision: Decision, *, replayed: bool) -> None:
        """An event has its decision, and everything that follows from it has happened."""
        if replayed:
            self._counters["events_replayed_total"].inc()
            return
        if decision.decision is None:
            self.commanded(decision.command or "unknown", decision.outcome or "unknown")
            return
        self._counters["events_decided_total"].labels(decision=decision.decision.value, band=decision.band.value).inc()
        if decision.via == "hash_window":
            self._counters["window_hits_total"].inc()
        if decision.review is not None:
            self._counters["events_reviewed_total"].inc()
        if decision.downstream is not None:
            self._counters["downstream_looked_up_total"].labels(outcome=decision.downstream.outcome).inc()
        for note in decision.judges:
            named = {"judge": note.judge, "asked": note.asked}
            if note.choice is None:
                self._counters["judge_failures_total"].labels(**named).inc()
            else:
                self._counters["judge_calls_total"].labels(**named, choice=note.choice.value).inc()
            if note.latency_ms > 0:
                self._histograms["judge_duration_seconds"].labels(judge=note.judge).observe(note.latency_ms / 1000)
            for direction, tokens in (("prompt", note.prompt_tokens), ("completion", note.completion_tokens)):
                if tokens > 0:
                    self._counters["judge_tokens_total"].labels(judge=note.judge, direction=direction).inc(tokens)

        if decision.band in _ASKING and (by := _answered_by(decision)) is not None:
            self._counters["judge_calls_saved_total"].labels(by=by).inc()

    def reverted(self, decision: str) -> None:
        """An operator took back a decision of this kind."""
        self._counters["decisions_reverted_total"].labels(decision=decision).inc()

    def called(self, call: str, duration_s: float) -> None:
        """A batched call of a port answered or failed after so long."""
        self._histograms["call_duration_seconds"].labels(call=call).observe(duration_s)

    def redelivered(self, events: int) -> None:
        """So many events came again, and their stored decisions were performed again."""
        self._counters["events_redelivered_total"].inc(events)

    def rejected(self, code: str) -> None:
        """An input was put into the dead letter topic."""
        self._counters["events_rejected_total"].labels(code=code).inc()

    def commanded(self, kind: str, outcome: str) -> None:
        """An operator's command was applied, refused or had nothing to do."""
        self._counters["commands_decided_total"].labels(kind=kind, outcome=outcome).inc()

    def changed(self, change_type: str) -> None:
        """A change went to new-facts."""
        self._counters["facts_changed_total"].labels(type=change_type).inc()

    def waited(self, service: str, error: str) -> None:
        """A service did not answer; the call is repeated."""
        del error
        self._counters["services_awaited_total"].labels(service=service).inc()

    def degraded(self, service: str, error: str) -> None:
        """A service that can be done without did not answer; it was done without."""
        del error
        self._counters["services_bypassed_total"].labels(service=service).inc()

    def searched(self, embeddings: int, queries: int) -> None:
        """Texts were handed to the embedder, and neighbours were asked for."""
        self._counters["embeddings_requested_total"].inc(embeddings)
        self._counters["neighbour_queries_total"].inc(queries)

    def recorded(self, events: int) -> None:
        """A lane's wave of so many events was recorded."""
        self._histograms["wave_events"].observe(events)

    def fenced(self, events: int) -> None:
        """Decided events were dropped, since another worker had recorded them first or the partition was lost."""
        self._counters["events_fenced_total"].inc(events)

    def ignored_foreign_embedding(self) -> None:
        """A vector that came along was left out."""
        self._counters["foreign_embeddings_ignored_total"].inc()

    def distrusted(self, cause: str) -> None:
        """A vector stands for too little of its text: `truncated` or `unknown_tokens`."""
        self._counters["vectors_distrusted_total"].labels(cause=cause).inc()

    def failed(self, error: str) -> None:
        """A try of an event ended with an error that no event should cause."""
        del error
        self._counters["event_tries_failed_total"].inc()

    def probe_failed(self, error: str) -> None:
        """After that a known-good statement failed too."""
        del error
        self._counters["probes_failed_total"].inc()

    def saw_wrong_partition(self) -> None:
        """An event's key belongs to another partition."""
        self._counters["wrong_partitions_seen_total"].inc()

    # What the API reports

    def answered(self, method: str, route: str, status: int, took_s: float | None) -> None:
        """A request was answered; `took_s` None where it waited for something to happen."""
        self._counters["http_requests_total"].labels(method=method, route=route, status=str(status)).inc()
        if took_s is not None:
            self._histograms["http_request_duration_seconds"].labels(route=route).observe(took_s)

    def checked(self, is_update: str) -> None:
        """A dedup check was answered with `true`, `false` or `filtered`."""
        self._counters["dedup_checks_total"].labels(is_update=is_update).inc()

    def took_candidates(self, candidates: int) -> None:
        """Candidates were put on the topic by the API."""
        self._counters["candidates_accepted_total"].inc(candidates)

    def log_read(self, decisions: int) -> None:
        """Decisions were read for the decision log."""
        self._counters["decision_log_read_total"].inc(decisions)

    def log_unreadable(self) -> None:
        """A record of the decision log's topic is no decision."""
        self._counters["decision_log_unreadable_total"].inc()

    def log_disconnected(self) -> None:
        """The decision log lost Kafka; it connects anew by itself."""
        self._counters["decision_log_disconnects_total"].inc()

    def log_missed(self, decisions: int) -> None:
        """A follower of the decision log was too slow for some."""
        self._counters["decision_log_missed_total"].inc(decisions)


def _answered_by(decision: Decision) -> str | None:
    """Return who decided without a language model: a local judge, or nobody (`rules` of time and text); None where one was asked."""
    asked = [_LOCAL.get(note.judge.partition(":")[0]) for note in decision.judges]
    if None in asked:
        return None
    return asked[-1] if asked else "nobody"


class _Observed(Collector):
    """Asks those who know for the metrics that are counted elsewhere."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}

    def collect(self) -> Iterator[Metric]:
        """Yield each declared metric whose source is known; a source that fails leaves its metric out, not all of them."""
        for name, source in self.sources.items():
            declared = _BY_NAME[name]
            try:
                value = source()
                samples = [({}, float(value))] if isinstance(value, (int, float)) else list(value)
            except Exception:  # noqa: S112 - metrics are read while things break
                continue
            yield _family(declared, samples)

    def describe(self) -> Iterator[Metric]:
        """Yield the declarations, so that a name can not be taken twice."""
        for declared in DECLARED:
            if declared.observed:
                yield _family(declared, [])


def _family(declared: Declared, samples: Iterable[tuple[Labels, float]]) -> Metric:
    make = CounterMetricFamily if declared.kind == "counter" else GaugeMetricFamily
    family = make(PREFIX + declared.name, declared.help, labels=declared.labels)
    for labels, value in samples:
        family.add_metric([labels[name] for name in declared.labels], value)
    return family


def make_metrics() -> Metrics:
    """Return the metrics of a process, in a registry of their own."""
    return Metrics(CollectorRegistry())
