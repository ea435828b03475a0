"""Identifiers that every worker derives alike, so that a repeated event leads to the same ids (DESIGN section 6)."""

import hashlib
import unicodedata
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MAX_MS = (1 << 48) - 1


def _digest(*parts: str | bytes) -> bytes:
    """Return the SHA-256 over the parts, each after its length, so that no two different sequences give the same bytes."""
    joined = bytearray()
    for part in parts:
        encoded = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        joined += len(encoded).to_bytes(8, "big")
        joined += encoded
    return hashlib.sha256(joined).digest()


def event_key(namespace: str, ce_source: str, ce_id: str) -> str:
    """Return the key of an event that names itself: SHA-256 (hex) over the length-prefixed parts."""
    return _digest(namespace, ce_source, ce_id).hex()


def anonymous_event_key(topic: str, partition: int, offset: int, timestamp_ms: int, value: bytes) -> str:
    """Return the key of an event without a `ce_id`: its coordinates, record timestamp (ms) and the SHA-256 of its value."""
    body = hashlib.sha256(value).digest()
    return _digest(topic, str(partition), str(offset), str(timestamp_ms), body).hex()


def body_hash(value: bytes) -> str:
    """Return the SHA-256 (hex) of a record's value, which tells a repeated event from another one under the same id."""
    return hashlib.sha256(value).hexdigest()


@lru_cache(maxsize=4096)
def text_hash(text: str, slot: str | None) -> str:
    """Return the SHA-256 (hex) of a text and slot, equal for canonically equal texts (NFC)."""
    canonical_slot = "" if slot is None else "=" + unicodedata.normalize("NFC", slot)
    return _digest(unicodedata.normalize("NFC", text), canonical_slot).hex()


def fact_id(occurred_at: datetime, key: str) -> str:
    """Return a fact id in UUIDv7 layout (RFC 9562, 5.7): milliseconds of `occurred_at`, the rest from the event key.

    Times before 1970 or beyond 48 bits are clamped: the prefix only orders, the rest identifies.
    """
    ms = min(max((occurred_at - _EPOCH) // _MILLISECOND, 0), _MAX_MS)
    rest = int.from_bytes(_digest("fact", key)[:10], "big")
    rand_a = rest >> 68
    rand_b = rest & ((1 << 62) - 1)
    value = (ms << 80) | (7 << 76) | (rand_a << 64) | (2 << 62) | rand_b
    return _written(f"{value:032x}")


def derived_id(key: str, kind: str, subject: str = "") -> str:
    """Return the id of a record that an event gives rise to: a UUIDv8 (RFC 9562, 5.8) of (event key, kind, subject)."""
    raw = bytearray(_digest(key, kind, subject)[:16])
    raw[6] = (raw[6] & 0x0F) | 0x80
    raw[8] = (raw[8] & 0x3F) | 0x80
    return _written(raw.hex())


def _written(digits: str) -> str:
    """Return 32 hex digits as a UUID is written; `uuid.UUID` does the same by way of a number, at several times the cost."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def decision_id(key: str) -> str:
    """Return the id of the decision about an event: `derived_id` of kind `decision`."""
    return derived_id(key, "decision")
