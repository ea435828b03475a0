"""Ids: derived alike everywhere, for good."""

import hashlib
import uuid
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from factsieve.core import ids

TEXTS = st.text(max_size=40)


def _reference(*parts: str) -> bytes:
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in encoded)).digest()


@given(TEXTS, TEXTS, TEXTS)
def test_an_event_key_is_the_digest_over_length_prefixed_parts(namespace: str, source: str, name: str) -> None:
    """SHA-256 over each part after its length: parts that only join alike are told apart."""
    key = ids.event_key(namespace, source, name)
    assert key == _reference(namespace, source, name).hex()
    assert key != ids.event_key(namespace + source, "", name) or source == ""


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(9999, 1, 1)), TEXTS)
def test_a_fact_id_is_a_uuid_of_version_7(at: datetime, key: str) -> None:
    """The id reads as a UUIDv7 and begins with the milliseconds of the statement's time, not below 1970."""
    occurred_at = at.replace(tzinfo=UTC)
    written = ids.fact_id(occurred_at, key)
    read = uuid.UUID(written)
    assert str(read) == written
    assert (read.version, read.variant) == (7, uuid.RFC_4122)
    assert read.int >> 80 == max(0, (occurred_at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))


@given(TEXTS, TEXTS, TEXTS)
def test_a_derived_id_is_a_uuid_of_version_8(key: str, kind: str, subject: str) -> None:
    """The id of what an event gives rise to reads as a UUIDv8 of the digest's first bytes."""
    read = uuid.UUID(ids.derived_id(key, kind, subject))
    assert str(read) == ids.derived_id(key, kind, subject)
    assert (read.version, read.variant) == (8, uuid.RFC_4122)
    free = ~((0xF << 76) | (0x3 << 62)) & ((1 << 128) - 1)
    assert read.int & free == int.from_bytes(_reference(key, kind, subject)[:16], "big") & free


def test_ids_never_change() -> None:
    """Stores outlive versions: these values were written by the first one."""
    key = ids.event_key("team", "chat", "1")
    assert key == "5aa3e86b1d092b59c8945ff6cb00d31860f7eff6f9ef6f30ab81068f69618c8e"
    assert ids.fact_id(datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC), key) == "019cb73d-3218-7635-ae7e-aedfec781715"
    assert ids.decision_id(key) == "97a2604a-34f6-8b57-a523-2dd10d164f2a"
    assert (
        ids.text_hash("Caf\u00e9", "a.b")
        == ids.text_hash("Cafe\u0301", "a.b")
        == "720467bd085609cb5704e7eda791dbc8a3932df3fdc3daae6777802885e2060c"
    )
    assert (
        ids.anonymous_event_key("candidate-facts", 3, 5, 7, b"{}")
        == "bdc391062737192ac9509a012f5e4093a7a2f9dc7d79d4cfc17b58cd4744b888"
    )
