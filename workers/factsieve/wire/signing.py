"""Operators' commands are signed: HMAC-SHA256 (RFC 2104) by an operator key over everything that a command says and is named by."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from factsieve.core.errors import BadInput
from factsieve.wire.inbound import Command

_DOMAIN: Final = b"factsieve-command-v1"
CLOCK_TOLERANCE_S: Final = 60.0
"""How far ahead of ours the clock of a command's sender may be."""


def sign(key: bytes, *, ce_type: str, namespace: str, ce_source: str, ce_id: str, ce_time: str, value: bytes) -> str:
    """Return a command's signature (hex), as the header `signature` carries it.

    The parts are length-prefixed, so that no two different commands give the same bytes to sign.
    """
    parts = [_DOMAIN, *(part.encode("utf-8") for part in (ce_type, namespace, ce_source, ce_id, ce_time)), value]
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def verify(key: bytes, command: Command) -> bool:
    """Return whether a command's signature is by this key, in time that does not depend on where they differ."""
    expected = sign(
        key,
        ce_type=command.ce_type,
        namespace=command.namespace,
        ce_source=command.ce_source,
        ce_id=command.ce_id,
        ce_time=command.ce_time,
        value=command.value,
    )
    return hmac.compare_digest(expected.encode(), (command.signature or "").encode())


def authorise(command: Command, keys: Mapping[str, bytes], max_age_s: float, now: datetime) -> None:
    """Raise BadInput `command_unauthorised` unless a known operator key signed the command, and lately.

    Look a command up in the ledger first: one that was performed before stays performed however old it is by now.
    """
    if command.signature is None or command.key_id is None:
        raise _unauthorised("the command is not signed: it needs the headers signature and key-id", "signature")
    key = keys.get(command.key_id)
    if key is None:
        raise _unauthorised(f"key-id {command.key_id[:40]!r} is no operator key known here", "key-id")
    if not verify(key, command):
        raise _unauthorised(
            "the signature does not fit type, namespace, ce_source, ce_id, ce_time and body: sign exactly what is sent",
            "signature",
        )
    age = now - command.issued_at
    if age > timedelta(seconds=max_age_s):
        raise _unauthorised(
            f"ce_time {command.ce_time!r} is more than {max_age_s:g} s ago: issue the command anew", "ce_time"
        )
    if -age > timedelta(seconds=CLOCK_TOLERANCE_S):
        raise _unauthorised(f"ce_time {command.ce_time!r} is ahead of this clock: check the sender's", "ce_time")


def _unauthorised(message: str, field: str) -> BadInput:
    return BadInput("command_unauthorised", message, field=field)
