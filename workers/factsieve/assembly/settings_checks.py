"""Relations between settings, each with the reason and the fix."""

from collections.abc import Iterator
from typing import Final

from factsieve.assembly.settings import Settings
from factsieve.core.errors import BadSettings
from factsieve.core.policy import Policy
from factsieve.wire.topic_specs import TopicSpec, load_specs

MIN_KEY_CHARS: Final = 32
_BYTES_PER_CHAR: Final = 6
"""At most: a control character as a JSON escape."""
_DAY_S: Final = 86_400


def problems(settings: Settings) -> list[str]:
    """Return every contradiction between settings, one sentence each that names both sides and the fix."""
    found: list[str] = []
    for check in (_policy, _times, _sizes, _retention, _services, _judge, _commands, _downstream):
        found.extend(check(settings))
    return found


def _policy(settings: Settings) -> Iterator[str]:
    try:
        settings.policies()
    except BadSettings as error:
        yield f"policy: {error}"


def _downstream(settings: Settings) -> Iterator[str]:
    for name, one in settings.downstream.collections.items():
        if one.namespace_key is None and not one.namespaces:
            yield (
                f"downstream.collections.{name} has neither namespace_key nor namespaces: name the payload field that holds the "
                'namespace, or the namespaces whose texts it holds (["*"]: its texts may be seen by all)'
            )


def _all_policies(settings: Settings) -> list[Policy]:
    try:
        policies = settings.policies()
    except BadSettings:
        return [Policy()]  # reported on its own
    return [policies.default, *policies.by_namespace.values()]


def _below(low_name: str, low: float, high_name: str, high: float, why: str) -> Iterator[str]:
    if not low < high:
        yield f"{low_name} ({low:g}) must be below {high_name} ({high:g}): {why}"


def _times(settings: Settings) -> Iterator[str]:
    kafka, worker, judge = settings.kafka, settings.worker, settings.judge
    yield from _below(
        "judge.hold_s + judge.timeout_s x (1 + judge.retries) + 10",
        judge.hold_s + judge.timeout_s * (1 + judge.retries) + 10,
        "worker.watchdog_timeout_s",
        worker.watchdog_timeout_s,
        "a held lane is no standstill, and must not end the process",
    )
    yield from _below(
        "worker.drain_timeout_s",
        worker.drain_timeout_s,
        "worker.stop_deadline_s",
        worker.stop_deadline_s,
        "what has started must be committed before the process ends",
    )
    yield from _below(
        "worker.stop_deadline_s",
        worker.stop_deadline_s,
        "worker.pod_grace_s",
        worker.pod_grace_s,
        "the process must end by itself before it is killed",
    )
    yield from _below(
        "worker.drain_timeout_s + kafka.commit_timeout_s + kafka.heartbeat_interval_s + 2",
        worker.drain_timeout_s + kafka.commit_timeout_s + kafka.heartbeat_interval_s + 2,
        "kafka.rebalance_timeout_s",
        kafka.rebalance_timeout_s,
        "a member hears of a rebalance with a heartbeat, drains, commits, and must then join again in time",
    )
    yield from _below(
        "kafka.rebalance_timeout_s",
        kafka.rebalance_timeout_s,
        "kafka.request_timeout_s",
        kafka.request_timeout_s,
        "joining a group is a request that is answered within the rebalance time-out",
    )
    yield from _below(
        "kafka.session_timeout_s",
        kafka.session_timeout_s,
        "kafka.rebalance_timeout_s",
        kafka.rebalance_timeout_s,
        "a dead member must be noticed before a rebalance gives up",
    )
    if kafka.heartbeat_interval_s * 3 > kafka.session_timeout_s:
        yield (
            f"kafka.heartbeat_interval_s ({kafka.heartbeat_interval_s:g}) must be at most a third of kafka.session_timeout_s "
            f"({kafka.session_timeout_s:g}): one lost heartbeat must not cost the partitions"
        )
    yield from _below(
        "kafka.commit_interval_s",
        kafka.commit_interval_s,
        "kafka.session_timeout_s",
        kafka.session_timeout_s,
        "otherwise a take-over repeats more than a session's work",
    )
    if settings.engine.retry_first_s > settings.engine.retry_most_s:
        yield f"engine.retry_first_s ({settings.engine.retry_first_s:g}) must not be above engine.retry_most_s"


def _sizes(settings: Settings) -> Iterator[str]:
    engine, limits, kafka = settings.engine, settings.limits, settings.kafka
    specs = load_specs(settings.topics)
    source, letters = specs[settings.topics.candidates], specs[settings.topics.dead_letters]
    yield from _below(
        "the input topic's max.message.bytes",
        source.max_message_bytes,
        "the dead letter topic's",
        letters.max_message_bytes,
        "every input must fit there with its headers",
    )
    yield from _below(
        "the input topic's max.message.bytes",
        source.max_message_bytes,
        "kafka.max_request_bytes",
        kafka.max_request_bytes,
        "every input must fit into the dead letter topic with its headers",
    )
    if limits.max_value_bytes > source.max_message_bytes:
        yield (
            f"limits.max_value_bytes ({limits.max_value_bytes}) is above the input topic's max.message.bytes "
            f"({source.max_message_bytes}): larger values never arrive"
        )
    if limits.max_text_chars + limits.max_attributes_bytes >= limits.max_value_bytes:
        yield (
            f"limits.max_text_chars ({limits.max_text_chars}) and limits.max_attributes_bytes ({limits.max_attributes_bytes}) do "
            f"not fit into limits.max_value_bytes ({limits.max_value_bytes})"
        )
    scan = max(policy.supersede_scan_limit for policy in _all_policies(settings))
    largest = limits.max_text_chars * _BYTES_PER_CHAR * (2 + 3 * scan) + limits.max_attributes_bytes * (2 + 2 * scan)
    room = min(kafka.max_request_bytes, specs[settings.topics.decisions].max_message_bytes)
    if largest > room:
        yield (
            f"a decision that retires {scan} facts with texts of limits.max_text_chars ({limits.max_text_chars}) may take {largest} "
            f"bytes, and {room} are let through (the lower of kafka.max_request_bytes and the decisions topic's max.message.bytes): "
            "lower limits.max_text_chars or the supersede_scan_limit"
        )
    for name, most in (("max_in_flight", engine.max_in_flight), ("max_lane_events", engine.max_lane_events)):
        if engine.wave_size > most:
            yield f"engine.wave_size ({engine.wave_size}) is above engine.{name} ({most}): a wave would never fill"


def _retention(settings: Settings) -> Iterator[str]:
    specs = load_specs(settings.topics)
    for name in (settings.topics.candidates, settings.topics.dead_letters):
        yield from retention_problems(specs[name], settings.ledger_retention_d)


def retention_problems(spec: TopicSpec, ledger_retention_d: float) -> Iterator[str]:
    """Yield what is wrong with a topic's retention, as specified or as found on the brokers.

    An event that is read again must still find its decision in the ledger.
    """
    if spec.retention_ms is None or spec.retention_ms < 0:
        yield f"topic {spec.name} keeps records for ever: it must keep them less than ledger_retention_d ({ledger_retention_d:g})"
    elif spec.retention_ms >= ledger_retention_d * _DAY_S * 1000:
        yield (
            f"topic {spec.name} keeps records {spec.retention_ms / _DAY_S / 1000:g} days, which must be less than "
            f"ledger_retention_d ({ledger_retention_d:g}): an event read again would not find its decision"
        )


def _services(settings: Settings) -> Iterator[str]:
    kafka, embedder = settings.kafka, settings.embedder
    if kafka.security_protocol.startswith("SASL") and (kafka.sasl_username is None or kafka.sasl_password is None):
        yield f"kafka.security_protocol {kafka.security_protocol} needs kafka.sasl_username and kafka.sasl_password"
    if not kafka.security_protocol.startswith("SASL") and kafka.sasl_password is not None:
        yield f"kafka.sasl_password is set, but kafka.security_protocol is {kafka.security_protocol}: choose SASL_SSL"
    if (kafka.ssl_cert_file is None) != (kafka.ssl_key_file is None):
        yield "kafka.ssl_cert_file and kafka.ssl_key_file belong together: set both or none"
    yield from _tls(settings)
    names = kafka.topics.model_dump()
    if len(set(names.values())) < len(names):
        yield f"kafka.topics: two topics share a name ({', '.join(sorted(names.values()))}): give each its own"
    if embedder.kind == "folder" and embedder.path is None:
        yield "embedder.kind folder needs embedder.path"
    if embedder.kind != "folder" and embedder.path is not None:
        yield f"embedder.path is set, but embedder.kind is {embedder.kind}: choose folder"
    if embedder.kind == "openai" and (embedder.model is None or embedder.dimension is None):
        yield "embedder.kind openai needs embedder.model and embedder.dimension"


def _tls(settings: Settings) -> Iterator[str]:
    """Files for TLS where nothing uses them are a mistake: what was meant to be encrypted would go in the clear."""
    kafka, redis, qdrant = settings.kafka, settings.redis, settings.qdrant
    for group, chosen, uses_tls, fix in (
        (kafka, "kafka", kafka.security_protocol.endswith("SSL"), "kafka.security_protocol must be SSL or SASL_SSL"),
        (redis, "redis", redis.url.get_secret_value().startswith("rediss://"), "redis.url must begin with rediss://"),
        (qdrant, "qdrant", qdrant.url.get_secret_value().startswith("https://"), "qdrant.url must begin with https://"),
    ):
        files = [f for f in ("ssl_ca_file", "ssl_cert_file", "ssl_key_file") if getattr(group, f, None) is not None]
        if files and not uses_tls:
            yield f"{chosen}.{files[0]} is set, but the connection would not be encrypted: {fix}"
    if (redis.ssl_cert_file is None) != (redis.ssl_key_file is None):
        yield "redis.ssl_cert_file and redis.ssl_key_file belong together: set both or none"


def _judge(settings: Settings) -> Iterator[str]:
    judge = settings.judge
    name = judge.effective_name
    if name == "cascade" and judge.model is None and judge.nli_path is None:
        yield "judge.name cascade needs judge.model or judge.nli_path: without both it would be rules"
    if "@" in name.partition("#")[0] and "://" in name:
        yield "judge.name holds a user name or password: put the key into judge.api_key"
        return
    if name == "nli:":
        yield "judge.name nli: needs the model's folder: nli:DIR"
    known = name in {"rules", "cascade"} or name.startswith(("nli:", "openrouter:", "openai:", "ollama:"))
    address, _, model = name.partition("#")
    if not known and not (address.startswith(("http://", "https://")) and model):
        yield (
            f"judge.name {name[:80]!r} is not known: rules, nli:DIR, cascade, openrouter:MODEL, openai:MODEL, ollama:MODEL or "
            "http(s)://host/v1#MODEL"
        )
    if judge.namespace_calls_per_minute > judge.calls_per_minute:
        yield (
            f"judge.namespace_calls_per_minute ({judge.namespace_calls_per_minute}) is above judge.calls_per_minute "
            f"({judge.calls_per_minute}): one namespace could use up all calls"
        )


def _commands(settings: Settings) -> Iterator[str]:
    commands = settings.commands
    for key_id, key in commands.keys.items():
        if len(key.get_secret_value()) < MIN_KEY_CHARS:
            yield f"commands.keys.{key_id} is shorter than {MIN_KEY_CHARS} characters: make one with `openssl rand -hex 32`"
    if commands.key_id is not None and commands.key_id not in commands.keys:
        yield f"commands.key_id {commands.key_id!r} is not in commands.keys"
    yield from _below(
        "commands.max_age_s",
        commands.max_age_s,
        "ledger_retention_d in seconds",
        settings.ledger_retention_d * _DAY_S,
        "a command read again must still find that it was performed",
    )
