"""Messages into the input topic: candidates and signed commands, as the commands and the API produce them."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from factsieve.core.facts import Source
from factsieve.ports import Message
from factsieve.wire import times
from factsieve.wire.headers import KEY_ID, SIGNATURE
from factsieve.wire.inbound import CommandKind
from factsieve.wire.outbound import cloud_event_headers
from factsieve.wire.signing import sign
from factsieve.wire.topics import CANDIDATE, Topics


def candidate_message(
    topics: Topics,
    *,
    namespace: str,
    text: str,
    source: Source,
    occurred_at: datetime,
    ce_source: str,
    ce_id: str,
    now: datetime,
    extra: Mapping[str, object] | None = None,
    traceparent: str | None = None,
) -> Message:
    """Return a `fact.candidate.v1` message. `extra`: further fields of the value, which can not override those named here."""
    value: dict[str, object] = dict(extra or {})
    value |= {
        "namespace": namespace,
        "text": text,
        "source": source.value,
        "occurred_at": times.format_rfc3339(occurred_at),
    }
    return Message(
        topic=topics.candidates,
        key=namespace.encode("utf-8"),
        value=msgspec.json.encode(value),
        headers=cloud_event_headers(CANDIDATE, ce_id, now, ce_source=ce_source, traceparent=traceparent),
    )


def command_message(
    topics: Topics,
    *,
    kind: CommandKind,
    namespace: str,
    body: Mapping[str, object],
    ce_source: str,
    ce_id: str,
    now: datetime,
    key_id: str,
    key: bytes,
) -> Message:
    """Return a signed command `fact.<kind>.v1` for the namespace's place in the input topic."""
    ce_type, value, ce_time = f"fact.{kind}.v1", msgspec.json.encode(body), times.format_rfc3339(now)
    signature = sign(
        key, ce_type=ce_type, namespace=namespace, ce_source=ce_source, ce_id=ce_id, ce_time=ce_time, value=value
    )
    headers = cloud_event_headers(ce_type, ce_id, now, ce_source=ce_source)
    signed = ((SIGNATURE, signature.encode()), (KEY_ID, key_id.encode("utf-8")))
    return Message(topics.candidates, namespace.encode("utf-8"), value, headers + signed)
