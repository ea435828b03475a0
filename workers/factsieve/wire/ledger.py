"""Ledger records as they are stored: JSON, in which absent fields have their defaults and unknown ones are passed over."""

from typing import Final

import msgspec

from factsieve.core.decision import LedgerRecord
from factsieve.core.errors import Bug

_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(LedgerRecord)


def encode_record(record: LedgerRecord) -> bytes:
    """Return the stored form: UTF-8 JSON."""
    return _ENCODER.encode(record)


def decode_record(body: bytes) -> LedgerRecord:
    """Return the record that was stored; raises Bug where the body is none (the store is damaged, or a newer version wrote it)."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Bug(f"a ledger record can not be read: {error}; {len(body)} bytes") from error
