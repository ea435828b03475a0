"""The settings, group by group: each with its default, its bounds and what it means. `docs/settings.md` is made from this file."""

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Secret, SecretStr, field_validator

from factsieve.core.facts import Source
from factsieve.core.policy import Policy, SkipGuard
from factsieve.wire.topics import Limits, Topics

_LIMITS = Limits()
_POLICY = Policy()
_TOPICS = Topics()


class ServiceUrl(Secret[str]):
    """An address that may hold a password, which never shows."""

    def _display(self) -> str:
        return mask_url(self.get_secret_value())


def mask_url(url: str) -> str:
    """Return a URL with the password in it, if there is one, replaced."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return "(unreadable address)"
    if password is None:
        return url
    user, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}:***@{host}").geturl()


def _with_scheme(*schemes: str) -> AfterValidator:
    def check(url: ServiceUrl) -> ServiceUrl:
        scheme = url.get_secret_value().partition("://")[0]
        if scheme not in schemes:
            raise ValueError(f"the address must start with {' or '.join(f'{s}://' for s in schemes)}")
        return url

    return AfterValidator(check)


HttpUrl = Annotated[ServiceUrl, _with_scheme("http", "https")]
RedisUrl = Annotated[ServiceUrl, _with_scheme("redis", "rediss", "unix")]
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
Similarity = Annotated[float, Field(ge=-1, le=1)]


class Group(BaseModel):
    """What all groups share: unknown names are refused, values are fixed once read, inputs never show in errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)


class TopicSettings(Group):
    """Names of the topics."""

    candidates: TopicName = _TOPICS.candidates
    """Input: candidates and commands."""
    new_facts: TopicName = _TOPICS.new_facts
    """Output for ingest: changes of facts, no skips."""
    decisions: TopicName = _TOPICS.decisions
    """Output: every decision, skips and rejects too."""
    supersessions: TopicName = _TOPICS.supersessions
    """Output: supersession records."""
    facts: TopicName = _TOPICS.facts
    """Output, compacted: each fact's latest state."""
    dead_letters: TopicName = _TOPICS.dead_letters
    """Output: input that could not be used, untouched."""


class KafkaSettings(Group):
    """Kafka: where it is, how it is spoken to, how the consumer group behaves."""

    bootstrap: str = Field(default="localhost:9092", min_length=1)
    """Brokers to begin with, `host:port` joined by commas."""
    group: str = Field(default="factsieve", min_length=1)
    """Consumer group of the workers."""
    client_id: str = Field(default="factsieve", min_length=1)
    """Name in the brokers' logs and quotas."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How the brokers' listener wants to be spoken to."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    """How the password is proven, with a SASL protocol."""
    sasl_username: str | None = None
    """User name, with a SASL protocol."""
    sasl_password: SecretStr | None = None
    """Password, with a SASL protocol."""
    ssl_ca_file: Path | None = None
    """Certificate authorities (PEM) in place of the system's."""
    ssl_cert_file: Path | None = None
    """The client's own certificate (PEM), for mutual TLS."""
    ssl_key_file: Path | None = None
    """The key of the client's certificate (PEM)."""
    ssl_key_password: SecretStr | None = None
    """Password of that key."""
    ssl_verify_hostname: bool = True
    """Whether the brokers' certificates must be for their host names."""
    idempotence: bool = True
    """Whether the producer numbers its records, so that a retry is not written twice. Off for brokers that do not know it."""
    compression: Literal["none", "gzip", "lz4", "zstd", "snappy"] = "lz4"
    """How output is compressed."""
    partitioner: Literal["murmur2", "crc32"] = "murmur2"
    """What the producers of candidates choose partitions with: `murmur2` (Java clients, aiokafka) or `crc32` (librdkafka's default)."""
    wrong_partition: Literal["warn", "refuse"] = "warn"
    """What becomes of a candidate in another partition than its key belongs to: taken and warned about, or refused."""
    linger_ms: int = Field(default=3, ge=0, le=1000)
    """How long the producer gathers records."""
    max_request_bytes: int = Field(default=4_194_304, ge=65_536)
    """Largest record that is produced. Must hold any input record with the dead letter's headers, and the largest decision."""
    isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed"
    """Whether candidates of transactions that are open or were aborted are passed over."""
    max_fetch_bytes: int = Field(default=1_048_576, ge=65_536)
    """Bytes fetched of one partition at a time."""
    max_poll_records: int = Field(default=2000, ge=1, le=30_000)
    """Records pulled at a time."""
    partition_buffer_records: int = Field(default=4000, ge=1, le=30_000)
    """Records of one partition that may wait for the engine before no more of it is pulled. With `max_poll_records` it stays below
    the 65,536 that wait inside Faust."""
    partition_buffer_bytes: int = Field(default=33_554_432, ge=1_048_576)
    """Bytes of one partition that may wait so."""
    partition_span_records: int = Field(default=200_000, ge=1000)
    """Records of one partition, from the first that is not done on, that are kept account of before no more of it is pulled."""
    session_timeout_s: float = Field(default=12.0, ge=1, le=300)
    """After how long without a heartbeat a worker loses its partitions."""
    heartbeat_interval_s: float = Field(default=3.0, gt=0)
    """How often a worker tells the group that it lives."""
    rebalance_timeout_s: float = Field(default=25.0, gt=0)
    """How long a rebalance waits for members to join again."""
    commit_interval_s: float = Field(default=1.0, gt=0)
    """How often offsets are committed."""
    commit_timeout_s: float = Field(default=5.0, gt=0)
    """How long a commit may take."""
    request_timeout_s: float = Field(default=40.0, gt=0)
    """After how long an unanswered request counts as lost. Joining a group is answered within the rebalance time-out."""
    topics: TopicSettings = TopicSettings()
    """Names of the topics."""


class RedisSettings(Group):
    """Redis: the hash window for exact repeats."""

    url: RedisUrl = ServiceUrl("redis://localhost:6379/0")
    """Address, `redis://`, `rediss://` (TLS) or `unix://`. It may hold user and password, over those below."""
    username: str | None = None
    """User, where Redis has an ACL."""
    password: SecretStr | None = None
    """Password."""
    ssl_ca_file: Path | None = None
    """Certificate authorities (PEM) in place of the system's, with `rediss://`."""
    ssl_cert_file: Path | None = None
    """The client's own certificate (PEM), for mutual TLS."""
    ssl_key_file: Path | None = None
    """The key of the client's certificate (PEM)."""
    ssl_key_password: SecretStr | None = None
    """Password of that key."""
    ssl_verify_hostname: bool = True
    """Whether the server's certificate must be for its host name."""
    window_s: int = Field(default=300, ge=1, le=86_400)
    """Length of the hash window in event time."""
    window_sources: tuple[Source, ...] = (Source.POST_TOOL_USE,)
    """Sources whose repeats the window filters."""
    timeout_s: float = Field(default=1.0, gt=0)
    """How long a call may take before the window is done without."""
    max_connections: int = Field(default=8, ge=1)
    """Connections at most."""


class QdrantSettings(Group):
    """Qdrant: facts and ledger."""

    url: HttpUrl = ServiceUrl("http://localhost:6333")
    """Address of the REST API."""
    api_key: SecretStr | None = None
    """API key."""
    ssl_ca_file: Path | None = None
    """Certificate authorities (PEM) in place of the system's, with `https://`."""
    accept_old_server: bool = False
    """Whether servers below 1.19 are accepted, which can lose acknowledged writes on restart. Never below 1.17."""
    collection_prefix: str = Field(default="", pattern=r"^[A-Za-z0-9_-]{0,64}$")
    """Put before the names of collections, to share a server."""
    timeout_s: float = Field(default=10.0, gt=0)
    """How long a request may take."""
    max_connections: int = Field(default=16, ge=1)
    """Connections at most."""


class EmbedderSettings(Group):
    """The embedding model."""

    kind: Literal["local", "folder", "openai"] = "local"
    """`local`: all-MiniLM-L6-v2 of the extra `local`; `folder`: ONNX and tokenizer.json; `openai`: an OpenAI-compatible endpoint."""
    path: Path | None = None
    """Folder of the model, with `folder`."""
    model: str | None = None
    """Name of the model: asked for with `openai`, else the name that candidates' own vectors must give (default: the model's own)."""
    base_url: HttpUrl | None = None
    """Address of the endpoint, with `openai` (default: OpenAI's)."""
    api_key: SecretStr | None = None
    """API key of the endpoint."""
    dimension: int | None = Field(default=None, ge=1, le=65_536)
    """Length of a vector, with `openai`."""
    threads: int = Field(default=0, ge=0, le=256)
    """Threads of a local model; 0 takes one per core."""
    batch_size: int = Field(default=16, ge=1, le=2048)
    """Texts per call."""
    cache_size: int = Field(default=16_384, ge=0)
    """Vectors of repeated texts that are kept."""
    timeout_s: float = Field(default=30.0, gt=0)
    """How long the endpoint may take."""
    max_unknown_share: float = Field(default=0.3, ge=0, le=1)
    """Share of unknown tokens beyond which a vector is not trusted for a skip."""


class JudgeSettings(Group):
    """Who answers when a number cannot."""

    name: str | None = None
    """`rules`, `nli:DIR`, `cascade`, or a model (`openrouter:...`, `openai:...`, `ollama:...`, `http(s)://host/v1#model`). Default:
    `cascade` where `judge.model` is set, else `rules`."""
    model: str | None = None
    """The language model that the cascade asks last, named as above."""
    nli_path: Path | None = None
    """Folder of the NLI model that the cascade asks first."""
    api_key: SecretStr | None = None
    """API key of the language model's provider."""
    base_url: HttpUrl | None = None
    """Address of an OpenAI-compatible endpoint in place of the provider's own."""
    timeout_s: float = Field(default=20.0, gt=0)
    """How long one answer of a language model may take."""
    retries: int = Field(default=2, ge=0, le=10)
    """Further tries after a refused or failed call."""
    concurrency: int = Field(default=8, ge=1, le=1000)
    """Calls under way at most."""
    calls_per_minute: int = Field(default=600, ge=1)
    """Calls to a language model at most, overall."""
    namespace_calls_per_minute: int = Field(default=120, ge=1)
    """Calls to a language model at most, per namespace."""
    breaker_failures: int = Field(default=5, ge=1)
    """Failures in a row after which the language model is left alone for a while."""
    breaker_pause_s: float = Field(default=30.0, gt=0)
    """How long it is then left alone."""
    hold_s: float = Field(default=30.0, ge=0)
    """How long a lane is held while the judge does not answer, once per outage; then the candidate is added with review."""
    hold_retry_s: float = Field(default=2.0, gt=0)
    """How often it is asked again meanwhile."""
    nli_threads: int = Field(default=0, ge=0, le=256)
    """Threads of the NLI model; 0 takes one per core."""

    @property
    def effective_name(self) -> str:
        """Return the judge's name, with the default resolved."""
        return self.name or ("rules" if self.model is None else "cascade")


class NamespacePolicy(Group):
    """Settings of one namespace; what is left out is as in `policy`."""

    skip_threshold: Similarity | None = None
    """As `policy.skip_threshold`."""
    ambiguous_threshold: Similarity | None = None
    """As `policy.ambiguous_threshold`."""
    supersede_threshold: Similarity | None = None
    """As `policy.supersede_threshold`."""
    dedup_update_threshold: Similarity | None = None
    """As `policy.dedup_update_threshold`."""
    supersede_scan_limit: int | None = Field(default=None, ge=1, le=64)
    """As `policy.supersede_scan_limit`."""
    second_look_floor: Similarity | None = None
    """As `policy.second_look_floor`."""
    skip_guard: SkipGuard | None = None
    """As `policy.skip_guard`."""
    clock_skew_tolerance_s: float | None = Field(default=None, ge=0)
    """As `policy.clock_skew_tolerance_s`."""
    merge_text_limit: int | None = Field(default=None, ge=1)
    """As `policy.merge_text_limit`."""


class PolicySettings(Group):
    """How candidates are decided."""

    skip_threshold: Similarity = _POLICY.skip_threshold
    """Similarity from which a candidate is known, where the guard is clear. Also `memory.skipThreshold`."""
    ambiguous_threshold: Similarity = _POLICY.ambiguous_threshold
    """Similarity from which the judge chooses among all five decisions. Also `memory.ambiguousThreshold`."""
    supersede_threshold: Similarity = _POLICY.supersede_threshold
    """Similarity from which the judge may choose to supersede. Also `memory.supersedeThreshold`."""
    dedup_update_threshold: Similarity = _POLICY.dedup_update_threshold
    """Similarity above which the dedup signal says `is_update`. Decides nothing."""
    supersede_scan_limit: int = Field(default=_POLICY.supersede_scan_limit, ge=1, le=64)
    """Neighbours that are looked at. Also `memory.supersedeScanLimit`."""
    second_look_floor: Similarity = _POLICY.second_look_floor
    """Similarity down to which a neighbour of the same subject and attribute is put before the judge."""
    skip_guard: SkipGuard = _POLICY.skip_guard
    """Who is asked where the guard does not clear a similar candidate: `ask` the judge, `local` judges only, `off` nobody."""
    clock_skew_tolerance_s: float = Field(default=_POLICY.clock_skew_tolerance_s, ge=0)
    """How much older than the last statement a candidate may be and still count as on time."""
    future_limit_s: float = Field(default=_POLICY.future_limit_s, ge=0)
    """How far ahead of this machine's clock a statement may be dated."""
    merge_text_limit: int = Field(default=_POLICY.merge_text_limit, ge=1)
    """Characters of a merged statement at most."""
    profile: str = _POLICY.profile
    """Name of the threshold profile, for reports."""
    profile_path: Path | None = None
    """Threshold profile that `factsieve calibrate` wrote: its name, its thresholds and its NLI cut-offs are then the defaults. It must be
    of the embedder (and the NLI model) in use."""
    namespaces: dict[str, NamespacePolicy] = {}
    """Settings of single namespaces, by name: `[policy.namespaces.team]` in the file, JSON in the environment."""


class LimitSettings(Group):
    """What a record may be, beyond which it goes to the dead letter topic."""

    max_text_chars: int = Field(default=_LIMITS.max_text_chars, ge=1)
    """Characters of a text."""
    max_value_bytes: int = Field(default=_LIMITS.max_value_bytes, ge=1024)
    """Bytes of a record's value."""
    max_attributes_bytes: int = Field(default=_LIMITS.max_attributes_bytes, ge=2)
    """Bytes of `attributes`, as JSON."""
    max_namespace_chars: int = Field(default=_LIMITS.max_namespace_chars, ge=1)
    """Characters of a namespace or session id."""
    max_slot_chars: int = Field(default=_LIMITS.max_slot_chars, ge=1)
    """Characters of a slot."""
    max_nesting: int = Field(default=_LIMITS.max_nesting, ge=2, le=200)
    """Levels of nesting in a record's JSON."""


class EngineSettings(Group):
    """How much is taken in and gathered."""

    max_in_flight: int = Field(default=4096, ge=1)
    """Events taken in and not done, at most, in one worker."""
    max_lane_events: int = Field(default=1024, ge=1)
    """Of these, events of one namespace: one that floods, or is held for a judge, leaves room for those of other partitions."""
    wave_size: int = Field(default=64, ge=1, le=4096)
    """Events of one namespace decided and recorded together, at most."""
    batch_items: int = Field(default=128, ge=1, le=4096)
    """Items in one call to a store or the embedder, at most."""
    slack: int = Field(default=8, ge=0, le=256)
    """Further neighbours asked for, so that changes inside a wave need no new query."""
    retry_first_s: float = Field(default=0.1, gt=0)
    """First pause before a failed call is repeated; the pauses double."""
    retry_most_s: float = Field(default=5.0, gt=0)
    """Longest pause before a failed call is repeated."""
    poison_tries: int = Field(default=3, ge=1, le=100)
    """Tries of an event on which decoder, embedder, judge or rules fail while a known-good statement goes through."""
    poison_action: Literal["dead_letter", "stop_namespace"] = "dead_letter"
    """What then becomes of it: a dead letter (`unprocessable`), or its namespace stops until its partition is assigned anew."""
    poison_in_a_row: int = Field(default=20, ge=1)
    """Events set aside without one decided in between, after which the events are no longer blamed and wait."""


class WorkerSettings(Group):
    """The worker process."""

    health_host: str = "127.0.0.1"
    """Address that `/healthz`, `/readyz` and `/metrics` listen on."""
    health_port: int = Field(default=8088, ge=0, le=65_535)
    """Their port; 0 takes a free one."""
    watchdog_timeout_s: float = Field(default=300.0, gt=0)
    """With lag and without progress for so long, the process ends with an error, to be started anew."""
    loop_limit_s: float = Field(default=60.0, gt=0)
    """How long the event loop may be blocked before the process counts as stuck."""
    drain_timeout_s: float = Field(default=12.0, gt=0)
    """How long a revocation or a stop waits for what has started."""
    stop_deadline_s: float = Field(default=25.0, gt=0)
    """After SIGTERM the process has ended by then, come what may."""
    pod_grace_s: float = Field(default=30.0, gt=0)
    """When the platform kills it after SIGTERM (Kubernetes: `terminationGracePeriodSeconds`)."""
    state_dir: Path = Path(".factsieve")
    """Folder for marks of what is being worked on (in `marks/`), read after an unclean exit. Best kept when a container is restarted."""
    poison_deaths: int = Field(default=2, ge=1, le=100)
    """Processes that died while they worked on one statement alone, before it counts as what killed them."""
    niceness: int = Field(default=5, ge=0, le=19)
    """Added to the niceness of the process, and on Linux of the session that it leads: what answers somebody goes first."""
    model_niceness: int = Field(default=5, ge=0, le=19)
    """Added to that in the threads that local models run in (Linux): event loops, and the API's checks, go first."""
    facts_check_s: float = Field(default=5.0, gt=0)
    """How often what was told on the compacted topic is compared with the store; what stays behind is told anew."""


class LogSettings(Group):
    """The log, on standard error."""

    format: Literal["json", "console"] = "json"
    """`json`: one object a line; `console`: for people."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe entries that are written."""


class CommandSettings(Group):
    """Operators' commands."""

    keys: dict[str, SecretStr] = {}
    """Operator keys by id, at least 32 characters each. Without any, every command is refused."""
    key_id: str | None = None
    """Which of the keys this process signs its own commands with."""
    max_age_s: float = Field(default=3600.0, gt=0)
    """Commands older than this are refused."""


class ApiToken(Group):
    """One token of the HTTP API."""

    sha256: SecretStr
    """SHA-256 of the token, 64 hexadecimal digits: the token itself is nowhere in the settings."""
    namespaces: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    """Namespaces that it is for; `*` alone is all of them."""
    scopes: tuple[Literal["read", "write"], ...] = ("read",)
    """What it may do: `read` (facts, decisions, dedup checks), `write` (candidates, and the commands that undo and delete)."""

    @field_validator("sha256")
    @classmethod
    def _is_digest(cls, value: SecretStr) -> SecretStr:
        if re.fullmatch("[0-9a-fA-F]{64}", value.get_secret_value()) is None:
            raise ValueError("must be 64 hexadecimal digits: printf %s TOKEN | sha256sum")
        return value


class ApiSettings(Group):
    """The HTTP API."""

    host: str = "127.0.0.1"
    """Address that it listens on."""
    port: int = Field(default=8080, ge=0, le=65_535)
    """Its port; 0 takes a free one."""
    tokens: dict[str, ApiToken] = {}
    """Tokens by a name of your choice: `[api.tokens.NAME]` in the file, JSON in the environment. Without any it does not start."""
    open: bool = False
    """Whether everybody may do everything, without a token; on a loopback address only."""
    tls_cert_file: Path | None = None
    """Certificate chain (PEM), to be spoken to over TLS."""
    tls_key_file: Path | None = None
    """The certificate's key (PEM)."""
    embedder_threads: int = Field(default=1, ge=0, le=256)
    """In place of `embedder.threads`: a flood of dedup checks takes so many cores for embedding at most. 0 takes one per core."""
    max_body_bytes: int = Field(default=1_048_576, ge=1024)
    """Bytes of a request's body at most; 413 beyond."""
    max_checks: int = Field(default=64, ge=1)
    """Dedup checks under way at most; 503 beyond, at once."""
    max_requests: int = Field(default=64, ge=1)
    """Other requests under way at most; 503 beyond, at once."""
    max_streams: int = Field(default=64, ge=1)
    """Live streams of decisions at most; 503 beyond."""
    token_share: float = Field(default=0.5, gt=0, le=1)
    """The share of each of these three that one token may take, so that it keeps nobody else out; all without a token are as one."""
    max_batch: int = Field(default=500, ge=1)
    """Candidates in one request at most."""
    writes_per_s: float = Field(default=100.0, gt=0)
    """Writes of one token each second: a candidate or a command counts as one. 429 beyond."""
    write_burst: int = Field(default=1000, ge=1)
    """Writes of one token that may come at once."""
    wait_limit_s: float = Field(default=30.0, ge=0, le=300)
    """How long a request may wait for a decision or an outcome."""
    request_timeout_s: float = Field(default=20.0, gt=0)
    """How long anything else may take, beyond which it is answered 503."""
    log_records: int = Field(default=50_000, ge=1)
    """The latest decisions that are kept at hand for `/v1/decisions` and the activity page."""
    stop_deadline_s: float = Field(default=10.0, gt=0)
    """After SIGTERM, how long requests under way may take."""
