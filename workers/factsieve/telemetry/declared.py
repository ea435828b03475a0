"""Every metric there is, declared once: name, kind, meaning, labels. `docs/metrics.md` and the dashboard are checked against this file.

Names end in their unit; labels are of bounded vocabularies, and never hold a namespace or a text. "Dropped" is said of real loss only.
"""

from typing import Final, Literal, get_args

import msgspec

from factsieve.core.decision import DownstreamOutcome
from factsieve.core.errors import REJECT_CODES
from factsieve.core.facts import Kind as Decided

PREFIX: Final = "factsieve_"
Kind = Literal["counter", "gauge", "histogram"]

_LATENCY_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Declared(msgspec.Struct, frozen=True):
    """One metric.

    `observed`: its value is asked for when metrics are read (see `Metrics.observe`), not counted here. `starts`: values of its only label
    that are shown as 0 from the start, so that the first one counted is an increase and not a new series, which no alert would see.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    observed: bool = False
    starts: tuple[str, ...] = ()


DECLARED: Final[tuple[Declared, ...]] = (
    Declared(
        "events_decided_total", "counter", "Events that have their decision and its effects.", ("decision", "band")
    ),
    Declared("events_replayed_total", "counter", "Events that came by a replay and were told again as replayed."),
    Declared(
        "events_redelivered_total", "counter", "Events that came again and whose stored decision was performed again."
    ),
    Declared(
        "events_rejected_total", "counter", "Events put into the dead letter topic.", ("code",), starts=REJECT_CODES
    ),
    Declared("events_fenced_total", "counter", "Undecided again: another worker was first, or the partition was lost."),
    Declared(
        "events_done_total",
        "counter",
        "Events of which everything is done, so that their offset may be committed.",
        observed=True,
    ),
    Declared(
        "downstream_looked_up_total",
        "counter",
        "New facts looked for in the downstream collections: known ones are not told to ingest.",
        ("outcome",),
        starts=get_args(DownstreamOutcome),
    ),
    Declared("events_reviewed_total", "counter", "Decisions that ask for a person's look."),
    Declared("commands_decided_total", "counter", "Operators' commands by outcome.", ("kind", "outcome")),
    Declared(
        "decisions_reverted_total",
        "counter",
        "Decisions that operators took back, by what they were: over events_decided_total the rate of false alarms.",
        ("decision",),
        starts=tuple(Decided),
    ),
    Declared("facts_changed_total", "counter", "Messages to new-facts.", ("type",)),
    Declared("window_hits_total", "counter", "Exact repeats that the hash window caught, without embedding or search."),
    Declared("embeddings_requested_total", "counter", "Texts handed to the embedder."),
    Declared("embeddings_computed_total", "counter", "Texts that the model computed.", observed=True),
    Declared("embeddings_cached_total", "counter", "Texts whose vector was in the cache.", observed=True),
    Declared(
        "foreign_embeddings_ignored_total",
        "counter",
        "Vectors that came along but are of another model, or of none named.",
    ),
    Declared(
        "vectors_distrusted_total",
        "counter",
        "Texts that the embedder saw too little of for a skip by similarity.",
        ("cause",),
    ),
    Declared("neighbour_queries_total", "counter", "Searches for neighbours."),
    Declared("wave_events", "histogram", "Events that a lane decided and recorded together.", buckets=_SIZES),
    Declared("judge_calls_total", "counter", "Questions that a judge answered.", ("judge", "asked", "choice")),
    Declared("judge_failures_total", "counter", "Questions without a usable answer.", ("judge", "asked")),
    Declared("judge_duration_seconds", "histogram", "Time until a judge's answer.", ("judge",), _LATENCY_S),
    Declared("judge_tokens_total", "counter", "Tokens that language models read and wrote.", ("judge", "direction")),
    Declared(
        "judge_calls_saved_total",
        "counter",
        "Decisions inside the asking bands that needed no language model, by who made them.",
        ("by",),
    ),
    Declared(
        "judge_breaker_state",
        "gauge",
        "The circuit breaker of the language model: 0 closed, 1 half open, 2 open.",
        observed=True,
    ),
    Declared("lanes_held", "gauge", "Namespaces that wait for a judge that does not answer.", observed=True),
    Declared("lane_holds_total", "counter", "Times that a namespace began to wait so.", observed=True),
    Declared(
        "lane_holds_given_up_total",
        "counter",
        "Holds that ended without an answer; until the next answer nobody is held, and candidates are added for review.",
        observed=True,
    ),
    Declared(
        "call_duration_seconds",
        "histogram",
        "Time of a batched call of the embedder (embed), of a store or of the brokers (send), until it answered or failed.",
        ("call",),
        _LATENCY_S,
    ),
    Declared(
        "services_awaited_total",
        "counter",
        "Calls that a service did not answer and that were repeated.",
        ("service",),
        starts=("qdrant", "kafka", "embeddings", "judge"),
    ),
    Declared(
        "services_bypassed_total",
        "counter",
        "Calls to a service that were done without, its answer failing.",
        ("service",),
        starts=("redis", "downstream"),
    ),
    Declared(
        "event_tries_failed_total",
        "counter",
        "Tries of an event that ended with an error that no event should cause.",
    ),
    Declared(
        "probes_failed_total",
        "counter",
        "Times that a known-good statement failed too, so that the event was not to blame and waits.",
    ),
    Declared(
        "namespaces_stopped",
        "gauge",
        "Namespaces that wait for their partition to be assigned anew: an event of theirs can not be decided or performed.",
        observed=True,
    ),
    Declared(
        "suspects_known",
        "gauge",
        "Contents that were being worked on when a process of this host died.",
        observed=True,
    ),
    Declared(
        "fetches_failed_total",
        "counter",
        "Fetches that failed and are tried again; a corrupt batch fails each time and holds its partition up.",
        observed=True,
    ),
    Declared("wrong_partitions_seen_total", "counter", "Events whose key belongs to another partition."),
    Declared("events_in_flight", "gauge", "Events taken in and not done.", observed=True),
    Declared("lanes_open", "gauge", "Namespaces with events in flight.", observed=True),
    Declared(
        "lag_events",
        "gauge",
        "Events between the end of a partition and what is done of it.",
        ("topic", "partition"),
        observed=True,
    ),
    Declared(
        "lag_seconds",
        "gauge",
        "Age of the oldest event of a partition that is not done, by its record's time; 0 where all is done.",
        ("topic", "partition"),
        observed=True,
    ),
    Declared("partitions_assigned", "gauge", "Partitions that this worker holds.", observed=True),
    Declared("rebalances_total", "counter", "Assignments of partitions.", observed=True),
    Declared("commits_total", "counter", "Commits of offsets.", observed=True),
    Declared("commit_failures_total", "counter", "Commits that failed and were tried again.", observed=True),
    Declared(
        "drain_timeouts_total", "counter", "Revocations that could not wait for all that had started.", observed=True
    ),
    Declared(
        "facts_restated_total",
        "counter",
        "Facts told anew since the compacted topic had stayed behind what stands: somebody told too late.",
        observed=True,
    ),
    Declared("messages_sent_total", "counter", "Messages acknowledged by the brokers.", observed=True),
    Declared(
        "messages_failed_total", "counter", "Messages that were not acknowledged and are sent again.", observed=True
    ),
    Declared("http_requests_total", "counter", "Answers of the HTTP API.", ("method", "route", "status")),
    Declared(
        "http_request_duration_seconds",
        "histogram",
        "Time until the API's answer, of requests that wait for nothing but the work itself.",
        ("route",),
        _LATENCY_S,
    ),
    Declared(
        "http_requests_in_flight",
        "gauge",
        "Requests under way: dedup checks, those that wait for a decision or an outcome (streams among them), and others.",
        ("kind",),
        observed=True,
    ),
    Declared("dedup_checks_total", "counter", "Dedup checks by their answer: true, false or filtered.", ("is_update",)),
    Declared("candidates_accepted_total", "counter", "Candidates that the API put on the topic."),
    Declared("decision_log_read_total", "counter", "Decisions that the API read from fact-decisions."),
    Declared(
        "decision_log_unreadable_total", "counter", "Records of fact-decisions that are no decision, passed over."
    ),
    Declared("decision_log_disconnects_total", "counter", "Times that the API's decision log lost Kafka."),
    Declared("decision_log_missed_total", "counter", "Decisions that readers of a live stream missed, being too slow."),
    Declared(
        "decision_log_behind_seconds",
        "gauge",
        "For how long the API's decision log has not surely been complete; absent until it first was.",
        observed=True,
    ),
    Declared(
        "build_info", "gauge", "1, with the version and what decides.", ("version", "embedder", "judge", "policy")
    ),
)
"""Every metric there is; `docs/metrics.md` is made from it."""
